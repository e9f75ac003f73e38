//! The metadata of a dataset: `meta/sizes`, with the number of rows of the last commit, and
//! `meta/storage`, which describes how they are stored.
//!
//! Unknown keys belong to the tools and are preserved. Keys that only writers need (`expectedlen`,
//! `cparams`) are in [`Meta::storage`]. All numbers are checked for consistency before any file is
//! opened with them.
#![forbid(unsafe_code)]

use super::folder::DatasetDir;
use super::precision;
use super::yaml;
use crate::array::selection::MAX_NDIM;
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::{ArrayMeta, Order, nbytes};
use crate::dtype::{Dtype, Kind, Type};
use crate::error::{Error, Result, fail};
use crate::json::{self, Value};
use crate::options::Opt;

/// File with the number of rows.
pub const SIZES: &str = "meta/sizes";
/// File that describes how the rows are stored.
pub const STORAGE: &str = "meta/storage";
/// Value of the key `fields` if each field has a folder of its own.
pub const APART: &str = "apart";
/// Maximum length of the name of a codec or a checksum that is passed on to fields.
const MAX_NAME: usize = 64;
/// Chunks that do not consist of complete rows in C order.
#[derive(Clone, Debug)]
pub struct ChunkShape {
    /// Length of a chunk along each dimension.
    pub shape: Vec<u64>,
    /// Order of the items in a chunk.
    pub order: Order,
}

/// The metadata of a dataset; see the module documentation.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Data type, shape and order, which is always C.
    pub array: ArrayMeta,
    /// Number of rows in a chunk.
    pub chunklen: u64,
    /// The shape of a chunk, if chunks do not consist of complete rows in C order.
    pub chunked: Option<ChunkShape>,
    /// Number of chunks in a superchunk file, if stated.
    pub superchunk: Option<u64>,
    /// True if the metadata states that each field has a folder of its own.
    pub has_field_dirs: bool,
    /// Algorithm of the digest after each chunk in a file of its own.
    pub checksum: Checksum,
    /// Fill value: the value of items that were never written.
    pub dflt: Value,
    /// Stored size in bytes, as estimated by the writer.
    pub cbytes: u64,
    /// Size in bytes of the objects, if the items are Python objects.
    pub object_bytes: u64,
    /// The complete contents of `meta/storage`.
    pub storage: Value,
    /// True if the metadata files are written as YAML.
    pub is_yaml: bool,
}

/// The files that [`Meta`] was read from, to find out whether they changed meanwhile.
pub struct MetaTexts {
    dir: DatasetDir,
    /// The contents of `meta/sizes` and `meta/storage`.
    texts: [Vec<u8>; 2],
}

impl MetaTexts {
    /// Returns true if both files still have the same content.
    pub fn are_current(&self) -> Result<bool> {
        let [sizes, storage] = &self.texts;
        Ok(self.dir.content_equals(SIZES, sizes)? && self.dir.content_equals(STORAGE, storage)?)
    }
}

impl Meta {
    /// Reads the metadata of the dataset in `dir`. With `lenient`, an `nbytes` that contradicts the
    /// shape is accepted.
    pub fn read(dir: &DatasetDir, limit: u64, lenient: bool) -> Result<Meta> {
        Meta::read_with_texts(dir, limit, lenient).map(|(meta, _)| meta)
    }

    /// Reads the metadata as [`Meta::read`] does, and returns the contents of its files, too.
    pub fn read_with_texts(
        dir: &DatasetDir,
        limit: u64,
        lenient: bool,
    ) -> Result<(Meta, MetaTexts)> {
        let get = |name: &str| {
            let text = dir.read(name, limit)?.ok_or_else(|| {
                fail!(
                    Missing,
                    "{}: the file is missing, and the array cannot be read without it",
                    dir.show(name)
                )
            })?;
            let value = parse(&text).map_err(|e| e.within(dir.show(name)))?;
            Ok((value, text))
        };
        let ((sizes, sizes_text), (storage, storage_text)) = (get(SIZES)?, get(STORAGE)?);
        let is_yaml = yaml::may_be_yaml(&storage_text);
        let mut meta = Meta::of_storage(storage).map_err(|e| e.within(dir.show(STORAGE)))?;
        meta.is_yaml = is_yaml;
        meta.apply_sizes(&sizes, lenient)
            .map_err(|e| e.within(dir.show(SIZES)))?;
        meta.check_chunks()
            .map_err(|e| e.within(dir.show(STORAGE)))?;
        let texts = MetaTexts {
            dir: dir.clone(),
            texts: [sizes_text, storage_text],
        };
        Ok((meta, texts))
    }

    /// Returns the metadata for the fields of this array; the caller sets the dtype. Values that
    /// only other fields need are left out, because there may be very many fields.
    pub fn of_field(&self) -> Meta {
        let item = Type {
            kind: Kind::Void,
            big_endian: false,
            size: 0,
        };
        let array = ArrayMeta {
            dtype: Dtype {
                spelling: String::new(),
                item,
            },
            shape: self.array.shape.clone(),
            order: Order::C,
        };
        let small = |v: &Value| {
            !matches!(v, Value::Array(_) | Value::Object(_))
                && v.as_str().is_none_or(|t| t.len() <= MAX_NAME)
        };
        let some = |of: &Value, keys: &[&str]| {
            let found = keys.iter().filter_map(|key| {
                Some(((*key).to_owned(), of.get(key).filter(|v| small(v))?.clone()))
            });
            found.collect::<Vec<_>>()
        };
        let mut storage = some(
            &self.storage,
            &["chunklen", "expectedlen", "superchunksize", "checksum"],
        );
        for of in ["cparams", "bparams"] {
            let stated = self
                .storage
                .get(of)
                .map(|of| some(of, &["clevel", "shuffle", "cname", "quantize"]));
            storage.extend(stated.map(|stated| (of.to_owned(), Value::Object(stated))));
        }
        if let Some(compression) = self.storage.get("compression") {
            let mut stated = some(compression, &["library", "level"]);
            let filters = compression.get("filters").cloned();
            stated.extend(filters.map(|filters| ("filters".to_owned(), filters)));
            storage.push(("compression".to_owned(), Value::Object(stated)));
        }
        Meta {
            array,
            dflt: Value::Null,
            storage: Value::Object(storage),
            chunked: self.chunked.clone(),
            ..*self
        }
    }

    /// Creates the metadata of a new dataset.
    pub fn new(storage: Value, shape: Vec<u64>) -> Result<Meta> {
        let mut meta = Meta::of_storage(storage)?;
        meta.array.shape = shape;
        meta.check_chunks()?;
        Ok(meta)
    }

    /// Sets the default value, in `meta/storage` as well.
    pub fn set_dflt(&mut self, new: Value) {
        self.set("dflt", new.clone());
        self.dflt = new;
    }

    /// Sets a key of `meta/storage`.
    pub fn set(&mut self, key: &str, value: Value) {
        if let Value::Object(all) = &mut self.storage {
            match all.iter_mut().find(|(k, _)| k == key) {
                Some((_, old)) => *old = value,
                None => all.push((key.to_owned(), value)),
            }
        }
    }

    /// Returns the text of `meta/storage`.
    pub fn storage_text(&self) -> String {
        if self.is_yaml {
            yaml::to_yaml(&self.storage)
        } else {
            to_json(&self.storage) + "\n"
        }
    }

    /// Returns true if the metadata files have checksums.
    pub fn has_checksum(&self) -> bool {
        self.checksum != Checksum::None
    }

    /// Parses `meta/storage`. The numbers of `meta/sizes` are not set.
    pub(super) fn of_storage(storage: Value) -> Result<Meta> {
        let number = |key: &str| storage.get(key).map(|v| positive(v, key)).transpose();
        let rows = match (number("chunklen")?, storage.get("chunkshape")) {
            (Some(n), _) => n,
            (None, Some(Value::Array(shape))) => shape
                .first()
                .map(|v| positive(v, "chunkshape"))
                .transpose()?
                .ok_or_else(|| missing("chunklen"))?,
            _ => return Err(missing("chunklen")),
        };
        let checksum = match storage.get("checksum").map(Value::as_str) {
            None => Checksum::None,
            Some(name) => {
                let all = || [Checksum::None].into_iter().chain(Checksum::ALL);
                let known = all().find(|sum| Some(checksum_name(*sum)) == name);
                known.ok_or_else(|| {
                    let names: Vec<_> = all().map(checksum_name).collect();
                    fail!(
                        Unsupported,
                        "unknown checksum {name:?} (expected one of {names:?})"
                    )
                })?
            }
        };
        Ok(Meta {
            array: ArrayMeta {
                dtype: dtype(&storage)?,
                shape: Vec::new(),
                order: Order::C,
            },
            chunklen: rows,
            chunked: chunk_shape(&storage)?,
            superchunk: number("superchunksize")?,
            has_field_dirs: storage.get("fields").and_then(Value::as_str) == Some(APART),
            checksum,
            dflt: storage.get("dflt").cloned().unwrap_or(Value::Null),
            cbytes: 0,
            object_bytes: 0,
            storage,
            is_yaml: false,
        })
    }

    pub(super) fn apply_sizes(&mut self, sizes: &Value, lenient: bool) -> Result<()> {
        let shape = match sizes.get("shape") {
            Some(Value::Array(a)) if (1..=MAX_NDIM).contains(&a.len()) => {
                a.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()
            }
            Some(Value::Array(a)) if a.len() > MAX_NDIM => {
                return Err(fail!(
                    Unsupported,
                    "an array of {} dimensions: at most {MAX_NDIM} are supported",
                    a.len()
                ));
            }
            _ => None,
        };
        self.array.shape =
            shape.ok_or_else(|| fail!(Format, "\"shape\" is missing or not a list of numbers"))?;
        let shape = &self.array.shape;
        let n = self.array.nbytes().ok_or_else(|| {
            fail!(
                Format,
                "items in the shape {shape:?} have more than 2^64 bytes"
            )
        })?;
        let stated = sizes
            .get("nbytes")
            .map(|v| {
                v.as_u64()
                    .ok_or_else(|| fail!(Format, "\"nbytes\" is not a number"))
            })
            .transpose()?;
        self.cbytes = sizes.get("cbytes").and_then(Value::as_u64).unwrap_or(0);
        if self.has_objects() {
            self.object_bytes = stated.unwrap_or(0);
            return if shape.len() == 1 {
                Ok(())
            } else {
                Err(fail!(Unsupported, "Python objects in the shape {shape:?}"))
            };
        }
        match stated {
            Some(stated) if stated != n && !lenient => Err(fail!(
                Format,
                "\"nbytes\" contradicts items of {} bytes in the shape {shape:?} (expected {n}, found {stated})",
                self.array.dtype.item.size
            )),
            _ => Ok(()),
        }
    }

    /// Checks `chunkshape`, which the BLZ RFC layout may have, and whether chunks consist of
    /// complete rows.
    fn check_chunks(&mut self) -> Result<()> {
        let Some(chunk) = &self.chunked else {
            return Ok(());
        };
        let ndim = self.array.shape.len();
        if chunk.shape.len() != ndim {
            return Err(fail!(
                Format,
                "\"chunkshape\" has the wrong number of dimensions (expected {ndim}, found {})",
                chunk.shape.len()
            ));
        }
        if self.has_objects() {
            return Err(fail!(
                Unsupported,
                "Python objects in chunks of {:?}",
                chunk.shape
            ));
        }
        // one dimension has the same items in both orders
        let is_c = chunk.order == Order::C || ndim < 2;
        if is_c && chunk.shape.get(1..) == Some(self.row()) {
            self.chunked = None;
        }
        Ok(())
    }

    /// Returns true if the items are Python objects.
    pub fn has_objects(&self) -> bool {
        self.array.dtype.item.kind == Kind::Object
    }

    /// Returns the shape of a row.
    pub fn row(&self) -> &[u64] {
        self.array.shape.get(1..).unwrap_or_default()
    }

    /// Returns the number of items in a row. Fails on overflow, which is possible only if there are
    /// no rows.
    pub fn row_items(&self) -> Result<u64> {
        nbytes(self.row(), 1).ok_or_else(|| fail!(Format, "a row of {:?} items", self.row()))
    }

    /// Returns the number of chunks, if they do not consist of complete rows.
    pub fn chunk_count(&self) -> Result<u64> {
        let chunk = self.chunked.iter().flat_map(|chunk| &chunk.shape);
        let mut counts = self
            .array
            .shape
            .iter()
            .zip(chunk)
            .map(|(n, c)| n.div_ceil(*c));
        if self.array.shape.contains(&0) {
            return Ok(0);
        }
        counts
            .try_fold(1, |all: u64, n| all.checked_mul(n))
            .ok_or_else(|| fail!(Format, "more than 2^64 chunks"))
    }

    /// Returns the number of stored items, with padding, and the number of items in a chunk.
    pub fn item_counts(&self) -> Result<(u64, u64)> {
        let Some(chunk) = &self.chunked else {
            let row = self.row_items()?;
            return Ok((
                self.rows().saturating_mul(row),
                self.chunklen.saturating_mul(row),
            ));
        };
        let items = nbytes(&chunk.shape, 1).unwrap_or(u64::MAX);
        Ok((self.chunk_count()?.saturating_mul(items), items))
    }

    /// Adds the dimensions of items that are arrays to the shape of a chunk.
    pub fn extend_chunks(&mut self, shape: &[usize]) -> Result<()> {
        let Some(chunk) = &mut self.chunked else {
            return Ok(());
        };
        if shape.contains(&0) || chunk.order == Order::Fortran {
            return Err(fail!(
                Unsupported,
                "items of the shape {shape:?} in chunks of {:?}",
                chunk.shape
            ));
        }
        chunk.shape.extend(shape.iter().map(|n| *n as u64));
        Ok(())
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.array.shape.first().copied().unwrap_or(0)
    }

    /// Returns true if `meta/storage` has this key. bcolz and BLZ store their compression
    /// parameters under different keys.
    pub fn has(&self, key: &str) -> bool {
        self.storage.get(key).is_some()
    }
}

/// Returns a compression parameter in the contents of `meta/storage`: that of bcolz, or else that of
/// BLZ.
fn parameter<'a>(storage: &'a Value, key: &str) -> Option<&'a Value> {
    ["cparams", "bparams"]
        .iter()
        .find_map(|of| storage.get(of)?.get(key))
}

/// Returns the name of the codec that the contents of `meta/storage` state.
pub fn stated_codec(storage: &Value) -> Option<&str> {
    let stated = parameter(storage, "cname");
    let stated = stated.or_else(|| storage.get("compression")?.get("library"));
    stated.and_then(Value::as_str)
}

/// Returns the compression level that the contents of `meta/storage` state.
pub fn stated_level(storage: &Value) -> Option<u64> {
    let stated = parameter(storage, "clevel");
    let stated = stated.or_else(|| storage.get("compression")?.get("level"));
    stated.and_then(Value::as_u64)
}

/// Returns the number of the filter that the contents of `meta/storage` state: 0 none, 1 shuffle, 2
/// bitshuffle.
pub fn stated_filter(storage: &Value) -> Option<u8> {
    match parameter(storage, "shuffle") {
        Some(Value::Bool(yes)) => return Some(u8::from(*yes)),
        Some(other) => return Some(other.as_u64().map_or(1, |n| n.min(2) as u8)),
        None => {}
    }
    let names = filter_names(storage)?;
    let has = |name: &str| names.iter().any(|n| n.as_str() == Some(name));
    Some(if has("bitshuffle") {
        2
    } else {
        has("shuffle").into()
    })
}

/// Returns the filters that the BLZ RFC lists by name.
fn filter_names(storage: &Value) -> Option<&[Value]> {
    match storage.get("compression")?.get("filters")? {
        Value::Array(names) => Some(names),
        _ => None,
    }
}

/// Fails if the contents of `meta/storage` state a filter by name that new chunks cannot have.
pub fn check_filters(storage: &Value) -> Result<()> {
    let names = filter_names(storage).unwrap_or_default();
    // `precision` decides about truncation
    let known = |name: &&Value| {
        matches!(
            name.as_str(),
            Some("shuffle" | "bitshuffle" | precision::TRUNCATE)
        )
    };
    match names.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(other) => Err(fail!(
            Unsupported,
            "compression.filters: {other} cannot be applied to new chunks (expected shuffle or bitshuffle); the array is read-only unless {} is given",
            Opt::Filters.name()
        )),
    }
}

/// Returns the text of `meta/sizes`.
pub fn sizes(shape: &[u64], nbytes: u64, cbytes: u64, is_yaml: bool) -> String {
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    if is_yaml {
        let shape = shape.join(", ");
        return format!("shape: [{shape}]\nnbytes: {nbytes}\ncbytes: {cbytes}\n");
    }
    format!(
        "{{\"shape\": [{}], \"nbytes\": {nbytes}, \"cbytes\": {cbytes}}}\n",
        shape.join(", ")
    )
}

/// Returns the name of a checksum algorithm in `meta/storage`.
pub fn checksum_name(sum: Checksum) -> &'static str {
    match sum {
        Checksum::None => "none",
        Checksum::Adler32 => "adler32",
        Checksum::Crc32 => "crc32",
        Checksum::Md5 => "md5",
        Checksum::Sha1 => "sha1",
        Checksum::Sha224 => "sha224",
        Checksum::Sha256 => "sha256",
        Checksum::Sha384 => "sha384",
        Checksum::Sha512 => "sha512",
    }
}

/// Returns JSON in ASCII with the spacing of Python's `json` module.
pub fn to_json(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", list(items.iter().map(to_json).collect())),
        Value::Object(items) => format!(
            "{{{}}}",
            list(
                items
                    .iter()
                    .map(|(k, v)| format!("{}: {}", json::Quoted(k), to_json(v)))
                    .collect()
            )
        ),
        other => json::escaped(&other.to_string()),
    }
}

/// Parses JSON, or YAML as in the BLZ RFC.
pub fn parse(text: &[u8]) -> Result<Value> {
    let value = Value::parse(text).or_else(|e| yaml_or(e, text))?;
    if matches!(value, Value::Object(_)) {
        Ok(value)
    } else {
        Err(fail!(Format, "it is not a mapping from names to values"))
    }
}

/// Parses text that is not JSON as YAML. Returns `e` if the text looks like JSON.
pub fn yaml_or(e: Error, text: &[u8]) -> Result<Value> {
    if yaml::may_be_yaml(text) {
        yaml::parse(text)
    } else {
        Err(e)
    }
}

/// Returns the shape of a chunk and the order of its items; `None` if the number of rows in a chunk
/// is stated.
fn chunk_shape(storage: &Value) -> Result<Option<ChunkShape>> {
    let order = match storage.get("order").map(|o| (o, o.as_str())) {
        None | Some((_, Some("C"))) => Order::C,
        Some((_, Some("F"))) => Order::Fortran,
        Some((other, _)) => {
            return Err(fail!(
                Unsupported,
                "unknown \"order\" (expected \"C\" or \"F\", found {other})"
            ));
        }
    };
    match storage.get("chunkshape") {
        Some(Value::Array(shape)) if storage.get("chunklen").is_none() => {
            let shape = shape.iter().map(|n| positive(n, "chunkshape"));
            let shape = shape.collect::<Result<_>>()?;
            Ok(Some(ChunkShape { shape, order }))
        }
        _ if order == Order::Fortran => Err(fail!(
            Unsupported,
            "\"order\" F requires \"chunkshape\", without \"chunklen\""
        )),
        _ => Ok(None),
    }
}

fn missing(key: &str) -> Error {
    fail!(Format, "{key:?} is missing")
}

fn positive(value: &Value, key: &str) -> Result<u64> {
    value
        .as_u64()
        .filter(|n| *n > 0)
        .ok_or_else(|| fail!(Format, "{key:?} is not a number of at least 1"))
}

fn dtype(storage: &Value) -> Result<Dtype> {
    let stored = storage.get("dtype").ok_or_else(|| missing("dtype"))?;
    let by_name = fields(stored);
    let mut dtype = Dtype::from_json(by_name.as_ref().unwrap_or(stored))?;
    if storage.get("endianness").and_then(Value::as_str) == Some("big") {
        set_big(&mut dtype.item);
    }
    // the tools store names for some types and lists for others; all are normalized here
    dtype.spelling = dtype.to_python_literal();
    Ok(dtype)
}

/// Converts a mapping from field names to types into NumPy's list of fields.
fn fields(stored: &Value) -> Option<Value> {
    match stored {
        Value::Object(items) if stored.get("formats").is_none() => {
            let pair = |(name, item): &(String, Value)| {
                Value::Array(vec![
                    Value::String(name.clone()),
                    fields(item).unwrap_or_else(|| item.clone()),
                ])
            };
            Some(Value::Array(items.iter().map(pair).collect()))
        }
        _ => None,
    }
}

/// Sets the byte order of all numbers to big-endian, for `endianness: big`.
fn set_big(item: &mut Type) {
    match &mut item.kind {
        Kind::Struct(fields) => fields.iter_mut().for_each(|f| set_big(&mut f.item)),
        Kind::Array(of, _) => set_big(of),
        Kind::Bool | Kind::Bytes | Kind::Void | Kind::Object => {}
        _ => item.big_endian = item.size > 1,
    }
}
