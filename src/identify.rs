//! Detects the format and kind of a path from its content. Names matter only where the content is
//! ambiguous.
#![forbid(unsafe_code)]

use crate::array::metalayer::{B2ND, CATERVA};
use crate::bag::codec::{CODEC_BY_NAME, CODEC_NONE, is_codec_unspecified};
use crate::bag::{Bag, shard, spec};
use crate::dataset::folder::DatasetDir;
use crate::dataset::open::{ROOTDIRS, is_folder, is_local};
use crate::error::{Result, Status, fail};
use crate::format::{Format, Kind};
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

/// Returns whether the path is a Bloscpack file. A file that cannot be read is an error, because
/// its format is unknown.
pub fn is_bloscpack(path: &OsStr) -> Result<bool> {
    match locate::locate(path).and_then(|located| read_head(&located)) {
        Err(e) if !e.is_system_failure() => Ok(false),
        read => read.map(|(head, _)| head.starts_with(BLOSCPACK)),
    }
}

/// Returns the first bytes and the length of a file as of the last commit. During a swap the new
/// file still has another name.
fn read_head(located: &file::Located) -> Result<([u8; BLOSCPACK.len()], u64)> {
    let read = |file: Arc<dyn File>| {
        let mut head = [0; BLOSCPACK.len()];
        file.read_at(0, &mut head)?;
        Ok((head, file.size()?))
    };
    // Among the file containers, a bag has the largest set of file names that a journal can list.
    let container = shard::container(&located.folder, &located.name);
    match Snapshot::read(&container, |s| {
        read(s.open_growing(&located.name, Access::Read)?)
    }) {
        // A corrupt journal does not change the format of the file.
        Err(e) if e.status == Status::Format => {
            read(located.folder.open(&located.name, Access::Read)?)
        }
        result => result,
    }
}

/// Returns the kind of a container that cannot be identified because it is corrupt or was never
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

/// Returns an error if a path is a single file that neither its name, nor its content, nor the
/// options show to be a bag.
pub fn check_bag(path: &OsStr, options: &Options) -> Result<()> {
    if [Opt::Codec, Opt::BagLimits]
        .iter()
        .any(|&opt| options.given(opt).is_some())
    {
        return Ok(());
    }
    match &*spec::expand_nonempty(path)? {
        [file] if is_codec_unspecified(CODEC_BY_NAME, file.as_bytes()) => {
            identify(path).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Returns the format and the kind of a path or spec.
pub fn identify(path: &OsStr) -> Result<(Format, Kind)> {
    match frame::header_at(path, &Options::new()) {
        Ok(None) => {}
        Ok(Some(header)) if header.meta(B2ND).is_some() => return Ok((Format::B2nd, Kind::Array)),
        Ok(Some(header)) if header.meta(CATERVA).is_some() => {
            return Ok((Format::Caterva, Kind::Array));
        }
        Err(e) if e.status == Status::Missing || e.is_system_failure() => return Err(e),
        // a corrupt frame is still a frame
        _ => return Ok((Format::B2Frame, Kind::Schunk)),
    }
    if is_folder(path)
        && let Some(found) = table::identify(&DatasetDir::local(path, false)?)?
    {
        return Ok(found);
    }
    let files = spec::expand_nonempty(path)?;
    let first = files.first().ok_or_else(|| fail!(Argument, "no path"))?;
    let (head, size) = read_head(&locate::locate(first)?)?;
    if head.starts_with(BLOSCPACK) {
        return Ok((Format::Bloscpack, Kind::Schunk));
    }
    identify_bag(path, first.as_bytes(), size)
}

/// Identifies a bag. Bagz has no magic number: a file is a bag if it opens as one, and its name or
/// its content shows one.
fn identify_bag(path: &OsStr, first: &[u8], size: u64) -> Result<(Format, Kind)> {
    // A mismatch of the checksums does not change the format.
    let mut options = Options::new().with(Opt::Verify, 0)?;
    let is_named = !is_codec_unspecified(CODEC_BY_NAME, first);
    // Neither does the codec of the records.
    if !is_named {
        options = options.with(Opt::Codec, CODEC_NONE)?;
    }
    let try_limits =
        |separate: i64| Bag::open(path, &options.clone().with(Opt::BagLimits, separate)?);
    let tail = try_limits(0).and_then(|bag| match size {
        _ if is_named => Ok(()),
        0 => Err(fail!(
            Format,
            "{}: the file is empty and its name does not identify a format",
            path.display()
        )),
        _ => bag.check_recognizable(),
    });
    match tail {
        Err(e) if try_limits(1).is_err() => Err(e),
        _ => Ok((Format::Bagz, Kind::Bag)),
    }
}
