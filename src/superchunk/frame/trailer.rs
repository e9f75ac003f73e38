//! The trailer of a frame: variable-length metalayers and a fingerprint field, which the reference
//! library fills with zeros and never reads. The reference library ignores bytes between the index
//! and the trailer and bytes after the trailer; its next change of a chunk removes them.
#![forbid(unsafe_code)]

use super::metalayers::{self, MetalayerKind, Named};
use super::msgpack::{ARRAY, EXT_16, Fields, UINT_32};
use crate::error::{Result, fail};

/// Bytes at the end of a trailer that contain its length.
pub const TAIL: usize = 23;
/// Bytes of a trailer without metalayers.
pub const SHORTEST: usize = 2 + 10 + TAIL;

const VERSION: u8 = 1;

/// The trailer of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Variable-length metalayers: names, and stored Blosc chunks.
    pub vlmeta: Vec<Named>,
    /// The type of the fingerprint: 0 is none, as the reference library writes it.
    pub fingerprint_kind: u8,
    /// The fingerprint.
    pub fingerprint: [u8; 16],
}

impl Trailer {
    /// Returns the length of the trailer that ends with `last`, which must have at least [`TAIL`]
    /// bytes.
    pub fn length(last: &[u8]) -> Result<u32> {
        let tail = last.last_chunk::<TAIL>().ok_or_else(|| {
            fail!(
                Format,
                "a trailer has at least {SHORTEST} bytes (found {})",
                last.len()
            )
        })?;
        let len = Fields::new(tail).size_32(UINT_32, "the length of the trailer")?;
        if (len as usize) < SHORTEST {
            return Err(fail!(
                Format,
                "the trailer states {len} bytes (expected at least {SHORTEST})"
            ));
        }
        Ok(len)
    }

    /// Parses a complete trailer.
    pub fn parse(bytes: &[u8]) -> Result<Trailer> {
        let mut fields = Fields::new(bytes);
        let [version] = fields.marked(ARRAY | 4, "the trailer")?;
        if version != VERSION {
            return Err(fail!(
                Version,
                "unsupported version {version} of the trailer (expected {VERSION})"
            ));
        }
        let vlmeta = metalayers::parse(&mut fields, MetalayerKind::Variable)?;
        let len = fields.size_32(UINT_32, "the length of the trailer")?;
        let [fingerprint_kind] = fields.marked(EXT_16, "the fingerprint")?;
        let fingerprint = fields.take("the fingerprint")?;
        if fields.at() != bytes.len() || fields.at() as u64 != u64::from(len) {
            return Err(fail!(
                Format,
                "the fields of the trailer end at {} of {} bytes (its length field states {len})",
                fields.at(),
                bytes.len()
            ));
        }
        Ok(Trailer {
            vlmeta,
            fingerprint_kind,
            fingerprint,
        })
    }

    /// Returns the bytes before the value of an additional metalayer with this name, without its
    /// length field.
    pub fn start_before(mut self, name: &str) -> Result<Vec<u8>> {
        self.vlmeta.push((name.to_owned(), Vec::new()));
        let mut out = self.encode()?;
        out.truncate(out.len() - TAIL - 4);
        Ok(out)
    }

    /// Returns the encoded length.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        2 + metalayers::len(&self.vlmeta) + TAIL as u64
    }

    /// Encodes the trailer.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut out = vec![ARRAY | 4, VERSION];
        metalayers::encode(&self.vlmeta, MetalayerKind::Variable, &mut out)?;
        let len = out.len() + TAIL;
        let len = i32::try_from(len).map_err(|_| {
            fail!(
                Limit,
                "a trailer of {len} bytes is too large (at most {})",
                i32::MAX
            )
        })?;
        out.push(UINT_32);
        out.extend(len.to_be_bytes());
        out.extend([EXT_16, self.fingerprint_kind]);
        out.extend(self.fingerprint);
        Ok(out)
    }
}
