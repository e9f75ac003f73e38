//! The compressor: greedy, with a hash table of the last place of each five bytes. What it has from
//! C-Blosc is the probe that gives up early on data which hardly shrinks, the shortest match, and
//! the levels.
#![forbid(unsafe_code)]

use super::{FAR, LONG, MARK, NEAR, RUN};

/// Where the probe promises this ratio in percent, matches are long, and time for each of them is
/// well spent.
const RICH: usize = 600;
/// The most bytes that the probe looks at, and the size of its hash table.
const PROBE: usize = 4096;
/// Fewer bytes are not compressed.
const SMALLEST: usize = 16;
/// The first place where a match may begin.
const FIRST: usize = 4;
/// No match begins in the last bytes, so that eight can be read wherever one does ...
const TAIL: usize = 12;
/// ... and none reaches into these: a stream ends with literals.
const LITERAL_TAIL: usize = 2;
/// The shortest match.
const SHORTEST: usize = 5;
/// So many bits of eight bytes are behind those that a match must have.
const UNUSED: u32 = 64 - 8 * SHORTEST as u32;
/// A prime of 40 bits, for the hash.
const FACTOR: u64 = 889_523_592_379;
/// The shortest match farther away than `NEAR`, whose code is longer.
const SHORTEST_FAR: usize = 8;

/// Compresses `src` into `dst` and gives the number of bytes written, always fewer than `src` has.
/// 0 where they do not fit, where a probe says that the stream would not be worth its decoding, at
/// level 0 and beyond 9.
pub fn compress(level: u8, src: &[u8], dst: &mut [u8]) -> usize {
    let (least, table) = match level {
        1 => (200, 12),
        2 => (150, 13),
        3..=6 => (120, 14),
        7 => (115, 14),
        8 => (110, 14),
        9 => (100, 14),
        _ => return 0,
    };
    if src.len() < SMALLEST || u32::try_from(src.len()).is_err() {
        return 0;
    }
    // a stream as long as its data would be taken for the data
    let room = dst.len().min(src.len() - 1);
    let (Some(ratio), Some(dst)) = (probe(src), dst.get_mut(..room)) else {
        return 0;
    };
    if ratio < least {
        return 0;
    }
    let rich = ratio >= RICH;
    // the table lies on the stack: at most 64 KiB
    match table {
        12 => encode::<{ 1 << 12 }>(src, dst, rich),
        13 => encode::<{ 1 << 13 }>(src, dst, rich),
        _ => encode::<{ 1 << 14 }>(src, dst, rich),
    }
    .unwrap_or(0)
}

/// Guesses the ratio, in percent, from a window at three quarters of `src`; a short `src` is looked
/// at whole.
#[inline(never)] // so that the table is on the stack only while it is needed; the same below
fn probe(src: &[u8]) -> Option<usize> {
    let size = (src.len() / 4).max(PROBE / 4).min(src.len());
    let (_, window) = src.split_at_checked(src.len() - size)?;
    let window = window.get(..PROBE).unwrap_or(window);
    let mut finder = Finder {
        src: window,
        at: FIRST,
        table: &mut [0; PROBE],
        rich: false,
    };
    let (mut read, mut written) = (0, 0);
    while let Some(Match {
        start,
        length,
        distance,
    }) = finder.find()
    {
        let literals = start - read;
        written += literals + literals.div_ceil(RUN) + 2;
        written += if length < LONG {
            0
        } else {
            (length - LONG) / 255 + 1
        };
        written += if distance <= NEAR { 0 } else { 2 };
        read = start + length;
    }
    let literals = finder.at - read;
    written += literals + literals.div_ceil(RUN);
    Some(100 * finder.at / written)
}

/// Writes the stream, or nothing where it does not fit.
#[inline(never)]
fn encode<const SIZE: usize>(src: &[u8], dst: &mut [u8], rich: bool) -> Option<usize> {
    let mut finder = Finder {
        src,
        at: FIRST,
        table: &mut [0; SIZE],
        rich,
    };
    let (mut read, mut written) = (0, 0);
    while let Some(Match {
        start,
        length,
        distance,
    }) = finder.find()
    {
        written = put_literals(src, read, start, dst, written)?;
        written = put_match(length, distance, dst, written)?;
        read = start + length;
    }
    written = put_literals(src, read, src.len(), dst, written)?;
    *dst.first_mut()? |= MARK;
    Some(written)
}

/// A place whose first bytes, `SHORTEST` or more, were seen before, and the bits of the first eight
/// that differ.
struct Candidate {
    start: usize,
    from: usize,
    differ: u64,
}

/// `length` bytes at `start` are those `distance` before them.
struct Match {
    start: usize,
    length: usize,
    distance: usize,
}

/// Finds matches from `at` on. An empty slot of the table means place 0, which is as good as any.
struct Finder<'a, const SIZE: usize> {
    src: &'a [u8],
    at: usize,
    table: &'a mut [u32; SIZE],
    rich: bool,
}

impl<const SIZE: usize> Finder<'_, SIZE> {
    /// The next match; `at` is behind it then.
    #[inline(always)]
    fn find(&mut self) -> Option<Match> {
        loop {
            let Candidate {
                start,
                from,
                differ,
            } = self.candidate()?;
            let distance = start - from;
            if distance > FAR {
                continue;
            }
            let mut end = match first_set(differ) {
                Some(n) => start + n,
                None => self.match_end(from + 8, start + 8)?,
            };
            if self.rich && end - start >= 8 && self.better_before(end) == Some(true) {
                end -= 1;
            }
            let length = end - start;
            if distance <= NEAR || length >= SHORTEST_FAR {
                self.enter_last_two(end);
                self.at = end;
                return Some(Match {
                    start,
                    length,
                    distance,
                });
            }
        }
    }

    /// The next candidate; all places up to it have entered the table.
    #[inline(always)]
    fn candidate(&mut self) -> Option<Candidate> {
        let first = self.at;
        let limit = self.src.len() - TAIL;
        for (i, eight) in self.src.get(first..limit + 7)?.windows(8).enumerate() {
            let eight = word(eight, 0)?;
            let start = first + i;
            let from = std::mem::replace(self.slot(eight)?, start as u32) as usize;
            if let Some(seen) = word(self.src, from)
                && (eight ^ seen) << UNUSED == 0
            {
                self.at = start + 1;
                return Some(Candidate {
                    start,
                    from,
                    differ: eight ^ seen,
                });
            }
        }
        self.at = limit.max(first);
        None
    }

    /// The last place of `SHORTEST` bytes like these, or of others with their hash.
    #[inline(always)]
    fn slot(&mut self, eight: u64) -> Option<&mut u32> {
        let hash = (eight << UNUSED).wrapping_mul(FACTOR) >> (64 - SIZE.trailing_zeros());
        self.table.get_mut(hash as usize & (SIZE - 1))
    }

    /// Of a match, its last two places alone enter the table.
    #[inline(always)]
    fn enter_last_two(&mut self, end: usize) -> Option<()> {
        let eight = word(self.src, end - 2)?;
        *self.slot(eight)? = end as u32 - 2;
        *self.slot(eight >> 8)? = end as u32 - 1;
        Some(())
    }

    /// The first place from `at` on where the bytes differ from those from `from` on.
    #[inline(always)]
    fn match_end(&self, from: usize, at: usize) -> Option<usize> {
        let end = at + common(self.src.get(from..)?, self.src.get(at..)?);
        Some(end.min(self.src.len() - LITERAL_TAIL))
    }

    /// Whether a match that begins with the last byte of this one goes on well behind it. Where
    /// data repeats in long periods, that byte and what follows tell one place from another;
    /// what follows alone is often the middle of a run.
    #[inline(always)]
    fn better_before(&mut self, end: usize) -> Option<bool> {
        let at = end - 1;
        let nine = self.src.get(at..)?.first_chunk::<9>()?;
        let from = *self.slot(word(nine, 0)?)? as usize;
        Some(at - from <= FAR && self.src.get(from..)?.first_chunk() == Some(nine))
    }
}

#[inline(always)]
fn word(src: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*src.get(at..at + 8)?.first_chunk()?))
}

/// The first byte with a bit set.
#[inline(always)]
fn first_set(bits: u64) -> Option<usize> {
    (bits != 0).then(|| bits.trailing_zeros() as usize / 8)
}

/// How many bytes `a` and the shorter `b` have in common.
#[inline(never)]
fn common(a: &[u8], b: &[u8]) -> usize {
    let wide = |(a, b): &(&[u8; 32], &[u8; 32])| a == b;
    let wide = 32
        * a.as_chunks()
            .0
            .iter()
            .zip(b.as_chunks().0)
            .take_while(wide)
            .count();
    let (a, b) = (
        a.get(wide..).unwrap_or_default(),
        b.get(wide..).unwrap_or_default(),
    );
    let (eights, rest) = b.as_chunks();
    for (i, (a, b)) in a.as_chunks().0.iter().zip(eights).enumerate() {
        if let Some(n) = first_set(u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)) {
            return wide + 8 * i + n;
        }
    }
    let done = b.len() - rest.len();
    wide + done
        + a.iter()
            .skip(done)
            .zip(rest)
            .take_while(|(a, b)| a == b)
            .count()
}

/// Writes `src` from `from` to `to` as literals.
#[inline(always)]
fn put_literals(
    src: &[u8],
    mut from: usize,
    to: usize,
    dst: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    while from < to {
        let count = RUN.min(to - from);
        let (input, room) = (src.get(from..)?, dst.get_mut(at..)?);
        match (
            input.first_chunk::<RUN>(),
            room.first_chunk_mut::<{ RUN + 1 }>(),
        ) {
            (Some(input), Some([control, room @ ..])) => {
                *control = count as u8 - 1;
                *room = *input;
            }
            _ => put_few(input.get(..count)?, room)?,
        }
        from += count;
        at += count + 1;
    }
    Some(at)
}

/// Fewer than `RUN` literals, or no room for `RUN`. Apart, so that the usual copy keeps its fixed
/// size.
#[cold]
#[inline(never)]
fn put_few(input: &[u8], room: &mut [u8]) -> Option<()> {
    let (control, room) = room.split_first_mut()?;
    *control = input.len() as u8 - 1;
    room.get_mut(..input.len())?.copy_from_slice(input);
    Some(())
}

/// Writes the code of a match.
#[inline(always)]
fn put_match(length: usize, distance: usize, dst: &mut [u8], at: usize) -> Option<usize> {
    if length < LONG && distance <= NEAR {
        let code = (length - 2) << 13 | (distance - 1);
        *dst.get_mut(at..)?.first_chunk_mut()? = (code as u16).to_be_bytes();
        return Some(at + 2);
    }
    put_long_match(length, distance, dst, at)
}

#[inline(never)]
fn put_long_match(length: usize, distance: usize, dst: &mut [u8], mut at: usize) -> Option<usize> {
    let mut put = |byte: usize| {
        *dst.get_mut(at)? = byte as u8;
        at += 1;
        Some(())
    };
    let near = (distance - 1).min(NEAR);
    put((length.min(LONG) - 2) << 5 | near >> 8)?;
    if let Some(more) = length.checked_sub(LONG) {
        for _ in 0..more / 255 {
            put(255)?;
        }
        put(more % 255)?;
    }
    put(near)?;
    if near == NEAR {
        let far = distance - 1 - NEAR;
        put(far >> 8)?;
        put(far)?;
    }
    Some(at)
}
