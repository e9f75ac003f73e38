//! Shuffled epochs.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::bag::epoch::Epoch as EngineEpoch;

/// The shuffled record numbers of an epoch, for one rank: an iterator for
/// [`Bag::stream_of`](crate::Bag::stream_of).
///
/// The order depends only on the number of records, the seed and the number of the epoch, in every
/// version of the library. It takes no memory: each number is computed when it is requested.
///
/// An epoch is `Send`, `Sync` and `Clone`; one thread at a time takes numbers.
///
/// ```
/// use holdall::{Bag, BagWriter, Epoch, Options};
/// # let name = format!("holdall-doc-epoch-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["zero", "one", "two", "three", "four"])?;
/// # writer.commit()?;
///
/// let bag = Bag::open(&path)?;
/// for number in 0..3 {
///     let epoch = Epoch::new(bag.len(), 42, number);
///     let mut stream = bag.stream_of(epoch, &Options::new())?;
///     while let Some(record) = stream.next_record()? {
///         println!("{}", record.len());
///     }
/// }
///
/// // the second of two ranks, after three records of epoch 7 were used
/// let mut epoch = Epoch::of_rank(bag.len(), 42, 7, 1, 2)?;
/// assert_eq!(epoch.numbers_per_epoch(), 2);
/// epoch.seek(7, 1)?;
/// assert_eq!(epoch.count(), 1);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Epoch(EngineEpoch);

impl Epoch {
    /// Creates an epoch: every number below `n` once. Epochs of other numbers and seeds have other
    /// orders.
    pub fn new(n: u64, seed: u64, number: u64) -> Epoch {
        Epoch(EngineEpoch::whole(n, seed, number))
    }

    /// Creates the part of an epoch that one of `world` ranks uses: its positions `rank`,
    /// `rank + world`, `rank + 2 * world` and so on.
    ///
    /// It fails with [`Status::Argument`](crate::Status::Argument) if `rank` is not below `world`.
    pub fn of_rank(n: u64, seed: u64, number: u64, rank: u32, world: u32) -> Result<Epoch> {
        let epoch = EngineEpoch::new(n, seed, number, rank, world);
        epoch.map(Epoch).map_err(Error)
    }

    /// Returns how many numbers this rank has in each epoch.
    pub fn numbers_per_epoch(&self) -> u64 {
        self.0.size()
    }

    /// Moves to the epoch with this number, of the same seed, and to a position of this rank in it:
    /// 0 to [`Epoch::numbers_per_epoch`], the end.
    ///
    /// It fails with [`Status::Range`](crate::Status::Range) if the position is past the end.
    pub fn seek(&mut self, number: u64, position: u64) -> Result<()> {
        self.0.seek(number, position).map_err(Error)
    }
}

impl Iterator for Epoch {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0.next()
    }
}
