//! The names of the files of a CTable in the folder of a store, and the container with which a commit
//! changes them.
#![forbid(unsafe_code)]

use super::EMBED;
use crate::error::Result;
use crate::io::Folder;
use crate::io::journal::{Container, SUFFIX, remove_uncommitted};
use crate::superchunk::frame::in_store;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};
use std::sync::Arc;

/// The frame of the schema.
pub const META: &str = "_meta.b2f";
/// The frame of the attributes.
pub const ATTRIBUTES: &str = "_vlmeta.b2f";
/// The mask of the rows that exist.
pub const VALID_ROWS: &str = "_valid_rows.b2nd";
/// Folder of the columns.
pub const COLUMNS: &str = "_cols";
/// Folder of the indexes.
pub const INDEXES: &str = "_indexes";
/// Suffix of the path of the bytes of a column of texts, whose own node has their offsets.
pub const UTF8: &str = ".utf8";
/// Suffix of the path of the values of a dictionary, whose own node has their numbers.
pub const DICTIONARY: &str = "_dict";
/// Suffix of the path of the mask of a column that marks nulls by one.
pub const NOT_NULL: &str = ".notnull";
/// Prefix of the names of the journal and the lock.
const MAIN: &str = "ctable";
/// Ends of the names of frames below the folders of columns and indexes.
const ENDS: [&str; 3] = [".b2nd", ".b2f", ".b2b"];

/// What a file of a column is, by the end of its name.
#[derive(Clone, Copy)]
pub enum Extension {
    /// An array.
    Array,
    /// A frame of batches.
    Batches,
}

/// The names of the files of a table.
#[derive(Clone)]
pub struct TableFiles {
    folder: Arc<dyn Folder>,
    /// The path of the table in the folder, with a slash at its end; "" for the folder itself.
    prefix: String,
}

impl TableFiles {
    /// Returns the files of the table below a group of a store; "": the store itself.
    pub fn new(folder: &Arc<dyn Folder>, root: &str) -> TableFiles {
        let root = root.trim_matches('/');
        TableFiles {
            folder: folder.clone(),
            prefix: match root {
                "" => String::new(),
                root => format!("{root}/"),
            },
        }
    }

    /// Returns the group of the table that has this file as its schema, or as the journal of a commit.
    pub fn root_of(file: &str) -> Option<&str> {
        let (root, name) = file.rsplit_once('/').unwrap_or(("", file));
        let is_journal = name.strip_prefix(MAIN) == Some(SUFFIX);
        (name == META || is_journal).then_some(root)
    }

    /// Returns the path of the table in the folder, without slashes at its ends; "" for the folder
    /// itself.
    pub fn root(&self) -> &str {
        self.prefix.trim_end_matches('/')
    }

    /// Returns the name of the table for messages.
    pub fn show(&self) -> String {
        self.folder.show(OsStr::new(self.root()))
    }

    /// Returns a file of the table.
    pub fn file(&self, name: &str) -> OsString {
        format!("{}{name}", self.prefix).into()
    }

    /// Returns the folder of the store.
    pub fn folder(&self) -> &Arc<dyn Folder> {
        &self.folder
    }

    /// Returns a file of a new column, by the path of its node below those of all columns.
    pub fn column(&self, path: &str, extension: Extension) -> OsString {
        let end = match extension {
            Extension::Array => "b2nd",
            Extension::Batches => "b2b",
        };
        self.file(&format!("{COLUMNS}/{path}.{end}"))
    }

    /// Returns all files that a column of texts may have.
    pub fn of_text(&self, path: &str) -> Vec<OsString> {
        let mut files = Vec::new();
        for suffix in ["", UTF8, DICTIONARY, NOT_NULL] {
            for extension in [Extension::Array, Extension::Batches] {
                files.push(self.column(&format!("{path}{suffix}"), extension));
            }
        }
        files
    }

    /// Returns the files of a column, by the path of its node in the table.
    pub fn of_node(&self, node: &str) -> Result<Vec<OsString>> {
        let mut found = Vec::new();
        for suffix in ["", NOT_NULL, UTF8, DICTIONARY] {
            for end in ENDS {
                let name = self.file(&format!("{node}{suffix}{end}"));
                if self.folder.exists(&name)? {
                    found.push(name);
                }
            }
        }
        Ok(found)
    }

    /// Returns the files that are committed together.
    pub fn container(&self) -> Container {
        let prefix = self.prefix.clone();
        let is_member = move |name: &OsStr| {
            let name = name.to_str();
            name.and_then(|name| name.strip_prefix(&prefix))
                .is_some_and(is_file)
        };
        Container {
            sets: vec![in_store::set(&self.folder)],
            ..Container::of(
                &self.folder,
                self.file(MAIN),
                Arc::new(is_member),
                self.root(),
                vec![self.file(META)],
            )
        }
    }

    /// Removes the files of an interrupted writer that were not committed, and the folders of indexes
    /// that it removed.
    pub fn tidy(&self) -> Result<()> {
        self.remove_index_folders();
        remove_uncommitted(&self.container())
    }

    /// Removes the folders of indexes, if they are empty.
    pub fn remove_index_folders(&self) {
        let indexes = self.file(INDEXES);
        for name in self.folder.list(&indexes).unwrap_or_default() {
            let _ = self
                .folder
                .remove_folder(&Path::new(&indexes).join(&name).into_os_string());
        }
        let _ = self.folder.remove_folder(&indexes);
    }
}

/// Returns whether a path in a table is one of a file that belongs to it.
fn is_file(path: &str) -> bool {
    let plain = |c| matches!(c, Component::Normal(_));
    if !Path::new(path).components().all(plain) {
        return false;
    }
    match path.split_once('/') {
        None => [META, ATTRIBUTES, VALID_ROWS, EMBED].contains(&path),
        Some((COLUMNS | INDEXES, rest)) => ENDS.iter().any(|end| rest.ends_with(end)),
        Some(_) => false,
    }
}
