//! Greedy compressor with a hash table of the last position of each sequence of five bytes. The
//! probe, which gives up early on data that hardly shrink, the minimum match length, and the levels
//! are those of C-Blosc.
#![forbid(unsafe_code)]

use super::{FIRST_CONTROL_BITS, LONG_MATCH, MAX_DISTANCE, MAX_LITERALS, MAX_SHORT_DISTANCE};

/// Estimated ratio in percent from which matches are long enough that a more expensive search for
/// each of them pays off.
const HIGH_RATIO: usize = 600;
/// Maximum number of bytes that the probe reads, and the size of its hash table.
const PROBE: usize = 4096;
/// Minimum number of bytes that are compressed.
const MIN_INPUT: usize = 16;
/// First position at which a match may begin.
const FIRST: usize = 4;
/// Number of bytes at the end in which no match begins, so that eight bytes can be read wherever
/// one does.
const TAIL: usize = 12;
/// Number of bytes at the end that no match covers: a stream ends with literals.
const LITERAL_TAIL: usize = 2;
/// Minimum length of a match.
const MIN_MATCH: usize = 5;
/// Number of bits in eight bytes after the minimum match length.
const UNUSED: u32 = 64 - 8 * MIN_MATCH as u32;
/// A prime of 40 bits, for the hash.
const FACTOR: u64 = 889_523_592_379;
/// Minimum length of a match with a longer distance than `MAX_SHORT_DISTANCE`, whose code is
/// longer.
const MIN_FAR_MATCH: usize = 8;

/// Compresses `src` into `dst`. Returns the number of bytes written, which is always less than the
/// length of `src`. Returns 0 if the stream does not fit, if the probe estimates that it is not
/// worth decoding, at level 0, and at levels above 9.
pub fn compress(level: u8, src: &[u8], dst: &mut [u8]) -> usize {
    let (min_ratio, table) = match level {
        1 => (200, 12),
        2 => (150, 13),
        3..=6 => (120, 14),
        7 => (115, 14),
        8 => (110, 14),
        9 => (100, 14),
        _ => return 0,
    };
    if src.len() < MIN_INPUT || u32::try_from(src.len()).is_err() {
        return 0;
    }
    // a stream as long as its content would be read as uncompressed content
    let room = dst.len().min(src.len() - 1);
    let (Some(ratio), Some(dst)) = (probe(src), dst.get_mut(..room)) else {
        return 0;
    };
    if ratio < min_ratio {
        return 0;
    }
    let high_ratio = ratio >= HIGH_RATIO;
    // the table is on the stack: at most 64 KiB
    match table {
        12 => encode::<{ 1 << 12 }>(src, dst, high_ratio),
        13 => encode::<{ 1 << 13 }>(src, dst, high_ratio),
        _ => encode::<{ 1 << 14 }>(src, dst, high_ratio),
    }
    .unwrap_or(0)
}

/// Estimates the ratio in percent from a window at three quarters of `src`; a short `src` is read
/// completely.
#[inline(never)] // so that the table is on the stack only while it is needed, like below
fn probe(src: &[u8]) -> Option<usize> {
    let size = (src.len() / 4).max(PROBE / 4).min(src.len());
    let (_, window) = src.split_at_checked(src.len() - size)?;
    let window = window.get(..PROBE).unwrap_or(window);
    let mut finder = Finder {
        src: window,
        at: FIRST,
        table: &mut [0; PROBE],
        high_ratio: false,
    };
    let (mut read, mut written) = (0, 0);
    while let Some(Match {
        start,
        length,
        distance,
    }) = finder.find()
    {
        let literals = start - read;
        written += literals + literals.div_ceil(MAX_LITERALS) + 2;
        written += if length < LONG_MATCH {
            0
        } else {
            (length - LONG_MATCH) / 255 + 1
        };
        written += if distance <= MAX_SHORT_DISTANCE { 0 } else { 2 };
        read = start + length;
    }
    let literals = finder.at - read;
    written += literals + literals.div_ceil(MAX_LITERALS);
    Some(100 * finder.at / written)
}

/// Writes the stream. Returns `None` if it does not fit.
#[inline(never)]
fn encode<const SIZE: usize>(src: &[u8], dst: &mut [u8], high_ratio: bool) -> Option<usize> {
    let mut finder = Finder {
        src,
        at: FIRST,
        table: &mut [0; SIZE],
        high_ratio,
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
    *dst.first_mut()? |= FIRST_CONTROL_BITS;
    Some(written)
}

/// A position whose first bytes, at least `MIN_MATCH`, occurred before, and the differing bits of
/// the first eight bytes.
struct Candidate {
    start: usize,
    from: usize,
    differ: u64,
}

/// A match: `length` bytes at `start` equal those `distance` before them.
struct Match {
    start: usize,
    length: usize,
    distance: usize,
}

/// Finds matches from position `at`. An empty slot of the table means position 0, which is a valid
/// candidate.
struct Finder<'a, const SIZE: usize> {
    src: &'a [u8],
    at: usize,
    table: &'a mut [u32; SIZE],
    high_ratio: bool,
}

impl<const SIZE: usize> Finder<'_, SIZE> {
    /// Returns the next match, and moves `at` to its end.
    #[inline(always)]
    fn find(&mut self) -> Option<Match> {
        loop {
            let Candidate {
                start,
                from,
                differ,
            } = self.candidate()?;
            let distance = start - from;
            if distance > MAX_DISTANCE {
                continue;
            }
            let mut end = match first_set(differ) {
                Some(n) => start + n,
                None => self.match_end(from + 8, start + 8)?,
            };
            if self.high_ratio
                && end - start >= 8
                && self.better_match_before_end(end) == Some(true)
            {
                end -= 1;
            }
            let length = end - start;
            if distance <= MAX_SHORT_DISTANCE || length >= MIN_FAR_MATCH {
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

    /// Returns the next candidate. All positions up to it are entered into the table.
    #[inline(always)]
    fn candidate(&mut self) -> Option<Candidate> {
        let first = self.at;
        let limit = self.src.len() - TAIL;
        for (i, eight) in self.src.get(first..limit + 7)?.windows(8).enumerate() {
            let eight = read_u64(eight, 0)?;
            let start = first + i;
            let from = std::mem::replace(self.slot(eight)?, start as u32) as usize;
            if let Some(seen) = read_u64(self.src, from)
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

    /// Returns the slot with the last position of these bytes, or of others with the same hash.
    #[inline(always)]
    fn slot(&mut self, eight: u64) -> Option<&mut u32> {
        let hash = (eight << UNUSED).wrapping_mul(FACTOR) >> (64 - SIZE.trailing_zeros());
        self.table.get_mut(hash as usize & (SIZE - 1))
    }

    /// Enters the last two positions of a match into the table.
    #[inline(always)]
    fn enter_last_two(&mut self, end: usize) -> Option<()> {
        let eight = read_u64(self.src, end - 2)?;
        *self.slot(eight)? = end as u32 - 2;
        *self.slot(eight >> 8)? = end as u32 - 1;
        Some(())
    }

    /// Returns the first position from `at` where the bytes differ from those from `from`.
    #[inline(always)]
    fn match_end(&self, from: usize, at: usize) -> Option<usize> {
        let end = at + common(self.src.get(from..)?, self.src.get(at..)?);
        Some(end.min(self.src.len() - LITERAL_TAIL))
    }

    /// Returns whether a match that begins with the last byte of this one extends well beyond it.
    /// In data with long periods, that byte and the bytes after it distinguish positions; the bytes
    /// after it alone are often the middle of a run.
    #[inline(always)]
    fn better_match_before_end(&mut self, end: usize) -> Option<bool> {
        let at = end - 1;
        let nine = self.src.get(at..)?.first_chunk::<9>()?;
        let from = *self.slot(read_u64(nine, 0)?)? as usize;
        Some(at - from <= MAX_DISTANCE && self.src.get(from..)?.first_chunk() == Some(nine))
    }
}

#[inline(always)]
fn read_u64(src: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*src.get(at..at + 8)?.first_chunk()?))
}

/// Returns the index of the first byte with a bit set.
#[inline(always)]
fn first_set(bits: u64) -> Option<usize> {
    (bits != 0).then(|| bits.trailing_zeros() as usize / 8)
}

/// Returns the length of the common prefix of `a` and the shorter `b`.
#[inline(never)]
fn common(a: &[u8], b: &[u8]) -> usize {
    let (mut a, mut b, all) = (a, b, b.len());
    while let (Some((x, after_a)), Some((y, after_b))) =
        (a.split_first_chunk::<32>(), b.split_first_chunk())
        && x == y
    {
        (a, b) = (after_a, after_b);
    }
    let wide = all - b.len();
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

/// Writes `src[from..to]` as literals.
#[inline(always)]
fn put_literals(
    src: &[u8],
    mut from: usize,
    to: usize,
    dst: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    while from < to {
        let count = MAX_LITERALS.min(to - from);
        let (input, room) = (src.get(from..)?, dst.get_mut(at..)?);
        match (
            input.first_chunk::<MAX_LITERALS>(),
            room.first_chunk_mut::<{ MAX_LITERALS + 1 }>(),
        ) {
            (Some(input), Some([control, room @ ..])) => {
                *control = count as u8 - 1;
                *room = *input;
            }
            _ => put_last_literals(input.get(..count)?, room)?,
        }
        from += count;
        at += count + 1;
    }
    Some(at)
}

/// Writes fewer than `MAX_LITERALS` literals, or literals without space for `MAX_LITERALS`. A
/// separate function, so that the usual copy has a fixed size.
#[cold]
#[inline(never)]
fn put_last_literals(input: &[u8], room: &mut [u8]) -> Option<()> {
    let (control, room) = room.split_first_mut()?;
    *control = input.len() as u8 - 1;
    room.get_mut(..input.len())?.copy_from_slice(input);
    Some(())
}

/// Writes the code of a match.
#[inline(always)]
fn put_match(length: usize, distance: usize, dst: &mut [u8], at: usize) -> Option<usize> {
    if length < LONG_MATCH && distance <= MAX_SHORT_DISTANCE {
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
    let near = (distance - 1).min(MAX_SHORT_DISTANCE);
    put((length.min(LONG_MATCH) - 2) << 5 | near >> 8)?;
    if let Some(more) = length.checked_sub(LONG_MATCH) {
        for _ in 0..more / 255 {
            put(255)?;
        }
        put(more % 255)?;
    }
    put(near)?;
    if near == MAX_SHORT_DISTANCE {
        let far = distance - 1 - MAX_SHORT_DISTANCE;
        put(far >> 8)?;
        put(far)?;
    }
    Some(at)
}
