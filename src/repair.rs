//! Repairs a path of any format, or determines what a repair would do.
#![forbid(unsafe_code)]

use crate::bag;
use crate::dataset::open::is_folder;
use crate::error::{Result, Status};
use crate::identify::is_bloscpack;
use crate::io::locate;
use crate::io::overlay::DryRun;
use crate::options::{Opt, Options};
use crate::parts;
use crate::store;
use crate::superchunk::{bloscpack, frame};
use crate::table;
use std::ffi::OsStr;

/// Options of a repair that a reader does not have or interprets differently.
const REPAIR_OPTIONS: [Opt; 4] = [Opt::Durability, Opt::Lock, Opt::SkipDamaged, Opt::Verify];
/// Options that apply to repairs and to readers.
const SHARED_OPTIONS: [Opt; 5] = [
    Opt::MemoryLimit,
    Opt::FollowLinks,
    Opt::BagLimits,
    Opt::Codec,
    Opt::Dictionary,
];

/// The result of a repair.
#[derive(Default)]
pub struct Repaired {
    /// Records or chunks that were retained.
    pub retained: u64,
    /// Records or chunks that were lost, including metadata and columns.
    pub dropped: u64,
    /// Whether the metadata of a superchunk were corrupt and are removed.
    pub metadata_lost: bool,
    /// Names of the columns that were removed.
    pub columns_lost: Vec<String>,
    /// Parts that were never committed and were removed.
    pub parts_removed: Vec<String>,
}

/// Repairs the container at a path, and removes parts that were never committed. With
/// HOLDALL_OPT_DRY_RUN no file changes. Superchunks need no HOLDALL_OPT_SKIP_DAMAGED and accept it,
/// so that one set of options serves a path of unknown kind.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    let mut options = options.clone();
    let _dry_run = begin_dry_run(path, &mut options);
    let repaired = repair_container(path, options);
    let parts_removed = match &repaired {
        // parts may be those of a container that was never committed
        Err(e) if e.status != Status::Missing => Vec::new(),
        _ if locate::is_local_name(path) => parts::remove_all(path)?,
        _ => Vec::new(),
    };
    match repaired {
        Err(e) if parts_removed.is_empty() => Err(e),
        repaired => Ok(Repaired {
            parts_removed,
            ..repaired.unwrap_or_default()
        }),
    }
}

fn repair_container(path: &OsStr, options: Options) -> Result<Repaired> {
    let without_skip = |mut options: Options| {
        options.take(Opt::SkipDamaged);
        options
    };
    let mut all = Repaired::default();
    if let Ok(Some(format)) = store::format_at(path) {
        let done = store::repair(path, format, &without_skip(options))?;
        (all.retained, all.dropped) = (done.retained, done.dropped);
    } else if frame::is_at(path, &options)? {
        let done = frame::repair(path, &without_skip(options))?;
        (all.retained, all.dropped) = (done.retained, done.dropped);
    } else if is_folder(path) {
        let done = table::repair(path, &options)?;
        (all.retained, all.dropped) = (done.retained, done.dropped);
        all.columns_lost = done.columns_lost;
    } else if is_bloscpack(path)? {
        let done = bloscpack::repair(path, &without_skip(options))?;
        (all.retained, all.dropped) = (done.retained, done.dropped);
        all.metadata_lost = done.metadata_lost;
    } else {
        let done = bag::repair(path, &options)?;
        (all.retained, all.dropped) = (done.retained, done.dropped);
    }
    Ok(all)
}

fn begin_dry_run(path: &OsStr, options: &mut Options) -> Option<DryRun> {
    (options.take(Opt::DryRun) == Some(1)).then(|| DryRun::begin(path))
}

/// Calls `read` with the options of a reader. With HOLDALL_OPT_DRY_RUN, `read` sees the state that
/// a repair of this path would leave.
pub fn reading<T>(
    path: &OsStr,
    mut options: Options,
    read: impl FnOnce(&Options) -> Result<T>,
) -> Result<T> {
    let dry_run = begin_dry_run(path, &mut options);
    if dry_run.is_some() {
        let mut repair_options = Options::new();
        for opt in REPAIR_OPTIONS.into_iter().chain(SHARED_OPTIONS) {
            options.copy_to(opt, &mut repair_options)?;
        }
        repair(path, &repair_options)?;
        REPAIR_OPTIONS.iter().for_each(|opt| _ = options.take(*opt));
    }
    read(&options)
}
