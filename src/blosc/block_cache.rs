//! The decoded blocks that a handle caches for further reads.
//!
//! A block is cached once it is requested for the second time, or after several reads of small
//! parts of it, so that content that is read once costs no copy. A request counts only as long as
//! the blocks requested since the first one would fit into the cache: otherwise the block would be
//! evicted before it is used.
//!
//! Blocks are identified by chunk and content offset, so that a block is right for every reader,
//! whatever block size it assumes.
#![forbid(unsafe_code)]

use super::stored::Sink;
use crate::alloc;
use crate::cache::{CacheBudget, LruCache, MultiplyHasher};
use crate::error::Result;
use crate::os::PageBuffer;
use crate::parallel::try_lock;
use crate::progress::{Step, advance};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// Default limit for the cached blocks of a handle.
const DEFAULT_BYTES: usize = 4 << 20;
/// Maximum number of blocks that a handle caches.
const MAX_BLOCKS: usize = 4096;
/// Memory limit for the blocks of all handles without a limit of their own.
static DEFAULT_BUDGET: CacheBudget = CacheBudget::new(64 << 20);
/// Handles with limits of their own are bounded by these.
static NO_BUDGET: CacheBudget = CacheBudget::new(usize::MAX);

/// The number of a chunk, and the content offset of a block.
type Key = (u64, usize);

/// LRU cache of decoded blocks; see the module documentation.
pub struct BlockCache {
    blocks: LruCache<Key, Arc<BlockBuffer>>,
    requests: Mutex<Requests>,
    max_bytes: usize,
}

/// The memory of a decoded block. That of a large block returns to the system with the cache: an
/// allocator would keep as much for each thread that ever decoded a block.
pub enum BlockBuffer {
    /// In pages of the system.
    Mapped(PageBuffer),
    /// In memory of the allocator.
    Allocated(Vec<u8>),
}

/// The last requested blocks, with the size of each.
#[derive(Default)]
struct Requests {
    /// The number of requests of each.
    counts: HashMap<Key, u32, BuildHasherDefault<MultiplyHasher>>,
    order: VecDeque<(Key, usize)>,
    bytes: usize,
}

impl BlockCache {
    /// Creates an empty cache of at most `max_bytes` bytes; `None` means the default.
    pub fn new(max_bytes: Option<usize>) -> BlockCache {
        let (max_bytes, budget) = match max_bytes {
            Some(n) => (n, &NO_BUDGET),
            None => (DEFAULT_BYTES, &DEFAULT_BUDGET),
        };
        BlockCache {
            blocks: LruCache::new(MAX_BLOCKS, budget).with_max_cost(max_bytes),
            requests: Mutex::default(),
            max_bytes,
        }
    }

    /// Returns whether the cache may have blocks of `n` bytes.
    pub fn admits(&self, n: usize) -> bool {
        n <= self.max_bytes
    }

    /// Returns whether a block is cached.
    pub fn has(&self, key: Key) -> bool {
        self.blocks.get(&key).is_some()
    }

    /// Copies a part of a cached block. Returns false if the block is not cached.
    pub fn read(&self, key: Key, from: usize, dst: &mut [u8]) -> bool {
        let block = self.blocks.get(&key);
        let part = block.as_ref().and_then(|block| block.get(from..));
        match part.and_then(|part| part.get(..dst.len())) {
            Some(part) => {
                dst.copy_from_slice(part);
                true
            }
            None => false,
        }
    }

    /// Passes the requested blocks that are cached to the sink, and returns the others. Blocks have
    /// `size` bytes, except the last one of a chunk of `nbytes` bytes.
    pub fn deliver<'r>(
        &self,
        chunk: u64,
        (size, nbytes): (usize, usize),
        requested: &'r [usize],
        sink: &mut dyn Sink,
    ) -> Result<Cow<'r, [usize]>> {
        let (mut missing, mut copied) = (Vec::new(), 0);
        for (i, block) in requested.iter().enumerate() {
            let at = block.saturating_mul(size);
            let n = nbytes.saturating_sub(at).min(size);
            let cached = self.blocks.get(&(chunk, at)).filter(|b| b.len() == n);
            match cached {
                Some(content) => {
                    if copied == 0 {
                        missing = alloc::with_capacity(requested.len())?;
                        missing.extend_from_slice(requested.get(..i).unwrap_or_default());
                    }
                    sink.deliver(*block, &content)?;
                    copied += n.max(1);
                }
                None if copied == 0 => {}
                None => missing.push(*block),
            }
        }
        if copied == 0 {
            return Ok(Cow::Borrowed(requested));
        }
        advance(Step::Decode, copied)?;
        Ok(Cow::Owned(missing))
    }

    /// Records a request of a block of `n` bytes, and returns how many there were before, recently.
    pub fn requests(&self, key: Key, n: usize) -> u32 {
        let Some(mut requests) = try_lock(&self.requests).filter(|_| self.admits(n)) else {
            return 0;
        };
        let requests = &mut *requests;
        let count = requests.counts.entry(key).or_default();
        let before = *count;
        *count = before.saturating_add(1);
        if before > 0 {
            return before;
        }
        requests.order.push_back((key, n));
        requests.bytes += n;
        while requests.bytes > self.max_bytes || requests.order.len() > MAX_BLOCKS {
            let Some((key, n)) = requests.order.pop_front() else {
                break;
            };
            requests.bytes -= n;
            requests.counts.remove(&key);
        }
        0
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.requests = Mutex::default();
    }

    /// Returns a buffer of `n` bytes for a block, with any content.
    pub fn room(&self, n: usize) -> Result<BlockBuffer> {
        let old = self.blocks.make_room(n);
        let old = old.and_then(|old| Arc::try_unwrap(old).ok());
        match old.filter(|old| old.len() == n) {
            Some(old) => Ok(old),
            None => match PageBuffer::new(n) {
                Some(pages) => Ok(BlockBuffer::Mapped(pages)),
                None => BlockBuffer::allocate(n),
            },
        }
    }

    /// Inserts a block, if the cache admits it.
    pub fn put(&self, key: Key, complete: BlockBuffer) {
        let cost = complete.len();
        if self.admits(cost) {
            self.blocks.put(key, Arc::new(complete), cost);
        }
    }
}

impl BlockBuffer {
    /// Returns `n` zero bytes of the allocator, for a block that is not cached.
    pub fn allocate(n: usize) -> Result<BlockBuffer> {
        alloc::zeroed(n).map(BlockBuffer::Allocated)
    }
}

impl Deref for BlockBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            BlockBuffer::Mapped(pages) => pages,
            BlockBuffer::Allocated(bytes) => bytes,
        }
    }
}

impl DerefMut for BlockBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            BlockBuffer::Mapped(pages) => pages,
            BlockBuffer::Allocated(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blosc::Decoded;

    /// Receives blocks of 10 bytes: even ones into a buffer, the others by [`Sink::put`].
    struct Received(Vec<(usize, Vec<u8>)>, [u8; 10], Option<usize>);

    impl Received {
        fn new() -> Received {
            Received(Vec::new(), [0; 10], None)
        }

        fn all(mut self) -> Vec<(usize, Vec<u8>)> {
            if let Some(block) = self.2 {
                self.0.push((block, self.1.to_vec()));
            }
            self.0
        }
    }

    impl Sink for Received {
        fn destination(&mut self, block: usize) -> Option<&mut [u8]> {
            if let Some(before) = self.2.take() {
                self.0.push((before, self.1.to_vec()));
            }
            self.2 = Some(block).filter(|block| block.is_multiple_of(2));
            self.2.map(|_| &mut self.1[..])
        }

        fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
            let mut buffer = Vec::new();
            self.0.push((block, content.bytes(&mut buffer)?.to_vec()));
            Ok(())
        }
    }

    fn content(i: usize) -> Vec<u8> {
        vec![i as u8 + 1; 10]
    }

    fn block(i: usize) -> BlockBuffer {
        BlockBuffer::Allocated(content(i))
    }

    #[test]
    fn cached_blocks_are_delivered_and_the_others_returned() {
        let cache = BlockCache::new(Some(100));
        for i in [0, 1, 3] {
            cache.put((7, 10 * i), block(i));
        }
        // the last block of the chunk is shorter than the cached one
        let sizes = (10, 35);
        for (requested, missing) in [
            (&[0, 1][..], &[][..]),
            (&[0, 1, 2], &[2]),
            (&[2], &[2]),
            (&[0, 2, 3], &[2, 3]),
            (&[2, 3], &[2, 3]),
            (&[1], &[]),
        ] {
            let mut received = Received::new();
            let left = cache.deliver(7, sizes, requested, &mut received).unwrap();
            assert_eq!(&*left, missing);
            let delivered = requested.iter().filter(|i| !missing.contains(i));
            let expected: Vec<_> = delivered.map(|i| (*i, content(*i))).collect();
            assert_eq!(received.all(), expected, "{requested:?}");
            // the blocks of other chunks
            let mut received = Received::new();
            let left = cache.deliver(8, sizes, requested, &mut received).unwrap();
            assert_eq!((&*left, received.all()), (requested, vec![]));
        }
        let mut part = [0; 4];
        assert!(cache.read((7, 10), 6, &mut part) && part == [2; 4]);
        assert!(!cache.read((7, 10), 7, &mut part) && !cache.read((7, 20), 0, &mut part));
    }

    #[test]
    fn a_request_counts_while_the_blocks_since_then_fit() {
        let cache = BlockCache::new(Some(30));
        let requests = |blocks: &[usize]| -> Vec<u32> {
            let before = |i: &usize| cache.requests((0, *i), 10);
            blocks.iter().map(before).collect()
        };
        assert_eq!(requests(&[1, 2, 1, 3, 2, 1]), [0, 0, 1, 0, 1, 2]);
        // a fourth block evicts the first one
        assert_eq!(requests(&[4, 1, 3]), [0, 0, 1]);
        // blocks that never fit are not recorded
        assert_eq!([0, 0].map(|_| cache.requests((0, 9), 31)), [0, 0]);
        assert_eq!(requests(&[4]), [1]);
    }

    #[test]
    fn the_memory_of_an_evicted_block_is_reused() {
        for n in [10, 1 << 20] {
            let cache = BlockCache::new(Some(n));
            let mut first = cache.room(n).unwrap();
            assert!(first.len() == n && first.iter().all(|b| *b == 0));
            first.fill(5);
            let start = first.as_ptr();
            cache.put((0, 0), first);
            assert!(cache.read((0, 0), n - 1, &mut [0]));
            let second = cache.room(n).unwrap();
            assert_eq!((second.as_ptr(), second.len()), (start, n));
            assert!(!cache.has((0, 0)));
        }
    }

    #[test]
    fn the_limit_holds() {
        let cache = BlockCache::new(Some(25));
        (0..3).for_each(|i| cache.put((0, i), block(i)));
        let cached = |i: usize| cache.read((0, i), 0, &mut [0]);
        assert_eq!([0, 1, 2].map(cached), [false, true, true]);
        cache.put((0, 3), BlockBuffer::allocate(26).unwrap());
        assert_eq!([1, 2, 3].map(cached), [true, true, false]);
        let off = BlockCache::new(Some(0));
        off.put((0, 0), block(0));
        assert!(!off.read((0, 0), 0, &mut [0]));
        assert_eq!([0, 0].map(|_| off.requests((0, 0), 1)), [0, 0]);
    }
}
