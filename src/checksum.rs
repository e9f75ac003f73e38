//! The checksums that the formats know, behind one type, over well-kept crates.
//!
//! The numbers are those of Bloscpack's header; digests are in the byte order that Bloscpack
//! writes (little-endian for the two 32-bit sums).
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::zlib;
use sha2::Digest;

/// A kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Sum {
    /// None at all.
    None = 0,
    /// Adler-32, 4 bytes, little-endian.
    Adler32 = 1,
    /// CRC-32 (that of zlib), 4 bytes, little-endian.
    Crc32 = 2,
    /// MD5, 16 bytes.
    Md5 = 3,
    /// SHA-1, 20 bytes.
    Sha1 = 4,
    /// SHA-224, 28 bytes.
    Sha224 = 5,
    /// SHA-256, 32 bytes.
    Sha256 = 6,
    /// SHA-384, 48 bytes.
    Sha384 = 7,
    /// SHA-512, 64 bytes.
    Sha512 = 8,
}

impl Sum {
    /// All kinds but [`Sum::None`].
    pub const ALL: [Sum; 8] = [
        Sum::Adler32,
        Sum::Crc32,
        Sum::Md5,
        Sum::Sha1,
        Sum::Sha224,
        Sum::Sha256,
        Sum::Sha384,
        Sum::Sha512,
    ];

    /// The kind with this number.
    pub fn from_number(n: i32) -> Result<Sum> {
        Ok(match n {
            0 => Sum::None,
            1 => Sum::Adler32,
            2 => Sum::Crc32,
            3 => Sum::Md5,
            4 => Sum::Sha1,
            5 => Sum::Sha224,
            6 => Sum::Sha256,
            7 => Sum::Sha384,
            8 => Sum::Sha512,
            _ => {
                return Err(fail!(
                    Argument,
                    "{n} is no checksum: HOLDALL_SUM_NONE (0) to HOLDALL_SUM_SHA512 (8) can be computed"
                ));
            }
        })
    }

    /// Bytes of a digest.
    pub fn size(self) -> usize {
        match self {
            Sum::None => 0,
            Sum::Adler32 | Sum::Crc32 => 4,
            Sum::Md5 => 16,
            Sum::Sha1 => 20,
            Sum::Sha224 => 28,
            Sum::Sha256 => 32,
            Sum::Sha384 => 48,
            Sum::Sha512 => 64,
        }
    }

    /// The digest of `data`.
    pub fn of(self, data: &[u8]) -> Vec<u8> {
        let mut h = Hasher::new(self);
        h.update(data);
        h.finish()
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sum::None => "no checksum",
            Sum::Adler32 => "Adler-32",
            Sum::Crc32 => "CRC-32",
            Sum::Md5 => "MD5",
            Sum::Sha1 => "SHA-1",
            Sum::Sha224 => "SHA-224",
            Sum::Sha256 => "SHA-256",
            Sum::Sha384 => "SHA-384",
            Sum::Sha512 => "SHA-512",
        })
    }
}

/// CRC-32 of `data` as a number.
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// A checksum under way, for data that comes in pieces.
pub struct Hasher(Inner);

enum Inner {
    None,
    Adler32(zlib::Adler32),
    Crc32(crc32fast::Hasher),
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha224(sha2::Sha224),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
}

impl Hasher {
    /// A new one.
    pub fn new(sum: Sum) -> Hasher {
        Hasher(match sum {
            Sum::None => Inner::None,
            Sum::Adler32 => Inner::Adler32(zlib::adler32()),
            Sum::Crc32 => Inner::Crc32(crc32fast::Hasher::new()),
            Sum::Md5 => Inner::Md5(Digest::new()),
            Sum::Sha1 => Inner::Sha1(Digest::new()),
            Sum::Sha224 => Inner::Sha224(Digest::new()),
            Sum::Sha256 => Inner::Sha256(Digest::new()),
            Sum::Sha384 => Inner::Sha384(Digest::new()),
            Sum::Sha512 => Inner::Sha512(Digest::new()),
        })
    }

    /// Takes in more data.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            Inner::None => {}
            Inner::Adler32(h) => h.update(data),
            Inner::Crc32(h) => h.update(data),
            Inner::Md5(h) => h.update(data),
            Inner::Sha1(h) => h.update(data),
            Inner::Sha224(h) => h.update(data),
            Inner::Sha256(h) => h.update(data),
            Inner::Sha384(h) => h.update(data),
            Inner::Sha512(h) => h.update(data),
        }
    }

    /// The digest.
    pub fn finish(self) -> Vec<u8> {
        match self.0 {
            Inner::None => Vec::new(),
            Inner::Adler32(h) => h.sum().to_le_bytes().to_vec(),
            Inner::Crc32(h) => h.finalize().to_le_bytes().to_vec(),
            Inner::Md5(h) => h.finalize().to_vec(),
            Inner::Sha1(h) => h.finalize().to_vec(),
            Inner::Sha224(h) => h.finalize().to_vec(),
            Inner::Sha256(h) => h.finalize().to_vec(),
            Inner::Sha384(h) => h.finalize().to_vec(),
            Inner::Sha512(h) => h.finalize().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(b: &[u8]) -> String {
        b.iter().map(|x| format!("{x:02x}")).collect()
    }

    #[test]
    fn known_answers() {
        // the "abc" vectors of RFC 1321, RFC 3174 and FIPS 180-4; zlib's own for the two sums
        let want = [
            (Sum::None, ""),
            (Sum::Adler32, "27014d02"),
            (Sum::Crc32, "c2412435"),
            (Sum::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Sum::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                Sum::Sha224,
                "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
            ),
            (
                Sum::Sha256,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ];
        for (sum, digest) in want {
            assert_eq!(hex(&sum.of(b"abc")), digest, "{sum:?}");
        }
        assert_eq!(
            format!("{} {} {}", Sum::Crc32, Sum::Adler32, Sum::Sha512),
            "CRC-32 Adler-32 SHA-512"
        );
        for n in 0..=8 {
            let sum = Sum::from_number(n).unwrap();
            assert_eq!(sum.of(b"abc").len(), sum.size());
            let mut pieces = Hasher::new(sum);
            pieces.update(b"a");
            pieces.update(b"bc");
            assert_eq!(pieces.finish(), sum.of(b"abc"));
        }
        assert!(Sum::from_number(9).is_err() && Sum::from_number(-1).is_err());
    }
}
