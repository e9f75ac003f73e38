//! Tests of repairs of damaged files, on the simulated disk.

use super::damage::{Sample, samples, skipping, strict};
use super::*;
use crate::io::sim::{self, Fault, RepairScenario, StateCounts, Tally};
use std::collections::BTreeMap;

/// Returns damaged files, each with the name of the damage.
fn damaged(s: &Sample) -> Vec<(&'static str, Vec<u8>)> {
    let corrupted = |f: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = s.bytes.clone();
        f(&mut bytes);
        bytes
    };
    // after the chunk header
    let inside = |i: usize| s.chunk_ranges[i].start + 24;
    let mut all = vec![
        ("a chunk", corrupted(&|b| b[inside(1)] ^= 4)),
        (
            "two chunks",
            corrupted(&|b| [0, 2].iter().for_each(|i| b[inside(*i)] ^= 0x80)),
        ),
        (
            "the end is lost",
            s.bytes[..s.chunk_ranges[2].end + 9].to_vec(),
        ),
        (
            "the end is lost, and a chunk",
            corrupted(&|b| b[inside(0)] ^= 1)[..s.chunk_ranges[2].end].to_vec(),
        ),
        ("the number of chunks", corrupted(&|b| b[16] ^= 1)),
    ];
    if !s.offsets.is_empty() {
        all.push(("offsets", corrupted(&|b| b[s.offsets.clone()].fill(0x5a))));
    }
    if !s.safe_meta.is_empty() {
        all.push(("metadata", corrupted(&|b| b[s.safe_meta.start + 3] ^= 2)));
    }
    all
}

/// Returns all content, or the content that can be read around the damage.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let Err(e) = reader(folder).and_then(|b| State::of(&b)) else {
        return State::of(&reader(folder)?).map(|s| s.chunks);
    };
    let b = Bloscpack::open_in(folder, OsStr::new(NAME), Mode::Read, &skipping()).map_err(|_| e)?;
    let chunk = |i| {
        let mut got = vec![0xee; b.chunk_nbytes(i).unwrap_or(0)];
        if b.read_chunk(i, &mut got).is_ok_and(|damaged| !damaged) {
            got
        } else {
            Vec::new()
        }
    };
    Ok(std::iter::once(b"damaged".to_vec())
        .chain((0..b.chunks() as u64).map(chunk))
        .collect())
}

fn repair(folder: &Arc<dyn Folder>) -> Result<()> {
    repair_in(folder, OsStr::new(NAME), &strict()).map(|_| ())
}

fn check(
    s: &Sample,
    what: &str,
    bytes: &[u8],
    per_cut: usize,
    wrong: Option<Fault>,
) -> Option<Tally> {
    let disk = SimDisk::with_files(&BTreeMap::from([(NAME.into(), bytes.to_vec())]));
    // a file that cannot be repaired is not changed: see the tests in `damage`
    repair(&disk.copy().folder()).ok()?;
    let name = format!("repair, {what}: {}", s.what);
    Some(sim::check_repair(
        &RepairScenario {
            name,
            disk,
            repair: &|folder| repair(&folder),
            read: &|folder| seen(&folder),
        },
        per_cut,
        wrong,
    ))
}

#[test]
fn a_power_failure_leaves_repairs_complete_or_repeatable() {
    let (mut state_counts, mut left_alone) = (StateCounts::of("Bloscpack"), 0);
    for s in samples(&[0, 2, 6]) {
        for (what, bytes) in damaged(&s) {
            match check(&s, what, &bytes, 10, None) {
                Some(tally) => state_counts.add(&format!("repair: {what}"), tally),
                None => left_alone += 1,
            }
        }
    }
    println!("{left_alone} files could not be repaired");
    state_counts.assert_complete(2_000);
}

#[test]
fn mutations_of_a_repair_are_detected() {
    let s = Sample::new(Form::new(3, 1, 2), true);
    let damage: Vec<_> = damaged(&s)
        .into_iter()
        .filter(|(what, _)| ["a chunk", "the end is lost", "offsets"].contains(what))
        .collect();
    let checks: Vec<_> = damage
        .iter()
        .map(|(what, bytes)| (*what, |wrong| check(&s, what, bytes, 100, wrong).unwrap()))
        .collect();
    sim::mutations_of_repairs("Bloscpack", 2, &checks);
}
