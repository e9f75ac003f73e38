//! `holdall cat` of arrays and tables: items in C order as bytes or as a .npy file, pickled objects, rows.

use super::dataset::{self, Content, Dataset};
use super::npy::{Npy, constant};
use super::selection::Selection;
use crate::cli::Cat;
use crate::cli::slice::{Pick, Picks, Rows, Span};
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::output::{self, Output};
use crate::rows::frame::Selected;
use crate::superchunk::packing::row_bytes;
use crate::superchunk::source::{Damage, resize};
use crate::{failure, options, relay, rows, usage};
use holdall::{Array, Integrity};

/// Bytes of listed rows that are read at once.
const ROWS_TARGET: u64 = 8 << 20;

/// Items that are selected: a box, or a list of rows.
pub struct Items<'a> {
    array: &'a Array,
    path: &'a FileName,
    selection: Selection,
    list: Option<Vec<u64>>,
    fortran_order: bool,
}

impl<'a> Items<'a> {
    pub fn of(
        array: &'a Array,
        path: &'a FileName,
        slice: Option<&Picks>,
        rows: Option<&Rows>,
    ) -> Result<Items<'a>> {
        let range = match rows {
            Some(Rows::Range(slice)) => Some(Picks(vec![Pick::Range(*slice)])),
            _ => None,
        };
        let list = match (rows, array.shape().first()) {
            (Some(_), None) => {
                return Err(failure!("{path}: an array without dimensions has no slices"));
            }
            (rows, n) => Selected::new(path, rows, None, n.copied().unwrap_or(0))?.list,
        };
        Ok(Items {
            array,
            path,
            selection: Selection::of(slice.or(range.as_ref()), array, path)?,
            list,
            fortran_order: false,
        })
    }

    /// Passes the bytes of the items on, in C order. The next piece is read while one is taken.
    pub fn each(&self, damage: &mut Damage, take: impl FnMut(&[u8]) -> Result) -> Result {
        let mut damaged = false;
        let done = match &self.list {
            None => {
                let mut parts = self.selection.parts(self.fortran_order);
                let make =
                    |bytes: &mut Vec<u8>| parts.read(self.array, self.path, &mut damaged, bytes);
                relay::take_here(make, take)
            }
            Some(list) => self.each_row(list, &mut damaged, take),
        };
        if damaged {
            damage.report("here");
        }
        done
    }

    fn each_row(
        &self,
        list: &[u64],
        damaged: &mut bool,
        take: impl FnMut(&[u8]) -> Result,
    ) -> Result {
        let row = row_bytes(self.array);
        if row == 0 {
            return Ok(());
        }
        let mut parts = list.chunks((ROWS_TARGET / row).max(1) as usize);
        let mut positions: Vec<Option<&[u64]>> = vec![None; self.array.shape().len()];
        let make = |bytes: &mut Vec<u8>| {
            let Some(part) = parts.next() else {
                return Ok(false);
            };
            resize(bytes, part.len() * row as usize)?;
            positions[0] = Some(part);
            let read = self.array.read_orthogonal_bytes(&positions, bytes);
            *damaged |= read.map_err(library(self.path))? == Integrity::Filled;
            Ok(true)
        };
        relay::take_here(make, take)
    }

    /// The header of a .npy file of the items. NumPy can have a whole array in its stored order.
    pub fn header(&mut self, is_whole: bool) -> Vec<u8> {
        self.fortran_order = is_whole && !dataset::in_c_order(self.array);
        let mut shape = self.selection.shape();
        if let (Some(list), Some(n)) = (&self.list, shape.first_mut()) {
            *n = list.len() as u64;
        }
        Npy { descr: constant(&self.array.dtype()), fortran_order: self.fortran_order, shape }
            .header()
    }
}

/// Prints an array.
fn array(
    args: &Cat,
    path: &FileName,
    array: &Array,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let select = &args.select;
    if args.print.columns.is_some() {
        return Err(failure!("{path}: --columns is for tables, and this is an array"));
    }
    let to = args.print.to.unwrap_or(DataFormat::Raw);
    if dataset::has_objects(array) {
        return objects(args, path, array, output);
    }
    match to {
        DataFormat::Raw | DataFormat::Npy => {
            let mut items = Items::of(array, path, select.slice.as_ref(), select.rows.as_ref())?;
            if to == DataFormat::Npy {
                output.bytes(&items.header(select.slice.is_none() && select.rows.is_none()))?;
            }
            items.each(damage, |bytes| output.bytes(bytes))
        }
        DataFormat::Arrow => Err(failure!("{path}: --to arrow is for tables")),
        _ => rows::cat::array(args, path, array, damage, output),
    }
}

/// Prints pickled objects, one after the other: the reader can unpickle them.
fn objects(args: &Cat, path: &FileName, array: &Array, output: &mut Output) -> Result {
    if args.print.to.is_some_and(|to| to != DataFormat::Raw) {
        return Err(failure!(
            "{path}: objects of Python's are printed as they are pickled: --to raw"
        ));
    }
    let select = &args.select;
    Picks::plain(select.slice.as_ref(), "an array of objects")?;
    let n = array.shape().first().copied().unwrap_or(0);
    let selected = Selected::new(path, select.rows.as_ref(), select.slice.as_ref(), n)?;
    let mut print = |row| output.bytes(&array.read_object(row).map_err(library(path))?);
    match selected.list {
        Some(list) => list.into_iter().try_for_each(print),
        None => {
            let Span { start, count, step } = selected.span;
            (0..count).try_for_each(|i| print(start.wrapping_add_signed(i as i64 * step)))
        }
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
    let (dataset, mut damage) = Dataset::read_skipping(path, &source.frame, options, skip_damaged)?;
    if dataset.table().is_some() {
        Picks::plain(args.select.slice.as_ref(), "a table")?;
    }
    refuse_terminal(args, dataset.table().is_some())?;
    let is_csv = match args.print.to {
        None => dataset.table().is_some(),
        to => to == Some(DataFormat::Csv),
    };
    if args.print.delimiter.is_some() && !is_csv {
        return Err(usage!("--delimiter is for CSV: --to csv"));
    }
    output::printed(args.print.output.output.as_ref(), args.print.output.force, |output| {
        match &dataset.content {
            Content::Array(content) => array(args, path, content, &mut damage, output)?,
            Content::Table(table) => rows::cat::table(args, path, table, &mut damage, output)?,
        }
        Ok(Exit::damaged(damage.found))
    })
}
