//! The end of a frame: metalayers whose length may change, and room for a fingerprint, which the
//! reference library fills with zeros and never reads. Bytes between the index and the trailer, and
//! behind it in the file, go with its next change of a chunk; it does not mind them.
#![forbid(unsafe_code)]

use super::metalayers::{self, Kind, Named};
use super::msgpack::{ARRAY, EXT_16, Fields, UINT_32};
use crate::error::{Result, fail};

/// The last bytes of a trailer, which say how long it is.
pub const TAIL: usize = 23;
/// Bytes of a trailer without metalayers.
pub const SHORTEST: usize = 2 + 10 + TAIL;

const VERSION: u8 = 1;

/// The trailer of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Variable-length metalayers: names, and Blosc chunks as they are stored.
    pub vlmeta: Vec<Named>,
    /// What the fingerprint is: 0 none, as the reference library knows it.
    pub fingerprint_kind: u8,
    /// The fingerprint.
    pub fingerprint: [u8; 16],
}

impl Trailer {
    /// The length of the trailer that ends with `last`, which has [`TAIL`] bytes or more.
    pub fn length(last: &[u8]) -> Result<u32> {
        let tail = last.last_chunk::<TAIL>().ok_or_else(|| {
            fail!(
                Format,
                "a trailer has {SHORTEST} bytes or more, {} are there",
                last.len()
            )
        })?;
        let len = Fields::new(tail).size_32(UINT_32, "the length of the trailer")?;
        if (len as usize) < SHORTEST {
            return Err(fail!(
                Format,
                "a trailer has {SHORTEST} bytes or more, {len} are said"
            ));
        }
        Ok(len)
    }

    /// Reads a whole trailer.
    pub fn parse(bytes: &[u8]) -> Result<Trailer> {
        let mut fields = Fields::new(bytes);
        let [version] = fields.marked(ARRAY | 4, "the trailer")?;
        if version != VERSION {
            return Err(fail!(
                Version,
                "version {version} of the trailer; {VERSION} is known"
            ));
        }
        let vlmeta = metalayers::parse(&mut fields, Kind::Variable)?;
        let len = fields.size_32(UINT_32, "the length of the trailer")?;
        let [fingerprint_kind] = fields.marked(EXT_16, "the fingerprint")?;
        let fingerprint = fields.take("the fingerprint")?;
        if fields.at() != bytes.len() || fields.at() as u64 != u64::from(len) {
            return Err(fail!(
                Format,
                "the trailer has {} bytes of {}, and says {len}",
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

    /// What is before the value of the only metalayer, but for its length.
    pub fn before_the_only(name: &str) -> Result<Vec<u8>> {
        let mut out = Trailer {
            vlmeta: vec![(name.to_owned(), Vec::new())],
            ..Trailer::default()
        }
        .encode()?;
        out.truncate(out.len() - TAIL - 4);
        Ok(out)
    }

    /// Bytes that it takes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        2 + metalayers::len(&self.vlmeta) + TAIL as u64
    }

    /// Its bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut out = vec![ARRAY | 4, VERSION];
        metalayers::encode(&self.vlmeta, Kind::Variable, &mut out)?;
        let len = out.len() + TAIL;
        let len = i32::try_from(len).map_err(|_| {
            fail!(
                Limit,
                "the trailer would have {len} bytes: it has room for {}",
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
