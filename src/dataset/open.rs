//! Opens and verifies datasets: from a path to an array.
#![forbid(unsafe_code)]

use super::array::{ArrayFile, Verified};
use super::chunks::ReadConfig;
use super::commit::{Writer, open_session, snapshot, snapshot_of_many};
use super::create::{WRITE_OPTIONS, for_reading};
use super::folder::{DatasetDir, JOURNAL};
use super::meta::{Meta, MetaTexts, STORAGE};
use crate::array::Array;
use crate::array::store::Store;
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::{Folder, locate, object};
use crate::options::{CHUNK_WRITE_OPTIONS, Opt, Options};
use crate::progress::{Scope, Step};
use crate::superchunk::bloscpack::{Mode, OPEN_OPTIONS};
use crate::superchunk::frame;
use std::ffi::OsStr;
use std::sync::Arc;

/// File that lists the columns of a table.
pub const ROOTDIRS: &str = "__rootdirs__";

/// Opens the array at `path`: a dataset folder, or a file or folder of another format.
pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Array> {
    let _scope = object::request_scope(options);
    if is_folder(path) && !frame::is_at(path, options)? {
        open_at(
            &DatasetDir::local(path, options.follows_links())?,
            mode,
            options,
        )
    } else {
        Array::open(path, mode, options)
    }
}

/// Opens the array in caller-provided storage: either the file `""` or the files of a dataset.
pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Array> {
    match Array::open_in(folder, OsStr::new(""), mode, options) {
        Err(e) if e.status == Status::Missing => {
            let dir = DatasetDir::of(folder);
            if snapshot(&dir, is_dataset)? {
                open_at(&dir, mode, options)
            } else {
                Err(e)
            }
        }
        array => array,
    }
}

/// Returns true if `path` is a folder.
pub fn is_folder(path: &OsStr) -> bool {
    locate::is_folder(path)
}

/// Returns true if `path` is a dataset. A corrupt dataset, and one of which only the journal of its
/// first commit exists, are datasets as well.
pub fn is_local(path: &OsStr) -> bool {
    ["meta", ROOTDIRS, JOURNAL]
        .iter()
        .any(|name| std::path::Path::new(path).join(name).exists())
}

/// Returns true if the folder is a dataset, of one array or of several columns.
pub fn is_dataset(dir: &DatasetDir) -> Result<bool> {
    Ok(dir.has(STORAGE)? || dir.has(ROOTDIRS)?)
}

/// Returns the configuration for reading. Fails if an option does not apply to opening.
pub fn read_config(dir: &DatasetDir, options: &Options) -> Result<ReadConfig> {
    let options = &options.applying("opening a dataset", OPEN_OPTIONS, CHUNK_WRITE_OPTIONS)?;
    Ok(ReadConfig::new(options, dir))
}

fn open_at(dir: &DatasetDir, mode: Mode, options: &Options) -> Result<Array> {
    let file = match mode {
        Mode::Read => {
            let config = read_config(dir, options)?;
            snapshot_of_many(&dir.trusted(!config.verify), |dir, same| {
                file_of_one_commit(dir, &config, same)
            })?
        }
        Mode::Append => open_for_writing(dir, options)?,
        _ => {
            return Err(fail!(
                Argument,
                "wrong mode for opening (expected HOLDALL_READ or HOLDALL_APPEND); use holdall_array_create() with HOLDALL_CREATE or HOLDALL_REPLACE"
            ));
        }
    };
    if options.get(Opt::Verify, 1) > 1 {
        all_intact(&[&file])?;
    }
    file.into_array()
}

fn open_for_writing(dir: &DatasetDir, options: &Options) -> Result<ArrayFile> {
    let options = &write_options(options)?;
    let config = write_config(dir, options);
    let dir = &dir.trusted(!config.verify);
    snapshot(dir, refuse_others)?;
    let writer = Writer::new(
        dir,
        Mode::Append,
        options,
        &open_session(dir.folder(), options)?,
    )?;
    let meta = Meta::read(dir, config.memory_limit, !config.verify)?;
    ArrayFile::open_for_writing(dir, meta, &config, options, writer)
}

/// Returns the options that opening for writing uses. Fails if one does not apply to it.
pub fn write_options(options: &Options) -> Result<Options> {
    options.applying(
        "opening a dataset for writing",
        &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
        CHUNK_WRITE_OPTIONS,
    )
}

/// Returns the configuration for reading through a handle that is open for writing.
pub fn write_config(dir: &DatasetDir, options: &Options) -> ReadConfig {
    ReadConfig::new(&for_reading(options), dir)
}

/// Opens the array in a folder. Returns the contents of its metadata files, too.
fn file_at(dir: &DatasetDir, config: &ReadConfig) -> Result<(ArrayFile, MetaTexts)> {
    refuse_others(dir)?;
    let (meta, texts) = Meta::read_with_texts(dir, config.memory_limit, !config.verify)?;
    Ok((ArrayFile::open(dir, meta, config)?, texts))
}

/// Opens the array in a folder and checks that all metadata files are from one commit. `same`
/// returns true if no commit has started since the read began.
pub fn file_of_one_commit(
    dir: &DatasetDir,
    config: &ReadConfig,
    same: &dyn Fn() -> Result<bool>,
) -> Result<ArrayFile> {
    let file = match file_at(dir, config) {
        // an error of the operating system is not a sign of a concurrent writer
        Err(e) if e.is_system_failure() => return Err(e),
        file => file,
    };
    // a second read that gives the same result shows that the state was there throughout, or that
    // it is older than everything that was read in between
    let is_one = same()?
        && match &file {
            Ok((_, texts)) => texts.are_current()?,
            Err(e) => file_at(dir, config).is_err_and(|again| again.message == e.message),
        };
    if is_one {
        file.map(|(file, _)| file)
    } else {
        Err(busy_error(dir))
    }
}

/// Returns the error for a dataset that another writer changed during the read.
pub fn busy_error(dir: &DatasetDir) -> Error {
    fail!(Busy, "{}: it is being changed", dir.show(""))
}

fn refuse_others(dir: &DatasetDir) -> Result<()> {
    if dir.has(ROOTDIRS)? {
        return Err(fail!(Type, "{}: it is a table, not an array", dir.show("")));
    }
    if !dir.has(STORAGE)? {
        return Err(fail!(
            Format,
            "{}: it is not a dataset: it has neither {STORAGE} nor {ROOTDIRS}",
            dir.show("")
        ));
    }
    Ok(())
}

/// Verifies all arrays and returns the first fault as the error.
pub fn all_intact(files: &[&ArrayFile]) -> Result<()> {
    let mut first = None;
    for file in files {
        let mut fault = |e: &Error| {
            first.get_or_insert_with(|| e.clone());
            false
        };
        file.verify(&mut fault, &mut |_| Ok(()))?;
    }
    first.map_or(Ok(()), Err)
}

/// Verifies arrays one after the other. An array that failed to open is a fault. `fault` receives
/// the index of the array.
pub fn verify(
    files: &[Result<ArrayFile>],
    options: &Options,
    mut fault: impl FnMut(usize, &Error) -> bool,
) -> Result<Verified> {
    let (mut all, mut done) = (Verified::default(), 0u64);
    let chunks = files
        .iter()
        .flatten()
        .map(ArrayFile::chunks)
        .fold(0, u64::saturating_add);
    let nbytes = files.iter().flatten().map(Store::nbytes);
    let all_bytes = nbytes.fold(0, u64::saturating_add);
    let scope = Scope::open(options.progress(), all_bytes, Step::Call);
    for (i, file) in files.iter().enumerate() {
        let file = match file {
            Ok(file) => file,
            Err(e) if fault(i, e) => continue,
            Err(_) => return Ok(all),
        };
        let (v, go_on) = file.verify(&mut |e| fault(i, e), &mut |n| {
            done = done.saturating_add(n);
            scope.at_part(done, chunks)
        })?;
        let corrupt = all.corrupt.saturating_add(v.corrupt);
        all = Verified {
            intact: all.intact + v.intact,
            corrupt,
            unchecked: all.unchecked + v.unchecked,
        };
        if !go_on {
            break;
        }
    }
    Ok(all)
}

/// Returns the format of the array in this folder.
pub fn format(dir: &DatasetDir) -> Result<Format> {
    file_at(dir, &ReadConfig::new(&Options::new(), dir)).map(|(file, _)| file.format())
}
