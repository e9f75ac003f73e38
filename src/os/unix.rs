//! Unix: names are bytes, a file is its inode, and an open file remains usable after it is renamed
//! or removed.
#![forbid(unsafe_code)]

pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Error codes of names that no file can have.
pub const INVALID_NAME_CODES: [i32; 2] = [libc::ENOTDIR, libc::ENAMETOOLONG];
/// Error codes of the limits of open files, of the process and of the system.
pub const TOO_MANY_OPEN_CODES: [i32; 2] = [libc::EMFILE, libc::ENFILE];

/// Returns bytes as a name; `None` if no name can consist of them.
pub fn name_from_bytes(bytes: &[u8]) -> Option<&OsStr> {
    Some(OsStr::from_bytes(bytes))
}

/// Metadata of a file or folder.
pub type Stat = fs::Metadata;

/// Returns the metadata of the file or folder at this path.
pub fn stat(path: &Path) -> Result<Stat> {
    fs::metadata(path)
}

/// Like [`stat`], without following a link.
pub fn lstat(path: &Path) -> Result<Stat> {
    fs::symlink_metadata(path)
}

/// Returns the metadata of an open file.
pub fn fstat(file: &File) -> Result<Stat> {
    file.metadata()
}

/// Returns a number that distinguishes a file from others; never 0, which means "unknown".
pub fn identity(stat: &Stat) -> u64 {
    (stat.ino() ^ stat.dev().rotate_left(40)).max(1)
}

/// Returns a number that distinguishes a file from all files that ever had its inode, or 0 if the
/// system does not record creation times.
pub fn origin(stat: &Stat) -> u64 {
    let created = stat
        .created()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    created.map_or(0, |t| {
        (t.as_nanos() as u64 ^ stat.ino().rotate_left(32)).max(1)
    })
}

/// Returns the time of the last change of content or metadata, which no call can set.
pub fn stamp(stat: &Stat) -> u64 {
    (stat.ctime() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(stat.ctime_nsec() as u64)
}

/// Returns the modification time in nanoseconds since 1970.
pub fn modified(stat: &Stat) -> u64 {
    (stat.mtime() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(stat.mtime_nsec() as u64)
}

/// Opens a file without blocking on a FIFO.
pub fn open(options: &mut OpenOptions, path: &Path) -> Result<File> {
    options.custom_flags(libc::O_NONBLOCK).open(path)
}

/// Like [`open`], without following a link. Returns `None` if the path is one.
pub fn open_nofollow(options: &mut OpenOptions, path: &Path) -> Result<Option<File>> {
    match options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
    {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => Ok(None),
        file => file.map(Some),
    }
}

/// Creates a file. Fails if anything exists at the path. With `private`, only the owner has access.
pub fn create(path: &Path, private: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(if private { 0o600 } else { 0o666 });
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Creates an unnamed file, on the file system of this folder if possible, otherwise in /tmp.
pub fn create_unnamed(folder: &Path) -> Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(folder)
    {
        return Ok(file);
    }
    let _ = folder;
    for n in 0..u32::MAX {
        let path = Path::new("/tmp").join(format!("holdall-{}-{n}", std::process::id()));
        match create(&path, true) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            file => return file.and_then(|file| fs::remove_file(&path).map(|()| file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Gives a new file the owner, mode and access control list of another one, as far as the process
/// may. If the group cannot be set, the group gets no access.
pub fn copy_rights(file: &File, like: &Path, from: &Stat) -> Result<()> {
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

/// Returns whether the file `by` may control changes to the file or folder `of`: only users who may
/// change `of` can have written `by`. `shared`: other users may create files in the folder of `by`.
pub fn is_trusted_for(by: &Stat, of: &Stat, shared: bool) -> bool {
    let (me, group) = super::effective_user();
    // the write bits of a sticky folder like /tmp only control who may add files
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

/// Returns whether the owner of the file `by` may write the file `of`, or this process may, or root.
/// True as well if other users may write `of`: then this function cannot distinguish them.
pub fn may_belong_to(by: &Stat, of: &Stat) -> bool {
    let (me, _) = super::effective_user();
    [0, me, of.uid()].contains(&by.uid()) || of.mode() & 0o022 != 0
}

/// Returns whether users other than the owner may create files in this folder.
pub fn others_may_create(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|l| l.mode() & 0o022 != 0)
}

/// Returns whether users other than owner and group may create files in this folder.
pub fn is_shared(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|l| l.mode() & 0o002 != 0)
}

/// Returns whether the file has more than one hard link.
pub fn has_other_names(stat: &Stat) -> bool {
    stat.nlink() > 1
}

/// Reads bytes from an offset of a file.
pub fn read_at(file: &File, dst: &mut [u8], at: u64) -> Result<usize> {
    file.read_at(dst, at)
}

/// Writes all bytes to an offset of a file.
pub fn write_all_at(file: &File, src: &[u8], at: u64) -> Result<()> {
    file.write_all_at(src, at)
}

/// Makes the names in a folder durable.
pub fn sync_folder(path: &Path) -> Result<()> {
    match File::open(path)?.sync_all() {
        // some file systems, for example network ones, cannot sync a folder and need not
        Err(e)
            if e.kind() == ErrorKind::InvalidInput || e.raw_os_error() == Some(libc::ENOTSUP) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Opens or creates a lock file.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    // neither blocks on a FIFO nor follows a link to a file elsewhere
    options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
}

/// Returns whether a locked file still has its name.
pub fn is_current_lock(file: &File, path: &Path) -> Result<bool> {
    // the previous writer may have removed it between open and lock
    let ours = file.metadata()?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev()))
}

/// Releases a lock and removes its file.
pub fn unlock(file: File, path: &Path) {
    // The file is removed while still locked, so that no writer locks a file about to be removed. A
    // shared lock is upgraded first, which fails if it is not the last one. A new file under this
    // name is not removed.
    if file.try_lock().is_ok() && is_current_lock(&file, path).unwrap_or(false) {
        let _ = fs::remove_file(path);
    }
}
