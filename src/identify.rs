//! Detects the format and kind of a path from its content. Names matter only where the content is
//! ambiguous.
#![forbid(unsafe_code)]

use crate::array::metalayer::{B2ND, CATERVA};
use crate::bag::codec::{CODEC_BY_NAME, CODEC_NONE, is_codec_unspecified};
use crate::bag::{Bag, ShardPath, shard, spec};
use crate::dataset::folder::DatasetDir;
use crate::dataset::open::{ROOTDIRS, is_folder, is_local};
use crate::error::{Result, Status, fail};
use crate::format::{Format, Kind};
use crate::io::journal::Snapshot;
use crate::io::{Access, File, Folder, locate};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use crate::store::path::Named;
use crate::store::{self, Node, NodeLocation, Store, StoreHandle};
use crate::superchunk::frame;
use crate::table;
use std::ffi::OsStr;
use std::sync::Arc;

/// The first bytes of a Bloscpack file.
const BLOSCPACK: &[u8] = b"blpk";
/// Bytes that headers, and the metalayers that list the nodes of a store, may need. A metalayer of a
/// few bytes may claim more than is available.
const METADATA_LIMIT: i64 = 256 << 20;

fn options() -> Result<Options> {
    Options::new().with(Opt::MemoryLimit, METADATA_LIMIT)
}

/// Returns whether the path is a Bloscpack file. A file that cannot be read is an error, because
/// its format is unknown.
pub fn is_bloscpack(path: &OsStr) -> Result<bool> {
    match locate::locate(path).and_then(|at| read_head(&at.folder, &at.name)) {
        Err(e) if !e.is_system_failure() => Ok(false),
        read => read.map(|(head, _)| head.starts_with(BLOSCPACK)),
    }
}

/// Returns the first bytes and the length of a file as of the last commit. During a swap the new
/// file still has another name.
fn read_head(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<([u8; BLOSCPACK.len()], u64)> {
    let read = |file: Arc<dyn File>| {
        let mut head = [0; BLOSCPACK.len()];
        file.read_at(0, &mut head)?;
        Ok((head, file.size()?))
    };
    // Among the file containers, a bag has the largest set of file names that a journal can list.
    let container = shard::container(folder, name);
    match Snapshot::read(&container, |s| read(s.open_growing(name, Access::Read)?)) {
        // A corrupt journal does not change the format of the file.
        Err(e) if e.status == Status::Format => read(folder.open(name, Access::Read)?),
        result => result,
    }
}

/// Returns the kind of a container that cannot be identified because it is corrupt or was never
/// committed.
pub fn kind_of_broken(path: &OsStr) -> Option<Kind> {
    if frame::is_at(path, &Options::new()).unwrap_or(false) {
        return Some(Kind::Schunk);
    }
    let folder = is_local(path).then(|| locate::folder(path));
    folder.map(|folder| folder.map_or(Kind::Array, |folder| kind_of_dataset(&folder)))
}

/// Like [`kind_of_broken`], for a storage.
pub fn kind_of_broken_in(folder: &Arc<dyn Folder>) -> Option<Kind> {
    if frame::is_frame(folder, OsStr::new(""), &Options::new()).unwrap_or(false) {
        return Some(Kind::Schunk);
    }
    is_folder_in(folder).then(|| kind_of_dataset(folder))
}

fn kind_of_dataset(folder: &Arc<dyn Folder>) -> Kind {
    match folder.exists(OsStr::new(ROOTDIRS)) {
        Ok(true) => Kind::Table,
        _ => Kind::Array,
    }
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
    match store::path::named(path, &options()?)? {
        Named::Other => identify_path(path),
        Named::Node(NodeLocation::Path(path)) => identify_path(&path),
        Named::Node(NodeLocation::Folder(folder)) => identify_in(&folder),
        Named::Table(..) => Ok((Format::CTable, Kind::Table)),
    }
}

/// Returns the format and the kind of a node of an open store.
pub fn identify_in_store(store: &StoreHandle, node: &str) -> Result<(Format, Kind)> {
    match store.find(node)? {
        Some(NodeLocation::Folder(folder)) => identify_in(&folder),
        _ => identify_node(&*store.current()?, node),
    }
}

/// Returns the format and the kind of a node of a store.
pub fn identify_node(store: &Store, path: &str) -> Result<(Format, Kind)> {
    if let (_, Node::Table) = store.node(path)? {
        return Ok((Format::CTable, Kind::Table));
    }
    match store.locate(path)? {
        NodeLocation::Path(path) => identify_path(&path),
        NodeLocation::Folder(folder) => identify_in(&folder),
    }
}

fn identify_path(path: &OsStr) -> Result<(Format, Kind)> {
    if let Some(found) = identify_frame(frame::header_at(path, &options()?))? {
        return Ok(found);
    }
    if let Some(format) = unless_other(store::format_at(path), path)? {
        return of_store(format, Store::open(path, &options()?));
    }
    if is_folder(path)
        && let Some(found) = table::identify(&DatasetDir::local(path, false)?)?
    {
        return Ok(found);
    }
    let files = spec::expand_nonempty(path)?;
    let first = files.first().ok_or_else(|| fail!(Argument, "no path"))?;
    let located = locate::locate(first)?;
    let (head, size) = read_head(&located.folder, &located.name)?;
    if head.starts_with(BLOSCPACK) {
        return Ok((Format::Bloscpack, Kind::Schunk));
    }
    let open = |options: &Options| Bag::open(path, options);
    identify_bag(&path.display().to_string(), first.as_bytes(), size, open)
}

/// Like [`identify`], for a storage. It has no name that could show a format.
pub fn identify_in(folder: &Arc<dyn Folder>) -> Result<(Format, Kind)> {
    let name = OsStr::new("");
    if let Some(found) = identify_frame(frame::header_in(folder, name, &options()?))? {
        return Ok(found);
    }
    if let Some(format) = unless_other(store::format_in(folder, name), name)? {
        let store = Store::open_in(folder, name, &options()?);
        return of_store(format, store);
    }
    if is_folder_in(folder)
        && let Some(found) = table::identify(&DatasetDir::of(folder))?
    {
        return Ok(found);
    }
    let (head, size) = read_head(folder, name)?;
    if head.starts_with(BLOSCPACK) {
        return Ok((Format::Bloscpack, Kind::Schunk));
    }
    let shard = ShardPath::new(folder.clone(), "");
    let open = |options: &Options| Bag::open_in(std::slice::from_ref(&shard), options);
    identify_bag(&folder.show(name), b"", size, open)
}

/// Returns whether the path is a store, or a CTable that is one.
pub fn is_store(path: &OsStr) -> Result<bool> {
    match frame::header_at(path, &options()?) {
        Ok(Some(header)) => Ok(store::is_embedded(&header)),
        // a corrupt frame
        Err(e) if !e.is_system_failure() => Ok(false),
        header => {
            header?;
            Ok(unless_other(store::format_at(path), path)?.is_some())
        }
    }
}

/// Returns what a store is: a CTable, if all of it is one. A corrupt store is still a store.
fn of_store(format: Format, store: Result<Store>) -> Result<(Format, Kind)> {
    let is_table = store.and_then(|store| store.is_table("", &options()?));
    match is_table {
        Ok(true) => Ok((Format::CTable, Kind::Table)),
        Err(e) if e.is_system_failure() => Err(e),
        _ => Ok((format, Kind::Store)),
    }
}

/// Returns the format of a store. A file that cannot be read, or is not intact, is none, unless its
/// name says so: the content of a bag may begin as a zip archive does.
fn unless_other(format: Result<Option<Format>>, name: &OsStr) -> Result<Option<Format>> {
    match format {
        Err(e) if !e.is_system_failure() && !name.as_bytes().ends_with(b".b2z") => Ok(None),
        format => format,
    }
}

/// Returns whether a storage has no file of its own, as that of a dataset.
fn is_folder_in(folder: &Arc<dyn Folder>) -> bool {
    !folder.exists(OsStr::new("")).unwrap_or(true)
}

/// Returns the format and the kind of a frame with this header; `None` if there is no frame.
fn identify_frame(header: Result<Option<frame::header::Header>>) -> Result<Option<(Format, Kind)>> {
    match header {
        Ok(None) => Ok(None),
        Ok(Some(header)) if store::is_embedded(&header) => Ok(Some((Format::B2e, Kind::Store))),
        Ok(Some(header)) if header.meta(B2ND).is_some() => Ok(Some((Format::B2nd, Kind::Array))),
        Ok(Some(header)) if header.meta(CATERVA).is_some() => {
            Ok(Some((Format::Caterva, Kind::Array)))
        }
        Err(e) if e.status == Status::Missing || e.is_system_failure() => Err(e),
        // a corrupt frame is still a frame
        _ => Ok(Some((Format::B2Frame, Kind::Schunk))),
    }
}

/// Identifies a bag, which `open` opens. Bagz has no magic number: a file is a bag if it opens as
/// one, and its name or its content shows one.
fn identify_bag(
    shown: &str,
    first: &[u8],
    size: u64,
    open: impl Fn(&Options) -> Result<Bag>,
) -> Result<(Format, Kind)> {
    // A mismatch of the checksums does not change the format.
    let mut options = Options::new().with(Opt::Verify, 0)?;
    let is_named = !is_codec_unspecified(CODEC_BY_NAME, first);
    // Neither does the codec of the records.
    if !is_named {
        options = options.with(Opt::Codec, CODEC_NONE)?;
    }
    let try_limits = |separate: i64| open(&options.clone().with(Opt::BagLimits, separate)?);
    let tail = try_limits(0).and_then(|bag| match size {
        _ if is_named => Ok(()),
        0 => Err(fail!(
            Format,
            "{shown}: the file is empty and its name does not identify a format"
        )),
        _ => bag.check_recognizable(),
    });
    match tail {
        Err(e) if try_limits(1).is_err() => Err(e),
        _ => Ok((Format::Bagz, Kind::Bag)),
    }
}
