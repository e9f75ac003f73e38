//! Opening and verifying: from a path to an array.
#![forbid(unsafe_code)]

use super::array::{ArrayFile, Verified};
use super::chunks::How;
use super::commit::{Site, Writer, snapshot, snapshot_of_many};
use super::create::{WRITE_OPTIONS, for_reading};
use super::folder::{JOURNAL, Place};
use super::meta::{Meta, STORAGE};
use crate::array::Array;
use crate::error::{Error, Result, Status, fail};
use crate::identify::Format;
use crate::io::{Folder, locate, object};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Mode, OPEN_OPTIONS};
use crate::superchunk::frame;
use std::ffi::OsStr;
use std::sync::Arc;

/// The columns of a table.
pub const ROOTDIRS: &str = "__rootdirs__";

/// Opens an array: a folder that is a dataset, or a file or folder of another kind.
pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Array> {
    let _asking = object::ask_as(options);
    if is_folder(path) && !frame::is_at(path, options)? {
        open_at(&Place::local(path)?, mode, options)
    } else {
        Array::open(path, mode, options)
    }
}

/// Opens the array that is in this storage: as the file "", or as the files of a dataset.
pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Array> {
    match Array::open_in(folder, OsStr::new(""), mode, options) {
        Err(e) if e.status == Status::Missing => {
            let place = Place::of(folder);
            if snapshot(&place, is_dataset)? {
                open_at(&place, mode, options)
            } else {
                Err(e)
            }
        }
        array => array,
    }
}

/// Is there a folder at this path?
pub fn is_folder(path: &OsStr) -> bool {
    locate::is_folder(path)
}

/// Is there a dataset at this path, if perhaps a broken one, or one of which only the journal of
/// its first commit is there?
pub fn is_local(path: &OsStr) -> bool {
    ["meta", ROOTDIRS, JOURNAL]
        .iter()
        .any(|name| std::path::Path::new(path).join(name).exists())
}

/// Is this a dataset, of one array or of several columns?
pub fn is_dataset(place: &Place) -> Result<bool> {
    Ok(place.has(STORAGE)? || place.has(ROOTDIRS)?)
}

/// How it is going to be read.
pub fn how(place: &Place, options: &Options) -> Result<How> {
    options.only("opening a dataset", OPEN_OPTIONS)?;
    Ok(How::new(options, place))
}

fn open_at(place: &Place, mode: Mode, options: &Options) -> Result<Array> {
    let file = match mode {
        Mode::Read => {
            let how = how(place, options)?;
            snapshot_of_many(&place.trusted(!how.verify), |place, same| {
                file_of_one_commit(place, &how, same)
            })?
        }
        Mode::Append => open_for_writing(place, options)?,
        _ => {
            return Err(fail!(
                Argument,
                "HOLDALL_NEW and HOLDALL_REPLACE are for holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            ));
        }
    };
    if options.get(Opt::Verify, 1) > 1 {
        all_sound(&[&file])?;
    }
    file.into_array()
}

fn open_for_writing(place: &Place, options: &Options) -> Result<ArrayFile> {
    let how = how_to_write(place, options)?;
    let place = &place.trusted(!how.verify);
    snapshot(place, refuse_others)?;
    let writer = Writer::new(
        place,
        Mode::Append,
        options,
        &Site::new(place.folder(), options)?,
    )?;
    let meta = Meta::read(place, how.memory_limit, !how.verify)?;
    ArrayFile::open_for_writing(place, meta, &how, options, writer)
}

/// How it is going to be read by who changes it.
pub fn how_to_write(place: &Place, options: &Options) -> Result<How> {
    options.only(
        "opening a dataset for writing",
        &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
    )?;
    Ok(How::new(&for_reading(options), place))
}

/// The array in a folder.
pub fn file_at(place: &Place, how: &How) -> Result<ArrayFile> {
    refuse_others(place)?;
    ArrayFile::open(
        place,
        Meta::read(place, how.memory_limit, !how.verify)?,
        how,
    )
}

/// The same, all of whose small files are those of one commit. `same`: is no commit under way that
/// was not when they were first looked for?
pub fn file_of_one_commit(
    place: &Place,
    how: &How,
    same: &dyn Fn() -> Result<bool>,
) -> Result<ArrayFile> {
    let file = match file_at(place, how) {
        // what the system refused says nothing of writers
        Err(e) if e.is_of_system() => return Err(e),
        file => file,
    };
    // what the second look finds as the first did was there all the time, or came before all that
    // was read in between
    let is_one = same()?
        && match &file {
            Ok(file) => file.meta.is_current(place, how.memory_limit)?,
            Err(e) => file_at(place, how).is_err_and(|again| again.message == e.message),
        };
    if is_one { file } else { Err(changing(place)) }
}

/// Somebody has written what is being read.
pub fn changing(place: &Place) -> Error {
    fail!(Busy, "{}: it is being changed", place.show(""))
}

fn refuse_others(place: &Place) -> Result<()> {
    if place.has(ROOTDIRS)? {
        return Err(fail!(
            Type,
            "{}: this is a table, not an array",
            place.show("")
        ));
    }
    if !place.has(STORAGE)? {
        return Err(fail!(
            Format,
            "{}: no dataset: neither {STORAGE} nor {ROOTDIRS} is there",
            place.show("")
        ));
    }
    Ok(())
}

/// Fails with the first fault that verifying them finds.
pub fn all_sound(files: &[&ArrayFile]) -> Result<()> {
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

/// Verifies arrays one after the other; what could not be opened is a fault. `fault` is told by its
/// number which one it is of.
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
    for (i, file) in files.iter().enumerate() {
        let file = match file {
            Ok(file) => file,
            Err(e) if fault(i, e) => continue,
            Err(_) => return Ok(all),
        };
        let (v, go_on) = file.verify(&mut |e| fault(i, e), &mut |n| {
            done = done.saturating_add(n);
            options.progress(done, chunks)
        })?;
        let bad = all.bad.saturating_add(v.bad);
        all = Verified {
            sound: all.sound + v.sound,
            bad,
            unchecked: all.unchecked + v.unchecked,
        };
        if !go_on {
            break;
        }
    }
    Ok(all)
}

/// Whose form the array in this folder has.
pub fn format(place: &Place) -> Result<Format> {
    file_at(place, &How::new(&Options::new(), place)).map(|file| file.format())
}
