//! Training of zstd dictionaries with given parameters, for which zstd-safe has no function.

use zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_params_t, ZDICT_trainFromBuffer_fastCover,
};

/// Length of the segments that a dictionary is composed of. Of 50, 200 and 1000, this gave the
/// smallest text of 200 bytes; to try several takes several times as long.
const SEGMENT: u32 = 200;

/// Trains a dictionary from concatenated samples and returns its length. Returns `None` if the
/// samples do not suffice. `level`: the compression level that it will be used with.
pub fn train(data: &[u8], sizes: &[usize], level: i32, dictionary: &mut [u8]) -> Option<usize> {
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
    fn samples_that_do_not_suffice_are_refused() {
        let mut dictionary = [0; 1024];
        assert_eq!(train(&[], &[], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[3], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[4], 3, &mut dictionary), None);
        assert_eq!(train(b"one", &[usize::MAX, 4], 3, &mut dictionary), None);
    }
}
