//! `holdall cat` of arrays and tables: items in C order as bytes or as a .npy file, pickled objects, rows.

use super::npy::{Npy, constant};
use super::selection::each_piece;
use crate::cli::Cat;
use crate::cli::slice::Picks;
use crate::cli::values::DataFormat;
use crate::content::{Content, has_objects, in_c_order};
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::output::{self, Output};
use crate::superchunk::source::Damage;
use crate::{failure, options, rows, usage};
use holdall::{Array, Integrity};

/// The header of a .npy file of an array, or of listed rows. `stored`: in the stored order.
pub fn header(array: &Array, rows: Option<&[u64]>, stored: bool) -> Vec<u8> {
    let (fortran_order, mut shape) = (stored && !in_c_order(array), array.shape().to_vec());
    if let (Some(rows), Some(n)) = (rows, shape.first_mut()) {
        *n = rows.len() as u64;
    }
    Npy { descr: constant(&array.dtype()), fortran_order, shape }.header()
}

/// Prints an array, or listed rows of it.
fn array(
    args: &Cat,
    path: &FileName,
    array: &Array,
    list: Option<&[u64]>,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let select = &args.select;
    if args.print.columns.is_some() {
        return Err(failure!("{path}: --columns is for tables, and this is an array"));
    }
    let to = args.print.to.unwrap_or(DataFormat::Raw);
    if has_objects(array) {
        return objects(args, path, array, list, output);
    }
    match to {
        DataFormat::Raw | DataFormat::Npy => {
            // NumPy can have a whole array in its stored order
            let is_npy = to == DataFormat::Npy;
            let stored = is_npy && select.slice.is_none() && select.rows.is_none();
            if is_npy {
                output.bytes(&header(array, list, stored))?;
            }
            each_piece(array, list, stored, (path, damage), |bytes| output.bytes(bytes))
        }
        DataFormat::Arrow => Err(failure!("{path}: --to arrow is for tables")),
        _ => rows::cat::array(args, path, array, list, damage, output),
    }
}

/// Prints pickled objects, one after the other: the reader can unpickle them.
fn objects(
    args: &Cat,
    path: &FileName,
    array: &Array,
    list: Option<&[u64]>,
    output: &mut Output,
) -> Result {
    if args.print.to.is_some_and(|to| to != DataFormat::Raw) {
        return Err(failure!(
            "{path}: objects of Python's are printed as they are pickled: --to raw"
        ));
    }
    Picks::plain(args.select.slice.as_ref(), "an array of objects")?;
    let mut print = |row| output.bytes(&array.read_object(row).map_err(library(path))?);
    match list {
        Some(list) => list.iter().copied().try_for_each(print),
        None => (0..array.shape().first().copied().unwrap_or(0)).try_for_each(&mut print),
    }
}

/// Refuses to print bytes to a terminal.
pub fn refuse_terminal(args: &Cat, is_table: bool) -> Result {
    let by_default = if is_table { DataFormat::Csv } else { DataFormat::Raw };
    match args.print.to.unwrap_or(by_default) {
        DataFormat::Text | DataFormat::Csv | DataFormat::Jsonl => Ok(()),
        _ => output::refuse_terminal(args.print.output.output.as_ref(), "bytes"),
    }
}

/// Runs `holdall cat` of an array or a table.
pub fn run(args: &Cat) -> Result<Exit> {
    let path = &args.print.path;
    let (source, skip_damaged) = (&args.print.source, args.print.skip_damaged);
    let options = options::reading(&source.reading);
    let (content, mut damage) =
        Content::dataset_skipping(path, source.frame.at, options, skip_damaged)?;
    let is_table = content.table().is_some();
    refuse_terminal(args, is_table)?;
    let (slice, rows) = (args.select.slice.as_ref(), args.select.rows.as_ref());
    let (content, mut list) = content.select(path, slice, rows)?;
    if let Some(condition) = &args.condition {
        let table = content.table().ok_or_else(|| failure!("{path}: --where is for tables"))?;
        let (rows, integrity) = table.rows_where(condition, ..).map_err(library(path))?;
        damage.found |= integrity != Integrity::Intact;
        list = Some(rows);
    }
    let list = list.as_deref();
    let is_csv = match args.print.to {
        None => is_table,
        to => to == Some(DataFormat::Csv),
    };
    if args.print.delimiter.is_some() && !is_csv {
        return Err(usage!("--delimiter is for CSV: --to csv"));
    }
    output::printed(args.print.output.output.as_ref(), args.print.output.force, |output| {
        match &content {
            Content::Table(table) => {
                rows::cat::table(args, path, table, list, &mut damage, output)?;
            }
            content => content
                .array()
                .map_or(Ok(()), |content| array(args, path, content, list, &mut damage, output))?,
        }
        Ok(Exit::damaged(damage.found))
    })
}
