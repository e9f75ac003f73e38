//! Damage that no checksum sees: limits have none. For compressed bags the frames themselves tell.
//!
//! - The last limit of a file with its limits at the tail says how many limits there are; damaged,
//!   it would shift all record numbers. [`last_limit`] holds it against where the last frames end.
//! - Limits that were damaged into others, or into zeros, make empty or impossible records beside
//!   ones of several frames. [`neighbours`] refuses those. (Writers with checksums on store an
//!   empty record as an empty frame, so that an empty record cannot change places with its
//!   neighbour either.)
#![forbid(unsafe_code)]

use super::codec::Decoder;
use super::frame::{self, FileSource, Source};
use super::interleave::{MARK, Turn};
use super::limits::{LIMIT, Limits};
use super::shard::{SUM, Shard};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::io::File;

/// Where the frames that begin at `from` end: at `expected`, if one of them ends there, or at the
/// first place that no sound frame follows. (Limits may look like a skippable frame.)
fn frames_end(src: &impl Source, from: u64, expected: u64) -> u64 {
    let mut at = from;
    while let Ok(f) = frame::frame(src, at) {
        at += f.len;
        if at == expected {
            break;
        }
    }
    at
}

/// Are the words from `from` on limits: rising, and none beyond `from` itself? A few may be
/// damaged.
fn look_like_limits(file: &dyn File, from: u64, size: u64) -> Result<bool> {
    if from >= size || !(size - from).is_multiple_of(LIMIT) {
        return Ok(false);
    }
    // the last word is the one in doubt
    let n = ((size - from) / LIMIT - 1).min(4096) as usize;
    let mut bytes = alloc::zeroed(n * LIMIT as usize)?;
    file.read_exact_at(from, &mut bytes)?;
    let (mut before, mut odd) = (0, 0);
    for w in bytes.as_chunks::<8>().0 {
        let v = u64::from_le_bytes(*w);
        if v >= before && v <= from {
            before = v
        } else {
            odd += 1
        }
    }
    Ok(odd <= (n / 4).max(1))
}

/// Fetches the last record and the first limit of an object together. False: that record is longer
/// than is worth fetching for a look at it; what reads it will look at it.
fn fetch_around(file: &dyn File, tail: &[u64], end: u64, size: u64) -> Result<bool> {
    const MOST: u64 = 4 << 20;
    if file.object().is_none() {
        return Ok(true);
    }
    let start = tail
        .iter()
        .rev()
        .skip(1)
        .find(|&&b| b <= end)
        .copied()
        .unwrap_or(end);
    let n = end.saturating_add(LIMIT).min(size) - start;
    if n > MOST {
        return Ok(false);
    }
    file.read_exact_at(start, &mut alloc::zeroed(n as usize)?)
        .map(|()| true)
}

/// Refuses a compressed file whose last limit is damaged. `end` is what that limit says.
pub fn last_limit(
    file: &dyn File,
    limits: &Limits,
    end: u64,
    size: u64,
    decoder: &Decoder,
    memory_limit: u64,
) -> Result<()> {
    let n = limits.count();
    if n == 0 {
        return Ok(());
    }
    let tail = limits.bounds(n.saturating_sub(3), n.min(3))?;
    if !fetch_around(file, &tail, end, size)? {
        return Ok(());
    }
    let first = limits.bounds(0, 1)?.last().copied().unwrap_or(0);
    if first > end && (end == 0 || frame::begins(first)) {
        return Err(fail!(
            Format,
            "{}: the last limit says that the limits begin at {end}, where there are records: the file was cut short, or that limit is damaged",
            file.name()
        ));
    }
    let source = FileSource::new(file, size);
    limits.still()?;
    let (_, before) = tail.split_last().unwrap_or((&0, &[]));
    let told = |found: u64| {
        Err(fail!(
            Format,
            "{}: the last limit says that the records end at {end}, their frames end at {found}: the limit is damaged (repair puts it right)",
            file.name()
        ))
    };
    // one bound beyond the end may itself be the damage; two cannot
    let beyond = before.iter().filter(|&&b| b > end).count();
    if beyond > 1 {
        return Err(fail!(
            Format,
            "{}: the last limit, {end}, is smaller than those before it: it is damaged",
            file.name()
        ));
    }
    let Some(&start) = before.iter().rev().find(|&&b| b <= end) else {
        return Ok(());
    };
    let found = frames_end(&source, start, end);
    // a damaged frame may seem to end elsewhere; only one that decodes is a proof against a limit
    let across =
        found > end || (found > start && found < end && look_like_limits(file, found, size)?);
    if across && decodes(file, start, found, decoder, memory_limit) {
        return told(found);
    }
    Ok(())
}

/// Do these bytes decode, as one record?
fn decodes(file: &dyn File, from: u64, to: u64, decoder: &Decoder, memory_limit: u64) -> bool {
    let decode = || {
        let mut stored = alloc::zeroed(alloc::allow(to.saturating_sub(from), memory_limit, "")?)?;
        file.read_exact_at(from, &mut stored)?;
        let survey = decoder.survey(&stored)?;
        decoder.decode_unknown(&stored, &survey, memory_limit)
    };
    decode().is_ok()
}

/// Do `count` limits at `end` and as many checksums fit these records? The last limit may be
/// damaged.
pub fn sums_fit(
    file: &dyn File,
    sums: &dyn File,
    end: u64,
    count: u64,
    memory_limit: u64,
) -> Result<bool> {
    let mut from = 0;
    let mut word = [0; LIMIT as usize];
    let mut sum = [0; SUM as usize];
    for i in 0..count {
        file.read_exact_at(end + i * LIMIT, &mut word)?;
        let to = if i + 1 == count {
            end
        } else {
            u64::from_le_bytes(word)
        };
        if to < from || to > end {
            return Ok(false);
        }
        let mut record = alloc::zeroed(alloc::allow(to - from, memory_limit, "a record")?)?;
        file.read_exact_at(from, &mut record)?;
        sums.read_exact_at(i * SUM, &mut sum)?;
        if crc32(&record) != u32::from_le_bytes(sum) {
            return Ok(false);
        }
        from = to;
    }
    Ok(true)
}

/// Refuses records that are zstd frames, as the first one is, where nobody has said whether they
/// are to be decoded: who wrote them compressed, and who keeps frames as records, have the same
/// file.
pub fn refuse_unsaid_frames(file: &dyn File, end: u64) -> Result<()> {
    let mut magic = [0; 4];
    if end < magic.len() as u64 {
        return Ok(());
    }
    file.read_exact_at(0, &mut magic)?;
    if !frame::begins(u32::from_le_bytes(magic).into())
        || frame::frame(&FileSource::new(file, end), 0).is_err()
    {
        return Ok(());
    }
    Err(fail!(
        Argument,
        "{}: its records are zstd frames, and the name tells not whether they are to be decompressed: it ends neither in .bagz nor in .bag; HOLDALL_OPT_CODEC says it",
        file.name()
    ))
}

/// Where the records of a compressed file with a damaged last limit really end, if that can be
/// told: its frames end there, the last of them decodes, and all limits behind but the last are
/// ends of frames.
pub fn find_end(
    file: &dyn File,
    size: u64,
    decoder: &Decoder,
    memory_limit: u64,
) -> Result<Option<u64>> {
    let source = FileSource::patient(file, size);
    let (mut end, mut last, mut frames) = (0, 0, 0u64);
    while let Ok(f) = frame::frame(&source, end) {
        if !f.skippable {
            (last, frames) = (end, frames + 1);
        }
        end += f.len;
    }
    if frames == 0 || !look_like_limits(file, end, size)? {
        return Ok(None);
    }
    let count = (size - end) / LIMIT;
    let fits = if count == 1 {
        frames == 1
    } else {
        all_end_frames(file, &source, end, count - 1)?
    };
    Ok((fits && decodes(file, last, end, decoder, memory_limit)).then_some(end))
}

/// Where the records end that the frames from the beginning on are, one each with the skippable
/// frames behind it. A skippable one counts before another frame, or as the mark of a set: what
/// follows the records may look like one.
pub fn frames_from_the_beginning(
    file: &dyn File,
    size: u64,
    memory_limit: u64,
) -> Result<Vec<u64>> {
    let source = FileSource::patient(file, size);
    let (mut limits, mut at, mut sound): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
    while let Ok(f) = frame::frame(&source, at) {
        at += f.len;
        if f.skippable {
            let mut mark = [0; MARK];
            let is_mark = f.len == MARK as u64
                && source.get(at - f.len, &mut mark)?
                && Turn::read(&mark).is_some();
            if let (Some(last), true) = (limits.last_mut(), is_mark) {
                (*last, sound) = (at, at);
            }
            continue;
        }
        if let Some(last) = limits.last_mut() {
            *last = at - f.len;
        }
        alloc::allow(
            (limits.len() as u64 + 1).saturating_mul(2 * LIMIT),
            memory_limit,
            "the limits of the frames that were found",
        )?;
        alloc::reserve(&mut limits, 1)?;
        limits.push(at);
        sound = at;
    }
    if let Some(last) = limits.last_mut() {
        *last = sound;
    }
    Ok(limits)
}

/// Is each of these limits, which lie at `at`, the end of a frame?
fn all_end_frames(file: &dyn File, source: &FileSource<'_>, at: u64, count: u64) -> Result<bool> {
    let mut frame_end = 0;
    for i in 0..count {
        let mut word = [0; 8];
        file.read_exact_at(at + i * LIMIT, &mut word)?;
        let limit = u64::from_le_bytes(word);
        while frame_end < limit {
            match frame::frame(source, frame_end) {
                Ok(f) => frame_end += f.len,
                Err(_) => return Ok(false),
            }
        }
        if frame_end != limit {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many frames with data there are from `from` on, and where no sound frame follows.
pub fn count_frames(file: &dyn File, from: u64, to: u64) -> (u64, u64) {
    let source = FileSource::patient(file, to);
    let (mut at, mut frames) = (from, 0);
    while let (true, Ok(f)) = (at < to, frame::frame(&source, at)) {
        at += f.len;
        frames += u64::from(!f.skippable);
    }
    (frames, at)
}

/// Are these bytes frames from end to end?
pub fn tiled(file: &dyn File, from: u64, to: u64) -> bool {
    count_frames(file, from, to).1 == to
}

/// What about a record makes its neighbours worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// It has no byte.
    Empty,
    /// It holds more than one frame of data.
    Several,
}

/// Refuses record `i`, which is odd, if its neighbours say that a limit is damaged.
pub fn neighbours(shard: &Shard, i: u64, odd: Odd) -> Result<()> {
    match odd {
        Odd::Several => beside_nothing(shard, i),
        Odd::Empty => empty_fits(shard, i),
    }
}

fn damaged(words: impl std::fmt::Display) -> Error {
    fail!(Format, "{words}: a limit is damaged")
}

/// A record of several frames next to one of none, or to one that cannot be.
fn beside_nothing(shard: &Shard, i: u64) -> Result<()> {
    let limits = shard.limits();
    let (first, last) = (i.saturating_sub(1), (i + 2).min(limits.count()));
    let bounds = limits.bounds(first, last - first)?;
    limits.still()?;
    for (j, pair) in (first..last).zip(bounds.windows(2)) {
        if j != i && matches!(pair, [a, b] if a >= b) {
            return Err(damaged(format_args!(
                "it holds several frames, record {j} beside it nothing"
            )));
        }
    }
    Ok(())
}

/// An empty record is believed where the nearest records that are not empty, on both sides, hold
/// one frame each. However many empty records there are, a few limits tell.
fn empty_fits(shard: &Shard, i: u64) -> Result<()> {
    let limits = shard.limits();
    let bound = |j: u64| limits.bounds(j, 0).map(|b| b.last().copied().unwrap_or(0));
    let x = bound(i)?;
    let spoilt =
        |from: u64, to: u64| from > to || to > shard.end() || !one_record(shard.file(), from, to);
    // backwards, bound j is that of number i - j
    if let Some(b) = first_other(i, 0, x, &|j| bound(i - j))?
        && spoilt(b, x)
    {
        return Err(damaged(format_args!(
            "it is empty, and from the last other limit, {b}, to its place, {x}, there is not one frame"
        )));
    }
    let next = first_other(limits.count(), i + 1, x, &bound)?;
    limits.still()?;
    if let Some(b) = next {
        if spoilt(x, b) {
            return Err(damaged(format_args!(
                "it is empty, and from its place, {x}, to the next limit, {b}, there is not one frame"
            )));
        }
        return Ok(());
    }
    // behind the last record of a file without limits there may be frames that do not count yet;
    // but who writes frames with checksums leaves no record without a frame
    let source = FileSource::new(shard.file(), shard.end());
    if x < shard.end() && frame::frame(&source, x).is_ok_and(|f| f.checksum) {
        return Err(damaged(format_args!(
            "it is empty, and a frame lies behind its limit, {x}"
        )));
    }
    Ok(())
}

/// The first bound after number `from` that is not `x`.
fn first_other(
    count: u64,
    from: u64,
    x: u64,
    bound: &impl Fn(u64) -> Result<u64>,
) -> Result<Option<u64>> {
    let (mut same, mut step) = (from, 1);
    loop {
        if same >= count {
            return Ok(None);
        }
        let ahead = same.saturating_add(step).min(count);
        if bound(ahead)? == x {
            (same, step) = (ahead, step * 2);
            continue;
        }
        let mut other = ahead;
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            if bound(middle)? == x {
                same = middle
            } else {
                other = middle
            }
        }
        return bound(other).map(Some);
    }
}

/// Are these bytes one record: a frame, perhaps with skippable ones around it?
fn one_record(file: &dyn File, from: u64, to: u64) -> bool {
    let source = FileSource::new(file, to);
    let (mut at, mut data) = (from, 0);
    while at < to && data < 2 {
        let Ok(f) = frame::frame(&source, at) else {
            return false;
        };
        at += f.len;
        data += u32::from(!f.skippable);
    }
    at == to && data < 2
}
