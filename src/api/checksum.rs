//! Checksums of bytes.
#![forbid(unsafe_code)]

use super::Checksum;
use crate::checksum::{Checksum as Engine, Hasher};

impl Checksum {
    /// Computes the checksum of bytes. 32-bit values are little-endian; [`Checksum::None`] has no
    /// bytes.
    ///
    /// ```
    /// use holdall::Checksum;
    ///
    /// let value = Checksum::Crc32.compute(b"123456789");
    /// assert_eq!(value, 0xcbf4_3926_u32.to_le_bytes());
    /// ```
    pub fn compute(self, bytes: &[u8]) -> Vec<u8> {
        self.engine().of(bytes)
    }

    /// Starts an incremental checksum.
    pub fn hasher(self) -> ChecksumHasher {
        ChecksumHasher(Hasher::new(self.engine()))
    }

    pub(super) fn engine(self) -> Engine {
        match self {
            Checksum::None => Engine::None,
            Checksum::Adler32 => Engine::Adler32,
            Checksum::Crc32 => Engine::Crc32,
            Checksum::Md5 => Engine::Md5,
            Checksum::Sha1 => Engine::Sha1,
            Checksum::Sha224 => Engine::Sha224,
            Checksum::Sha256 => Engine::Sha256,
            Checksum::Sha384 => Engine::Sha384,
            Checksum::Sha512 => Engine::Sha512,
        }
    }

    pub(super) fn of_engine(checksum: Engine) -> Checksum {
        match checksum {
            Engine::None => Checksum::None,
            Engine::Adler32 => Checksum::Adler32,
            Engine::Crc32 => Checksum::Crc32,
            Engine::Md5 => Checksum::Md5,
            Engine::Sha1 => Checksum::Sha1,
            Engine::Sha224 => Checksum::Sha224,
            Engine::Sha256 => Checksum::Sha256,
            Engine::Sha384 => Checksum::Sha384,
            Engine::Sha512 => Checksum::Sha512,
        }
    }
}

/// An incremental checksum, which [`Checksum::hasher`] starts. It is `Send` and `Sync`, and no call
/// can fail.
///
/// ```
/// use holdall::Checksum;
///
/// let mut hasher = Checksum::Sha256.hasher();
/// hasher.update(b"in ");
/// hasher.update(b"parts");
/// assert_eq!(hasher.finish(), Checksum::Sha256.compute(b"in parts"));
/// ```
pub struct ChecksumHasher(Hasher);

impl ChecksumHasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0.finish()
    }
}
