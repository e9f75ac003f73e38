//! What a dataset says of itself: `meta/sizes`, which counts the rows of the last commit, and
//! `meta/storage`, which tells how they are stored.
//!
//! Keys that are not known here are the tools' and stay; those that writers need (`expectedlen`,
//! `cparams`) are in [`Meta::storage`]. All numbers are checked against each other before anything
//! is opened by them.
#![forbid(unsafe_code)]

use super::folder::Place;
use super::yaml;
use crate::array::dtype::{Dtype, Kind, Type};
use crate::array::numpy_meta::{ArrayMeta, Order, nbytes};
use crate::array::selection::MAX_NDIM;
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::json::{self, Value};

/// How many rows there are.
pub const SIZES: &str = "meta/sizes";
/// How they are stored.
pub const STORAGE: &str = "meta/storage";
/// What `fields` says where each has a folder of its own.
pub const APART: &str = "apart";
/// The names of checksums, in the order of their numbers.
/// The longest name of a codec or a checksum that is handed on.
const SHORT: usize = 64;
const SUMS: [&str; 9] = [
    "none", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
];

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Dtype, shape, C order.
    pub array: ArrayMeta,
    /// Rows of a chunk.
    pub chunklen: u64,
    /// Chunks of a superchunk file, where that is said.
    pub superchunk: Option<u64>,
    /// Does it say that each field has a folder of its own?
    pub apart: bool,
    /// What stands behind each chunk in a file of its own.
    pub checksum: Sum,
    /// What is where nothing was written.
    pub dflt: Value,
    /// Bytes on disk, as the writer has estimated them.
    pub cbytes: u64,
    /// Bytes of the objects, where the items are that.
    pub object_bytes: u64,
    /// All that `meta/storage` says.
    pub storage: Value,
}

impl Meta {
    /// That of the dataset in this folder. `lenient`: bytes that contradict the shape are as good
    /// as others.
    pub fn read(place: &Place, limit: u64, lenient: bool) -> Result<Meta> {
        let get = |name: &str| {
            let text = place.read(name, limit)?.ok_or_else(|| {
                fail!(
                    Missing,
                    "{}: it is not there, and the array cannot do without",
                    place.show(name)
                )
            })?;
            parse(&text).map_err(|e| e.within(place.show(name)))
        };
        let (sizes, storage) = (get(SIZES)?, get(STORAGE)?);
        let mut meta = Meta::of_storage(storage).map_err(|e| e.within(place.show(STORAGE)))?;
        meta.take_sizes(&sizes, lenient)
            .map_err(|e| e.within(place.show(SIZES)))?;
        meta.check_chunks()
            .map_err(|e| e.within(place.show(STORAGE)))?;
        Ok(meta)
    }

    /// Do both files say the same now as when this was read?
    pub fn is_current(&self, place: &Place, limit: u64) -> Result<bool> {
        let (Some(sizes), Some(storage)) = (place.read(SIZES, limit)?, place.read(STORAGE, limit)?)
        else {
            return Ok(false);
        };
        let mut now = self.clone();
        now.take_sizes(&parse(&sizes)?, true)?;
        let is_same = now.array.shape == self.array.shape && now.cbytes == self.cbytes;
        // as text: what is no number equals nothing
        Ok(is_same && parse(&storage)?.to_string() == self.storage.to_string())
    }

    /// What it says of each field of this array, of which the dtype is to be set. There may be very
    /// many, and none needs what is said of the others.
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
                && v.as_str().is_none_or(|t| t.len() <= SHORT)
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
            let said = self
                .storage
                .get(of)
                .map(|of| some(of, &["clevel", "shuffle", "cname", "quantize"]));
            storage.extend(said.map(|said| (of.to_owned(), Value::Object(said))));
        }
        Meta {
            array,
            dflt: Value::Null,
            storage: Value::Object(storage),
            ..*self
        }
    }

    /// That of a new dataset.
    pub fn new(storage: Value, shape: Vec<u64>) -> Result<Meta> {
        let mut meta = Meta::of_storage(storage)?;
        meta.array.shape = shape;
        Ok(meta)
    }

    /// Sets the default value, there too where it is put down.
    pub fn set_dflt(&mut self, new: Value) {
        self.set("dflt", new.clone());
        self.dflt = new;
    }

    /// Puts this down for `meta/storage`.
    pub fn set(&mut self, key: &str, value: Value) {
        if let Value::Object(all) = &mut self.storage {
            match all.iter_mut().find(|(k, _)| k == key) {
                Some((_, old)) => *old = value,
                None => all.push((key.to_owned(), value)),
            }
        }
    }

    /// Have its small files checksums?
    pub fn is_sealed(&self) -> bool {
        self.checksum != Sum::None
    }

    /// That of a text, without the numbers that `meta/sizes` has.
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
        if storage
            .get("order")
            .is_some_and(|o| o.as_str() != Some("C"))
        {
            return Err(fail!(Unsupported, "items in another order than C"));
        }
        let checksum = match storage.get("checksum").map(Value::as_str) {
            None => Sum::None,
            Some(name) => {
                let known = SUMS
                    .iter()
                    .position(|s| Some(*s) == name)
                    .and_then(|n| Sum::from_number(n as i32).ok());
                known.ok_or_else(|| {
                    fail!(
                        Unsupported,
                        "a checksum {name:?}: one of {SUMS:?} was expected"
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
            superchunk: number("superchunksize")?,
            apart: storage.get("fields").and_then(Value::as_str) == Some(APART),
            checksum,
            dflt: storage.get("dflt").cloned().unwrap_or(Value::Null),
            cbytes: 0,
            object_bytes: 0,
            storage,
        })
    }

    pub(super) fn take_sizes(&mut self, sizes: &Value, lenient: bool) -> Result<()> {
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
            shape.ok_or_else(|| fail!(Format, "\"shape\", a list of numbers, was expected"))?;
        let shape = &self.array.shape;
        let n = self.array.nbytes().ok_or_else(|| {
            fail!(
                Format,
                "items in the shape {shape:?} are more than 2^64 bytes"
            )
        })?;
        let said = sizes
            .get("nbytes")
            .map(|v| {
                v.as_u64()
                    .ok_or_else(|| fail!(Format, "\"nbytes\": a number was expected"))
            })
            .transpose()?;
        self.cbytes = sizes.get("cbytes").and_then(Value::as_u64).unwrap_or(0);
        if self.has_objects() {
            self.object_bytes = said.unwrap_or(0);
            return if shape.len() == 1 {
                Ok(())
            } else {
                Err(fail!(
                    Unsupported,
                    "objects of Python's in the shape {shape:?}"
                ))
            };
        }
        match said {
            Some(said) if said != n && !lenient => Err(fail!(
                Format,
                "items of {} bytes in the shape {shape:?} are {n} bytes, \"nbytes\" says {said}",
                self.array.dtype.item.size
            )),
            _ => Ok(()),
        }
    }

    /// The papers have the shape of a chunk: here chunks are whole rows.
    fn check_chunks(&self) -> Result<()> {
        match self.storage.get("chunkshape") {
            Some(Value::Array(chunk)) if self.storage.get("chunklen").is_none() => {
                let rows = chunk.iter().skip(1).map(Value::as_u64).eq(self
                    .row()
                    .iter()
                    .copied()
                    .map(Some));
                if rows {
                    Ok(())
                } else {
                    Err(fail!(
                        Unsupported,
                        "chunks that are not made of whole rows of {:?}",
                        self.row()
                    ))
                }
            }
            _ => Ok(()),
        }
    }

    /// Are the items objects of Python's?
    pub fn has_objects(&self) -> bool {
        self.array.dtype.item.kind == Kind::Object
    }

    /// The shape of a row.
    pub fn row(&self) -> &[u64] {
        self.array.shape.get(1..).unwrap_or_default()
    }

    /// Items in a row. It fits, since all rows do; where there is none, it may not.
    pub fn row_items(&self) -> Result<u64> {
        nbytes(self.row(), 1).ok_or_else(|| fail!(Format, "a row of {:?} items", self.row()))
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.array.shape.first().copied().unwrap_or(0)
    }

    /// Has it parameters for compression of this name? bcolz and BLZ have other ones for the same.
    pub fn has(&self, key: &str) -> bool {
        self.storage.get(key).is_some()
    }
}

/// The text of `meta/sizes`.
pub fn sizes(shape: &[u64], nbytes: u64, cbytes: u64) -> String {
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!(
        "{{\"shape\": [{}], \"nbytes\": {nbytes}, \"cbytes\": {cbytes}}}\n",
        shape.join(", ")
    )
}

/// The name of a checksum in `meta/storage`.
pub fn sum_name(sum: Sum) -> &'static str {
    SUMS.get(sum as usize).copied().unwrap_or_default()
}

/// JSON in ASCII, spaced as Python does it.
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

/// JSON, or what else the papers have.
pub fn parse(text: &[u8]) -> Result<Value> {
    let value = match Value::parse(text) {
        Err(e) => yaml::parse(text).map_err(|_| e)?,
        value => value?,
    };
    if matches!(value, Value::Object(_)) {
        Ok(value)
    } else {
        Err(fail!(Format, "names and values were expected"))
    }
}

fn missing(key: &str) -> Error {
    fail!(Format, "{key:?} was expected and is not there")
}

fn positive(value: &Value, key: &str) -> Result<u64> {
    value
        .as_u64()
        .filter(|n| *n > 0)
        .ok_or_else(|| fail!(Format, "{key:?}: a number of 1 or more was expected"))
}

fn dtype(storage: &Value) -> Result<Dtype> {
    let stored = storage.get("dtype").ok_or_else(|| missing("dtype"))?;
    let by_name = fields(stored);
    let mut dtype = Dtype::from_json(by_name.as_ref().unwrap_or(stored))?;
    if storage.get("endianness").and_then(Value::as_str) == Some("big") {
        set_big(&mut dtype.item);
    }
    // the tools have names for some types, and lists for others: here all are spelled in one way
    dtype.spelling = dtype.to_python_literal();
    Ok(dtype)
}

/// Types by the names of fields, as the list that NumPy has for it.
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

/// Numbers without a sign of their order have the one that is said for all.
fn set_big(item: &mut Type) {
    match &mut item.kind {
        Kind::Struct(fields) => fields.iter_mut().for_each(|f| set_big(&mut f.item)),
        Kind::Array(of, _) => set_big(of),
        Kind::Bool | Kind::Bytes | Kind::Void | Kind::Object => {}
        _ => item.big_endian = item.size > 1,
    }
}
