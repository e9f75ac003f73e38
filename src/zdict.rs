//! Training of zstd dictionaries with given parameters, for which zstd-safe has no function.
//!
//! The same samples give the same dictionary. Its ID is derived from its content, and lies in the
//! range 32768 to 65535: RFC 8878, section 5, reserves smaller ones, and larger ones take two bytes
//! more in every frame.
//!
//! zstd stores a parameter of the training in a global variable. Concurrent calls would write the same
//! value, but in C this is still a data race. Therefore one thread trains at a time.

use crate::alloc;
use crate::checksum::crc32;
use crate::error::Result;
use crate::slice::SliceExt;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_params_t, ZDICT_trainFromBuffer_fastCover,
};

/// Length of the segments that a dictionary is composed of. Of 50, 200 and 1000, this gave the
/// smallest text of 200 bytes; to try several takes several times as long.
const SEGMENT: u32 = 200;

/// Minimum size of a dictionary: zstd refuses smaller ones.
pub const MIN_DICTIONARY: usize = 256;
/// Maximum length of a sample: the largest block of zstd, to which it measures its gain.
const MAX_SAMPLE: usize = 128 << 10;

/// Training data: concatenated samples.
#[derive(Default)]
pub struct Samples {
    data: Vec<u8>,
    sizes: Vec<usize>,
}

impl Samples {
    /// Adds a sample. Only the first 128 KiB of it are used.
    pub fn push(&mut self, sample: &[u8]) -> Result<()> {
        let sample = sample.get(..MAX_SAMPLE).unwrap_or(sample);
        alloc::reserve(&mut self.data, sample.len())?;
        alloc::reserve(&mut self.sizes, 1)?;
        self.data.extend_from_slice(sample);
        self.sizes.push(sample.len());
        Ok(())
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the number of bytes of all samples.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Trains a dictionary of at most `size` bytes for this compression level. Returns `None` if
    /// zstd finds nothing in common.
    pub fn train(&self, size: usize, level: i32) -> Result<Option<Vec<u8>>> {
        let mut dictionary = alloc::zeroed(size)?;
        let trained = train(&self.data, &self.sizes, level, &mut dictionary);
        let Some(n) = trained.filter(|n| *n >= MIN_DICTIONARY) else {
            return Ok(None);
        };
        dictionary.truncate(n);
        let id = 32768 | crc32(dictionary.at(8..)?) & 32767;
        dictionary.at_mut(4..8)?.copy_from_slice(&id.to_le_bytes());
        Ok(Some(dictionary))
    }
}

/// ID of the process of which a thread trains; 0: none.
static TRAINING: AtomicU32 = AtomicU32::new(0);

/// The right to train, until it is dropped. Not a mutex: in a forked child, one that a thread of the
/// parent held would never be free.
struct Turn;

impl Turn {
    fn wait() -> Turn {
        let this = process::id();
        let take =
            |from| TRAINING.compare_exchange(from, this, Ordering::Acquire, Ordering::Relaxed);
        loop {
            match take(0) {
                Ok(_) => return Turn,
                Err(other) if other != this && take(other).is_ok() => return Turn,
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TRAINING.store(0, Ordering::Release);
    }
}

/// Trains a dictionary from concatenated samples and returns its length. Returns `None` if the
/// samples do not suffice. `level`: the compression level that it will be used with.
fn train(data: &[u8], sizes: &[usize], level: i32, dictionary: &mut [u8]) -> Option<usize> {
    let count = u32::try_from(sizes.len()).ok()?;
    let total = sizes.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
    if total != Some(data.len()) {
        return None;
    }
    let parameters = ZDICT_fastCover_params_t {
        k: SEGMENT,
        d: 8,
        f: 20,
        steps: 0,
        nbThreads: 1,
        splitPoint: 1.0,
        accel: 4,
        shrinkDict: 0,
        shrinkDictMaxRegression: 0,
        zParams: ZDICT_params_t {
            compressionLevel: level,
            notificationLevel: 0,
            dictID: 0,
        },
    };
    let _turn = Turn::wait();
    // SAFETY: the buffers live through the call, and their lengths are as stated: `sizes` has
    // `count` elements, whose sum is the length of `data`.
    let n = unsafe {
        ZDICT_trainFromBuffer_fastCover(
            dictionary.as_mut_ptr().cast(),
            dictionary.len(),
            data.as_ptr().cast(),
            sizes.as_ptr(),
            count,
            parameters,
        )
    };
    // An error is larger than any buffer.
    (n <= dictionary.len()).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_train_in_turn() {
        let line = |i| format!("user {i} of the city of Osaka").into_bytes();
        let lines: Vec<Vec<u8>> = (0..2000).map(line).collect();
        let (data, sizes) = (
            lines.concat(),
            lines.iter().map(Vec::len).collect::<Vec<_>>(),
        );
        let trained = || {
            let mut dictionary = vec![0; 1024];
            let n = train(&data, &sizes, 3, &mut dictionary).unwrap();
            dictionary.truncate(n);
            dictionary
        };
        let alone = trained();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(trained)).collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), alone);
            }
        });
        // a thread of the parent of this process
        TRAINING.store(process::id().wrapping_add(1), Ordering::Relaxed);
        assert_eq!(trained(), alone);
    }

    #[test]
    fn samples_that_do_not_suffice_are_refused() {
        let mut dictionary = [0; 1024];
        assert_eq!(train(&[], &[], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[3], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[4], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[usize::MAX, 4], 3, &mut dictionary), None);
    }
}
