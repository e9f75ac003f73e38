//! Tokens: what a worker returns for a part, and what the commit needs to find it.
//!
//! Layout, little-endian: `hpt` and the version 1; the kind of the container, flags, the number of
//! coordinates, a zero; the identity of the part, 16 bytes; the number of records or rows; 16
//! coordinates of the box, 8 bytes each, of which the others are zeros; CRC-32 of everything before
//! it.
#![forbid(unsafe_code)]

use super::files::PartId;
use crate::array::selection::MAX_NDIM;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::format::Kind;

const MAGIC: &[u8; 4] = b"hpt\x01";
/// Size of a token in bytes.
pub const TOKEN_SIZE: usize = 32 + 8 * MAX_NDIM + 4;

/// The limits of the part are in a separate file.
const SEPARATE: u8 = 1;
/// The part has a file of checksums.
const CHECKSUMS: u8 = 2;
/// The part is a box of an array, which has `start`.
const BOX: u8 = 4;

/// A finished part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the container: a bag, an array or a table.
    pub kind: Kind,
    /// Which part it is.
    pub id: PartId,
    /// Number of records or rows.
    pub items: u64,
    /// Files of a bag beside the records.
    pub beside: Beside,
    /// Where the box begins in the array; `None` if the items are appended.
    pub start: Option<Vec<u64>>,
}

/// Which files a part that is a bag has beside its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Separate limits.
    pub limits: bool,
    /// Checksums of uncompressed records.
    pub checksums: bool,
}

impl Token {
    /// Returns the bytes of the token.
    pub fn to_bytes(&self) -> [u8; TOKEN_SIZE] {
        let start = self.start.as_deref().unwrap_or_default();
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.beside.limits, SEPARATE)
            | flag(self.beside.checksums, CHECKSUMS)
            | flag(self.start.is_some(), BOX);
        let coordinates = start.iter().chain(std::iter::repeat(&0)).take(MAX_NDIM);
        let mut bytes: Vec<u8> = MAGIC
            .iter()
            .chain(&[self.kind as u8, flags, start.len() as u8, 0])
            .chain(&self.id.0)
            .copied()
            .chain(self.items.to_le_bytes())
            .chain(coordinates.flat_map(|at| at.to_le_bytes()))
            .collect();
        bytes.extend_from_slice(&crc32(&bytes).to_le_bytes());
        bytes.try_into().unwrap_or([0; TOKEN_SIZE])
    }

    /// Parses the bytes of a token.
    pub fn parse(bytes: &[u8]) -> Result<Token> {
        let not = |why: &str| fail!(Format, "it is not the token of a part: {why}");
        let Ok(bytes) = <&[u8; TOKEN_SIZE]>::try_from(bytes) else {
            let n = bytes.len();
            return Err(not(&format!("it has {n} bytes (expected {TOKEN_SIZE})")));
        };
        let (body, crc) = bytes.split_last_chunk::<4>().unwrap_or((&[], &[0; 4]));
        if !body.starts_with(MAGIC) {
            return Err(not("it does not begin with `hpt` and version 1"));
        }
        if crc32(body) != u32::from_le_bytes(*crc) {
            return Err(fail!(Checksum, "the checksum of the token is wrong"));
        }
        let mut fields = Fields(body.get(MAGIC.len()..).unwrap_or_default());
        let [kind, flags, ndim, zero] = fields.next();
        let (id, items) = (PartId(fields.next()), u64::from_le_bytes(fields.next()));
        let coordinates = [(); MAX_NDIM].map(|()| u64::from_le_bytes(fields.next()));
        let kind = [Kind::Array, Kind::Table, Kind::Bag]
            .into_iter()
            .find(|k| *k as u8 == kind)
            .ok_or_else(|| not("its kind is unknown"))?;
        let known = match kind {
            Kind::Bag => SEPARATE | CHECKSUMS,
            Kind::Array => BOX,
            _ => 0,
        };
        let start = coordinates.get(..usize::from(ndim));
        let others = coordinates.get(usize::from(ndim)..).unwrap_or_default();
        match start {
            Some(start)
                if flags & !known == 0
                    && zero == 0
                    && others.iter().all(|at| *at == 0)
                    && (flags & BOX != 0 || ndim == 0) =>
            {
                Ok(Token {
                    kind,
                    id,
                    items,
                    beside: Beside {
                        limits: flags & SEPARATE != 0,
                        checksums: flags & CHECKSUMS != 0,
                    },
                    start: (flags & BOX != 0).then(|| start.to_vec()),
                })
            }
            _ => Err(not("its fields contradict each other")),
        }
    }
}

/// The fields of a token that are not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Vec<Token> {
        let token = |kind, beside, start| Token {
            kind,
            id: PartId([7; 16]),
            items: 1 << 40,
            beside,
            start,
        };
        let both = Beside {
            limits: true,
            checksums: true,
        };
        vec![
            token(Kind::Bag, both, None),
            token(Kind::Table, Beside::default(), None),
            token(Kind::Array, Beside::default(), None),
            token(Kind::Array, Beside::default(), Some(vec![])),
            token(
                Kind::Array,
                Beside::default(),
                Some(vec![u64::MAX; MAX_NDIM]),
            ),
        ]
    }

    #[test]
    fn tokens_are_read_as_they_were_written() {
        for token in tokens() {
            let bytes = token.to_bytes();
            assert_eq!(Token::parse(&bytes).unwrap(), token);
        }
    }

    #[test]
    fn changed_tokens_are_errors() {
        for bytes in tokens().iter().map(Token::to_bytes) {
            let valid = |change: &dyn Fn(&mut [u8])| {
                let mut bytes = bytes;
                change(&mut bytes[..TOKEN_SIZE - 4]);
                let crc = crc32(&bytes[..TOKEN_SIZE - 4]).to_le_bytes();
                bytes[TOKEN_SIZE - 4..].copy_from_slice(&crc);
                Token::parse(&bytes)
            };
            assert!(valid(&|_| ()).is_ok());
            for (at, value) in [(3, 2), (4, 1), (4, 5), (5, 8), (6, 17), (7, 1)] {
                assert!(valid(&|bytes| bytes[at] = value).is_err(), "byte {at}");
            }
            for (i, bit) in (0..bytes.len()).flat_map(|i| (0..8).map(move |bit| (i, bit))) {
                let mut changed = bytes;
                changed[i] ^= 1 << bit;
                assert!(Token::parse(&changed).is_err(), "byte {i}, bit {bit}");
            }
            for n in 0..bytes.len() {
                assert!(Token::parse(&bytes[..n]).is_err(), "{n} bytes");
            }
            assert!(Token::parse(&[&bytes[..], &[0]].concat()).is_err());
        }
    }
}
