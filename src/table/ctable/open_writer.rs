//! Opens a CTable for writing.
#![forbid(unsafe_code)]

use super::column_writer::ColumnWriter;
use super::commit_part::{part_of, store_of};
use super::index_catalog::IndexCatalog;
use super::null_mask::SharedMask;
use super::row_map::RowMap;
use super::schema::{self, Field, Nulls, TextForm, Values};
use super::summary::Summary;
use super::text_column::{self, ColumnFiles, has_mask, may_be_null};
use super::valid_rows::ValidRows;
use super::writer::{self, CTableWriter, Found, own_options};
use super::{Opened, in_column, times};
use crate::array::{Array, NewTiled};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::{Mode, Session};
use crate::json::Value;
use crate::options::Options;
use crate::store::table_files::{
    ATTRIBUTES, COLUMNS, INDEXES, META, NOT_NULL, TableFiles, VALID_ROWS,
};
use crate::store::{Node, Store};
use crate::superchunk::frame::{Frame, NewFrame};
use crate::table::write::Writer;
use crate::table::{Column, NullRule, Table};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Opens the table below a group of a store for writing.
pub fn open(store: &Store, root: &str, options: &Options) -> Result<Table> {
    if store.format() != Format::B2d {
        return Err(fail!(
            Unsupported,
            "a CTable in an archive is read-only; copy it to a folder, a name that ends in .b2d"
        ));
    }
    let folder = store.folder()?;
    let files = TableFiles::new(&folder, root);
    let name = store.show(root);
    let session = Session::open(files.container(), name.clone(), Mode::Append, options)?;
    files.tidy()?;
    // the table may have been recovered
    let store = &Store::open_folder(&folder, options)?;
    let opened = Opened {
        store,
        root,
        options: &own_options(options)?,
    };
    let text = opened.schema()?;
    let schema = Value::parse(&text)?;
    let fields = schema::parse(&text)?;
    refuse_unsupported(&schema, &fields)?;
    let session = Arc::new(session);
    let open = |file: &str| Frame::open_member(&session, &files.file(file), opened.options);
    let mask = Array::open_member(&session, &files.file(VALID_ROWS), opened.options)?;
    let valid = Arc::new(ValidRows::read(&mask, options.memory_limit())?);
    let attributes = folder.exists(&files.file(ATTRIBUTES))?;
    let meta = open(META)?;
    let mut indexes = Indexes {
        catalog: writer::index_catalog(&meta)?,
        files: files_below(store, &format!("{root}/{INDEXES}/")),
    };
    let column = |field: &Field| {
        column(&opened, field, &session, &valid, &mut indexes, options)
            .map_err(|e| in_column(e, &field.name))
    };
    let columns = fields.iter().map(column).collect::<Result<_>>()?;
    let found = Found {
        schema,
        meta,
        mask,
        attrs: attributes.then(|| open(ATTRIBUTES)).transpose()?,
        valid: valid.clone(),
        catalog: indexes.catalog,
        obsolete: indexes.files,
    };
    Ok(Table {
        rows: valid.count(),
        columns,
        attrs: opened.attrs()?,
        name,
        format: Some(Format::CTable),
        zones: None,
        writer: Some(Writer::CTable(Box::new(CTableWriter::of(
            files, found, &session, options,
        )))),
    })
}

/// The indexes of a table that is opened.
struct Indexes {
    catalog: IndexCatalog,
    /// Files of indexes that no column has.
    files: Vec<OsString>,
}

impl Indexes {
    /// Opens the summaries of a column. Those that do not fit it are dropped.
    fn summary(
        &mut self,
        session: &Arc<Session>,
        field: &Field,
        column: &Array,
        nulls: Option<&NullRule>,
        options: &Options,
    ) -> Option<Summary> {
        let index = self.catalog.summary(&field.name)?;
        let at = self.files.iter().position(|file| *file == *index.path);
        let fits = field.nulls == Nulls::None || index.null_aware;
        let has_mask = field.nulls == Nulls::Mask;
        let summary = at.filter(|_| fits).and_then(|_| {
            let entries = Array::open_member(session, OsStr::new(&index.path), options).ok()?;
            Summary::new(entries, column, index.segment, nulls, has_mask)
        });
        match (at, &summary) {
            (Some(at), Some(_)) => _ = self.files.swap_remove(at),
            _ => _ = self.catalog.remove(&field.name),
        }
        summary
    }
}

/// Returns the files of the nodes below a group.
pub fn files_below(store: &Store, group: &str) -> Vec<OsString> {
    let files = store.files();
    let below = files.filter(|(path, _)| path.starts_with(group));
    below.map(|(_, name)| name.to_owned()).collect()
}

/// Returns an error if a part of the table would be lost or become wrong by a change.
fn refuse_unsupported(schema: &Value, fields: &[Field]) -> Result<()> {
    if schema.get("source_bindings_version").is_some() {
        return Err(fail!(
            Unsupported,
            "its columns are references to other arrays, which makes it read-only"
        ));
    }
    if let Some(Value::Array(generated)) = schema.get("materialized_columns")
        && !generated.is_empty()
    {
        return Err(fail!(
            Unsupported,
            "it has columns that are computed from others, which only python-blosc2 can change"
        ));
    }
    for field in fields {
        let kind = match &field.values {
            Values::Other(kind) => kind,
            Values::Texts(TextForm::Arrow(_)) => "lists in Arrow's format",
            Values::Items | Values::Times(_) | Values::Texts(_) => continue,
        };
        return Err(fail!(
            Unsupported,
            "column {:?}: columns of this kind are read-only ({kind})",
            field.name
        ));
    }
    Ok(())
}

fn column(
    opened: &Opened,
    field: &Field,
    session: &Arc<Session>,
    valid: &Arc<ValidRows>,
    indexes: &mut Indexes,
    options: &Options,
) -> Result<Column> {
    if let Values::Texts(form) = &field.values {
        indexes.catalog.remove(&field.name);
        return text_column(opened, (field, form), session, valid, options);
    }
    let folder = format!("{COLUMNS}/{}", field.path);
    let array = Array::open_member(session, file_of(opened, &folder)?, options)?;
    let dtype = match &field.values {
        Values::Times(unit) => times(&array, unit)?,
        _ => array.dtype().clone(),
    };
    if array.shape().first().is_none_or(|n| *n < valid.end()) {
        return Err(fail!(
            Format,
            "it has the shape {:?} (expected {} rows, as _valid_rows)",
            array.shape(),
            valid.end()
        ));
    }
    let nulls = match &field.nulls {
        Nulls::Value(value) => Some(match schema::null_item(value, &dtype)? {
            Some(item) => NullRule::Item(item),
            None => NullRule::Nan,
        }),
        Nulls::None | Nulls::Mask => None,
    };
    let summary = indexes.summary(session, field, &array, nulls.as_ref(), opened.options);
    let mut array = writer::column(array, &dtype, RowMap::new(valid.clone()), options)?;
    if let Some(summary) = summary {
        store_of::<ColumnWriter>(&mut array)?.set_summary(summary);
    }
    let nulls = match field.nulls {
        Nulls::Mask => {
            let mask = mask(opened, &folder, session, valid)?;
            let rule = mask.rule();
            part_of(&mut array)?.set_mask(mask);
            Some(rule)
        }
        _ => nulls,
    };
    Ok(Column {
        name: field.name.clone(),
        array,
        stored_rows: valid.count(),
        nulls,
        folder,
    })
}

/// Returns the file of a node.
fn file_of<'a>(opened: &'a Opened, node: &str) -> Result<&'a OsStr> {
    match opened.store.node(&opened.path(node))?.1 {
        Node::File(file) => Ok(file),
        _ => Err(fail!(
            Unsupported,
            "{node}: it has no file of its own; copy the table to change it"
        )),
    }
}

fn text_column(
    opened: &Opened,
    (field, form): (&Field, &TextForm),
    session: &Arc<Session>,
    valid: &Arc<ValidRows>,
    options: &Options,
) -> Result<Column> {
    let folder = format!("{COLUMNS}/{}", field.path);
    let own = opened.options;
    let array = |suffix: &str, _: &NewTiled| {
        Array::open_member(session, file_of(opened, &format!("{folder}{suffix}"))?, own)
    };
    let frame = |suffix: &str, _: &NewFrame| {
        Frame::open_member(session, file_of(opened, &format!("{folder}{suffix}"))?, own)
    };
    let files = ColumnFiles {
        positions: valid.end(),
        array: &array,
        frame: &frame,
    };
    let (name, map) = (
        opened.store.show(&opened.path(&folder)),
        RowMap::new(valid.clone()),
    );
    let mut array = text_column::column((field, form), &files, &map, session, name, options)?;
    if has_mask(field, form) {
        let mask = mask(opened, &folder, session, valid)?;
        part_of(&mut array)?.set_mask(mask);
    }
    Ok(Column {
        name: field.name.clone(),
        array,
        stored_rows: valid.count(),
        nulls: may_be_null(field, form).then_some(NullRule::Texts),
        folder,
    })
}

/// Opens the mask of the nulls of a column, which may not exist yet.
fn mask(
    opened: &Opened,
    folder: &str,
    session: &Arc<Session>,
    valid: &Arc<ValidRows>,
) -> Result<SharedMask> {
    let node = format!("{folder}{NOT_NULL}");
    let array = match opened.store.node(&opened.path(&node)) {
        Ok(_) => Some(Array::open_member(
            session,
            file_of(opened, &node)?,
            opened.options,
        )?),
        Err(_) => None,
    };
    let mask = array.as_ref();
    if mask.is_some_and(|a| a.itemsize() != 1 || !matches!(a.shape(), [n] if *n >= valid.end())) {
        return Err(fail!(Format, "{node}: no mask of one byte per row"));
    }
    let file =
        TableFiles::new(&session.container().folder, opened.root).file(&format!("{node}.b2nd"));
    let rows = array.map(|array| (array, RowMap::new(valid.clone())));
    SharedMask::new(session, file, opened.options, rows)
}
