//! The content of a superchunk, piece by piece, and damage that is skipped.

use crate::failure::{Failure, Result, library};
use crate::file_name::FileName;
use crate::{failure, relay, report, signals};
use holdall::{Integrity, Options, Schunk};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a piece, so that its chunks are decoded in parallel.
const PIECE_TARGET: u64 = 8 << 20;
/// The most bytes of a piece, however large a chunk is.
const PIECE_MOST: u64 = 64 << 20;

/// Resizes a buffer that is used again.
pub fn resize(buffer: &mut Vec<u8>, n: usize) -> Result {
    let more = n.saturating_sub(buffer.len());
    let reserved = buffer.try_reserve_exact(more);
    reserved.map_err(|_| failure!("out of memory"))?;
    buffer.resize(n, 0);
    Ok(())
}

/// Damage that was skipped while a container was read. Each chunk is reported once.
pub struct Damage {
    path: FileName,
    /// For verifying the superchunk.
    options: Options,
    pub found: bool,
    /// Damage outside of chunks was reported; every read reports it again.
    is_structural: bool,
    /// The chunks that verification finds corrupt, and that were not reported yet.
    verified: Option<BTreeMap<u64, holdall::Error>>,
    /// Something was reported without the number of a chunk.
    is_reported: bool,
}

impl Damage {
    pub fn new(path: &FileName) -> Damage {
        Damage {
            path: path.clone(),
            options: Options::new(),
            found: false,
            is_structural: false,
            verified: None,
            is_reported: false,
        }
    }

    /// The same for a superchunk. If damage is skipped, reports that outside of chunks, which a
    /// superchunk that is opened to skip damage does not report. Other errors are returned.
    pub fn of(path: &FileName, options: &Options, skip_damaged: bool) -> Result<Damage> {
        let mut damage = Damage { options: options.clone(), ..Damage::new(path) };
        if !skip_damaged {
            return Ok(damage);
        }
        let opened = Schunk::open_with(path, options);
        match opened.and_then(|schunk| schunk.attribute("").map(|_| ())) {
            Err(error) if error.status().is_corruption() => {
                (damage.found, damage.is_structural) = (true, true);
                report::error(&(report::library_message(path, &error) + " (skipped)"));
                Ok(damage)
            }
            checked => checked.map(|()| damage).map_err(library(path)),
        }
    }

    fn corrupt_chunks(&mut self) -> &mut BTreeMap<u64, holdall::Error> {
        self.verified.get_or_insert_with(|| {
            let mut corrupt = BTreeMap::new();
            // faults are collected; what prevents verification was reported
            let _ = holdall::verify(self.path.path(), &self.options, |_, fault| {
                corrupt.extend(fault.position().map(|chunk| (chunk, fault.clone())));
                true
            });
            corrupt
        })
    }

    /// Reports once that zeros replace some of the content. `location` says where the zeros are.
    pub fn report(&mut self, location: &str) {
        self.found = true;
        let is_known = self.is_structural && self.corrupt_chunks().is_empty();
        if !is_known && !std::mem::replace(&mut self.is_reported, true) {
            let path = &self.path;
            report::error(&format!(
                "{path}: some of it is damaged, and zeros {location} (verify names it)"
            ));
        }
    }

    /// Reports the corrupt ones among some chunks, of which zeros were read.
    fn report_chunks(&mut self, chunks: Range<u64>) {
        self.found = true;
        let corrupt = self.corrupt_chunks();
        let mut found = corrupt.split_off(&chunks.start);
        corrupt.append(&mut found.split_off(&chunks.end));
        if found.is_empty() {
            return self.report("here");
        }
        self.is_reported = true;
        for fault in found.values() {
            report::error(&(report::library_message(&self.path, fault) + " (skipped)"));
        }
    }
}

/// A chunk and the offset of its content.
#[derive(Clone, Copy, Default)]
struct Position {
    chunk: u64,
    at: u64,
}

/// A superchunk whose content is read.
pub struct Source {
    pub path: FileName,
    pub schunk: Schunk,
}

impl Source {
    /// Opens a superchunk. With `skip_damaged`, damaged chunks read as zeros and are reported, and
    /// chunks that are missing at the end are ignored.
    pub fn open(
        path: &FileName,
        options: &Options,
        skip_damaged: bool,
    ) -> Result<(Source, Damage)> {
        // the progress of single reads is not that of the command
        let mut options = options.clone().progress(|_, _| !signals::stopped());
        let damage = Damage::of(path, &options, skip_damaged)?;
        if skip_damaged {
            options = options.skip_corrupt(true);
        }
        let schunk = Schunk::open_with(path, &options).map_err(library(path))?;
        // corrupt metadata: whether it was an array is unknown
        schunk.attribute("").map_err(library(path))?;
        Ok((Source { path: path.clone(), schunk }, damage))
    }

    fn chunk_len(&self, chunk: u64) -> u64 {
        self.schunk.chunk_len(chunk).map_or(0, |n| n as u64)
    }

    /// Moves to the chunk that has the byte at this offset.
    fn seek(&self, position: &mut Position, at: u64) {
        if at < position.at {
            *position = Position::default();
        }
        while position.chunk < self.schunk.chunks() {
            let n = self.chunk_len(position.chunk);
            if position.at + n > at {
                break;
            }
            position.at += n;
            position.chunk += 1;
        }
    }

    /// Reads content, and reports the chunks of which zeros were read.
    fn read_quietly(&self, at: u64, dst: &mut [u8], damage: &mut Damage) -> holdall::Result<()> {
        if self.schunk.read(at, dst)? == Integrity::Filled {
            let (mut first, mut last) = (Position::default(), Position::default());
            self.seek(&mut first, at);
            self.seek(&mut last, at + dst.len().saturating_sub(1) as u64);
            damage.report_chunks(first.chunk..last.chunk + 1);
        }
        Ok(())
    }

    /// Reads content from offset `at` on.
    pub fn read(&self, at: u64, dst: &mut [u8], damage: &mut Damage) -> Result {
        let read = self.read_quietly(at, dst, damage);
        read.map_err(library(&self.path))
    }

    /// Returns the end of a piece of at least `target` bytes: that of a chunk, or inside of one
    /// that is too large.
    fn piece_end(&self, position: &mut Position, at: u64, to: u64, target: u64) -> u64 {
        self.seek(position, at);
        let mut end = position.at;
        for chunk in position.chunk..self.schunk.chunks() {
            let next = end + self.chunk_len(chunk);
            if end > at && next - at > PIECE_MOST {
                break;
            }
            end = next;
            if end > at && end - at >= target {
                break;
            }
        }
        if end <= at || end - at > PIECE_MOST {
            end = at + PIECE_MOST;
        }
        end.min(to)
    }

    /// Passes the content of a range to `sink`, in pieces that take little memory. The next piece
    /// is read while one is taken. Everything before a chunk that cannot be read is passed on.
    pub fn stream(
        &self,
        range: Range<u64>,
        damage: &mut Damage,
        mut sink: impl FnMut(&[u8]) -> Result,
    ) -> Result {
        let (mut at, mut target) = (range.start, PIECE_TARGET);
        let mut position = Position::default();
        let make = |piece: &mut Vec<u8>| {
            while at < range.end {
                let end = self.piece_end(&mut position, at, range.end, target);
                resize(piece, (end - at) as usize)?;
                match self.read_quietly(at, piece, damage) {
                    Ok(()) => {
                        at = end;
                        return Ok(true);
                    }
                    Err(error) if target == 1 => return Err(library(&self.path)(error)),
                    // chunk by chunk, up to the one that fails
                    Err(_) => target = 1,
                }
            }
            Ok(false)
        };
        relay::take_here(make, |piece| {
            if signals::stopped() {
                return Err(Failure::Stopped);
            }
            sink(piece)
        })
    }
}
