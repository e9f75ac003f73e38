//! Counts of the simulated disk by format and operation, and tests that injected faults are
//! detected.

use super::{Fault, SimDisk, Tally};
use crate::error::Result;
use crate::io::Folder;
use std::sync::Arc;

/// Number of tested states of a format by operation, summed over all variants of its files.
pub struct StateCounts {
    format: String,
    operations: Vec<(String, usize)>,
    violations: Vec<String>,
}

impl StateCounts {
    /// Creates the counts of a format.
    pub fn of(format: &str) -> StateCounts {
        StateCounts {
            format: format.into(),
            operations: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Adds the results of an operation.
    pub fn add(&mut self, operation: &str, t: Tally) {
        self.violations.extend(t.violations);
        match self
            .operations
            .iter_mut()
            .find(|(name, _)| name == operation)
        {
            Some((_, states)) => *states += t.states,
            None => self.operations.push((operation.into(), t.states)),
        }
    }

    /// Prints the table. Fails if there is a violation, or if at most `least` states were tested.
    pub fn assert_complete(self, least: usize) {
        for (operation, states) in &self.operations {
            println!("simulated disk | {} | {operation} | {states}", self.format);
        }
        let states: usize = self.operations.iter().map(|(_, n)| n).sum();
        println!(
            "simulated disk: {}: {} operations, {states} states, {} violations",
            self.format,
            self.operations.len(),
            self.violations.len()
        );
        assert!(
            self.violations.is_empty(),
            "{}",
            self.violations[..self.violations.len().min(10)].join("\n")
        );
        assert!(states > least, "{states}");
    }
}

/// Omits each sync of an operation in turn. Returns the number of violations for each.
pub fn without_each_sync(
    name: &str,
    disk: &SimDisk,
    act: impl Fn(Arc<dyn Folder>) -> Result<()>,
    check: impl Fn(Option<Fault>) -> Tally,
) -> Vec<usize> {
    let whole = disk.copy();
    act(whole.folder()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let noticed = (0..whole.syncs() - disk.syncs())
        .map(|n| check(Some(Fault::Sync(n))).violations.len())
        .collect();
    println!("simulated disk: {name}: violations where the n-th sync is left out: {noticed:?}");
    noticed
}

/// Injects each of [`Fault::MUTATIONS`] into operations of a format. The number of faults that
/// apply must be `arises`, and each of those must be detected.
pub fn mutations(
    format: &str,
    arises: usize,
    operations: &[(&str, impl Fn(Option<Fault>) -> Tally)],
) {
    must_notice(&Fault::MUTATIONS, format, arises, operations);
}

/// Like [`mutations`], for repairs, with the first two faults. The third is harmless: a partial
/// repair is damaged as before, and the next repair has the same result.
pub fn mutations_of_repairs(
    format: &str,
    arises: usize,
    repairs: &[(&str, impl Fn(Option<Fault>) -> Tally)],
) {
    must_notice(
        &Fault::MUTATIONS[..2],
        &format!("{format}, repair"),
        arises,
        repairs,
    );
}

fn must_notice(
    mutations: &[(Fault, &str)],
    format: &str,
    arises: usize,
    operations: &[(&str, impl Fn(Option<Fault>) -> Tally)],
) {
    let mut arose = 0;
    for (fault, text) in mutations {
        let of_each: Vec<(&str, Tally)> = operations
            .iter()
            .map(|(name, check)| (*name, check(Some(*fault))))
            .filter(|(_, t)| t.faults > 0)
            .collect();
        if of_each.is_empty() {
            println!("mutation | {format} | {text} | does not arise");
            continue;
        }
        arose += 1;
        let counts: Vec<String> = of_each
            .iter()
            .map(|(name, t)| format!("{name}: {}", t.violations.len()))
            .collect();
        println!(
            "mutation | {format} | {text} | violations: {}",
            counts.join(", ")
        );
        assert!(
            of_each.iter().any(|(_, t)| !t.violations.is_empty()),
            "{format}: {text}: not noticed"
        );
    }
    assert_eq!(arose, arises, "{format}");
}
