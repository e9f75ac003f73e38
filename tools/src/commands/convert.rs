//! `holdall convert`: what IN is and what OUT becomes. Bags and files of records are for `bag::convert`.

use crate::array::convert::format_of;
use crate::cli::Convert;
use crate::cli::usage::Usage;
use crate::cli::values::{DataFormat, ENDINGS};
use crate::content::Content;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::rows::compression;
use crate::rows::convert::StoredRows;
use crate::superchunk::source::Damage;
use crate::{array, bag, cli, node, options, output, report, rows, standard, superchunk, usage};
use holdall::Format;

/// One call: IN, OUT, and what they are.
struct Conversion<'a> {
    args: &'a Convert,
    usage: &'a Usage,
    input: &'a FileName,
    out: &'a FileName,
    /// What IN is if it is no container.
    from: Option<DataFormat>,
}

/// Returns whether only bags and files of records have the format.
fn is_of_records(format: DataFormat) -> bool {
    matches!(format, DataFormat::Bagz | DataFormat::Lines | DataFormat::TfRecord)
}

/// Returns what the ending of a name says of a container or a file that is no bag.
pub fn by_name(out: &FileName) -> Option<DataFormat> {
    DataFormat::of_name(out).filter(|format| !is_of_records(*format))
}

/// What OUT becomes. Rows of a table become a table if its name has no ending. Unknown endings are
/// refused later.
fn target(args: &Convert, out: &FileName, (is_table, is_array): (bool, bool)) -> DataFormat {
    let (out, _) = &compression::split(out);
    let otherwise = match (is_table, is_array, node::is_node(out)) {
        (true, _, true) => DataFormat::CTable,
        (_, true, true) => DataFormat::B2nd,
        (_, _, true) => DataFormat::B2Frame,
        (true, ..) => DataFormat::Bcolz,
        _ => DataFormat::Blpk,
    };
    args.to.or_else(|| by_name(out)).unwrap_or(otherwise)
}

fn is_arrow(to: DataFormat) -> bool {
    matches!(to, DataFormat::Arrow | DataFormat::ArrowStream)
}

impl Conversion<'_> {
    fn refuse_dtype(&self, stored: Option<&str>) -> Result {
        let of = stored.unwrap_or("rows");
        Err(usage!(
            "--dtype is for a file without a header, and '{}' is a file of {of}, which has its own types (--from raw takes its bytes)",
            self.input
        ))
    }

    /// Refuses options that are not for what IN is and OUT becomes.
    fn check_options(&self, to: DataFormat, dataset: Option<&Content>) -> Result {
        let is_table = dataset.is_some_and(|dataset| dataset.table().is_some());
        let has_text = matches!(self.from, Some(DataFormat::Csv | DataFormat::Jsonl));
        let has_rows = is_table || has_text;
        let is_csv = self.from == Some(DataFormat::Csv) || to == DataFormat::Csv;
        let is_raw = self.from == Some(DataFormat::Raw);
        let is_frame = format_of(to).is_some_and(detect::is_frame);
        let is_grid = matches!(to, DataFormat::B2nd | DataFormat::Caterva);
        let groups: [(bool, &[&str], &str); 11] = [
            (false, &["records"], "bags; --slice and --rows take a part of an array or a table"),
            (dataset.is_some(), &["slice"], "bags, arrays and tables"),
            (has_rows, &["columns"], "tables, CSV, JSON lines and Arrow"),
            (has_rows, &["rows"], "tables, CSV and JSON lines"),
            (has_text, &["dtypes"], "CSV and JSON lines; other files have their types"),
            (has_text, &["times"], "CSV and JSON lines"),
            (is_csv, &["delimiter", "header", "no-header"], "CSV"),
            (is_raw, &["shape", "order", "skip"], "a file without a header, with --dtype"),
            (format_of(to).is_some(), &["chunks", "blocks"], "containers, which have chunks"),
            (is_frame, &["sparse"], "b2nd, caterva and b2frame"),
            (is_grid, &["both"], "b2nd and caterva"),
        ];
        let mut refused = groups.iter().filter(|(fits, _, _)| !fits);
        refused.try_for_each(|(_, options, what)| self.usage.refuse(options, what))
    }

    fn check_ending(&self) -> Result {
        let (out, _) = &compression::split(self.out);
        let is_known = detect::known_ending(out, &[".bag", ".bagz"]) || by_name(out).is_some();
        if is_known || node::is_node(out) {
            return Ok(());
        }
        if DataFormat::of_name(out).is_some_and(is_of_records) {
            return Err(usage!(
                "'{}' is the name of a file of records, which a bag becomes (--to says what it becomes)",
                self.out
            ));
        }
        let endings: Vec<&str> =
            ENDINGS.iter().flat_map(|(_, ends)| ends.iter().copied()).collect();
        Err(usage!(
            "'{}' ends in none of {} (--to says what it becomes)",
            self.out,
            endings.join("|")
        ))
    }

    fn check(&self, to: DataFormat, is_table: bool) -> Result {
        let (args, format) = (self.args, format_of(to));
        if let Some(format @ (Format::Bcolz | Format::Blz | Format::BlzRfc | Format::CTable)) =
            format
        {
            let what = match format {
                Format::CTable => "a ctable".to_owned(),
                format => format!("a dataset of {}", detect::format_name(format)),
            };
            standard::refuse_files(self.out, &what, "--to b2nd or blpk, csv, jsonl or npy")?;
        }
        if args.layout.sparse {
            standard::refuse_files(self.out, "a sparse frame", "omit --sparse")?;
        }
        if !matches!(to, DataFormat::Csv | DataFormat::Jsonl) {
            output::refuse_terminal(Some(self.out), "bytes")?;
        }
        let is_missing = self.from.is_none() && detect::is_missing(self.input);
        if args.to.is_none() && !is_missing {
            self.check_ending()?;
        }
        if is_arrow(to) && !is_table {
            return Err(usage!(
                "'{}' becomes Arrow's format, which is for tables and bags",
                self.out
            ));
        }
        match (self.from == Some(DataFormat::Raw), &args.input.dtype) {
            (true, None) => Err(usage!(
                "--from raw requires the type of the items, --dtype '<f8' (pack takes bytes)"
            )),
            (false, Some(_)) => self.refuse_dtype(detect::stored_format(self.input)),
            // refuses values that do not go together
            _ => options::converting(args).map(drop),
        }
    }

    /// What IN is, if it is no container.
    fn find_from(&mut self) -> Result {
        self.from = detect::file_format(self.input, self.args.input.from);
        if self.args.input.dtype.is_some() && self.from.is_none() {
            let stored = detect::stored_format(self.input);
            if stored.is_some() {
                return self.refuse_dtype(stored);
            }
            self.from = Some(DataFormat::Raw);
        }
        Ok(())
    }

    /// Opens IN if it is a dataset; a frame without a shape is an array of one dimension if OUT
    /// stores arrays.
    fn dataset(&self) -> Result<Option<(Content, Damage)>> {
        let (args, at) = (self.args, self.args.frame.at);
        if self.from.is_some() {
            return Ok(None);
        }
        let is_dataset = match detect::container(self.input, at) {
            Container::Dataset => true,
            Container::Bag => false,
            Container::Store => return Err(detect::refuse_store(self.input)),
            Container::Superchunk => {
                let to = target(args, self.out, (false, true));
                let plain = matches!(format_of(to), Some(Format::Bloscpack | Format::B2Frame));
                let is_frame = detect::format(self.input, at) == Some(Format::B2Frame);
                is_frame && to != DataFormat::Raw && !plain
            }
        };
        if !is_dataset {
            return Ok(None);
        }
        let options = options::reading(&args.reading);
        Content::dataset_skipping(self.input, at, options, args.skip_damaged).map(Some)
    }

    fn run(mut self) -> Result<Exit> {
        let (args, input, out) = (self.args, self.input, self.out);
        self.find_from()?;
        let dataset = self.dataset()?;
        let is_table = dataset.as_ref().is_some_and(|(dataset, _)| dataset.table().is_some());
        let has_rows = matches!(self.from, Some(DataFormat::Csv | DataFormat::Jsonl));
        let is_array = dataset.is_some() || self.from.is_some();
        let to = target(args, out, (is_table || has_rows, is_array));
        self.check(to, is_table)?;
        self.check_options(to, dataset.as_ref().map(|(dataset, _)| dataset))?;
        node::create(out, to)?;
        match (dataset, self.from) {
            (Some((content, mut damage)), _) => {
                array::files::refuse_unknown(input, &content, format_of(to))?;
                let (slice, rows) = (args.select.slice.as_ref(), args.select.rows.as_ref());
                let (content, list) = content.select(input, slice, rows)?;
                let rows = StoredRows { path: input, content: &content, list: list.as_deref() };
                if is_arrow(to) {
                    return rows::convert::dataset(args, &rows, out, to);
                }
                array::convert::array(args, &rows, &mut damage, out, to)
            }
            (None, Some(from @ (DataFormat::Npy | DataFormat::Raw))) => {
                array::convert::items(args, input, from, out, to)
            }
            (None, Some(from)) => rows::convert::file(args, input, from, out, to),
            (None, None) => superchunk::convert::run(args, input, out, to),
        }
    }
}

pub fn run(args: &Convert, usage: &Usage) -> Result<Exit> {
    let (input, out) = cli::one_operand(&args.paths, &args.output)?;
    if node::is_store_name(out) && detect::container(input, args.frame.at) == Container::Store {
        node::copy(input, out, None, args.output.force)?;
        report::note(&format!("{out}: all nodes copied"));
        return Ok(Exit::Done);
    }
    if bag::convert::applies(args, input, out) {
        return bag::convert::run(args, usage, input, out);
    }
    usage.refuse(
        &["limits", "limits-storage", "shard-order", "dictionary", "shards", "shard", "separate"],
        "records: of bags, or files of lines, TFRecord and the like",
    )?;
    let code = Conversion { args, usage, input, out, from: None }.run()?;
    standard::finish(out).map(|()| code)
}
