//! Windows: names are UTF-8 here, a file is its volume and index, and a file that somebody has open
//! may have to stay.
//!
//! Unsafe code: two calls of the system, for what the standard library does not tell of a file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::path::Path;

/// Codes that say of a name that no file can have it: ERROR_INVALID_NAME,
/// ERROR_FILENAME_EXCED_RANGE, ERROR_DIRECTORY.
pub const NO_NAME: [i32; 3] = [123, 206, 267];
/// Codes that say that the process may have no more files open: ERROR_TOO_MANY_OPEN_FILES.
pub const TOO_MANY: [i32; 1] = [4];

/// What no file can be called: so are here names that are no UTF-8.
const NOBODY: &str = "\0";

const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;
/// Opens folders, too.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link itself.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// A name that came as bytes; `None` where no name can be like that.
pub fn text(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}

/// Names as bytes, as Unix has them.
pub trait OsStrExt {
    /// The name of these bytes.
    fn from_bytes(bytes: &[u8]) -> &Self;
    /// Its bytes.
    fn as_bytes(&self) -> &[u8];
}

impl OsStrExt for OsStr {
    fn from_bytes(bytes: &[u8]) -> &OsStr {
        text(bytes).unwrap_or(OsStr::new(NOBODY))
    }
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}

/// The same of names that are kept.
pub trait OsStringExt {
    /// The name of these bytes.
    fn from_vec(bytes: Vec<u8>) -> Self;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> OsString {
        String::from_utf8(bytes).map_or_else(|_| NOBODY.into(), OsString::from)
    }
}

/// What the system says of a file or folder.
pub struct Look {
    meta: Metadata,
    identity: u64,
    changed: u64,
}

impl Look {
    /// Is it a file?
    pub fn is_file(&self) -> bool {
        self.meta.is_file()
    }
    /// Is it a folder?
    pub fn is_dir(&self) -> bool {
        self.meta.is_dir()
    }
    /// Its length, in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.meta.len()
    }
}

/// BY_HANDLE_FILE_INFORMATION.
#[repr(C)]
#[derive(Default)]
struct ByHandle {
    attributes: u32,
    times: [u32; 6],
    volume: u32,
    size: [u32; 2],
    links: u32,
    index: [u32; 2],
}

/// FILE_BASIC_INFO.
#[repr(C)]
#[derive(Default)]
struct Basic {
    created: u64,
    accessed: u64,
    written: u64,
    changed: u64,
    attributes: u32,
}

const FILE_BASIC_INFO_CLASS: i32 = 0;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetFileInformationByHandle(file: RawHandle, info: *mut ByHandle) -> i32;
    fn GetFileInformationByHandleEx(
        file: RawHandle,
        class: i32,
        info: *mut Basic,
        size: u32,
    ) -> i32;
}

/// Of what has this name.
pub fn look(path: &Path) -> Result<Look> {
    let file = OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    look_at(&file)
}

/// Of a link itself: not told apart here.
pub fn look_itself(path: &Path) -> Result<Look> {
    look(path)
}

/// Of what is open.
pub fn look_at(file: &File) -> Result<Look> {
    let (mut by, mut basic) = (ByHandle::default(), Basic::default());
    // SAFETY: an open handle, and a structure of the layout and size that each call fills.
    let done = unsafe {
        let file = file.as_raw_handle();
        GetFileInformationByHandle(file, &mut by) != 0
            && GetFileInformationByHandleEx(
                file,
                FILE_BASIC_INFO_CLASS,
                &mut basic,
                size_of::<Basic>() as u32,
            ) != 0
    };
    if !done {
        return Err(Error::last_os_error());
    }
    let [high, low] = by.index.map(u64::from);
    let identity = ((high << 32 | low) ^ u64::from(by.volume).rotate_left(40)).max(1);
    Ok(Look {
        meta: file.metadata()?,
        identity,
        changed: basic.changed,
    })
}

/// What tells it from others; never 0, which is kept for "cannot tell".
pub fn identity(look: &Look) -> u64 {
    look.identity
}

/// What tells it from all files that ever had its number.
pub fn origin(look: &Look) -> u64 {
    (look.meta.creation_time() ^ look.identity.rotate_left(32)).max(1)
}

/// When it was changed last, or its metadata were.
pub fn stamp(look: &Look) -> u64 {
    look.changed
}

/// When it was written last, in nanoseconds since 1970.
pub fn modified(look: &Look) -> u64 {
    /// 100 ns from 1601 to 1970.
    const TO_1970: u64 = 116_444_736_000_000_000;
    look.meta
        .last_write_time()
        .wrapping_sub(TO_1970)
        .wrapping_mul(100)
}

/// Opens what has this name.
pub fn open(how: &mut OpenOptions, path: &Path) -> Result<File> {
    how.custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// As [`open`]; `None` where it is a link. What becomes one between the two calls is followed: few
/// may make links here.
pub fn open_itself(how: &mut OpenOptions, path: &Path) -> Result<Option<File>> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
        Ok(None)
    } else {
        open(how, path).map(Some)
    }
}

/// Creates a file that goes when it is closed, in the folder for temporary files.
pub fn create_unnamed(_near: &Path) -> Result<File> {
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    for n in 0..u32::MAX {
        let path = std::env::temp_dir().join(format!("holdall-{}-{n}", std::process::id()));
        let mut how = OpenOptions::new();
        match how
            .read(true)
            .write(true)
            .create_new(true)
            .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
            .open(path)
        {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            file => return file,
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Bytes from a place in a file.
pub fn read_at(file: &File, dst: &mut [u8], at: u64) -> Result<usize> {
    file.seek_read(dst, at)
}

/// All of these bytes, to a place in a file.
pub fn write_all_at(file: &File, mut src: &[u8], mut at: u64) -> Result<()> {
    while !src.is_empty() {
        match file.seek_write(src, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                src = src.get(n..).unwrap_or_default();
                at = at.saturating_add(n as u64);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Names here are the file system's own journal's to keep: a folder cannot be synced.
pub fn sync_folder(path: &Path) -> Result<()> {
    fs::metadata(path).map(|_| ())
}

/// Opens the file of a lock, or makes it. Nobody can remove it, or give it another name, as long as
/// it is open.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut how = OpenOptions::new();
    how.write(true)
        .create(true)
        .truncate(false)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE);
    // not to lock a file that is elsewhere
    how.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)
}

/// Has the file of a lock, now that it is locked, still its name? It is open.
pub fn is_lock(_: &File, _: &Path) -> Result<bool> {
    Ok(true)
}

/// Gives a lock back, and removes its file where nobody else has that open by then.
pub fn unlock(file: File, path: &Path) {
    drop(file);
    let _ = fs::remove_file(path);
}

/// The identity of this process: nothing is forked here.
pub fn process() -> u32 {
    1
}

/// Creates a file, which nothing that is there may stand for. Who may read it is said by its
/// folder.
pub fn create(path: &Path, _private: bool) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
}

/// Files get what their folder says: there is nothing to be given.
pub fn take_rights(_: &File, _: &Path, _: &Look) -> Result<()> {
    Ok(())
}

/// Who may write here is said by the folder, for all of its files.
pub fn may_speak_for(_: &Look, _: &Look, _: bool) -> bool {
    true
}

/// See `unix.rs`; it does not matter here.
pub fn is_shared(_: &Path) -> bool {
    false
}

/// Has it other names, too? Not asked here.
pub fn has_other_names(_: &Look) -> bool {
    false
}
