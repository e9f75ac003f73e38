//! Repair of tables, and of arrays that are datasets; see [`crate::dataset::repair`].
//!
//! The repaired columns of a table are as long as the shortest one. One commit changes all of them.
#![forbid(unsafe_code)]

use super::names;
use super::write::names_to_json;
use crate::dataset::attrs::FILES;
use crate::dataset::chunks::is_corrupt_or_missing;
use crate::dataset::commit::{open_session, tidy};
use crate::dataset::folder::DatasetDir;
use crate::dataset::meta::STORAGE;
use crate::dataset::open::ROOTDIRS;
use crate::dataset::repair::{PreparedFiles, RepairPlan, RepairSettings, back_up, damaged_attrs};
use crate::dataset::repair_blz_rfc;
use crate::dataset::text_checksum::{self, with_checksum};
use crate::error::{Error, Result, fail};
use crate::io::journal::Session;
use crate::options::{Opt, Options};
use std::ffi::OsStr;

/// Result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Chunks that are retained.
    pub retained: u64,
    /// Chunks that were replaced by the default value or removed, including those removed because
    /// another column is shorter. Corrupt attribute files, corrupt lists of columns and removed
    /// columns count as one each.
    pub dropped: u64,
    /// Names of the columns that were removed.
    pub columns_lost: Vec<String>,
}

/// Repairs the dataset at `path`.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    repair_at(&DatasetDir::local(path, options.follows_links())?, options)
}

/// Repairs the dataset in this folder.
pub fn repair_at(dir: &DatasetDir, options: &Options) -> Result<Repaired> {
    let known = [
        Opt::Threads,
        Opt::MemoryLimit,
        Opt::Durability,
        Opt::Lock,
        Opt::Verify,
        Opt::SkipDamaged,
    ];
    options.only("repairing a dataset", &known)?;
    let settings = RepairSettings::new(options);
    // this finishes or rolls back an interrupted commit
    let session = open_session(dir.folder(), options)?;
    if !dir.has(ROOTDIRS)?
        && let Some((retained, dropped)) =
            repair_blz_rfc::repair(dir, &settings, options, &session)?
    {
        return Ok(Repaired {
            retained,
            dropped,
            ..Repaired::default()
        });
    }
    let folders = folders(dir)?;
    if !dir.has(ROOTDIRS)? && (dir.has(STORAGE)? || folders.is_empty()) {
        let mut plan = array(dir, &settings)?;
        let mut prepared = PreparedFiles::default();
        plan.prepare(&settings, &mut prepared)?;
        prepared.commit(&session)?;
        plan.remove_dropped();
        return Ok(Repaired {
            retained: plan.retained(),
            dropped: plan.dropped(),
            ..Repaired::default()
        });
    }
    Columns::find(dir, &settings, options, folders)?.repair(dir, &settings, options, &session)
}

/// Removes leftovers from the folder of an array and plans its repair.
fn array(dir: &DatasetDir, settings: &RepairSettings) -> Result<RepairPlan> {
    for below in ["", "data", "meta"] {
        tidy(dir, below)?;
    }
    RepairPlan::new(dir, settings)
}

/// Returns the subfolders that are arrays.
fn folders(dir: &DatasetDir) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for name in dir.list("").iter().filter_map(|n| n.to_str()) {
        // a path below a file does not exist, and some storage reports that as an error
        if dir.has(&format!("{name}/{STORAGE}")).unwrap_or(false) {
            all.push(name.to_owned());
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// The columns of a table that is repaired.
struct Columns {
    /// Names, folders and repair plans.
    all: Vec<(String, String, RepairPlan)>,
    /// True if `__rootdirs__` is corrupt and must be rewritten.
    names_damaged: bool,
    names_changed: bool,
    names_have_checksum: bool,
    /// Names of the columns that are removed.
    lost: Vec<String>,
}

impl Columns {
    fn find(
        dir: &DatasetDir,
        settings: &RepairSettings,
        options: &Options,
        folders: Vec<String>,
    ) -> Result<Columns> {
        tidy(dir, "")?;
        let limit = options.memory_limit();
        let text = dir.trusted(settings.trust).read(ROOTDIRS, limit);
        let found = text.and_then(|text| {
            text.map(|text| {
                Ok((
                    names(&text)?,
                    text_checksum::has_checksum(&text),
                    text_checksum::check(&text).is_err(),
                ))
            })
            .transpose()
        });
        let (named, names_have_checksum, names_damaged, names_changed) = match found {
            Ok(Some((named, has_checksum, is_new))) => (named, has_checksum, false, is_new),
            Err(e) if !is_corrupt_or_missing(e.status) => return Err(e),
            Err(e) if folders.is_empty() => return Err(e.within(dir.show(ROOTDIRS))),
            Ok(None) if !dir.has(FILES[0])? => {
                let message = "both files are missing, so the arrays in the folder may not be columns of one table";
                return Err(fail!(
                    Format,
                    "{}: {ROOTDIRS} and {}: {message}",
                    dir.show(""),
                    FILES[0]
                ));
            }
            // the columns are the subfolders that are arrays
            found => (
                folders.into_iter().map(|n| (n.clone(), n)).collect(),
                false,
                found.is_err(),
                true,
            ),
        };
        let mut columns = Columns {
            all: Vec::new(),
            names_damaged,
            names_changed,
            names_have_checksum,
            lost: Vec::new(),
        };
        for (name, folder) in named {
            let of_column = |e: Error| e.within(format_args!("column {name:?}"));
            match dir.subdir(&folder).and_then(|p| array(&p, settings)) {
                Ok(plan) => columns.all.push((name, folder, plan)),
                Err(e) if settings.skip && is_corrupt_or_missing(e.status) => {
                    columns.names_changed = true;
                    columns.lost.push(name);
                }
                Err(mut e) => {
                    // the message may already say what the option does
                    if is_corrupt_or_missing(e.status)
                        && !e.message.contains(Opt::SkipDamaged.name())
                    {
                        e.message.push_str("; use HOLDALL_OPT_SKIP_DAMAGED to leave out a column that cannot be repaired");
                    }
                    return Err(of_column(e));
                }
            }
        }
        if columns.all.is_empty() && (names_damaged || !columns.lost.is_empty()) {
            return Err(fail!(
                Format,
                "{}: none of its columns can be read, so nothing can be repaired",
                dir.show("")
            ));
        }
        Ok(columns)
    }

    fn repair(
        mut self,
        dir: &DatasetDir,
        settings: &RepairSettings,
        options: &Options,
        session: &Session,
    ) -> Result<Repaired> {
        let rows = self
            .all
            .iter()
            .map(|(.., plan)| plan.rows)
            .min()
            .unwrap_or(0);
        let has_checksum =
            self.names_have_checksum || self.all.iter().any(|(.., plan)| plan.has_checksum());
        let (damaged, attrs_lost) = damaged_attrs(
            &dir.trusted(settings.trust),
            options.memory_limit(),
            self.names_have_checksum,
        )?;
        let mut prepared = PreparedFiles::default();
        for (.., plan) in &mut self.all {
            plan.cut(rows);
            plan.prepare(settings, &mut prepared)?;
        }
        let mut texts = Vec::new();
        if attrs_lost {
            texts.push((FILES[0], "{}\n".to_owned()));
        }
        if self.names_changed {
            texts.push((
                ROOTDIRS,
                names_to_json(
                    self.all
                        .iter()
                        .map(|(name, folder, _)| (name.as_str(), folder.as_str())),
                ),
            ));
        }
        if has_checksum {
            texts
                .iter_mut()
                .for_each(|(_, text)| *text = with_checksum(std::mem::take(text)));
        }
        for name in damaged
            .iter()
            .copied()
            .chain(self.names_damaged.then_some(ROOTDIRS))
        {
            back_up(dir, name, options.get(Opt::Durability, 1) == 1)?;
        }
        prepared.texts(dir, &texts, &damaged, settings)?;
        prepared.commit(session)?;
        self.all.iter().for_each(|(.., plan)| plan.remove_dropped());
        let total =
            |f: fn(&RepairPlan) -> u64| self.all.iter().map(|(.., plan)| f(plan)).sum::<u64>();
        Ok(Repaired {
            retained: total(RepairPlan::retained),
            dropped: total(RepairPlan::dropped)
                + u64::from(self.names_damaged)
                + (self.lost.len() + damaged.len()) as u64,
            columns_lost: self.lost,
        })
    }
}
