//! The checksum algorithms of the formats, as one type.
//!
//! The numbers are those of the Bloscpack header. Digests are in the byte order that Bloscpack
//! writes: little-endian for Adler-32 and CRC-32.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::zlib;
use sha2::Digest;

/// A checksum algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Checksum {
    /// No checksum.
    None = 0,
    /// Adler-32, 4 bytes, little-endian.
    Adler32 = 1,
    /// CRC-32 as in zlib, 4 bytes, little-endian.
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

impl Checksum {
    /// All algorithms except [`Checksum::None`].
    pub const ALL: [Checksum; 8] = [
        Checksum::Adler32,
        Checksum::Crc32,
        Checksum::Md5,
        Checksum::Sha1,
        Checksum::Sha224,
        Checksum::Sha256,
        Checksum::Sha384,
        Checksum::Sha512,
    ];

    /// Returns the algorithm with this number.
    pub fn from_number(n: i32) -> Result<Checksum> {
        Ok(match n {
            0 => Checksum::None,
            1 => Checksum::Adler32,
            2 => Checksum::Crc32,
            3 => Checksum::Md5,
            4 => Checksum::Sha1,
            5 => Checksum::Sha224,
            6 => Checksum::Sha256,
            7 => Checksum::Sha384,
            8 => Checksum::Sha512,
            _ => {
                return Err(fail!(
                    Argument,
                    "unknown checksum {n} (expected HOLDALL_CHECKSUM_NONE (0) to HOLDALL_CHECKSUM_SHA512 (8))"
                ));
            }
        })
    }

    /// Returns the size of a digest in bytes.
    pub fn size(self) -> usize {
        match self {
            Checksum::None => 0,
            Checksum::Adler32 | Checksum::Crc32 => 4,
            Checksum::Md5 => 16,
            Checksum::Sha1 => 20,
            Checksum::Sha224 => 28,
            Checksum::Sha256 => 32,
            Checksum::Sha384 => 48,
            Checksum::Sha512 => 64,
        }
    }

    /// Returns the digest of `data`.
    pub fn of(self, data: &[u8]) -> Vec<u8> {
        let mut h = Hasher::new(self);
        h.update(data);
        h.finish()
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Checksum::None => "no checksum",
            Checksum::Adler32 => "Adler-32",
            Checksum::Crc32 => "CRC-32",
            Checksum::Md5 => "MD5",
            Checksum::Sha1 => "SHA-1",
            Checksum::Sha224 => "SHA-224",
            Checksum::Sha256 => "SHA-256",
            Checksum::Sha384 => "SHA-384",
            Checksum::Sha512 => "SHA-512",
        })
    }
}

/// Returns the CRC-32 of `data`.
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// Returns the CRC-32 of bytes with the CRC-32 `first`, and `n` bytes with the CRC-32 `next` after
/// them.
pub fn crc32_concat(first: u32, next: u32, n: usize) -> u32 {
    let mut all = crc32fast::Hasher::new_with_initial(first);
    all.combine(&crc32fast::Hasher::new_with_initial_len(next, n as u64));
    all.finalize()
}

/// Returns the CRC-32 of bytes from the CRC-32s and the lengths of their parts.
pub fn crc32_of_parts(parts: &[(u32, usize)]) -> u32 {
    let concat = |all, (crc, n): &(u32, usize)| crc32_concat(all, *crc, *n);
    parts.iter().fold(0, concat)
}

/// An incremental checksum, for data that arrives in pieces.
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
    /// Creates a hasher for an algorithm.
    pub fn new(checksum: Checksum) -> Hasher {
        Hasher(match checksum {
            Checksum::None => Inner::None,
            Checksum::Adler32 => Inner::Adler32(zlib::adler32()),
            Checksum::Crc32 => Inner::Crc32(crc32fast::Hasher::new()),
            Checksum::Md5 => Inner::Md5(Digest::new()),
            Checksum::Sha1 => Inner::Sha1(Digest::new()),
            Checksum::Sha224 => Inner::Sha224(Digest::new()),
            Checksum::Sha256 => Inner::Sha256(Digest::new()),
            Checksum::Sha384 => Inner::Sha384(Digest::new()),
            Checksum::Sha512 => Inner::Sha512(Digest::new()),
        })
    }

    /// Adds data to the checksum.
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

    /// Returns the digest.
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
    fn digests_match_published_test_vectors() {
        // The "abc" vectors of RFC 1321, RFC 3174 and FIPS 180-4, and the results of zlib.
        let expected = [
            (Checksum::None, ""),
            (Checksum::Adler32, "27014d02"),
            (Checksum::Crc32, "c2412435"),
            (Checksum::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Checksum::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                Checksum::Sha224,
                "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
            ),
            (
                Checksum::Sha256,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ];
        for (checksum, digest) in expected {
            assert_eq!(hex(&checksum.of(b"abc")), digest, "{checksum:?}");
        }
        assert_eq!(
            format!(
                "{} {} {}",
                Checksum::Crc32,
                Checksum::Adler32,
                Checksum::Sha512
            ),
            "CRC-32 Adler-32 SHA-512"
        );
        for n in 0..=8 {
            let checksum = Checksum::from_number(n).unwrap();
            assert_eq!(checksum.of(b"abc").len(), checksum.size());
            let mut pieces = Hasher::new(checksum);
            pieces.update(b"a");
            pieces.update(b"bc");
            assert_eq!(pieces.finish(), checksum.of(b"abc"));
        }
        assert!(Checksum::from_number(9).is_err() && Checksum::from_number(-1).is_err());
    }
}
