//! `holdall convert` between a bag and plain files of records, or another bag.
//!
//! Records are copied in the order in which they are read, some MB at a time. OUT appears when it
//! is complete: after a failure or a signal it is as it was.

use super::arrow_writer::ArrowWriter;
use super::copy::{Source, each};
use super::parser::Parser;
use super::printer::Printer;
use super::reader::Reader;
use super::records::RecordFormat;
use super::writer::{Mode, Plan};
use super::{Access, arrow_reader};
use crate::cli::Convert;
use crate::cli::groups::BagCodec;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result};
use crate::files::{self, Input};
use crate::report::{self, plural};
use crate::{detect, output, progress, signals, usage};
use holdall::{Bag, Codec, Format, Status};

/// Bytes that a record may have without `--memory-limit`: the default of the library.
const MEMORY_LIMIT: u64 = 4 << 30;

/// Formats of files of records by the endings of names. A bag that is read is None.
const NAMES: [(&str, Option<DataFormat>, DataFormat); 11] = [
    (".bagz", None, DataFormat::Bagz),
    (".bag", None, DataFormat::Bagz),
    (".txt", Some(DataFormat::Lines), DataFormat::Lines),
    (".lines", Some(DataFormat::Lines), DataFormat::Lines),
    (".jsonl", Some(DataFormat::Lines), DataFormat::Lines),
    (".ndjson", Some(DataFormat::Lines), DataFormat::Lines),
    (".arrow", Some(DataFormat::Arrow), DataFormat::Arrow),
    (".feather", Some(DataFormat::Arrow), DataFormat::Arrow),
    (".arrows", Some(DataFormat::Arrow), DataFormat::ArrowStream),
    (".tfrecord", Some(DataFormat::TfRecord), DataFormat::TfRecord),
    (".tfrecords", Some(DataFormat::TfRecord), DataFormat::TfRecord),
];

/// The endings of names of files of records.
pub fn endings() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(end, _, _)| *end)
}

/// Returns the format of IN by `--from` or by its name; None is a bag.
fn from_of(args: &Convert, input: &str) -> Option<DataFormat> {
    match args.input.from {
        Some(DataFormat::Bagz) => None,
        Some(DataFormat::Jsonl) => Some(DataFormat::Lines),
        Some(from) => Some(from),
        None => {
            let named = NAMES.iter().find(|(end, _, _)| input.ends_with(end));
            named.and_then(|(_, from, _)| *from)
        }
    }
}

/// Returns the format of OUT by `--to` or by its name.
fn to_of(args: &Convert, out: &str) -> Option<DataFormat> {
    match args.to {
        Some(DataFormat::Jsonl) => Some(DataFormat::Lines),
        Some(to) => Some(to),
        None => {
            let named = NAMES.iter().find(|(end, _, _)| out.ends_with(end));
            named.map(|(_, _, to)| *to)
        }
    }
}

fn is_bag(path: &str) -> bool {
    detect::format(path, None) == Some(Format::Bagz)
}

fn is_of_records(from: DataFormat) -> bool {
    RecordFormat::of(from).is_some() || matches!(from, DataFormat::Arrow | DataFormat::Bagz)
}

/// Returns whether records are converted, not an array, a table or a superchunk.
pub fn applies(args: &Convert, input: &str, out: &str) -> bool {
    let to_records = args.to.is_some_and(|to| RecordFormat::of(to).is_some());
    if to_records || to_of(args, out) == Some(DataFormat::Bagz) {
        return true;
    }
    if let Some(from) = args.input.from {
        return is_of_records(from);
    }
    // a file of items may look like a bag: one that ends in zeros has limits there
    let is_of_items = args.input.dtype.is_some() && detect::stored_format(input).is_none();
    !is_of_items && !input.ends_with(".npy") && is_bag(input)
}

// ---- usage

/// Options that are for other containers, for a bag that is written, and for one that is read.
const NEVER: [&str; 14] = [
    "filters",
    "chunk-size",
    "no-offsets",
    "format-version",
    "dtypes",
    "dtype",
    "shape",
    "order",
    "skip",
    "chunks",
    "blocks",
    "sparse",
    "both",
    "at",
];
const WRITER: [&str; 7] =
    ["shards", "shard", "separate", "level", "checksum", "no-sync", "no-lock"];
const READER: [&str; 7] =
    ["records", "slice", "limits", "limits-storage", "shard-order", "unchecked", "map"];

/// Checks an IN that becomes a bag, if neither an option nor its name says what it is.
fn check_bag_in(args: &Convert, input: &str, out: &str) -> Result {
    const FORMATS: &str = "lines, lengths32, lengths64, tfrecord or arrow";
    if files::is_standard(input) {
        return Err(usage!("--from says what standard input is: {FORMATS}"));
    }
    match detect::identify(input, None) {
        _ if args.input.from == Some(DataFormat::Bagz) => Ok(()),
        Ok((Format::Bagz, _)) => Ok(()),
        Err(error) if error.status() == Status::Missing => Ok(()),
        Ok(_) => Err(usage!(
            "'{out}' becomes a bag, which has records, and '{input}' is a {}",
            detect::container(input, None).name()
        )),
        Err(_) => Err(usage!("the format of '{input}' cannot be detected: --from {FORMATS}")),
    }
}

fn check_formats(
    args: &Convert,
    input: &str,
    out: &str,
    from: Option<DataFormat>,
    to: Option<DataFormat>,
) -> Result {
    if to == Some(DataFormat::Bagz) {
        return match from {
            _ if files::is_standard(out) => {
                Err(usage!("a bag is not written from front to back: not to '-'"))
            }
            None => check_bag_in(args, input, out),
            Some(from) if is_of_records(from) => Ok(()),
            Some(_) => Err(usage!(
                "'{out}' becomes a bag, and '{input}' has no records: --from lines takes its lines"
            )),
        };
    }
    if from.is_some() && (args.input.from.is_some() || !is_bag(input)) {
        return Err(usage!("a file of records becomes a bag, not '{out}' (--to bagz insists)"));
    }
    match to {
        Some(DataFormat::Arrow | DataFormat::ArrowStream) => Ok(()),
        Some(to) if RecordFormat::of(to).is_some() => Ok(()),
        _ => Err(usage!(
            "a bag becomes bagz, lines, lengths32, lengths64, tfrecord, arrow or arrow-stream, not '{out}' (--to says \
             which)"
        )),
    }
}

fn check_options(usage: &Usage, from: Option<DataFormat>, is_to_bag: bool) -> Result {
    if !is_to_bag {
        usage.refuse(&WRITER, "a bag that is written")?;
    } else if from.is_some() {
        usage.refuse(&READER, "a bag that is read")?;
    }
    if from != Some(DataFormat::Arrow) {
        usage.refuse(&["columns"], "--from arrow")?;
    }
    if !matches!(from, None | Some(DataFormat::TfRecord)) {
        usage.refuse(&["skip-damaged"], "bags and TFRecord files that are read")?;
    }
    Ok(())
}

// ---- into a bag

/// Copies the records of a file. Returns the number of records that were left out.
fn from_file(args: &Convert, input: &str, from: DataFormat, plan: &Plan) -> Result<u64> {
    let most = args.reading.memory_limit.unwrap_or(MEMORY_LIMIT);
    let mut input = Input::open(input, Some(&plan.path))?;
    let mut writer = plan.open()?;
    let mut damaged = 0;
    match RecordFormat::of(from) {
        Some(format) => {
            let mut parser = Parser::new(format, &mut input, most);
            parser.skip_damaged = args.skip_damaged;
            parser.each(&mut writer)?;
            damaged = parser.damaged;
        }
        None => arrow_reader::each(&mut input, args.input.columns.as_deref(), most, &mut writer)?,
    }
    writer.commit(Some("converted"))?;
    Ok(damaged)
}

/// Copies a bag, or the records that are selected. The codec and the dictionary are those of OUT.
fn from_bag(args: &Convert, input: &str, out: &str, plan: &Plan) -> Result<u64> {
    let mut source = Source::new(input, out, args.encoding.codecs.codec);
    source.takes_frames |= args.input.from == Some(DataFormat::Bagz);
    let access = source.access(&args.reading, &args.bag)?;
    let access = access.sliced(args.slice.as_ref())?;
    let mut reader = Reader::open(input, &access, args.skip_damaged)?;
    if let Some(records) = &args.records {
        reader.list(&records.0)?;
    }
    let mut writer = plan.open()?;
    source.copy(&mut reader, &mut writer)?;
    writer.commit(Some("converted"))?;
    Ok(reader.damaged)
}

fn to_bag(
    args: &Convert,
    input: &str,
    out: &str,
    from: Option<DataFormat>,
    plan: &Plan,
) -> Result<Exit> {
    let damaged = match from {
        Some(from) => from_file(args, input, from, plan)?,
        None => from_bag(args, input, out, plan)?,
    };
    Ok(Exit::damaged(damaged > 0))
}

// ---- into a file

/// Returns whether no file has a name for compressed records.
fn is_plain_by_name(spec: &str) -> bool {
    // opening it reports an error
    Bag::files(spec).is_ok_and(|files| {
        let mut names = files.iter().map(|file| file.to_string_lossy());
        !names.any(|name| name.ends_with(".bagz"))
    })
}

fn reading_codec(args: &Convert, input: &str) -> BagCodec {
    let mut codec = BagCodec {
        codec: args.encoding.codecs.codec,
        dictionary: args.bag_output.dictionary.clone(),
    };
    let is_unsaid = codec.codec.is_none() && codec.dictionary.is_none();
    if args.input.from == Some(DataFormat::Bagz) && is_unsaid && is_plain_by_name(input) {
        codec.codec = Some(Some(Codec::None));
    }
    codec
}

fn to_file(args: &Convert, input: &str, out: &str, to: DataFormat) -> Result<Exit> {
    let codec = reading_codec(args, input);
    let access = Access::new(&args.reading, &args.bag, &codec)?;
    let access = access.sliced(args.slice.as_ref())?;
    let mut records = 0;
    let exit = output::printed(Some(out), args.output.force, |output| {
        let mut reader = Reader::open(input, &access, args.skip_damaged)?;
        if let Some(records) = &args.records {
            reader.list(&records.0)?;
        }
        records = match RecordFormat::of(to) {
            Some(format) => {
                let mut printer = Printer { format, path: input, output, done: 0 };
                each(&mut reader, &mut printer)?;
                printer.done
            }
            None => {
                let mut writer = ArrowWriter::new(input, output, to == DataFormat::Arrow)?;
                each(&mut reader, &mut writer)?;
                writer.finish()?
            }
        };
        Ok(Exit::damaged(reader.damaged > 0))
    })?;
    progress::end();
    report::note(&format!("{out}: {records} record{} converted", plural(records)));
    Ok(exit)
}

// ---- the command

pub fn run(args: &Convert, usage: &Usage, input: &str, out: &str) -> Result<Exit> {
    let to = to_of(args, out);
    let mut from = from_of(args, input);
    // the content says that it is a bag, whatever its name
    if to != Some(DataFormat::Bagz) && args.input.from.is_none() && is_bag(input) {
        from = None;
    }
    usage.refuse(&NEVER, "arrays, tables and superchunks, not for records")?;
    check_formats(args, input, out, from, to)?;
    check_options(usage, from, to == Some(DataFormat::Bagz))?;
    let plan = match to {
        Some(DataFormat::Bagz) => {
            let (mode, bag, threads) =
                (Mode::of(false, args.output.force)?, &args.bag_output, args.reading.threads);
            let plan = Plan::new(out, mode, bag, &args.encoding, threads, &args.sync)?;
            Some(plan.dictionary(bag.dictionary.as_deref())?)
        }
        _ => None,
    };
    signals::catch();
    progress::begin("convert");
    let done = match (plan, to) {
        (Some(plan), _) => to_bag(args, input, out, from, &plan),
        (None, to) => to_file(args, input, out, to.unwrap_or(DataFormat::Lines)),
    };
    progress::end();
    done
}
