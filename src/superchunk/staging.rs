//! Buffering between content and chunks. Appended content is staged until every thread can encode a
//! chunk. Sequential reads are split into pieces whose chunks the threads decode in parallel.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;
use crate::options::Options;
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;

/// Maximum number of bytes that are staged. Small chunks are staged in groups of more than one per
/// thread.
const MAX_STAGED: usize = 64 << 20;
const MAX_STAGED_SMALL: usize = 1 << 20;
/// Maximum number of bytes in memory in a sequential read.
const PIECE: u64 = 64 << 20;
/// Minimum piece size, for memory limits that are too small to be useful.
const MIN_PIECE: u64 = 64 << 10;

/// Default chunk size in bytes.
const DEFAULT_CHUNK: usize = 1 << 20;

/// Returns the default chunk size for items of `typesize` bytes, a multiple of `typesize`.
pub fn default_chunk(typesize: usize) -> usize {
    let typesize = typesize.max(1);
    (DEFAULT_CHUNK / typesize * typesize).max(typesize)
}

/// A superchunk that stages appended content.
pub trait StagingTarget {
    /// Returns the staged content.
    fn staged(&mut self) -> &mut Vec<u8>;
    /// Returns the number of bytes of content that are encoded.
    fn encoded(&self) -> u64;
    /// Encodes `content` into chunks and appends them. On failure, the chunks before the failed one
    /// remain.
    fn encode(&mut self, content: &[u8]) -> Result<()>;
}

/// Appends content in chunks of `chunk` bytes. On failure, part of `src` may have been appended.
pub fn append(
    to: &mut impl StagingTarget,
    mut src: &[u8],
    chunk: usize,
    threads: usize,
) -> Result<()> {
    let threads = threads.max(1);
    let most = (MAX_STAGED / chunk)
        .clamp(1, (MAX_STAGED_SMALL / chunk).clamp(threads, threads * 4))
        * chunk;
    while !src.is_empty() {
        if to.staged().is_empty() && src.len() >= most {
            // the rest after the last full chunk is staged
            let (now, rest) = src.cut(src.len() / chunk * chunk)?;
            to.encode(now)?;
            src = rest;
            continue;
        }
        let staged = to.staged();
        let (now, rest) = src
            .split_at_checked(most.saturating_sub(staged.len()))
            .unwrap_or((src, &[]));
        alloc::reserve(staged, now.len())?;
        staged.extend_from_slice(now);
        src = rest;
        let n = staged.len();
        if n >= most {
            // a truncated chunk may have left more than this in the staging buffer, and not whole
            // chunks
            encode_first(to, n / chunk * chunk)?;
        }
    }
    Ok(())
}

/// Encodes the first `n` staged bytes. On failure, the bytes that are not encoded remain staged.
pub fn encode_first(to: &mut impl StagingTarget, n: usize) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let mut content = std::mem::take(to.staged());
    let before = to.encoded();
    let done = content.at(..n).and_then(|first| to.encode(first));
    let gone = (to.encoded() - before) as usize;
    content.drain(..gone.min(content.len()));
    *to.staged() = content;
    done
}

/// A sequential read of all content.
pub struct PieceReader<'a> {
    /// Size of the content in bytes, and of a chunk.
    pub nbytes: u64,
    pub chunk: u64,
    /// Number of decoding threads, and the memory limit in bytes.
    pub threads: usize,
    pub limit: u64,
    /// The options with the progress callback.
    pub options: &'a Options,
}

impl PieceReader<'_> {
    /// Calls `f` with consecutive pieces of the content that `read` returns. Returns true if
    /// corrupt content was replaced by zeros.
    pub fn each(
        &self,
        read: impl Fn(u64, &mut [u8]) -> Result<bool>,
        mut f: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<bool> {
        let piece = self
            .chunk
            .max(1)
            .saturating_mul(self.threads.max(1) as u64 * 2)
            .min(PIECE)
            .min(self.limit.max(MIN_PIECE));
        let mut buffer = alloc::zeroed(piece.min(self.nbytes) as usize)?;
        let (mut at, mut damaged) = (0, false);
        let scope = Scope::open(self.options.progress(), self.nbytes, Step::Call);
        while at < self.nbytes {
            let now = buffer.at_mut(..(self.nbytes - at).min(piece) as usize)?;
            damaged |= read(at, now)?;
            f(now)?;
            at += now.len() as u64;
            scope.at(at)?;
        }
        Ok(damaged)
    }
}
