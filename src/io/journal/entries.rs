//! The bytes of a journal's index; the layout is at the top of [`super`].
#![forbid(unsafe_code)]

use crate::checksum::crc32;
use crate::os::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const MAGIC: &[u8; 16] = b"holdall journal\n";
const VERSION: u32 = 1;
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Undo { name: OsString, size: Option<u64>, witness: u32, saved: Saved },
    Swap { name: OsString, to: Option<OsString> },
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
pub fn encode(kind: u32, nonce: u64, entries: &[Entry]) -> Vec<u8> {
    let mut b = MAGIC.to_vec();
    let name = |b: &mut Vec<u8>, n: &OsStr| {
        b.extend((n.len() as u16).to_le_bytes());
        b.extend(n.as_bytes());
    };
    b.extend(VERSION.to_le_bytes());
    b.extend(kind.to_le_bytes());
    b.extend(nonce.to_le_bytes());
    b.extend((entries.len() as u32).to_le_bytes());
    for e in entries {
        match e {
            Entry::Undo { name: n, size, witness, saved: s } => {
                name(&mut b, n);
                b.extend(size.unwrap_or(ABSENT).to_le_bytes());
                b.extend(witness.to_le_bytes());
                for v in [s.at, s.len, s.from] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(s.crc.to_le_bytes());
            }
            Entry::Swap { name: n, to } => {
                name(&mut b, n);
                b.extend(u16::from(to.is_some()).to_le_bytes());
                if let Some(to) = to {
                    name(&mut b, to);
                }
            }
        }
    }
    let crc = crc32(&b);
    b.extend(crc.to_le_bytes());
    b
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn head(&mut self) -> Option<(u32, u64)> {
        if self.take(MAGIC.len())? != MAGIC || self.u32()? != VERSION {
            return None;
        }
        Some((self.u32()?, self.u64()?))
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
    fn name(&mut self) -> Option<OsString> {
        let n = self.u16()?;
        let b = self.take(n.into())?;
        Some(OsString::from_vec(b.to_vec()))
    }
}

/// A number that no other journal of this container has had lately.
pub fn nonce() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(40) ^ MADE.fetch_add(1, Ordering::Relaxed).rotate_left(20)
}

/// Kind and number of a journal that begins like this.
pub fn head(bytes: &[u8; HEAD]) -> Option<(u32, u64)> {
    Cursor(bytes).head()
}

/// Reads the index; `None` where the bytes are no journal of ours.
pub fn decode(bytes: &[u8]) -> Option<(u64, Vec<Entry>)> {
    let mut c = Cursor(bytes);
    let (kind, nonce) = c.head()?;
    let mut entries = Vec::new();
    for _ in 0..c.u32()? {
        let name = c.name()?;
        entries.push(match kind {
            UNDO => {
                let size = Some(c.u64()?).filter(|&s| s != ABSENT);
                let witness = c.u32()?;
                let saved = Saved { at: c.u64()?, len: c.u64()?, from: c.u64()?, crc: c.u32()? };
                Entry::Undo { name, size, witness, saved }
            }
            SWAP => Entry::Swap { name, to: if c.u16()? == 1 { Some(c.name()?) } else { None } },
            _ => return None,
        });
    }
    let n = bytes.len() - c.0.len();
    (c.u32()? == crc32(bytes.get(..n)?)).then_some((nonce, entries))
}
