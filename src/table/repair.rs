//! Repair of tables, and of arrays that are datasets: see [`crate::dataset::repair`].
//!
//! The columns of a table come out of it as long as the shortest, all of them with one commit.
#![forbid(unsafe_code)]

use super::names;
use super::write::names_to_json;
use crate::dataset::attrs::FILES;
use crate::dataset::chunks::is_damage;
use crate::dataset::commit::{Site, tidy};
use crate::dataset::folder::Place;
use crate::dataset::meta::STORAGE;
use crate::dataset::open::ROOTDIRS;
use crate::dataset::repair::{Plan, Ready, Wish, damaged_attrs, keep};
use crate::dataset::repair_blz_rfc;
use crate::dataset::text_checksum::{self, sealed};
use crate::error::{Error, Result, fail};
use crate::options::{Opt, Options};
use std::ffi::OsStr;

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Chunks that stay.
    pub kept: u64,
    /// Chunks that are the default value now, or are gone, be it with those of another column;
    /// damaged attributes, names of columns and columns that are gone count as one each.
    pub dropped: u64,
}

/// Repairs the dataset in a folder.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    repair_at(&Place::local(path)?, options)
}

/// Repairs the dataset in this place.
pub fn repair_at(place: &Place, options: &Options) -> Result<Repaired> {
    let known = [
        Opt::Threads,
        Opt::MemoryLimit,
        Opt::Durability,
        Opt::Lock,
        Opt::Verify,
        Opt::SkipDamaged,
    ];
    options.only("repairing a dataset", &known)?;
    let wish = Wish::new(options);
    // what was cut off is finished or undone
    let site = Site::new(place.folder(), options)?;
    if !place.has(ROOTDIRS)?
        && let Some((kept, dropped)) = repair_blz_rfc::repair(place, &wish, options, &site)?
    {
        return Ok(Repaired { kept, dropped });
    }
    let folders = folders(place)?;
    if !place.has(ROOTDIRS)? && (place.has(STORAGE)? || folders.is_empty()) {
        let mut plan = array(place, &wish)?;
        let mut ready = Ready::default();
        plan.prepare(&wish, &mut ready)?;
        ready.commit(place, &wish)?;
        plan.settle();
        return Ok(Repaired {
            kept: plan.kept(),
            dropped: plan.dropped(),
        });
    }
    Columns::find(place, &wish, options, folders)?.repair(place, &wish, options)
}

/// What becomes of an array, whose folder is tidy then.
fn array(place: &Place, wish: &Wish) -> Result<Plan> {
    for below in ["", "data", "meta"] {
        tidy(place, below)?;
    }
    Plan::new(place, wish)
}

/// The folders in a place that are arrays.
fn folders(place: &Place) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for name in place.list("").iter().filter_map(|n| n.to_str()) {
        // below a file there is nothing, and some storage says so in other words
        if place.has(&format!("{name}/{STORAGE}")).unwrap_or(false) {
            all.push(name.to_owned());
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// The columns of a table that is to be repaired.
struct Columns {
    /// Names, folders, and what becomes of each.
    all: Vec<(String, String, Plan)>,
    /// `__rootdirs__` is damaged; it is to be written anew.
    names_damaged: bool,
    names_changed: bool,
    names_sealed: bool,
    dropped: u64,
}

impl Columns {
    fn find(
        place: &Place,
        wish: &Wish,
        options: &Options,
        folders: Vec<String>,
    ) -> Result<Columns> {
        tidy(place, "")?;
        let limit = options.memory_limit();
        let text = place.trusted(wish.trust).read(ROOTDIRS, limit);
        let found = text.and_then(|text| {
            text.map(|text| {
                Ok((
                    names(&text)?,
                    text_checksum::is_sealed(&text),
                    text_checksum::check(&text).is_err(),
                ))
            })
            .transpose()
        });
        let (named, names_sealed, names_damaged, names_changed) = match found {
            Ok(Some((named, is_sealed, is_new))) => (named, is_sealed, false, is_new),
            Err(e) if !is_damage(e.status) => return Err(e),
            Err(e) if folders.is_empty() => return Err(e.within(place.show(ROOTDIRS))),
            Ok(None) if !place.has(FILES[0])? => {
                let words = "neither is there: nothing tells that the arrays in it are the columns of one table";
                return Err(fail!(
                    Format,
                    "{}: {ROOTDIRS} and {}: {words}",
                    place.show(""),
                    FILES[0]
                ));
            }
            // what is there
            found => (
                folders.into_iter().map(|n| (n.clone(), n)).collect(),
                false,
                found.is_err(),
                true,
            ),
        };
        let dropped = u64::from(names_damaged);
        let mut columns = Columns {
            all: Vec::new(),
            names_damaged,
            names_changed,
            names_sealed,
            dropped,
        };
        for (name, folder) in named {
            let of_column = |e: Error| e.within(format_args!("column {name:?}"));
            match place.down(&folder).and_then(|p| array(&p, wish)) {
                Ok(plan) => columns.all.push((name, folder, plan)),
                Err(e) if wish.skip && is_damage(e.status) => {
                    columns.names_changed = true;
                    columns.dropped += 1;
                }
                Err(mut e) => {
                    if is_damage(e.status) {
                        e.message.push_str("; HOLDALL_OPT_SKIP_DAMAGED leaves out a column of which nothing can be made");
                    }
                    return Err(of_column(e));
                }
            }
        }
        if columns.all.is_empty() && columns.dropped > 0 {
            return Err(fail!(
                Format,
                "{}: none of its columns can be read: there is nothing to keep",
                place.show("")
            ));
        }
        Ok(columns)
    }

    fn repair(mut self, place: &Place, wish: &Wish, options: &Options) -> Result<Repaired> {
        let rows = self
            .all
            .iter()
            .map(|(.., plan)| plan.rows)
            .min()
            .unwrap_or(0);
        let is_sealed = self.names_sealed || self.all.iter().any(|(.., plan)| plan.is_sealed());
        let (damaged, attrs_lost) = damaged_attrs(
            &place.trusted(wish.trust),
            options.memory_limit(),
            self.names_sealed,
        )?;
        let mut ready = Ready::default();
        for (.., plan) in &mut self.all {
            plan.cut(rows);
            plan.prepare(wish, &mut ready)?;
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
        if is_sealed {
            texts
                .iter_mut()
                .for_each(|(_, text)| *text = sealed(std::mem::take(text)));
        }
        for name in damaged
            .iter()
            .copied()
            .chain(self.names_damaged.then_some(ROOTDIRS))
        {
            keep(place, name, options.get(Opt::Durability, 1) == 1)?;
        }
        ready.texts(place, &texts, &damaged, wish)?;
        ready.commit(place, wish)?;
        self.all.iter().for_each(|(.., plan)| plan.settle());
        let sum = |f: fn(&Plan) -> u64| self.all.iter().map(|(.., plan)| f(plan)).sum::<u64>();
        Ok(Repaired {
            kept: sum(Plan::kept),
            dropped: sum(Plan::dropped) + self.dropped + damaged.len() as u64,
        })
    }
}
