//! Telling frames from other things, and from each other; and what a new one is to be like.
#![forbid(unsafe_code)]

use super::Frame;
use super::create::wished;
use super::header::{FIXED, Header, MAGIC, constants};
use super::open::read_header;
use super::storage::Site;
use super::trailer::{TAIL, Trailer};
use crate::blosc::Params;
use crate::error::{Result, fail};
use crate::io::{Access, File, Folder, locate};
use crate::options::{Opt, Options};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Is this a frame, a damaged one, too, or the folder of one? HOLDALL_OPT_AT is of frames alone:
/// who gives it wants one. What cannot be read is an error: nobody knows what it is.
pub fn is_frame(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<bool> {
    if options.given(Opt::At).is_some() {
        return Ok(true);
    }
    let site = Site::find(folder, name)?;
    if site.sparse {
        return Ok(true);
    }
    let read = || -> Result<_> {
        let (file, mut head) = (folder.open(&site.main(), Access::Read)?, vec![0; FIXED]);
        let n = file.read_at(0, &mut head)?;
        head.truncate(n);
        Ok((file, head))
    };
    match read() {
        Ok((file, head)) => is_one(&*file, &head, name),
        Err(e) if e.is_of_system() => Err(e),
        Err(_) => site.is_begun(),
    }
}

/// The endings of the names that frames have with python-blosc2, Caterva and us.
const ENDINGS: [&str; 4] = ["b2nd", "b2frame", "caterva", "cat"];

/// Does a file begin as a frame does, or else, where no other format does, was it one before it was
/// damaged: has it most of what all headers have, or the end of a trailer, or the name?
fn is_one(file: &dyn File, head: &[u8], name: &OsStr) -> Result<bool> {
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
    match ends_as_one(file) {
        Err(e) if !e.is_of_system() => Ok(false),
        ends => ends,
    }
}

/// Does it end with a trailer?
fn ends_as_one(file: &dyn File) -> Result<bool> {
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

/// The same of a path.
pub fn is_at(path: &OsStr, options: &Options) -> Result<bool> {
    match place(path) {
        Err(e) if !e.is_of_system() => Ok(false),
        place => place.and_then(|(folder, name)| is_frame(&folder, &name, options)),
    }
}

/// The header of the frame at this path; none where there is no frame.
pub fn header_at(path: &OsStr, options: &Options) -> Result<Option<Header>> {
    if !is_at(path, options)? {
        return Ok(None);
    }
    let (folder, name) = place(path)?;
    let site = Site::find(&folder, &name)?;
    if !site.sparse && site.is_begun()? {
        return Err(fail!(
            Missing,
            "{}: nothing was ever committed there",
            site.show()
        ));
    }
    let file = folder.open(&site.main(), Access::Read)?;
    Header::parse(&read_header(
        &*file,
        options.get(Opt::At, 0) as u64,
        options.memory_limit(),
    )?)
    .map(Some)
}

fn place(path: &OsStr) -> Result<(Arc<dyn Folder>, std::ffi::OsString)> {
    if locate::is_folder(path) {
        return Ok((locate::folder(path)?, "".into()));
    }
    let place = locate::locate(path)?;
    Ok((place.folder, place.name))
}

/// How the chunks of a new frame are made: as the options say, which are then not there any more,
/// else as these.
pub fn take_wished(options: &mut Options, like: &Params) -> Result<Params> {
    let params = wished(options, like)?;
    for opt in [Opt::Codec, Opt::Level] {
        options.take(opt);
    }
    options.take_bytes(Opt::Filters);
    Ok(params)
}

impl Frame {
    /// Is this what has this name?
    pub fn is_named(&self, folder: &Arc<dyn Folder>, name: &OsStr) -> Result<bool> {
        let id = match &self.file {
            Some(file) => file.identity(),
            None => return Ok(false),
        };
        Ok(id != 0 && folder.identity(&Site::find(folder, name)?.main())? == Some(id))
    }
}
