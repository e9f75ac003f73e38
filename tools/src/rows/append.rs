//! `holdall append` to a table: rows of CSV, of JSON lines, of a file of NumPy, or end to end as they are.

use super::feed::TextFile;
use super::frame::{Batch, Stored, Takes};
use super::target::Target;
use super::text::TextOptions;
use super::{load, packed};
use crate::array::npy::Npy;
use crate::cli::Append;
use crate::cli::values::DataFormat;
use crate::content::Content;
use crate::failure::{Exit, Failure, Result};
use crate::files::Input;
use crate::report::plural;
use crate::{detect, failure, options, progress, report, signals, superchunk};

pub fn run(args: &Append) -> Result<Exit> {
    signals::catch();
    let path = &args.path;
    let options = options::changing(&args.changing).progress(progress::report);
    let options = options::codecs(options, &args.encoding)?;
    let content = Content::open_for_writing(path, &options)?;
    progress::begin("append");
    let appended = load_all(args, content);
    progress::end();
    let (rows, total) = appended?;
    let (suffix, done) = (plural(rows), args.before.map_or("appended", |_| "inserted"));
    report::note(&format!("{path}: {rows} row{suffix} {done}; now {total}"));
    Ok(Exit::Done)
}

/// Appends all rows and commits. Returns the number of rows that were appended, and that the table
/// has then. A NumPy file has its own columns; text and raw bytes have those of the table.
fn load_all(args: &Append, content: Content) -> Result<(u64, u64)> {
    let (path, format) = (&args.path, superchunk::append::format(args));
    let Some(table) = content.table() else {
        return Err(failure!("{path}: it is no table"));
    };
    if let Some(row) = args.before.filter(|row| *row > table.rows()) {
        let (have, suffix) = (table.rows(), plural(table.rows()));
        return Err(failure!("{path}: it has {have} row{suffix}, so there is no row {row}"));
    }
    let expected = Stored::of_table(path, table, None, None, Takes::TextsAndNulls)?.frame;
    let mut target;
    if format == Some(DataFormat::Npy) {
        let mut input = Input::open(&args.input, Some(path))?;
        let npy = Npy::read(&mut input)?;
        let (frame, rows) = packed::columns(&input, &npy)?;
        target = Target::append(&frame, &expected, (path, content), &args.input)?;
        target.before = args.before;
        let mut take = |batch: &Batch| target.take(&frame, batch);
        packed::rows(&frame, &mut input, Some(rows), &mut take)?;
    } else {
        target = Target::append(&expected, &expected, (path, content), path)?;
        target.before = args.before;
        let mut take = |batch: &Batch| target.take(&expected, batch);
        if let Some(options) = TextOptions::new(format, &args.text, None) {
            let file = TextFile::open(&args.input, path, false)?;
            load::rows(&expected, &file, &options, None, &mut take)?;
        } else {
            if format.is_none() && detect::is_text(&args.input) {
                let name = args.input.of_input();
                return Err(failure!(
                    "{name}: it is text, whose bytes are no rows of {path} (--from csv or jsonl reads its lines, \
                     --from raw takes its bytes)"
                ));
            }
            let mut input = Input::open(&args.input, Some(path))?;
            packed::rows(&expected, &mut input, None, &mut take)?;
        }
    }
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    target.commit()?;
    Ok((target.rows, target.content.len()))
}
