//! The values of options.

use super::groups::{Numbers, Shape};
use super::slice;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// The largest chunk of the format.
const CHUNK_MOST: u64 = 2_147_483_615;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Limits {
    /// After the records, in the same file
    Tail,
    /// In the file limits.NAME
    Separate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimitsStorage {
    /// When needed
    Disk,
    /// All at once, 8 bytes per record
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShardOrder {
    /// The records of the second file follow those of the first
    Concatenated,
    /// The first record of each file, then the second of each
    Interleaved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Codec {
    /// For bags: by the name.
    #[value(hide = true)]
    Auto,
    None,
    #[value(name = "blosclz")]
    BloscLz,
    Lz4,
    #[value(name = "lz4hc")]
    Lz4Hc,
    Snappy,
    Zlib,
    Zstd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Filter {
    /// No filter
    None,
    /// The first bytes of all items, then the second bytes, and so on
    Shuffle,
    /// The same with bits
    Bitshuffle,
    /// Differences of the bytes to those of the first block (frames)
    Delta,
    /// Differences of neighboring bytes, after shuffle (frames)
    Bytedelta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Checksum {
    None,
    Adler32,
    Crc32,
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// The layout of the header of a Bloscpack file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeaderVersion {
    /// Without metadata, checksums and offsets
    #[value(name = "1")]
    V1,
    /// Without metadata
    #[value(name = "2")]
    V2,
    /// Bloscpack 0.3 and later
    #[value(name = "3")]
    V3,
    /// The BLZ RFC layout; without metadata the same as 3
    Rfc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ItemOrder {
    /// The last index varies fastest
    #[value(name = "C")]
    C,
    /// The first index varies fastest
    #[value(name = "F")]
    Fortran,
}

/// What `tune` recommends an encoding for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    Size,
    Balance,
    Speed,
}

/// The format of a file or a container. Each option takes some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    #[value(alias = "bloscpack")]
    Blpk,
    Bcolz,
    Blz,
    BlzRfc,
    Npy,
    Csv,
    Jsonl,
    Text,
    Raw,
    #[value(name = "b2nd")]
    B2nd,
    Caterva,
    #[value(name = "b2frame")]
    B2Frame,
    Bagz,
    Lines,
    #[value(name = "lengths32")]
    Lengths32,
    #[value(name = "lengths64")]
    Lengths64,
    #[value(name = "tfrecord")]
    TfRecord,
    Arrow,
    ArrowStream,
}

/// What `cat` prints.
pub const TEXTS: &[DataFormat] = {
    use DataFormat::*;
    &[Raw, Npy, Text, Csv, Jsonl, Arrow]
};
/// What `append` reads.
pub const ROWS: &[DataFormat] = {
    use DataFormat::*;
    &[Raw, Npy, Csv, Jsonl]
};
/// What `convert` reads.
pub const INPUTS: &[DataFormat] = {
    use DataFormat::*;
    &[Raw, Npy, Csv, Jsonl, Lines, Lengths32, Lengths64, TfRecord, Arrow, Bagz]
};
/// What `convert` writes.
pub const OUTPUTS: &[DataFormat] = {
    use DataFormat::*;
    &[
        Blpk,
        Bcolz,
        Blz,
        BlzRfc,
        Npy,
        Csv,
        Jsonl,
        Raw,
        B2nd,
        Caterva,
        B2Frame,
        Bagz,
        Lines,
        Lengths32,
        Lengths64,
        TfRecord,
        Arrow,
        ArrowStream,
    ]
};

/// Parses one of some values of an enum; errors and the help list these alone.
pub fn among<T: ValueEnum + Send + Sync>(
    allowed: &'static [T],
) -> impl TypedValueParser<Value = T> {
    let names = allowed.iter().filter_map(|value| Some(value.to_possible_value()?.hide(false)));
    PossibleValuesParser::new(names).try_map(|name| T::from_str(&name, false))
}

// ---- parsers: an error says what the option takes, see `usage::message`

type Parsed<T> = Result<T, String>;

pub fn integer(text: &str) -> Parsed<i64> {
    text.parse().map_err(|_| "a whole number".to_owned())
}

pub fn whole(text: &str) -> Parsed<u64> {
    let parsed: Option<u64> = text.parse().ok().filter(|n| *n <= i64::MAX as u64);
    parsed.ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
}

pub fn threads(text: &str) -> Parsed<usize> {
    let parsed: Option<usize> = text.parse().ok().filter(|n| *n <= 65536);
    parsed.ok_or_else(|| "a whole number from 0 to 65536".to_owned())
}

/// The level of a codec of chunks or of zstd; `usage::chunk_level` checks the range of the former.
pub fn level(text: &str) -> Parsed<i32> {
    let parsed: Option<i32> = text.parse().ok().filter(|n| (-131_072..=22).contains(n));
    parsed.ok_or_else(|| {
        "a whole number from 0 to 9 for superchunks, from -131072 to 22 for bags".to_owned()
    })
}

pub fn seconds(text: &str) -> Parsed<f64> {
    let parsed: Option<f64> = text.parse().ok().filter(|n| (0.1..=86400.0).contains(n));
    parsed.ok_or_else(|| "seconds from 0.1 to 86400".to_owned())
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let count: u64 = digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())??;
    count.checked_mul(1 << shift).filter(|n| *n < i64::MAX as u64)
}

pub fn size(text: &str) -> Parsed<u64> {
    bytes(text).ok_or_else(|| "bytes, as 4096, 64K, 16M or 2G".to_owned())
}

pub fn chunk_size(text: &str) -> Parsed<u64> {
    let fits = |n: &u64| (1..=CHUNK_MOST).contains(n);
    bytes(text)
        .filter(fits)
        .ok_or_else(|| format!("bytes from 1 to {CHUNK_MOST}, as 4096, 64K or 16M"))
}

pub fn numbers(text: &str) -> Parsed<Numbers> {
    slice::numbers(text).map(Numbers).ok_or_else(|| "whole numbers, as 0,5,-1".to_owned())
}

fn shape_from(text: &str, least: i64) -> Parsed<Shape> {
    let fits = |n: &Vec<i64>| n.iter().all(|n| *n >= least);
    let numbers = slice::numbers(text).filter(fits);
    let shape = numbers.map(|n| Shape(n.into_iter().map(|n| n as u64).collect()));
    shape.ok_or_else(|| format!("whole numbers of at least {least}, as 80,100,100"))
}

pub fn shape(text: &str) -> Parsed<Shape> {
    shape_from(text, 0)
}

pub fn shape_of_chunks(text: &str) -> Parsed<Shape> {
    shape_from(text, 1)
}

pub fn delimiter(text: &str) -> Parsed<u8> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        // characters of numbers are no delimiters
        [c] if *c == b' ' || (c.is_ascii_punctuation() && !b"\".+-".contains(c)) => Ok(*c),
        _ => Err("one character that is no part of a number, as ';' or '\\t'".to_owned()),
    }
}
