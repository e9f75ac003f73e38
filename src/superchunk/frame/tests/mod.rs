//! Tests of frames: against a model, and on the simulated disk.

mod damage;
mod disk;
mod disk_repair;
mod layouts;
mod model;
mod paged;
mod recovery;
mod rules;
mod variable_blocks;

use super::*;
use crate::blosc::{Codec, Filter, Params, Pipeline, Target};
use crate::error::{Result, Status};
use crate::io::Folder;
use crate::io::sim::{Rng, SimDisk};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::sync::Arc;

const NAME: &str = "x.b2frame";

/// The properties of a test frame.
#[derive(Clone, Copy, Debug)]
struct Form {
    sparse: bool,
    sum: i64,
    chunk: usize,
    block: usize,
    typesize: usize,
    codec: Codec,
    level: u8,
    filter: Option<Filter>,
    /// Bytes of a metalayer: a header longer than a sector is written under the journal.
    meta: usize,
    threads: i64,
}

const PLAIN: Form = Form {
    sparse: false,
    sum: 2,
    chunk: 600,
    block: 200,
    typesize: 4,
    codec: Codec::Lz4,
    level: 5,
    filter: Some(Filter::Shuffle { group: 0 }),
    meta: 20,
    threads: 1,
};

impl Form {
    fn options(self) -> Options {
        // one thread makes all runs equal
        Options::new().with(Opt::Threads, self.threads).unwrap()
    }

    fn create(self, folder: &Arc<dyn Folder>, mode: Mode) -> Result<Frame> {
        let filters = Pipeline::new(self.filter.as_slice()).unwrap();
        let params = Params {
            filters,
            blocksize: Some(self.block),
            ..Params::new(Target::Blosc2, self.codec, self.level, self.typesize)
        };
        let metalayers = [("fixed", vec![7; self.meta])];
        let new = NewFrame {
            typesize: self.typesize,
            chunk_bytes: self.chunk,
            params,
            metalayers: &metalayers,
            sparse: self.sparse,
        };
        Frame::create_in(
            folder,
            OsStr::new(NAME),
            mode,
            &new,
            &self.options().with(Opt::Checksum, self.sum).unwrap(),
        )
    }

    fn append(self, folder: &Arc<dyn Folder>) -> Result<Frame> {
        Frame::open_in(folder, OsStr::new(NAME), Mode::Append, &self.options())
    }
}

fn reader(folder: &Arc<dyn Folder>) -> Result<Frame> {
    Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &Options::new())
}

/// The content and the metalayers of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    chunks: Vec<Vec<u8>>,
    metas: Vec<(String, Vec<u8>)>,
}

impl State {
    fn of(f: &Frame) -> Result<State> {
        let mut chunks = Vec::new();
        for i in 0..f.chunks() {
            let span = f.span(i)?;
            let mut chunk = vec![0xee; (span.end - span.start) as usize];
            f.read_chunk(i, &mut chunk)?;
            chunks.push(chunk);
        }
        let mut metas = Vec::new();
        for name in f.meta_names() {
            metas.push((name.to_owned(), f.meta(name)?.unwrap().to_vec()));
        }
        metas.sort();
        Ok(State { chunks, metas })
    }

    fn content(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// Returns bytes that depend on a seed: noise, a few letters, a ramp, one repeated item, or zeros.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match rng.below(6) {
        0 => (0..len).map(|_| (rng.draw() >> 24) as u8).collect(),
        1 => (0..len).map(|i| (i / 8) as u8 ^ seed as u8).collect(),
        2 => vec![0; len],
        3 => vec![seed as u8; len],
        _ => (0..len).map(|_| b"abcd"[rng.below(4)]).collect(),
    }
}
