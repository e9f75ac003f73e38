//! Unix: names are bytes, a file is its inode, and who has a file open has it whatever becomes of its name.
#![forbid(unsafe_code)]

pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Codes that say of a name that no file can have it.
pub const NO_NAME: [i32; 2] = [libc::ENOTDIR, libc::ENAMETOOLONG];
/// Codes that say that the process, or all of them, may have no more files open.
pub const TOO_MANY: [i32; 2] = [libc::EMFILE, libc::ENFILE];

/// A name that came as bytes; `None` where no name can be like that.
pub fn text(bytes: &[u8]) -> Option<&OsStr> {
    Some(OsStr::from_bytes(bytes))
}

/// What the system says of a file or folder.
pub type Look = fs::Metadata;

/// Of what has this name.
pub fn look(path: &Path) -> Result<Look> {
    fs::metadata(path)
}

/// Of what is open.
pub fn look_at(file: &File) -> Result<Look> {
    file.metadata()
}

/// What tells it from others; never 0, which is kept for "cannot tell".
pub fn identity(look: &Look) -> u64 {
    (look.ino() ^ look.dev().rotate_left(40)).max(1)
}

/// When it was changed last, or its metadata were: nobody sets that.
pub fn stamp(look: &Look) -> u64 {
    (look.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(look.ctime_nsec() as u64)
}

/// When it was written last, in nanoseconds since 1970.
pub fn modified(look: &Look) -> u64 {
    (look.mtime() as u64).wrapping_mul(1_000_000_000).wrapping_add(look.mtime_nsec() as u64)
}

/// Opens what has this name, and does not wait for the other end of a pipe.
pub fn open(how: &mut OpenOptions, path: &Path) -> Result<File> {
    how.custom_flags(libc::O_NONBLOCK).open(path)
}

/// As [`open`]; `None` where it is a link.
pub fn open_itself(how: &mut OpenOptions, path: &Path) -> Result<Option<File>> {
    match how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path) {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => Ok(None),
        file => file.map(Some),
    }
}

/// Bytes from a place in a file.
pub fn read_at(file: &File, dst: &mut [u8], at: u64) -> Result<usize> {
    file.read_at(dst, at)
}

/// All of these bytes, to a place in a file.
pub fn write_all_at(file: &File, src: &[u8], at: u64) -> Result<()> {
    file.write_all_at(src, at)
}

/// Makes the names in a folder durable.
pub fn sync_folder(path: &Path) -> Result<()> {
    match File::open(path)?.sync_all() {
        // some file systems (network ones) cannot sync a folder, and need not
        Err(e) if e.kind() == ErrorKind::InvalidInput || e.raw_os_error() == Some(libc::ENOTSUP) => Ok(()),
        done => done,
    }
}

/// Opens the file of a lock, or makes it.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false);
    // neither to wait for the other end of a pipe, nor to lock a file that is elsewhere
    how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}

/// Has the file of a lock, now that it is locked, still its name?
pub fn is_lock(file: &File, path: &Path) -> Result<bool> {
    // the writer before us may have removed it between our open and our lock
    let ours = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev()))
}

/// Gives a lock back, and removes its file.
pub fn unlock(file: File, path: &Path) {
    // still locked here, so that nobody can take a lock on a file about to go: of a part, where there is no other one
    if file.try_lock().is_ok() {
        let _ = fs::remove_file(path);
    }
}
