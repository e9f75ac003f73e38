//! Rows as text: `holdall cat` of arrays and tables.

use super::frame::{Stored, Takes};
use super::printer::Printer;
use super::{arrow, print};
use crate::array::selection::each_piece;
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
    format: DataFormat,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let (path, frame) = (stored.path, &stored.frame);
    let csv = TextInput { delimiter: args.print.delimiter, ..TextInput::default() };
    let mut printer = Printer::begin(path, frame, format, stored.rows, false, &csv, output)?;
    stored.each(damage, |batch| printer.put(batch, output))
}

/// Prints an array as CSV or JSON lines, or plain numbers, a line each.
pub fn array(
    args: &Cat,
    path: &FileName,
    array: &Array,
    list: Option<&[u64]>,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    if let Some(to @ (DataFormat::Csv | DataFormat::Jsonl)) = args.print.to {
        if args.select.slice.as_ref().is_some_and(|slice| slice.slice().is_none()) {
            return Err(failure!(
                "{path}: rows of text are those of the first dimension: --slice A:B:C"
            ));
        }
        return rows(args, &Stored::of_array(path, array, list)?, to, damage, output);
    }
    let of = array.item_type();
    let is_plain =
        matches!(of.kind, ItemKind::Bool | ItemKind::Int | ItemKind::Uint | ItemKind::Float);
    if !is_plain || of.size > 8 {
        return Err(failure!("{path}: --to text prints plain numbers, these are items of {of}"));
    }
    let mut text = Vec::new();
    each_piece(array, list, false, (path, damage), |bytes| {
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
    list: Option<&[u64]>,
    damage: &mut Damage,
    output: &mut Output,
) -> Result {
    let to = args.print.to.unwrap_or(DataFormat::Csv);
    if to == DataFormat::Text {
        return Err(failure!("{path}: --to text prints one array of numbers, this is a table"));
    }
    let takes = match to {
        DataFormat::Csv | DataFormat::Jsonl => Takes::TextsAndNulls,
        DataFormat::Arrow => Takes::Arrow,
        _ => Takes::Nothing,
    };
    let stored = Stored::of_table(path, table, args.print.columns.as_deref(), list, takes)?;
    match to {
        DataFormat::Arrow => arrow::table(&stored, table, false, output),
        _ => rows(args, &stored, to, damage, output),
    }
}
