//! Named values that a frame keeps for those who know what they mean: a map of names to places, and
//! behind it the values in the same order. The header has some of fixed length, the trailer others
//! whose length may change.
//!
//! A place counts from the first byte of the header or of the trailer. Readers of the reference
//! library go by the places alone; its writers have never put a value elsewhere than behind the one
//! before, and nothing else is taken.
#![forbid(unsafe_code)]

use super::msgpack::{ARRAY, ARRAY_16, BIN_32, Fields, INT_32, MAP_16, STR, STR_MOST, UINT_16};
use crate::alloc;
use crate::error::{Result, fail};
use std::collections::HashSet;

/// A name and its value.
pub type Named = (String, Vec<u8>);

/// Whose metalayers they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The header's.
    Fixed,
    /// The trailer's, each a Blosc chunk.
    Variable,
}

/// Bytes of a map without names, and of an array without values.
const MAP: usize = 7;
const ARRAY_OF_NONE: usize = 3;
/// Bytes of an entry of the map, without its name, and of a value, without its own.
const ENTRY: usize = 6;
const VALUE: usize = 5;

impl Kind {
    /// How many the reference library reads.
    pub fn most(self) -> usize {
        match self {
            Kind::Fixed => 16,
            Kind::Variable => 8192,
        }
    }

    /// Where the length of the map begins to count, in bytes behind its own first one.
    fn counted_from(self) -> usize {
        match self {
            Kind::Fixed => 0,
            Kind::Variable => 1,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Kind::Fixed => "metalayers",
            Kind::Variable => "variable-length metalayers",
        }
    }

    /// Refuses a name that readers would cut short or not find.
    pub fn check_name(self, name: &str) -> Result<()> {
        let n = name.len();
        if n > STR_MOST {
            return Err(fail!(
                Argument,
                "the name of a metalayer has {STR_MOST} bytes at most, {name:?} has {n}"
            ));
        }
        if name.contains('\0') {
            return Err(fail!(
                Argument,
                "the name of a metalayer holds no 0: {name:?}"
            ));
        }
        Ok(())
    }
}

/// Reads what begins at `fields`, and leaves it behind the last value.
pub fn parse(fields: &mut Fields, kind: Kind) -> Result<Vec<Named>> {
    let what = kind.what();
    let begin = fields.at();
    fields.marked::<0>(ARRAY | 3, what)?;
    let map_len = usize::from(fields.u16(UINT_16, what)?);
    let count = usize::from(fields.u16(MAP_16, what)?);
    if count > kind.most() {
        return Err(fail!(
            Format,
            "{count} {what}: there are {} at most",
            kind.most()
        ));
    }
    let mut entries = alloc::with_room(count)?;
    for _ in 0..count {
        let name = name(fields, what)?;
        entries.push((name, fields.size_32(INT_32, what)? as usize));
    }
    let end = fields.at() - begin - kind.counted_from();
    if map_len != end {
        return Err(fail!(
            Format,
            "the names of the {what} take {end} bytes, {map_len} are said"
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
            "{what}: a name was expected at {at}, {mark:#04x} is there"
        ));
    }
    let bytes = fields.slice(len, what)?;
    // who reads it as C does would know it by another name
    let known = std::str::from_utf8(bytes)
        .ok()
        .filter(|name| !name.contains('\0'));
    known.ok_or_else(|| {
        fail!(
            Format,
            "{what}: the name at {at} is no text: {:?}",
            String::from_utf8_lossy(bytes)
        )
    })
}

fn values(fields: &mut Fields, entries: &[(&str, usize)], what: &str) -> Result<Vec<Named>> {
    let mut all = alloc::with_room(entries.len())?;
    for &(name, place) in entries {
        let at = fields.at();
        if at != place {
            return Err(fail!(
                Format,
                "{what}: {name:?} is said to be at {place}, and its place is {at}"
            ));
        }
        let len = fields.size_32(BIN_32, what)? as usize;
        let bytes = fields.slice(len, what)?;
        let mut value = alloc::with_room(len)?;
        value.extend_from_slice(bytes);
        all.push((name.to_owned(), value));
    }
    Ok(all)
}

/// Bytes that they take.
pub fn len(all: &[Named]) -> u64 {
    all.iter()
        .fold((MAP + ARRAY_OF_NONE) as u64, |sum, (name, value)| {
            sum + (ENTRY + VALUE + name.len() + value.len()) as u64
        })
}

/// Appends them to `out`, which holds all that is before them.
pub fn encode(all: &[Named], kind: Kind, out: &mut Vec<u8>) -> Result<()> {
    let what = kind.what();
    let names = all.iter().try_fold(MAP, |sum, (name, _)| {
        kind.check_name(name).map(|()| sum + ENTRY + name.len())
    })?;
    // more names than their length can be said of
    let map_len = u16::try_from(names - kind.counted_from())
        .ok()
        .filter(|_| all.len() <= kind.most());
    let map_len = map_len.ok_or_else(|| {
        fail!(
            Limit,
            "{} {what}, their names {names} bytes: there are {} at most, with 65535 bytes",
            all.len(),
            kind.most()
        )
    })?;
    let total = out.len() as u64 + len(all);
    if i32::try_from(total).is_err() {
        return Err(fail!(
            Limit,
            "{what}: {total} bytes; a frame has room for {}",
            i32::MAX
        ));
    }
    alloc::reserve(out, total as usize - out.len())?;
    let count = (all.len() as u16).to_be_bytes();
    out.extend([ARRAY | 3, UINT_16]);
    out.extend(map_len.to_be_bytes());
    out.push(MAP_16);
    out.extend(count);
    let mut place = out.len() + names - MAP + ARRAY_OF_NONE;
    for (name, value) in all {
        out.push(STR | name.len() as u8);
        out.extend(name.as_bytes());
        out.push(INT_32);
        out.extend((place as u32).to_be_bytes());
        place += VALUE + value.len();
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
