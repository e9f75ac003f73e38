//! Repairing a path, whatever it is, or finding out what that would do.
#![forbid(unsafe_code)]

use crate::bag;
use crate::dataset::open::is_folder;
use crate::error::Result;
use crate::identify::is_bloscpack;
use crate::io::overlay::Rehearsal;
use crate::options::{Opt, Options};
use crate::superchunk::{bloscpack, frame};
use crate::table;
use std::ffi::OsStr;

/// Options that a repair knows and a reader does not, or understands otherwise.
const OF_REPAIRS: [Opt; 4] = [Opt::Durability, Opt::Lock, Opt::SkipDamaged, Opt::Verify];
/// Options that both know.
const OF_BOTH: [Opt; 4] = [
    Opt::MemoryLimit,
    Opt::BagLimits,
    Opt::Codec,
    Opt::Dictionary,
];

/// Repairs what is at a path; with HOLDALL_OPT_DRY_RUN nothing is changed. How many records or
/// chunks were kept and dropped.
pub fn repair(path: &OsStr, options: &Options) -> Result<(u64, u64)> {
    let mut options = options.clone();
    let _dry = begin(path, &mut options);
    if frame::is_at(path, &options)? {
        frame::repair(path, &options).map(|r| (r.kept, r.dropped))
    } else if is_folder(path) {
        table::repair(path, &options).map(|r| (r.kept, r.dropped))
    } else if is_bloscpack(path)? {
        bloscpack::repair(path, &options).map(|r| (r.kept, r.dropped))
    } else {
        bag::repair(path, &options).map(|r| (r.kept, r.dropped))
    }
}

fn begin(path: &OsStr, options: &mut Options) -> Option<Rehearsal> {
    (options.take(Opt::DryRun) == Some(1)).then(|| Rehearsal::begin(path))
}

/// Calls `read` with the options of a reader. With HOLDALL_OPT_DRY_RUN it sees what a repair would
/// leave at this path.
pub fn reading<T>(
    path: &OsStr,
    mut options: Options,
    read: impl FnOnce(&Options) -> Result<T>,
) -> Result<T> {
    let dry = begin(path, &mut options);
    if dry.is_some() {
        let mut own = Options::new();
        for opt in [OF_REPAIRS, OF_BOTH].concat() {
            options.hand_on(opt, &mut own)?;
        }
        repair(path, &own)?;
        OF_REPAIRS.iter().for_each(|opt| _ = options.take(*opt));
    }
    read(&options)
}
