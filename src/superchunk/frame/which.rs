//! Telling frames from other things, and from each other; and what a new one is to be like.
#![forbid(unsafe_code)]

use super::Frame;
use super::create::wished;
use super::header::Header;
use super::open::read_header;
use super::site::Site;
use crate::blosc::Params;
use crate::error::Result;
use crate::io::{Access, File, Folder, file};
use crate::options::{Opt, Options};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// What a frame begins with, behind a marker and a length.
const MAGIC: &[u8] = b"b2frame\0";

/// Does a file begin as a frame does, or is this the folder of one? HOLDALL_OPT_AT is of frames alone: who gives it wants one.
pub fn is_frame(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> bool {
    options.given(Opt::At).is_some() || main(folder, name).is_ok_and(|file| begins(&*file, options.get(Opt::At, 0) as u64))
}

/// The same of a path.
pub fn is_at(path: &OsStr, options: &Options) -> bool {
    place(path).is_ok_and(|(folder, name)| is_frame(&folder, &name, options))
}

/// The header of the frame at this path; none where there is no frame.
pub fn header_at(path: &OsStr, options: &Options) -> Result<Option<Header>> {
    let Ok(file) = place(path).and_then(|(folder, name)| main(&folder, &name)) else { return Ok(None) };
    let at = options.get(Opt::At, 0) as u64;
    if !begins(&*file, at) {
        return Ok(None);
    }
    Header::parse(&read_header(&*file, at, options.memory_limit())?).map(Some)
}

fn place(path: &OsStr) -> Result<(Arc<dyn Folder>, std::ffi::OsString)> {
    if Path::new(path).is_dir() {
        return Ok((file::folder(path)?, "".into()));
    }
    let place = file::locate(path)?;
    Ok((place.folder, place.name))
}

fn main(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Arc<dyn File>> {
    folder.open(&Site::find(folder, name).main(), Access::Read)
}

fn begins(file: &dyn File, at: u64) -> bool {
    let mut magic = [0; 8];
    at.checked_add(2).is_some_and(|at| file.read_at(at, &mut magic).is_ok()) && magic == MAGIC
}

/// How the chunks of a new frame are made: as the options say, which are then not there any more, else as these.
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
        Ok(id != 0 && folder.identity(&Site::find(folder, name).main())? == Some(id))
    }
}
