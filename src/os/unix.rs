//! Unix: names are bytes, a file is its inode, and who has a file open has it whatever becomes of
//! its name.
#![forbid(unsafe_code)]

pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::UNIX_EPOCH;

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

/// The same, of a link itself.
pub fn look_itself(path: &Path) -> Result<Look> {
    fs::symlink_metadata(path)
}

/// Of what is open.
pub fn look_at(file: &File) -> Result<Look> {
    file.metadata()
}

/// What tells it from others; never 0, which is kept for "cannot tell".
pub fn identity(look: &Look) -> u64 {
    (look.ino() ^ look.dev().rotate_left(40)).max(1)
}

/// What tells it from all files that ever had its inode; 0 where the system does not say when it
/// was made.
pub fn origin(look: &Look) -> u64 {
    let made = look
        .created()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    made.map_or(0, |t| {
        (t.as_nanos() as u64 ^ look.ino().rotate_left(32)).max(1)
    })
}

/// When it was changed last, or its metadata were: nobody sets that.
pub fn stamp(look: &Look) -> u64 {
    (look.ctime() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(look.ctime_nsec() as u64)
}

/// When it was written last, in nanoseconds since 1970.
pub fn modified(look: &Look) -> u64 {
    (look.mtime() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(look.mtime_nsec() as u64)
}

/// Opens what has this name, and does not wait for the other end of a pipe.
pub fn open(how: &mut OpenOptions, path: &Path) -> Result<File> {
    how.custom_flags(libc::O_NONBLOCK).open(path)
}

/// As [`open`]; `None` where it is a link.
pub fn open_itself(how: &mut OpenOptions, path: &Path) -> Result<Option<File>> {
    match how
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
    {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => Ok(None),
        file => file.map(Some),
    }
}

/// Creates a file, which nothing that is there may stand for: for the owner alone where `private`.
pub fn create(path: &Path, private: bool) -> Result<File> {
    let mut how = OpenOptions::new();
    how.read(true)
        .write(true)
        .create_new(true)
        .mode(if private { 0o600 } else { 0o666 });
    how.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Creates a file without a name, on the file system of this folder where it can be, else in /tmp.
pub fn create_unnamed(near: &Path) -> Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(near)
    {
        return Ok(file);
    }
    let _ = near;
    for n in 0..u32::MAX {
        let path = Path::new("/tmp").join(format!("holdall-{}-{n}", std::process::id()));
        match create(&path, true) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            file => return file.and_then(|file| fs::remove_file(&path).map(|()| file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Gives a new file the owner, the mode and the access control list of another one, as far as this
/// process may: where its group cannot be given, no group gets anything.
pub fn take_rights(file: &File, like: &Path, from: &Look) -> Result<()> {
    let own = file.metadata()?;
    let mut mode = from.mode() & 0o777;
    let is_same = (own.uid(), own.gid()) == (from.uid(), from.gid());
    let is_given = is_same || fchown(file, Some(from.uid()), Some(from.gid())).is_ok();
    if !is_given && own.gid() != from.gid() && fchown(file, None, Some(from.gid())).is_err() {
        mode &= !0o070;
    }
    // some file systems have one mode for all files, and refuse to set it
    if own.mode() & 0o777 != mode {
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    if is_given {
        super::copy_acl(like, file)
    } else {
        Ok(())
    }
}

/// May the file `by` say what is to be done with the file or folder `of`: could only those have
/// written it who may change that anyway? `shared`: others may create files in the folder where it
/// lies.
pub fn may_speak_for(by: &Look, of: &Look, shared: bool) -> bool {
    let (me, group) = super::effective_user();
    // of a folder like /tmp this says who may add files to it
    let mode = if of.is_dir() && of.mode() & 0o1000 != 0 {
        0
    } else {
        of.mode()
    };
    let all_may = mode & 0o002 != 0;
    let group_may = mode & 0o020 != 0 && by.gid() == of.gid() && !shared;
    let by_owner = by.uid() == me || by.uid() == of.uid();
    let group_is_fine =
        by.mode() & 0o020 == 0 || group_may || (by.uid() == me && by.gid() == group);
    by.nlink() < 2
        && (all_may || ((by_owner || group_may) && group_is_fine && by.mode() & 0o002 == 0))
}

/// May others than owner and group create files in this folder?
pub fn is_shared(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|l| l.mode() & 0o002 != 0)
}

/// Has it other names, too?
pub fn has_other_names(look: &Look) -> bool {
    look.nlink() > 1
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
        Err(e)
            if e.kind() == ErrorKind::InvalidInput || e.raw_os_error() == Some(libc::ENOTSUP) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Opens the file of a lock, or makes it.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false);
    // neither to wait for the other end of a pipe, nor to lock a file that is elsewhere
    how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
}

/// Has the file of a lock, now that it is locked, still its name?
pub fn is_lock(file: &File, path: &Path) -> Result<bool> {
    // the writer before us may have removed it between our open and our lock
    let ours = file.metadata()?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev()))
}

/// Gives a lock back, and removes its file.
pub fn unlock(file: File, path: &Path) {
    // still locked here, so that nobody can take a lock on a file about to go: of a part, where
    // there is no other one (nor of another file that has got its name)
    if file.try_lock().is_ok() && is_lock(&file, path).unwrap_or(false) {
        let _ = fs::remove_file(path);
    }
}
