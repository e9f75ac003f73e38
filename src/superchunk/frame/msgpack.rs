//! As much of msgpack as a frame has: fields in a fixed order, each behind a byte that says what it
//! is. Numbers are big-endian.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

pub const MAP_16: u8 = 0xde;
pub const ARRAY_16: u8 = 0xdc;
pub const BIN_32: u8 = 0xc6;
pub const EXT_16: u8 = 0xd8;
pub const FALSE: u8 = 0xc2;
pub const TRUE: u8 = 0xc3;
pub const INT_16: u8 = 0xd1;
pub const INT_32: u8 = 0xd2;
pub const INT_64: u8 = 0xd3;
pub const UINT_16: u8 = 0xcd;
pub const UINT_32: u8 = 0xce;
pub const UINT_64: u8 = 0xcf;

/// A string of so many bytes.
pub const STR: u8 = 0xa0;
/// The most bytes that a string of that kind has.
pub const STR_MOST: usize = 31;
/// An array of so many items.
pub const ARRAY: u8 = 0x90;

/// Fields that are taken from the front.
pub struct Fields<'a> {
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of a header or a trailer.
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields {
            whole: bytes.len(),
            rest: bytes,
        }
    }

    /// How many bytes are taken.
    pub fn at(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// The next `n` bytes.
    pub fn slice(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        let short = || {
            fail!(
                Format,
                "{what}: {n} bytes were expected at {}, {} are there",
                self.at(),
                self.rest.len()
            )
        };
        let (first, rest) = self.rest.split_at_checked(n).ok_or_else(short)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next `N` bytes.
    pub fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.slice(N, what)?;
        bytes
            .first_chunk()
            .copied()
            .ok_or_else(|| fail!(Format, "{what}: {N} bytes were expected"))
    }

    /// The next `N` bytes behind their mark.
    pub fn marked<const N: usize>(&mut self, mark: u8, what: &str) -> Result<[u8; N]> {
        let at = self.at();
        match self.take(what)? {
            [m] if m == mark => self.take(what),
            [m] => Err(fail!(
                Format,
                "{what}: {mark:#04x} was expected at {at}, {m:#04x} is there"
            )),
        }
    }

    /// An unsigned number of 16 bits.
    pub fn u16(&mut self, mark: u8, what: &str) -> Result<u16> {
        self.marked(mark, what).map(u16::from_be_bytes)
    }

    /// A number that no frame has below 0.
    pub fn size_32(&mut self, mark: u8, what: &str) -> Result<u32> {
        let n = self.marked(mark, what).map(i32::from_be_bytes)?;
        u32::try_from(n).map_err(|_| fail!(Format, "{what}: {n}"))
    }

    /// A number that no frame has below 0.
    pub fn size_64(&mut self, mark: u8, what: &str) -> Result<u64> {
        let n = self.marked(mark, what).map(i64::from_be_bytes)?;
        u64::try_from(n).map_err(|_| fail!(Format, "{what}: {n}"))
    }
}
