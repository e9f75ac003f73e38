//! Metalayers: named values with application-defined content, stored as a map of names to offsets,
//! followed by the values in the same order. The header has metalayers of fixed length; the trailer
//! has metalayers of variable length.
//!
//! Offsets are relative to the first byte of the header or of the trailer. Readers of the reference
//! library use the offsets alone. Its writers have always stored each value directly after the one
//! before; any other layout is refused.
#![forbid(unsafe_code)]

use super::msgpack::{ARRAY, ARRAY_16, BIN_32, Fields, INT_32, MAP_16, STR, STR_MOST, UINT_16};
use crate::alloc;
use crate::error::{Result, fail};
use std::collections::HashSet;

/// A name and its value.
pub type Named = (String, Vec<u8>);

/// The location of metalayers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetalayerKind {
    /// In the header.
    Fixed,
    /// In the trailer, each stored as a Blosc chunk.
    Variable,
}

/// Metalayers of the header by which python-blosc2 marks a frame whose content is computed or
/// fetched when it is read: lazy expressions and functions, references, and proxies. Its chunks are
/// empty, or they cache part of the content.
const PLACEHOLDERS: [&str; 3] = ["b2o", "LazyArray", PROXY_SOURCE];
/// The metalayer of a proxy.
pub(super) const PROXY_SOURCE: &str = "proxy-source";
/// Bytes of a map without names, and of an array without values.
const MAP: usize = 7;
const ARRAY_OF_NONE: usize = 3;
/// Bytes of a map entry without its name, and of a value without its content.
const ENTRY: usize = 6;
const VALUE: usize = 5;

impl MetalayerKind {
    /// Returns the maximum number that the reference library reads.
    pub fn most(self) -> usize {
        match self {
            MetalayerKind::Fixed => 16,
            MetalayerKind::Variable => 8192,
        }
    }

    /// Returns where the stated length of the map begins, relative to its first byte.
    fn counted_from(self) -> usize {
        match self {
            MetalayerKind::Fixed => 0,
            MetalayerKind::Variable => 1,
        }
    }

    fn what(self) -> &'static str {
        match self {
            MetalayerKind::Fixed => "metalayers",
            MetalayerKind::Variable => "variable-length metalayers",
        }
    }

    /// Refuses a name that readers would truncate or not find.
    pub fn check_name(self, name: &str) -> Result<()> {
        let n = name.len();
        if n > STR_MOST {
            return Err(fail!(
                Argument,
                "the name of a metalayer has at most {STR_MOST} bytes ({name:?} has {n})"
            ));
        }
        if name.contains('\0') {
            return Err(fail!(
                Argument,
                "the name of a metalayer must not contain a NUL byte: {name:?}"
            ));
        }
        Ok(())
    }
}

/// Refuses a frame whose chunks do not hold its content.
pub(super) fn refuse_placeholder(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
    let found = names
        .into_iter()
        .find(|name| PLACEHOLDERS.contains(&name.as_ref()));
    let Some(name) = found else {
        return Ok(());
    };
    let hint = match name.as_ref() {
        PROXY_SOURCE => "HOLDALL_OPT_FOLLOW_LINKS reads a source that is a local file",
        _ => "save what it computes instead",
    };
    Err(fail!(
        Unsupported,
        "the metalayer {:?} marks an object of python-blosc2 whose content is not in its chunks; {hint}",
        name.as_ref()
    ))
}

/// Parses the metalayers at `fields`, and leaves it after the last value.
pub fn parse(fields: &mut Fields, kind: MetalayerKind) -> Result<Vec<Named>> {
    let what = kind.what();
    let begin = fields.at();
    fields.marked::<0>(ARRAY | 3, what)?;
    let map_len = usize::from(fields.u16(UINT_16, what)?);
    let count = usize::from(fields.u16(MAP_16, what)?);
    if count > kind.most() {
        return Err(fail!(
            Format,
            "{count} {what} are too many (at most {})",
            kind.most()
        ));
    }
    let mut entries = alloc::with_capacity(count)?;
    for _ in 0..count {
        let name = name(fields, what)?;
        entries.push((name, fields.size_32(INT_32, what)? as usize));
    }
    let end = fields.at() - begin - kind.counted_from();
    if map_len != end {
        return Err(fail!(
            Format,
            "the names of the {what} have {end} bytes (the length field states {map_len})"
        ));
    }
    let mut known = HashSet::with_capacity(count);
    if let Some((twice, _)) = entries.iter().find(|(name, _)| !known.insert(*name)) {
        return Err(fail!(Format, "two {what} have the name {twice:?}"));
    }
    match usize::from(fields.u16(ARRAY_16, what)?) {
        n if n == count => values(fields, &entries, what),
        n => Err(fail!(Format, "{count} {what} have {n} values")),
    }
}

fn name<'a>(fields: &mut Fields<'a>, what: &str) -> Result<&'a str> {
    let at = fields.at();
    let [mark] = fields.take(what)?;
    let len = usize::from(mark ^ STR);
    if len > STR_MOST {
        return Err(fail!(
            Format,
            "{what}: no name at offset {at} (found {mark:#04x})"
        ));
    }
    let bytes = fields.slice(len, what)?;
    // C code would read a name with a NUL byte as a shorter one
    let known = std::str::from_utf8(bytes)
        .ok()
        .filter(|name| !name.contains('\0'));
    known.ok_or_else(|| {
        fail!(
            Format,
            "{what}: the name at offset {at} is invalid: {:?}",
            String::from_utf8_lossy(bytes)
        )
    })
}

fn values(fields: &mut Fields, entries: &[(&str, usize)], what: &str) -> Result<Vec<Named>> {
    let mut all = alloc::with_capacity(entries.len())?;
    for &(name, offset) in entries {
        let at = fields.at();
        if at != offset {
            return Err(fail!(
                Format,
                "{what}: {name:?} has the offset {offset} (expected {at})"
            ));
        }
        let len = fields.size_32(BIN_32, what)? as usize;
        let bytes = fields.slice(len, what)?;
        let mut value = alloc::with_capacity(len)?;
        value.extend_from_slice(bytes);
        all.push((name.to_owned(), value));
    }
    Ok(all)
}

/// Returns the encoded length.
pub fn len(all: &[Named]) -> u64 {
    all.iter()
        .fold((MAP + ARRAY_OF_NONE) as u64, |sum, (name, value)| {
            sum + (ENTRY + VALUE + name.len() + value.len()) as u64
        })
}

/// Appends the metalayers to `out`, which must hold all bytes before them.
pub fn encode(all: &[Named], kind: MetalayerKind, out: &mut Vec<u8>) -> Result<()> {
    let what = kind.what();
    let names = all.iter().try_fold(MAP, |sum, (name, _)| {
        kind.check_name(name).map(|()| sum + ENTRY + name.len())
    })?;
    // the length field of the map has 16 bits
    let map_len = u16::try_from(names - kind.counted_from())
        .ok()
        .filter(|_| all.len() <= kind.most());
    let map_len = map_len.ok_or_else(|| {
        fail!(
            Limit,
            "{} {what} with {names} bytes of names are too many (at most {}, with 65535 bytes)",
            all.len(),
            kind.most()
        )
    })?;
    let total = out.len() as u64 + len(all);
    if i32::try_from(total).is_err() {
        return Err(fail!(
            Limit,
            "{what}: {total} bytes are too many (at most {})",
            i32::MAX
        ));
    }
    alloc::reserve(out, total as usize - out.len())?;
    let count = (all.len() as u16).to_be_bytes();
    out.extend([ARRAY | 3, UINT_16]);
    out.extend(map_len.to_be_bytes());
    out.push(MAP_16);
    out.extend(count);
    let mut offset = out.len() + names - MAP + ARRAY_OF_NONE;
    for (name, value) in all {
        out.push(STR | name.len() as u8);
        out.extend(name.as_bytes());
        out.push(INT_32);
        out.extend((offset as u32).to_be_bytes());
        offset += VALUE + value.len();
    }
    out.push(ARRAY_16);
    out.extend(count);
    for (_, value) in all {
        out.push(BIN_32);
        out.extend((value.len() as u32).to_be_bytes());
        out.extend_from_slice(value);
    }
    Ok(())
}
