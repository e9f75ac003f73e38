//! Verifies that a journal belongs to the files that currently have its names, not to later ones,
//! such as a newer copy. Those are neither changed nor removed.
#![forbid(unsafe_code)]

use super::entries::{DuringChange, Entry, Fingerprint, Saved, SwapFingerprints};
use super::recover::HotJournal;
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, Folder};
use crate::slice::SliceExt;
use std::ffi::OsStr;

const WITNESS: u64 = 4 << 10;
/// Maximum length of a sample of the bytes that will be written.
pub const SAMPLE_BYTES: usize = 64;

/// Returns the CRC-32 of up to 4 KiB before `at`, not before `from`. A change does not touch these
/// bytes.
pub fn crc_before(file: &dyn File, from: u64, at: u64) -> Result<u32> {
    let n = at.saturating_sub(from).min(WITNESS);
    let mut bytes = alloc::zeroed(n as usize)?;
    let got = file.read_at(at - n, &mut bytes)?;
    Ok(crc32(bytes.at(..got)?))
}

/// Returns the fingerprint of a file, or `None` if it does not exist.
pub fn fingerprint(folder: &dyn Folder, name: &OsStr) -> Result<Option<Fingerprint>> {
    let file = match folder.open(name, Access::Read) {
        Err(e) if e.status == Status::Missing => return Ok(None),
        r => r?,
    };
    let size = file.size()?;
    Ok(Some(Fingerprint {
        size,
        crc: crc_before(&*file, 0, size)?,
    }))
}

/// Returns an error if the journal does not belong to this file.
pub fn check_same_file(file: &dyn File, hot: &HotJournal, e: &Entry, from: u64) -> Result<()> {
    let Entry::Undo {
        size,
        preceding_crc: expected,
        saved,
        during,
        ..
    } = e
    else {
        return Ok(());
    };
    let known = during.as_ref().map_or(Ok(true), |m| {
        is_intermediate_state(file, hot, *size, saved, m)
    })?;
    if known
        && size.map_or(Ok(true), |size| {
            can_be_restored(file, size, *expected, from, saved)
        })?
    {
        return Ok(());
    }
    Err(wrong_journal(file.name(), hot))
}

/// Returns whether the file can be restored to the old length and is unchanged before the range.
fn can_be_restored(
    file: &dyn File,
    size: u64,
    expected: u32,
    from: u64,
    saved: &Saved,
) -> Result<bool> {
    let now = file.size()?;
    let whole = now >= size || (saved.at <= now && saved.at + saved.len == size);
    let before = if saved.len == 0 { size } else { saved.at };
    Ok(whole && crc_before(file, from, before)? == expected)
}

/// Returns whether the file can be an intermediate state of the writer's change.
fn is_intermediate_state(
    file: &dyn File,
    hot: &HotJournal,
    size: Option<u64>,
    saved: &Saved,
    m: &DuringChange,
) -> Result<bool> {
    let (now, had) = (file.size()?, size.unwrap_or(0));
    let replaced = hot.is_original && m.origin != 0 && file.origin()? != m.origin;
    if replaced
        || crc_before(file, m.after, had)? != m.after_crc
        || now < m.min_size.min(had)
        || now > m.max_size.max(had)
    {
        return Ok(false);
    }
    // each byte is old, new, or not written yet
    let cut = m.min_size.min(had);
    let overwritten = saved.at..saved.at.saturating_add(saved.len);
    for sample in &m.samples {
        let len = sample.bytes.len();
        let (mut is, mut old) = (alloc::zeroed(len)?, alloc::zeroed(len)?);
        let n = file.read_at(sample.at, &mut is)? as u64;
        let (from, to) = (
            overwritten.start.max(sample.at),
            overwritten.end.min(sample.at.saturating_add(n)),
        );
        if from < to {
            let part = old.at_mut((from - sample.at) as usize..(to - sample.at) as usize)?;
            hot.file
                .read_exact_at(saved.from + (from - overwritten.start), part)?;
        }
        let mut each = (sample.at..)
            .zip(is)
            .zip(old)
            .zip(&sample.bytes)
            .take(n as usize);
        if !each.all(|(((at, is), old), new)| {
            is == *new || (overwritten.contains(&at) && is == old) || (is == 0 && at >= cut)
        }) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns an error if the new or the old file of a swap is not the one that the journal names.
pub fn check_swapped_files(folder: &dyn Folder, hot: &HotJournal, e: &Entry) -> Result<()> {
    let Entry::Swap {
        name,
        to,
        fingerprints: Some(SwapFingerprints { new, old }),
    } = e
    else {
        return Ok(());
    };
    for (name, may_be) in [
        (Some(name), [new, if to.is_none() { old } else { new }]),
        (to.as_ref(), [new, old]),
    ] {
        let Some(name) = name else { continue };
        // a missing file was renamed already, or removed by a user
        if let Some(is) = fingerprint(folder, name)?
            && !may_be.contains(&&Some(is))
        {
            return Err(wrong_journal(&folder.show(name), hot));
        }
    }
    Ok(())
}

fn wrong_journal(name: &str, hot: &HotJournal) -> Error {
    fail!(
        Format,
        "{name}: {} beside it records an unfinished change of another file of this name; if this file is newer, remove that journal",
        hot.file.name()
    )
}

/// Tracks the end of the previous range of the same file.
#[derive(Default)]
pub struct RangeEnds<'a>(Option<(&'a OsStr, u64)>);

impl<'a> RangeEnds<'a> {
    /// Returns the end of the range before this one.
    pub fn before(&mut self, name: &'a OsStr, saved: &Saved) -> u64 {
        let end = self.0.filter(|(n, _)| *n == name).map_or(0, |(_, end)| end);
        self.0 = Some((name, saved.at.saturating_add(saved.len)));
        end
    }
}
