//! `holdall convert` of rows: from tables, arrays and files into tables, arrays and files.
//!
//! Nothing is visible before the end: a failure, or a signal, leaves OUT as it was.

use super::collector::Take;
use super::compression::{self, Compressor};
use super::feed::TextFile;
use super::frame::{Batch, Frame, Selected, Stored};
use super::load::{self, Text, TextOptions};
use super::printer::{self, Printer};
use super::target::Target;
use super::{arrow, columns, packed};
use crate::array::attributes;
use crate::array::convert::format_of;
use crate::array::dataset::{Content, Dataset};
use crate::array::npy::Npy;
use crate::cli::Convert;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Failure, Result, library};
use crate::files::{Input, OutputFile};
use crate::output::{self, Output};
use crate::report::plural;
use crate::superchunk::source::Damage;
use crate::{failure, progress, report, signals};
use holdall::Format;

/// Where the rows come from, once the columns of the frame are known.
enum Rows<'a> {
    Stored(Stored<'a>, Selected),
    Text(TextFile, TextOptions<'a>),
    Packed(Input),
}

/// Converts a table or an array, also one in a Bloscpack file, whose metadata become attributes.
pub fn dataset(
    args: &Convert,
    _usage: &Usage,
    dataset: &Dataset,
    out: &str,
    to: DataFormat,
) -> Result<Exit> {
    let path = dataset.path.as_str();
    convert(args, path, out, to, || {
        let columns = args.input.columns.as_deref();
        let stored = match &dataset.content {
            Content::Table(table) => Stored::of_table(path, table, columns)?,
            Content::Array(array) if array.shape().is_empty() => {
                return Err(failure!("{path}: an array without dimensions has no rows"));
            }
            Content::Array(array) => Stored::of_array(path, array)?,
        };
        let selected = Selected::new(path, args.rows.as_ref(), None, dataset.rows())?;
        let (count, frame) = (selected.count, stored.frame.clone());
        Ok((Some(dataset), frame, Rows::Stored(stored, selected), count))
    })
}

/// Converts a file that has rows.
pub fn file(
    args: &Convert,
    _usage: &Usage,
    input: &str,
    from: DataFormat,
    out: &str,
    to: DataFormat,
) -> Result<Exit> {
    convert(args, input, out, to, || {
        let mut frame = Frame::default();
        if let Some(text) = Text::of(Some(from)) {
            let options = TextOptions::new(text, &args.text, Some(&args.input));
            let file = TextFile::open(input, out, true)?;
            let count = columns::find(&mut frame, &file, &options)?;
            return Ok((None, frame, Rows::Text(file, options), count));
        }
        let mut file = Input::open(input, Some(out))?;
        let npy = Npy::begin(&mut file, from, &args.input)?;
        let count = packed::columns(&mut frame, &file, &npy)?;
        Ok((None, frame, Rows::Packed(file), count))
    })
}

/// The dataset, if there is one, the columns, the rows and their number.
type Opened<'a> = (Option<&'a Dataset>, Frame, Rows<'a>, u64);

fn convert<'a>(
    args: &'a Convert,
    input: &'a str,
    out: &'a str,
    to: DataFormat,
    open: impl FnOnce() -> Result<Opened<'a>>,
) -> Result<Exit> {
    if to == DataFormat::B2Frame {
        return Err(failure!(
            "{out}: rows become an array or a table, not a frame without a shape (--to b2nd)"
        ));
    }
    signals::catch();
    progress::begin("convert");
    let converted = open().and_then(|(dataset, frame, rows, count)| {
        let conversion = Conversion {
            args,
            dataset,
            input,
            out,
            to,
            frame: &frame,
            rows,
            count,
            damage: Damage::new(input),
        };
        conversion.run()
    });
    progress::end();
    let (count, damaged) = converted?;
    report::note(&format!("{out}: {count} row{} converted", plural(count)));
    Ok(Exit::damaged(damaged))
}

struct Conversion<'a> {
    args: &'a Convert,
    dataset: Option<&'a Dataset>,
    input: &'a str,
    out: &'a str,
    to: DataFormat,
    frame: &'a Frame,
    rows: Rows<'a>,
    count: u64,
    damage: Damage,
}

impl Conversion<'_> {
    /// Returns the number of rows, and whether some are damaged.
    fn run(mut self) -> Result<(u64, bool)> {
        match format_of(self.to) {
            Some(format) => self.write_container(format)?,
            None => self.write_file()?,
        }
        Ok((self.count, self.damage.found))
    }

    /// Reads all rows and hands them on.
    fn each(&mut self, take: &mut Take) -> Result {
        let (count, mut done) = (self.count, 0);
        let row = match self.rows {
            Rows::Stored(..) => self.frame.row_bytes() as u64,
            // the input reports its progress
            _ => 0,
        };
        let mut pass_on = |batch: &Batch| {
            if signals::stopped() {
                return Err(Failure::Stopped);
            }
            take(batch)?;
            done += batch.rows as u64;
            if row > 0 {
                progress::report(done * row, count * row);
            }
            Ok(())
        };
        let frame = self.frame;
        match &mut self.rows {
            Rows::Stored(stored, selected) => {
                return stored.each(selected, &mut self.damage, pass_on);
            }
            Rows::Packed(input) => return packed::rows(frame, input, Some(count), &mut pass_on),
            Rows::Text(file, options) => load::rows(frame, file, options, &mut pass_on)?,
        }
        if done == count {
            Ok(())
        } else {
            Err(failure!("{}: it was changed while it was read", self.input))
        }
    }

    // ---- containers

    fn write_container(&mut self, format: Format) -> Result {
        let frame = self.frame;
        let mut target = Target::create(frame, self.out, format, self.count, self.args)?;
        self.each(&mut |batch| target.take(frame, batch))?;
        let is_file = format == Format::Bloscpack;
        if let Some(from) = self.dataset.filter(|_| !is_file) {
            match from.array().filter(|_| from.format == Format::Bloscpack) {
                Some(array) => {
                    attributes::copy_from_metadata(array, self.input, &mut target.dataset)?;
                }
                None => attributes::copy(from, &mut target.dataset)?,
            }
        }
        self.copy_column_attributes(&mut target)?;
        if signals::stopped() {
            return Err(Failure::Stopped);
        }
        target.commit()?;
        // the metadata of a file describe the committed rows, so they are written after these
        if let (true, Some(from), Content::Array(array)) =
            (is_file, self.dataset, &mut target.dataset.content)
        {
            attributes::copy_into_metadata(from, array, self.out)?;
            target.commit()?;
        }
        Ok(())
    }

    fn copy_column_attributes(&self, target: &mut Target) -> Result {
        let Some(from) = self.dataset.and_then(Dataset::table) else {
            return Ok(());
        };
        let mut lost = 0;
        for column in &self.frame.columns {
            let Some(array) = from.column(&column.name) else {
                continue;
            };
            for name in array.attribute_names() {
                let value = array.attribute(name).map_err(library(self.input))?;
                match &mut target.dataset.content {
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

    fn write_file(&mut self) -> Result {
        let (out, force) = (self.out, self.args.output.force);
        match compression::split(out) {
            (_, Some(compression)) => {
                let mut file = OutputFile::create(out, force)?;
                let failed = failure::system(out);
                let mut compressor = Compressor::new(&mut file, compression).map_err(&failed)?;
                let mut output = Output::to(&mut compressor, out);
                self.print(&mut output)?;
                output.finish(Exit::Done)?;
                compressor.finish().map_err(&failed)?;
                file.complete()?;
            }
            _ => drop(output::printed(Some(out), force, |output| {
                self.print(output).map(|()| Exit::Done)
            })?),
        }
        // metadata of a Bloscpack file are no attributes
        let stored = self.dataset.filter(|from| from.format != Format::Bloscpack);
        let lost = stored.map_or(0, |from| attributes::count(from) as u64);
        if lost > 0 {
            let suffix = plural(lost);
            report::note(&format!(
                "{out}: a file of this format cannot store {lost} attribute{suffix}"
            ));
        }
        Ok(())
    }

    fn print(&mut self, output: &mut Output) -> Result {
        let format = match self.to {
            DataFormat::Npy => printer::Format::Npy,
            DataFormat::Jsonl => printer::Format::Jsonl,
            DataFormat::Csv => printer::Format::Csv,
            _ => printer::Format::Raw,
        };
        if let (Rows::Stored(stored, selected), Some(table)) =
            (&self.rows, self.dataset.and_then(Dataset::table))
            && matches!(self.to, DataFormat::Arrow | DataFormat::ArrowStream)
        {
            let is_file = self.to == DataFormat::Arrow;
            return arrow::table(stored, table, selected, is_file, output);
        }
        let frame = self.frame;
        let (input, csv) = (self.input, &self.args.text);
        let mut printer = Printer::begin(input, frame, format, self.count, true, csv, output)?;
        self.each(&mut |batch| printer.put(batch, output))
    }
}
