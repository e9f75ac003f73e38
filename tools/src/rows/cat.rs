//! Rows as text: `holdall cat` of arrays and tables.

use super::frame::{Selected, Stored};
use super::printer::Printer;
use super::{arrow, print};
use crate::array::cat::Items;
use crate::cli::Cat;
use crate::cli::groups::TextInput;
use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use crate::output::Output;
use crate::superchunk::source::Damage;
use holdall::{Array, ItemKind, Table};

fn rows(
    args: &Cat,
    stored: &Stored,
    selected: &Selected,
    format: DataFormat,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let (path, frame) = (stored.path, &stored.frame);
    let csv = TextInput { delimiter: args.print.delimiter, ..TextInput::default() };
    let mut printer = Printer::begin(path, frame, format, selected.count, false, &csv, output)?;
    stored.each(selected, damage, |batch| printer.put(batch, output))
}

/// Prints rows of an array as text, CSV or JSON lines.
pub fn array(
    args: &Cat,
    path: &FileName,
    array: &Array,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let Some(to @ (DataFormat::Csv | DataFormat::Jsonl)) = args.print.to else {
        return numbers(args, path, array, damage, output);
    };
    let select = &args.select;
    let Some(length) = array.shape().first() else {
        return Err(failure!("{path}: an array without dimensions has no rows"));
    };
    if select.slice.as_ref().is_some_and(|slice| slice.slice().is_none()) {
        return Err(failure!(
            "{path}: rows of text are those of the first dimension: --slice A:B:C"
        ));
    }
    let selected = Selected::new(path, select.rows.as_ref(), select.slice.as_ref(), *length)?;
    rows(args, &Stored::of_array(path, array)?, &selected, to, damage, output)
}

/// Prints plain numbers, a line each.
fn numbers(
    args: &Cat,
    path: &FileName,
    array: &Array,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let (of, select) = (array.item_type(), &args.select);
    let is_plain =
        matches!(of.kind, ItemKind::Bool | ItemKind::Int | ItemKind::Uint | ItemKind::Float);
    if !is_plain || of.size > 8 {
        return Err(failure!("{path}: --to text prints plain numbers, these are items of {of}"));
    }
    let mut text = Vec::new();
    let items = Items::of(array, path, select.slice.as_ref(), select.rows.as_ref())?;
    items.each(damage, |bytes| {
        for piece in bytes.chunks(of.size << 13) {
            for item in piece.chunks_exact(of.size) {
                print::put_plain(&mut text, of, item);
                text.push(b'\n');
            }
            output.bytes(&text)?;
            text.clear();
        }
        Ok(())
    })
}

/// Prints rows of a table in any format.
pub fn table(
    args: &Cat,
    path: &FileName,
    table: &Table,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let select = &args.select;
    let to = args.print.to.unwrap_or(DataFormat::Csv);
    if to == DataFormat::Text {
        return Err(failure!("{path}: --to text prints one array of numbers, this is a table"));
    }
    let stored = Stored::of_table(path, table, args.print.columns.as_deref())?;
    let selected = Selected::new(path, select.rows.as_ref(), select.slice.as_ref(), table.rows())?;
    match to {
        DataFormat::Arrow => arrow::table(&stored, table, &selected, false, output),
        _ => rows(args, &stored, &selected, to, damage, output),
    }
}
