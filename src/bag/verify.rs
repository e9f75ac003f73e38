//! Looks at every byte of a bag and tells of everything that is wrong with it.
#![forbid(unsafe_code)]

use super::batch::Rules;
use super::{Bag, READ_OPTIONS};
use crate::error::{Error, Result, Status};
use crate::options::{Opt, Options};
use std::ffi::OsStr;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records that decode and have a checksum that fits.
    pub sound: u64,
    /// Records that cannot be read.
    pub bad: u64,
    /// Records that decode and have no checksum.
    pub unchecked: u64,
}

/// Verifies a bag; every fault goes to `fault`, which says whether to go on. A bag that cannot be
/// opened at all is one fault, and nothing is counted.
pub fn verify(spec: &OsStr, options: &Options, fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
    let known: Vec<Opt> = READ_OPTIONS.iter().copied().filter(|o| !matches!(o, Opt::Verify | Opt::SkipDamaged)).collect();
    options.only("holdall_verify", &known)?;
    verify_bag(&Bag::open(spec, options)?, fault)
}

/// As [`verify`], on a bag that is open.
pub fn verify_bag(bag: &Bag, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
    let mut found = Verified::default();
    let mut stopped = false;
    let rules = Rules { skip_damaged: true, ..bag.rules() };
    let walked = bag.batches(rules, &mut |first, records| {
        let alone;
        let damaged = match records {
            Ok(records) => {
                let bad = records.damaged.len() as u64;
                found.bad += bad;
                found.unchecked += records.unchecked;
                found.sound += (records.len() as u64).saturating_sub(bad + records.unchecked);
                &records.damaged[..]
            }
            Err(e) => {
                found.bad += 1;
                alone = [(0, e)];
                &alone[..]
            }
        };
        for (at, e) in damaged {
            if !fault(&super::positioned(e.clone(), first + at)) {
                stopped = true;
                return Err(Error::new(Status::Cancelled, ""));
            }
        }
        Ok(())
    });
    match walked {
        Err(e) if !(stopped && e.status == Status::Cancelled) => Err(e),
        _ => Ok(found),
    }
}
