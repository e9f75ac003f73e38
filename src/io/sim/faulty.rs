//! Fault injection: disks, and so programs, that work incorrectly. The checks must detect each
//! fault, otherwise they prove nothing.
//!
//! A program that syncs too late is simulated by a disk that delays a sync until after the step
//! that must follow it.

use super::{Pending, SimDisk, State};
use crate::error::Result;
use std::ffi::OsStr;

/// A header lies in the first sector of a file.
const HEADER: u64 = 512;
const JOURNAL: &str = ".holdall-journal";
/// Suffixes of temporary names.
const UNTIL_RENAMED: [&str; 3] = ["-new", "-new2", "-part"];

fn is_temporary(name: &str) -> bool {
    UNTIL_RENAMED.iter().any(|end| name.ends_with(end))
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th sync of a file or folder does nothing.
    Sync(usize),
    /// The syncs of a journal do nothing.
    JournalUnsynced,
    /// A file is renamed before it is synced.
    RenameFirst,
    /// The commit precedes the sync of the data: the header is written, the journal is removed, or
    /// new files are renamed, possibly through a journal.
    HeaderFirst,
}

impl Fault {
    /// Faults that a program may have.
    pub const MUTATIONS: [(Fault, &str); 3] = [
        (Fault::JournalUnsynced, "the journal's sync removed"),
        (Fault::RenameFirst, "the rename before the sync"),
        (Fault::HeaderFirst, "the header written before the data"),
    ];
}

/// The fault of a disk and its state.
#[derive(Clone, Default)]
pub(super) struct FaultState {
    what: Option<Fault>,
    /// Files whose sync is delayed.
    late: Vec<usize>,
    /// How often the fault occurred.
    done: usize,
}

impl SimDisk {
    /// Injects a fault from now on.
    pub fn inject(&self, fault: Fault) {
        self.with(|s| {
            let what = if let Fault::Sync(n) = fault {
                Fault::Sync(s.syncs + n)
            } else {
                fault
            };
            s.fault = FaultState {
                what: Some(what),
                ..FaultState::default()
            };
        });
    }

    /// Returns how often the fault occurred. A delayed sync must have happened by the end: the
    /// fault is lateness, not absence.
    pub fn faults_injected(&self) -> usize {
        self.with(|s| {
            assert!(
                s.fault.late.is_empty(),
                "a sync that was held back for good"
            );
            s.fault.done
        })
    }
}

impl State {
    pub(super) fn leaves_out(&mut self, sync: usize) -> bool {
        let out = self.fault.what == Some(Fault::Sync(sync));
        self.fault.done += usize::from(out);
        out
    }

    /// Returns whether the sync of this file is delayed or skipped.
    pub(super) fn holds_back(&mut self, inode: usize, name: &str) -> bool {
        let (journal, temporary) = (name.contains(JOURNAL), is_temporary(name));
        let (now, late) = match self.fault.what {
            Some(Fault::JournalUnsynced) => (journal, false),
            Some(Fault::RenameFirst) => (temporary, true),
            Some(Fault::HeaderFirst) => (
                !journal && (temporary || self.something_follows(inode)),
                true,
            ),
            _ => (false, false),
        };
        if now && late {
            self.fault.late.push(inode);
        }
        self.fault.done += usize::from(now);
        now
    }

    /// Returns whether a journal is still to be removed, or a header still to be written after
    /// these bytes.
    fn something_follows(&self, inode: usize) -> bool {
        let pending = &self.inodes[inode].pending;
        let wrote_header = pending
            .iter()
            .any(|p| matches!(p, (_, Pending::Write(at, _)) if *at < HEADER));
        (!pending.is_empty() && !wrote_header)
            || self
                .names
                .keys()
                .any(|n| n.as_encoded_bytes().ends_with(JOURNAL.as_bytes()))
    }

    fn catch_up(&mut self) -> Result<()> {
        std::mem::take(&mut self.fault.late)
            .into_iter()
            .try_for_each(|inode| self.sync_file(inode))
    }

    pub(super) fn renamed(&mut self, to: &OsStr) -> Result<()> {
        if is_temporary(&to.to_string_lossy()) {
            Ok(())
        } else {
            self.catch_up()
        }
    }

    pub(super) fn removed(&mut self, name: &OsStr) -> Result<()> {
        if name.as_encoded_bytes().ends_with(JOURNAL.as_bytes()) {
            self.catch_up()
        } else {
            Ok(())
        }
    }

    pub(super) fn wrote(&mut self, inode: usize, at: u64) -> Result<()> {
        if at < HEADER && self.fault.late.contains(&inode) {
            self.catch_up()
        } else {
            Ok(())
        }
    }
}
