//! Stores of python-blosc2: trees of frames in a folder (`.b2d`), in a zip archive (`.b2z`), or in
//! one frame (`.b2e`).
//!
//! - [`tree`]: finds the nodes, each with the file that it is stored in.
//! - [`StoreWriter`]: a store that is open for changes.
//! - [`embed_frame`]: creates the frame `embed.b2e`. [`embedded`]: nodes inside of it.
//! - [`table_files`]: the files of a CTable, which are committed together.
//! - [`StoreHandle`]: a store that is open for either.
//! - [`path`]: paths that continue after the name of a store, such as `x.b2z/group/a`.
//!
//! A node is named by its path, which begins with a slash. Which nodes exist is specified by what
//! python-blosc2 4.14 finds; see docs/stores.md.
#![forbid(unsafe_code)]

pub mod embed_frame;
pub mod embedded;
mod handle;
pub mod path;
mod repair;
pub mod table_files;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod writer;

pub use crate::superchunk::frame::in_store::EMBED;
pub use handle::StoreHandle;
pub use repair::repair;
pub use verify::verify;
pub use writer::{StoreWriter, refuse_existing};

use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::Snapshot;
use crate::io::one_file::OneFile;
use crate::io::zip::ZipFolder;
use crate::io::{Access, Folder, locate};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::header::Header;
use crate::superchunk::frame::{Frame, in_store};
use embedded::EmbeddedFolder;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::Arc;
use table_files::TableFiles;

/// Fixed metalayers of the frame of a store. `b2embed` marks a `.b2e` file; the others, the frame
/// `embed.b2e` of a folder or archive.
const MARKS: [&str; 3] = ["b2embed", "b2dict", "b2tree"];

/// An open store.
pub struct Store {
    format: Format,
    root: Root,
    /// The folder as the last commit of the store, or of the CTable in it, left it, if another one
    /// is in progress.
    view: Option<Arc<dyn Folder>>,
    /// Whether that is one of the CTable.
    is_table_changing: bool,
    /// All nodes by path, those inside of tables included.
    nodes: BTreeMap<String, Node>,
    /// The frame `embed.b2e`.
    embed: Arc<Frame>,
}

/// What holds the files of a store.
#[derive(Clone)]
enum Root {
    /// The path of a folder.
    Path(OsString),
    /// A folder of the caller, a zip archive, or one with the single file of a `.b2e` store.
    Folder(Arc<dyn Folder>),
}

/// Where a node is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// In a file with this name in the store.
    File(OsString),
    /// In a range of the content of `embed.b2e`.
    Embedded(Range<u64>),
    /// In the nodes below: a CTable.
    Table,
    /// Elsewhere: an array or a store that python-blosc2 fetches over a network.
    Reference(String),
    /// In two files, so that the path is ambiguous.
    Ambiguous(OsString, OsString),
}

/// What to open for a node.
pub enum NodeLocation {
    /// A path.
    Path(OsString),
    /// The file "" of a folder.
    Folder(Arc<dyn Folder>),
}

/// Returns whether a frame with this header holds the nodes of a store.
pub fn is_embedded(header: &Header) -> bool {
    MARKS.iter().any(|mark| header.meta(mark).is_some())
}

/// Returns whether a folder holds a store.
pub fn is_store(folder: &Arc<dyn Folder>) -> Result<bool> {
    let embed = OsStr::new(EMBED);
    let in_view = |view: Option<Arc<dyn Folder>>| view.map_or(Ok(false), |view| view.exists(embed));
    Ok(folder.exists(embed)? || in_view(view(folder)?)?)
}

/// Returns a folder as the last commit of the CTable in it left it, if another one is in progress.
fn view(folder: &Arc<dyn Folder>) -> Result<Option<Arc<dyn Folder>>> {
    if folder.is_store() {
        return Ok(None);
    }
    let table = TableFiles::new(folder, "").container();
    let view = Snapshot::read(&table, |snapshot| snapshot.folder())?;
    Ok((!Arc::ptr_eq(&view, folder)).then_some(view))
}

/// Returns the format of the store at a path that is no frame, if it is one.
pub fn format_at(path: &OsStr) -> Result<Option<Format>> {
    if locate::is_folder(path) {
        let is = is_store(&locate::folder(path)?)?;
        return Ok(is.then_some(Format::B2d));
    }
    let located = locate::locate(path)?;
    format_in(&located.folder, &located.name)
}

/// Like [`format_at`], for the file or folder of this name in `folder`.
pub fn format_in(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Option<Format>> {
    match open_archive(folder, name)? {
        Some(archive) => Ok(archive.exists(OsStr::new(EMBED))?.then_some(Format::B2z)),
        None if name.is_empty() && !folder.exists(name)? => {
            Ok(is_store(folder)?.then_some(Format::B2d))
        }
        None => Ok(None),
    }
}

/// Opens a zip archive; none if the file is none.
fn open_archive(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Option<Arc<ZipFolder>>> {
    let is_zip = match folder.open(name, Access::Read) {
        Ok(file) => ZipFolder::is_zip(&*file)?,
        Err(e) if e.is_system_failure() => return Err(e),
        Err(_) => false,
    };
    match is_zip {
        true => Ok(Some(Arc::new(ZipFolder::open(folder, name)?))),
        false => Ok(None),
    }
}

impl Store {
    /// Opens the store at a path.
    pub fn open(path: &OsStr, options: &Options) -> Result<Store> {
        if locate::is_folder(path) {
            let folder = locate::folder(path)?;
            return Store::in_folder(Format::B2d, Root::Path(path.to_owned()), &folder, options);
        }
        let located = locate::locate(path)?;
        Store::open_in(&located.folder, &located.name, options)
    }

    /// Opens the store `name` in `folder`, or in the folder itself if it has no such file.
    pub fn open_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Store> {
        if let Some(archive) = open_archive(folder, name)? {
            let archive: Arc<dyn Folder> = archive;
            return Store::in_folder(
                Format::B2z,
                Root::Folder(archive.clone()),
                &archive,
                options,
            );
        }
        if name.is_empty() && !folder.exists(name)? && is_store(folder)? {
            return Store::open_folder(folder, options);
        }
        let embed = open_embed(folder, name, options)?;
        if !is_embedded(embed.header()) {
            return Err(fail!(
                Type,
                "{}: this frame is no store (it has none of the metalayers {MARKS:?})",
                embed.name()
            ));
        }
        let nodes = tree::embedded_nodes(&embed)?;
        Ok(Store {
            format: Format::B2e,
            root: Root::Folder(Arc::new(OneFile::new(folder.clone(), name.to_owned()))),
            view: None,
            is_table_changing: false,
            nodes,
            embed,
        })
    }

    /// Opens the store whose files are in a folder.
    pub fn open_folder(folder: &Arc<dyn Folder>, options: &Options) -> Result<Store> {
        Store::in_folder(Format::B2d, Root::Folder(folder.clone()), folder, options)
    }

    fn in_folder(
        format: Format,
        root: Root,
        folder: &Arc<dyn Folder>,
        options: &Options,
    ) -> Result<Store> {
        if !is_store(folder)? {
            return Err(fail!(
                Format,
                "{}: no store (expected a file {EMBED:?} in it)",
                folder.show(OsStr::new(""))
            ));
        }
        if folder.is_store() {
            return Store::load(format, root, (folder, folder), options);
        }
        // as one commit of the store left it
        Snapshot::read(&in_store::set(folder), |snapshot| {
            let committed = snapshot.folder()?;
            let store = Store::load(format, root.clone(), (folder, &committed), options)?;
            match snapshot.same_journal()? {
                true => Ok(store),
                false => Err(fail!(Busy, "{}: it is being changed", store.show(""))),
            }
        })
    }

    /// Opens the store in a folder, as the last commit of the store left it.
    fn load(
        format: Format,
        root: Root,
        (real, folder): (&Arc<dyn Folder>, &Arc<dyn Folder>),
        options: &Options,
    ) -> Result<Store> {
        let of_table = view(folder)?;
        let folder = of_table.as_ref().unwrap_or(folder);
        let embed = open_embed(folder, OsStr::new(EMBED), options)?;
        let mut store = Store {
            format,
            root,
            view: (!Arc::ptr_eq(folder, real)).then(|| folder.clone()),
            is_table_changing: of_table.is_some(),
            nodes: tree::embedded_nodes(&embed)?,
            embed,
        };
        tree::add_files(&mut store.nodes, &**folder)?;
        let mut tables = tree::registered(&store.embed)?;
        if tables.is_empty() {
            tables = store.found_tables(options)?;
        }
        store.nodes.extend(tables);
        Ok(store)
    }

    /// Returns the tables of a store that does not register them: groups with a node `_meta` that
    /// states it.
    fn found_tables(&self, options: &Options) -> Result<Vec<(String, Node)>> {
        let roots = self
            .nodes
            .keys()
            .filter_map(|path| path.strip_suffix("/_meta"));
        let mut tables = Vec::new();
        for root in roots.filter(|root| !root.is_empty()) {
            if self.is_table(root, options).unwrap_or(false) {
                tables.push((root.to_owned(), Node::Table));
            }
        }
        Ok(tables)
    }

    /// Returns whether the nodes below a group are a CTable.
    pub fn is_table(&self, root: &str, options: &Options) -> Result<bool> {
        let manifest = format!("{root}/_meta");
        if !self.nodes.contains_key(&manifest) {
            return Ok(false);
        }
        let meta = match self.node(&manifest)?.1 {
            Node::File(name) if self.format == Format::B2d => {
                let files = TableFiles::new(&self.folder()?, root);
                Snapshot::read(&files.container(), |snapshot| {
                    open_embed(&snapshot.folder()?, name, options)
                })?
            }
            _ => match self.locate_in(&manifest)? {
                NodeLocation::Folder(folder) => open_embed(&folder, OsStr::new(""), options)?,
                NodeLocation::Path(_) => return Ok(false),
            },
        };
        // the text "ctable" as MessagePack
        Ok(meta.meta("kind")? == Some(b"\xa6ctable"))
    }

    /// Returns the format: `B2d`, `B2z` or `B2e`.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the paths of all nodes in order, with where they are stored. A table is one node.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        let mut table: Option<&str> = None;
        self.nodes.iter().filter_map(move |(path, node)| {
            let inside = |table: &str| path.strip_prefix(table).is_some_and(|p| p.starts_with('/'));
            if table.is_some_and(inside) {
                return None;
            }
            if *node == Node::Table {
                table = Some(path);
            }
            Some((path.as_str(), node))
        })
    }

    /// Returns the paths of all nodes that are files, those inside of tables included, with the
    /// names of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.nodes.iter().filter_map(|(path, node)| match node {
            Node::File(name) => Some((path.as_str(), name.as_os_str())),
            _ => None,
        })
    }

    /// Returns the node of a path. The slash at the beginning may be missing. Nodes inside of
    /// tables, which [`Store::nodes`] leaves out, are found, too.
    pub fn node(&self, path: &str) -> Result<(&str, &Node)> {
        let absolute = format!("/{}", path.strip_prefix('/').unwrap_or(path));
        if let Some((path, node)) = self.nodes.get_key_value(&absolute) {
            return Ok((path, node));
        }
        let group = format!("{}/", absolute.trim_end_matches('/'));
        let below = self
            .nodes()
            .filter(|(path, _)| path.starts_with(&group))
            .count();
        Err(match below {
            0 => fail!(
                Missing,
                "{}: the store has no such node",
                self.show(&absolute)
            ),
            n => fail!(
                Type,
                "{}: this is a group; open one of its {n} nodes",
                self.show(&absolute)
            ),
        })
    }

    /// Returns what to open for a node.
    pub fn locate(&self, path: &str) -> Result<NodeLocation> {
        let (path, node) = self.node(path)?;
        match (&self.root, node) {
            (Root::Path(root), Node::File(name)) if !self.is_table_changing => {
                let mut file = root.clone();
                file.push("/");
                file.push(name);
                // opening the path reads, and recovers, what the last commit of the store left; a new
                // file may have another name yet
                match self.view.is_none() || locate::exists(&file) {
                    true => Ok(NodeLocation::Path(file)),
                    false => self.locate_in(path),
                }
            }
            _ => self.locate_in(path),
        }
    }

    /// Like [`Store::locate`], always as the file of a folder.
    fn locate_in(&self, path: &str) -> Result<NodeLocation> {
        let (path, node) = self.node(path)?;
        let refuse = |what: &str| Err(fail!(Unsupported, "{}: {what}", self.show(path)));
        match node {
            Node::File(name) => {
                let file = OneFile::new(self.committed()?, name.clone());
                Ok(NodeLocation::Folder(Arc::new(file)))
            }
            Node::Embedded(range) => {
                let folder = EmbeddedFolder::new(&self.embed, self.show(path), range)?;
                Ok(NodeLocation::Folder(Arc::new(folder)))
            }
            Node::Table => Err(fail!(
                Type,
                "{}: a table (ctable); open it with holdall_table_open(), or its columns, the nodes below \"_cols\"",
                self.show(path)
            )),
            Node::Reference(to) => refuse(&format!(
                "this node refers to {to:?}, which only python-blosc2 fetches"
            )),
            Node::Ambiguous(one, other) => Err(fail!(
                Format,
                "{}: two files have this path: {:?} and {:?}; remove or rename one of them",
                self.show(path),
                one.display(),
                other.display()
            )),
        }
    }

    /// Returns the folder with the files of the store, as the last commit of its table left it.
    fn committed(&self) -> Result<Arc<dyn Folder>> {
        match &self.view {
            Some(view) => Ok(view.clone()),
            None => self.folder(),
        }
    }

    /// Returns the folder with the files of the store.
    pub fn folder(&self) -> Result<Arc<dyn Folder>> {
        match &self.root {
            Root::Path(path) => locate::folder(path),
            Root::Folder(folder) => Ok(folder.clone()),
        }
    }

    /// Returns the name of a node for messages.
    pub fn show(&self, path: &str) -> String {
        let root = match &self.root {
            Root::Path(path) => path.display().to_string(),
            Root::Folder(_) if self.format == Format::B2e => self.embed.name().to_owned(),
            Root::Folder(folder) => folder.show(OsStr::new("")),
        };
        match path {
            "" => root,
            path => format!("{}{path}", root.trim_end_matches('/')),
        }
    }
}

/// Opens a frame of which all content is used by the library, so that none of it may be corrupt.
fn open_embed(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Arc<Frame>> {
    // the threads are those of the call that reads a node
    let mut own = Options::new().with(Opt::Threads, 1)?;
    for opt in [Opt::MemoryLimit, Opt::Io, Opt::Verify] {
        options.copy_to(opt, &mut own)?;
    }
    Frame::open_in(folder, name, Mode::Read, &own).map(Arc::new)
}
