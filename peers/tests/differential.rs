//! A few of the cases that `holdall-peers` runs by the million. The seeds are fixed: a failure is
//! one of this source.

use holdall_peers::{KINDS, run};

#[track_caller]
fn cases(name: &str, n: u64) {
    let kind = KINDS.iter().find(|kind| kind.name == name).expect("a kind");
    let tally = run(kind, 0..n).unwrap_or_else(|why| panic!("{why}"));
    assert!(tally.compared >= n, "{tally:?}");
}

#[test]
fn chunks() {
    cases("chunks", 8_000);
}

#[test]
fn frames() {
    cases("frames", 1_000);
}

#[test]
fn precision() {
    cases("precision", 1_000);
}

#[test]
fn bags() {
    cases("bags", 1_000);
}
