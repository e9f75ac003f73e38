//! Files that are written from front to back.

use super::*;
use crate::io::memory::MemoryFolder;
use crate::superchunk::bloscpack::StreamWriter;
use std::io::{self, Write};

const LENGTHS: [usize; 7] = [0, 1, 599, 600, 1200, 1500, 5000];

fn form(version: i64) -> Form {
    Form {
        threads: 3,
        ..Form::new(version, 0, if version == 1 { 0 } else { 2 })
    }
}

/// Returns a file with this content, which comes in pieces of `piece` bytes.
fn streamed(form: Form, content: &[u8], piece: usize, length: Option<u64>) -> Result<Vec<u8>> {
    let mut writer = StreamWriter::new(Vec::new(), 4, length, &form.create_options())?;
    if form.has_meta() {
        writer.set_meta(&json(1, 30))?;
    }
    content.chunks(piece).try_for_each(|p| writer.append(p))?;
    assert_eq!(writer.nbytes(), content.len() as u64);
    writer.finish()
}

fn open(file: &[u8], skip_damaged: bool) -> Result<Bloscpack> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(file.to_vec()));
    let options = Options::new().with(Opt::SkipDamaged, skip_damaged.into())?;
    Bloscpack::open_in(&folder, OsStr::new(""), Mode::Read, &options)
}

fn content(b: &Bloscpack) -> Vec<u8> {
    let mut content = vec![0; b.nbytes() as usize];
    b.read(0, &mut content).unwrap();
    content
}

#[test]
fn streams_are_read_back_and_appended_to() {
    for version in [1, 2, 3, 103] {
        for (i, n) in LENGTHS.into_iter().enumerate() {
            for length in [Some(n as u64), None] {
                if version == 1 && length.is_none() {
                    continue;
                }
                let data = bytes(i as u64, n);
                let file = streamed(form(version), &data, 250 * i + 1, length).unwrap();
                let b = open(&file, false).unwrap();
                let header = b.header().clone();
                let chunks = length.map(|n| n.div_ceil(600).max(1));
                assert_eq!((header.nchunks, header.has_offsets), (chunks, false));
                assert!(content(&b) == data, "{version} {n}");
                let meta = form(version).has_meta().then(|| json(1, 30));
                assert_eq!(b.meta().unwrap(), meta.as_deref());
                let verified = b.verify(|e| panic!("{version} {n}: {e}")).unwrap();
                assert_eq!(verified.corrupt, 0);

                let disk = SimDisk::with_files(&[(NAME.into(), file)].into());
                let mut w = form(version).append(&disk.folder()).unwrap();
                w.append(&bytes(9, 700)).unwrap();
                w.commit().unwrap();
                let b = reader(&disk.folder()).unwrap();
                assert!(b.header().nchunks.is_some(), "{version} {n}");
                assert!(content(&b) == [&data[..], &bytes(9, 700)].concat());
            }
        }
    }
}

#[test]
fn every_truncation_of_a_stream_is_an_error() {
    for version in [2, 3, 103] {
        for n in [0, 600, 1500] {
            for length in [Some(n as u64), None] {
                let data = bytes(5, n);
                let file = streamed(form(version), &data, 1000, length).unwrap();
                for end in 0..file.len() {
                    let e = open(&file[..end], false).err();
                    let e = e.unwrap_or_else(|| panic!("{version} {n} {length:?}: {end}"));
                    assert!(e.status.is_corruption(), "{end}: {e}");
                    if let Ok(b) = open(&file[..end], true) {
                        assert!(data.starts_with(&content(&b)), "{version} {n} {end}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_truncated_stream_is_repaired() {
    let data = bytes(5, 1800);
    let file = streamed(form(3), &data, 1000, None).unwrap();
    let end = file.len() - 16 - 4; // without the last chunk and its checksum
    let disk = SimDisk::with_files(&[(NAME.into(), file[..end].to_vec())].into());
    assert!(reader(&disk.folder()).is_err());
    let repaired = repair_in(&disk.folder(), OsStr::new(NAME), &Options::new()).unwrap();
    assert_eq!((repaired.retained, repaired.dropped), (3, 1));
    let b = reader(&disk.folder()).unwrap();
    assert!(content(&b) == data && b.header().nchunks.is_some());
}

/// Accepts so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 if !bytes.is_empty() => Err(io::Error::from_raw_os_error(28)),
            n => {
                self.0 -= n;
                Ok(n)
            }
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_output_is_an_error() {
    let data = bytes(6, 5000);
    let file = streamed(form(3), &data, 5000, None).unwrap();
    for room in [0, 31, 32, 100, file.len() / 2, file.len() - 1] {
        let mut writer = StreamWriter::new(Full(room), 4, None, &form(3).create_options()).unwrap();
        writer.set_meta(&json(1, 30)).unwrap();
        let statuses = [writer.append(&data), writer.append(&data)].map(|r| r.err());
        let e = match statuses {
            [Some(e), Some(later)] => {
                assert_eq!(later.status, Status::State);
                e
            }
            _ => writer.finish().err().unwrap(),
        };
        assert!(matches!(e.status, Status::Io | Status::State), "{e}");
    }
}

#[test]
fn a_stream_has_the_length_that_its_header_states() {
    let options = form(3).create_options();
    let mut writer = StreamWriter::new(Vec::new(), 4, Some(1000), &options).unwrap();
    writer.append(&bytes(1, 900)).unwrap();
    assert_eq!(
        writer.append(&bytes(1, 101)).unwrap_err().status,
        Status::Range
    );
    assert_eq!(writer.set_meta(b"{}").unwrap_err().status, Status::State);
    writer.append(&bytes(1, 100)).unwrap();
    assert_eq!(
        open(&writer.finish().unwrap(), false).unwrap().nbytes(),
        1000
    );

    let mut writer = StreamWriter::new(Vec::new(), 4, Some(1000), &options).unwrap();
    writer.append(&bytes(1, 900)).unwrap();
    assert_eq!(writer.finish().err().unwrap().status, Status::State);

    let refused = |version: i64, chunk: i64, typesize| {
        let options = form(version).create_options();
        let options = options.with(Opt::ChunkBytes, chunk).unwrap();
        StreamWriter::new(Vec::new(), typesize, None, &options)
            .err()
            .map(|e| e.status)
    };
    assert_eq!(refused(1, 600, 4), Some(Status::Unsupported));
    assert_eq!(refused(3, 601, 4), Some(Status::Argument));
    assert_eq!(refused(3, 600, 0), Some(Status::Argument));
}
