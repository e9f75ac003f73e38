//! BloscLZ, the codec of Blosc itself: LZ77 of FastLZ's family, without entropy coding.
//!
//! A stream is a row of instructions, each with a control byte `c` in front:
//!
//! - `c < 32`: `c + 1` literals follow.
//! - else a match: `c >> 5` says its length, 1 to 6 for 3 to 8 bytes; 7 for 9 bytes and more, where bytes
//!   follow that are added up, and the first one below 255 is the last. The low five bits of `c` and one
//!   more byte are the distance less one. 8191 stands for far away: two bytes more, the higher one first,
//!   are added to it.
//!
//! The first instruction is literals whatever its upper three bits are (writers put a 1 there), and so is the
//! last one. A stream knows neither its own length nor that of its data.
//!
//! The compressor is greedy, with a hash table of the last place of each five bytes. What it has from C-Blosc
//! is the probe that gives up early on data which hardly shrinks, the shortest match, and the levels.
#![forbid(unsafe_code)]

/// The most literals in one instruction.
const RUN: usize = 32;
/// What the first control byte carries on top.
const MARK: u8 = 32;
/// The longest distance in the short form.
const NEAR: usize = 8191;
/// The longest distance that C-Blosc looks back.
const FAR: usize = NEAR + 65533;
/// From here on, a match has its length in bytes of its own.
const LONG: usize = 9;

/// Decompresses the stream `src` into `dst` and gives the number of bytes, or nothing where the stream is
/// damaged or does not fit. Bytes of `dst` behind that number may have changed.
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    decompress_until::<false>(src, dst, 0)
}

/// As [`decompress`], and ends where `wanted` bytes are there, with the instruction that brings the last of them.
pub fn decompress_some(src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    decompress_until::<true>(src, dst, wanted)
}

#[inline(always)]
fn decompress_until<const SOME: bool>(src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    let (&first, mut input) = src.split_first()?;
    let mut control = usize::from(first & (MARK - 1));
    let mut at = 0;
    loop {
        if control < RUN {
            let count = control + 1;
            dst.get_mut(at..at + count)?.copy_from_slice(input.get(..count)?);
            at += count;
            input = input.get(count..)?;
            if input.is_empty() {
                return Some(at);
            }
        } else {
            let (length, distance, rest) = match_code(control, input)?;
            input = rest;
            at = repeat(dst, at, distance, length)?;
        }
        (input, at) = decompress_inner::<SOME>(input, dst, at, wanted)?;
        if SOME && at >= wanted {
            return Some(at);
        }
        let (&next, rest) = input.split_first()?;
        (control, input) = (usize::from(next), rest);
    }
}

/// All instructions with so much input behind them and room before them that literals are copied `RUN` at a time.
/// Gives what is left of the input, and the place in `dst`.
#[inline(always)]
fn decompress_inner<'a, const SOME: bool>(mut input: &'a [u8], dst: &mut [u8], mut at: usize, wanted: usize) -> Option<(&'a [u8], usize)> {
    while let Some([control, literals @ .., _]) = input.first_chunk::<{ RUN + 2 }>() {
        if SOME && at >= wanted {
            break;
        }
        let control = usize::from(*control);
        if control < RUN {
            let Some(room) = dst.get_mut(at..)?.first_chunk_mut() else { break };
            *room = *literals;
            input = input.get(control + 2..)?;
            at += control + 1;
        } else {
            let (length, distance, rest) = match_code(control, input.get(1..)?)?;
            input = rest;
            at = repeat(dst, at, distance, length)?;
        }
    }
    Some((input, at))
}

/// A match's length and distance, and what follows its code.
#[inline(always)]
fn match_code(control: usize, mut input: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut length = (control >> 5) + 2;
    if length == LONG {
        loop {
            let (&more, rest) = input.split_first()?;
            input = rest;
            length = length.saturating_add(usize::from(more));
            if more != 255 {
                break;
            }
        }
    }
    let (&low, mut rest) = input.split_first()?;
    let mut back = (control & 31) << 8 | usize::from(low);
    if back == NEAR {
        let (&more, behind) = rest.split_first_chunk()?;
        back += usize::from(u16::from_be_bytes(more));
        rest = behind;
    }
    Some((length, back + 1, rest))
}

/// Writes `length` bytes at `at`, each the one `distance` before it, and gives the place behind them.
#[inline(always)]
pub(super) fn repeat(dst: &mut [u8], mut at: usize, distance: usize, length: usize) -> Option<usize> {
    let mut from = at.checked_sub(distance)?;
    let end = at.checked_add(length)?;
    if length > 32 || end + 8 > dst.len() {
        repeat_long(dst, from, at, end)?;
        return Some(end);
    }
    if let Some((eight, period)) = pattern(dst, from, distance) {
        *dst.get_mut(at..)?.first_chunk_mut()? = eight;
        at += 8;
        from = at - period;
    }
    while at < end {
        let eight = *dst.get(from..)?.first_chunk::<8>()?;
        *dst.get_mut(at..)?.first_chunk_mut()? = eight;
        from += 8;
        at += 8;
    }
    Some(end)
}

/// For each distance below 8: the factor that repeats so many bytes, and its first multiple that is 8 or more.
const PERIODS: [(u64, usize); 8] = [
    (0, 8),
    (0x0101_0101_0101_0101, 8),
    (0x0001_0001_0001_0001, 8),
    (0x0001_0000_0100_0001, 9),
    (0x0000_0001_0000_0001, 8),
    (0x0000_0100_0000_0001, 10),
    (0x0001_0000_0000_0001, 12),
    (0x0100_0000_0000_0001, 14),
];

/// For a distance below 8: the bytes from `from` on, over and over, and the same distance as one of 8 or more.
#[inline(always)]
fn pattern(dst: &[u8], from: usize, distance: usize) -> Option<([u8; 8], usize)> {
    let &(factor, period) = PERIODS.get(distance)?;
    let eight = u64::from_le_bytes(*dst.get(from..)?.first_chunk()?);
    let first = eight & ((1 << (8 * distance)) - 1);
    Some((first.wrapping_mul(factor).to_le_bytes(), period))
}

/// What `repeat` does, with large copies, and never writing behind `end`.
#[inline(never)]
fn repeat_long(dst: &mut [u8], from: usize, at: usize, end: usize) -> Option<()> {
    let dst = dst.get_mut(from..end)?;
    let distance = at - from;
    match pattern(dst, 0, distance) {
        Some((eight, 8)) => {
            let [byte, ..] = eight;
            if eight == [byte; 8] {
                dst.fill(byte);
            } else {
                let (blocks, rest) = dst.as_chunks_mut();
                blocks.fill(eight);
                rest.iter_mut().zip(eight).for_each(|(to, byte)| *to = byte);
            }
        }
        _ => {
            // what is there doubles with each step
            let mut done = distance;
            while done < dst.len() {
                let count = done.min(dst.len() - done);
                dst.copy_within(..count, done);
                done += count;
            }
        }
    }
    Some(())
}

/// Where the probe promises this ratio in percent, matches are long, and time for each of them is well spent.
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

/// Compresses `src` into `dst` and gives the number of bytes written, always fewer than `src` has. 0 where they
/// do not fit, where a probe says that the stream would not be worth its decoding, at level 0 and beyond 9.
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
    let (Some(ratio), Some(dst)) = (probe(src), dst.get_mut(..room)) else { return 0 };
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

/// Guesses the ratio, in percent, from a window at three quarters of `src`; a short `src` is looked at whole.
#[inline(never)] // so that the table is on the stack only while it is needed; the same below
fn probe(src: &[u8]) -> Option<usize> {
    let size = (src.len() / 4).max(PROBE / 4).min(src.len());
    let (_, window) = src.split_at_checked(src.len() - size)?;
    let window = window.get(..PROBE).unwrap_or(window);
    let mut finder = Finder { src: window, at: FIRST, table: &mut [0; PROBE], rich: false };
    let (mut read, mut written) = (0, 0);
    while let Some(Match { start, length, distance }) = finder.find() {
        let literals = start - read;
        written += literals + literals.div_ceil(RUN) + 2;
        written += if length < LONG { 0 } else { (length - LONG) / 255 + 1 };
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
    let mut finder = Finder { src, at: FIRST, table: &mut [0; SIZE], rich };
    let (mut read, mut written) = (0, 0);
    while let Some(Match { start, length, distance }) = finder.find() {
        written = put_literals(src, read, start, dst, written)?;
        written = put_match(length, distance, dst, written)?;
        read = start + length;
    }
    written = put_literals(src, read, src.len(), dst, written)?;
    *dst.first_mut()? |= MARK;
    Some(written)
}

/// A place whose first bytes, `SHORTEST` or more, were seen before, and the bits of the first eight that differ.
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
            let Candidate { start, from, differ } = self.candidate()?;
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
                return Some(Match { start, length, distance });
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
                return Some(Candidate { start, from, differ: eight ^ seen });
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

    /// Whether a match that begins with the last byte of this one goes on well behind it. Where data repeats
    /// in long periods, that byte and what follows tell one place from another; what follows alone is often
    /// the middle of a run.
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
    let wide = 32 * a.as_chunks().0.iter().zip(b.as_chunks().0).take_while(wide).count();
    let (a, b) = (a.get(wide..).unwrap_or_default(), b.get(wide..).unwrap_or_default());
    let (eights, rest) = b.as_chunks();
    for (i, (a, b)) in a.as_chunks().0.iter().zip(eights).enumerate() {
        if let Some(n) = first_set(u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)) {
            return wide + 8 * i + n;
        }
    }
    let done = b.len() - rest.len();
    wide + done + a.iter().skip(done).zip(rest).take_while(|(a, b)| a == b).count()
}

/// Writes `src` from `from` to `to` as literals.
#[inline(always)]
fn put_literals(src: &[u8], mut from: usize, to: usize, dst: &mut [u8], mut at: usize) -> Option<usize> {
    while from < to {
        let count = RUN.min(to - from);
        let (input, room) = (src.get(from..)?, dst.get_mut(at..)?);
        match (input.first_chunk::<RUN>(), room.first_chunk_mut::<{ RUN + 1 }>()) {
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

/// Fewer than `RUN` literals, or no room for `RUN`. Apart, so that the usual copy keeps its fixed size.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The format byte by byte.
    fn plain(src: &[u8], limit: usize) -> Option<Vec<u8>> {
        let mut bytes = src.iter().map(|&b| usize::from(b));
        let mut out = Vec::new();
        let mut control = bytes.next()? & 31;
        loop {
            if control < 32 {
                for _ in 0..=control {
                    out.push(bytes.next()? as u8);
                }
            } else {
                let mut length = (control >> 5) + 2;
                let mut more = if length == 9 { 255 } else { 0 };
                while more == 255 {
                    more = bytes.next()?;
                    length += more;
                }
                let mut back = (control & 31) * 256 + bytes.next()?;
                if back == 8191 {
                    back += bytes.next()? * 256 + bytes.next()?;
                }
                for _ in 0..length.min(limit + 1) {
                    out.push(*out.get(out.len().checked_sub(back + 1)?)?);
                }
            }
            if out.len() > limit {
                return None;
            }
            match bytes.next() {
                Some(next) => control = next,
                None => return (control < 32).then_some(out),
            }
        }
    }

    fn decoded(src: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut dst = vec![0xA5; room];
        let n = decompress(src, &mut dst)?;
        dst.truncate(n);
        Some(dst)
    }

    fn encoded(level: u8, src: &[u8]) -> Vec<u8> {
        let mut dst = vec![0; src.len()];
        let n = compress(level, src, &mut dst);
        dst.truncate(n);
        dst
    }

    /// A generator of numbers that other languages can repeat.
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            self.0
        }

        fn below(&mut self, n: u64) -> u64 {
            (self.next() >> 33) % n
        }

        fn bytes(seed: u64, n: usize) -> Vec<u8> {
            let mut noise = Noise(seed);
            (0..n).map(|_| (noise.next() >> 56) as u8).collect()
        }
    }

    fn shuffled(data: &[u8]) -> Vec<u8> {
        (0..8).flat_map(|i| data.iter().skip(i).step_by(8).copied()).collect()
    }

    fn hex(digits: &str) -> Vec<u8> {
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
    }

    /// Streams by c-blosc 1.21 and by c-blosc2 3.3, level 9.
    #[test]
    fn streams_of_the_references() {
        let noise = Noise::bytes(1, 40);
        let far = [&noise[..], &[0; 9000], &noise, &[1; 30], &noise[..13], &[2; 9000], &noise[20..30], &[3; 40]].concat();
        let text = b"She sells sea shells on the sea shore; the shells she sells are sea shells, I am sure.";
        let ramp = "3f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\
            1f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f1f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f";
        let ramp_data = [&(0..128).collect::<Vec<u8>>()[..], &[0; 384]].concat();
        let far_start = "3f6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a308528c8a3fcc2f044e00";
        let run = format!("e0{}", "ff".repeat(35));
        let (a, b) = (
            format!("{run}4100ff1fff03500001e01400e004450002{run}4100ff01ff26b70003e01c00010303"),
            format!("{run}40000000ff1eff0350014e01e013000001e0034501c802{run}40000002ff00ff26b701e303e01b0002030303"),
        );
        for (stream, data) in [
            ("2300000000e0ffff4b03010000", &[0; 600][..]),
            ("2300000000e0ffff4a0302000000", &[0; 600]),
            ("25616263616263e0ff1c05016263", &b"abc".repeat(100)),
            ("25616263616263e0ff1b0502616263", &b"abc".repeat(100)),
            (
                "3a5368652073656c6c7320736561207368656c6c73206f6e20746865801108686f72653b20746865a01c0d207368652073656c6c7320617265\
                80231068656c6c732c204920616d20737572652e",
                text,
            ),
            (&format!("{ramp}0000e0ff7500010000"), &ramp_data),
            (&format!("{ramp}0000e0ff740002000000"), &ramp_data),
            (&(far_start.to_owned() + &a), &far),
            (&(far_start.to_owned() + &b), &far),
        ] {
            assert_eq!(decoded(&hex(stream), data.len()).as_deref(), Some(data), "{stream}");
            assert_eq!(decoded(&hex(stream), data.len() - 1), None);
        }
    }

    /// Sizes are not beyond those of c-blosc 1.21 (level 5, pieces of 16 KiB), which are at most those of c-blosc2 3.3.
    #[test]
    fn sizes_of_the_references() {
        let make = |next: &dyn Fn(&mut Noise, &mut i64) -> [u8; 8]| {
            let (mut noise, mut state) = (Noise(1), 0);
            (0..16384).flat_map(|_| next(&mut noise, &mut state)).collect::<Vec<u8>>()
        };
        let walk = make(&|noise, cents| {
            *cents += noise.below(61) as i64 - 30;
            ((*cents + 10000) as f64 / 100.0).to_le_bytes()
        });
        let times = make(&|noise, time| {
            *time += 5 * noise.below(40) as i64;
            (*time + 1_700_000_000_000).to_le_bytes()
        });
        let sparse = make(&|noise, _| {
            let full = |noise: &mut Noise| (noise.below(200) as f64 - 100.0) / 10.0;
            if noise.below(20) == 0 { full(noise).to_le_bytes() } else { [0; 8] }
        });
        let counts = make(&|noise, _| {
            let most = noise.below(300);
            let most = noise.below(1 + most);
            noise.below(1 + most).to_le_bytes()
        });
        let ramp = make(&|_, i| (std::mem::replace(i, *i + 1)).to_le_bytes());
        // the bits of a counter, bit by bit
        let planes = (3..16).flat_map(|bit| (0..8192).map(move |i| if (8 * i) >> bit & 1 == 1 { 255 } else { 0 })).collect();
        for (name, data, crc, size) in [
            ("walk", shuffled(&walk), 2896980999, 100041),
            ("times", shuffled(&times), 1748620805, 25661),
            ("sparse", shuffled(&sparse), 4018104445, 24058),
            ("counts", shuffled(&counts), 33487232, 16970),
            ("ramp", shuffled(&ramp), 1417151256, 1180),
            ("planes", planes, 2622654163, 668),
        ] {
            assert_eq!(crate::checksum::crc32(&data), crc, "{name}: these are the data that were measured");
            let sizes = data.chunks(16384).map(|piece| match encoded(5, piece).len() {
                0 => piece.len(),
                n => n,
            });
            let ours: usize = sizes.sum();
            assert!(ours <= size, "{name}: {ours} bytes, {size} by c-blosc");
        }
    }

    #[test]
    fn what_is_not_compressed() {
        assert_eq!(compress(5, &[], &mut []), 0);
        assert_eq!(compress(5, &[0; 15], &mut [0; 15]), 0);
        assert_eq!(compress(0, &[0; 1000], &mut [0; 1000]), 0);
        assert_eq!(compress(10, &[0; 1000], &mut [0; 1000]), 0);
        assert_ne!(compress(1, &[0; 1000], &mut [0; 1000]), 0);
        assert_eq!(compress(9, &Noise::bytes(1, 100_000), &mut vec![0; 200_000]), 0);
        // promising at three quarters alone: longer than the data; too long for the room
        let data = [Noise::bytes(1, 150_000), vec![0; 4096], Noise::bytes(2, 45_904)].concat();
        assert_eq!(compress(9, &data, &mut vec![0; 400_000]), 0);
        let data = [Noise::bytes(1, 75_000), vec![0; 25_000]].concat();
        assert_eq!(compress(1, &data, &mut vec![0; 77_000]), 0);
        assert_ne!(compress(1, &data, &mut vec![0; 78_000]), 0);
    }

    #[test]
    fn damaged_streams() {
        for stream in ["", "20", "2161", "2061e0", "2061e0ff", "2061e0ff00", "2061ff00ff", "2061ff00ffff", "2061ff00ffff01"] {
            assert_eq!(decoded(&hex(stream), 1000), None, "{stream}");
        }
        // a match at the end; one from before the data; one beyond the room
        assert_eq!(decoded(&hex("20612000"), 1000), None);
        assert_eq!(decoded(&hex("206120010062"), 1000), None);
        assert_eq!(decoded(&hex("206120000062"), 4), None);
        assert_eq!(decoded(&hex("206120000062"), 5), Some(b"aaaab".to_vec()));
    }

    /// Repeats farther away than a match can reach: each place must be dropped at once, not after a long comparison.
    #[test]
    fn repeats_out_of_reach() {
        let mut data = Noise::bytes(1, FAR + 1).repeat(20);
        data.extend([0; 500_000]);
        let stream = encoded(9, &data);
        assert!(stream.len() > 20 * FAR);
        assert_eq!(decoded(&stream, data.len()), Some(data));
    }

    #[derive(Clone, Debug)]
    enum Piece {
        Noise(u64, usize),
        Few(u64, usize),
        Run(u8, usize),
        Copy(usize, usize),
    }

    fn data() -> impl Strategy<Value = Vec<u8>> {
        let length = || prop_oneof![4 => 0..40usize, 2 => 0..700usize, 1 => 0..9000usize];
        let distance = prop_oneof![1..40usize, 1..9000usize, 8150..8250usize, 73600..73800usize, 1..100_000usize];
        let piece = prop_oneof![
            (any::<u64>(), length()).prop_map(|(seed, n)| Piece::Noise(seed, n)),
            (any::<u64>(), length()).prop_map(|(seed, n)| Piece::Few(seed, n)),
            (any::<u8>(), length()).prop_map(|(byte, n)| Piece::Run(byte, n)),
            (distance, length()).prop_map(|(distance, n)| Piece::Copy(distance, n)),
        ];
        let start = prop_oneof![4 => Just(0), 1 => 0..80_000usize];
        (start, prop::collection::vec(piece, 0..40)).prop_map(|(zeros, pieces)| {
            let mut data = vec![0; zeros];
            for piece in pieces {
                match piece {
                    Piece::Noise(seed, n) => data.extend(Noise::bytes(seed, n)),
                    Piece::Few(seed, n) => data.extend(Noise::bytes(seed, n).iter().map(|b| b & 3)),
                    Piece::Run(byte, n) => data.extend(std::iter::repeat_n(byte, n)),
                    Piece::Copy(distance, n) => {
                        let distance = distance.min(data.len());
                        for _ in 0..if distance == 0 { 0 } else { n } {
                            data.push(data[data.len() - distance]);
                        }
                    }
                }
            }
            data
        })
    }

    proptest! {
        #[test]
        fn there_and_back(data in data(), level in 0..10u8) {
            let stream = encoded(level, &data);
            prop_assert!(stream.is_empty() || stream.len() < data.len());
            if !stream.is_empty() {
                prop_assert_eq!(decoded(&stream, data.len()).unwrap(), &data[..]);
                prop_assert_eq!(decoded(&stream, data.len() + 100).unwrap(), &data[..]);
                prop_assert_eq!(decoded(&stream, data.len() - 1), None);
                let mut exact = vec![0; stream.len()];
                prop_assert_eq!(compress(level, &data, &mut exact), stream.len());
                prop_assert_eq!(&exact, &stream);
                exact.pop();
                prop_assert_eq!(compress(level, &data, &mut exact), 0);
            }
        }

        #[test]
        fn any_bytes(stream in prop::collection::vec(prop_oneof![any::<u8>(), 0..4u8, Just(255)], 0..300), room in 0..5000usize) {
            prop_assert_eq!(decoded(&stream, room), plain(&stream, room));
        }

        #[test]
        fn mutated_streams(data in data(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in 0..5usize) {
            let mut stream = encoded(9, &data);
            if !stream.is_empty() {
                for (i, byte) in changes {
                    *i.get_mut(&mut stream) = byte;
                }
                stream.truncate(stream.len() - cut.min(stream.len()));
                prop_assert_eq!(decoded(&stream, data.len()), plain(&stream, data.len()));
            }
        }
    }
}
