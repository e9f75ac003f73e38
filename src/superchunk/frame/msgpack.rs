//! The subset of MessagePack that frames use: fields in a fixed order, each after its type byte.
//! Integers are big-endian.
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

/// Type of a short string; its length is added.
pub const STR: u8 = 0xa0;
/// The maximum length of a short string.
pub const STR_MOST: usize = 31;
/// Type of a short array; its length is added.
pub const ARRAY: u8 = 0x90;

/// A parser that takes fields from the front.
pub struct Fields<'a> {
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Creates a parser for the bytes of a header or a trailer.
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields {
            whole: bytes.len(),
            rest: bytes,
        }
    }

    /// Returns the number of bytes taken.
    pub fn at(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// Takes the next `n` bytes.
    pub fn slice(&mut self, n: usize, what: &str) -> Result<&'a [u8]> {
        let short = || {
            fail!(
                Format,
                "{what}: the data ends early at offset {} (expected {n} bytes, found {})",
                self.at(),
                self.rest.len()
            )
        };
        let (first, rest) = self.rest.split_at_checked(n).ok_or_else(short)?;
        self.rest = rest;
        Ok(first)
    }

    /// Takes the next `N` bytes.
    pub fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.slice(N, what)?;
        bytes
            .first_chunk()
            .copied()
            .ok_or_else(|| fail!(Format, "{what}: the data ends early (expected {N} bytes)"))
    }

    /// Takes a type byte, which must be `mark`, and the next `N` bytes.
    pub fn marked<const N: usize>(&mut self, mark: u8, what: &str) -> Result<[u8; N]> {
        let at = self.at();
        match self.take(what)? {
            [m] if m == mark => self.take(what),
            [m] => Err(fail!(
                Format,
                "{what}: wrong type at offset {at} (expected {mark:#04x}, found {m:#04x})"
            )),
        }
    }

    /// Takes an unsigned 16-bit integer.
    pub fn u16(&mut self, mark: u8, what: &str) -> Result<u16> {
        self.marked(mark, what).map(u16::from_be_bytes)
    }

    /// Takes a 32-bit integer that must not be negative.
    pub fn size_32(&mut self, mark: u8, what: &str) -> Result<u32> {
        let n = self.marked(mark, what).map(i32::from_be_bytes)?;
        u32::try_from(n).map_err(|_| fail!(Format, "{what}: invalid negative number {n}"))
    }

    /// Takes a 64-bit integer that must not be negative.
    pub fn size_64(&mut self, mark: u8, what: &str) -> Result<u64> {
        let n = self.marked(mark, what).map(i64::from_be_bytes)?;
        u64::try_from(n).map_err(|_| fail!(Format, "{what}: invalid negative number {n}"))
    }
}
