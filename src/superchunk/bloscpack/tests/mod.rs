//! Tests of superchunks: against a model, on the simulated disk, and with damaged files.

mod damage;
mod disk;
mod disk_repair;
mod layouts;
mod model;
mod rules;
mod streams;
mod uniform;

use super::*;
use crate::error::Status;
use crate::io::Folder;
use crate::io::sim::{Rng, SimDisk};
use crate::options::Opt;
use std::ffi::OsStr;
use std::sync::Arc;

const NAME: &str = "x.blp";

/// How a test file differs from a file that this library writes, as the BLZ RFC allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foreign {
    No,
    /// The number of chunks and all offsets are -1.
    Unknown,
    /// Zero bytes follow each chunk.
    SpareBytes,
}

/// The parameters of a test file.
#[derive(Clone, Copy, Debug)]
struct Form {
    version: i64,
    offsets: i64,
    sum: i64,
    chunk: usize,
    typesize: usize,
    codec: i64,
    spare_chunks: Option<i64>,
    spare_bytes: i64,
    threads: i64,
    foreign: Foreign,
}

impl Form {
    const fn new(version: i64, offsets: i64, sum: i64) -> Form {
        Form {
            version,
            offsets,
            sum,
            chunk: 600,
            typesize: 4,
            codec: 2,
            spare_chunks: None,
            spare_bytes: 0,
            threads: 1,
            foreign: Foreign::No,
        }
    }

    fn has_meta(self) -> bool {
        self.version == 3 || self.version == 103
    }

    fn write_options(self) -> Options {
        let mut o = Options::new()
            .with(Opt::Codec, self.codec)
            .unwrap()
            .with(Opt::SpareBytes, self.spare_bytes)
            .unwrap();
        // so that every run is identical
        o.set(Opt::Threads, self.threads).unwrap();
        if let Some(n) = self.spare_chunks {
            o.set(Opt::SpareChunks, n).unwrap();
        }
        o
    }

    fn create_options(self) -> Options {
        let o = self
            .write_options()
            .with(Opt::ChunkBytes, self.chunk as i64)
            .unwrap()
            .with(Opt::FormatVersion, self.version)
            .unwrap();
        match self.version {
            1 => o,
            _ => o
                .with(Opt::Checksum, self.sum)
                .unwrap()
                .with(Opt::Offsets, self.offsets)
                .unwrap(),
        }
    }

    fn create(self, folder: &Arc<dyn Folder>, mode: Mode) -> Result<Bloscpack> {
        Bloscpack::create_in(
            folder,
            OsStr::new(NAME),
            mode,
            self.typesize,
            &self.create_options(),
        )
    }

    /// Returns a disk with the same file in the foreign form.
    fn made_foreign(self, disk: SimDisk) -> SimDisk {
        let b = reader(&disk.folder()).unwrap();
        let header = b.header().clone();
        let mut files = disk.contents();
        let Some(file) = files.values_mut().next() else {
            return disk;
        };
        match self.foreign {
            Foreign::No => return disk,
            Foreign::Unknown => {
                file[16..24].fill(0xff);
                let chunks = header.chunks_at() as usize;
                file[header.offsets_at() as usize..chunks].fill(0xff);
            }
            Foreign::SpareBytes => {
                let mut at = header.chunks_at() as usize;
                for i in 0..b.chunks() as u64 {
                    at += b.chunk_info(i).unwrap().1 + header.checksum.size();
                    file.splice(at..at, [0; 40]);
                    at += 40;
                }
            }
        }
        SimDisk::with_files(&files)
    }

    fn append(self, folder: &Arc<dyn Folder>) -> Result<Bloscpack> {
        Bloscpack::open_in(
            folder,
            OsStr::new(NAME),
            Mode::Append,
            &self.write_options(),
        )
    }
}

fn reader(folder: &Arc<dyn Folder>) -> Result<Bloscpack> {
    Bloscpack::open_in(folder, OsStr::new(NAME), Mode::Read, &Options::new())
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    chunks: Vec<Vec<u8>>,
    meta: Option<Vec<u8>>,
}

impl State {
    fn of(b: &Bloscpack) -> Result<State> {
        let mut chunks = Vec::new();
        for i in 0..b.chunks() as u64 {
            let mut chunk = vec![0xee; b.chunk_nbytes(i)?];
            b.read_chunk(i, &mut chunk)?;
            chunks.push(chunk);
        }
        // the BLZ RFC layout pads metadata with spaces
        Ok(State {
            chunks,
            meta: b.meta()?.map(|m| m.trim_ascii_end().to_vec()),
        })
    }

    fn content(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// Returns bytes derived from a seed: noise, a few letters, a ramp, or zeros.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match rng.below(5) {
        0 => (0..len).map(|_| (rng.draw() >> 24) as u8).collect(),
        1 => (0..len).map(|i| (i / 8) as u8 ^ seed as u8).collect(),
        2 => vec![0; len],
        _ => (0..len).map(|_| b"abcd"[rng.below(4)]).collect(),
    }
}

/// Returns JSON derived from a seed.
fn json(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    let text: String = (0..len)
        .map(|_| char::from(b'a' + rng.below(26) as u8))
        .collect();
    format!("{{\"{seed}\": \"{text}\"}}").into_bytes()
}
