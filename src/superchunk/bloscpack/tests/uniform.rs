//! Files whose chunks are located on demand.

use super::damage::{skipping, strict};
use super::*;
use crate::io::memory::MemoryFolder;

const FORM: Form = Form {
    chunk: 60,
    spare_chunks: Some(4),
    ..Form::new(3, 1, 2)
};
/// More chunks than fit on a page of offsets.
const SIZES: [usize; 8] = [60, 60, 60, 60, 60, 60, 60, 24];

fn content(sizes: &[usize]) -> Vec<Vec<u8>> {
    let chunk = |(i, n): (usize, &usize)| bytes(i as u64 * 7 + 3, *n);
    sizes.iter().enumerate().map(chunk).collect()
}

/// Returns a disk with a file of these chunks.
fn disk(sizes: &[usize]) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = FORM.create(&disk.folder(), Mode::New).unwrap();
    w.meta_set(Some(br#"{"some": "metadata"}"#)).unwrap();
    for (i, chunk) in content(sizes).iter().enumerate() {
        w.insert(i as u64, chunk).unwrap();
    }
    w.commit().unwrap();
    disk
}

fn file_on(disk: &SimDisk) -> Vec<u8> {
    disk.contents().remove(OsStr::new(NAME)).unwrap()
}

fn open(file: &[u8], options: &Options) -> Result<Bloscpack> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(file.to_vec()));
    Bloscpack::open_in(&folder, OsStr::new(""), Mode::Read, options)
}

fn is_on_demand(disk: &SimDisk) -> bool {
    reader(&disk.folder()).unwrap().content.uniform.is_some()
}

/// Changes a file by a writer, and checks what a reader sees then. Returns whether the chunks are
/// located on demand.
fn after(disk: &SimDisk, change: impl FnOnce(&mut Bloscpack)) -> bool {
    let mut w = FORM.append(&disk.folder()).unwrap();
    change(&mut w);
    w.commit().unwrap();
    let b = reader(&disk.folder()).unwrap();
    assert_eq!(State::of(&b).unwrap(), State::of(&w).unwrap());
    assert_eq!((b.nbytes(), b.chunks()), (w.nbytes(), w.chunks()));
    is_on_demand(disk)
}

#[test]
fn chunks_on_demand_are_read_as_listed_ones() {
    let disk = disk(&SIZES);
    let all = content(&SIZES);
    let b = reader(&disk.folder()).unwrap();
    assert!(b.content.uniform.is_some() && b.listed.get().is_none());
    assert_eq!((b.chunks(), b.nbytes(), b.chunk_size()), (8, 444, 60));
    assert_eq!(State::of(&b).unwrap().chunks, all);
    for from in 0..444 {
        for n in [0, 1, 59, 60, 130, 444] {
            let n = n.min(444 - from);
            let mut found = vec![0xee; n];
            b.read(from as u64, &mut found).unwrap();
            assert_eq!(found, all.concat()[from..from + n]);
        }
        let span = b.chunk_span(from as u64);
        assert_eq!(span.start, from as u64 / 60 * 60);
        assert_eq!(span.end, (span.start + 60).min(444));
    }
    let listed = open(&file_on(&disk), &skipping()).unwrap();
    assert!(listed.content.uniform.is_none());
    for i in 0..8 {
        assert_eq!(b.chunk_info(i).unwrap(), listed.chunk_info(i).unwrap());
        let raw = b.with_raw(i, |chunk| Ok(chunk.to_vec())).unwrap();
        assert_eq!(raw, listed.with_raw(i, |chunk| Ok(chunk.to_vec())).unwrap());
    }
    assert_eq!(b.read(440, &mut [0; 5]).unwrap_err().status, Status::Range);
    assert_eq!(b.chunk_info(8).unwrap_err().status, Status::Range);
    // nothing until here needed the list
    assert!(b.listed.get().is_none());
    assert_eq!(b.encoding(), listed.encoding());
    let verified = b.verify(|e| panic!("{e}")).unwrap();
    assert_eq!((verified.intact, verified.corrupt), (8, 0));
}

#[test]
fn only_a_file_that_its_header_describes_has_the_mark() {
    assert!(is_on_demand(&disk(&SIZES)));
    for sizes in [
        &[60, 60][..],
        &[60, 60, 60, 0],
        &[60, 20, 60, 60],
        &[20, 60, 60, 60],
        &[60, 60, 60, 80],
    ] {
        assert!(!is_on_demand(&disk(sizes)), "{sizes:?}");
    }
}

#[test]
fn commits_keep_the_mark_right() {
    let disk = disk(&SIZES);
    assert!(after(&disk, |w| w.append(&bytes(1, 36)).unwrap()));
    assert!(after(&disk, |w| w.write(70, &bytes(2, 30)).unwrap()));
    assert!(after(&disk, |w| w.truncate(400).unwrap()));
    // with as many chunks as before, so that the header does not change
    assert!(!after(&disk, |w| {
        w.remove(2).unwrap();
        w.insert(2, &bytes(3, 59)).unwrap();
    }));
    assert!(after(&disk, |w| {
        w.remove(2).unwrap();
        w.insert(2, &bytes(4, 60)).unwrap();
    }));
    // the entry of the mark is used for a chunk
    let spare = reader(&disk.folder()).unwrap().header().max_app_chunks;
    assert!(!after(&disk, |w| {
        w.append(&bytes(5, 60 * spare as usize)).unwrap();
        assert_eq!(w.nbytes().div_ceil(60), w.chunks() as u64);
    }));
}

#[test]
fn no_flip_of_a_file_with_the_mark_is_silent() {
    let file = file_on(&disk(&SIZES));
    let all = content(&SIZES).concat();
    let mut on_demand = 0;
    for at in 0..file.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut corrupt = file.clone();
            corrupt[at] ^= mask;
            let Ok(b) = open(&corrupt, &strict()) else {
                continue;
            };
            on_demand += usize::from(b.content.uniform.is_some());
            assert_eq!(b.nbytes(), 444, "byte {at} ^ {mask:#x}");
            for from in (0..444).step_by(30) {
                let n = 24;
                let mut found = [0xee; 24];
                if b.read(from as u64, &mut found).is_ok() {
                    assert_eq!(found, all[from..from + n], "byte {at} ^ {mask:#x}");
                }
            }
        }
    }
    assert!(on_demand > file.len());
}

#[test]
fn a_wrong_mark_is_reported_and_repaired() {
    let disk = disk(&[60, 60, 60, 40, 60, 60]);
    let mut file = file_on(&disk);
    let header = reader(&disk.folder()).unwrap().header().clone();
    let mark = uniform_mark::position(&header).unwrap() as usize;
    let right = uniform_mark::entry(&header, &chunk_list::ChunkSlots::default());
    file[mark..mark + 8].copy_from_slice(&right.to_le_bytes());

    let b = open(&file, &strict()).unwrap();
    assert!(b.content.uniform.is_some());
    let e = b.read(180, &mut [0; 30]).unwrap_err();
    assert!(e.message.contains("chunk 3"), "{e}");
    assert!(b.read_chunk(3, &mut [0; 60]).is_err());
    assert!(b.with_raw(3, |_| Ok(())).is_err());
    let mut faults = Vec::new();
    b.verify(|e| {
        faults.push(e.message.clone());
        true
    })
    .unwrap();
    assert!(
        faults.iter().any(|e| e.contains("uniform mark")),
        "{faults:?}"
    );

    let damaged = SimDisk::with_files(&[(OsStr::new(NAME).to_owned(), file)].into());
    repair_in(&damaged.folder(), OsStr::new(NAME), &Options::new()).unwrap();
    let b = reader(&damaged.folder()).unwrap();
    assert_eq!((b.content.uniform.is_some(), b.nbytes()), (false, 340));
    assert_eq!(
        State::of(&b).unwrap().chunks,
        content(&[60, 60, 60, 40, 60, 60])
    );
}

#[test]
fn a_change_under_a_reader_is_an_error() {
    let disk = disk(&SIZES);
    let b = reader(&disk.folder()).unwrap();
    after(&disk, |w| w.append(&bytes(1, 100)).unwrap());
    assert_eq!(b.read(0, &mut [0; 60]).unwrap_err().status, Status::State);
    assert_eq!(b.verify(|_| true).unwrap_err().status, Status::State);
}
