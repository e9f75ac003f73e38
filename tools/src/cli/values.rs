//! The values of options.

use super::groups::{Numbers, Shape};
use super::slice::{self, Picks, Slice};
use crate::detect::strip_ending;
use crate::file_name::FileName;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use holdall::{BagLimits, BagShards, Checksum, Codec, Filter, Order};
use std::ffi::OsStr;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The largest chunk of the format.
const CHUNK_MOST: u64 = 2_147_483_615;

// ---- values with names: (name, help, value)

type Named<T> = &'static [(&'static str, &'static str, T)];

pub const LIMITS: Named<BagLimits> = &[
    ("tail", "After the records, in the same file", BagLimits::Tail),
    ("separate", "In the file limits.NAME", BagLimits::Separate),
];

/// Whether limits are loaded into memory.
pub const LIMITS_STORAGE: Named<bool> =
    &[("disk", "When needed", false), ("memory", "All at once, 8 bytes per record", true)];

pub const SHARD_ORDERS: Named<BagShards> = &[
    (
        "concatenated",
        "The records of the second file follow those of the first",
        BagShards::Concatenated,
    ),
    (
        "interleaved",
        "The first record of each file, then the second of each",
        BagShards::Interleaved,
    ),
];

/// A codec; None is `auto`, by which the name of a bag decides.
pub type CodecChoice = Option<Codec>;

/// The codecs of chunks, and of bags: `auto`, which no help lists, and those of `BAG_CODECS`.
pub const CODECS: Named<CodecChoice> = &[
    ("auto", HIDDEN, None),
    ("none", "", Some(Codec::None)),
    ("blosclz", "", Some(Codec::BloscLz)),
    ("lz4", "", Some(Codec::Lz4)),
    ("lz4hc", "", Some(Codec::Lz4Hc)),
    ("snappy", "", Some(Codec::Snappy)),
    ("zlib", "", Some(Codec::Zlib)),
    ("zstd", "", Some(Codec::Zstd)),
];

pub const BAG_CODECS: Named<CodecChoice> =
    &[("auto", "", None), ("none", "", Some(Codec::None)), ("zstd", "", Some(Codec::Zstd))];

/// A filter of the option `--filters`.
#[derive(Clone, Copy, Debug)]
pub enum FilterChoice {
    None,
    Filter(Filter),
    /// Truncates floats to so many bits of the mantissa, or clears as many if negative.
    Precision(i8),
}

pub const FILTERS: Named<FilterChoice> = &[
    ("none", "No filter", FilterChoice::None),
    (
        "shuffle",
        "The first bytes of all items, then the second bytes, and so on",
        FilterChoice::Filter(Filter::Shuffle),
    ),
    ("bitshuffle", "The same with bits", FilterChoice::Filter(Filter::Bitshuffle)),
    (
        "delta",
        "Differences of the bytes to those of the first block (frames)",
        FilterChoice::Filter(Filter::Delta),
    ),
    (
        "bytedelta",
        "Differences of neighboring bytes, after shuffle (frames)",
        FilterChoice::Filter(Filter::Bytedelta),
    ),
    (
        "trunc_prec:N",
        "LOSSY: floats retain N bits of the mantissa, or lose -N (frames, blz-rfc; the first filter)",
        FilterChoice::Precision(0),
    ),
];

/// Parses a filter: a name, or `trunc_prec:BITS`.
#[derive(Clone)]
pub struct FilterParser;

impl TypedValueParser for FilterParser {
    type Value = FilterChoice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<FilterChoice, clap::Error> {
        let bits = value.to_str().and_then(|text| text.strip_prefix("trunc_prec:"));
        let choice = match bits.map(str::parse) {
            Some(Ok(bits)) => FilterChoice::Precision(bits),
            _ => named(FILTERS).parse_ref(command, argument, value)?,
        };
        match choice {
            FilterChoice::Precision(0) => {
                named(FILTERS).parse_ref(command, argument, OsStr::new("trunc_prec:0"))
            }
            choice => Ok(choice),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = named(FILTERS).possible_values().into_iter().flatten().collect();
        Some(Box::new(values.into_iter()))
    }
}

pub const CHECKSUMS: Named<Checksum> = &[
    ("none", "", Checksum::None),
    ("adler32", "", Checksum::Adler32),
    ("crc32", "", Checksum::Crc32),
    ("md5", "", Checksum::Md5),
    ("sha1", "", Checksum::Sha1),
    ("sha224", "", Checksum::Sha224),
    ("sha256", "", Checksum::Sha256),
    ("sha384", "", Checksum::Sha384),
    ("sha512", "", Checksum::Sha512),
];

/// Layouts of the header of a Bloscpack file, as the library numbers them.
pub const HEADER_VERSIONS: Named<u8> = &[
    ("1", "Without metadata, checksums and offsets", 1),
    ("2", "Without metadata", 2),
    ("3", "Bloscpack 0.3 and later", 3),
    ("rfc", "The BLZ RFC layout; without metadata the same as 3", 103),
];

pub const ORDERS: Named<Order> = &[
    ("C", "The last index varies fastest", Order::C),
    ("F", "The first index varies fastest", Order::Fortran),
];

/// Instead of the help of a value that is not listed.
const HIDDEN: &str = "hidden";

/// Parses the name of a value.
pub fn named<T: Clone + Send + Sync>(values: Named<T>) -> impl TypedValueParser<Value = T> {
    let possible = |(name, help, _): &(&'static str, &'static str, T)| match *help {
        "" => PossibleValue::new(*name),
        HIDDEN => PossibleValue::new(*name).hide(true),
        help => PossibleValue::new(*name).help(help),
    };
    PossibleValuesParser::new(values.iter().map(possible)).try_map(|found| {
        let value = values.iter().find(|(name, _, _)| *name == found);
        value.map(|(_, _, value)| value.clone()).ok_or("a value of the list")
    })
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
    #[value(name = "ctable")]
    CTable,
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

/// Formats by the endings of names.
pub const ENDINGS: &[(DataFormat, &[&str])] = {
    use DataFormat::*;
    &[
        (Blpk, &[".blp", ".blpk"]),
        (Bcolz, &[".bcolz"]),
        (Blz, &[".blz"]),
        (CTable, &[".b2d"]),
        (Npy, &[".npy"]),
        (Csv, &[".csv"]),
        (Jsonl, &[".jsonl", ".ndjson"]),
        (B2nd, &[".b2nd"]),
        (B2Frame, &[".b2frame"]),
        (Caterva, &[".caterva"]),
        (Arrow, &[".arrow", ".feather"]),
        (ArrowStream, &[".arrows"]),
        (Bagz, &[".bagz", ".bag"]),
        (Lines, &[".txt", ".lines"]),
        (TfRecord, &[".tfrecord", ".tfrecords"]),
    ]
};

impl DataFormat {
    /// Returns what the ending of a name says. Endings of files of rows may be in upper case.
    pub fn of_name(path: &FileName) -> Option<DataFormat> {
        let has = |end: &&str, format| match format {
            DataFormat::Npy | DataFormat::Csv | DataFormat::Jsonl => {
                strip_ending(path, end).is_some()
            }
            _ => path.ends_with(end),
        };
        let found = ENDINGS.iter().find(|(format, ends)| ends.iter().any(|end| has(end, *format)));
        found.map(|(format, _)| *format)
    }

    /// Returns the format as one of records; None: it has none. JSON lines are lines.
    pub fn of_records(self) -> Option<DataFormat> {
        use DataFormat::*;
        match self {
            Jsonl => Some(Lines),
            Bagz | Lines | Lengths32 | Lengths64 | TfRecord | Arrow | ArrowStream => Some(self),
            _ => None,
        }
    }
}

/// What `cat` prints.
pub const TEXTS: &[DataFormat] = {
    use DataFormat::*;
    &[Raw, Npy, Text, Csv, Jsonl, Arrow, Lines]
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
        CTable,
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
    let names = allowed.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(names).try_map(|name| T::from_str(&name, false))
}

// ---- parsers: an error says what the option takes, see `usage::message`

type Parsed<T> = Result<T, String>;

pub fn integer(text: &str) -> Parsed<i64> {
    text.parse().map_err(|_| "a whole number".to_owned())
}

/// Parses a whole number of a range.
pub fn within<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Parsed<T> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let (low, high) = (range.start(), range.end());
        let parsed = text.parse().ok().filter(|n| range.contains(n));
        parsed.ok_or_else(|| format!("a whole number from {low} to {high}"))
    }
}

pub fn whole(text: &str) -> Parsed<u64> {
    within(0..=i64::MAX as u64)(text)
}

pub fn threads(text: &str) -> Parsed<usize> {
    within(0..=65536)(text)
}

/// The level of a codec of chunks or of zstd; `options::codecs` checks the range of the former.
pub fn level(text: &str) -> Parsed<i32> {
    within(-131_072..=22)(text).map_err(|_| {
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

/// Consecutive rows.
pub fn rows(text: &str) -> Parsed<Slice> {
    let slice = Picks::parse(text).ok().and_then(|picks| picks.slice());
    let consecutive = slice.filter(|slice| slice.step.is_none_or(|step| step == 1));
    consecutive.ok_or_else(|| "a slice of rows, as 10:20".to_owned())
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
