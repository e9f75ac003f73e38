//! The frames of a compressed record, seen from outside: how many, how long, and how much they can
//! hold, from their headers alone, in safe code, before anything is allocated or decoded.
//!
//! Source: the Zstandard format, RFC 8878, section 3 (frames, blocks, skippable frames).
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use std::cell::{Cell, RefCell};

const MAGIC: u32 = 0xFD2F_B528;
const SKIPPABLE: u32 = 0x184D_2A50;
/// No block holds more, whatever the window.
const BLOCK_MAX: u64 = 128 << 10;
/// What a frame header and a block header take at most.
const HEADER_MAX: usize = 18;

/// Do these eight bytes, as a little-endian number, begin as a frame does?
pub fn begins(word: u64) -> bool {
    word as u32 == MAGIC
}

/// Bytes that frames are read from: a slice, or a file of which only headers are fetched.
pub trait Source {
    /// Fills `dst` from `at` on; `false` where the source ends before.
    fn get(&self, at: u64, dst: &mut [u8]) -> Result<bool>;
    /// Where it ends.
    fn end(&self) -> u64;
}

impl Source for &[u8] {
    fn get(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let from = usize::try_from(at)
            .ok()
            .and_then(|at| <[u8]>::get(self, at..))
            .and_then(|r| r.get(..dst.len()));
        Ok(from.is_some_and(|b| {
            dst.copy_from_slice(b);
            true
        }))
    }
    fn end(&self) -> u64 {
        self.len() as u64
    }
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of it, header to checksum.
    pub len: u64,
    /// Skippable frames hold nothing.
    pub skippable: bool,
    /// What its header says it holds, if it says so.
    pub content: Option<u64>,
    /// What its blocks can hold at most.
    pub most: u64,
    /// Does it carry a checksum of its content?
    pub checksum: bool,
}

fn broken(what: impl std::fmt::Display) -> crate::error::Error {
    fail!(Format, "this is no sound zstd frame: {what}")
}

/// The frame that begins at `at`.
pub fn frame(src: &impl Source, at: u64) -> Result<Frame> {
    let mut head = [0; HEADER_MAX];
    let have = src.end().saturating_sub(at).min(HEADER_MAX as u64) as usize;
    let head = head.get_mut(..have).unwrap_or_default();
    src.get(at, head)?;
    let cut = || broken("cut short");
    let (magic, rest) = head.split_first_chunk::<4>().ok_or_else(cut)?;
    let magic = u32::from_le_bytes(*magic);
    if magic & 0xFFFF_FFF0 == SKIPPABLE {
        let len = u64::from(u32::from_le_bytes(
            *rest.first_chunk::<4>().ok_or_else(cut)?,
        )) + 8;
        if at.saturating_add(len) > src.end() {
            return Err(broken("a skippable frame is cut short"));
        }
        return Ok(Frame {
            len,
            skippable: true,
            content: Some(0),
            most: 0,
            checksum: false,
        });
    }
    if magic != MAGIC {
        return Err(broken(format_args!("it begins with {magic:#010x}")));
    }
    let (&descriptor, rest) = rest.split_first().ok_or_else(cut)?;
    if descriptor & 8 != 0 {
        return Err(broken("a reserved bit is set"));
    }
    let single = descriptor & 32 != 0;
    let checksum = descriptor & 4 != 0;
    let dict_id = [0, 1, 2, 4]
        .get(usize::from(descriptor & 3))
        .copied()
        .unwrap_or(0);
    let size_len = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let window = if single { 0 } else { 1 };
    let size = rest
        .get(window + dict_id..window + dict_id + size_len)
        .ok_or_else(cut)?;
    let content = (size_len > 0).then(|| {
        let n = size
            .iter()
            .rev()
            .fold(0, |n: u64, &b| n << 8 | u64::from(b));
        if size_len == 2 { n + 256 } else { n }
    });
    let blocks = blocks(src, at + (5 + window + dict_id + size_len) as u64, checksum)?;
    if let Some(n) = content.filter(|&n| n > blocks.most) {
        return Err(broken(format_args!(
            "it claims {n} bytes, its blocks can hold {} at most",
            blocks.most
        )));
    }
    Ok(Frame {
        len: blocks.end - at,
        skippable: false,
        content,
        most: blocks.most,
        checksum,
    })
}

struct Blocks {
    end: u64,
    most: u64,
}

fn blocks(src: &impl Source, mut at: u64, checksum: bool) -> Result<Blocks> {
    let mut most = 0u64;
    loop {
        let mut h = [0; 3];
        if !src.get(at, &mut h)? {
            return Err(broken("it ends before its last block"));
        }
        let [a, b, c] = h;
        let h = u32::from_le_bytes([a, b, c, 0]);
        let size = u64::from(h >> 3);
        let (stored, holds) = match h >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, BLOCK_MAX),
            _ => return Err(broken("a block of a reserved type")),
        };
        if size > BLOCK_MAX {
            return Err(broken(format_args!("a block of {size} bytes")));
        }
        most += holds;
        at += 3 + stored;
        if h & 1 != 0 {
            break;
        }
    }
    let end = at + if checksum { 4 } else { 0 };
    if end > src.end() {
        return Err(broken("it ends inside its last block"));
    }
    Ok(Blocks { end, most })
}

/// What a whole record holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Frames that hold data (skippable ones do not count).
    pub data_frames: u32,
    /// Bytes they hold, where every header says so.
    pub content: Option<u64>,
    /// Bytes they can hold at most.
    pub most: u64,
    /// Has every data frame a checksum of its content?
    pub checksum: bool,
}

/// Looks through all frames of a record; an error where its bytes are not frames from end to end.
pub fn survey(record: &[u8]) -> Result<Survey> {
    let mut s = Survey {
        data_frames: 0,
        content: Some(0),
        most: 0,
        checksum: true,
    };
    let mut at = 0;
    while at < record.end() {
        let f = frame(&record, at).map_err(|e| {
            if at == 0 {
                e
            } else {
                e.within(format_args!("after {at} bytes of frames"))
            }
        })?;
        at += f.len;
        if f.skippable {
            continue;
        }
        s.data_frames = s.data_frames.saturating_add(1);
        s.checksum &= f.checksum;
        s.most = s.most.saturating_add(f.most);
        s.content = s.content.zip(f.content).map(|(a, b)| a.saturating_add(b));
    }
    s.checksum &= s.data_frames > 0;
    Ok(s)
}

/// A part of a file, up to `end`, read ahead a little; a file of millions of tiny blocks is given
/// up after some, so that looking at a record costs no more than a fixed time.
pub struct FileSource<'a> {
    file: &'a dyn crate::io::File,
    end: u64,
    steps: Cell<u32>,
    /// Bytes that were read, and where they begin.
    ahead: RefCell<(u64, Vec<u8>)>,
}

impl<'a> FileSource<'a> {
    /// The bytes before `end`, looked at some hundred thousand times at most.
    pub fn new(file: &'a dyn crate::io::File, end: u64) -> Self {
        FileSource {
            file,
            end,
            steps: Cell::new(1 << 17),
            ahead: RefCell::default(),
        }
    }

    /// The same, to the end however long it takes.
    pub fn patient(file: &'a dyn crate::io::File, end: u64) -> Self {
        let s = FileSource::new(file, end);
        s.steps.set(u32::MAX);
        s
    }

    fn fill(&self, at: u64, n: usize) -> Result<Vec<u8>> {
        // frames in order are read in pieces that grow; a look at one place costs one small piece
        let (from, old) = self.ahead.take();
        let near = at >= from && at <= from + old.len() as u64 * 2;
        let piece = if near {
            (old.len() * 2).clamp(512, 64 << 10)
        } else {
            512
        };
        let size = (piece.max(n) as u64).min(self.end - at) as usize;
        let mut bytes = crate::alloc::zeroed(size)?;
        self.file.read_exact_at(at, &mut bytes)?;
        Ok(bytes)
    }
}

impl Source for FileSource<'_> {
    fn get(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        if at.saturating_add(dst.len() as u64) > self.end {
            return Ok(false);
        }
        match self.steps.get() {
            0 => return Err(fail!(Limit, "too many blocks to look at")),
            u32::MAX => {}
            n => self.steps.set(n - 1),
        }
        let copy = |from: u64, bytes: &[u8], dst: &mut [u8]| {
            let at = at.checked_sub(from).and_then(|n| usize::try_from(n).ok());
            at.and_then(|at| bytes.get(at..)?.get(..dst.len()))
                .map(|b| dst.copy_from_slice(b))
                .is_some()
        };
        if self.file.is_in_memory() {
            return self.file.read_exact_at(at, dst).map(|()| true);
        }
        let have = {
            let ahead = self.ahead.borrow();
            copy(ahead.0, &ahead.1, dst)
        };
        if !have {
            let bytes = self.fill(at, dst.len())?;
            copy(at, &bytes, dst);
            self.ahead.replace((at, bytes));
        }
        Ok(true)
    }
    fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zstd(data: &[u8], checksum: bool) -> Vec<u8> {
        let mut c = zstd_safe::CCtx::create();
        c.set_parameter(zstd_safe::CParameter::ChecksumFlag(checksum))
            .unwrap();
        let mut out = vec![0; zstd_safe::compress_bound(data.len())];
        let n = c.compress2(&mut out[..], data).unwrap();
        out.truncate(n);
        out
    }

    #[test]
    fn lengths_agree_with_zstd() {
        for n in [
            0usize, 1, 255, 256, 257, 65791, 65792, 131072, 131073, 1_000_000,
        ] {
            for checksum in [false, true] {
                for random in [false, true] {
                    let mut rng = crate::io::sim::Rng(n as u64 + 1);
                    let data: Vec<u8> = (0..n)
                        .map(|i| {
                            if random {
                                rng.draw() as u8
                            } else {
                                (i / 100) as u8
                            }
                        })
                        .collect();
                    let f = zstd(&data, checksum);
                    let got = frame(&&f[..], 0).unwrap();
                    assert_eq!(got.len, f.len() as u64);
                    assert_eq!(got.content, Some(n as u64));
                    assert_eq!(got.checksum, checksum);
                    assert!(got.most >= n as u64, "{} of {n}", got.most);
                    for cut in [0, 1, 4, 5, f.len() / 2, f.len() - 1] {
                        assert!(frame(&&f[..cut], 0).is_err(), "{cut} of {}", f.len());
                    }
                }
            }
        }
    }

    #[test]
    fn a_record_of_several_frames() {
        let (a, b) = (zstd(b"abc", true), zstd(b"defgh", false));
        let skip = [
            &0x184D2A5Eu32.to_le_bytes()[..],
            &3u32.to_le_bytes(),
            b"xyz",
        ]
        .concat();
        let s = survey(&[&skip[..], &a, &skip, &b, &skip].concat()).unwrap();
        assert_eq!((s.data_frames, s.content, s.checksum), (2, Some(8), false));
        assert_eq!(
            survey(&skip).unwrap(),
            Survey {
                data_frames: 0,
                content: Some(0),
                most: 0,
                checksum: false
            }
        );
        assert!(
            survey(&[&a[..], b"foreign!"].concat())
                .unwrap_err()
                .message
                .contains("after 16 bytes")
        );
        assert!(survey(&skip[..9]).is_err());
    }

    #[test]
    fn claims_beyond_the_blocks_are_refused() {
        let mut f = zstd(&vec![7; 1_000_000], false);
        f[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            frame(&&f[..], 0)
                .unwrap_err()
                .message
                .contains("claims 4294967295 bytes")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes(mut b in proptest::collection::vec(proptest::num::u8::ANY, 0..200), zstd: bool) {
            if zstd && b.len() >= 4 {
                b[..4].copy_from_slice(&MAGIC.to_le_bytes());
            }
            if let Ok(s) = survey(&b) {
                assert!(s.content.is_none_or(|c| c <= s.most));
            }
        }
    }
}
