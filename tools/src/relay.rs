//! A pipeline of two threads: the next piece is made while one is taken.
//!
//! Everything that was made before a failure has been taken when a function returns. The first
//! failure is returned.

use crate::failure::Result;
use crate::signals;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

type Piece = Result<Vec<u8>>;

/// Pieces on their way, and empty ones that come back to be filled: two exist.
struct Ways {
    full: (SyncSender<Piece>, Receiver<Piece>),
    empty: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
}

impl Ways {
    fn new() -> Ways {
        let ways = Ways { full: mpsc::sync_channel(0), empty: mpsc::channel() };
        for _ in 0..2 {
            // the receiver is there
            let _ = ways.empty.0.send(Vec::new());
        }
        ways
    }
}

/// Makes pieces until `make` returns false, or the other thread takes no more.
fn make_all(
    mut make: impl FnMut(&mut Vec<u8>) -> Result<bool>,
    full: SyncSender<Result<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
) {
    while let Ok(mut piece) = empty.recv() {
        let made = match make(&mut piece) {
            Ok(false) => return,
            Ok(true) => full.send(Ok(piece)),
            Err(failure) => return drop(full.send(Err(failure))),
        };
        if made.is_err() {
            return;
        }
    }
}

fn take_all(
    mut take: impl FnMut(&[u8]) -> Result,
    full: Receiver<Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
) -> Result {
    for piece in full {
        let piece = piece?;
        take(&piece)?;
        // the maker may have ended
        let _ = empty.send(piece);
    }
    Ok(())
}

/// Takes pieces here that another thread makes.
pub fn take_here(
    make: impl FnMut(&mut Vec<u8>) -> Result<bool> + Send,
    take: impl FnMut(&[u8]) -> Result,
) -> Result {
    let Ways { full, empty } = Ways::new();
    thread::scope(|scope| {
        let maker = move || make_all(make, full.0, empty.1);
        let spawned = signals::blocked(|| thread::Builder::new().spawn_scoped(scope, maker));
        spawned.map_err(crate::failure::system("thread"))?;
        take_all(take, full.1, empty.0)
    })
}

/// Makes pieces here that another thread takes: calls that a signal must interrupt belong to this
/// thread.
pub fn make_here(
    make: impl FnMut(&mut Vec<u8>) -> Result<bool>,
    take: impl FnMut(&[u8]) -> Result + Send,
) -> Result {
    let Ways { full, empty } = Ways::new();
    thread::scope(|scope| {
        let taker = move || take_all(take, full.1, empty.0);
        let spawned = signals::blocked(|| thread::Builder::new().spawn_scoped(scope, taker));
        let taker = spawned.map_err(crate::failure::system("thread"))?;
        make_all(make, full.0, empty.1);
        taker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
