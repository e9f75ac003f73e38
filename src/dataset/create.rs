//! Creates datasets and the contents of `meta/storage`, and derives the compression parameters of
//! an existing dataset for data that is appended to it.
//!
//! - bcolz: the file has the parameters of both bcolz and BLZ, so that BLZ can read and change the
//!   dataset. The BLZ parameters are left out if BLZ cannot decode the chunks.
//! - BLZ: the file is as BLZ writes it.
//! - BLZ RFC layout: the chunks are stored in superchunks, and the file states the number of chunks
//!   per superchunk.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::chunks::{Chunks, ReadConfig};
use super::commit::{FOLDERS, MAIN, Writer, open_session};
use super::edit::{FileLayout, UnitEncoder};
use super::fill_value;
use super::folder::DatasetDir;
use super::meta::{self, ChunkShape, Meta, SIZES, STORAGE, checksum_name};
use super::meta_files;
use super::open::ROOTDIRS;
use super::precision;
use crate::alloc;
use crate::array::selection::MAX_NDIM;
use crate::array::store::Texts;
use crate::array::{Array, NewLocation};
use crate::blosc::filter::truncate_in_place;
use crate::blosc::{Codec, Params};
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::{Order, nbytes};
use crate::dtype::{Dtype, Kind, Type};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::journal::Session;
use crate::io::{Folder, locate};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::{self, FileEncoder, Mode, OPEN_OPTIONS};
use std::ffi::OsStr;
use std::sync::Arc;

/// Options for opening for writing, besides those for reading.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Precision,
    Opt::BlockBytes,
    Opt::SpareChunks,
    Opt::SpareBytes,
];
/// Options for creating only.
const CREATE_OPTIONS: &[Opt] = &[
    Opt::ChunkBytes,
    Opt::Checksum,
    Opt::ExpectedRows,
    Opt::SuperchunkChunks,
    Opt::Fill,
    Opt::Order,
    Opt::Yaml,
];
/// Options for the BLZ RFC layout only.
const BLZ_RFC_OPTIONS: &[Opt] = &[
    Opt::Precision,
    Opt::SpareChunks,
    Opt::SpareBytes,
    Opt::SuperchunkChunks,
    Opt::Order,
    Opt::Yaml,
];

/// Size of a superchunk: the expected size of the array divided by `SUPERCHUNKS`, clamped to this
/// range.
const SUPERCHUNKS: u64 = 256;
const SUPERCHUNK: [u64; 2] = [16 << 20, 64 << 20];
/// Maximum for the superchunks of all columns of a table together, which a writer may buffer.
const TABLE_SUPERCHUNK: u64 = 256 << 20;
/// Maximum size of a chunk.
const LONGEST_CHUNK: u64 = i32::MAX as u64 - 32;
/// Maximum number of chunks per superchunk, unless the caller chooses it.
const MAX_CHUNKS: u64 = 4096;

/// Bytes of content that a copy has in memory at once.
const COPY_BYTES: u64 = 16 << 20;
/// Maximum number of items for which default values are stored one by one.
const MAX_VALUES: u64 = 1 << 16;

/// Specification of a new array.
#[derive(Clone, Copy, Debug)]
pub struct ArraySpec<'a> {
    /// Data type of the items, in NumPy notation.
    pub dtype: &'a str,
    /// Length along each dimension.
    pub shape: &'a [u64],
    /// Shape of a chunk, or `None` for the default.
    pub chunks: Option<&'a [u64]>,
    /// Format of the array.
    pub format: Format,
}

/// Creates an array of zeros, or of the fill value, in a folder. The array exists from the first
/// commit on.
pub fn create(path: &OsStr, mode: Mode, new: &ArraySpec, options: &Options) -> Result<Array> {
    in_folder(path, options, |dir, session| {
        into_array(create_at(dir, mode, new, options, session)?, new.shape)
    })
}

/// Creates a dataset in a local folder, which is created if it does not exist.
pub fn in_folder<T>(
    path: &OsStr,
    options: &Options,
    make: impl FnOnce(&DatasetDir, &Arc<Session>) -> Result<T>,
) -> Result<T> {
    locate::in_new_folder(path, |above| {
        let dir = DatasetDir::local(path, options.follows_links())?;
        if !dir.path().is_empty() {
            return Err(fail!(
                Unsupported,
                "{}: it is in the folder of a table; use holdall_table_column_add()",
                dir.show("")
            ));
        }
        let session = open_session(dir.folder(), options)?;
        above
            .into_iter()
            .for_each(|above| session.created_in(above));
        make(&dir, &session)
    })
}

/// Creates an array in storage of the caller.
pub fn create_in(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    new: &ArraySpec,
    options: &Options,
) -> Result<Array> {
    into_array(
        create_at(
            &DatasetDir::of(folder),
            mode,
            new,
            options,
            &open_session(folder, options)?,
        )?,
        new.shape,
    )
}

fn into_array(file: ArrayFile, shape: &[u64]) -> Result<Array> {
    let mut array = file.into_array()?;
    array.resize(shape)?;
    Ok(array)
}

/// Creates an array without rows in a folder that is open for writing.
pub fn create_at(
    dir: &DatasetDir,
    mode: Mode,
    new: &ArraySpec,
    options: &Options,
    session: &Arc<Session>,
) -> Result<ArrayFile> {
    check_request(mode, options)?;
    if new.format != Format::BlzRfc {
        refuse_blz_rfc_options(options)?;
    }
    let dtype = Dtype::parse_argument(new.dtype)?;
    if dtype.item.has_objects() {
        return Err(fail!(
            Unsupported,
            "dtype {}: Python objects cannot be stored",
            dtype.spelling
        ));
    }
    if !(1..=MAX_NDIM).contains(&new.shape.len()) {
        return Err(fail!(
            Argument,
            "a dataset cannot have {} dimensions (expected 1 to {MAX_NDIM})",
            new.shape.len()
        ));
    }
    let storage = storage(&dtype, new, options)?;
    let writer = Writer::new(dir, mode, options, session)?;
    refuse_existing(dir, mode)?;
    for name in FOLDERS {
        dir.folder().make_folder(&dir.name(name))?;
    }
    let none: Vec<u64> = new
        .shape
        .iter()
        .enumerate()
        .map(|(i, n)| if i == 0 { 0 } else { *n })
        .collect();
    let mut meta = Meta::new(storage, none)?;
    meta.is_yaml = options.get(Opt::Yaml, 0) == 1;
    ArrayFile::open_for_writing(
        dir,
        meta,
        &ReadConfig::new(&for_reading(options), dir),
        options,
        writer,
    )
}

/// Fails if the mode or an option does not apply to creating.
pub fn check_request(mode: Mode, options: &Options) -> Result<()> {
    if !matches!(mode, Mode::New | Mode::Replace) {
        return Err(fail!(
            Argument,
            "creating takes HOLDALL_CREATE or HOLDALL_REPLACE"
        ));
    }
    options.only(
        "creating a dataset",
        &[OPEN_OPTIONS, WRITE_OPTIONS, CREATE_OPTIONS].concat(),
    )
}

/// Copies an array in its current state, with its attributes. Returns true if corrupt parts were
/// replaced by zeros because `HOLDALL_OPT_SKIP_DAMAGED` is set.
pub fn copy<'a>(
    from: &Array,
    to: impl Into<NewLocation<'a>>,
    mode: Mode,
    format: Format,
    chunks: Option<&[u64]>,
    options: &Options,
) -> Result<bool> {
    if from.is_run_in_fortran_order() {
        return Err(fail!(
            Unsupported,
            "{}: items in Fortran order cannot be stored in a dataset (expected C order)",
            from.store().name()
        ));
    }
    let (rows, row) = from
        .shape()
        .split_first()
        .ok_or_else(|| fail!(Unsupported, "a dataset cannot have 0 dimensions"))?;
    let mut options = options.clone();
    if options.given(Opt::ExpectedRows).is_none() {
        options.set(Opt::ExpectedRows, i64::try_from(*rows).unwrap_or(i64::MAX))?;
    }
    if let (None, Some(value)) = (options.given_bytes(Opt::Fill), from.fill()?) {
        options.set_bytes(Opt::Fill, value)?;
    }
    let (dtype, none) = (from.dtype_text(), [&[0], row].concat());
    let mut chunks = chunks;
    if format == Format::BlzRfc
        && from.is_chunked()
        && chunks.is_none()
        && options.given(Opt::ChunkBytes).is_none()
    {
        chunks = Some(from.chunkshape());
        if options.given(Opt::Order).is_none() {
            options.set(Opt::Order, (from.order() == Order::Fortran).into())?;
        }
    }
    let spec = ArraySpec {
        dtype: &dtype,
        shape: &none,
        chunks,
        format,
    };
    let scope = Scope::open(options.progress(), from.nbytes(), Step::Call);
    let mut new = match to.into() {
        NewLocation::Path(path) => create(path, mode, &spec, &options),
        NewLocation::Storage(folder) => create_in(folder, mode, &spec, &options),
    }?;
    for (name, value) in from.attrs()? {
        new.attr_set(&name, &value)?;
    }
    meta_files::copy(from, &mut new)?;
    let corrupt = copy_rows(from, &mut new, options.memory_limit(), &mut |done| {
        scope.at(done)
    })?;
    new.commit()?;
    scope.finish();
    Ok(corrupt || from.has_lost_attrs())
}

/// Appends all rows of an array to another one. Calls `progress` with the number of bytes copied
/// so far. Returns true if corrupt parts were replaced by zeros because `HOLDALL_OPT_SKIP_DAMAGED`
/// is set.
pub fn copy_rows(
    from: &Array,
    to: &mut Array,
    memory_limit: u64,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<bool> {
    if from.store().has_objects() {
        return copy_texts(from, to, progress);
    }
    let (rows, row) = from.shape().split_first().unwrap_or((&0, &[]));
    let bytes = from.nbytes() / rows.max(&1);
    // rows of zero bytes are copied at once, whatever their number is
    let mut most = COPY_BYTES
        .min(memory_limit)
        .checked_div(bytes)
        .map_or(*rows, |n| n.max(1));
    // complete chunks, so that each is written once
    let chunk = to.chunkshape().first().copied().unwrap_or(1).max(1);
    most -= if most > chunk { most % chunk } else { 0 };
    let mut buffer = alloc::zeroed(alloc::allow(
        most.min(*rows).saturating_mul(bytes),
        memory_limit,
        "some rows",
    )?)?;
    let (mut at, mut corrupt, mut start) = (0, false, vec![0; from.shape().len()]);
    while at < *rows {
        let n = most.min(rows - at);
        let part = buffer.at_mut(..(n * bytes) as usize)?;
        start.first_mut().into_iter().for_each(|s| *s = at);
        corrupt |= from.read(&start, &[&[n], row].concat(), None, part, None)?;
        to.append(0, n, part)?;
        at += n;
        progress(at * bytes)?;
    }
    Ok(corrupt)
}

/// Appends texts, or other values of any length, of an array to another one.
fn copy_texts(
    from: &Array,
    to: &mut Array,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<bool> {
    let rows = from.shape().first().copied().unwrap_or(0);
    for at in (0..rows).step_by(Texts::PIECE as usize) {
        let texts = from.texts(at, Texts::PIECE.min(rows - at))?;
        let end = to.shape().first().copied().unwrap_or(0);
        to.splice_texts(end, 0, &texts)?;
        progress(0)?;
    }
    Ok(false)
}

/// Fails if something else exists at the destination.
fn refuse_existing(dir: &DatasetDir, mode: Mode) -> Result<()> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", dir.show(""))
        })
    };
    let is_there = dir.has(ROOTDIRS)? || dir.has(STORAGE)? || dir.has(SIZES)?;
    if mode == Mode::Replace && is_there {
        // the files of tables and fields are in other folders
        let is_file = |n: &OsStr| n.to_str().is_some_and(|n| FileLayout::parse(n).is_some());
        let other = dir.has(ROOTDIRS)? || !dir.list("data").iter().all(|n| is_file(n));
        return if other {
            Err(fail!(
                Unsupported,
                "{}: it is not a single array, and only a single array can be replaced",
                dir.show("")
            ))
        } else {
            Ok(())
        };
    }
    if is_there {
        return exists("it is there already");
    }
    // leftovers of an interrupted writer are allowed
    let is_leftover = |n: &OsStr| {
        n.to_str()
            .is_some_and(|n| FOLDERS.contains(&n) || n.starts_with(MAIN))
    };
    match dir.list("").iter().find(|n| !is_leftover(n)) {
        Some(other) => exists(&format!(
            "the folder is not empty (found {:?})",
            other.display().to_string()
        )),
        None => Ok(()),
    }
}

/// Returns the subset of the options that applies to reading.
pub fn for_reading(options: &Options) -> Options {
    let mut reading = Options::new();
    reading.on_progress(options.progress().cloned());
    for opt in OPEN_OPTIONS {
        if let Some(n) = options.given(*opt) {
            let _ = reading.set(*opt, n);
        }
    }
    reading
}

/// Returns the contents of `meta/storage`, in the key order of the tool for this format.
fn storage(spec: &Dtype, new: &ArraySpec, options: &Options) -> Result<Value> {
    let item = &spec.item;
    let p = params(&Value::Null, &|| None, item, options)?;
    let sum = Checksum::from_number(options.get(Opt::Checksum, Checksum::Crc32 as i64) as i32)
        .map_err(|e| e.within(Opt::Checksum.name()))?;
    let rows = options
        .given(Opt::ExpectedRows)
        .map_or(new.shape.first().copied().unwrap_or(0), |n| n as u64);
    let int = |n: u64| Value::Int(n.into());
    let text = |t: &str| Value::String(t.to_owned());
    let chunked = chunk_shape(item.size as u64, rows, new, options)?;
    let (chunk, row) = match &chunked {
        Some(_) => (1, 1),
        None => chunk_rows(item.size as u64, rows, new, options)?,
    };
    let shuffle = bloscpack::filter_number(&p);
    let plain = if shuffle < 2 {
        Value::Bool(shuffle == 1)
    } else {
        int(shuffle)
    };
    let (level, cname) = (
        ("clevel", int(p.level.into())),
        ("cname", text(p.codec.name())),
    );
    let (dtype, chunklen, expectedlen) = (
        ("dtype", text(&spelling(spec))),
        ("chunklen", int(chunk)),
        ("expectedlen", int(rows)),
    );
    let precision = options.given(Opt::Precision).filter(|n| *n != 0);
    let mut given = options
        .given_bytes(Opt::Fill)
        .map_or(Vec::new(), |b| b.to_vec());
    if let Some(bits) = precision {
        // the option is at most 52
        let bits = bits as i8;
        precision::check(bits, spec)?;
        truncate_in_place(bits, item.size, &mut given)?;
    }
    // in chunks along every dimension, the default value is one item
    let row_shape = new.shape.get(1..).filter(|_| chunked.is_none());
    let dflt = (
        "dflt",
        dflt(
            &given,
            item,
            row_shape.unwrap_or_default(),
            new.format == Format::Blz,
        )?,
    );
    let bparams = || {
        (
            "bparams",
            object(&[("shuffle", plain.clone()), level.clone()]),
        )
    };
    let mut all = match new.format {
        Format::Blz => {
            decodable(&p)?;
            vec![dtype, bparams(), chunklen, dflt, expectedlen]
        }
        Format::BlzRfc => {
            let all = row_bytes(item.size as u64, new.shape)?.saturating_mul(rows);
            let bytes = match &chunked {
                Some(chunk) => nbytes(&chunk.shape, item.size).unwrap_or(u64::MAX),
                None => chunk.saturating_mul(row),
            };
            let each = ("superchunksize", int(superchunk(bytes, all, options)));
            let shape = match &chunked {
                Some(chunk) => chunk.shape.clone(),
                None => [&[chunk], new.shape.get(1..).unwrap_or_default()].concat(),
            };
            // rows without items have no chunk shape
            let shape = if shape.contains(&0) {
                chunklen.clone()
            } else {
                let shape = shape.into_iter().map(int).collect();
                ("chunkshape", Value::Array(shape))
            };
            let order = chunked.as_ref().map_or(Order::C, |chunk| chunk.order);
            let order = ("order", text(order_name(order)));
            let cparams = ("cparams", object(&[("shuffle", plain), level, cname]));
            match &chunked {
                _ if options.get(Opt::Yaml, 0) == 1 || precision.is_some() => {
                    let filters = [&[][..], &["shuffle"], &["bitshuffle"]];
                    let filters = filters.get(shuffle as usize).copied().unwrap_or_default();
                    let truncate = precision.map(|_| precision::TRUNCATE);
                    let filters = truncate.iter().chain(filters).map(|name| text(name));
                    let mut compression = vec![
                        ("library", text(p.codec.name())),
                        ("level", int(p.level.into())),
                        ("filters", Value::Array(filters.collect())),
                    ];
                    let bits = precision.map(|bits| Value::Int(bits.into()));
                    compression.extend(bits.map(|bits| (precision::TRUNCATE, bits)));
                    let compression = ("compression", object(&compression));
                    vec![dtype, shape, each, order, compression, dflt, expectedlen]
                }
                None => vec![dtype, cparams, chunklen, dflt, expectedlen, each],
                Some(_) => vec![dtype, cparams, shape, order, dflt, expectedlen, each],
            }
        }
        _ => {
            let cparams = object(&[
                level.clone(),
                ("shuffle", int(shuffle)),
                cname,
                ("quantize", int(0)),
            ]);
            let both = decodable(&p).is_ok().then(bparams);
            [dtype, ("cparams", cparams), chunklen, expectedlen, dflt]
                .into_iter()
                .chain(both)
                .collect()
        }
    };
    if let Some(row) = new
        .shape
        .get(1..)
        .filter(|row| !row.is_empty() && new.format == Format::Bcolz)
    {
        // the tools store it only in `meta/sizes`, which is torn if a tool crashes
        all.push((
            "chunkshape",
            Value::Array([&[chunk], row].concat().into_iter().map(int).collect()),
        ));
    }
    if sum != Checksum::None || new.format == Format::BlzRfc {
        all.push(("checksum", text(checksum_name(sum))));
    }
    Ok(object(&all))
}

/// Returns the number of bytes of a row.
fn row_width(columns: &[&Type]) -> u64 {
    let sizes = columns.iter().map(|item| item.size as u64);
    sizes.fold(0, u64::saturating_add).max(1)
}

/// Returns the average width of a column, for which the chunk size of a table in the BLZ RFC layout
/// is chosen.
pub fn blz_rfc_width(columns: &[&Type]) -> u64 {
    (row_width(columns) / columns.len().max(1) as u64).max(1)
}

/// Returns the metadata of a new table in the BLZ RFC layout, without its columns. All columns have
/// the same number of rows per chunk.
pub fn blz_rfc_table_meta(columns: &[&Type], options: &Options) -> Result<Meta> {
    let (row, width) = (row_width(columns), blz_rfc_width(columns));
    let rows = options.given(Opt::ExpectedRows).map_or(0, |n| n as u64);
    let bytes = rows.saturating_mul(width);
    let given = options.given(Opt::ChunkBytes).map(|n| n as u64);
    let n = (given.unwrap_or_else(|| usual_chunk(bytes, Format::BlzRfc)) / width)
        .min(LONGEST_CHUNK / row)
        .max(1);
    if options.get(Opt::Precision, 0) != 0 {
        return Err(fail!(
            Argument,
            "{} applies to arrays, not to tables",
            Opt::Precision.name()
        ));
    }
    let mut options = options.clone();
    if options.given(Opt::SuperchunkChunks).is_none() {
        let most = (TABLE_SUPERCHUNK / (n * width * columns.len().max(1) as u64)).max(1);
        options.set(
            Opt::SuperchunkChunks,
            superchunk(n * width, bytes, &options).min(most) as i64,
        )?;
    }
    options.take(Opt::ChunkBytes);
    if options.get(Opt::Order, 0) != 0 {
        return Err(fail!(
            Argument,
            "{} applies to arrays, not to tables",
            Opt::Order.name()
        ));
    }
    let dtype = Dtype::parse("[]")?;
    let new = ArraySpec {
        dtype: "",
        shape: &[0],
        chunks: Some(&[n]),
        format: Format::BlzRfc,
    };
    let mut meta = Meta::new(storage(&dtype, &new, &options)?, vec![0])?;
    meta.set_dflt(Value::Array(Vec::new()));
    meta.is_yaml = options.get(Opt::Yaml, 0) == 1;
    Ok(meta)
}

/// Fails if an option for the BLZ RFC layout is given, for another format.
fn refuse_blz_rfc_options(options: &Options) -> Result<()> {
    let given = |o: &&Opt| options.given(**o).is_some() && !options.is_default(**o);
    match BLZ_RFC_OPTIONS.iter().find(given) {
        Some(o) => Err(fail!(
            Argument,
            "{} applies to the BLZ RFC layout only, and in this format each chunk has a file of its own",
            o.name()
        )),
        None => Ok(()),
    }
}

/// Returns the number of chunks of `chunk` bytes per superchunk, for an array of `bytes` bytes.
fn superchunk(chunk: u64, bytes: u64, options: &Options) -> u64 {
    let [least, most] = SUPERCHUNK;
    let usual = ((bytes / SUPERCHUNKS).clamp(least, most) / chunk.max(1)).clamp(1, MAX_CHUNKS);
    options
        .given(Opt::SuperchunkChunks)
        .map_or(usual, |n| n as u64)
}

/// Returns the encoder of the chunk files, and the number of chunks per file.
pub fn unit_encoder(
    chunks: &Chunks,
    params: Params,
    meta: &Meta,
    options: &Options,
) -> Result<(UnitEncoder, u64)> {
    let Some(files) = chunks.superchunks() else {
        return Ok((UnitEncoder::Chunk(params, meta.checksum), 1));
    };
    let chunk_size = chunks.chunk_bytes();
    let stated = if meta.has("checksum") {
        meta.checksum
    } else {
        Checksum::Crc32
    };
    let (each, sum) = if chunks.nbytes() > 0 {
        // as in the existing files
        (files.chunks_per_file()?, files.checksum().unwrap_or(stated))
    } else {
        (
            files.chunks_per_file_or(superchunk(chunk_size, 0, options)),
            stated,
        )
    };
    let (spare_chunks, spare_bytes) = (
        options.given(Opt::SpareChunks).map(|n| n as u64),
        options.get(Opt::SpareBytes, 0) as u32,
    );
    Ok((
        UnitEncoder::Superchunk(FileEncoder {
            params,
            sum,
            chunk_size: chunk_size as usize,
            most: each,
            spare_chunks,
            spare_bytes,
        }),
        each,
    ))
}

fn object(items: &[(&str, Value)]) -> Value {
    Value::Object(
        items
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.clone()))
            .collect(),
    )
}

/// Fails if BLZ would decode the chunks to other content.
fn decodable(p: &Params) -> Result<()> {
    match bloscpack::filter_number(p) < 2 && p.codec != Codec::Zstd {
        true => Ok(()),
        false => Err(fail!(
            Unsupported,
            "BLZ, which must be able to read the array, does not support zstd and bitshuffle"
        )),
    }
}

/// Returns the dtype as `str(dtype)` in NumPy: little-endian numbers by name, other types without
/// the quotes of a string constant.
fn spelling(dtype: &Dtype) -> String {
    let item = &dtype.item;
    let unit = |name: &str, unit: &str| {
        if unit.is_empty() {
            name.to_owned()
        } else {
            format!("{name}[{unit}]")
        }
    };
    let name = match &item.kind {
        Kind::Bool => "bool".to_owned(),
        Kind::Int => format!("int{}", item.size * 8),
        Kind::Uint => format!("uint{}", item.size * 8),
        Kind::Float if item.size <= 8 => format!("float{}", item.size * 8),
        Kind::Complex if item.size <= 16 => format!("complex{}", item.size * 8),
        Kind::Datetime(u) => unit("datetime64", u),
        Kind::Timedelta(u) => unit("timedelta64", u),
        _ => String::new(),
    };
    if !name.is_empty() && !item.big_endian {
        return name;
    }
    let constant = dtype.to_python_literal();
    constant
        .strip_prefix('\'')
        .and_then(|t| t.strip_suffix('\''))
        .map_or(constant.clone(), str::to_owned)
}

/// Returns the default value for these bytes as the tools write it. An empty slice means zeros.
/// With `each`, the value is repeated for each item of a row, as BLZ does.
pub fn dflt(bytes: &[u8], item: &Type, row: &[u64], each: bool) -> Result<Value> {
    let value = if bytes.is_empty() {
        zero(item)
    } else {
        fill_value::value(bytes, item, row)?
    };
    let is_one = bytes.len() <= item.size && !matches!(item.kind, Kind::Struct(_));
    let items = row.iter().fold(1, |n: u64, d| n.saturating_mul(*d));
    if !each || !is_one || items > MAX_VALUES {
        return Ok(value);
    }
    Ok(row
        .iter()
        .rev()
        .fold(value, |inner, n| Value::Array(vec![inner; *n as usize])))
}

fn zero(item: &Type) -> Value {
    match &item.kind {
        Kind::Bool => Value::Bool(false),
        Kind::Float => Value::Float(0.0),
        Kind::Bytes | Kind::Str | Kind::Void => Value::String(String::new()),
        Kind::Struct(fields) => Value::Array(fields.iter().map(|f| zero(&f.item)).collect()),
        _ => Value::Int(0),
    }
}

/// Returns the name of an order in `meta/storage`.
fn order_name(order: Order) -> &'static str {
    match order {
        Order::C => "C",
        Order::Fortran => "F",
    }
}

/// Returns the shape of a chunk if chunks do not consist of complete rows in C order, which only
/// the BLZ RFC layout supports.
fn chunk_shape(
    item: u64,
    rows: u64,
    new: &ArraySpec,
    options: &Options,
) -> Result<Option<ChunkShape>> {
    let is_fortran = options.get(Opt::Order, 0) == 1 && new.shape.len() > 1;
    let order = if is_fortran { Order::Fortran } else { Order::C };
    let row = new.shape.get(1..).unwrap_or_default();
    let shape = match new.chunks {
        _ if new.format != Format::BlzRfc => return Ok(None),
        Some(chunks) if chunks.get(1..) == Some(row) && !is_fortran => return Ok(None),
        None if !is_fortran => return Ok(None),
        Some(chunks) => {
            if options.given(Opt::ChunkBytes).is_some() {
                // the error is that of chunks of complete rows
                chunk_rows(item, rows, new, options)?;
            }
            chunks.to_vec()
        }
        None => {
            let (n, _) = chunk_rows(item, rows, new, options)?;
            let row = row.iter().map(|n| (*n).max(1));
            std::iter::once(n).chain(row).collect()
        }
    };
    let fits = nbytes(&shape, item as usize).is_some_and(|n| n <= LONGEST_CHUNK);
    if shape.len() != new.shape.len() || shape.contains(&0) || !fits || item == 0 {
        return Err(fail!(
            Argument,
            "chunks of the shape {shape:?} for an array of the shape {:?} (expected a length of at least 1 for each dimension, and less than 2 GiB)",
            new.shape
        ));
    }
    Ok(Some(ChunkShape { shape, order }))
}

/// Returns the bytes per row, which are at least 1.
fn row_bytes(item: u64, shape: &[u64]) -> Result<u64> {
    let row = { shape.iter().skip(1) }.try_fold(item, |n, d| n.checked_mul(*d));
    let row = row.ok_or_else(|| fail!(Argument, "the shape {shape:?} has more than 2^64 bytes"))?;
    Ok(row.max(1))
}

/// Returns the rows per chunk and the bytes per row, which are at least 1.
fn chunk_rows(item: u64, rows: u64, new: &ArraySpec, options: &Options) -> Result<(u64, u64)> {
    let row = row_bytes(item, new.shape)?;
    let given = options.given(Opt::ChunkBytes).map(|n| n as u64);
    let n = match (new.chunks, given) {
        (Some(_), Some(n)) => {
            return Err(fail!(
                Argument,
                "a chunk shape and {} = {n} are both given; choose one",
                Opt::ChunkBytes.name()
            ));
        }
        (Some(chunks), None) if chunks.get(1..) == new.shape.get(1..) => {
            chunks.first().copied().unwrap_or(0)
        }
        (Some(chunks), None) => {
            return Err(fail!(
                Unsupported,
                "chunks of the shape {chunks:?} do not consist of complete rows of {:?}",
                new.shape
            ));
        }
        (None, given) => {
            (given.unwrap_or_else(|| usual_chunk(rows.saturating_mul(row), new.format)) / row)
                .max(1)
        }
    };
    let fits = n.checked_mul(row).is_some_and(|n| n <= LONGEST_CHUNK);
    if n > 0 && fits {
        Ok((n, row))
    } else {
        Err(fail!(
            Argument,
            "chunks of {n} rows of {row} bytes (expected at least one row and less than 2 GiB)"
        ))
    }
}

/// Returns the chunk size in bytes that bcolz chooses for `bytes` bytes of content: 16 KiB to 4
/// MiB, four times as much for a hundred times the content. BLZ uses a quarter of it.
fn usual_chunk(bytes: u64, format: Format) -> u64 {
    let mib = (bytes as f64 / f64::from(1 << 20)).clamp(1e-4, 1e4);
    let base = if format == Format::Blz {
        1024.0
    } else {
        4096.0
    };
    // rounded towards 0, as in bcolz
    (base * (mib.log10().trunc() + 6.0).exp2()) as u64
}

/// Fills in options that are not given (codec, level, checksum) from an existing array, for at
/// least `rows` rows.
pub fn inherit_options(options: &mut Options, stored: &Meta, rows: u64) -> Result<()> {
    let p = params(&stored.storage, &|| None, &stored.array.dtype.item, options)?;
    let expected = stored
        .storage
        .get("expectedlen")
        .and_then(Value::as_u64)
        .unwrap_or(0)
        .max(rows);
    let rows = i64::try_from(expected).unwrap_or(i64::MAX);
    for (opt, value) in [
        (Opt::Codec, i64::from(p.codec.number()) + 1),
        (Opt::Level, p.level.into()),
        (Opt::Checksum, stored.checksum as i64),
        (Opt::ExpectedRows, rows),
    ] {
        if options.given(opt).is_none() {
            options.set(opt, value)?;
        }
    }
    Ok(())
}

/// Returns the compression parameters. For each one the options have precedence, then the metadata
/// of the dataset, then its chunks, then the default (LZ4 and shuffle).
pub fn params(
    storage: &Value,
    stored_codec: &dyn Fn() -> Option<Codec>,
    item: &Type,
    options: &Options,
) -> Result<Params> {
    let mut options = options.clone();
    if options.given_bytes(Opt::Filters).is_none() {
        meta::check_filters(storage)?;
    }
    if options.given(Opt::Codec).is_none() && storage != &Value::Null {
        let codec = match meta::stated_codec(storage) {
            Some(name) => {
                Codec::from_name(name).ok_or_else(|| fail!(Codec, "codec {name:?} is unknown"))?
            }
            // BLZ does not store it
            None => stored_codec().unwrap_or(Codec::BloscLz),
        };
        // every reader of Snappy reads LZ4
        let codec = if codec == Codec::Snappy {
            Codec::Lz4
        } else {
            codec
        };
        options.set(Opt::Codec, i64::from(codec.number()) + 1)?;
    }
    if let (None, Some(level)) = (options.given(Opt::Level), meta::stated_level(storage)) {
        options.set(Opt::Level, level.min(9) as i64)?;
    }
    let filter = meta::stated_filter(storage);
    if let (None, Some(filter)) = (options.given_bytes(Opt::Filters), filter) {
        options.set_bytes(Opt::Filters, &[filter])?;
    }
    let params = bloscpack::params(&options, typesize(item), None)?;
    if storage.get("bparams").is_some() {
        decodable(&params)?;
    }
    Ok(params)
}

/// Returns the type size that the tools use.
fn typesize(item: &Type) -> usize {
    match item.kind {
        Kind::Bytes => 1,
        Kind::Str => 4,
        _ => Some(item.size)
            .filter(|n| (1..=255).contains(n))
            .unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_are_those_of_the_tools() {
        // bcolz.utils.calc_chunksize
        for (bytes, expected) in [
            (0, 16 << 10),
            (800, 32 << 10),
            (80_000, 128 << 10),
            (1 << 20, 256 << 10),
            (9 << 20, 256 << 10),
            (10 << 20, 512 << 10),
            (400_000_000, 1 << 20),
            (1 << 50, 4 << 20),
        ] {
            assert_eq!(usual_chunk(bytes, Format::Bcolz), expected, "{bytes}");
            assert_eq!(usual_chunk(bytes, Format::Blz), expected / 4, "{bytes}");
        }
    }
}
