//! The content of a superchunk becomes a file.

use super::source::{Damage, Source};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::report::{self, plural};
use crate::{files, output, progress, signals};

/// Writes the content to a file, or to standard output, for `command`.
pub fn unpack(
    command: &'static str,
    source: &Source,
    damage: &mut Damage,
    out: &FileName,
    force: bool,
) -> Result<Exit> {
    let (mut done, total) = (0, source.schunk.len());
    if !out.is_standard() {
        files::refuse_same(&source.path, out)?;
        signals::catch();
    }
    progress::begin(command);
    let written = output::printed(Some(out), force, |output| {
        source.stream(0..total, damage, |bytes| {
            done += bytes.len() as u64;
            progress::report(done, total);
            output.bytes(bytes)
        })?;
        Ok(Exit::damaged(damage.found))
    });
    progress::end();
    let code = written?;
    if !out.is_standard() {
        report::note(&format!("{out}: {total} byte{} {command}ed", plural(total)));
    }
    Ok(code)
}
