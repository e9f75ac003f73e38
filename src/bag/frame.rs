//! Parses the headers of zstd frames: number, length and maximum content of the frames of a record.
//! Safe code; runs before anything is allocated or decoded.
//!
//! Source: the Zstandard format, RFC 8878, section 3 (frames, blocks, skippable frames).
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::slice::SliceExt;
use std::cell::{Cell, RefCell};

const MAGIC: u32 = 0xFD2F_B528;
const SKIPPABLE: u32 = 0x184D_2A50;
/// Maximum content of a block for any window size.
const BLOCK_MAX: u64 = 128 << 10;
/// Maximum size of a frame header with a block header.
const HEADER_MAX: usize = 18;

/// Returns whether these eight bytes, read as a little-endian integer, begin with the magic number
/// of a frame.
pub fn begins(word: u64) -> bool {
    word as u32 == MAGIC
}

/// The bytes that frames are parsed from: a slice, or a file of which only headers are read.
pub trait Source {
    /// Fills `dst` from offset `at` on. Returns `false` if the source ends before.
    fn get(&self, at: u64, dst: &mut [u8]) -> Result<bool>;
    /// Returns the end offset.
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
    /// Length in bytes, from header to checksum.
    pub len: u64,
    /// Whether the frame is skippable, which means that it has no content.
    pub skippable: bool,
    /// Size of the content, if the header contains it.
    pub content: Option<u64>,
    /// Maximum size of the content, from the blocks.
    pub max_content: u64,
    /// Whether the frame has a checksum of its content.
    pub checksum: bool,
    /// ID of the dictionary that the frame names; 0 if it names none.
    pub dictionary: u32,
}

fn broken(what: impl std::fmt::Display) -> crate::error::Error {
    fail!(Format, "invalid zstd frame: {what}")
}

/// Parses the frame at offset `at`.
pub fn frame(src: &impl Source, at: u64) -> Result<Frame> {
    let mut head = [0; HEADER_MAX];
    let have = src.end().saturating_sub(at).min(HEADER_MAX as u64) as usize;
    let head = head.at_mut(..have)?;
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
            max_content: 0,
            checksum: false,
            dictionary: 0,
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
    let field = |from: usize, len: usize| {
        let bytes = rest.get(from..from + len)?.iter().rev();
        Some(bytes.fold(0, |n: u64, &b| n << 8 | u64::from(b)))
    };
    let dictionary = field(window, dict_id).ok_or_else(cut)? as u32;
    let size = field(window + dict_id, size_len).ok_or_else(cut)?;
    let content = (size_len > 0).then(|| if size_len == 2 { size + 256 } else { size });
    let blocks = blocks(src, at + (5 + window + dict_id + size_len) as u64, checksum)?;
    if let Some(n) = content.filter(|&n| n > blocks.max_content) {
        return Err(broken(format_args!(
            "it declares {n} bytes, but its blocks can contain {} at most",
            blocks.max_content
        )));
    }
    Ok(Frame {
        len: blocks.end - at,
        skippable: false,
        content,
        max_content: blocks.max_content,
        checksum,
        dictionary,
    })
}

struct Blocks {
    end: u64,
    max_content: u64,
}

fn blocks(src: &impl Source, mut at: u64, checksum: bool) -> Result<Blocks> {
    let mut max_content = 0u64;
    loop {
        let mut h = [0; 3];
        if !src.get(at, &mut h)? {
            return Err(broken("it ends before its last block"));
        }
        let [a, b, c] = h;
        let h = u32::from_le_bytes([a, b, c, 0]);
        let size = u64::from(h >> 3);
        let (stored, content) = match h >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, BLOCK_MAX),
            _ => return Err(broken("a block of a reserved type")),
        };
        if size > BLOCK_MAX {
            return Err(broken(format_args!("a block of {size} bytes")));
        }
        max_content += content;
        at += 3 + stored;
        if h & 1 != 0 {
            break;
        }
    }
    let end = at + if checksum { 4 } else { 0 };
    if end > src.end() {
        return Err(broken("it ends inside its last block"));
    }
    Ok(Blocks { end, max_content })
}

/// The content of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Number of frames.
    pub frames: u32,
    /// Number of frames that are not skippable.
    pub data_frames: u32,
    /// Total size of the content, if every header contains it.
    pub content: Option<u64>,
    /// Maximum total size of the content.
    pub max_content: u64,
    /// Whether every data frame has a checksum of its content.
    pub checksum: bool,
    /// ID of the dictionary that the data frames name; 0 if they name none.
    pub dictionary: u32,
}

/// Parses all frames of a record. Returns an error if its bytes are not a sequence of whole frames.
pub fn survey(record: &[u8]) -> Result<Survey> {
    let mut s = Survey {
        frames: 0,
        data_frames: 0,
        content: Some(0),
        max_content: 0,
        checksum: true,
        dictionary: 0,
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
        s.frames = s.frames.saturating_add(1);
        if f.skippable {
            continue;
        }
        s.data_frames = s.data_frames.saturating_add(1);
        s.checksum &= f.checksum;
        s.dictionary = s.dictionary.max(f.dictionary);
        s.max_content = s.max_content.saturating_add(f.max_content);
        s.content = s.content.zip(f.content).map(|(a, b)| a.saturating_add(b));
    }
    s.checksum &= s.data_frames > 0;
    Ok(s)
}

/// Bytes that a [`FileSource`] reads at once at first.
pub const READ_AHEAD: usize = 512;

/// A part of a file up to `end`, with a small read-ahead.
///
/// The number of reads is limited, so that a file of millions of tiny blocks takes bounded time.
pub struct FileSource<'a> {
    file: &'a dyn crate::io::File,
    end: u64,
    reads_left: Cell<u32>,
    /// Bytes that were read, with their offset.
    read_ahead: RefCell<(u64, Vec<u8>)>,
}

impl<'a> FileSource<'a> {
    /// Creates a source of the bytes before `end` with a limit of 131072 reads.
    pub fn new(file: &'a dyn crate::io::File, end: u64) -> Self {
        FileSource {
            file,
            end,
            reads_left: Cell::new(1 << 17),
            read_ahead: RefCell::default(),
        }
    }

    /// Creates a source without a limit of reads.
    pub fn unlimited(file: &'a dyn crate::io::File, end: u64) -> Self {
        let s = FileSource::new(file, end);
        s.reads_left.set(u32::MAX);
        s
    }

    fn fill(&self, at: u64, n: usize) -> Result<Vec<u8>> {
        // Sequential reads use pieces of increasing size. A read at another offset uses one small
        // piece.
        let (from, old) = self.read_ahead.take();
        let is_sequential = at >= from && at <= from + old.len() as u64 * 2;
        let piece = if is_sequential {
            (old.len() * 2).clamp(READ_AHEAD, 64 << 10)
        } else {
            READ_AHEAD
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
        match self.reads_left.get() {
            0 => {
                return Err(fail!(
                    Limit,
                    "the frame has too many blocks to find its end"
                ));
            }
            u32::MAX => {}
            n => self.reads_left.set(n - 1),
        }
        let copy = |from: u64, bytes: &[u8], dst: &mut [u8]| {
            let at = at.checked_sub(from).and_then(|n| usize::try_from(n).ok());
            at.and_then(|at| bytes.get(at..)?.get(..dst.len()))
                .map(|b| dst.copy_from_slice(b))
                .is_some()
        };
        if self.file.bytes().is_some() {
            return self.file.read_exact_at(at, dst).map(|()| true);
        }
        let have = {
            let read_ahead = self.read_ahead.borrow();
            copy(read_ahead.0, &read_ahead.1, dst)
        };
        if !have {
            let bytes = self.fill(at, dst.len())?;
            copy(at, &bytes, dst);
            self.read_ahead.replace((at, bytes));
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
                    assert!(got.max_content >= n as u64, "{} of {n}", got.max_content);
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
        assert_eq!((s.frames, s.data_frames), (5, 2));
        assert_eq!((s.content, s.checksum), (Some(8), false));
        assert_eq!(
            survey(&skip).unwrap(),
            Survey {
                frames: 1,
                data_frames: 0,
                content: Some(0),
                max_content: 0,
                checksum: false,
                dictionary: 0
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
    fn a_content_size_beyond_the_blocks_is_refused() {
        let mut f = zstd(&vec![7; 1_000_000], false);
        f[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            frame(&&f[..], 0)
                .unwrap_err()
                .message
                .contains("declares 4294967295 bytes")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes(mut b in proptest::collection::vec(proptest::num::u8::ANY, 0..200), zstd: bool) {
            if zstd && b.len() >= 4 {
                b[..4].copy_from_slice(&MAGIC.to_le_bytes());
            }
            if let Ok(s) = survey(&b) {
                assert!(s.content.is_none_or(|c| c <= s.max_content));
            }
        }
    }
}
