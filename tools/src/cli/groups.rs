//! Groups of options that several commands take, under the headings that say which containers they
//! are for.

use super::slice::{Picks, Rows};
use super::values::{self, CodecChoice, DataFormat, FilterChoice};
use crate::file_name::FileName;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use holdall::{BagLimits, BagShards, Checksum, Order as ItemOrder};

/// Headings of the help. An option under one of them is refused for other containers, see
/// `usage::fit`.
pub const BAGS: &str = "Options for bags";
pub const SUPERCHUNKS: &str = "Options for superchunks";
pub const DATASETS: &str = "Options for arrays and tables";
pub const NOT_BAGS: &str = "Options for superchunks, arrays and tables";
pub const FILES: &str = "Options for input files";

/// How files are read.
#[derive(Args, Clone, Debug, Default)]
pub struct Reading {
    /// Threads to use, 0 to 65536 [default: 0, all processors]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,
    /// Map files into memory instead of reading them
    ///
    /// Faster for small records. If another program truncates a mapped file, a signal ends the
    /// tool.
    #[arg(long)]
    pub map: bool,
    /// Most memory that a file may make the tool allocate; K, M, G [default: 4G]
    ///
    /// Bounds the memory for a record, chunk or header, whatever size the file claims for it.
    /// Commands use 10 to 30 MB otherwise.
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    pub memory_limit: Option<u64>,
    /// Do not verify the checksums stored with the data
    #[arg(long)]
    pub unchecked: bool,
    /// Follow symbolic links out of the folder of an array or a table, and proxies to their source
    #[arg(long, help_heading = DATASETS)]
    pub follow_links: bool,
}

/// The codec and the dictionary of a bag.
#[derive(Args, Clone, Debug, Default)]
pub struct BagCodec {
    /// Codec of the records [default: auto, which is zstd if the name ends in .bagz]
    #[arg(long, value_name = "CODEC", help_heading = BAGS,
        value_parser = values::named(values::BAG_CODECS))]
    pub codec: Option<CodecChoice>,
    /// zstd dictionary of the records: a trained one, or any file
    #[arg(long, value_name = "FILE", help_heading = BAGS)]
    pub dictionary: Option<FileName>,
}

/// How a bag is read.
#[derive(Args, Clone, Debug, Default)]
pub struct BagRead {
    /// Location of the limits, the end offsets of the records [default: tail]
    #[arg(long, value_name = "LOCATION", value_parser = values::named(values::LIMITS),
        help_heading = BAGS)]
    pub limits: Option<BagLimits>,
    /// How limits are read [default: disk]
    ///
    /// With memory, a bag can be read further while another program appends to it.
    #[arg(long, value_name = "STORAGE", value_parser = values::named(values::LIMITS_STORAGE),
        help_heading = BAGS)]
    pub limits_storage: Option<bool>,
    /// Order of the records of several files [default: as they were written]
    ///
    /// A set (NAME@N.bagz, NAME@*.bagz) is read in the order in which it was written if its files
    /// record this order. All others are concatenated.
    #[arg(long, value_name = "ORDER", value_parser = values::named(values::SHARD_ORDERS),
        help_heading = BAGS)]
    pub shard_order: Option<BagShards>,
}

/// A bag that is read.
#[derive(Args, Clone, Debug, Default)]
pub struct BagInput {
    #[command(flatten)]
    pub read: BagRead,
    #[command(flatten)]
    pub codec: BagCodec,
}

/// A frame inside another file.
#[derive(Args, Clone, Debug, Default)]
pub struct FrameInput {
    /// Offset of a Blosc2 frame in the file, in bytes; K, M, G [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = values::size, help_heading = NOT_BAGS)]
    pub at: Option<u64>,
}

/// A container that is read.
#[derive(Args, Clone, Debug, Default)]
pub struct Source {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagInput,
    #[command(flatten)]
    pub frame: FrameInput,
}

/// The part of the content that is printed.
#[derive(Args, Clone, Debug, Default)]
pub struct Select {
    /// Only these records, in this order; -1 is the last
    ///
    /// Numbers start with 0 and may repeat. If one of them does not exist, nothing is printed.
    #[arg(long, value_name = "I,J,..", value_parser = values::numbers, allow_hyphen_values = true,
        help_heading = BAGS)]
    pub records: Option<Numbers>,
    /// Only this slice, as in Python; of an array with a part per dimension: 10:20,:,5
    #[arg(long, value_name = "A:B:C[,..]", value_parser = Picks::parse, allow_hyphen_values = true)]
    pub slice: Option<Picks>,
    /// Only these rows: a slice as in Python, or a list
    #[arg(long, value_name = "A:B:C|I,J,..", value_parser = Rows::parse, allow_hyphen_values = true,
        help_heading = NOT_BAGS, conflicts_with = "slice")]
    pub rows: Option<Rows>,
}

/// A list of whole numbers. (A type of its own: clap takes a `Vec` for an option that is repeated.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers(pub Vec<i64>);

/// The numbers of a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape(pub Vec<u64>);

/// The shuffled order in which records are read.
#[derive(Args, Clone, Debug, Default)]
pub struct Order {
    /// All records, each once, in the shuffled order of this number, 0 to 2^63-1
    #[arg(long, value_name = "SEED", value_parser = values::whole, help_heading = BAGS)]
    pub seed: Option<u64>,
    /// With --seed: number of the epoch, each has another order [default: 0]
    #[arg(long, value_name = "N", value_parser = values::whole, help_heading = BAGS)]
    pub epoch: Option<u64>,
    /// With --seed and --world N: only every Nth record of that order, from record I on
    #[arg(long, value_name = "I", value_parser = values::within(0..=u32::MAX), help_heading = BAGS)]
    pub rank: Option<u32>,
    /// With --seed and --rank: number of parts that the order is split into, at least 1
    #[arg(long, value_name = "N", value_parser = values::within(1..=u32::MAX), help_heading = BAGS)]
    pub world: Option<u32>,
}

/// What compresses chunks.
#[derive(Args, Clone, Debug, Default)]
pub struct Codecs {
    /// Codec [default: lz4 for new chunks, otherwise that of IN; bags: zstd if the name ends in
    /// .bagz, otherwise none]
    #[arg(long, value_name = "CODEC", value_parser = values::named(values::CODECS))]
    pub codec: Option<CodecChoice>,
    /// 0 stored, 1 fast to 9 small [default: 5]; bags: level of zstd, -131072 to 22 [default: 3]
    #[arg(long, value_name = "N", value_parser = values::level)]
    pub level: Option<i32>,
    /// Filters before the codec, in this order; or none [default: shuffle, or as in IN]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',',
        value_parser = values::FilterParser)]
    pub filters: Option<Vec<FilterChoice>>,
    /// A new chunk of a frame stores a dictionary if that makes it smaller (lz4, lz4hc, zstd)
    ///
    /// Short blocks become smaller. For readers with holdall: c-blosc2 reads whole chunks of this
    /// kind, but not parts of them.
    #[arg(long, help_heading = NOT_BAGS)]
    pub chunk_dictionary: bool,
}

/// How chunks are made.
#[derive(Args, Clone, Debug, Default)]
pub struct Encoding {
    #[command(flatten)]
    pub codecs: Codecs,
    /// Size of an item in bytes, 1 to 255 [default: 8]
    #[arg(long, value_name = "N", value_parser = values::within(1..=u8::MAX),
        help_heading = SUPERCHUNKS)]
    pub typesize: Option<u8>,
    /// Size of the content of a chunk in bytes; K, M, G [default: 1M, or as in IN]
    ///
    /// A multiple of the size of an item. The default is a little less than 1M if that is not a
    /// multiple.
    #[arg(long, value_name = "BYTES", value_parser = values::chunk_size, help_heading = NOT_BAGS)]
    pub chunk_size: Option<u64>,
    /// Checksum of each chunk [default: crc32, or that of IN]; bags: none, or the default
    #[arg(long, value_name = "KIND", value_parser = values::named(values::CHECKSUMS))]
    pub checksum: Option<Checksum>,
    /// Do not write a table of chunk offsets
    #[arg(long, help_heading = SUPERCHUNKS)]
    pub no_offsets: bool,
    /// Version of the Bloscpack header [default: 3]
    #[arg(long, value_name = "VERSION", value_parser = values::named(values::HEADER_VERSIONS),
        help_heading = SUPERCHUNKS)]
    pub format_version: Option<u8>,
}

/// The layout of an array that is written.
#[derive(Args, Clone, Debug, Default)]
pub struct Layout {
    /// Shape of a chunk [default: chosen by size]
    ///
    /// Outside of frames and of blz-rfc, only the first number may differ from the shape of the
    /// array.
    #[arg(long, value_name = "I,J,..", value_parser = values::shape_of_chunks,
        help_heading = DATASETS)]
    pub chunks: Option<Shape>,
    /// Shape of a block of a chunk, in frames [default: chosen by size]
    #[arg(long, value_name = "I,J,..", value_parser = values::shape_of_chunks,
        help_heading = DATASETS)]
    pub blocks: Option<Shape>,
    /// Write a folder with a file per chunk (b2nd, caterva, b2frame)
    #[arg(long, help_heading = NOT_BAGS)]
    pub sparse: bool,
    /// Write the metadata of both b2nd and caterva, for readers of either
    #[arg(long, help_heading = DATASETS)]
    pub both: bool,
    /// Store the items of a chunk in Fortran order (blz-rfc)
    #[arg(long, help_heading = DATASETS)]
    pub fortran: bool,
    /// Write the metadata files as YAML (blz-rfc)
    #[arg(long, help_heading = DATASETS)]
    pub yaml: bool,
}

/// A bag that is written.
#[derive(Args, Clone, Debug, Default)]
pub struct BagOutput {
    /// zstd dictionary of the records: a trained one, or any file
    #[arg(long, value_name = "FILE", help_heading = BAGS)]
    pub dictionary: Option<FileName>,
    /// Store the dictionary in the bag, which can then be read without it
    #[arg(long, requires = "dictionary", help_heading = BAGS)]
    pub store_dictionary: bool,
    /// Train a dictionary from the first records, and store it in the bag if it makes them smaller
    #[arg(long, conflicts_with = "dictionary", help_heading = BAGS)]
    pub train_dictionary: bool,
    /// Write N files, 1 to 99999, a record to each in turn: OUT-00000-of-0000N.bagz and so on
    #[arg(long, value_name = "N", value_parser = values::within(1..=99999u32), help_heading = BAGS)]
    pub shards: Option<u32>,
    /// With --shards: write only file I, the first is 0, with all records
    #[arg(long, value_name = "I", value_parser = values::within(0..=99998u32), help_heading = BAGS)]
    pub shard: Option<u32>,
    /// Write the limits to a second file, limits.OUT
    #[arg(long, help_heading = BAGS)]
    pub separate: bool,
}

/// How the records of a bag that is written are stored.
#[derive(Args, Clone, Debug, Default)]
pub struct BagTarget {
    #[command(flatten)]
    pub codec: BagCodec,
    /// Level of zstd, -131072 to 22 [default: 3]
    #[arg(long, value_name = "N", value_parser = values::level, help_heading = BAGS)]
    pub level: Option<i32>,
    /// Write no checksums
    #[arg(long, value_name = "KIND", value_parser = values::named(values::CHECKSUMS),
        help_heading = BAGS)]
    pub checksum: Option<Checksum>,
}

/// What a file that is read is.
#[derive(Args, Clone, Debug, Default)]
pub struct FileInput {
    /// Format of IN [default: by its content, or its extension]
    #[arg(long, value_name = "FORMAT", value_parser = values::among(values::INPUTS),
        help_heading = FILES)]
    pub from: Option<DataFormat>,
    /// Columns of a table, CSV or JSON lines to copy; of Arrow, the column whose values become records
    #[arg(long, value_name = "X,Y,..", value_parser = NonEmptyStringValueParser::new(),
        help_heading = FILES)]
    pub columns: Option<String>,
    /// Types of columns of CSV or JSON lines, as in NumPy [default: types that store all rows]
    ///
    /// For example time=M8[s],pos=('<f8',(3,)). One type without a name is that of the rows of an
    /// array.
    #[arg(long, value_name = "X=DTYPE,..", help_heading = FILES)]
    pub dtypes: Option<String>,
    /// Read columns of CSV or JSON lines in which all values are ISO 8601 times as datetime64, not
    /// text
    #[arg(long, help_heading = FILES)]
    pub times: bool,
    /// Type of the items of a file without a header, as in NumPy: '<i2'
    #[arg(long, value_name = "DTYPE", help_heading = FILES)]
    pub dtype: Option<String>,
    /// With --dtype: shape of the items [default: one dimension, as long as the file]
    #[arg(long, value_name = "I,J,..", value_parser = values::shape, help_heading = FILES)]
    pub shape: Option<Shape>,
    /// With --dtype: order of the items [default: C]
    #[arg(long, value_name = "ORDER", value_parser = values::named(values::ORDERS),
        help_heading = FILES)]
    pub order: Option<ItemOrder>,
    /// With --dtype: skip this many bytes before the items; K, M, G [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = values::size, help_heading = FILES)]
    pub skip: Option<u64>,
}

/// How CSV is read, and by `convert` written.
#[derive(Args, Clone, Debug, Default)]
pub struct TextInput {
    /// The character between the fields of CSV; '\t' is a tab [default: ,]
    #[arg(long, value_name = "C", value_parser = values::delimiter, help_heading = FILES)]
    pub delimiter: Option<u8>,
    /// CSV has no line with the names of the columns; those that are read are f0, f1 and so on
    #[arg(long, help_heading = FILES, overrides_with = "header")]
    pub no_header: bool,
    /// The first line of CSV has the names of the columns: the default
    #[arg(long, help_heading = FILES, overrides_with = "no_header")]
    pub header: bool,
}

/// Durability and locks.
#[derive(Args, Clone, Debug, Default)]
pub struct Sync {
    /// Do not wait until the disk has stored the data (fsync)
    #[arg(long)]
    pub no_sync: bool,
    /// Do not lock the output; no other process may write to it
    ///
    /// For file systems without locks.
    #[arg(long)]
    pub no_lock: bool,
}

/// A container that is changed in place.
#[derive(Args, Clone, Debug, Default)]
pub struct Changing {
    /// Threads to use, 0 to 65536 [default: 0, all processors]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub sync: Sync,
    /// Most memory that a file may make the tool allocate; K, M, G [default: 4G]
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    pub memory_limit: Option<u64>,
    /// Follow symbolic links out of the folder of an array or a table, and proxies to their source
    #[arg(long, help_heading = DATASETS)]
    pub follow_links: bool,
}

/// A copy of the records of bags.
#[derive(Args, Clone, Debug)]
pub struct BagCopy {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagRead,
    #[command(flatten)]
    pub target: BagTarget,
    #[command(flatten)]
    pub sync: Sync,
    #[command(flatten)]
    pub output: Output,
    /// Report damaged records, and leave them out (exit code 1)
    #[arg(long, help_heading = BAGS)]
    pub skip_damaged: bool,
    #[arg(required = true, value_name = "IN OUT")]
    pub paths: Vec<FileName>,
}

/// The output of a command that writes a file or a container.
#[derive(Args, Clone, Debug, Default)]
pub struct Output {
    /// Write to this file instead of standard output
    #[arg(short, long = "output", value_name = "OUT")]
    pub output: Option<FileName>,
    /// Replace OUT if it exists; without this option that is an error
    #[arg(short, long)]
    pub force: bool,
}
