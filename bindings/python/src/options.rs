//! Keyword arguments: the options of the header in lower case, without `HOLDALL_OPT_`.

use crate::buffers;
use crate::errors::{Callbacks, failure, store};
use holdall::{
    BagDictionary, BagLimits, BagShards, Checksum, Codec, FileAccess, Filter, Format, Location,
    Order, Status, Verify,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyString};
use std::time::Duration;

/// The options of a call, and the callbacks that it may run.
#[derive(Default)]
pub struct Options {
    pub options: holdall::Options,
    pub callbacks: Callbacks,
    /// Whether corrupt content is skipped.
    pub skips_corrupt: bool,
    /// The keyword arguments without those that are None: the recipe of a handle.
    pub given: Option<Py<PyDict>>,
}

impl Options {
    /// Converts keyword arguments. None means the default.
    ///
    /// Raises TypeError for an unknown option, or a value of another type.
    pub fn new(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
        let mut made = Options::default();
        let Some(arguments) = arguments else {
            return Ok(made);
        };
        let mut defaults = Vec::new();
        for (name, value) in arguments {
            let text = name.cast::<PyString>()?.to_cow()?;
            if value.is_none() {
                check_name(&text)?;
                defaults.push(name.clone());
            } else {
                made.set(&text, &value)?;
            }
        }
        // the dict belongs to this call
        for name in defaults {
            arguments.del_item(name)?;
        }
        made.given = Some(arguments.clone().unbind());
        Ok(made)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if name == "progress" {
            return self.set_progress(value);
        }
        let options = std::mem::take(&mut self.options);
        self.options = match name {
            "filters" => options.filters(&filters(value)?),
            "dictionary" => options.dictionary(octets(name, value)?.as_ref()),
            "fill_value" => options.fill_bytes(octets(name, value)?.as_ref()),
            "io" => options.file_access(named("io", IO, value)?),
            "codec" => match codec(value)? {
                Some(codec) => options.codec(codec),
                None => options,
            },
            "checksum" => options.checksum(named("checksum", CHECKSUMS, value)?),
            "bag_dictionary" => {
                options.bag_dictionary(named("bag_dictionary", DICTIONARIES, value)?)
            }
            "bag_limits" => options.bag_limits(named("bag_limits", LIMITS, value)?),
            "bag_shards" => options.bag_shards(named("bag_shards", SHARDS, value)?),
            "order" => options.order(named("order", ORDERS, value)?),
            _ => with_number(options, name, value)?,
        };
        if name == "skip_damaged" {
            self.skips_corrupt = is_set(name, value)?;
        }
        Ok(())
    }

    fn set_progress(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if !value.is_callable() {
            return Err(PyTypeError::new_err("option progress: expected a function"));
        }
        let (function, raised) = (value.clone().unbind(), self.callbacks.add());
        let options = std::mem::take(&mut self.options);
        self.options = options.progress(move |done, total| {
            let called = Python::try_attach(|py| match function.call1(py, (done, total)) {
                Ok(result) => !result.bind(py).is(PyBool::new(py, false)),
                Err(e) => {
                    store(&raised, e);
                    false
                }
            });
            called.unwrap_or(false)
        });
        Ok(())
    }
}

/// Sets an option whose value is a number.
fn with_number(
    options: holdall::Options,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<holdall::Options> {
    // the library has options of 63 bits
    let size = || number::<i64>(name, value).and_then(|n| Ok(u64::try_from(n)?));
    let small = || number::<u32>(name, value);
    let flag = || is_set(name, value);
    Ok(match name {
        "threads" => options.threads(usize::try_from(size()?)?),
        "memory_limit" => options.memory_limit(size()?),
        "cache_bytes" => options.cache_bytes(size()?),
        "chunk_dictionary" => options.chunk_dictionary(flag()?),
        "verify" => options.verify(verify(value)?),
        "skip_damaged" => options.skip_corrupt(flag()?),
        "durability" => options.durable(flag()?),
        "lock" => options.lock(flag()?),
        "level" => options.level(number(name, value)?),
        "chunk_bytes" => options.chunk_bytes(size()?),
        "block_bytes" => options.block_bytes(size()?),
        "expected_rows" => options.expected_rows(size()?),
        "sparse" => options.sparse(flag()?),
        "superchunk_chunks" => options.superchunk_chunks(size()?),
        "offsets" => options.offsets(flag()?),
        "spare_chunks" => options.spare_chunks(size()?),
        "spare_bytes" => options.spare_bytes(size()?),
        "format_version" => options.bloscpack_version(number(name, value)?),
        "bag_limits_cache" => options.load_limits(flag()?),
        "bag_read_ahead" => options.read_ahead(size()?),
        "arrow_binary" => options.arrow_binary(flag()?),
        "arrow_nulls" => options.arrow_nulls(flag()?),
        "frame_offset" => options.frame_offset(size()?),
        "both_metalayers" => options.both_metalayers(flag()?),
        "bag_read_ahead_bytes" => options.read_ahead_bytes(size()?),
        "cloud_timeout" => options.cloud_timeout(Duration::from_millis(size()?)),
        "cloud_retries" => options.cloud_retries(small()?),
        "cloud_requests" => options.cloud_requests(small()?),
        "dry_run" => options.dry_run(flag()?),
        "yaml" => options.yaml(flag()?),
        "follow_links" => options.follow_links(flag()?),
        "precision" => options.precision(number(name, value)?),
        _ => return Err(unknown(name)),
    })
}

const NAMES: &[&str] = &[
    "progress",
    "filters",
    "dictionary",
    "fill_value",
    "io",
    "codec",
    "checksum",
    "bag_dictionary",
    "bag_limits",
    "bag_shards",
    "order",
    "threads",
    "memory_limit",
    "cache_bytes",
    "chunk_dictionary",
    "verify",
    "skip_damaged",
    "durability",
    "lock",
    "level",
    "chunk_bytes",
    "block_bytes",
    "expected_rows",
    "sparse",
    "superchunk_chunks",
    "offsets",
    "spare_chunks",
    "spare_bytes",
    "format_version",
    "bag_limits_cache",
    "bag_read_ahead",
    "arrow_binary",
    "arrow_nulls",
    "frame_offset",
    "both_metalayers",
    "bag_read_ahead_bytes",
    "cloud_timeout",
    "cloud_retries",
    "cloud_requests",
    "dry_run",
    "yaml",
    "follow_links",
    "precision",
];

fn check_name(name: &str) -> PyResult<()> {
    NAMES
        .contains(&name)
        .then_some(())
        .ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> PyErr {
    PyTypeError::new_err(format!("unknown option '{name}'"))
}

/// Returns an integer in the range of its type. Raises OverflowError out of the range.
fn number<'a, 'py, T: FromPyObject<'a, 'py>>(
    name: &str,
    value: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    if value.is_instance_of::<PyString>() {
        let message = format!("option {name}: expected a number, found {}", value.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    value.extract().map_err(Into::into)
}

fn is_set(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match number::<i64>(name, value)? {
        0 => Ok(false),
        1 => Ok(true),
        other => {
            let message = format!("option {name}: {other} is out of range (expected 0 or 1)");
            Err(PyValueError::new_err(message))
        }
    }
}

fn octets(name: &str, value: &Bound<'_, PyAny>) -> PyResult<buffers::Bytes> {
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyString>() {
        let message = format!("option {name}: expected bytes, found {}", value.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    buffers::bytes(value)
}

/// A constant: its name, its number in the header, and its value.
pub type Constants<T> = &'static [(&'static str, i64, T)];

pub const IO: Constants<FileAccess> = &[
    ("read", 901, FileAccess::Read),
    ("map", 902, FileAccess::Map),
];
pub const CHECKSUMS: Constants<Checksum> = &[
    ("none", 501, Checksum::None),
    ("adler32", 502, Checksum::Adler32),
    ("crc32", 503, Checksum::Crc32),
    ("md5", 504, Checksum::Md5),
    ("sha1", 505, Checksum::Sha1),
    ("sha224", 506, Checksum::Sha224),
    ("sha256", 507, Checksum::Sha256),
    ("sha384", 508, Checksum::Sha384),
    ("sha512", 509, Checksum::Sha512),
];
pub const CODECS: Constants<Codec> = &[
    ("none", 401, Codec::None),
    ("blosclz", 402, Codec::BloscLz),
    ("lz4", 403, Codec::Lz4),
    ("lz4hc", 404, Codec::Lz4Hc),
    ("snappy", 405, Codec::Snappy),
    ("zlib", 406, Codec::Zlib),
    ("zstd", 407, Codec::Zstd),
];
pub const FILTERS: Constants<Filter> = &[
    ("shuffle", 65, Filter::Shuffle),
    ("bitshuffle", 66, Filter::Bitshuffle),
    ("delta", 67, Filter::Delta),
    ("bytedelta", 68, Filter::Bytedelta),
    ("trunc_prec", 69, Filter::TruncPrec),
];
pub const DICTIONARIES: Constants<BagDictionary> = &[
    ("separate", 1001, BagDictionary::Separate),
    ("stored", 1002, BagDictionary::Stored),
    ("auto", 1003, BagDictionary::Auto),
];
pub const LIMITS: Constants<BagLimits> = &[
    ("tail", 701, BagLimits::Tail),
    ("separate", 702, BagLimits::Separate),
];
pub const SHARDS: Constants<BagShards> = &[
    ("concatenated", 801, BagShards::Concatenated),
    ("interleaved", 802, BagShards::Interleaved),
];
pub const FORMATS: Constants<Format> = &[
    ("bloscpack", 301, Format::Bloscpack),
    ("bcolz", 302, Format::Bcolz),
    ("blz", 303, Format::Blz),
    ("blz_rfc", 304, Format::BlzRfc),
    ("b2frame", 305, Format::B2Frame),
    ("caterva", 306, Format::Caterva),
    ("b2nd", 307, Format::B2nd),
    ("bagz", 308, Format::Bagz),
    ("b2d", 309, Format::B2d),
    ("b2z", 310, Format::B2z),
    ("b2e", 311, Format::B2e),
    ("ctable", 312, Format::CTable),
];
pub const ORDERS: Constants<Order> = &[("c", 0, Order::C), ("f", 1, Order::Fortran)];
/// The numbers of the engine, which are those of the option.
const VERIFY: Constants<Verify> = &[
    ("never", 0, Verify::Never),
    ("on_read", 1, Verify::OnRead),
    ("at_open", 2, Verify::AtOpen),
];

/// Returns the constant with a name, in any case, or a number of the header.
///
/// Raises ValueError for an unknown one.
pub fn named<T: Copy>(
    option: &str,
    constants: &[(&'static str, i64, T)],
    value: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let found = if let Ok(name) = value.cast::<PyString>() {
        let name = name.to_cow()?.to_lowercase();
        constants.iter().find(|(n, ..)| *n == name)
    } else {
        let number: i64 = number(option, value)?;
        constants.iter().find(|(_, n, _)| *n == number)
    };
    match found {
        Some((.., constant)) => Ok(*constant),
        None => {
            let mut names: Vec<_> = constants.iter().map(|(name, ..)| *name).collect();
            names.sort_unstable();
            let (found, names) = (value.repr()?, names.join(", "));
            let message = format!("{option}: unknown name {found} (expected one of {names})");
            Err(PyValueError::new_err(message))
        }
    }
}

/// Returns the name of a constant, such as "zstd".
pub fn name_of<T: PartialEq>(constants: Constants<T>, value: T) -> Option<&'static str> {
    constants
        .iter()
        .find(|(.., constant)| *constant == value)
        .map(|(name, ..)| *name)
}

fn verify(value: &Bound<'_, PyAny>) -> PyResult<Verify> {
    named("verify", VERIFY, value)
}

/// Returns a codec, or `None` for the one that the name of a bag shows.
fn codec(value: &Bound<'_, PyAny>) -> PyResult<Option<Codec>> {
    let by_name = match value.cast::<PyString>() {
        Ok(name) => name.to_cow()?.eq_ignore_ascii_case("by_name"),
        Err(_) => number::<i64>("codec", value)? == 408,
    };
    if by_name {
        Ok(None)
    } else {
        named("codec", CODECS, value).map(Some)
    }
}

/// Returns filters, given by one name, a list of names or numbers, or bytes of numbers.
fn filters(value: &Bound<'_, PyAny>) -> PyResult<Vec<Filter>> {
    if value.is_instance_of::<PyString>() {
        return Ok(filter(value)?.into_iter().collect());
    }
    if let Ok(numbers) = value.cast::<PyBytes>() {
        let items = numbers.try_iter()?;
        return items
            .filter_map(|item| item.and_then(|item| filter(&item)).transpose())
            .collect();
    }
    let items = value.try_iter()?;
    items
        .filter_map(|item| item.and_then(|item| filter(&item)).transpose())
        .collect()
}

/// Returns a filter, or `None` for no filter.
fn filter(value: &Bound<'_, PyAny>) -> PyResult<Option<Filter>> {
    let none = match value.cast::<PyString>() {
        Ok(name) => name.to_cow()?.eq_ignore_ascii_case("none"),
        Err(_) => number::<i64>("filters", value)? == 64,
    };
    if none {
        Ok(None)
    } else {
        named("filters", FILTERS, value).map(Some)
    }
}

/// How a container is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    Append,
    Create,
    Replace,
}

/// The modes of a writer of a bag.
pub const WRITING: &[Mode] = &[Mode::Create, Mode::Replace, Mode::Append];

impl Mode {
    /// Returns a mode by name.
    ///
    /// "r": reads. "a": changes an existing container. "x": creates a container; none may exist.
    /// "w": creates a container and replaces an existing one. Raises ValueError for another mode.
    pub fn new(name: &str) -> PyResult<Mode> {
        match name {
            "r" => Ok(Mode::Read),
            "a" => Ok(Mode::Append),
            "x" => Ok(Mode::Create),
            "w" => Ok(Mode::Replace),
            _ => {
                let message = format!("unknown mode '{name}' (expected r, a, x or w)");
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// Raises ArgumentError unless the mode is one of those that a function takes.
    pub fn check(self, py: Python<'_>, expected: &[Mode], names: &str) -> PyResult<()> {
        if expected.contains(&self) {
            return Ok(());
        }
        let message = format!("mode: wrong mode (expected {names})");
        Err(failure(py, Status::Argument, &message))
    }

    /// Opens the writer of a bag.
    pub fn bag_writer(
        self,
        location: Location,
        options: &holdall::Options,
    ) -> holdall::Result<holdall::BagWriter> {
        match self {
            Mode::Create => holdall::BagWriter::create(location, options),
            Mode::Replace => holdall::BagWriter::replace(location, options),
            Mode::Append | Mode::Read => holdall::BagWriter::open(location, options),
        }
    }
}
