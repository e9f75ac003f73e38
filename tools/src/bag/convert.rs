//! `holdall convert` between a bag and plain files of records, or another bag.
//!
//! Records are copied in the order in which they are read, some MB at a time. OUT appears when it
//! is complete: after a failure or a signal it is as it was.

use super::Access;
use super::arrow_reader::ArrowReader;
use super::arrow_writer::ArrowWriter;
use super::copy::Source;
use super::parser::Parser;
use super::printer::Printer;
use super::reader::Reader;
use super::writer::{Mode, Plan};
use crate::cli::Convert;
use crate::cli::groups::{BagCodec, BagTarget};
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::files::Input;
use crate::report::{self, plural};
use crate::{detect, output, progress, signals, standard, usage};
use holdall::{Bag, Codec, Format, Status};
use std::os::unix::ffi::OsStrExt;

/// Bytes that a record may have without `--memory-limit`: the default of the library.
const MEMORY_LIMIT: u64 = 4 << 30;

fn by_name(path: &FileName) -> Option<DataFormat> {
    DataFormat::of_name(path).and_then(DataFormat::of_records)
}

/// Returns the format of IN by `--from` or by its name, which may be any name of a bag.
fn from_of(args: &Convert, input: &FileName) -> Option<DataFormat> {
    match args.input.from {
        Some(from) => from.of_records(),
        None => by_name(input).or(Some(DataFormat::Bagz)),
    }
}

/// Returns the format of OUT by `--to` or by its name.
fn to_of(args: &Convert, out: &FileName) -> Option<DataFormat> {
    args.to.map_or_else(|| by_name(out), DataFormat::of_records)
}

fn is_bag(path: &FileName) -> bool {
    detect::format(path, None) == Some(Format::Bagz)
}

/// Returns whether records are converted, not an array, a table or a superchunk.
pub fn applies(args: &Convert, input: &FileName, out: &FileName) -> bool {
    use DataFormat::{Lengths32, Lengths64, Lines, TfRecord};
    let to_records = matches!(args.to, Some(Lines | Lengths32 | Lengths64 | TfRecord));
    if to_records || to_of(args, out) == Some(DataFormat::Bagz) {
        return true;
    }
    if let Some(from) = args.input.from {
        return from != DataFormat::Jsonl && from.of_records().is_some();
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
fn check_bag_in(args: &Convert, input: &FileName, out: &FileName) -> Result {
    const FORMATS: &str = "lines, lengths32, lengths64, tfrecord or arrow";
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
    input: &FileName,
    out: &FileName,
    from: Option<DataFormat>,
    to: Option<DataFormat>,
) -> Result<(DataFormat, DataFormat)> {
    use DataFormat::Bagz;
    match (from, to) {
        (Some(Bagz), Some(Bagz)) => check_bag_in(args, input, out).map(|()| (Bagz, Bagz)),
        (Some(from), Some(to)) if from == Bagz || to == Bagz => Ok((from, to)),
        (None, Some(Bagz)) => Err(usage!(
            "'{out}' becomes a bag, and '{input}' has no records: --from lines takes its lines"
        )),
        (Some(Bagz), None) => Err(usage!(
            "a bag becomes bagz, lines, lengths32, lengths64, tfrecord, arrow or arrow-stream, not '{out}' (--to says \
             which)"
        )),
        _ => Err(usage!("a file of records becomes a bag, not '{out}' (--to bagz insists)")),
    }
}

fn check_options(usage: &Usage, from: DataFormat, to: DataFormat) -> Result {
    use DataFormat::{Arrow, ArrowStream, Bagz, TfRecord};
    let rules: [(bool, &[&str], &str); 4] = [
        (to == Bagz, &WRITER, "a bag that is written"),
        (from == Bagz, &READER, "a bag that is read"),
        (matches!(from, Arrow | ArrowStream), &["columns"], "--from arrow"),
        (
            matches!(from, Bagz | TfRecord),
            &["skip-damaged"],
            "bags and TFRecord files that are read",
        ),
    ];
    let refused = rules.iter().filter(|(is_allowed, _, _)| !is_allowed);
    refused.into_iter().try_for_each(|(_, options, what)| usage.refuse(options, what))
}

// ---- into a bag

/// Copies the records of a file. Returns the number of records that were left out.
fn from_file(args: &Convert, input: &FileName, from: DataFormat, plan: &Plan) -> Result<u64> {
    let most = args.reading.memory_limit.unwrap_or(MEMORY_LIMIT);
    let mut input = Input::open(input, Some(&plan.path))?;
    let mut writer = plan.open()?;
    let mut damaged = 0;
    if matches!(from, DataFormat::Arrow | DataFormat::ArrowStream) {
        let mut reader = ArrowReader::new(&mut input, most, &mut writer);
        reader.each(args.input.columns.as_deref())?;
    } else {
        let mut parser = Parser::new(from, &mut input, most);
        parser.skip_damaged = args.skip_damaged;
        parser.each(&mut writer)?;
        damaged = parser.damaged;
    }
    writer.commit(Some("converted"))?;
    Ok(damaged)
}

/// Opens a bag, of which records may be selected.
fn open<'a>(args: &Convert, input: &'a FileName, access: Access) -> Result<Reader<'a>> {
    let access = access.sliced(args.select.slice.as_ref())?;
    let mut reader = Reader::open(input, &access, args.skip_damaged)?;
    if let Some(records) = &args.select.records {
        reader.list(&records.0)?;
    }
    Ok(reader)
}

/// Copies a bag, or the records that are selected. The codec and the dictionary are those of OUT.
fn from_bag(args: &Convert, input: &FileName, out: &FileName, plan: &Plan) -> Result<u64> {
    let mut source = Source::new(input, out, args.encoding.codecs.codec);
    source.takes_frames |= args.input.from == Some(DataFormat::Bagz);
    let access = source.access(&args.reading, &args.bag)?;
    let mut reader = open(args, input, access)?;
    let mut writer = plan.open()?;
    source.copy(&mut reader, &mut writer)?;
    writer.commit(Some("converted"))?;
    Ok(reader.damaged)
}

// ---- into a file

/// Returns whether no file has a name for compressed records.
fn is_plain_by_name(spec: &FileName) -> bool {
    // opening it reports an error
    spec.is_standard()
        || Bag::files(spec.path()).is_ok_and(|files| {
            !files.iter().any(|file| file.as_os_str().as_bytes().ends_with(b".bagz"))
        })
}

fn to_file(args: &Convert, input: &FileName, out: &FileName, to: DataFormat) -> Result<Exit> {
    let dictionary = args.bag_output.dictionary.clone();
    let mut codec = BagCodec { codec: args.encoding.codecs.codec, dictionary };
    let is_unsaid = codec.codec.is_none() && codec.dictionary.is_none();
    if args.input.from == Some(DataFormat::Bagz) && is_unsaid && is_plain_by_name(input) {
        codec.codec = Some(Some(Codec::None));
    }
    let access = Access::new(&args.reading, &args.bag, &codec)?;
    let mut records = 0;
    let exit = output::printed(Some(out), args.output.force, |output| {
        let mut reader = open(args, input, access)?;
        if let DataFormat::Arrow | DataFormat::ArrowStream = to {
            let mut writer = ArrowWriter::new(input, output, to == DataFormat::Arrow)?;
            reader.each(&mut writer)?;
            writer.finish()?;
        } else {
            reader.each(&mut Printer { format: to, path: input, output, done: 0 })?;
        }
        records = reader.count - reader.damaged;
        Ok(Exit::damaged(reader.damaged > 0))
    })?;
    progress::end();
    report::note(&format!("{out}: {records} record{} converted", plural(records)));
    Ok(exit)
}

// ---- the command

pub fn run(args: &Convert, usage: &Usage, input: &FileName, out: &FileName) -> Result<Exit> {
    let (mut from, to) = (from_of(args, input), to_of(args, out));
    // the content says that it is a bag, whatever its name
    if to != Some(DataFormat::Bagz) && args.input.from.is_none() && is_bag(input) {
        from = Some(DataFormat::Bagz);
    }
    usage.refuse(&NEVER, "arrays, tables and superchunks, not for records")?;
    let (from, to) = check_formats(args, input, out, from, to)?;
    check_options(usage, from, to)?;
    if to == DataFormat::Bagz {
        output::refuse_terminal(Some(out), "bytes")?;
    }
    signals::catch();
    progress::begin("convert");
    if to != DataFormat::Bagz {
        return to_file(args, input, out, to);
    }
    let mode = Mode::of(false, args.output.force)?;
    let (bag, threads) = (&args.bag_output, args.reading.threads);
    let target = BagTarget::of(&args.encoding, bag);
    let plan = Plan::new(out, mode, bag, &target, threads, &args.sync)?;
    let damaged = match from {
        DataFormat::Bagz => from_bag(args, input, out, &plan)?,
        from => from_file(args, input, from, &plan)?,
    };
    standard::finish(out)?;
    Ok(Exit::damaged(damaged > 0))
}
