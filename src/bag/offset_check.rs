//! Detects damaged limits. Limits have no checksums; in compressed bags the frames are the
//! reference.
//!
//! - The last limit of a file with its limits at the tail determines the number of limits. If it is
//!   damaged, all record indices may shift. [`last_limit`] compares it with the end of the last
//!   frames.
//! - Limits that were replaced by other limits or by zeros produce empty or impossible records
//!   beside records of several frames. [`check_neighbours`] refuses those. Writers with checksums
//!   store an empty record as an empty frame, so that an empty record cannot be swapped with its
//!   neighbour.
#![forbid(unsafe_code)]

use super::codec::Decoder;
use super::dictionary;
use super::frame::{self, FileSource, READ_AHEAD, Source};
use super::interleave::{MARK_SIZE, Mark};
use super::limits::{LIMIT, Tail};
use super::room;
use super::shard::{CHECKSUM_SIZE, Shard};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::slice::SliceExt;

/// Returns the end of the frames that begin at `from`: `expected` if a frame ends there, otherwise
/// the first position without a valid frame. Limits can look like a skippable frame. Also returns the
/// start of the last frame if it is skippable.
fn end_of_frames(src: &impl Source, from: u64, expected: u64) -> (u64, Option<u64>) {
    let (mut at, mut skippable) = (from, None);
    while let Ok(f) = frame::frame(src, at) {
        skippable = f.skippable.then_some(at);
        at += f.len;
        if at == expected {
            break;
        }
    }
    (at, skippable)
}

/// Returns whether the integers from `from` on are limits: ascending and at most `from`. A few may
/// be damaged.
fn look_like_limits(file: &dyn File, from: u64, size: u64) -> Result<bool> {
    if from >= size || !(size - from).is_multiple_of(LIMIT) {
        return Ok(false);
    }
    // The last limit is the suspect one and is excluded.
    let n = ((size - from) / LIMIT - 1).min(4096) as usize;
    let mut bytes = alloc::zeroed(n * LIMIT as usize)?;
    file.read_exact_at(from, &mut bytes)?;
    let (mut before, mut suspect) = (0, 0);
    for w in bytes.as_chunks::<8>().0 {
        let v = u64::from_le_bytes(*w);
        if v >= before && v <= from {
            before = v
        } else {
            suspect += 1
        }
    }
    Ok(suspect <= (n / 4).max(1))
}

/// Fetches the last record, which begins at `start`, and the first limit of a remote file together.
/// Returns false if that record is too long to fetch for this check; it is then checked when it is
/// read.
fn fetch_around(file: &dyn File, start: u64, end: u64, size: u64) -> bool {
    const MAX_BYTES: u64 = 4 << 20;
    const MIN_BYTES: u64 = 64 << 10; // the checks read ahead
    if !file.is_remote() {
        return true;
    }
    let n = end.saturating_add(LIMIT).min(size) - start;
    if n > MAX_BYTES {
        return false;
    }
    file.fetch(&[start..size.min(start + n.max(MIN_BYTES))]);
    true
}

/// Returns the end of the last record of a compressed file of `size` bytes, without the room after
/// it, or an error if the last limit is damaged. The caller must verify that the file has not
/// changed meanwhile.
pub fn last_limit(
    file: &dyn File,
    tail: &Tail,
    size: u64,
    decoder: &Decoder,
    memory_limit: u64,
) -> Result<u64> {
    let end = tail.end;
    let Some((_, before)) = tail.last.split_last() else {
        return Ok(end);
    };
    // the first record begins at 0
    let first_start = (before.len() < 3).then_some(&0);
    let mut starts = before.iter().rev().chain(first_start);
    let start = starts.find(|&&b| b <= end).copied();
    if !fetch_around(file, start.unwrap_or(end), end, size) {
        return Ok(end);
    }
    let source = FileSource::new(file, size);
    if let Some(start) = start.filter(|start| end - start < READ_AHEAD as u64 - LIMIT) {
        source.get(start, &mut [0])?; // reads the first limit with the record
    }
    let mut first = [0; LIMIT as usize];
    source.get(end, &mut first)?;
    let first = u64::from_le_bytes(first);
    if first > end && (end == 0 || frame::begins(first) || room::begins(&source, end)?) {
        return Err(fail!(
            Format,
            "{}: the last limit says that the limits begin at {end}, but records are there: the file was truncated, or the limit is damaged",
            file.name()
        ));
    }
    let disagree = |found: u64| {
        Err(fail!(
            Format,
            "{}: the last limit says that the records end at {end}, their frames end at {found}: the limit is damaged; repair corrects it",
            file.name()
        ))
    };
    // A single bound beyond the end may itself be damaged; two of them mean that the last limit is.
    let beyond = before.iter().filter(|&&b| b > end).count();
    if beyond > 1 {
        return Err(fail!(
            Format,
            "{}: the last limit, {end}, is smaller than those before it: it is damaged",
            file.name()
        ));
    }
    let Some(start) = start else {
        return Ok(end);
    };
    let (found, skippable) = end_of_frames(&source, start, end);
    // A damaged frame may appear to end elsewhere. Only a frame that decodes disproves a limit.
    let across =
        found > end || (found > start && found < end && look_like_limits(file, found, size)?);
    if across && decodes(file, start, found, decoder, memory_limit) {
        return disagree(found);
    }
    match skippable {
        Some(at) if found == end && room::is_at(&source, (at, end))? => Ok(at),
        _ => Ok(end),
    }
}

/// Returns whether these bytes decode as one record.
fn decodes(file: &dyn File, from: u64, to: u64, decoder: &Decoder, memory_limit: u64) -> bool {
    let decode = || {
        let mut stored = alloc::zeroed(alloc::allow(to.saturating_sub(from), memory_limit, "")?)?;
        file.read_exact_at(from, &mut stored)?;
        let survey = decoder.survey(&stored)?;
        let dictionary = match survey.dictionary {
            0 => None,
            _ => dictionary::find(file, to, None, memory_limit)?.and_then(|d| decoder.prepare(d)),
        };
        decoder.decode_unknown(&stored, &survey, dictionary.as_deref(), memory_limit)
    };
    decode().is_ok()
}

/// Returns whether `count` limits at `end` and as many checksums match these records. The last
/// limit may be damaged.
pub fn checksums_fit(
    file: &dyn File,
    checksums: &dyn File,
    end: u64,
    count: u64,
    memory_limit: u64,
) -> Result<bool> {
    let mut from = 0;
    let mut bytes = [0; LIMIT as usize];
    let mut sum = [0; CHECKSUM_SIZE as usize];
    for i in 0..count {
        file.read_exact_at(end + i * LIMIT, &mut bytes)?;
        let to = if i + 1 == count {
            end
        } else {
            u64::from_le_bytes(bytes)
        };
        if to < from || to > end {
            return Ok(false);
        }
        let mut record = alloc::zeroed(alloc::allow(to - from, memory_limit, "a record")?)?;
        file.read_exact_at(from, &mut record)?;
        checksums.read_exact_at(i * CHECKSUM_SIZE, &mut sum)?;
        if crc32(&record) != u32::from_le_bytes(sum) {
            return Ok(false);
        }
        from = to;
    }
    Ok(true)
}

/// Returns an error if the first record is a zstd frame and the codec is unspecified: a file of
/// compressed records and a file with frames as records are identical.
pub fn refuse_unexpected_frames(file: &dyn File, end: u64) -> Result<()> {
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
        "{}: its records are zstd frames, and the name does not determine whether to decompress them (it ends neither in .bagz nor in .bag); set HOLDALL_OPT_CODEC",
        file.name()
    ))
}

/// Returns the end of the records of a compressed file with a damaged last limit, if it can be
/// proved: the frames end there, the last one decodes, and all following limits but the last are
/// ends of frames.
pub fn find_end(
    file: &dyn File,
    size: u64,
    decoder: &Decoder,
    memory_limit: u64,
) -> Result<Option<u64>> {
    let source = FileSource::unlimited(file, size);
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

/// Returns the limits of the frames from the beginning of the file on. Each record is one frame
/// with the skippable frames after it. A skippable frame is included only before another frame, or if
/// it is a dictionary, the interleave mark or room: the bytes after the records may look like one.
pub fn frames_from_the_beginning(
    file: &dyn File,
    size: u64,
    memory_limit: u64,
) -> Result<Vec<u64>> {
    let source = FileSource::unlimited(file, size);
    let (mut limits, mut at, mut intact_end): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
    while let Ok(f) = frame::frame(&source, at) {
        at += f.len;
        if f.skippable {
            let mut mark = [0; MARK_SIZE];
            let is_mark = f.len == MARK_SIZE as u64
                && source.get(at - f.len, &mut mark)?
                && Mark::parse(&mark).is_some();
            let extent = (at - f.len, at);
            let is_ours = is_mark
                || room::is_at(&source, extent)?
                || dictionary::is_intact(file, extent, memory_limit)?;
            if let (Some(last), true) = (limits.last_mut(), is_ours) {
                (*last, intact_end) = (at, at);
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
        intact_end = at;
    }
    if let Some(last) = limits.last_mut() {
        *last = intact_end;
    }
    Ok(limits)
}

/// Returns whether each of the `count` limits at offset `at` is the end of a frame.
fn all_end_frames(file: &dyn File, source: &FileSource<'_>, at: u64, count: u64) -> Result<bool> {
    let mut frame_end = 0;
    for i in 0..count {
        let mut bytes = [0; 8];
        file.read_exact_at(at + i * LIMIT, &mut bytes)?;
        let limit = u64::from_le_bytes(bytes);
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

/// Returns the number of data frames from `from` on and the position that no valid frame follows.
pub fn count_frames(file: &dyn File, from: u64, to: u64) -> (u64, u64) {
    let source = FileSource::unlimited(file, to);
    let (mut at, mut frames) = (from, 0);
    while let (true, Ok(f)) = (at < to, frame::frame(&source, at)) {
        at += f.len;
        frames += u64::from(!f.skippable);
    }
    (frames, at)
}

/// Returns whether these bytes are a sequence of whole frames.
pub fn is_all_frames(file: &dyn File, from: u64, to: u64) -> bool {
    count_frames(file, from, to).1 == to
}

/// A property of a record that can result from a damaged limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspect {
    /// The record is empty.
    Empty,
    /// The record contains more than one data frame.
    SeveralFrames,
}

/// Returns an error if the neighbours of a suspect record `i` show that a limit is damaged.
pub fn check_neighbours(shard: &Shard, i: u64, suspect: Suspect) -> Result<()> {
    match suspect {
        Suspect::SeveralFrames => check_beside_several_frames(shard, i),
        Suspect::Empty => check_empty(shard, i),
    }
}

fn damaged(message: impl std::fmt::Display) -> Error {
    fail!(Format, "{message}: a limit is damaged")
}

/// Returns an error if a record of several frames is beside an empty or impossible one.
fn check_beside_several_frames(shard: &Shard, i: u64) -> Result<()> {
    let limits = shard.limits();
    let (first, last) = (i.saturating_sub(1), (i + 2).min(limits.count()));
    let bounds = limits.bounds(first, last - first)?;
    limits.check_unchanged()?;
    for (j, pair) in (first..last).zip(bounds.windows(2)) {
        if j != i && matches!(pair, [a, b] if a >= b) {
            return Err(damaged(format_args!(
                "it has several frames, and its neighbour, record {j}, is empty"
            )));
        }
    }
    Ok(())
}

/// Accepts an empty record if the nearest records that are not empty, on both sides, contain one
/// frame each. The search is exponential, so it reads few limits for any number of empty records.
fn check_empty(shard: &Shard, i: u64) -> Result<()> {
    let limits = shard.limits();
    let bound = |j: u64| limits.bounds(j, 0)?.at(0).copied();
    let x = bound(i)?;
    let is_not_one_record =
        |from: u64, to: u64| from > to || to > shard.end() || !one_record(shard.file(), from, to);
    // Backwards: bound `j` of the search is bound `i - j`.
    if let Some(b) = next_different(i, 0, x, &|j| bound(i - j))?
        && is_not_one_record(b, x)
    {
        return Err(damaged(format_args!(
            "it is empty, but the bytes from the previous limit, {b}, to its offset, {x}, are not one frame"
        )));
    }
    let next = next_different(limits.count(), i + 1, x, &bound)?;
    limits.check_unchanged()?;
    if let Some(b) = next {
        if is_not_one_record(x, b) {
            return Err(damaged(format_args!(
                "it is empty, but the bytes from its offset, {x}, to the next limit, {b}, are not one frame"
            )));
        }
        return Ok(());
    }
    // After the last record of a file with separate limits there may be uncommitted frames.
    // However, writers with checksums store a frame for every record, so a frame with a checksum
    // proves damage.
    let source = FileSource::new(shard.file(), shard.end());
    if x < shard.end() && frame::frame(&source, x).is_ok_and(|f| f.checksum) {
        return Err(damaged(format_args!(
            "it is empty, but a frame follows its limit, {x}"
        )));
    }
    Ok(())
}

/// Returns the first bound after number `from` that differs from `x`.
fn next_different(
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

/// Returns whether these bytes are one record: at most one data frame and any number of skippable
/// ones.
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
