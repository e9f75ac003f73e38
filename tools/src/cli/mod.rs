//! The command line: commands, options, and the messages for wrong usage.

pub mod excerpts;
pub mod groups;
pub mod help;
pub mod old_names;
pub mod slice;
pub mod usage;
pub mod values;

use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use clap::{Args, Parser, Subcommand};
use groups::{
    BagInput, BagOutput, BagRead, Encoding, FileInput, FrameInput, Layout, Order, Output, Reading,
    Select, Source, Sync, TextInput,
};
use slice::{Picks, Slice};
use std::path::PathBuf;
use values::DataFormat;

/// Look into, write, check and repair chunked, compressed containers.
#[derive(Parser)]
#[command(name = "holdall", version = holdall::version(), disable_help_subcommand = false,
    subcommand_required = true, args_override_self = true, max_term_width = 110)]
pub struct Cli {
    /// Print only results and errors: no notes, no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print the time that the command took as well
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Info(Info),
    Ls(Ls),
    Tree(excerpts::Tree),
    Schema(excerpts::Overview),
    Count(excerpts::Overview),
    Cat(Cat),
    Head(excerpts::Excerpt),
    Tail(excerpts::Excerpt),
    Sample(excerpts::Sample),
    Pack(Pack),
    Unpack(Unpack),
    Append(Append),
    Convert(Convert),
    Merge(groups::BagCopy),
    Split(Split),
    Trim(Trim),
    Attr(Attr),
    Index(Index),
    Dictionary(Dictionary),
    Verify(Verify),
    Repair(Repair),
    Sum(Sum),
    Identify(Identify),
    Stats(Stats),
    Diff(Diff),
    Tune(Tune),
    View(View),
    /// Print a completion script, or the pages of the manual
    #[command(hide = true)]
    Generate(Generate),
}

#[derive(Args, Debug)]
pub struct Info {
    #[command(flatten)]
    pub source: Source,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// List the files of a dataset, one per line; missing ones are marked
    ///
    /// Paths are relative to the dataset. A missing file is followed by " (missing)". With --json,
    /// an object with the member files, a list of objects with name and bytes (null if missing).
    #[arg(long, help_heading = groups::DATASETS)]
    pub files: bool,
    /// Describe the remaining chunks of a superchunk with missing chunks (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
    pub path: FileName,
}

#[derive(Args, Debug)]
pub struct Ls {
    #[command(flatten)]
    pub reading: Reading,
    /// Print one JSON list
    #[arg(long)]
    pub json: bool,
    pub path: FileName,
}

#[derive(Args, Clone, Debug)]
pub struct Cat {
    #[command(flatten)]
    pub print: excerpts::Print,
    #[command(flatten)]
    pub select: Select,
    /// Only the rows of a table that meet a condition, as in SQL: "delay > 60 and carrier in ('UA',
    /// 'AA')"
    ///
    /// Tests of a column: = <> < <= > >= with a constant, between A and B, in (A, B), is null, also
    /// with not; starts_with(column, 'A'), contains(column, 'A'); combined by and, or, not,
    /// parentheses. Texts and times ('2013-01-31T05:30') are in single quotes, other names of
    /// columns in double quotes.
    #[arg(long = "where", value_name = "CONDITION", help_heading = groups::DATASETS,
        conflicts_with_all = ["slice", "rows"])]
    pub condition: Option<String>,
    #[command(flatten)]
    pub order: Order,
}

#[derive(Args, Debug)]
pub struct Pack {
    #[command(flatten)]
    pub encoding: Encoding,
    #[command(flatten)]
    pub bag: BagOutput,
    /// Threads to use, 0 to 65536 [default: 0, all processors]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub sync: Sync,
    #[command(flatten)]
    pub output: Output,
    /// Format of OUT [default: by its extension; bagz without an extension]
    #[arg(long, value_name = "FORMAT", value_parser = values::among(&[DataFormat::Bagz,
        DataFormat::Blpk]))]
    pub to: Option<DataFormat>,
    /// Append to the bag OUT, which must exist
    #[arg(long, help_heading = groups::BAGS)]
    pub append: bool,
    /// With --append: append to a set that does not record its order (of Bagz or holdall 0.1.0)
    #[arg(long, help_heading = groups::BAGS)]
    pub interleaved: bool,
    /// Each input file is one record
    #[arg(long, help_heading = groups::BAGS)]
    pub whole: bool,
    /// File with JSON to store with the content (-: standard input)
    #[arg(long, value_name = "FILE", help_heading = groups::SUPERCHUNKS)]
    pub metadata: Option<FileName>,
    /// Pack the bytes of a .npy file, its header included, or of a container
    #[arg(long, help_heading = groups::SUPERCHUNKS)]
    pub raw: bool,
    /// Input files (-: standard input); without -o the last one is OUT
    #[arg(required = true, value_name = "IN OUT")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Unpack {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub output: Output,
    /// Report damaged chunks, and write zeros for them (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
    #[arg(required = true, value_name = "IN OUT")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Append {
    #[command(flatten)]
    pub changing: groups::Changing,
    #[command(flatten)]
    pub encoding: groups::Codecs,
    /// Format of IN [default: by its extension, otherwise raw]
    #[arg(long, value_name = "FORMAT", value_parser = values::among(values::ROWS))]
    pub from: Option<DataFormat>,
    #[command(flatten)]
    pub text: TextInput,
    /// Append a .npy file as bytes, its header included
    #[arg(long)]
    pub raw: bool,
    /// Insert the rows into a table before this row instead
    #[arg(long, value_name = "ROW", value_parser = values::whole)]
    pub before: Option<u64>,
    pub path: FileName,
    /// The file to append (-: standard input)
    #[arg(value_name = "IN")]
    pub input: FileName,
}

#[derive(Args, Debug)]
pub struct Convert {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagRead,
    #[command(flatten)]
    pub frame: FrameInput,
    #[command(flatten)]
    pub bag_output: BagOutput,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub encoding: Encoding,
    #[command(flatten)]
    pub layout: Layout,
    #[command(flatten)]
    pub input: FileInput,
    #[command(flatten)]
    pub text: TextInput,
    #[command(flatten)]
    pub sync: Sync,
    #[command(flatten)]
    pub output: Output,
    /// Format of OUT [default: by its extension; without one bcolz for rows, otherwise blpk]
    #[arg(long, value_name = "FORMAT", value_parser = values::among(values::OUTPUTS))]
    pub to: Option<DataFormat>,
    /// Report damaged chunks, and write zeros for them; leave out damaged records (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
    #[arg(required = true, value_name = "IN OUT")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Split {
    #[command(flatten)]
    pub copy: groups::BagCopy,
    /// Number of bags, each with consecutive records and about equal in number
    #[arg(short = 'n', long, value_name = "N", value_parser = values::within(1..=99999u32))]
    pub parts: u32,
}

#[derive(Args, Debug)]
pub struct Trim {
    #[command(flatten)]
    pub changing: groups::Changing,
    /// Remove these rows, a slice as in Python, instead of those at the end
    #[arg(long, value_name = "A:B", value_parser = values::rows, allow_hyphen_values = true)]
    pub remove: Option<Slice>,
    pub path: FileName,
    #[arg(value_name = "ROWS", value_parser = values::integer, allow_negative_numbers = true,
        required_unless_present = "remove", conflicts_with = "remove")]
    pub rows: Option<i64>,
}

#[derive(Args, Debug)]
pub struct Attr {
    #[command(subcommand)]
    pub action: AttrAction,
}

#[derive(Subcommand, Debug)]
pub enum AttrAction {
    /// Print the value of an attribute, or an object of all
    Get {
        #[command(flatten)]
        options: AttrOptions,
        path: FileName,
        name: Option<String>,
    },
    /// Set an attribute to a JSON value
    Set {
        #[command(flatten)]
        options: AttrOptions,
        path: FileName,
        name: String,
        /// In the header of a frame, as meta of python-blosc2
        #[arg(long, conflicts_with = "file")]
        fixed: bool,
        // JSON, or a file with --raw
        #[arg(allow_hyphen_values = true)]
        value: FileName,
    },
    /// Remove an attribute
    Remove {
        #[command(flatten)]
        options: AttrOptions,
        path: FileName,
        name: String,
    },
}

#[derive(Args, Debug)]
pub struct AttrOptions {
    /// Value as stored: get prints these bytes, set reads them from the file VALUE (-: standard
    /// input)
    #[arg(long)]
    pub raw: bool,
    /// A further file in the folder meta instead of an attribute: get prints it (without NAME, the
    /// names), set reads it from the file VALUE (-: standard input)
    #[arg(long, conflicts_with = "raw", help_heading = groups::DATASETS)]
    pub file: bool,
    #[command(flatten)]
    pub sync: Sync,
    /// Follow symbolic links out of the folder of an array or a table
    #[arg(long, help_heading = groups::DATASETS)]
    pub follow_links: bool,
}

#[derive(Args, Debug)]
pub struct Index {
    #[command(subcommand)]
    pub action: IndexAction,
}

#[derive(Subcommand, Debug)]
pub enum IndexAction {
    /// Build the index of a bag, or the minima and maxima of the blocks of a CTable
    Build {
        #[command(flatten)]
        options: IndexOptions,
        #[command(flatten)]
        sync: groups::Sync,
        /// Replace an existing index
        #[arg(short, long)]
        force: bool,
        /// Columns of the table, separated by commas [default: all that can have an index]
        #[arg(long, value_name = "A,B", help_heading = groups::DATASETS)]
        columns: Option<String>,
        bag: FileName,
    },
    /// Print the numbers of the records that equal a key
    Find {
        #[command(flatten)]
        options: IndexOptions,
        /// Find each line of this file (-: standard input), and print its first record, or none
        #[arg(long, value_name = "FILE")]
        keys: Option<FileName>,
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
        bag: FileName,
        key: Vec<std::ffi::OsString>,
    },
}

#[derive(Args, Debug)]
pub struct IndexOptions {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagInput,
    /// File of the index [default: BAG.index]
    #[arg(long, value_name = "FILE")]
    pub index: Option<FileName>,
    /// Leave out damaged records, and damaged parts of the index (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
}

#[derive(Args, Debug)]
pub struct Dictionary {
    #[command(subcommand)]
    pub action: DictionaryAction,
}

#[derive(Subcommand, Debug)]
pub enum DictionaryAction {
    /// Train a dictionary for records
    Train(DictionaryTraining),
    /// Print the ID and the size of the dictionary of a bag
    Show {
        #[command(flatten)]
        source: Source,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        bag: FileName,
    },
    /// Write the dictionary of a bag to a file
    Export {
        #[command(flatten)]
        source: Source,
        /// Replace OUT if it exists; without this option that is an error
        #[arg(short, long)]
        force: bool,
        bag: FileName,
        out: FileName,
    },
}

#[derive(Args, Debug)]
pub struct DictionaryTraining {
    #[command(flatten)]
    pub source: Source,
    /// Most bytes of the dictionary, 256 to 16M; K, M [default: 110K]
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "110K",
        hide_default_value = true)]
    pub size: u64,
    /// Replace OUT if it exists; without this option that is an error
    #[arg(short, long)]
    pub force: bool,
    #[arg(value_name = "IN")]
    pub input: FileName,
    pub out: FileName,
}

#[derive(Args, Debug)]
pub struct Verify {
    #[command(flatten)]
    pub source: Source,
    /// Report progress on standard error each second, even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// Print one JSON object per path
    #[arg(long)]
    pub json: bool,
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Repair {
    #[command(flatten)]
    pub changing: groups::Changing,
    #[command(flatten)]
    pub codec: groups::BagCodec,
    /// Location of the limits of a bag [default: tail]
    #[arg(long, value_name = "LOCATION", value_parser = values::named(values::LIMITS),
        help_heading = groups::BAGS)]
    pub limits: Option<holdall::BagLimits>,
    /// Print what a repair would do, with its exit code, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Bags: find records without limits; others: replace damaged chunks, remove columns that
    /// cannot be repaired (exit code 1 if something was lost)
    #[arg(long)]
    pub skip_damaged: bool,
    /// Take the small files of a dataset as they are, whatever their checksums say
    #[arg(long)]
    pub unchecked: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    pub path: FileName,
}

#[derive(Args, Debug)]
pub struct Sum {
    #[command(flatten)]
    pub source: Source,
    /// Kind of digest
    #[arg(long, value_name = "KIND", value_parser = values::named(values::CHECKSUMS),
        default_value = "sha256")]
    pub checksum: holdall::Checksum,
    /// Only this slice, as in Python; of an array with a part per dimension: 10:20,:,5
    #[arg(long, value_name = "A:B:C[,..]", value_parser = Picks::parse, allow_hyphen_values = true)]
    pub slice: Option<Picks>,
    /// Print one JSON object per path
    #[arg(long)]
    pub json: bool,
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Identify {
    /// Print one JSON object per path
    #[arg(long)]
    pub json: bool,
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<FileName>,
}

#[derive(Args, Debug)]
pub struct Stats {
    #[command(flatten)]
    pub source: Source,
    /// Only these columns, in this order
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', help_heading = groups::DATASETS)]
    pub columns: Option<Vec<String>>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    pub path: FileName,
}

#[derive(Args, Debug)]
pub struct Diff {
    #[command(flatten)]
    pub source: Source,
    /// Compare format, chunk shapes, codec, filters and checksum as well
    #[arg(long)]
    pub encoding: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[arg(value_name = "A")]
    pub left: FileName,
    #[arg(value_name = "B")]
    pub right: FileName,
}

#[derive(Args, Debug)]
pub struct Tune {
    #[command(flatten)]
    pub source: Source,
    /// The most time to take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = values::seconds)]
    pub seconds: f64,
    /// What the recommendation is for
    #[arg(long, value_name = "GOAL", default_value = "balance")]
    pub goal: values::Goal,
    /// Write a chart of size against speed (SVG)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<FileName>,
    /// Replace the file of --plot if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The column of a table [default: the largest one]
    #[arg(long, value_name = "X", help_heading = groups::DATASETS)]
    pub column: Option<String>,
    /// The type of the items of a file without a header, as NumPy spells it: '<i2'
    #[arg(long, value_name = "DTYPE", help_heading = groups::FILES)]
    pub dtype: Option<String>,
    /// Bytes of an item of such a file, 1 to 255 [default: 8]
    #[arg(long, value_name = "N", value_parser = values::within(1..=u8::MAX),
        help_heading = groups::FILES)]
    pub typesize: Option<u8>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[arg(value_name = "IN")]
    pub path: FileName,
}

#[derive(Args, Debug)]
pub struct View {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub frame: FrameInput,
    /// The column of a table [default: the first one of numbers]
    #[arg(long, value_name = "X", help_heading = groups::DATASETS)]
    pub column: Option<String>,
    /// The plane: a part for each dimension, as 3,:,5:60 [default: the middle of the leading
    /// dimensions]
    #[arg(long, value_name = "A:B:C[,..]", value_parser = Picks::parse, allow_hyphen_values = true)]
    pub slice: Option<Picks>,
    /// The most columns of the picture or histogram [default: that of the terminal, or 1024 pixels]
    #[arg(long, value_name = "N", value_parser = values::within(8..=8192u32))]
    pub width: Option<u32>,
    #[command(flatten)]
    pub output: Output,
    pub path: FileName,
}

#[derive(Args, Debug)]
pub struct Generate {
    #[command(subcommand)]
    pub what: Generated,
}

#[derive(Subcommand, Debug)]
pub enum Generated {
    /// Print the completion script of a shell
    Completions { shell: clap_complete::Shell },
    /// Write the pages of the manual into a folder
    Man { folder: PathBuf },
    /// Write the same pages in Markdown into a folder
    Markdown { folder: PathBuf },
}

fn missing() -> Failure {
    Failure::Usage("an operand is missing".to_owned())
}

/// Returns the inputs and OUT: the operand of `--output`, otherwise the last of `paths`.
pub fn operands<'a>(
    paths: &'a [FileName],
    output: &'a Output,
) -> Result<(&'a [FileName], &'a FileName)> {
    let (inputs, out) = match (&output.output, paths) {
        (Some(out), inputs) => (inputs, out),
        (None, [inputs @ .., out]) => (inputs, out),
        (None, []) => return Err(missing()),
    };
    match inputs {
        [] => Err(missing()),
        inputs => Ok((inputs, out)),
    }
}

/// Returns the only input and OUT, as `operands`.
pub fn one_operand<'a>(
    paths: &'a [FileName],
    output: &'a Output,
) -> Result<(&'a FileName, &'a FileName)> {
    match operands(paths, output)? {
        ([input], out) => Ok((input, out)),
        (inputs, out) => {
            let more = if output.output.is_none() { out } else { &inputs[1] };
            let more = if inputs.len() > 2 { &inputs[2] } else { more };
            Err(Failure::Usage(format!("one operand too many, '{more}'")))
        }
    }
}
