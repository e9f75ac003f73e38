//! Copies: the content of an open file in a new file with another layout, codec, chunk size or
//! checksum. Files are converted this way.
#![forbid(unsafe_code)]

use super::{Bloscpack, Mode};
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::{Folder, locate};
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Bytes of content in memory at once, unless a chunk is longer.
const PIECE: u64 = 16 << 20;
/// Minimum piece size, for memory limits that are too small to be useful.
const MIN_PIECE: u64 = 64 << 10;
/// Maximum default chunk size of a copy.
const MAX_CHUNK: usize = 1 << 30;
/// Numbers of chunks for which a new file reserves offsets in advance. A new file has enough spare
/// offsets for fewer chunks; for more chunks the reserved bytes would be excessive.
const RESERVED_OFFSETS: std::ops::Range<u64> = 1000..1 << 20;

/// The destination of a copy and its storage options.
pub struct Destination {
    /// The folder of the new file.
    pub folder: Arc<dyn Folder>,
    /// The name of the new file in the folder.
    pub name: OsString,
    /// [`Mode::New`] or [`Mode::Replace`].
    pub mode: Mode,
    /// Options for creating the file.
    pub options: Options,
}

impl Destination {
    /// Returns the destination for a path.
    pub fn at(path: &OsStr, mode: Mode, options: Options) -> Result<Destination> {
        let location = locate::locate_for_change(path)?;
        Ok(Destination {
            folder: location.folder,
            name: location.name,
            mode,
            options,
        })
    }
}

impl Bloscpack {
    /// Copies content and metadata. Codec, filter, typesize, chunk size and checksum are taken from
    /// this file where the options do not set them. Returns true if corrupt or missing content was
    /// replaced by zeros, as the options of this file allow.
    pub fn copy(&self, to: Destination) -> Result<bool> {
        self.copy_as(to, self.meta()?, self.nbytes(), &|at, dst| {
            self.read(at, dst)
        })
    }

    /// As [`Bloscpack::copy`], but with the caller's metadata and content.
    pub fn copy_as(
        &self,
        to: Destination,
        meta: Option<&[u8]>,
        len: u64,
        read: &dyn Fn(u64, &mut [u8]) -> Result<bool>,
    ) -> Result<bool> {
        let options = to.options.clone();
        let mut new = self.create_like(to, len)?;
        if meta.is_some() {
            new.meta_set(meta)?;
        }
        let chunk = self.chunk_size().max(1) as u64;
        let piece = (PIECE / chunk)
            .max(1)
            .saturating_mul(chunk)
            .min(self.reader.memory_limit.max(MIN_PIECE));
        let damaged = new.fill_from(len, piece, read, &options)?;
        Ok(damaged || self.reader.damage.missing > 0 || self.meta_damage().is_some())
    }

    /// Appends `len` bytes in pieces of `piece` bytes, and commits. Returns true if corrupt content
    /// was replaced by zeros.
    pub fn fill_from(
        &mut self,
        len: u64,
        piece: u64,
        read: &dyn Fn(u64, &mut [u8]) -> Result<bool>,
        options: &Options,
    ) -> Result<bool> {
        let mut buffer = alloc::zeroed(len.min(piece) as usize)?;
        let (mut at, mut damaged) = (0, false);
        let scope = Scope::open(options.progress(), len, Step::Call);
        while at < len {
            let now = buffer.at_mut(..(len - at).min(piece) as usize)?;
            damaged |= read(at, now)?;
            self.append(now)?;
            at += now.len() as u64;
            scope.at(at)?;
        }
        self.commit()?;
        scope.finish();
        Ok(damaged)
    }

    /// Creates a file with the storage parameters of this file where the options do not set them.
    fn create_like(&self, to: Destination, len: u64) -> Result<Bloscpack> {
        let Destination {
            folder,
            name,
            mode,
            mut options,
        } = to;
        let existing = folder.identity(&name)?.filter(|id| *id != 0);
        let main = self.reader.main.as_ref();
        if existing.is_some() && existing == main.map(|m| m.file.identity()) {
            return Err(fail!(
                Argument,
                "{}: a copy cannot replace its source; choose another path",
                self.name()
            ));
        }
        let typesize = self.typesize();
        if options.given(Opt::ChunkBytes).is_none() {
            let chunk = (self.chunk_size().min(MAX_CHUNK) / typesize * typesize).max(typesize);
            options.set(Opt::ChunkBytes, chunk as i64)?;
        }
        let (sum, version) = (self.header().checksum, options.get(Opt::FormatVersion, 0));
        if sum.size() > 0 && version != 1 && options.given(Opt::Checksum).is_none() {
            options.set(Opt::Checksum, sum as i64)?;
        }
        reserve_offsets(&mut options, len)?;
        let mut new = Bloscpack::create_in(&folder, &name, mode, typesize, &options)?;
        let like = self.last_chunk().filter(|h| !h.extended());
        if let (Some(like), Some(writer)) = (like, &mut new.writer) {
            let params = &mut writer.encoder.params;
            if options.given(Opt::Codec).is_none() {
                params.codec = like.codec().unwrap_or(params.codec);
            }
            if options.given_bytes(Opt::Filters).is_none() {
                params.filters = like.pipeline().unwrap_or(params.filters);
            }
        }
        Ok(new)
    }
}

/// Reserves offsets for `len` bytes of content, unless the options set the number of spare offsets.
pub fn reserve_offsets(options: &mut Options, len: u64) -> Result<()> {
    let many = len / options.get(Opt::ChunkBytes, i64::MAX).max(1) as u64;
    if RESERVED_OFFSETS.contains(&many)
        && options.given(Opt::SpareChunks).is_none()
        && matches!(options.get(Opt::FormatVersion, 0), 0 | 3)
    {
        options.set(Opt::SpareChunks, i64::try_from(many).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blosc;
    use crate::checksum::Checksum;
    use crate::error::Status;
    use crate::io::sim::{self, Scenario, SimDisk, StateCounts};
    use crate::superchunk::bloscpack::header::Dialect;

    fn content() -> Vec<u8> {
        (0..40_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect()
    }

    fn options(all: &[(Opt, i64)]) -> Options {
        all.iter().fold(
            Options::new().with(Opt::Threads, 1).unwrap(),
            |o, (opt, n)| o.with(*opt, *n).unwrap(),
        )
    }

    fn create(folder: &Arc<dyn Folder>, name: &str, all: &[(Opt, i64)]) -> Bloscpack {
        let mut b =
            Bloscpack::create_in(folder, OsStr::new(name), Mode::New, 4, &options(all)).unwrap();
        b.append(&content()).unwrap();
        b
    }

    fn open(folder: &Arc<dyn Folder>, name: &str) -> Result<Bloscpack> {
        Bloscpack::open_in(folder, OsStr::new(name), Mode::Read, &Options::new())
    }

    fn to(folder: &Arc<dyn Folder>, name: &str, mode: Mode, all: &[(Opt, i64)]) -> Destination {
        Destination {
            folder: folder.clone(),
            name: name.into(),
            mode,
            options: options(all),
        }
    }

    fn all(b: &Bloscpack) -> Vec<u8> {
        let mut bytes = vec![0; b.nbytes() as usize];
        b.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_layout_converts_to_every_other() {
        let folder = SimDisk::default().folder();
        for from in [1, 2, 3, 103] {
            let name = format!("{from}");
            let mut b = create(
                &folder,
                &name,
                &[
                    (Opt::FormatVersion, from),
                    (Opt::ChunkBytes, 5000),
                    (Opt::Codec, 6),
                ],
            );
            let meta = (from == 3 || from == 103).then_some(&b"{\"a\": [1, 2]}"[..]);
            b.meta_set(meta).unwrap();
            b.commit().unwrap();
            drop(b);
            let b = open(&folder, &name).unwrap();
            for (version, dialect) in [
                (1, Dialect::V1),
                (2, Dialect::V2),
                (3, Dialect::V3),
                (103, Dialect::Rfc),
                (0, Dialect::V3),
            ] {
                let copied = b.copy(to(
                    &folder,
                    "copy",
                    Mode::Replace,
                    &[(Opt::FormatVersion, version)],
                ));
                if meta.is_some() && version < 3 && version > 0 {
                    assert_eq!(copied.unwrap_err().status, Status::Unsupported);
                    continue;
                }
                assert!(!copied.unwrap());
                let c = open(&folder, "copy").unwrap();
                let rfc = dialect == Dialect::Rfc && meta.is_none();
                assert_eq!(
                    c.header().dialect,
                    if rfc { Dialect::V3 } else { dialect },
                    "{from} to {version}"
                );
                assert!(
                    all(&c) == content() && c.meta().unwrap().map(<[u8]>::trim_ascii) == meta,
                    "{from} to {version}"
                );
                let (sum, codec) = (
                    c.header().checksum,
                    c.with_raw(0, |chunk| blosc::Header::parse(chunk)?.codec())
                        .unwrap(),
                );
                assert_eq!(
                    (c.chunk_size(), c.typesize(), codec),
                    (5000, 4, blosc::Codec::Zstd),
                    "{from} to {version}"
                );
                assert_eq!(
                    sum,
                    if version == 1 {
                        Checksum::None
                    } else {
                        Checksum::Crc32
                    },
                    "{from} to {version}"
                );
            }
        }
    }

    #[test]
    fn options_override_the_source() {
        let folder = SimDisk::default().folder();
        let mut b = create(&folder, "a", &[(Opt::Checksum, 6), (Opt::Codec, 5)]);
        // the copy contains uncommitted changes of the handle
        b.write(8, &[9; 4]).unwrap();
        let want = all(&b);
        b.copy(to(&folder, "b", Mode::New, &[])).unwrap();
        b.copy(to(
            &folder,
            "c",
            Mode::New,
            &[(Opt::Checksum, 1), (Opt::Codec, 2), (Opt::ChunkBytes, 400)],
        ))
        .unwrap();
        let c = open(&folder, "c").unwrap();
        assert_eq!(
            (
                open(&folder, "b").unwrap().header().checksum,
                c.header().checksum,
                c.chunks()
            ),
            (Checksum::Sha256, Checksum::Adler32, 400)
        );
        assert_eq!(
            c.with_raw(0, |chunk| blosc::Header::parse(chunk)?.codec())
                .unwrap(),
            blosc::Codec::Lz4
        );
        assert!(all(&open(&folder, "b").unwrap()) == want && all(&c) == want);
        let refused = [
            b.copy(to(&folder, "c", Mode::New, &[])).unwrap_err().status,
            b.copy(to(&folder, "d", Mode::Append, &[]))
                .unwrap_err()
                .status,
            c.copy(to(&folder, "c", Mode::Replace, &[]))
                .unwrap_err()
                .status,
            c.copy(to(&folder, "c", Mode::New, &[])).unwrap_err().status,
            c.copy(to(&folder, "d", Mode::New, &[(Opt::ChunkBytes, 5)]))
                .unwrap_err()
                .status,
        ];
        assert_eq!(
            refused,
            [
                Status::Exists,
                Status::Argument,
                Status::Argument,
                Status::Argument,
                Status::Argument
            ]
        );
        assert!(
            !folder.exists(OsStr::new("d")).unwrap() && all(&open(&folder, "c").unwrap()) == want
        );
    }

    #[test]
    fn damage_is_reported_or_refused() {
        let disk = SimDisk::default();
        create(&disk.folder(), "a", &[(Opt::ChunkBytes, 1000)])
            .commit()
            .unwrap();
        let mut files = disk.contents();
        let bytes = files.get_mut(OsStr::new("a")).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let folder = SimDisk::with_files(&files).folder();
        assert_eq!(
            open(&folder, "a")
                .unwrap()
                .copy(to(&folder, "b", Mode::New, &[]))
                .unwrap_err()
                .status,
            Status::Checksum
        );
        assert!(!folder.exists(OsStr::new("b")).unwrap());
        let skips = Bloscpack::open_in(
            &folder,
            OsStr::new("a"),
            Mode::Read,
            &options(&[(Opt::SkipDamaged, 1)]),
        )
        .unwrap();
        assert!(skips.copy(to(&folder, "b", Mode::New, &[])).unwrap());
        assert!(all(&open(&folder, "b").unwrap()) == all(&skips));
    }

    #[test]
    fn a_power_failure_leaves_a_copy_complete_or_not_started() {
        let mut state_counts = StateCounts::of("Bloscpack");
        let source = SimDisk::default().folder();
        // the last of several files on its disk, so that it differs in identity from the file that
        // is replaced
        ["x", "y", "z", "a"]
            .iter()
            .for_each(|name| create(&source, name, &[]).commit().unwrap());
        let source = open(&source, "a").unwrap();
        for mode in [Mode::New, Mode::Replace] {
            let disk = SimDisk::default();
            if mode == Mode::Replace {
                create(&disk.folder(), "b", &[(Opt::Codec, 6)])
                    .commit()
                    .unwrap();
                disk.make_durable();
            }
            let act = |folder: Arc<dyn Folder>| {
                source
                    .copy(to(&folder, "b", mode, &[(Opt::ChunkBytes, 40_000)]))
                    .map(|_| ())
            };
            let read = |folder: Arc<dyn Folder>| {
                let b = open(&folder, "b")?;
                Ok(vec![b.chunk_size().to_le_bytes().to_vec(), all(&b)])
            };
            let go_on = |_: Arc<dyn Folder>| Ok(());
            state_counts.add(
                "copy",
                sim::check(
                    &Scenario {
                        name: "copy".into(),
                        disk,
                        act: &act,
                        read: &read,
                        next_commit: &go_on,
                    },
                    25,
                    None,
                ),
            );
        }
        state_counts.assert_complete(40);
    }
}
