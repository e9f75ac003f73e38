//! Content on its way: what is appended waits until there is so much of it that each thread can
//! encode a chunk, and what is read from the beginning to the end comes in pieces that they can
//! decode at once.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;
use crate::options::Options;

/// The most content that waits to be encoded; and of small chunks, more than one a thread.
const GATHERED: usize = 64 << 20;
const SMALL: usize = 1 << 20;
/// Content that is held at once where all is read.
const PIECE: u64 = 64 << 20;
/// The same where the caller's limit is lower than any sense.
const LEAST_PIECE: u64 = 64 << 10;

/// Bytes of a chunk where nobody has chosen.
const DEFAULT_CHUNK: usize = 1 << 20;

/// Bytes of a chunk of whole items where nobody has chosen.
pub fn default_chunk(typesize: usize) -> usize {
    let typesize = typesize.max(1);
    (DEFAULT_CHUNK / typesize * typesize).max(typesize)
}

/// What content is gathered for.
pub trait Gathering {
    /// What waits.
    fn waiting(&mut self) -> &mut Vec<u8>;
    /// Bytes of content that do not wait any more.
    fn encoded(&self) -> u64;
    /// Makes chunks of content, behind the last. On failure those before the one that failed stay.
    fn encode(&mut self, content: &[u8]) -> Result<()>;
}

/// Appends content, for chunks of so many bytes. On failure some of it may be in.
pub fn append(to: &mut impl Gathering, mut src: &[u8], chunk: usize, threads: usize) -> Result<()> {
    let threads = threads.max(1);
    let most = (GATHERED / chunk).clamp(1, (SMALL / chunk).clamp(threads, threads * 4)) * chunk;
    while !src.is_empty() {
        if to.waiting().is_empty() && src.len() >= most {
            // what is behind whole chunks waits
            let (now, rest) = src
                .split_at_checked(src.len() / chunk * chunk)
                .unwrap_or((src, &[]));
            to.encode(now)?;
            src = rest;
            continue;
        }
        let waiting = to.waiting();
        let (now, rest) = src
            .split_at_checked(most.saturating_sub(waiting.len()))
            .unwrap_or((src, &[]));
        alloc::reserve(waiting, now.len())?;
        waiting.extend_from_slice(now);
        src = rest;
        let n = waiting.len();
        if n >= most {
            // a chunk that was cut may have left more than this waiting, and not in whole chunks
            encode_first(to, n / chunk * chunk)?;
        }
    }
    Ok(())
}

/// Encodes the first `n` bytes of what waits. On failure what is not encoded goes on waiting.
pub fn encode_first(to: &mut impl Gathering, n: usize) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let mut content = std::mem::take(to.waiting());
    let before = to.encoded();
    let done = to.encode(content.get(..n).unwrap_or(&content));
    let gone = (to.encoded() - before) as usize;
    content.drain(..gone.min(content.len()));
    *to.waiting() = content;
    done
}

/// Content that is read from its beginning to its end.
pub struct Pieces<'a> {
    /// Bytes of it, and of a chunk.
    pub nbytes: u64,
    pub chunk: u64,
    /// Threads that decode it, and memory that may be had.
    pub threads: usize,
    pub limit: u64,
    /// What is told how far it is.
    pub options: &'a Options,
}

impl Pieces<'_> {
    /// Calls `f` with all that `read` gives, piece by piece. True: some of it was damaged, and is
    /// zeros.
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
            .min(self.limit.max(LEAST_PIECE));
        let mut buffer = alloc::zeroed(piece.min(self.nbytes) as usize)?;
        let (mut at, mut bad) = (0, false);
        while at < self.nbytes {
            let now = buffer
                .get_mut(..(self.nbytes - at).min(piece) as usize)
                .unwrap_or_default();
            bad |= read(at, now)?;
            f(now)?;
            at += now.len() as u64;
            self.options.progress(at, self.nbytes)?;
        }
        Ok(bad)
    }
}
