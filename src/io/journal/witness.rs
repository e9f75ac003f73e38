//! What tells that a journal is about the files that have its names now, and not about others that
//! came later: a newer copy, say. Those are neither changed nor removed.
#![forbid(unsafe_code)]

use super::entries::{Entry, Mark, Marks, Meanwhile, Saved};
use super::recover::Hot;
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, Folder};
use std::ffi::OsStr;

const WITNESS: u64 = 4 << 10;
/// Bytes that a piece of what is going to be written has, at most.
pub const SAID: usize = 64;

/// CRC-32 of the last bytes before `at` and not before `from`, which a change does not touch.
pub fn witness(file: &dyn File, from: u64, at: u64) -> Result<u32> {
    let n = at.saturating_sub(from).min(WITNESS);
    let mut bytes = alloc::zeroed(n as usize)?;
    let got = file.read_at(at - n, &mut bytes)?;
    Ok(crc32(bytes.get(..got).unwrap_or_default()))
}

/// What the file of this name is known by; none where there is none.
pub fn mark(folder: &dyn Folder, name: &OsStr) -> Result<Option<Mark>> {
    let file = match folder.open(name, Access::Read) {
        Err(e) if e.status == Status::Missing => return Ok(None),
        r => r?,
    };
    let size = file.size()?;
    Ok(Some(Mark {
        size,
        crc: witness(&*file, 0, size)?,
    }))
}

/// Refuses a journal that is not about this file.
pub fn same_file(file: &dyn File, hot: &Hot, e: &Entry, from: u64) -> Result<()> {
    let Entry::Undo {
        size,
        witness: want,
        saved,
        meanwhile,
        ..
    } = e
    else {
        return Ok(());
    };
    let known = meanwhile
        .as_ref()
        .map_or(Ok(true), |m| may_be(file, hot, *size, saved, m))?;
    if known && size.map_or(Ok(true), |size| goes_back(file, size, *want, from, saved))? {
        return Ok(());
    }
    Err(another(file.name(), hot))
}

/// Can a file that had this length become it again, and is it the same before the range?
fn goes_back(file: &dyn File, size: u64, want: u32, from: u64, saved: &Saved) -> Result<bool> {
    let now = file.size()?;
    let whole = now >= size || (saved.at <= now && saved.at + saved.len == size);
    let before = if saved.len == 0 { size } else { saved.at };
    Ok(whole && witness(file, from, before)? == want)
}

/// Can it be what the writer was making of it?
fn may_be(
    file: &dyn File,
    hot: &Hot,
    size: Option<u64>,
    saved: &Saved,
    m: &Meanwhile,
) -> Result<bool> {
    let (now, had) = (file.size()?, size.unwrap_or(0));
    let replaced = hot.is_original && m.origin != 0 && file.origin()? != m.origin;
    if replaced
        || witness(file, m.behind, had)? != m.behind_crc
        || now < m.least.min(had)
        || now > m.most.max(had)
    {
        return Ok(false);
    }
    // each byte is the old one, or the new one, or not written yet
    let cut = m.least.min(had);
    let kept = saved.at..saved.at.saturating_add(saved.len);
    for piece in &m.new {
        let (mut is, mut old) = ([0; SAID], [0; SAID]);
        let n = file.read_at(
            piece.at,
            is.get_mut(..piece.bytes.len()).unwrap_or_default(),
        )? as u64;
        let (from, to) = (
            kept.start.max(piece.at),
            kept.end.min(piece.at.saturating_add(n)),
        );
        if from < to {
            let part = old
                .get_mut((from - piece.at) as usize..(to - piece.at) as usize)
                .unwrap_or_default();
            hot.file
                .read_exact_at(saved.from + (from - kept.start), part)?;
        }
        let mut each = (piece.at..)
            .zip(is)
            .zip(old)
            .zip(&piece.bytes)
            .take(n as usize);
        if !each.all(|(((at, is), old), new)| {
            is == *new || (kept.contains(&at) && is == old) || (is == 0 && at >= cut)
        }) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses a swap where its new file, or the one whose place it takes, is another one by now.
pub fn swaps_these(folder: &dyn Folder, hot: &Hot, e: &Entry) -> Result<()> {
    let Entry::Swap {
        name,
        to,
        marks: Some(Marks { new, old }),
    } = e
    else {
        return Ok(());
    };
    for (name, may_be) in [
        (Some(name), [new, if to.is_none() { old } else { new }]),
        (to.as_ref(), [new, old]),
    ] {
        let Some(name) = name else { continue };
        // one that is not there has its other name by now, or somebody has removed it
        if let Some(is) = mark(folder, name)?
            && !may_be.contains(&&Some(is))
        {
            return Err(another(&folder.show(name), hot));
        }
    }
    Ok(())
}

fn another(name: &str, hot: &Hot) -> Error {
    fail!(
        Format,
        "{name}: {} beside it tells of an unfinished change, but of another file of this name: if this one is newer, remove that journal",
        hot.file.name()
    )
}

/// Where the range before another one of the same file ends.
#[derive(Default)]
pub struct Ends<'a>(Option<(&'a OsStr, u64)>);

impl<'a> Ends<'a> {
    /// The same, before this range.
    pub fn before(&mut self, name: &'a OsStr, saved: &Saved) -> u64 {
        let end = self.0.filter(|(n, _)| *n == name).map_or(0, |(_, end)| end);
        self.0 = Some((name, saved.at.saturating_add(saved.len)));
        end
    }
}
