//! `holdall info --files`: the files that a dataset consists of.
//!
//! The names are not derived from the format. The dataset is opened from storage that is the folder
//! and records what is asked for, and one row of each chunk is read: that reads each file, whatever
//! the layout is.

use super::dataset::{self, Content, Dataset};
use crate::cli::Info;
use crate::failure;
use crate::failure::{Result, library, system};
use crate::output::Output;
use crate::report::printable;
use crate::superchunk::packing::row_bytes;
use crate::superchunk::source::resize;
use holdall::{Array, Location, Options, Status, Storage, Table, Verify};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The search stops after so many consecutive chunks that cannot be read: the rest may not exist.
const MOST_LOST: u32 = 1 << 16;

/// Files and their sizes, in the order in which they were asked for; None: a file is missing.
#[derive(Default)]
struct Found {
    files: Vec<(String, Option<u64>)>,
    names: HashSet<String>,
    /// What was asked for last and is missing: some files need not exist.
    absent: Option<String>,
}

impl Found {
    fn add(&mut self, name: &str, size: Option<u64>) {
        if self.names.insert(name.to_owned()) {
            self.files.push((name.to_owned(), size));
        }
    }
}

/// A folder that records the files that are read.
struct Recorder {
    folder: PathBuf,
    found: Mutex<Found>,
}

impl Recorder {
    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn read_only<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Storage for Recorder {
    fn size(&self, name: &str) -> io::Result<u64> {
        match fs::metadata(self.folder.join(name)) {
            Ok(about) if about.is_file() => {
                self.found().add(name, Some(about.len()));
                Ok(about.len())
            }
            Ok(_) => Ok(0),
            Err(error) => {
                let is_absent = error.kind() == io::ErrorKind::NotFound;
                self.found().absent = is_absent.then(|| name.to_owned());
                Err(error)
            }
        }
    }

    fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> io::Result<usize> {
        if name.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // not to wait for the other end of a pipe
        let options = File::options().read(true).custom_flags(libc::O_NONBLOCK).clone();
        let file = options.open(self.folder.join(name))?;
        let mut n = 0;
        while n < dst.len() {
            match file.read_at(&mut dst[n..], at + n as u64)? {
                0 => break,
                got => n += got,
            }
        }
        Ok(n)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        fs::read_dir(self.folder.join(folder))?.map(name).collect()
    }

    fn write_at(&self, _: &str, _: u64, _: &[u8]) -> io::Result<()> {
        read_only()
    }
    fn truncate(&self, _: &str, _: u64) -> io::Result<()> {
        read_only()
    }
    fn sync(&self, _: &str) -> io::Result<()> {
        read_only()
    }
    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        read_only()
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        read_only()
    }
}

impl Recorder {
    /// Reads a row of each chunk. A missing file is recorded; other damage is for verify.
    fn touch(&self, array: &Array) -> Result {
        let Some(rows) = array.shape().first().copied() else {
            return Ok(());
        };
        let objects = dataset::has_objects(array);
        let mut row = Vec::new();
        resize(&mut row, row_bytes(array) as usize)?;
        let rows = if row.is_empty() && !objects { 0 } else { rows };
        let chunk = array.chunk_shape().first().copied().unwrap_or(1).max(1);
        let step = if objects { 1 } else { chunk };
        let (mut at, mut lost) = (0, 0);
        while at < rows && lost < MOST_LOST {
            let mut ranges: Vec<_> = array.shape().iter().map(|n| 0..*n).collect();
            ranges[0] = at..at + 1;
            let read = if objects {
                array.read_object(at).map(drop)
            } else {
                array.read_bytes(ranges.as_slice(), &mut row).map(drop)
            };
            lost = read.as_ref().map_or(lost + 1, |()| 0);
            if read.is_err_and(|error| error.status() == Status::Missing) {
                let mut found = self.found();
                if let Some(absent) = found.absent.take() {
                    found.add(&absent, None);
                }
            }
            at = at.saturating_add(step);
        }
        if lost == MOST_LOST {
            return Err(failure!("{lost} consecutive chunks cannot be read: no more are tried"));
        }
        Ok(())
    }
}

fn record(path: &str, content: &Content, args: &Info) -> Result<Vec<(String, Option<u64>)>> {
    let recorder = Arc::new(Recorder { folder: PathBuf::from(path), found: Mutex::default() });
    // one thread: what a thread misses must be the last file that was missing
    let mut options = Options::new().threads(1).verify(Verify::Never);
    options =
        crate::options::given(options, args.source.reading.memory_limit, Options::memory_limit);
    let location = Location::from(recorder.clone() as Arc<dyn Storage>);
    match content {
        Content::Array(_) => {
            let array = Array::open_with(location, &options).map_err(library(path))?;
            recorder.touch(&array)?;
        }
        Content::Table(_) => {
            let table = Table::open_with(location, &options).map_err(library(path))?;
            let columns = table.column_names().filter_map(|name| table.column(name));
            columns.into_iter().try_for_each(|column| recorder.touch(column))?;
        }
    }
    let mut found = recorder.found();
    Ok(std::mem::take(&mut found.files))
}

/// Prints the files of a dataset.
pub fn print(args: &Info, dataset: Dataset, output: &mut Output) -> Result {
    let path = &args.path;
    let about = fs::metadata(path).map_err(system(path))?;
    let files = if about.is_file() {
        let name = path.rsplit('/').next().unwrap_or(path);
        vec![(name.to_owned(), Some(about.len()))]
    } else {
        record(path, &dataset.content, args)?
    };
    if args.json {
        let file = |(name, size): &(String, Option<u64>)| json!({ "name": name, "bytes": size });
        let files: Vec<Json> = files.iter().map(file).collect();
        return output.line(json!({ "files": files }));
    }
    for (name, size) in files {
        let missing = if size.is_none() { " (missing)" } else { "" };
        output.line(format_args!("{}{missing}", printable(&name)))?;
    }
    Ok(())
}
