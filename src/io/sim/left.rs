//! What a disk may look like after the power failed: of what was pending nothing, all, or some.

use super::{Inode, Rng};
use super::{Pending, SimDisk, State, above, apply, apply_name};
use crate::checksum::crc32;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

/// Names and contents.
pub type Files = BTreeMap<OsString, Vec<u8>>;

/// So many in a row that were there before, and there is hardly another one.
const ENOUGH: usize = 40;

impl SimDisk {
    /// What might be on the disk if the power failed now: up to `most` different states, the plain ones
    /// (nothing pending kept, everything kept) always among them.
    pub fn after_cut(&self, most: usize, seed: u64) -> impl Iterator<Item = Files> + use<> {
        let disk = self.with(|s| s.clone());
        let mut rng = Rng(seed | 1);
        let (mut known, mut again) = (BTreeSet::new(), 0);
        (0..most * 3)
            .map(move |round| left(&disk, round, &mut rng))
            .map(move |files| {
                let new = known.insert(sum(&files));
                again = if new { 0 } else { again + 1 };
                (again, new.then_some(files))
            })
            .take_while(|(again, _)| *again < ENOUGH)
            .filter_map(|(_, files)| files)
            .take(most)
    }
}

/// Tells states apart; two that it takes for one cost a state, no more.
fn sum(files: &Files) -> u32 {
    let sums: Vec<u8> = files.iter().flat_map(|(n, b)| [crc32(n.as_encoded_bytes()), crc32(b)]).flat_map(u32::to_le_bytes).collect();
    crc32(&sums)
}

fn left(disk: &State, round: usize, rng: &mut Rng) -> Files {
    let mut kept: BTreeMap<&OsStr, usize> = BTreeMap::new();
    for op in &disk.pending_names {
        *kept.entry(op.folder()).or_default() += 1;
    }
    for n in kept.values_mut() {
        *n = match round {
            0 => 0,
            1 => *n,
            _ => rng.below(*n + 1),
        };
    }
    let mut names = disk.durable_names.clone();
    for op in &disk.pending_names {
        if let Some(n) = kept.get_mut(op.folder()).filter(|n| **n > 0) {
            *n -= 1;
            apply_name(&mut names, op);
        }
    }
    let there = names.clone();
    names.retain(|n, _| above(n).all(|f| there.contains_key(&f)));
    names.iter().map(|(n, &i)| (n.clone(), survivor(&disk.inodes[i], round, rng))).collect()
}

/// One possible content of a file after the cut.
fn survivor(inode: &Inode, round: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = inode.durable.to_vec();
    let n = inode.pending.len();
    match round {
        0 => {}
        1 => inode.pending.iter().for_each(|p| apply(&mut bytes, p)),
        r => {
            // a prefix, a subset, or one write alone; and each kept write perhaps torn
            let mode = r % 3;
            let prefix = rng.below(n + 1);
            for (i, p) in inode.pending.iter().enumerate() {
                let keep = match mode {
                    0 => i < prefix,
                    1 => rng.below(2) == 0,
                    _ => n > 0 && i + 1 == prefix,
                };
                if !keep {
                    continue;
                }
                let last = mode == 0 && i + 1 == prefix;
                apply(&mut bytes, &if last || rng.below(3) == 0 { torn(p, rng) } else { p.clone() });
            }
        }
    }
    bytes
}

/// Some of the 512-byte sectors of a write: a head, a tail, or any of them.
fn torn(p: &Pending, rng: &mut Rng) -> Pending {
    let Pending::Write(at, b) = p else { return p.clone() };
    let first = 512 - (*at as usize % 512);
    let edges: Vec<usize> = std::iter::once(0).chain((first..b.len()).step_by(512)).chain([b.len()]).collect();
    let i = rng.below(edges.len());
    if rng.below(2) == 0 { Pending::Write(*at, b[..edges[i]].to_vec()) } else { Pending::Write(*at + edges[i] as u64, b[edges[i]..].to_vec()) }
}
