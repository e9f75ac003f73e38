//! The bytes of a journal's index; the layout is at the top of [`super`].
#![forbid(unsafe_code)]

use crate::checksum::crc32;
use crate::os::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const MAGIC: &[u8; 16] = b"holdall journal\n";
/// Version 1, of holdall 0.1.0, says less of the files; it is read.
const VERSION: u32 = 2;
pub const UNDO: u32 = 1;
pub const SWAP: u32 = 2;
const ABSENT: u64 = u64::MAX;
/// Bytes before the number of entries.
pub const HEAD: usize = 32;

/// Bytes of a file that are going to be written over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub at: u64,
    pub len: u64,
    /// Where they are in the journal.
    pub from: u64,
    pub crc: u32,
}

/// What a file is while it is changed; version 1 does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// What tells it from another file of its name; 0 where nothing does.
    pub origin: u64,
    /// Its least and its greatest length.
    pub least: u64,
    pub most: u64,
    /// Where the bytes behind the last range begin, which stay until the old end, and the CRC-32
    /// of their last ones.
    pub behind: u64,
    pub behind_crc: u32,
    /// Some of what is going to be written.
    pub new: Vec<Piece>,
}

/// Bytes that are going to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where.
    pub at: u64,
    /// At most [`SAID`](super::SAID) of them.
    pub bytes: Vec<u8>,
}

/// What a file is known by, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its length.
    pub size: u64,
    /// CRC-32 of its last bytes.
    pub crc: u32,
}

/// What files that are swapped are known by; version 1 does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Of the file that takes the place of another one; none where one is removed.
    pub new: Option<Mark>,
    /// Of that other one, where there is one.
    pub old: Option<Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Undo {
        name: OsString,
        size: Option<u64>,
        witness: u32,
        saved: Saved,
        meanwhile: Option<Meanwhile>,
    },
    Swap {
        name: OsString,
        to: Option<OsString>,
        marks: Option<Marks>,
    },
}

/// All that a journal says, but for the saved bytes.
pub struct Index {
    pub nonce: u64,
    /// What tells the journal from a copy of it; 0 where nothing does.
    pub origin: u64,
    pub entries: Vec<Entry>,
}

impl Entry {
    pub fn name(&self) -> &OsStr {
        match self {
            Entry::Undo { name, .. } | Entry::Swap { name, .. } => name,
        }
    }
    /// The file that is another one afterwards.
    pub fn target(&self) -> &OsStr {
        match self {
            Entry::Swap { to: Some(to), .. } => to,
            e => e.name(),
        }
    }
}

/// The index of a journal.
pub fn encode(kind: u32, nonce: u64, origin: u64, entries: &[Entry]) -> Vec<u8> {
    let mut b = MAGIC.to_vec();
    let name = |b: &mut Vec<u8>, n: &OsStr| {
        b.extend((n.len() as u16).to_le_bytes());
        b.extend(n.as_bytes());
    };
    let mark = |b: &mut Vec<u8>, mark: Option<&Mark>| {
        b.extend(mark.map_or(ABSENT, |m| m.size).to_le_bytes());
        b.extend(mark.map_or(0, |m| m.crc).to_le_bytes());
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
                witness,
                saved: s,
                meanwhile,
            } => {
                name(&mut b, n);
                b.extend(size.unwrap_or(ABSENT).to_le_bytes());
                b.extend(witness.to_le_bytes());
                for v in [s.at, s.len, s.from] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(s.crc.to_le_bytes());
                let Meanwhile {
                    origin,
                    least,
                    most,
                    behind,
                    behind_crc,
                    new,
                } = meanwhile.clone().unwrap_or_default();
                for v in [origin, least, most, behind] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(behind_crc.to_le_bytes());
                b.extend((new.len() as u16).to_le_bytes());
                for piece in new {
                    b.extend(piece.at.to_le_bytes());
                    b.extend((piece.bytes.len() as u16).to_le_bytes());
                    b.extend(piece.bytes);
                }
            }
            Entry::Swap { name: n, to, marks } => {
                name(&mut b, n);
                b.extend(u16::from(to.is_some()).to_le_bytes());
                if let Some(to) = to {
                    name(&mut b, to);
                }
                mark(&mut b, marks.as_ref().and_then(|m| m.new.as_ref()));
                mark(&mut b, marks.as_ref().and_then(|m| m.old.as_ref()));
            }
        }
    }
    let crc = crc32(&b);
    b.extend(crc.to_le_bytes());
    b
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Version, kind and number.
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
        let witness = self.u32()?;
        let saved = Saved {
            at: self.u64()?,
            len: self.u64()?,
            from: self.u64()?,
            crc: self.u32()?,
        };
        let meanwhile = match version {
            1 => None,
            _ => Some(Meanwhile {
                origin: self.u64()?,
                least: self.u64()?,
                most: self.u64()?,
                behind: self.u64()?,
                behind_crc: self.u32()?,
                new: self.pieces()?,
            }),
        };
        Some(Entry::Undo {
            name,
            size,
            witness,
            saved,
            meanwhile,
        })
    }
    fn pieces(&mut self) -> Option<Vec<Piece>> {
        let n = self.u16()?;
        (0..n)
            .map(|_| {
                Some(Piece {
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
        let marks = if version == 1 {
            None
        } else {
            Some(Marks {
                new: self.mark()?,
                old: self.mark()?,
            })
        };
        Some(Entry::Swap { name, to, marks })
    }
    #[allow(
        clippy::option_option,
        reason = "the outer one: the bytes end; the inner one: there is no file"
    )]
    fn mark(&mut self) -> Option<Option<Mark>> {
        let mark = Mark {
            size: self.u64()?,
            crc: self.u32()?,
        };
        Some(Some(mark).filter(|m| m.size != ABSENT))
    }
}

/// A number that no other journal of this container has had lately.
pub fn nonce() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(40)
        ^ MADE.fetch_add(1, Ordering::Relaxed).rotate_left(20)
}

/// Kind and number of a journal that begins like this.
pub fn head(bytes: &[u8; HEAD]) -> Option<(u32, u64)> {
    let (_, kind, nonce) = Cursor(bytes).head()?;
    Some((kind, nonce))
}

/// Reads the index; `None` where the bytes are no journal of ours.
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
