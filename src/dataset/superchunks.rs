//! The data files of the BLZ RFC layout: superchunks `__N__.bin`, numbered from 1, opened on first
//! use.
//!
//! The number of chunks per file is `superchunksize` in `meta/storage`. Without that key it is the
//! number of chunks in the first file. With the key, a file may be missing as long as nothing in it
//! is requested.
#![forbid(unsafe_code)]

use super::edit::Edit;
use super::folder::DatasetDir;
use crate::checksum::Checksum;
use crate::error::{Error, Result, Status, fail};
use crate::options::{Opt, Options};
use crate::parallel::try_lock;
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maximum number of files that stay open.
const MAX_OPEN: usize = 16;

/// The superchunk files of one array or field.
pub struct Superchunks {
    dir: DatasetDir,
    options: Options,
    chunks_per_file: OnceLock<u64>,
    /// Open files, the most recently opened last.
    open: Mutex<VecDeque<(u64, Arc<Bloscpack>)>>,
    /// Corrupt files that were opened because `HOLDALL_OPT_SKIP_DAMAGED` allows it, and their
    /// errors.
    faults: Mutex<BTreeMap<u64, Error>>,
}

/// Returns the name of data file `number`.
pub fn name(number: u64) -> String {
    format!("__{number}__.bin")
}

impl Superchunks {
    /// Returns the folder of the files.
    pub fn dir(&self) -> &DatasetDir {
        &self.dir
    }

    /// Returns the index of the first chunk in the data file with this name.
    pub fn first_chunk_of(&self, file: &str) -> Option<u64> {
        let number: u64 = file
            .strip_prefix("__")?
            .strip_suffix("__.bin")?
            .parse()
            .ok()
            .filter(|n| name(*n) == file)?;
        number
            .checked_sub(1)?
            .checked_mul(self.chunks_per_file().ok()?)
    }

    /// Creates the set for the files in `dir`. `chunks_per_file` is given if the metadata states
    /// it. `options` are the options for reading superchunks.
    pub fn new(dir: DatasetDir, chunks_per_file: Option<u64>, options: Options) -> Superchunks {
        let chunks_per_file = chunks_per_file.map_or_else(OnceLock::new, OnceLock::from);
        Superchunks {
            dir,
            options,
            chunks_per_file,
            open: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// Returns the file that contains `chunk`, and the index of the chunk in that file. `edit`
    /// gives the current names of the files.
    pub fn file_of(&self, chunk: u64, edit: Option<&Edit>) -> Result<(Arc<Bloscpack>, u64)> {
        let chunks_per_file = self.chunks_per_file()?;
        let number = (chunk / chunks_per_file)
            .checked_add(1)
            .ok_or_else(|| fail!(Range, "chunk {chunk}"))?;
        Ok((self.file(number, edit)?, chunk % chunks_per_file))
    }

    /// Closes the file that contains `chunk`, so that the next access opens it again.
    pub fn reopen(&self, chunk: u64) {
        let number = self
            .chunks_per_file
            .get()
            .map_or(0, |chunks_per_file| chunk / chunks_per_file + 1);
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(n, _)| *n != number);
    }

    /// Closes all files, so that the next access opens them again.
    pub fn drop_open_files(&self) {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Returns the number of chunks per file, or sets it to `otherwise` if it is not known.
    pub fn chunks_per_file_or(&self, otherwise: u64) -> u64 {
        *self.chunks_per_file.get_or_init(|| otherwise)
    }

    /// Returns the checksum algorithm of the first file, if that file exists.
    pub fn checksum(&self) -> Option<Checksum> {
        self.file(1, None).ok().map(|f| f.header().checksum)
    }

    /// Returns the path of the file that contains `chunk`, for messages.
    pub fn show(&self, chunk: u64) -> String {
        let chunks_per_file = self.chunks_per_file.get().copied().unwrap_or(u64::MAX);
        self.dir
            .show(&name((chunk / chunks_per_file).saturating_add(1)))
    }

    /// Returns the number of chunks per file, read from the first file if the metadata does not
    /// state it.
    pub fn chunks_per_file(&self) -> Result<u64> {
        if let Some(n) = self.chunks_per_file.get() {
            return Ok(*n);
        }
        let first = self.file(1, None).map_err(|e| match e.status {
            Status::Missing => {
                e.within("the first file is needed for the number of chunks per file")
            }
            _ => e,
        })?;
        let n = first.chunks() as u64;
        if n == 0 {
            return Err(fail!(Format, "{}: it has no chunks", first.name()));
        }
        Ok(*self.chunks_per_file.get_or_init(|| n))
    }

    /// Returns the errors of the corrupt files that were opened anyway.
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
        if let Some(file) = try_lock(&self.open).and_then(find) {
            return Ok(file);
        }
        let now = edit.map_or_else(|| name(number), |e| e.name(number.saturating_sub(1)));
        let open = |o: &Options| {
            Bloscpack::open_in(self.dir.folder(), &self.dir.name(&now), Mode::Read, o)
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
        if let Some(mut open) = try_lock(&self.open) {
            if open.len() >= MAX_OPEN {
                open.pop_front();
            }
            open.push_back((number, file.clone()));
        }
        Ok(file)
    }
}
