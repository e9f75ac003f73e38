//! The C functions for tables.

use super::array::{c_names, give_bytes, holdall_array, text};
use super::common::*;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use super::schunk::mode_of;
use crate::array::dtype::Dtype;
use crate::arrow::export::Rules;
use crate::error::{Result, fail};
use crate::identify::Format;
use crate::options::{Opt, Options};
use crate::table::Table;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open table: columns of one length, each an array with a name. It is a const handle for
/// reading from many threads, and so is each of its columns. A handle that was opened for writing
/// belongs to one thread at a time and sees its own changes at once; others see them, all of them
/// together, when they open after the commit.
pub struct holdall_table {
    broken: AtomicBool,
    /// What reads it as a stream holds it, too.
    pub(super) inner: Arc<Table<holdall_array>>,
    /// What becomes what for Arrow.
    pub(super) rules: Rules,
    /// Of the columns.
    columns: Vec<CString>,
    /// Of the attributes.
    names: Vec<CString>,
}
handle!(holdall_table);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_table>();

/// The handle of a table that is opened, or made, with these options.
fn table_handle(
    options: *const holdall_options,
    open: impl FnOnce(&Options) -> Result<Table>,
) -> Result<holdall_table> {
    let mut options = chosen(options);
    let rules = Rules {
        binary: options.take(Opt::ArrowBinary) == Some(1),
        nulls: options.take(Opt::ArrowNulls) == Some(1),
    };
    let inner = Arc::new(open(&options)?.map(|array| Ok(holdall_array::from(array)))?);
    let mut table = holdall_table {
        broken: AtomicBool::new(false),
        inner,
        rules,
        columns: Vec::new(),
        names: Vec::new(),
    };
    table.name_all();
    Ok(table)
}

impl holdall_table {
    /// The table, to be changed. A stream that reads it must not see that.
    pub(super) fn changed(&mut self) -> Result<&mut Table<holdall_array>> {
        let read = || {
            fail!(
                State,
                "an Arrow stream reads the table: release it before the table is changed"
            )
        };
        Arc::get_mut(&mut self.inner).ok_or_else(read)
    }

    /// Columns or attributes have changed.
    fn name_all(&mut self) {
        // no folder has a name with a NUL
        self.columns = self
            .inner
            .columns()
            .iter()
            .map(|c| CString::new(c.name.as_str()).unwrap_or_default())
            .collect();
        self.names = c_names(self.inner.attrs().names());
    }
}

/// Opens a table, a folder that bcolz or BLZ wrote, or of their papers' layout with fields that
/// stand apart: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be read and
/// changed (one at a time, and none of its columns by itself meanwhile: HOLDALL_E_BUSY). Options,
/// and which files are opened when: those of holdall_array_open(). A table is as long as its
/// shortest column; see holdall_table_column_rows(). What a longer one has beyond that goes with
/// the next commit.
/// HOLDALL_E_TYPE: it is an array, or a file. HOLDALL_E_MISSING, HOLDALL_E_FORMAT: a column is not
/// there, or broken, and the words name it; names of columns that lead out of the folder.
/// HOLDALL_E_UNSUPPORTED: it is to be changed, and can be read only: a column holds objects of
/// Python's.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            table_handle(options, |o| {
                Table::open(string(path, "path")?, mode_of(mode)?, o)
            })
        })
    })
}

/// As holdall_table_open(), in storage of the caller's: the files "__rootdirs__",
/// "NAME/meta/sizes", "NAME/data/__0.blp" and so on, in the papers' form "meta/sizes",
/// "data/NAME/__1__.bin" and so on. It may be closed at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_open_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let io = storage(io)?;
            table_handle(options, |o| Table::open_in(io, mode_of(mode)?, o))
        })
    })
}

/// What is to be one column after the other.
fn columns<'a>(
    n: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
) -> Result<Vec<(&'a str, Dtype)>> {
    let both = slice(names, n as usize, "names")?
        .iter()
        .zip(slice(dtypes, n as usize, "dtypes")?);
    let column = |(name, dtype): (&*const c_char, &*const c_char)| {
        let name = utf8(*name, "name")?;
        let dtype = utf8(*dtype, "dtype")
            .and_then(Dtype::wanted)
            .map_err(|e| e.within(format_args!("column {name:?}")))?;
        Ok((name, dtype))
    };
    both.map(column).collect()
}

fn utf8<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    string(text, what)?
        .to_str()
        .ok_or_else(|| fail!(Argument, "a {what} is no UTF-8"))
}

fn format_of(format: holdall_format) -> Result<Format> {
    match format {
        HOLDALL_FORMAT_BCOLZ => Ok(Format::Bcolz),
        HOLDALL_FORMAT_BLZ => Ok(Format::Blz),
        HOLDALL_FORMAT_BLZ_PAPER => Ok(Format::BlzPaper),
        _ => Err(fail!(
            Unsupported,
            "format {format}: tables are created as HOLDALL_FORMAT_BCOLZ, _BLZ and _BLZ_PAPER"
        )),
    }
}

/// Creates a table without rows, of `columns` columns, 1 or more, with these names and dtypes, in
/// this order. With HOLDALL_NEW nothing may be there, with HOLDALL_REPLACE the table that is there
/// is replaced by the first commit, until which nobody else sees anything of the new one. Format:
/// HOLDALL_FORMAT_BCOLZ, a folder that bcolz and BLZ read and append to, or HOLDALL_FORMAT_BLZ, as
/// BLZ has it, with the limits that holdall_array_create() tells of, or HOLDALL_FORMAT_BLZ_PAPER,
/// one dataset whose fields have folders of their own ("data/NAME", and "data/NAME/FIELD" for a
/// dtype with fields), with superchunks of which each column's holds as many rows: chunks are as
/// long as given, or usual, for a column of average width; the columns have no attributes of their
/// own. With HOLDALL_REPLACE it takes the place of a table of its form. names: UTF-8, each also
/// that of the column's folder, so that it holds no slash, is not "", ".", ".." or a name of the
/// table's own files, and no other one's. dtypes: as NumPy spells them, see holdall_array_create();
/// one that is an array of items, "('<f4', (3,))", makes a column whose rows have that shape.
/// Options: those of holdall_array_create() for a folder, each for all columns.
///
/// HOLDALL_OPT_EXPECTED_ROWS: how many rows the table is going to have, about: chunks of each
/// column are as long as bcolz makes them for that many (of the fewest bytes where it is not
/// given). HOLDALL_E_EXISTS: something is there; a name is there twice. HOLDALL_E_TYPE: a dtype
/// that is not known. HOLDALL_E_UNSUPPORTED: objects of Python's, another format. HOLDALL_E_BUSY:
/// another writer is at work.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_create(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    columns: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let columns = self::columns(columns, names, dtypes)?;
            table_handle(options, |o| {
                Table::create(
                    string(path, "path")?,
                    mode_of(mode)?,
                    format_of(format)?,
                    &columns,
                    o,
                )
            })
        })
    })
}

/// As holdall_table_create(), in storage of the caller's, which has the files that
/// holdall_table_open_io() tells of. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no
/// lock: the caller sees to it that there is one writer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_create_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    format: holdall_format,
    columns: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let columns = self::columns(columns, names, dtypes)?;
            let io = storage(io)?;
            table_handle(options, |o| {
                Table::create_in(io, mode_of(mode)?, format_of(format)?, &columns, o)
            })
        })
    })
}

/// Closes a table and its columns; NULL is fine. What was not committed is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_close(table: *mut holdall_table) {
    take_back(table);
}

/// How many rows it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_rows(table: *const holdall_table) -> u64 {
    field(table, 0, |t| t.inner.rows())
}

/// How many columns it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_columns(table: *const holdall_table) -> u32 {
    field(table, 0, |t| t.columns.len() as u32)
}

/// The name of a column; NULL beyond the last. Borrowed until the table is closed, or a column
/// added or removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_name(
    table: *const holdall_table,
    i: u32,
) -> *const c_char {
    field(table, std::ptr::null(), |t| {
        t.columns
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// A column, as an array with the rows of the table; NULL beyond the last. Borrowed until the table
/// is closed, or a column added or removed: closing it does nothing, and it is changed by way of
/// the table alone (HOLDALL_E_STATE).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column(
    table: *const holdall_table,
    i: u32,
) -> *const holdall_array {
    field(table, std::ptr::null(), |t| {
        t.inner
            .columns()
            .get(i as usize)
            .map_or(std::ptr::null(), |c| &raw const c.array)
    })
}

/// How many rows a column has in its files: more than the table where a writer was cut off while it
/// appended to one column after the other. Those of the last commit, 0 for a column that is new
/// since then and beyond the last column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_rows(table: *const holdall_table, i: u32) -> u64 {
    field(table, 0, |t| {
        t.inner
            .columns()
            .get(i as usize)
            .map_or(0, |c| c.stored_rows)
    })
}

/// How many named values it has, its attributes; those of a column are its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attrs(table: *const holdall_table) -> u32 {
    field(table, 0, |t| t.names.len() as u32)
}

/// The name of one of them; NULL beyond the last. Borrowed until the table is closed or changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attr_name(
    table: *const holdall_table,
    i: u32,
) -> *const c_char {
    field(table, std::ptr::null(), |t| {
        t.names
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// A named value, JSON: *n bytes, without a NUL behind them, borrowed until the table is closed, or
/// one is set. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0. Where they
/// are damaged: as holdall_array_attr_get().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_attr_get(
    table: *const holdall_table,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        give_bytes(
            text(name)?.map_or(Ok(None), |name| t.inner.attrs().get(name))?,
            value,
            n,
        )
    })
}

/// Sets a named value, n bytes of JSON, from the next commit on; value NULL removes it, if it is
/// there. HOLDALL_E_ARGUMENT: it is no JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_attr_set(
    table: *mut holdall_table,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let json = if value.is_null() {
            None
        } else {
            Some(slice(value.cast(), n, "value")?)
        };
        t.changed()?.attr_set(utf8(name, "name")?, json)?;
        t.name_all();
        Ok(())
    })
}

/// Sets a named value of column i in the same way, or removes it; it is read as
/// holdall_array_attr_get() of the column has it. HOLDALL_E_RANGE: there is no such column.
/// HOLDALL_E_ARGUMENT: it is no JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_attr_set(
    table: *mut holdall_table,
    i: u32,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let json = if value.is_null() {
            None
        } else {
            Some(slice(value.cast(), n, "value")?)
        };
        t.changed()?
            .column_attr_set(i as usize, utf8(name, "name")?, json)?
            .name_all();
        Ok(())
    })
}

/// Puts rows behind the last, from the next commit on. columns[i]: the new items of column i,
/// `rows` rows of them, packed, in C order, sizes[i] bytes; both have a value for each column of
/// the table. Nothing is borrowed beyond the call. Any number of rows will do: what does not fill a
/// chunk waits in memory, so that few commits of many rows cost the least. On failure nothing was
/// appended to any column. HOLDALL_E_ARGUMENT: sizes[i] is not that of the new items.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_append(
    table: *mut holdall_table,
    rows: u64,
    columns: *const *const c_void,
    sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let n = t.columns.len();
        let both = slice(columns, n, "columns")?
            .iter()
            .zip(slice(sizes, n, "sizes")?);
        let columns = both
            .map(|(src, size)| slice(src.cast::<u8>(), *size, "a column"))
            .collect::<Result<Vec<_>>>()?;
        t.changed()?.append(rows, &columns)
    })
}

/// Writes over `rows` rows of column i, from row `first` on, from the next commit on. src: their
/// items, packed, in C order, src_size bytes. Costs, and what is left on failure: as
/// holdall_array_write(). HOLDALL_E_RANGE: there is no such column, or it has fewer rows.
/// HOLDALL_E_ARGUMENT: src_size is not that of the items.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_write(
    table: *mut holdall_table,
    i: u32,
    first: u64,
    rows: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?
            .write(i as usize, first, rows, slice(src.cast(), src_size, "src")?)
    })
}

/// Puts a new column before column `at`, behind the last where `at` is their number, from the next
/// commit on. name, dtype: as for holdall_table_create(). src: an item, or a row of items, for each
/// row of the table, packed, in C order, src_size bytes. Options are those with which the table was
/// opened; what they do not say (codec, level, checksum) is as with the first column. On failure
/// all is as it was. HOLDALL_E_EXISTS: a column of this name is there. HOLDALL_E_RANGE: `at` is
/// beyond their number. HOLDALL_E_ARGUMENT: src_size is not that of the items, or a name that no
/// column can have. HOLDALL_E_TYPE: a dtype that is not known.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_add(
    table: *mut holdall_table,
    at: u32,
    name: *const c_char,
    dtype: *const c_char,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let dtype = Dtype::wanted(utf8(dtype, "dtype")?)?;
        t.changed()?.column_add(
            at as usize,
            utf8(name, "name")?,
            &dtype,
            slice(src.cast(), src_size, "src")?,
        )?;
        t.name_all();
        Ok(())
    })
}

/// Takes a column away, from the next commit on, which removes its files. Who reads them then gets
/// HOLDALL_E_MISSING. HOLDALL_E_ARGUMENT: there is none of this name, or it is the only one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_remove(
    table: *mut holdall_table,
    name: *const c_char,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?.column_remove(utf8(name, "name")?)?;
        t.name_all();
        Ok(())
    })
}

/// Keeps the first `rows` rows, from the next commit on. HOLDALL_E_RANGE: there are fewer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_truncate(
    table: *mut holdall_table,
    rows: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| t.changed()?.truncate(rows))
}

/// Makes all changes so far durable and visible: those of all columns, which columns there are,
/// attributes, all together or none of it, whatever comes in between. Where there are none, it does
/// nothing. Fails as holdall_schunk_commit() does; HOLDALL_E_STATE also where a writer without the
/// lock has changed the table since it was opened here.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_commit(
    table: *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| t.changed()?.commit())
}
