//! What a disk may look like after the power failed: of what was pending nothing, all, or some.

use super::{NameOp, Pending, Rng, SimDisk, State, above, apply, apply_name};
use crate::checksum::crc32;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;

/// Names and contents.
pub type Files = BTreeMap<OsString, Vec<u8>>;

/// So many in a row that were there before, and there is hardly another one.
const ENOUGH: usize = 40;

impl SimDisk {
    /// What might be on the disk if the power failed now: up to `most` different states, the plain
    /// ones (nothing pending kept, everything kept) always among them.
    pub fn after_cut(&self, most: usize, seed: u64) -> impl Iterator<Item = Files> + use<> {
        self.lefts(most, seed).map(|(_, files)| files)
    }

    /// The same, each with what became of what was pending.
    pub(super) fn lefts(
        &self,
        most: usize,
        seed: u64,
    ) -> impl Iterator<Item = (Fates, Files)> + use<> {
        let disk = self.with(|s| s.clone());
        let mut rng = Rng(seed | 1);
        let (mut known, mut again) = (BTreeSet::new(), 0);
        (0..most * 3)
            .map(move |round| {
                let fates = Fates::draw(&disk, round, &mut rng);
                let files = fates.files(&disk);
                (fates, files)
            })
            .map(move |left| {
                let new = known.insert(sum(&left.1));
                again = if new { 0 } else { again + 1 };
                (again, new.then_some(left))
            })
            .take_while(|(again, _)| *again < ENOUGH)
            .filter_map(|(_, left)| left)
            .take(most)
    }
}

/// Tells states apart; two that it takes for one cost a state, no more.
fn sum(files: &Files) -> u32 {
    let sums: Vec<u8> = files
        .iter()
        .flat_map(|(n, b)| [crc32(n.as_encoded_bytes()), crc32(b)])
        .flat_map(u32::to_le_bytes)
        .collect();
    crc32(&sums)
}

/// What becomes of a change of a file that is pending.
#[derive(Clone, Debug)]
enum Fate {
    Kept,
    Lost,
    /// This of it is kept.
    Torn(Pending),
}

/// What becomes of all that is pending.
#[derive(Clone, Debug)]
pub(super) struct Fates {
    /// Whether each change of a name is kept.
    names: Vec<bool>,
    /// By file; of one that is not here all is kept.
    changes: BTreeMap<usize, Vec<Fate>>,
}

impl Fates {
    fn draw(disk: &State, round: usize, rng: &mut Rng) -> Fates {
        let mut fates = Fates {
            names: names(disk, round, rng),
            changes: BTreeMap::new(),
        };
        for &i in fates.kept_names(disk).values() {
            fates
                .changes
                .insert(i, changes(&disk.inodes[i].pending, round, rng));
        }
        fates
    }

    fn kept_names(&self, disk: &State) -> BTreeMap<OsString, usize> {
        let mut names = disk.durable_names.clone();
        for (_, op) in disk
            .pending_names
            .iter()
            .zip(&self.names)
            .filter(|(_, kept)| **kept)
            .map(|(op, _)| op)
        {
            apply_name(&mut names, op);
        }
        let there = names.clone();
        names.retain(|n, _| above(n).all(|f| there.contains_key(&f)));
        names
    }

    /// What is left of the disk.
    fn files(&self, disk: &State) -> Files {
        let survivor = |i: usize| {
            let mut bytes = disk.inodes[i].durable.to_vec();
            for (k, (_, change)) in disk.inodes[i].pending.iter().enumerate() {
                match self.changes.get(&i).map_or(&Fate::Kept, |fates| &fates[k]) {
                    Fate::Kept => apply(&mut bytes, change),
                    Fate::Torn(part) => apply(&mut bytes, part),
                    Fate::Lost => {}
                }
            }
            bytes
        };
        self.kept_names(disk)
            .into_iter()
            .map(|(n, i)| (n, survivor(i)))
            .collect()
    }

    /// Keeps all that does not have to be lost, or torn, for what is left to be wrong; and tells
    /// the operations.
    pub(super) fn shrink(mut self, disk: &SimDisk, is_wrong: &dyn Fn(&Files) -> bool) -> String {
        let disk = disk.with(|s| s.clone());
        let take = |fates: &mut Fates, less: Fates| {
            if is_wrong(&less.files(&disk)) {
                *fates = less;
            }
        };
        for i in 0..self.names.len() {
            let mut less = self.clone();
            less.names[i] = true;
            take(&mut self, less);
        }
        for (i, k) in self
            .changes
            .iter()
            .flat_map(|(i, fates)| (0..fates.len()).map(|k| (*i, k)))
            .collect::<Vec<_>>()
        {
            let mut less = self.clone();
            less.changes.get_mut(&i).unwrap()[k] = Fate::Kept;
            take(&mut self, less);
        }
        self.tell(&disk)
    }

    /// The operations, and what became of those that were pending.
    fn tell(&self, disk: &State) -> String {
        let mut became: BTreeMap<usize, String> = BTreeMap::new();
        for ((op, _), kept) in disk.pending_names.iter().zip(&self.names) {
            became.insert(*op, if *kept { "kept" } else { "lost" }.into());
        }
        for (i, file) in disk.inodes.iter().enumerate() {
            for (k, (op, _)) in file.pending.iter().enumerate() {
                let fate = match self.changes.get(&i).map_or(&Fate::Kept, |fates| &fates[k]) {
                    Fate::Torn(Pending::Write(at, bytes)) => {
                        format!("torn: {} bytes at {at} are kept", bytes.len())
                    }
                    Fate::Lost => "lost".into(),
                    _ => "kept".into(),
                };
                became.insert(*op, fate);
            }
        }
        let first = disk.ops - disk.told.len();
        let mut all = String::new();
        for (i, words) in disk.told.iter().enumerate() {
            let _ = write!(
                all,
                "\n  {words}{}",
                became
                    .get(&(first + i + 1))
                    .map_or(String::new(), |fate| format!(": {fate}"))
            );
        }
        all
    }
}

/// One possible fate of the changes of names: those that came first in each folder, as most file
/// systems have it, or any, which is what POSIX promises.
fn names(disk: &State, round: usize, rng: &mut Rng) -> Vec<bool> {
    let mut left: BTreeMap<&OsStr, usize> = BTreeMap::new();
    for (_, op) in &disk.pending_names {
        *left.entry(op.folder()).or_default() += 1;
    }
    left.values_mut().for_each(|n| *n = rng.below(*n + 1));
    let in_order = rng.below(2) == 0;
    let mut keep = |op: &NameOp| match left.get_mut(op.folder()).filter(|n| in_order && **n > 0) {
        _ if round < 2 => round == 1,
        Some(n) => {
            *n -= 1;
            true
        }
        None => !in_order && rng.below(2) == 0,
    };
    disk.pending_names.iter().map(|(_, op)| keep(op)).collect()
}

/// One possible fate of the changes of a file.
fn changes(pending: &[(usize, Pending)], round: usize, rng: &mut Rng) -> Vec<Fate> {
    let n = pending.len();
    if round < 2 {
        return vec![if round == 0 { Fate::Lost } else { Fate::Kept }; n];
    }
    // a prefix, a subset, or one write alone; and each kept write perhaps torn
    let mode = round % 3;
    let prefix = rng.below(n + 1);
    let fate = |(i, (_, p)): (usize, &(usize, Pending))| {
        let keep = match mode {
            0 => i < prefix,
            1 => rng.below(2) == 0,
            _ => n > 0 && i + 1 == prefix,
        };
        let last = mode == 0 && i + 1 == prefix;
        match p {
            _ if !keep => Fate::Lost,
            Pending::Write(at, bytes) if last || rng.below(3) == 0 => torn(*at, bytes, rng),
            _ => Fate::Kept,
        }
    };
    pending.iter().enumerate().map(fate).collect()
}

/// Some of the 512-byte sectors of a write: a head, a tail, or any of them.
fn torn(at: u64, b: &[u8], rng: &mut Rng) -> Fate {
    let first = 512 - (at as usize % 512);
    let edges: Vec<usize> = std::iter::once(0)
        .chain((first..b.len()).step_by(512))
        .chain([b.len()])
        .collect();
    let i = rng.below(edges.len());
    Fate::Torn(if rng.below(2) == 0 {
        Pending::Write(at, b[..edges[i]].to_vec())
    } else {
        Pending::Write(at + edges[i] as u64, b[edges[i]..].to_vec())
    })
}
