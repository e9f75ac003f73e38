//! Detects frames, and derives the encoding parameters of new ones.
#![forbid(unsafe_code)]

use super::header::{FIXED, Header, MAGIC, constants};
use super::options::{new_params, take_encoding};
use super::parts::read_header;
use super::storage::{FrameStorage, LOOKED_FOR};
use super::trailer::{TAIL, Trailer};
use crate::blosc::Params;
use crate::error::{Result, fail};
use crate::io::{self, Access, File, Folder, locate};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Returns the folder for a call that opens a frame or another file in it.
pub fn for_opening(folder: &Arc<dyn Folder>, mode: Mode) -> Arc<dyn Folder> {
    match mode {
        Mode::Read => io::for_opening(folder, LOOKED_FOR),
        _ => folder.clone(),
    }
}

/// Is this a frame (intact or corrupt), or the folder of one? `HOLDALL_OPT_FRAME_OFFSET` applies to frames
/// only, so that its presence implies a frame. A file that cannot be read is an error.
pub fn is_frame(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<bool> {
    if options.given(Opt::At).is_some_and(|at| at > 0) {
        return Ok(true);
    }
    let storage = FrameStorage::find(folder, name)?;
    if storage.sparse {
        return Ok(true);
    }
    let read = || -> Result<_> {
        let (file, mut head) = (folder.open(&storage.main(), Access::Read)?, vec![0; FIXED]);
        let n = file.read_at(0, &mut head)?;
        head.truncate(n);
        Ok((file, head))
    };
    match read() {
        Ok((file, head)) => looks_like_frame(&*file, &head, name),
        Err(e) if e.is_system_failure() => Err(e),
        Err(_) => storage.is_uncommitted(),
    }
}

/// File name extensions of frames, as python-blosc2, Caterva and this library use them.
const ENDINGS: [&str; 4] = ["b2nd", "b2frame", "caterva", "cat"];

/// Does a file begin with the magic of a frame? Otherwise, if no other format matches: was it a
/// frame before it was corrupted? That is the case if most constant bytes of the header, the end of
/// a trailer, or the file name extension match.
fn looks_like_frame(file: &dyn File, head: &[u8], name: &OsStr) -> Result<bool> {
    if head.get(2..MAGIC.len()) == MAGIC.get(2..) {
        return Ok(true);
    }
    let (right, all) = constants(head);
    if head.starts_with(b"blpk") {
        return Ok(false);
    }
    let named = Path::new(name)
        .extension()
        .is_some_and(|end| ENDINGS.iter().any(|e| end.eq_ignore_ascii_case(e)));
    if named || right * 3 >= all * 2 {
        return Ok(true);
    }
    match ends_with_trailer(file) {
        Err(e) if !e.is_system_failure() => Ok(false),
        ends => ends,
    }
}

/// Does the file end with a trailer?
fn ends_with_trailer(file: &dyn File) -> Result<bool> {
    let size = file.size()?;
    let mut last = [0; TAIL];
    file.read_exact_at(size.saturating_sub(TAIL as u64), &mut last)?;
    if !matches!(last, [0xce, _, _, _, _, 0xd8, ..]) {
        return Ok(false);
    }
    let n = Trailer::length(&last)?;
    let from = size.saturating_sub(n.into());
    let mut first = [0; 4];
    file.read_exact_at(from, &mut first)?;
    Ok(first == [0x94, 1, 0x93, 0xcd])
}

/// Like [`is_frame`], for a path.
pub fn is_at(path: &OsStr, options: &Options) -> Result<bool> {
    match locate_frame(path) {
        Err(e) if !e.is_system_failure() => Ok(false),
        location => location.and_then(|(folder, name)| is_frame(&folder, &name, options)),
    }
}

/// Returns the header of the frame at this path; none if it is not a frame.
pub fn header_at(path: &OsStr, options: &Options) -> Result<Option<Header>> {
    match locate_frame(path) {
        Err(e) if !e.is_system_failure() => Ok(None),
        location => location.and_then(|(folder, name)| header_in(&folder, &name, options)),
    }
}

/// Returns the header of the frame `name` in `folder`; none if it is not a frame.
pub fn header_in(
    folder: &Arc<dyn Folder>,
    name: &OsStr,
    options: &Options,
) -> Result<Option<Header>> {
    if !is_frame(folder, name, options)? {
        return Ok(None);
    }
    let storage = FrameStorage::find(folder, name)?;
    if !storage.sparse && storage.is_uncommitted()? {
        return Err(fail!(
            Missing,
            "{}: nothing was ever committed",
            storage.show()
        ));
    }
    let file = folder.open(&storage.main(), Access::Read)?;
    Header::parse(&read_header(
        &*file,
        options.get(Opt::At, 0) as u64,
        options.memory_limit(),
    )?)
    .map(Some)
}

fn locate_frame(path: &OsStr) -> Result<(Arc<dyn Folder>, std::ffi::OsString)> {
    if locate::is_folder(path) {
        return Ok((locate::folder(path)?, "".into()));
    }
    let location = locate::locate(path)?;
    Ok((location.folder, location.name))
}

/// Returns the encoding parameters of a new frame: those of the options, which are removed from
/// them, or those of `like`.
pub fn take_requested_params(options: &mut Options, like: &Params) -> Result<Params> {
    let params = new_params(options, like)?;
    take_encoding(options);
    Ok(params)
}
