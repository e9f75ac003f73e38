//! Verification of all chunks.
#![forbid(unsafe_code)]

use super::{Bloscpack, Mode};
use crate::error::{Error, Result};
use crate::options::{Opt, Options};
use crate::parallel;
use crate::progress::{Scope, Step};
use std::ffi::OsStr;

/// The counts that [`Bloscpack::verify`] returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks whose checksums match.
    pub intact: u64,
    /// Chunks that are corrupt.
    pub corrupt: u64,
    /// Chunks that can be decoded but have no checksum, and chunks with an unknown codec or filter.
    pub unchecked: u64,
}

impl Verified {
    /// Counts a chunk that cannot be decoded.
    pub fn count(&mut self, e: &Error) {
        if e.is_unsupported() {
            self.unchecked += 1
        } else {
            self.corrupt += 1
        }
    }
}

impl Bloscpack {
    /// Reads and checks all chunks. Passes each error to `fault`, which returns false to stop.
    pub fn verify(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.listed()?.verify_all(&mut fault)
    }

    fn verify_all(&self, fault: &mut dyn FnMut(&Error) -> bool) -> Result<Verified> {
        let (mut v, reader, slots) = (Verified::default(), &self.reader, &self.content.slots);
        let group = reader.threads.count() * 4;
        let scope = Scope::open(self.options.progress(), self.nbytes(), Step::Call);
        for first in (0..slots.len()).step_by(group) {
            let mut found: Vec<(usize, Result<()>)> = (first..slots.len().min(first + group))
                .map(|i| (i, Ok(())))
                .collect();
            parallel::for_each(
                reader.file_threads(),
                found.iter_mut().collect(),
                |(i, checked): &mut (usize, _)| {
                    *checked = slots.get(*i).and_then(|slot| reader.check(slot, 1));
                },
            );
            for (i, checked) in found {
                match checked {
                    Ok(()) if self.header().checksum.size() > 0 => v.intact += 1,
                    Ok(()) => v.unchecked += 1,
                    Err(e) => {
                        self.confirm_fault()?;
                        v.count(&e);
                        if !fault(&reader.named(i, e)) {
                            return Ok(v);
                        }
                    }
                }
            }
            scope.at_part(slots.len().min(first + group) as u64, slots.len() as u64)?;
        }
        self.confirm_fault()?;
        let damage = &reader.damage;
        v.corrupt = v.corrupt.saturating_add(damage.missing);
        let shape = if damage.missing > 0 {
            None
        } else {
            self.shape_fault()
        };
        let others = self.head.meta_damage.iter().chain(&shape);
        for e in damage.errors().chain(others) {
            fault(e);
        }
        Ok(v)
    }

    /// Returns an error if a writer has changed the file: then a fault is not corruption.
    fn confirm_fault(&self) -> Result<()> {
        self.reader.check_unmodified().map_err(Error::into_busy)
    }

    /// Returns the contradiction between array metadata and content, if there is one.
    fn shape_fault(&self) -> Option<Error> {
        let array = self.head.array();
        let checked = array.and_then(|a| a.map_or(Ok(()), |a| a.check(self.nbytes())));
        checked.err().map(|e| e.within(self.name()))
    }
}

/// Verifies a file. Passes each error to `fault`, which returns false to stop.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a superchunk",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io],
    )?;
    let all = options.clone().with(Opt::SkipDamaged, 1)?;
    Bloscpack::open(path, Mode::Read, &all)?.verify(fault)
}
