//! Disks, and so programs, that do something wrong: the rig must notice each of these, or it proves
//! nothing.
//!
//! A program that syncs too late is shown by a disk that holds a sync back until after the step
//! that was to wait for it.

use super::{Pending, SimDisk, State};
use crate::error::Result;
use std::ffi::OsStr;

/// A header is what lies in the first sector of a file.
const HEADER: u64 = 512;
const JOURNAL: &str = ".holdall-journal";
/// What files are called until they are renamed.
const UNTIL_RENAMED: [&str; 3] = ["-new", "-new2", "-part"];

fn is_temporary(name: &str) -> bool {
    UNTIL_RENAMED.iter().any(|end| name.ends_with(end))
}

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The n-th sync of a file or folder does nothing.
    Sync(usize),
    /// The syncs of a journal do nothing.
    JournalUnsynced,
    /// A file is renamed before it is synced.
    RenameFirst,
    /// What makes a change count is done before the sync of the data: its header is written, its
    /// journal is removed, or new files get their names, which a journal may tell of.
    HeaderFirst,
}

impl Wrong {
    /// Those that a program may do.
    pub const MUTATIONS: [(Wrong, &str); 3] = [
        (Wrong::JournalUnsynced, "the journal's sync removed"),
        (Wrong::RenameFirst, "the rename before the sync"),
        (Wrong::HeaderFirst, "the header written before the data"),
    ];
}

/// What a disk does wrong, and has done.
#[derive(Clone, Default)]
pub(super) struct Doing {
    what: Option<Wrong>,
    /// Files whose sync was held back.
    late: Vec<usize>,
    /// How often it was done.
    done: usize,
}

impl SimDisk {
    /// Does this wrong from now on.
    pub fn go_wrong(&self, wrong: Wrong) {
        self.with(|s| {
            let what = if let Wrong::Sync(n) = wrong {
                Wrong::Sync(s.syncs + n)
            } else {
                wrong
            };
            s.wrong = Doing {
                what: Some(what),
                ..Doing::default()
            };
        });
    }

    /// How often it did something wrong. What it holds back it must have done in the end: late is
    /// what it shows, not never.
    pub fn went_wrong(&self) -> usize {
        self.with(|s| {
            assert!(
                s.wrong.late.is_empty(),
                "a sync that was held back for good"
            );
            s.wrong.done
        })
    }
}

impl State {
    pub(super) fn leaves_out(&mut self, sync: usize) -> bool {
        let out = self.wrong.what == Some(Wrong::Sync(sync));
        self.wrong.done += usize::from(out);
        out
    }

    /// Is the sync of this file left for later, or for good?
    pub(super) fn holds_back(&mut self, inode: usize, name: &str) -> bool {
        let (journal, temporary) = (name.contains(JOURNAL), is_temporary(name));
        let (now, late) = match self.wrong.what {
            Some(Wrong::JournalUnsynced) => (journal, false),
            Some(Wrong::RenameFirst) => (temporary, true),
            Some(Wrong::HeaderFirst) => (
                !journal && (temporary || self.something_follows(inode)),
                true,
            ),
            _ => (false, false),
        };
        if now && late {
            self.wrong.late.push(inode);
        }
        self.wrong.done += usize::from(now);
        now
    }

    /// Is there a journal to be removed, or, after these bytes, a header yet to be written?
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
        std::mem::take(&mut self.wrong.late)
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
        if at < HEADER && self.wrong.late.contains(&inode) {
            self.catch_up()
        } else {
            Ok(())
        }
    }
}
