//! The counts of the simulated disk, by format and operation, and that it can see: what goes wrong
//! on purpose must be noticed.

use super::{SimDisk, Tally, Wrong};
use crate::error::Result;
use crate::io::Folder;
use std::sync::Arc;

/// The count of a format: states by operation, whatever else differs between its files.
pub struct Proof {
    format: String,
    operations: Vec<(String, usize)>,
    violations: Vec<String>,
}

impl Proof {
    /// Of this format.
    pub fn of(format: &str) -> Proof {
        Proof {
            format: format.into(),
            operations: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Counts what was tried of an operation.
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

    /// Prints the table. Nothing may be violated, and less than this is no proof.
    pub fn stands(self, least: usize) {
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

/// Leaves out the syncs of an operation one after the other: how many violations each gives.
pub fn syncs_left_out(
    name: &str,
    disk: &SimDisk,
    act: impl Fn(Arc<dyn Folder>) -> Result<()>,
    check: impl Fn(Option<Wrong>) -> Tally,
) -> Vec<usize> {
    let whole = disk.copy();
    act(whole.folder()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let noticed = (0..whole.syncs() - disk.syncs())
        .map(|n| check(Some(Wrong::Sync(n))).violations.len())
        .collect();
    println!("simulated disk: {name}: violations where the n-th sync is left out: {noticed:?}");
    noticed
}

/// Does each of [`Wrong::MUTATIONS`] in some operations of a format: where it arises, which is
/// `arises` of the three, it must be noticed.
pub fn mutations(
    format: &str,
    arises: usize,
    operations: &[(&str, impl Fn(Option<Wrong>) -> Tally)],
) {
    must_notice(&Wrong::MUTATIONS, format, arises, operations);
}

/// The same of repairs, of the first two: the third does them no harm, for what is repaired in part
/// is damaged as before, and the next repair comes to the same end.
pub fn mutations_of_repairs(
    format: &str,
    arises: usize,
    repairs: &[(&str, impl Fn(Option<Wrong>) -> Tally)],
) {
    must_notice(
        &Wrong::MUTATIONS[..2],
        &format!("{format}, repair"),
        arises,
        repairs,
    );
}

fn must_notice(
    mutations: &[(Wrong, &str)],
    format: &str,
    arises: usize,
    operations: &[(&str, impl Fn(Option<Wrong>) -> Tally)],
) {
    let mut arose = 0;
    for (wrong, words) in mutations {
        let of_each: Vec<(&str, Tally)> = operations
            .iter()
            .map(|(name, check)| (*name, check(Some(*wrong))))
            .filter(|(_, t)| t.wrongs > 0)
            .collect();
        if of_each.is_empty() {
            println!("mutation | {format} | {words} | does not arise");
            continue;
        }
        arose += 1;
        let told: Vec<String> = of_each
            .iter()
            .map(|(name, t)| format!("{name}: {}", t.violations.len()))
            .collect();
        println!(
            "mutation | {format} | {words} | violations: {}",
            told.join(", ")
        );
        assert!(
            of_each.iter().any(|(_, t)| !t.violations.is_empty()),
            "{format}: {words}: not noticed"
        );
    }
    assert_eq!(arose, arises, "{format}");
}
