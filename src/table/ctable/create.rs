//! Creates a CTable in a new store.
#![forbid(unsafe_code)]

use super::open_writer::files_below;
use super::writer::CTableWriter;
use crate::array::NewLocation;
use crate::dataset::attrs::Attrs;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::{Mode as SessionMode, Session, already_exists};
use crate::io::{Folder, locate};
use crate::options::Options;
use crate::os::OsStrExt;
use crate::store::table_files::{self, TableFiles};
use crate::store::{self, EMBED, Store};
use crate::superchunk::bloscpack::Mode;
use crate::table::Table;
use crate::table::write::{NewColumn, Writer};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// Creates a table without rows, which exists from the first commit on.
pub fn create(
    to: NewLocation,
    mode: Mode,
    columns: &[NewColumn],
    options: &Options,
) -> Result<Table> {
    if !matches!(mode, Mode::New | Mode::Replace) {
        return Err(fail!(
            Argument,
            "creating takes HOLDALL_CREATE or HOLDALL_REPLACE"
        ));
    }
    if columns.is_empty() {
        return Err(fail!(Argument, "a table has at least one column"));
    }
    match to {
        NewLocation::Storage(folder) => match folder.in_store() {
            Some(location) => create_in(
                TableFiles::new(&location.folder, &location.root),
                None,
                mode,
                columns,
                options,
            ),
            None => create_in(TableFiles::new(folder, ""), None, mode, columns, options),
        },
        NewLocation::Path(path) => {
            // python-blosc2 recognizes a store by its name
            let name = Path::new(path).file_name().unwrap_or_default();
            if !name.as_bytes().ends_with(b".b2d") {
                return Err(fail!(
                    Argument,
                    "{}: the name of a CTable ends in .b2d",
                    path.display()
                ));
            }
            locate::in_new_folder(path, |above| {
                let files = TableFiles::new(&locate::folder(path)?, "");
                create_in(files, above, mode, columns, options)
            })
        }
    }
}

fn create_in(
    files: TableFiles,
    above: Option<Arc<dyn Folder>>,
    mode: Mode,
    columns: &[NewColumn],
    options: &Options,
) -> Result<Table> {
    let name = files.show();
    let session = Session::open(
        files.container(),
        name.clone(),
        SessionMode::Append,
        options,
    )?;
    above
        .into_iter()
        .for_each(|above| session.created_in(above));
    files.tidy()?;
    let replaced = match files.root() {
        "" => refuse_existing(files.folder(), mode, options)?,
        root => refuse_existing_below(&files, root, mode, options)?,
    };
    let session = Arc::new(session);
    let writer = CTableWriter::create(files, replaced, &session, options)?;
    let mut table = Table {
        name,
        rows: 0,
        columns: Vec::new(),
        attrs: Attrs::default(),
        writer: Some(Writer::CTable(Box::new(writer))),
        format: Some(Format::CTable),
        zones: None,
    };
    for column in columns {
        let at = table.columns.len();
        table.insert_column(at, column, None)?;
    }
    Ok(table)
}

/// Fails if a table exists below a group of a store. Returns the files of the table that is replaced.
fn refuse_existing_below(
    files: &TableFiles,
    root: &str,
    mode: Mode,
    options: &Options,
) -> Result<Vec<OsString>> {
    if !files.folder().exists(&files.file(table_files::META))? {
        return Ok(Vec::new());
    }
    if mode == Mode::New {
        return Err(already_exists(&files.show()));
    }
    let store = Store::open_folder(files.folder(), options)?;
    Ok(files_below(&store, &format!("/{root}/")))
}

/// Fails if something else exists at the destination. Returns the files of the table that is
/// replaced.
fn refuse_existing(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    options: &Options,
) -> Result<Vec<OsString>> {
    if !store::refuse_existing(folder, mode)? {
        return Ok(Vec::new());
    }
    let store = Store::open_folder(folder, options)?;
    if !store.is_table("", options)? {
        return Err(fail!(
            Exists,
            "{}: a store is there, which HOLDALL_REPLACE does not replace by a table; remove it first",
            folder.show(OsStr::new(""))
        ));
    }
    let mut files = files_below(&store, "/");
    files.extend([table_files::META, EMBED].map(OsString::from));
    Ok(files)
}
