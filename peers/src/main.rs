//! `holdall-peers CASES [SEED [KIND]]`: runs so many cases of each kind from a seed on, on all
//! processors, and prints how many were compared.

use holdall_peers::{KINDS, Kind, Tally, run};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Cases that a thread takes at once.
const PORTION: u64 = 1000;

fn all(kind: &Kind, first: u64, cases: u64) -> Result<Tally, String> {
    let (next, threads) = (
        AtomicU64::new(0),
        thread::available_parallelism().map_or(1, usize::from),
    );
    let work = || {
        let mut tally = Tally::default();
        loop {
            let from = next.fetch_add(PORTION, Ordering::Relaxed);
            if from >= cases {
                return Ok::<_, String>(tally);
            }
            let to = (from + PORTION).min(cases);
            tally += run(kind, first + from..first + to).inspect_err(|_| {
                next.store(cases, Ordering::Relaxed); // the others stop
            })?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_fold(Tally::default(), |mut tally, worker| {
                tally += worker.join().map_err(|_| "a thread panicked")??;
                Ok(tally)
            })
    })
}

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |name: &str, default: Option<u64>| match arguments.next() {
        Some(text) => text
            .parse()
            .map_err(|_| format!("{name}: {text} is no number")),
        None => default.ok_or("usage: holdall-peers CASES [SEED [KIND]]".to_owned()),
    };
    let (cases, seed) = (number("CASES", None)?, number("SEED", Some(0))?);
    let only = std::env::args().nth(3);
    for kind in KINDS
        .iter()
        .filter(|kind| only.as_deref().is_none_or(|name| name == kind.name))
    {
        let tally = all(kind, seed, cases)?;
        println!(
            "{}: {cases} cases, {} comparisons without a difference, {} refused by the peer",
            kind.name, tally.compared, tally.refused
        );
    }
    Ok(())
}
