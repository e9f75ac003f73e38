//! The data files of the BLZ RFC layout: superchunks `__N__.bin`, numbered from 1, opened on first
//! use.
//!
//! The number of chunks per file is `superchunksize` in `meta/storage`. Without that key it is the
//! number of chunks in the first file. If the first file is lost, it is the only number that fits all
//! other files. Any file may be missing as long as nothing in it is requested.
#![forbid(unsafe_code)]

use super::chunks::is_corrupt_or_missing;
use super::edit::Edit;
use super::folder::DatasetDir;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::options::{Opt, Options};
use crate::parallel::try_lock;
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maximum number of files that stay open.
const MAX_OPEN: usize = 16;
/// Maximum number of files that are opened to find the number of chunks per file.
const MAX_EVIDENCE: usize = 64;

/// The superchunk files of one array or field.
pub struct Superchunks {
    dir: DatasetDir,
    options: Options,
    /// Size in bytes of the content of all files, and of a chunk.
    content: [u64; 2],
    chunks_per_file: OnceLock<u64>,
    /// The number that the files after the first one show, determined once.
    deduced: OnceLock<Option<u64>>,
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

/// Returns the number of the data file with this name.
fn number(file: &str) -> Option<u64> {
    let number = file.strip_prefix("__")?.strip_suffix("__.bin")?;
    number.parse().ok().filter(|n| name(*n) == file)
}

/// The size of an intact file.
struct FileSize {
    number: u64,
    chunks: u64,
    nbytes: u64,
    /// Number of used and spare offsets.
    entries: u64,
}

impl FileSize {
    /// Returns true if the file has exactly its part of the content, at `n` chunks per file. A file
    /// with room for more than `n` chunks, or with rows of an interrupted commit, does not.
    fn fits(&self, n: u64, len: u64, chunk: u64) -> bool {
        let start = (self.number - 1).saturating_mul(n).saturating_mul(chunk);
        let part = len.saturating_sub(start).min(n.saturating_mul(chunk));
        part > 0
            && self.entries <= n
            && self.nbytes == part
            && self.chunks == part.div_ceil(chunk.max(1))
    }
}

impl Superchunks {
    /// Returns the folder of the files.
    pub fn dir(&self) -> &DatasetDir {
        &self.dir
    }

    /// Returns the index of the first chunk in the data file with this name.
    pub fn first_chunk_of(&self, file: &str) -> Option<u64> {
        number(file)?
            .checked_sub(1)?
            .checked_mul(self.chunks_per_file().ok()?)
    }

    /// Creates the set for the files in `dir`. `content` is the size in bytes of the content, and of
    /// a chunk. `chunks_per_file` is given if the metadata states it. `options` are the options for
    /// reading superchunks.
    pub fn new(
        dir: DatasetDir,
        content: [u64; 2],
        chunks_per_file: Option<u64>,
        options: Options,
    ) -> Superchunks {
        let chunks_per_file = chunks_per_file.map_or_else(OnceLock::new, OnceLock::from);
        Superchunks {
            dir,
            options,
            content,
            chunks_per_file,
            deduced: OnceLock::new(),
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
        let n = match self.file(1, None) {
            Ok(first) if !self.is_faulty(1) => first.chunks() as u64,
            Err(e) if !is_corrupt_or_missing(e.status) => return Err(e),
            first => match (self.deduced(), first) {
                (Some(n), _) => n,
                (None, Ok(first)) => {
                    let stated = first.header().nchunks.unwrap_or(0);
                    stated.max(first.chunks() as u64)
                }
                (None, Err(e)) => {
                    return Err(e.within("the first file is needed: meta/storage has no \"superchunksize\", and the other files do not show the number of chunks per file"));
                }
            },
        };
        if n == 0 {
            let name = self.dir.show(&name(1));
            return Err(fail!(Format, "{name}: it has no chunks"));
        }
        Ok(*self.chunks_per_file.get_or_init(|| n))
    }

    fn is_faulty(&self, number: u64) -> bool {
        let faults = self.faults.lock();
        faults
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(&number)
    }

    fn deduced(&self) -> Option<u64> {
        *self.deduced.get_or_init(|| self.deduce_chunks_per_file())
    }

    /// Returns the number of chunks per file if it follows from the files after the first one.
    fn deduce_chunks_per_file(&self) -> Option<u64> {
        let [len, chunk] = self.content;
        let count = len.div_ceil(chunk.max(1));
        let files = self.evidence();
        let last = files.last()?;
        // the last file has the rest, and all files before it have the same number of chunks
        let rest = count.checked_sub(last.chunks)?;
        let files_before = last.number - 1;
        let by_rest = rest
            .is_multiple_of(files_before)
            .then(|| rest / files_before);
        let all = files.iter().map(|file| file.chunks).chain(by_rest);
        let mut fitting = all.filter(|n| files.iter().all(|file| file.fits(*n, len, chunk)));
        let n = fitting.next()?;
        fitting.all(|other| other == n).then_some(n)
    }

    /// Returns the intact files after the first one, in ascending order.
    fn evidence(&self) -> Vec<FileSize> {
        let listed = self.dir.list("");
        let mut numbers: Vec<u64> = if listed.is_empty() {
            let there = |n: &u64| self.dir.has(&name(*n)).unwrap_or(false);
            (2..2 + MAX_EVIDENCE as u64).filter(there).collect()
        } else {
            listed
                .iter()
                .filter_map(|n| number(n.to_str()?))
                .filter(|n| *n > 1)
                .collect()
        };
        numbers.sort_unstable();
        let Ok(strict) = self.options.clone().with(Opt::SkipDamaged, 0) else {
            return Vec::new();
        };
        let size = |number: &u64| {
            let name = self.dir.name(&name(*number));
            let file = Bloscpack::open_in(self.dir.folder(), &name, Mode::Read, &strict).ok()?;
            Some(FileSize {
                number: *number,
                chunks: file.chunks() as u64,
                nbytes: file.nbytes(),
                entries: file.header().offset_entries(),
            })
        };
        numbers.iter().take(MAX_EVIDENCE).filter_map(size).collect()
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
