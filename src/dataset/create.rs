//! New datasets, and what `meta/storage` says: of a new one, and of one that is there, for what is
//! appended to it.
//!
//! bcolz's is in the form that BLZ reads and changes as well: it has the parameters of both, and
//! what BLZ would not decode it does not say that it has. BLZ's is as BLZ writes it. That of the
//! papers has superchunks, and says how many chunks each of them has.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::chunks::{Chunks, How};
use super::commit::{FOLDERS, MAIN, Site, Writer};
use super::edit::{Make, Names};
use super::fill_value;
use super::folder::Place;
use super::meta::{Meta, SIZES, STORAGE, sum_name};
use super::open::ROOTDIRS;
use crate::alloc;
use crate::array::Array;
use crate::array::dtype::{Dtype, Kind, Type};
use crate::array::numpy_meta::Order;
use crate::array::selection::MAX_NDIM;
use crate::blosc::{Codec, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result, Status, fail};
use crate::identify::Format;
use crate::io::{self, Folder, locate};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{self, Mode, OPEN_OPTIONS, Whole};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Options that opening for writing knows besides those of reading.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::BlockBytes,
    Opt::SpareChunks,
    Opt::SpareBytes,
];
/// Options that only creating knows.
const CREATE_OPTIONS: &[Opt] = &[
    Opt::ChunkBytes,
    Opt::Checksum,
    Opt::ExpectedRows,
    Opt::SuperchunkChunks,
    Opt::Fill,
];
/// Options that only the papers' form knows.
const PAPER_OPTIONS: &[Opt] = &[Opt::SpareChunks, Opt::SpareBytes, Opt::SuperchunkChunks];

/// Content of a superchunk: this part of all there is going to be, within these limits.
const SUPERCHUNKS: u64 = 256;
const SUPERCHUNK: [u64; 2] = [16 << 20, 64 << 20];
/// The same of all columns of a table together: what a writer may have in memory of them.
const TABLE_SUPERCHUNK: u64 = 256 << 20;
/// The longest chunk.
const LONGEST_CHUNK: u64 = i32::MAX as u64 - 32;
/// The most chunks of a superchunk that is not told.
const MOST_CHUNKS: u64 = 4096;

/// Content that a copy has in memory at once.
const PIECE: u64 = 16 << 20;
/// Default values that are put down one by one.
const MOST_VALUES: u64 = 1 << 16;

/// What a new array is.
#[derive(Clone, Copy, Debug)]
pub struct Kindred<'a> {
    /// Its items, as NumPy spells them.
    pub dtype: &'a str,
    /// Its length along each dimension.
    pub shape: &'a [u64],
    /// The shape of a chunk, if it is given.
    pub chunks: Option<&'a [u64]>,
    /// Whose form it has.
    pub format: Format,
}

/// Creates an array of zeros, or of the fill value, in a folder; it is there with the first commit.
pub fn create(path: &OsStr, mode: Mode, new: &Kindred, options: &Options) -> Result<Array> {
    in_folder(path, options, |place, site| {
        into_array(create_at(place, mode, new, options, site)?, new.shape)
    })
}

/// Makes something in a local folder, which is made where there is none.
pub fn in_folder<T>(
    path: &OsStr,
    options: &Options,
    make: impl FnOnce(&Place, &Arc<Site>) -> Result<T>,
) -> Result<T> {
    // without a slash at its end
    let it = locate::locate_for_change(Path::new(path).components().as_path().as_os_str())?;
    let is_new = !it.folder.exists(&it.name)?;
    if !is_new && it.folder.obstacle(&it.name)? != Some(io::A_FOLDER) {
        let words = "a file is there, which no folder takes the place of, also with HOLDALL_REPLACE; rename or remove it";
        return Err(fail!(Exists, "{}: {words}", it.folder.show(&it.name)));
    }
    it.folder.make_folder(&it.name)?;
    let made = || {
        let place = Place::local(path)?;
        if !place.own().is_empty() {
            return Err(fail!(
                Unsupported,
                "{}: this is in the folder of a table: see holdall_table_column_add()",
                place.show("")
            ));
        }
        let site = Site::new(place.folder(), options)?;
        if is_new {
            site.made_in(it.folder.clone());
        }
        make(&place, &site)
    };
    made().inspect_err(|_| {
        if is_new {
            let _ = it.folder.remove_folder(&it.name);
        }
    })
}

/// The same in storage of the caller's.
pub fn create_in(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    new: &Kindred,
    options: &Options,
) -> Result<Array> {
    into_array(
        create_at(
            &Place::of(folder),
            mode,
            new,
            options,
            &Site::new(folder, options)?,
        )?,
        new.shape,
    )
}

fn into_array(file: ArrayFile, shape: &[u64]) -> Result<Array> {
    let mut array = file.into_array()?;
    array.resize(shape)?;
    Ok(array)
}

/// The same in this place of a folder that is open for writing; no rows are there yet.
pub fn create_at(
    place: &Place,
    mode: Mode,
    new: &Kindred,
    options: &Options,
    site: &Arc<Site>,
) -> Result<ArrayFile> {
    check_request(mode, options)?;
    paper_options(new.format == Format::BlzPaper, options)?;
    let dtype = Dtype::wanted(new.dtype)?;
    if dtype.item.has_objects() {
        return Err(fail!(
            Unsupported,
            "dtype {}: objects of Python's mean nothing in a file",
            dtype.spelling
        ));
    }
    if !(1..=MAX_NDIM).contains(&new.shape.len()) {
        return Err(fail!(
            Argument,
            "an array of {} dimensions: a dataset has 1 to {MAX_NDIM}",
            new.shape.len()
        ));
    }
    let storage = storage(&dtype, new, options)?;
    let writer = Writer::new(place, mode, options, site)?;
    refuse_existing(place, mode)?;
    for name in FOLDERS {
        place.folder().make_folder(&place.name(name))?;
    }
    let none: Vec<u64> = new
        .shape
        .iter()
        .enumerate()
        .map(|(i, n)| if i == 0 { 0 } else { *n })
        .collect();
    let meta = Meta::new(storage, none)?;
    ArrayFile::open_for_writing(
        place,
        meta,
        &How::new(&for_reading(options), place),
        options,
        writer,
    )
}

/// Refuses modes and options with which nothing is created.
pub fn check_request(mode: Mode, options: &Options) -> Result<()> {
    if !matches!(mode, Mode::New | Mode::Replace) {
        return Err(fail!(
            Argument,
            "creating takes HOLDALL_NEW or HOLDALL_REPLACE"
        ));
    }
    options.only(
        "creating a dataset",
        &[OPEN_OPTIONS, WRITE_OPTIONS, CREATE_OPTIONS].concat(),
    )
}

/// Copies an array, as it is here and now, with its attributes. True: some of it was damaged, and
/// is zeros, as was wished.
pub fn copy(
    from: &Array,
    path: &OsStr,
    mode: Mode,
    format: Format,
    chunks: Option<&[u64]>,
    options: &Options,
) -> Result<bool> {
    if from.order() != Order::C {
        return Err(fail!(
            Unsupported,
            "{}: items in Fortran order: a dataset has them in C order",
            from.store().name()
        ));
    }
    let (rows, row) = from.shape().split_first().ok_or_else(|| {
        fail!(
            Unsupported,
            "an array without dimensions: a dataset has some"
        )
    })?;
    let mut options = options.clone();
    if options.given(Opt::ExpectedRows).is_none() {
        options.set(Opt::ExpectedRows, i64::try_from(*rows).unwrap_or(i64::MAX))?;
    }
    if let (None, Some(value)) = (options.given_bytes(Opt::Fill), from.store().fill()?) {
        options.set_bytes(Opt::Fill, value)?;
    }
    let (dtype, none) = (from.dtype_text(), [&[0], row].concat());
    let mut new = create(
        path,
        mode,
        &Kindred {
            dtype: &dtype,
            shape: &none,
            chunks,
            format,
        },
        &options,
    )?;
    for (name, value) in from.attrs()? {
        new.attr_set(&name, &value)?;
    }
    let bytes = from.nbytes() / rows.max(&1);
    // rows of no bytes are copied at once, however many there are
    let most = PIECE.checked_div(bytes).map_or(*rows, |n| n.max(1));
    let mut buffer = alloc::zeroed(alloc::allow(
        most.min(*rows).saturating_mul(bytes),
        options.memory_limit(),
        "some rows",
    )?)?;
    let (mut at, mut bad, mut start) = (0, from.has_lost_attrs(), vec![0; from.shape().len()]);
    while at < *rows {
        let n = most.min(rows - at);
        let part = buffer.get_mut(..(n * bytes) as usize).unwrap_or_default();
        start.first_mut().into_iter().for_each(|s| *s = at);
        bad |= from.read(&start, &[&[n], row].concat(), None, part, None)?;
        new.append(0, n, part)?;
        at += n;
        options.progress(at * bytes, from.nbytes())?;
    }
    new.commit()?;
    Ok(bad)
}

/// Refuses to write where something else is.
fn refuse_existing(place: &Place, mode: Mode) -> Result<()> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", place.show(""))
        })
    };
    let is_there = place.has(ROOTDIRS)? || place.has(STORAGE)? || place.has(SIZES)?;
    if mode == Mode::Replace && is_there {
        // the files of a table, and of fields, stand in other folders
        let is_file = |n: &OsStr| n.to_str().is_some_and(|n| Names::parse(n).is_some());
        let other = place.has(ROOTDIRS)? || !place.list("data").iter().all(|n| is_file(n));
        return if other {
            Err(fail!(
                Unsupported,
                "{}: only an array without anything beside it can be replaced",
                place.show("")
            ))
        } else {
            Ok(())
        };
    }
    if is_there {
        return exists("it is there already");
    }
    // what a writer that was cut off has left may be there
    let ours = |n: &OsStr| {
        n.to_str()
            .is_some_and(|n| FOLDERS.contains(&n) || n.starts_with(MAIN))
    };
    match place.list("").iter().find(|n| !ours(n)) {
        Some(other) => exists(&format!(
            "{:?} is there, an empty folder was expected",
            other.display().to_string()
        )),
        None => Ok(()),
    }
}

/// The options for reading what is written.
pub fn for_reading(options: &Options) -> Options {
    let mut reading = Options::new();
    for opt in OPEN_OPTIONS {
        if let Some(n) = options.given(*opt) {
            let _ = reading.set(*opt, n);
        }
    }
    reading
}

/// What `meta/storage` says, in the order in which its tool has it.
fn storage(dtype: &Dtype, new: &Kindred, options: &Options) -> Result<Value> {
    let item = &dtype.item;
    let p = params(&Value::Null, &|| None, item, options)?;
    let sum = Sum::from_number(options.get(Opt::Checksum, Sum::Crc32 as i64) as i32)
        .map_err(|e| e.within(Opt::Checksum.name()))?;
    let rows = options
        .given(Opt::ExpectedRows)
        .map_or(new.shape.first().copied().unwrap_or(0), |n| n as u64);
    let int = |n: u64| Value::Int(n.into());
    let text = |t: &str| Value::String(t.to_owned());
    let (chunk, row) = chunk_rows(item.size as u64, rows, new, options)?;
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
        ("dtype", text(&spelling(dtype))),
        ("chunklen", int(chunk)),
        ("expectedlen", int(rows)),
    );
    let given = options.given_bytes(Opt::Fill).map_or(&[][..], |b| b);
    let dflt = (
        "dflt",
        dflt(
            given,
            item,
            new.shape.get(1..).unwrap_or_default(),
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
        Format::BlzPaper => {
            let cparams = object(&[("shuffle", plain), level, cname]);
            let each = superchunk(chunk.saturating_mul(row), rows.saturating_mul(row), options);
            vec![
                dtype,
                ("cparams", cparams),
                chunklen,
                dflt,
                expectedlen,
                ("superchunksize", int(each)),
            ]
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
        // the tools have it in `meta/sizes` alone, which a crash of theirs tears
        all.push((
            "chunkshape",
            Value::Array([&[chunk], row].concat().into_iter().map(int).collect()),
        ));
    }
    if sum != Sum::None || new.format == Format::BlzPaper {
        all.push(("checksum", text(sum_name(sum))));
    }
    Ok(object(&all))
}

/// What a new table in the papers' form says of itself, but for its columns: all have as many rows
/// in a chunk.
pub fn of_papers(columns: &[&Type], options: &Options) -> Result<Meta> {
    paper_options(true, options)?;
    let row = columns
        .iter()
        .fold(0, |n: u64, item| n.saturating_add(item.size as u64))
        .max(1);
    // of a column of average width
    let width = (row / columns.len().max(1) as u64).max(1);
    let rows = options.given(Opt::ExpectedRows).map_or(0, |n| n as u64);
    let bytes = rows.saturating_mul(width);
    let given = options.given(Opt::ChunkBytes).map(|n| n as u64);
    let n = (given.unwrap_or_else(|| usual_chunk(bytes, Format::BlzPaper)) / width)
        .min(LONGEST_CHUNK / row)
        .max(1);
    let mut options = options.clone();
    if options.given(Opt::SuperchunkChunks).is_none() {
        let most = (TABLE_SUPERCHUNK / (n * width * columns.len().max(1) as u64)).max(1);
        options.set(
            Opt::SuperchunkChunks,
            superchunk(n * width, bytes, &options).min(most) as i64,
        )?;
    }
    options.take(Opt::ChunkBytes);
    let dtype = Dtype::parse("[]")?;
    let new = Kindred {
        dtype: "",
        shape: &[0],
        chunks: Some(&[n]),
        format: Format::BlzPaper,
    };
    let mut meta = Meta::new(storage(&dtype, &new, &options)?, vec![0])?;
    meta.set_dflt(Value::Array(Vec::new()));
    Ok(meta)
}

/// Refuses options that mean nothing to a form without superchunks.
fn paper_options(is_paper: bool, options: &Options) -> Result<()> {
    match PAPER_OPTIONS
        .iter()
        .find(|o| !is_paper && options.given(**o).is_some())
    {
        Some(o) => Err(fail!(
            Argument,
            "{} means something where chunks stand together in superchunks, and here each has a file",
            o.name()
        )),
        None => Ok(()),
    }
}

/// How many chunks of so many bytes a superchunk has, where there are going to be `bytes` in all.
fn superchunk(chunk: u64, bytes: u64, options: &Options) -> u64 {
    let [least, most] = SUPERCHUNK;
    let usual = ((bytes / SUPERCHUNKS).clamp(least, most) / chunk.max(1)).clamp(1, MOST_CHUNKS);
    options
        .given(Opt::SuperchunkChunks)
        .map_or(usual, |n| n as u64)
}

/// How the files of these chunks are made, and how many chunks each of them has.
pub fn make(
    chunks: &Chunks,
    params: Params,
    meta: &Meta,
    options: &Options,
) -> Result<(Make, u64)> {
    let Some(files) = chunks.superchunks() else {
        paper_options(false, options)?;
        return Ok((Make::One(params, meta.checksum), 1));
    };
    let chunk_size = chunks.chunk_bytes();
    let said = if meta.has("checksum") {
        meta.checksum
    } else {
        Sum::Crc32
    };
    let (each, sum) = if chunks.nbytes() > 0 {
        // as the others are
        (files.each()?, files.sum().unwrap_or(said))
    } else {
        (files.each_or(superchunk(chunk_size, 0, options)), said)
    };
    let (spare_chunks, spare_bytes) = (
        options.given(Opt::SpareChunks).map(|n| n as u64),
        options.get(Opt::SpareBytes, 0) as u32,
    );
    Ok((
        Make::Many(Whole {
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

/// Refuses what BLZ would take for something else.
fn decodable(p: &Params) -> Result<()> {
    match bloscpack::filter_number(p) < 2 && p.codec != Codec::Zstd {
        true => Ok(()),
        false => Err(fail!(
            Unsupported,
            "zstd and bitshuffle: BLZ, which is to read it too, does not know them"
        )),
    }
}

/// A dtype as `str` has it in NumPy: numbers in the byte order of all machines by their names,
/// other types without the quotes of a constant that is text.
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

/// The default value of these bytes, as the tools write it; of none: zeros. `each`: for each item
/// of a row, as BLZ has it.
pub fn dflt(bytes: &[u8], item: &Type, row: &[u64], each: bool) -> Result<Value> {
    let value = if bytes.is_empty() {
        zero(item)
    } else {
        fill_value::value(bytes, item, row)?
    };
    let is_one = bytes.len() <= item.size && !matches!(item.kind, Kind::Struct(_));
    let items = row.iter().fold(1, |n: u64, d| n.saturating_mul(*d));
    if !each || !is_one || items > MOST_VALUES {
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

/// Rows of a chunk, and bytes of a row, which are one at least.
fn chunk_rows(item: u64, rows: u64, new: &Kindred, options: &Options) -> Result<(u64, u64)> {
    let row = new
        .shape
        .iter()
        .skip(1)
        .try_fold(item, |n, d| n.checked_mul(*d));
    let row = row
        .ok_or_else(|| fail!(Argument, "the shape {:?}: more than 2^64 bytes", new.shape))?
        .max(1);
    let given = options.given(Opt::ChunkBytes).map(|n| n as u64);
    let n = match (new.chunks, given) {
        (Some(_), Some(n)) => {
            return Err(fail!(
                Argument,
                "a shape of chunks, and {}: {n}",
                Opt::ChunkBytes.name()
            ));
        }
        (Some(chunks), None) if chunks.get(1..) == new.shape.get(1..) => {
            chunks.first().copied().unwrap_or(0)
        }
        (Some(chunks), None) => {
            return Err(fail!(
                Unsupported,
                "chunks of {chunks:?}: in a dataset they are rows of {:?}",
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
            "chunks of {n} rows of {row} bytes: a chunk has at least one row and less than 2 GiB"
        ))
    }
}

/// Bytes of a chunk, as bcolz chooses them for so many bytes of content: 16 KiB to 4 MiB, four
/// times as many for a hundred times the content; BLZ takes a quarter of that.
fn usual_chunk(bytes: u64, format: Format) -> u64 {
    let mib = (bytes as f64 / f64::from(1 << 20)).clamp(1e-4, 1e4);
    let base = if format == Format::Blz {
        1024.0
    } else {
        4096.0
    };
    // towards 0, as there
    (base * (mib.log10().trunc() + 6.0).exp2()) as u64
}

/// Makes what is new as what is there (codec, level, checksum), where the options say nothing, for
/// so many rows at least.
pub fn as_there(options: &mut Options, there: &Meta, rows: u64) -> Result<()> {
    let p = params(&there.storage, &|| None, &there.array.dtype.item, options)?;
    let expected = there
        .storage
        .get("expectedlen")
        .and_then(Value::as_u64)
        .unwrap_or(0)
        .max(rows);
    let rows = i64::try_from(expected).unwrap_or(i64::MAX);
    for (opt, value) in [
        (Opt::Codec, i64::from(p.codec.number()) + 1),
        (Opt::Level, p.level.into()),
        (Opt::Checksum, there.checksum as i64),
        (Opt::ExpectedRows, rows),
    ] {
        if options.given(opt).is_none() {
            options.set(opt, value)?;
        }
    }
    Ok(())
}

/// How chunks are made: as the options say, else as the dataset says, or its chunks are, else with
/// LZ4 and shuffle.
pub fn params(
    storage: &Value,
    there: &dyn Fn() -> Option<Codec>,
    item: &Type,
    options: &Options,
) -> Result<Params> {
    let mut options = options.clone();
    let stored = |key: &str| {
        ["cparams", "bparams"]
            .iter()
            .find_map(|of| storage.get(of)?.get(key))
    };
    if options.given(Opt::Codec).is_none() && storage != &Value::Null {
        let codec = match stored("cname").and_then(Value::as_str) {
            Some(name) => Codec::from_name(name)
                .ok_or_else(|| fail!(Codec, "codec {name:?}: it is not known"))?,
            // BLZ does not put it down
            None => there().unwrap_or(Codec::BloscLz),
        };
        // whoever reads Snappy reads LZ4
        let codec = if codec == Codec::Snappy {
            Codec::Lz4
        } else {
            codec
        };
        options.set(Opt::Codec, i64::from(codec.number()) + 1)?;
    }
    if let (None, Some(level)) = (
        options.given(Opt::Level),
        stored("clevel").and_then(Value::as_u64),
    ) {
        options.set(Opt::Level, level.min(9) as i64)?;
    }
    if let (None, Some(shuffle)) = (options.given_bytes(Opt::Filters), stored("shuffle")) {
        let number = match shuffle {
            Value::Bool(yes) => u8::from(*yes),
            other => other.as_u64().map_or(1, |n| n.min(2) as u8),
        };
        options.set_bytes(Opt::Filters, &[number])?;
    }
    let params = bloscpack::params(&options, typesize(item), None)?;
    if storage.get("bparams").is_some() {
        decodable(&params)?;
    }
    Ok(params)
}

/// What the tools take for it.
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
    fn chunks_are_as_long_as_those_of_the_tools() {
        // bcolz.utils.calc_chunksize
        for (bytes, want) in [
            (0, 16 << 10),
            (800, 32 << 10),
            (80_000, 128 << 10),
            (1 << 20, 256 << 10),
            (9 << 20, 256 << 10),
            (10 << 20, 512 << 10),
            (400_000_000, 1 << 20),
            (1 << 50, 4 << 20),
        ] {
            assert_eq!(usual_chunk(bytes, Format::Bcolz), want, "{bytes}");
            assert_eq!(usual_chunk(bytes, Format::Blz), want / 4, "{bytes}");
        }
    }
}
