//! Possible states of a disk after a power failure: of the pending changes none, all, or some
//! survive.

use super::{NameOp, Pending, Rng, SimDisk, State, above, apply, apply_name};
use crate::checksum::crc32;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;

/// File names and contents.
pub type Files = BTreeMap<OsString, Vec<u8>>;

/// So many repeated states in a row indicate that hardly any new one remains.
const MAX_REPEATS: usize = 40;

impl SimDisk {
    /// Returns up to `most` different states of the disk after a power failure now. The basic ones
    /// (no pending change survives, all survive) are always included.
    pub fn after_cut(&self, most: usize, seed: u64) -> impl Iterator<Item = Files> + use<> {
        self.crash_states(most, seed).map(|(_, files)| files)
    }

    /// Like `after_cut`, each state with the fates of the pending changes.
    pub(super) fn crash_states(
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
                let new = known.insert(hash(&left.1));
                again = if new { 0 } else { again + 1 };
                (again, new.then_some(left))
            })
            .take_while(|(again, _)| *again < MAX_REPEATS)
            .filter_map(|(_, left)| left)
            .take(most)
    }
}

/// Hashes a state. A collision only skips a state.
pub(super) fn hash(files: &Files) -> u32 {
    let checksums: Vec<u8> = files
        .iter()
        .flat_map(|(n, b)| [crc32(n.as_encoded_bytes()), crc32(b)])
        .flat_map(u32::to_le_bytes)
        .collect();
    crc32(&checksums)
}

/// The fate of a pending change of a file.
#[derive(Clone, Debug)]
enum Fate {
    Survived,
    Lost,
    /// This part of the change survives.
    Torn(Pending),
}

/// The fates of all pending changes.
#[derive(Clone, Debug)]
pub(super) struct Fates {
    /// Whether each change of a name survives.
    names: Vec<bool>,
    /// By file; of a file that is absent here, everything survives.
    changes: BTreeMap<usize, Vec<Fate>>,
}

impl Fates {
    fn draw(disk: &State, round: usize, rng: &mut Rng) -> Fates {
        let mut fates = Fates {
            names: name_fates(disk, round, rng),
            changes: BTreeMap::new(),
        };
        for &i in fates.surviving_names(disk).values() {
            fates
                .changes
                .insert(i, change_fates(&disk.inodes[i].pending, round, rng));
        }
        fates
    }

    fn surviving_names(&self, disk: &State) -> BTreeMap<OsString, usize> {
        let mut names = disk.durable_names.clone();
        for (_, op) in disk
            .pending_names
            .iter()
            .zip(&self.names)
            .filter(|(_, survives)| **survives)
            .map(|(op, _)| op)
        {
            apply_name(&mut names, op);
        }
        let there = names.clone();
        names.retain(|n, _| above(n).all(|f| there.contains_key(&f)));
        names
    }

    /// Returns the files of the disk after these fates.
    fn files(&self, disk: &State) -> Files {
        let survivor = |i: usize| {
            let mut bytes = disk.inodes[i].durable.to_vec();
            for (k, (_, change)) in disk.inodes[i].pending.iter().enumerate() {
                match self
                    .changes
                    .get(&i)
                    .map_or(&Fate::Survived, |fates| &fates[k])
                {
                    Fate::Survived => apply(&mut bytes, change),
                    Fate::Torn(part) => apply(&mut bytes, part),
                    Fate::Lost => {}
                }
            }
            bytes
        };
        self.surviving_names(disk)
            .into_iter()
            .map(|(n, i)| (n, survivor(i)))
            .collect()
    }

    /// Restores all changes whose loss or tearing is not needed for the state to be wrong. Returns
    /// the log of operations.
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
            less.changes.get_mut(&i).unwrap()[k] = Fate::Survived;
            take(&mut self, less);
        }
        self.describe(&disk)
    }

    /// Returns the log of operations, with the fates of the pending ones.
    fn describe(&self, disk: &State) -> String {
        let mut became: BTreeMap<usize, String> = BTreeMap::new();
        for ((op, _), survives) in disk.pending_names.iter().zip(&self.names) {
            became.insert(*op, if *survives { "survived" } else { "lost" }.into());
        }
        for (i, file) in disk.inodes.iter().enumerate() {
            for (k, (op, _)) in file.pending.iter().enumerate() {
                let fate = match self
                    .changes
                    .get(&i)
                    .map_or(&Fate::Survived, |fates| &fates[k])
                {
                    Fate::Torn(Pending::Write(at, bytes)) => {
                        format!("torn: {} bytes at {at} survive", bytes.len())
                    }
                    Fate::Lost => "lost".into(),
                    _ => "survived".into(),
                };
                became.insert(*op, fate);
            }
        }
        let first = disk.ops - disk.log.len();
        let mut all = String::new();
        for (i, text) in disk.log.iter().enumerate() {
            let _ = write!(
                all,
                "\n  {text}{}",
                became
                    .get(&(first + i + 1))
                    .map_or(String::new(), |fate| format!(": {fate}"))
            );
        }
        all
    }
}

/// Draws a fate of the name changes: the first ones in each folder, as on most file systems, or any
/// subset, as POSIX permits.
fn name_fates(disk: &State, round: usize, rng: &mut Rng) -> Vec<bool> {
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

/// Draws a fate of the changes of one file.
fn change_fates(pending: &[(usize, Pending)], round: usize, rng: &mut Rng) -> Vec<Fate> {
    let n = pending.len();
    if round < 2 {
        return vec![
            if round == 0 {
                Fate::Lost
            } else {
                Fate::Survived
            };
            n
        ];
    }
    // a prefix, a subset, or a single write; surviving writes may be torn
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
            _ => Fate::Survived,
        }
    };
    pending.iter().enumerate().map(fate).collect()
}

/// Draws some of the 512-byte sectors of a write: a prefix or a suffix.
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
