//! The papers' data files, `__N__.bin` from 1 on: superchunks of many chunks each, opened when
//! something in them is wanted.
//!
//! How many chunks a file holds stands in `meta/storage` (`superchunksize`), or else is what the
//! first file holds. Then any file can be elsewhere, so long as nothing in it is wanted.
#![forbid(unsafe_code)]

use super::edit::Edit;
use super::folder::Place;
use crate::checksum::Sum;
use crate::error::{Error, Result, Status, fail};
use crate::options::{Opt, Options};
use crate::parallel::unless_taken;
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Files that are kept open.
const OPEN: usize = 16;

/// The files of one array or field.
pub struct Superchunks {
    place: Place,
    options: Options,
    each: OnceLock<u64>,
    /// The one that was opened last is the last.
    open: Mutex<VecDeque<(u64, Arc<Bloscpack>)>>,
    /// Those that opened only because damage may be skipped, and why.
    faults: Mutex<BTreeMap<u64, Error>>,
}

/// What a data file is called.
pub fn name(number: u64) -> String {
    format!("__{number}__.bin")
}

impl Superchunks {
    /// Where the files are.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The first chunk of the data file of this name.
    pub fn first_of(&self, file: &str) -> Option<u64> {
        let number: u64 = file
            .strip_prefix("__")?
            .strip_suffix("__.bin")?
            .parse()
            .ok()
            .filter(|n| name(*n) == file)?;
        number.checked_sub(1)?.checked_mul(self.each().ok()?)
    }

    /// In this folder, each of so many chunks, if that is known. `options`: those of reading
    /// superchunks.
    pub fn new(place: Place, each: Option<u64>, options: Options) -> Superchunks {
        let each = each.map_or_else(OnceLock::new, OnceLock::from);
        Superchunks {
            place,
            options,
            each,
            open: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// The file with this chunk, and which one it is there. `edit`: which names the files have now.
    pub fn holding(&self, chunk: u64, edit: Option<&Edit>) -> Result<(Arc<Bloscpack>, u64)> {
        let each = self.each()?;
        let number = (chunk / each)
            .checked_add(1)
            .ok_or_else(|| fail!(Range, "chunk {chunk}"))?;
        Ok((self.file(number, edit)?, chunk % each))
    }

    /// The file with this chunk is opened anew.
    pub fn renew(&self, chunk: u64) {
        let number = self.each.get().map_or(0, |each| chunk / each + 1);
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(n, _)| *n != number);
    }

    /// Files are opened anew from now on.
    pub fn forget(&self) {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// How many chunks a file has, if nothing else tells.
    pub fn each_or(&self, otherwise: u64) -> u64 {
        *self.each.get_or_init(|| otherwise)
    }

    /// What stands behind each chunk in the first file, if there is one.
    pub fn sum(&self) -> Option<Sum> {
        self.file(1, None).ok().map(|f| f.header().checksum)
    }

    /// The file that has this chunk, for messages.
    pub fn show(&self, chunk: u64) -> String {
        let each = self.each.get().copied().unwrap_or(u64::MAX);
        self.place.show(&name((chunk / each).saturating_add(1)))
    }

    /// How many chunks a file has.
    pub fn each(&self) -> Result<u64> {
        if let Some(n) = self.each.get() {
            return Ok(*n);
        }
        let first = self.file(1, None).map_err(|e| match e.status {
            Status::Missing => e.within("the first file tells how many chunks each one has"),
            _ => e,
        })?;
        let n = first.chunks() as u64;
        if n == 0 {
            return Err(fail!(Format, "{}: it has no chunks", first.name()));
        }
        Ok(*self.each.get_or_init(|| n))
    }

    /// What is wrong with files that were opened all the same.
    pub fn faults(&self) -> Vec<Error> {
        self.faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    fn file(&self, number: u64, edit: Option<&Edit>) -> Result<Arc<Bloscpack>> {
        let find = |open: MutexGuard<VecDeque<(u64, _)>>| {
            open.iter()
                .find(|(n, _)| *n == number)
                .map(|(_, file)| Arc::clone(file))
        };
        if let Some(file) = unless_taken(&self.open).and_then(find) {
            return Ok(file);
        }
        let now = edit.map_or_else(|| name(number), |e| e.name(number.saturating_sub(1)));
        let open = |o: &Options| {
            Bloscpack::open_in(self.place.folder(), &self.place.name(&now), Mode::Read, o)
        };
        let strict = self.options.clone().with(Opt::SkipDamaged, 0)?;
        let file = match open(&strict) {
            Err(e) if self.options.get(Opt::SkipDamaged, 0) == 1 => {
                let file = open(&self.options)?;
                self.faults
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(number, e);
                file
            }
            file => file?,
        };
        let file = Arc::new(file);
        if let Some(mut open) = unless_taken(&self.open) {
            if open.len() >= OPEN {
                open.pop_front();
            }
            open.push_back((number, file.clone()));
        }
        Ok(file)
    }
}
