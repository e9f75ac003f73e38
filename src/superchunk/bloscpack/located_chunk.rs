//! A chunk in a file, with the fields of its header.
#![forbid(unsafe_code)]

use crate::checksum::Checksum;

/// Size of the header of a Blosc chunk, or of the first half of a Blosc2 chunk header.
pub const BLOSC_HEADER: usize = 16;
/// Versions of the chunk format: Blosc writes 1 and 2, Blosc2 up to 5.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=5;
/// Version of the codec format; the same for all codecs so far.
const VERSION_LZ: u8 = 1;
/// Flag of a chunk that stores its content uncompressed. Such a chunk cannot have spare bytes.
pub const COPIED: u8 = 0x02;

/// A chunk that was found in the file, with the fields of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedChunk {
    /// Offset in the file.
    pub at: u64,
    /// Encoded size without the checksum; 0 for a lost chunk.
    pub cbytes: u32,
    /// Content size.
    pub nbytes: u32,
    /// Content size of a block.
    pub blocksize: u32,
    /// Version of the chunk format.
    pub version: u8,
    /// Version of the codec format.
    pub version_lz: u8,
    /// Flags: shuffle, copy, codec.
    pub flags: u8,
    /// Item size.
    pub typesize: u8,
}

impl LocatedChunk {
    /// Parses a chunk header at offset `at`; `None` if it is not a valid header.
    pub fn parse(at: u64, header: &[u8; BLOSC_HEADER]) -> Option<LocatedChunk> {
        let [
            version,
            version_lz,
            flags,
            typesize,
            n0,
            n1,
            n2,
            n3,
            b0,
            b1,
            b2,
            b3,
            c0,
            c1,
            c2,
            c3,
        ] = *header;
        let chunk = LocatedChunk {
            at,
            cbytes: u32::from_le_bytes([c0, c1, c2, c3]),
            nbytes: u32::from_le_bytes([n0, n1, n2, n3]),
            blocksize: u32::from_le_bytes([b0, b1, b2, b3]),
            version,
            version_lz,
            flags,
            typesize,
        };
        chunk.can_be().then_some(chunk)
    }

    fn can_be(&self) -> bool {
        let sizes_fit = match self.nbytes {
            0 => true,
            n => 0 < self.blocksize && self.blocksize <= n && n <= i32::MAX as u32,
        };
        let copy = u64::from(self.nbytes) + BLOSC_HEADER as u64;
        // unused bytes after the content are valid, except in uncompressed chunks
        let is_copy = self.flags & COPIED != 0 && self.version <= 2;
        VERSIONS.contains(&self.version)
            && self.version_lz == VERSION_LZ
            && self.typesize > 0
            && sizes_fit
            && self.cbytes as usize >= BLOSC_HEADER
            && (!is_copy || u64::from(self.cbytes) == copy)
    }

    /// Returns an entry for a chunk that was not found.
    pub fn lost(at: u64, nbytes: u32) -> LocatedChunk {
        LocatedChunk {
            at,
            cbytes: 0,
            nbytes,
            blocksize: 0,
            version: 0,
            version_lz: 0,
            flags: 0,
            typesize: 0,
        }
    }

    /// Returns true if the chunk was not found.
    pub fn is_lost(&self) -> bool {
        self.cbytes == 0
    }

    /// Returns the offset of the end of the chunk with its checksum.
    pub fn end(&self, sum: Checksum) -> u64 {
        self.at
            .saturating_add(u64::from(self.cbytes))
            .saturating_add(sum.size() as u64)
    }
}
