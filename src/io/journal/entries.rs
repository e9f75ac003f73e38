//! The encoding of a journal's index; [`super`] documents the layout.
#![forbid(unsafe_code)]

use crate::checksum::crc32;
use crate::os::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const MAGIC: &[u8; 16] = b"holdall journal\n";
/// Version 1, of holdall 0.1.0, has fewer fields per file. It is still read.
const VERSION: u32 = 2;
pub const UNDO: u32 = 1;
pub const SWAP: u32 = 2;
const ABSENT: u64 = u64::MAX;
/// Size of the header, up to the number of entries.
pub const HEAD: usize = 32;

/// A range of a file that will be overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub at: u64,
    pub len: u64,
    /// Offset of the saved bytes in the journal.
    pub from: u64,
    pub crc: u32,
}

/// What is known of a file during its change. Absent in version 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuringChange {
    /// Distinguishes the file from others of its name; 0 if unknown.
    pub origin: u64,
    /// Minimum and maximum length.
    pub min_size: u64,
    pub max_size: u64,
    /// Offset of the bytes after the last range, which do not change up to the old end, and the
    /// CRC-32 of their last ones.
    pub after: u64,
    pub after_crc: u32,
    /// Samples of the bytes that will be written.
    pub samples: Vec<Sample>,
}

/// A sample of the bytes that will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Offset in the file.
    pub at: u64,
    /// At most [`SAMPLE_BYTES`](super::SAMPLE_BYTES) bytes.
    pub bytes: Vec<u8>,
}

/// Identifies the content of a file independently of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Length of the file.
    pub size: u64,
    /// CRC-32 of its last bytes.
    pub crc: u32,
}

/// Fingerprints of the files of a swap. Absent in version 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapFingerprints {
    /// The replacement; `None` if the file is removed.
    pub new: Option<Fingerprint>,
    /// The replaced or removed file, if it existed.
    pub old: Option<Fingerprint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Undo {
        name: OsString,
        size: Option<u64>,
        preceding_crc: u32,
        saved: Saved,
        during: Option<DuringChange>,
    },
    Swap {
        name: OsString,
        to: Option<OsString>,
        fingerprints: Option<SwapFingerprints>,
    },
}

/// The index of a journal: everything except the saved bytes.
pub struct Index {
    pub nonce: u64,
    /// Distinguishes the journal from its copies; 0 if unknown.
    pub origin: u64,
    pub entries: Vec<Entry>,
}

impl Entry {
    pub fn name(&self) -> &OsStr {
        match self {
            Entry::Undo { name, .. } | Entry::Swap { name, .. } => name,
        }
    }
    /// Returns the name of the file that is replaced or changed.
    pub fn target(&self) -> &OsStr {
        match self {
            Entry::Swap { to: Some(to), .. } => to,
            e => e.name(),
        }
    }
    /// Makes the names those in a subfolder. Returns whether they are below it.
    pub fn enter(&mut self, folder: &OsStr) -> bool {
        let enter = |name: &mut OsString| match Path::new(name).strip_prefix(folder) {
            Ok(inside) => {
                let inside = inside.as_os_str().to_owned();
                *name = inside;
                true
            }
            Err(_) => false,
        };
        match self {
            Entry::Undo { name, .. } | Entry::Swap { name, to: None, .. } => enter(name),
            Entry::Swap {
                name, to: Some(to), ..
            } => enter(name) && enter(to),
        }
    }
}

/// Encodes the index of a journal.
pub fn encode(kind: u32, nonce: u64, origin: u64, entries: &[Entry]) -> Vec<u8> {
    let mut b = MAGIC.to_vec();
    let name = |b: &mut Vec<u8>, n: &OsStr| {
        b.extend((n.len() as u16).to_le_bytes());
        b.extend(n.as_bytes());
    };
    let fingerprint = |b: &mut Vec<u8>, fingerprint: Option<&Fingerprint>| {
        b.extend(fingerprint.map_or(ABSENT, |m| m.size).to_le_bytes());
        b.extend(fingerprint.map_or(0, |m| m.crc).to_le_bytes());
    };
    b.extend(VERSION.to_le_bytes());
    b.extend(kind.to_le_bytes());
    b.extend(nonce.to_le_bytes());
    b.extend(origin.to_le_bytes());
    b.extend((entries.len() as u32).to_le_bytes());
    for e in entries {
        match e {
            Entry::Undo {
                name: n,
                size,
                preceding_crc,
                saved: s,
                during,
            } => {
                name(&mut b, n);
                b.extend(size.unwrap_or(ABSENT).to_le_bytes());
                b.extend(preceding_crc.to_le_bytes());
                for v in [s.at, s.len, s.from] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(s.crc.to_le_bytes());
                let DuringChange {
                    origin,
                    min_size,
                    max_size,
                    after,
                    after_crc,
                    samples,
                } = during.clone().unwrap_or_default();
                for v in [origin, min_size, max_size, after] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(after_crc.to_le_bytes());
                b.extend((samples.len() as u16).to_le_bytes());
                for sample in samples {
                    b.extend(sample.at.to_le_bytes());
                    b.extend((sample.bytes.len() as u16).to_le_bytes());
                    b.extend(sample.bytes);
                }
            }
            Entry::Swap {
                name: n,
                to,
                fingerprints,
            } => {
                name(&mut b, n);
                b.extend(u16::from(to.is_some()).to_le_bytes());
                if let Some(to) = to {
                    name(&mut b, to);
                }
                fingerprint(&mut b, fingerprints.as_ref().and_then(|m| m.new.as_ref()));
                fingerprint(&mut b, fingerprints.as_ref().and_then(|m| m.old.as_ref()));
            }
        }
    }
    let crc = crc32(&b);
    b.extend(crc.to_le_bytes());
    b
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Parses version, kind and nonce.
    fn head(&mut self) -> Option<(u32, u32, u64)> {
        let ours = self.take(MAGIC.len())? == MAGIC;
        let version = self.u32().filter(|v| ours && (1..=VERSION).contains(v))?;
        Some((version, self.u32()?, self.u64()?))
    }
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let n = self.u16()?;
        Some(self.take(n.into())?.to_vec())
    }
    fn name(&mut self) -> Option<OsString> {
        self.bytes().map(OsString::from_vec)
    }
    fn undo(&mut self, version: u32) -> Option<Entry> {
        let name = self.name()?;
        let size = Some(self.u64()?).filter(|&s| s != ABSENT);
        let preceding_crc = self.u32()?;
        let saved = Saved {
            at: self.u64()?,
            len: self.u64()?,
            from: self.u64()?,
            crc: self.u32()?,
        };
        let during = match version {
            1 => None,
            _ => Some(DuringChange {
                origin: self.u64()?,
                min_size: self.u64()?,
                max_size: self.u64()?,
                after: self.u64()?,
                after_crc: self.u32()?,
                samples: self.samples()?,
            }),
        };
        Some(Entry::Undo {
            name,
            size,
            preceding_crc,
            saved,
            during,
        })
    }
    fn samples(&mut self) -> Option<Vec<Sample>> {
        let n = self.u16()?;
        (0..n)
            .map(|_| {
                Some(Sample {
                    at: self.u64()?,
                    bytes: self.bytes()?,
                })
            })
            .collect()
    }
    fn swap(&mut self, version: u32) -> Option<Entry> {
        let name = self.name()?;
        let to = if self.u16()? == 1 {
            Some(self.name()?)
        } else {
            None
        };
        let fingerprints = if version == 1 {
            None
        } else {
            Some(SwapFingerprints {
                new: self.fingerprint()?,
                old: self.fingerprint()?,
            })
        };
        Some(Entry::Swap {
            name,
            to,
            fingerprints,
        })
    }
    #[allow(
        clippy::option_option,
        reason = "the outer one: the bytes end; the inner one: there is no file"
    )]
    fn fingerprint(&mut self) -> Option<Option<Fingerprint>> {
        let fingerprint = Fingerprint {
            size: self.u64()?,
            crc: self.u32()?,
        };
        Some(Some(fingerprint).filter(|m| m.size != ABSENT))
    }
}

/// Returns a number that no recent journal of this container has.
pub fn nonce() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(40)
        ^ MADE.fetch_add(1, Ordering::Relaxed).rotate_left(20)
}

/// Returns kind and nonce of a journal with this header.
pub fn head(bytes: &[u8; HEAD]) -> Option<(u32, u64)> {
    let (_, kind, nonce) = Cursor(bytes).head()?;
    Some((kind, nonce))
}

/// Decodes an index. Returns `None` if the bytes are not a valid journal.
pub fn decode(bytes: &[u8]) -> Option<Index> {
    let mut c = Cursor(bytes);
    let (version, kind, nonce) = c.head()?;
    let origin = if version == 1 { 0 } else { c.u64()? };
    let mut entries = Vec::new();
    for _ in 0..c.u32()? {
        entries.push(match kind {
            UNDO => c.undo(version)?,
            SWAP => c.swap(version)?,
            _ => return None,
        });
    }
    let n = bytes.len() - c.0.len();
    (c.u32()? == crc32(bytes.get(..n)?)).then_some(Index {
        nonce,
        origin,
        entries,
    })
}
