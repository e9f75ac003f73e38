//! What a path is, from the bytes of it. Names help only where bytes cannot tell.
#![forbid(unsafe_code)]

use crate::array::metalayer::{B2ND, CATERVA};
use crate::bag::codec::{CODEC_BY_NAME, CODEC_NONE, is_unsaid};
use crate::bag::{Bag, shard, spec};
use crate::dataset::folder::Place;
use crate::dataset::open::{ROOTDIRS, is_folder, is_local};
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::Snapshot;
use crate::io::{Access, File, file, locate};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use crate::superchunk::frame;
use crate::table;
use std::ffi::OsStr;
use std::sync::Arc;

/// The first bytes of a Bloscpack file.
const BLOSCPACK: &[u8] = b"blpk";

/// A format. The numbers are those of the C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Format {
    /// A Bloscpack file.
    Bloscpack = 1,
    /// A folder as bcolz writes it.
    Bcolz = 2,
    /// A folder as BLZ writes it.
    Blz = 3,
    /// A folder as the papers on BLZ and bcolz have it.
    BlzPaper = 4,
    /// A Blosc2 frame.
    B2Frame = 5,
    /// A Blosc2 frame that is an array of Caterva.
    Caterva = 6,
    /// A Blosc2 frame that is an array of python-blosc2.
    B2nd = 7,
    /// Bagz.
    Bagz = 8,
}

/// A kind of container. The numbers are those of the C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// A run of bytes in compressed chunks.
    Schunk = 1,
    /// Items of one type in a grid.
    Array = 2,
    /// Columns of one length.
    Table = 3,
    /// Records of any length.
    Bag = 4,
}

/// Is there a Bloscpack file at this path? What cannot be read is an error: nobody knows what it
/// is.
pub fn is_bloscpack(path: &OsStr) -> Result<bool> {
    match locate::locate(path).and_then(|place| begin(&place)) {
        Err(e) if !e.is_of_system() => Ok(false),
        begun => begun.map(|(head, _)| head.starts_with(BLOSCPACK)),
    }
}

/// The first bytes of a file and its length, as the last commit left them: in the middle of a swap
/// the new file has another name.
fn begin(place: &file::Located) -> Result<([u8; BLOSCPACK.len()], u64)> {
    let read = |file: Arc<dyn File>| {
        let mut head = [0; BLOSCPACK.len()];
        file.read_at(0, &mut head)?;
        Ok((head, file.size()?))
    };
    // of all containers that are files, bags have the most names that a journal can name
    let container = shard::container(&place.folder, &place.name);
    match Snapshot::read(&container, |s| {
        read(s.open_growing(&place.name, Access::Read)?)
    }) {
        // a damaged journal does not change what the file is
        Err(e) if e.status == Status::Format => read(place.folder.open(&place.name, Access::Read)?),
        begun => begun,
    }
}

/// Returns the kind of a container that cannot be identified because it is damaged, or was never
/// committed.
pub fn kind_of_broken(path: &OsStr) -> Option<Kind> {
    if frame::is_at(path, &Options::new()).unwrap_or(false) {
        return Some(Kind::Schunk);
    }
    let is_table = || {
        locate::folder(path)
            .is_ok_and(|folder| folder.exists(OsStr::new(ROOTDIRS)).unwrap_or(false))
    };
    is_local(path).then(|| if is_table() { Kind::Table } else { Kind::Array })
}

/// Format and kind of a path or spec.
pub fn identify(path: &OsStr) -> Result<(Format, Kind)> {
    match frame::header_at(path, &Options::new()) {
        Ok(None) => {}
        Ok(Some(header)) if header.meta(B2ND).is_some() => return Ok((Format::B2nd, Kind::Array)),
        Ok(Some(header)) if header.meta(CATERVA).is_some() => {
            return Ok((Format::Caterva, Kind::Array));
        }
        Err(e) if e.status == Status::Missing || e.is_of_system() => return Err(e),
        // one that is damaged, too
        _ => return Ok((Format::B2Frame, Kind::Schunk)),
    }
    if is_folder(path)
        && let Some(found) = table::identify(&Place::local(path)?)?
    {
        return Ok(found);
    }
    let files = spec::expand_some(path)?;
    let first = files.first().ok_or_else(|| fail!(Argument, "no path"))?;
    let (head, size) = begin(&locate::locate(first)?)?;
    if head.starts_with(BLOSCPACK) {
        return Ok((Format::Bloscpack, Kind::Schunk));
    }
    bag(path, first.as_bytes(), size)
}

/// Bagz has no magic: a file is a bag if it opens as one.
fn bag(path: &OsStr, first: &[u8], size: u64) -> Result<(Format, Kind)> {
    // checksums of another state do not make it something else
    let mut options = Options::new().with(Opt::Verify, 0)?;
    // whether its records are to be decompressed does not either
    if is_unsaid(CODEC_BY_NAME, first) {
        options = options.with(Opt::Codec, CODEC_NONE)?;
    }
    let try_limits =
        |separate: i64| Bag::open(path, &options.clone().with(Opt::BagLimits, separate)?);
    let named = first.ends_with(b".bag") || first.ends_with(b".bagz");
    let tail = try_limits(0);
    match &tail {
        // an empty file is an empty bag, if anything says that it is one
        Ok(_) if size > 0 || named => return Ok((Format::Bagz, Kind::Bag)),
        _ => {}
    }
    if try_limits(1).is_ok() {
        return Ok((Format::Bagz, Kind::Bag));
    }
    Err(tail.err().unwrap_or_else(|| {
        Error::new(
            Status::Format,
            format!(
                "{}: an empty file, and its name does not say what it is",
                path.display()
            ),
        )
    }))
}
