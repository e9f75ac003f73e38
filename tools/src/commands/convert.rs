//! `holdall convert`: what IN is and what OUT becomes. Bags and files of records are for `bag::convert`.

use crate::array::convert::format_of;
use crate::array::dataset::Dataset;
use crate::cli::Convert;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::files::is_standard;
use crate::rows::compression;
use crate::superchunk::source::Damage;
use crate::{array, bag, cli, options, rows, superchunk, usage};
use holdall::Format;

/// Formats by the ending of the name; those of bags and of files of records are in `bag::records`,
/// too.
const ENDINGS: &[(&str, Option<DataFormat>)] = &[
    (".blp", Some(DataFormat::Blpk)),
    (".blpk", Some(DataFormat::Blpk)),
    (".bcolz", Some(DataFormat::Bcolz)),
    (".blz", Some(DataFormat::Blz)),
    (".npy", Some(DataFormat::Npy)),
    (".csv", Some(DataFormat::Csv)),
    (".jsonl", Some(DataFormat::Jsonl)),
    (".ndjson", Some(DataFormat::Jsonl)),
    (".b2nd", Some(DataFormat::B2nd)),
    (".b2frame", Some(DataFormat::B2Frame)),
    (".caterva", Some(DataFormat::Caterva)),
    (".arrow", Some(DataFormat::Arrow)),
    (".feather", Some(DataFormat::Arrow)),
    (".arrows", Some(DataFormat::ArrowStream)),
    (".bag", None),
    (".bagz", None),
];

/// One call: IN, OUT, and what they are.
struct Conversion<'a> {
    args: &'a Convert,
    usage: &'a Usage,
    input: &'a str,
    out: &'a str,
    /// What IN is if it is no container.
    from: Option<DataFormat>,
}

/// Returns what the ending of a name says of a container or a file that is no bag. Endings of files
/// may be in upper case.
pub fn by_name(out: &str) -> Option<DataFormat> {
    let is_file = |to| matches!(to, Some(DataFormat::Npy | DataFormat::Csv | DataFormat::Jsonl));
    let fits = |(end, to): &&(&str, Option<DataFormat>)| match is_file(*to) {
        true => detect::strip_ending(out, end).is_some(),
        false => out.ends_with(end),
    };
    ENDINGS.iter().find(fits)?.1
}

/// What OUT becomes. Rows of a table become a table if its name has no ending. Unknown endings are
/// refused later.
fn target(args: &Convert, out: &str, is_table: bool) -> DataFormat {
    let (out, _) = compression::split(out);
    let otherwise = if is_table { DataFormat::Bcolz } else { DataFormat::Blpk };
    args.to.or_else(|| by_name(out)).unwrap_or(otherwise)
}

fn is_arrow(to: DataFormat) -> bool {
    matches!(to, DataFormat::Arrow | DataFormat::ArrowStream)
}

impl Conversion<'_> {
    /// Returns whether IN has items whose type its header or `--dtype` says.
    fn is_items(&self) -> bool {
        matches!(self.from, Some(DataFormat::Npy | DataFormat::Raw))
    }

    fn refuse_dtype(&self, stored: Option<&str>) -> Result {
        let of = stored.unwrap_or("rows");
        Err(usage!(
            "--dtype is for a file without a header, and '{}' is a file of {of}, which has its own types (--from raw takes its bytes)",
            self.input
        ))
    }

    /// Refuses options for files without a header.
    fn check_raw(&self) -> Result {
        let input = &self.args.input;
        match (self.from, &input.dtype) {
            (Some(DataFormat::Raw), None) => Err(usage!(
                "--from raw requires the type of the items, --dtype '<f8' (pack takes bytes)"
            )),
            (Some(DataFormat::Raw), _) => Ok(()),
            (_, Some(_)) => self.refuse_dtype(detect::stored_format(self.input)),
            _ => match ["shape", "order", "skip"].iter().find(|name| self.usage.has(name)) {
                Some(name) => Err(usage!("--{name} is for a file without a header, with --dtype")),
                None => Ok(()),
            },
        }
    }

    fn check_ending(&self) -> Result {
        let (out, _) = compression::split(self.out);
        let ours: Vec<&str> = ENDINGS.iter().map(|(end, _)| *end).collect();
        if by_name(out).is_some() || detect::known_ending(out, &ours) {
            return Ok(());
        }
        let records = bag::records::endings().filter(|end| !ours.contains(end));
        let records: Vec<&str> = records.collect();
        if detect::known_ending(self.out, &records) {
            return Err(usage!(
                "'{}' is the name of a file of records, which a bag becomes (--to says what it becomes)",
                self.out
            ));
        }
        Err(usage!(
            "'{}' ends in none of {} (--to says what it becomes)",
            self.out,
            [ours, records].concat().join("|")
        ))
    }

    fn check(&self, to: DataFormat, is_table: bool) -> Result {
        let (args, format) = (self.args, format_of(to));
        if is_standard(self.input) && self.from.is_none() {
            return Err(usage!(
                "a container is not read from standard input: not '-' (but --from csv, jsonl or npy, or --dtype)"
            ));
        }
        if is_standard(self.out) && format.is_some() {
            return Err(usage!("a container is not written from front to back: not to '-'"));
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
        self.check_raw()?;
        let has_text = matches!(self.from, Some(DataFormat::Csv | DataFormat::Jsonl));
        if args.input.dtypes.is_some() && !has_text {
            return Err(usage!("--dtypes is for CSV and JSON lines; other files have their types"));
        }
        if !has_text {
            self.usage.refuse(&["times"], "CSV and JSON lines")?;
        }
        if self.from != Some(DataFormat::Csv) && to != DataFormat::Csv {
            let options = ["delimiter", "header", "no-header"];
            self.usage.refuse(&options, "CSV")?;
        }
        self.check_layout(to)?;
        // refuses values that do not go together
        options::converting(args).map(drop)
    }

    /// Refuses options for layouts that OUT does not have.
    fn check_layout(&self, to: DataFormat) -> Result {
        let (layout, format) = (&self.args.layout, format_of(to));
        let shapes = [("chunks", &layout.chunks), ("blocks", &layout.blocks)];
        if let Some((name, _)) = shapes.iter().find(|(_, shape)| shape.is_some())
            && format.is_none()
        {
            return Err(usage!("--{name}: what OUT becomes has no chunks"));
        }
        if layout.sparse && !format.is_some_and(detect::is_frame) {
            return Err(usage!("--sparse is for b2nd, caterva and b2frame"));
        }
        if layout.both && !matches!(to, DataFormat::B2nd | DataFormat::Caterva) {
            return Err(usage!("--both is for b2nd and caterva"));
        }
        Ok(())
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
    fn dataset(&self) -> Result<Option<(Dataset, Damage)>> {
        let (args, at) = (self.args, self.args.frame.at);
        if self.from.is_some() {
            return Ok(None);
        }
        let is_dataset = match detect::container(self.input, at) {
            Container::Dataset => true,
            Container::Bag => false,
            Container::Superchunk => {
                let to = target(args, self.out, false);
                let plain = matches!(format_of(to), Some(Format::Bloscpack | Format::B2Frame));
                let is_frame = detect::format(self.input, at) == Some(Format::B2Frame);
                is_frame && to != DataFormat::Raw && !plain
            }
        };
        if !is_dataset {
            return Ok(None);
        }
        let options = options::reading(&args.reading);
        Dataset::read_skipping(self.input, &args.frame, options, args.skip_damaged).map(Some)
    }

    fn run(mut self) -> Result<Exit> {
        let (args, usage, input, out) = (self.args, self.usage, self.input, self.out);
        self.find_from()?;
        let dataset = self.dataset()?;
        let is_table = dataset.as_ref().is_some_and(|(dataset, _)| dataset.table().is_some());
        let has_rows = matches!(self.from, Some(DataFormat::Csv | DataFormat::Jsonl));
        let to = target(args, out, is_table || has_rows);
        usage.refuse(&["slice", "records"], "bags; cat -o writes a part of an array or a table")?;
        if !is_table && !has_rows {
            usage.refuse(&["columns"], "tables, CSV, JSON lines and Arrow")?;
            usage.refuse(&["rows"], "tables, CSV and JSON lines")?;
        }
        self.check(to, is_table)?;
        match (dataset, self.from) {
            (Some((dataset, mut damage)), _) => {
                dataset.refuse_unknown_files()?;
                if is_arrow(to) {
                    return rows::convert::dataset(args, usage, &dataset, out, to);
                }
                array::convert::array(args, usage, &dataset, &mut damage, out, to)
            }
            (None, Some(from)) if self.is_items() => {
                array::convert::items(args, usage, input, from, out, to)
            }
            (None, Some(from)) => rows::convert::file(args, usage, input, from, out, to),
            (None, None) => superchunk::convert::run(args, input, out, to),
        }
    }
}

pub fn run(args: &Convert, usage: &Usage) -> Result<Exit> {
    let (input, out) = cli::one_operand(&args.paths, &args.output)?;
    if bag::convert::applies(args, input, out) {
        return bag::convert::run(args, usage, input, out);
    }
    usage.refuse(
        &["limits", "limits-storage", "shard-order", "dictionary", "shards", "shard", "separate"],
        "records: of bags, or files of lines, TFRecord and the like",
    )?;
    Conversion { args, usage, input, out, from: None }.run()
}
