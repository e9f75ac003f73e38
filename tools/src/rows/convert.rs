//! `holdall convert` of rows: from tables, arrays and files into tables, arrays and files.
//!
//! Nothing is visible before the end: a failure, or a signal, leaves OUT as it was.

use super::compression::{self, Compressor};
use super::feed::TextFile;
use super::frame::{self, Batch, Frame, Selected, Stored, Take, Takes};
use super::printer::Printer;
use super::target::Target;
use super::text::TextOptions;
use super::{arrow, columns, load, packed};
use crate::array::attributes;
use crate::array::convert::{format_of, note_lost_attributes};
use crate::array::npy::Npy;
use crate::cli::Convert;
use crate::cli::values::DataFormat;
use crate::content::Content;
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::output::{self, Output};
use crate::report::plural;
use crate::superchunk::source::Damage;
use crate::{failure, options, progress, report, signals, standard};
use holdall::{Array, Format, Integrity, Table};

/// A table or an array, of which rows may be listed.
pub struct StoredRows<'a> {
    pub path: &'a FileName,
    pub content: &'a Content,
    pub list: Option<&'a [u64]>,
}

/// Converts a table or an array, also one in a Bloscpack file, whose metadata become attributes.
pub fn dataset(args: &Convert, of: &StoredRows, out: &FileName, to: DataFormat) -> Result<Exit> {
    Conversion { args, dataset: Some(of), input: of.path, from: None, out, to }.run()
}

/// Converts a file that has rows.
pub fn file(
    args: &Convert,
    input: &FileName,
    from: DataFormat,
    out: &FileName,
    to: DataFormat,
) -> Result<Exit> {
    Conversion { args, dataset: None, input, from: Some(from), out, to }.run()
}

struct Conversion<'a> {
    args: &'a Convert,
    dataset: Option<&'a StoredRows<'a>>,
    input: &'a FileName,
    /// What the input is if it is no dataset.
    from: Option<DataFormat>,
    out: &'a FileName,
    to: DataFormat,
}

/// Where the rows come from.
enum Rows<'a> {
    Stored(Stored<'a>),
    Text(TextFile, TextOptions<'a>, Selected),
    Packed(Input),
}

struct Source<'a> {
    path: &'a FileName,
    rows: Rows<'a>,
    count: u64,
    damage: Damage,
}

impl Source<'_> {
    /// Reads all rows and hands them on.
    fn each(&mut self, frame: &Frame, take: &mut Take) -> Result {
        let mut done = 0;
        let mut pass_on = |batch: &Batch| {
            done += batch.rows as u64;
            take(batch)
        };
        match &mut self.rows {
            Rows::Packed(input) => packed::rows(frame, input, Some(self.count), &mut pass_on),
            Rows::Stored(stored) => {
                let (mut done, size) = (0, frame.row_bytes() as u64);
                stored.each(&mut self.damage, |batch| {
                    if signals::stopped() {
                        return Err(Failure::Stopped);
                    }
                    take(batch)?;
                    done += batch.rows as u64;
                    progress::report(done * size, self.count * size);
                    Ok(())
                })
            }
            Rows::Text(file, options, selected) => {
                load::rows(frame, file, options, Some(selected), &mut pass_on)?;
                if done == self.count {
                    return Ok(());
                }
                Err(failure!("{}: it was changed while it was read", self.path))
            }
        }
    }
}

impl<'a> Conversion<'a> {
    fn run(&self) -> Result<Exit> {
        let out = self.out;
        if self.to == DataFormat::B2Frame {
            return Err(failure!(
                "{out}: rows become an array or a table, not a frame without a shape (--to b2nd)"
            ));
        }
        signals::catch();
        progress::begin("convert");
        let converted = match self.ctable() {
            Some(table) => self.copy_ctable(table),
            None => self.open().and_then(|(frame, mut source)| {
                match format_of(self.to) {
                    Some(format) => self.write_container(&frame, &mut source, format)?,
                    None => self.write_file(&frame, &mut source)?,
                }
                Ok((source.count, source.damage.found))
            }),
        };
        progress::end();
        let (count, is_damaged) = converted?;
        report::note(&format!("{out}: {count} row{} converted", plural(count)));
        Ok(Exit::damaged(is_damaged))
    }

    /// Returns the CTable that becomes another one.
    fn ctable(&self) -> Option<&'a Table> {
        let from = self.dataset.filter(|from| from.list.is_none())?;
        let table = from.content.table()?;
        (self.to == DataFormat::CTable && table.format() == Format::CTable).then_some(table)
    }

    /// Copies a CTable, which keeps nulls and the kinds of columns. Returns the number of rows, and
    /// whether some are damaged.
    fn copy_ctable(&self, table: &Table) -> Result<(u64, bool)> {
        let wrong = library(self.input);
        let selected = match self.args.input.columns.as_deref() {
            Some(list) => Some(table.select(&frame::names(self.input, list)?).map_err(wrong)?),
            None => None,
        };
        let table = selected.as_ref().unwrap_or(table);
        let options = options::converting(self.args)?;
        let force = self.args.output.force;
        let copy = if force { Table::copy_replacing } else { Table::copy_to };
        let copied = copy(table, standard::output(self.out), Format::CTable, &options);
        let copied = copied.map_err(failure::creation(self.out, force))?;
        Ok((table.rows(), copied == Integrity::Filled))
    }

    fn open(&self) -> Result<(Frame, Source<'a>)> {
        let (args, path) = (self.args, self.input);
        let text = TextOptions::new(self.from, &args.text, Some(&args.input));
        let columns = args.input.columns.as_deref();
        let (frame, rows, count) = if let Some(StoredRows { content, list, .. }) = self.dataset {
            let takes = match self.to {
                DataFormat::Csv | DataFormat::Jsonl => Takes::Texts,
                DataFormat::CTable => Takes::TextsWithNulls,
                DataFormat::Arrow | DataFormat::ArrowStream => Takes::Arrow,
                _ => Takes::Nothing,
            };
            let stored = Stored::of(path, content, columns, *list, takes)?;
            let count = stored.rows;
            (stored.frame.clone(), Rows::Stored(stored), count)
        } else if let Some(mut options) = text {
            options.long_texts = self.to == DataFormat::CTable;
            let file = TextFile::open(path, self.out, true)?;
            let (frame, rows) = columns::find(&file, &options)?;
            let selected = Selected::new(path, args.select.rows.as_ref(), rows)?;
            let count = selected.count;
            (frame, Rows::Text(file, options, selected), count)
        } else {
            let mut file = Input::open(path, Some(self.out))?;
            let npy = Npy::begin(&mut file, self.from.unwrap_or(DataFormat::Npy), &args.input)?;
            let (frame, count) = packed::columns(&file, &npy)?;
            (frame, Rows::Packed(file), count)
        };
        Ok((frame, Source { path, rows, count, damage: Damage::new(path) }))
    }

    // ---- containers

    fn write_container(&self, frame: &Frame, source: &mut Source, format: Format) -> Result {
        let mut target = Target::create(frame, self.out, format, source.count, self.args)?;
        source.each(frame, &mut |batch| target.take(frame, batch))?;
        let is_file = format == Format::Bloscpack;
        let from = self.dataset.map(|from| from.content);
        if let Some(from) = from.filter(|_| !is_file) {
            let to = (&mut target.content, self.out);
            match from.array().filter(|_| from.format() == Format::Bloscpack) {
                Some(array) => attributes::copy_from_metadata((array, self.input), to)?,
                None => attributes::copy((from, self.input), to)?,
            }
        }
        self.copy_column_attributes(frame, &mut target)?;
        self.copy_meta_files(frame, &mut target.content)?;
        if signals::stopped() {
            return Err(Failure::Stopped);
        }
        target.commit()?;
        // the metadata of a file describe the committed rows, so they are written after these
        if let (true, Some(from), Content::Array(array)) = (is_file, from, &mut target.content) {
            attributes::copy_into_metadata((from, self.input), (array, self.out))?;
            target.commit()?;
        }
        Ok(())
    }

    /// Copies further files in `meta`, which a table in the BLZ RFC layout has, and the columns of
    /// others.
    fn copy_meta_files(&self, frame: &Frame, to: &mut Content) -> Result {
        let from = self.dataset.map(|from| from.content);
        let Some((from, table)) = from.and_then(|from| Some((from, from.table()?))) else {
            return Ok(());
        };
        if table.format() != Format::BlzRfc {
            return frame.columns.iter().try_for_each(|column| {
                let array = table.column(&column.name);
                array.map_or(Ok(()), |array| self.copy_column_files(&column.name, array, to))
            });
        }
        for name in from.meta_file_names(self.input)? {
            to.set_meta_file(self.out, &name, &from.meta_file(self.input, &name)?)?;
        }
        Ok(())
    }

    fn copy_column_files(&self, column: &str, from: &Array, to: &mut Content) -> Result {
        for name in from.meta_file_names().map_err(library(self.input))? {
            let bytes = from.meta_file(&name).map_err(library(self.input))?.unwrap_or_default();
            match to {
                Content::Table(to) => to.set_column_meta_file(column, &name, &bytes),
                Content::Array(to) => to.set_meta_file(&name, &bytes),
                _ => Ok(()),
            }
            .map_err(library(self.out))?;
        }
        Ok(())
    }

    fn copy_column_attributes(&self, frame: &Frame, target: &mut Target) -> Result {
        let Some(from) = self.dataset.and_then(|from| from.content.table()) else {
            return Ok(());
        };
        let mut lost = 0;
        for column in &frame.columns {
            let Some(array) = from.column(&column.name) else {
                continue;
            };
            for name in array.attribute_names() {
                let value = array.attribute(name).map_err(library(self.input))?;
                match &mut target.content {
                    Content::Table(to) if self.to != DataFormat::BlzRfc => to
                        .set_column_attribute(&column.name, name, value.unwrap_or_default())
                        .map_err(library(self.out))?,
                    _ => lost += 1,
                }
            }
        }
        if lost > 0 {
            let (out, suffix) = (self.out, plural(lost));
            report::note(&format!("{out}: it cannot store {lost} attribute{suffix} of columns"));
        }
        Ok(())
    }

    // ---- files

    fn write_file(&self, frame: &Frame, source: &mut Source) -> Result {
        let (out, force) = (self.out, self.args.output.force);
        match compression::split(out) {
            (_, Some(compression)) => {
                let mut file = OutputFile::create(out, force)?;
                let failed = failure::system(out);
                let mut compressor = Compressor::new(&mut file, compression).map_err(&failed)?;
                let mut output = Output::to(&mut compressor, out);
                self.print(frame, source, &mut output)?;
                output.finish(Exit::Done)?;
                compressor.finish().map_err(&failed)?;
                file.complete()?;
            }
            _ => drop(output::printed(Some(out), force, |output| {
                self.print(frame, source, output).map(|()| Exit::Done)
            })?),
        }
        // metadata of a Bloscpack file are no attributes
        let stored = self.dataset.map(|from| from.content);
        let stored = stored.filter(|from| from.format() != Format::Bloscpack);
        note_lost_attributes(out, stored.map_or(0, attributes::count));
        Ok(())
    }

    fn print(&self, frame: &Frame, source: &mut Source, output: &mut Output) -> Result {
        if let (Rows::Stored(stored), Some(table)) =
            (&source.rows, self.dataset.and_then(|from| from.content.table()))
            && matches!(self.to, DataFormat::Arrow | DataFormat::ArrowStream)
        {
            let is_file = self.to == DataFormat::Arrow;
            return arrow::table(stored, table, is_file, output);
        }
        let (input, csv) = (self.input, &self.args.text);
        let mut printer = Printer::begin(input, frame, self.to, source.count, true, csv, output)?;
        source.each(frame, &mut |batch| printer.put(batch, output))
    }
}
