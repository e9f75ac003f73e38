//! Differential tests in one process: random cases that holdall writes and a peer reads, and the
//! reverse.
//!
//! Peers are c-blosc2, the C library that defines Blosc2 chunks and frames, and a plain reader of
//! bags (`plain_bag`), which shares no code with holdall. A case is a function of its seed, so
//! that a failure is repeated by its number.

pub mod bags;
pub mod blosc2;
pub mod chunks;
pub mod content;
pub mod frames;
mod plain_bag;
pub mod precision;

/// Cases run, and those that were not compared because the peer refuses them by design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Comparisons without a difference.
    pub compared: u64,
    /// Cases that the peer refuses; each place where this is counted gives the reason.
    pub refused: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.compared += other.compared;
        self.refused += other.refused;
    }
}

/// A kind of case: its name, and what runs the case of a seed.
pub struct Kind {
    pub name: &'static str,
    pub run: fn(u64) -> Result<Tally, String>,
}

/// All kinds.
pub const KINDS: [Kind; 4] = [
    Kind {
        name: "chunks",
        run: chunks::case,
    },
    Kind {
        name: "frames",
        run: frames::case,
    },
    Kind {
        name: "precision",
        run: precision::case,
    },
    Kind {
        name: "bags",
        run: bags::case,
    },
];

/// Runs the cases of these seeds. Stops at the first difference.
pub fn run(kind: &Kind, seeds: std::ops::Range<u64>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for seed in seeds {
        tally += (kind.run)(seed).map_err(|why| format!("{} {seed}: {why}", kind.name))?;
    }
    Ok(tally)
}
