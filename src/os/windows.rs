//! Windows: names are UTF-8, a file is its volume and index, and an open file may not be removable.
//!
//! Unsafe code: two system calls, for metadata that the standard library does not provide.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::ops::{Deref, DerefMut};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::path::Path;

/// Error codes of names that no file can have: ERROR_INVALID_NAME, ERROR_FILENAME_EXCED_RANGE,
/// ERROR_DIRECTORY.
pub const INVALID_NAME_CODES: [i32; 3] = [123, 206, 267];
/// Error code of the limit of open files: ERROR_TOO_MANY_OPEN_FILES.
pub const TOO_MANY_OPEN_CODES: [i32; 1] = [4];

/// A name that no file can have; it replaces names that are not UTF-8.
const UNUSABLE_NAME: &str = "\0";

const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;
/// Allows opening folders.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link without following it.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Returns whether the process could map so many bytes now: not known here, where a thread without
/// memory is an error.
pub fn is_memory_free(_: usize) -> bool {
    true
}

/// Bytes in pages of the system; none are created here, where the allocator keeps no large buffers.
pub enum PageBuffer {}

impl PageBuffer {
    /// Returns `None`.
    pub fn new(_: usize) -> Option<PageBuffer> {
        None
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match *self {}
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match *self {}
    }
}

/// Returns bytes as a name; `None` if they are not UTF-8.
pub fn name_from_bytes(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}

/// Conversions between names and bytes, as in the standard library on Unix.
pub trait OsStrExt {
    /// Returns the name with these bytes.
    fn from_bytes(bytes: &[u8]) -> &Self;
    /// Returns the bytes of the name.
    fn as_bytes(&self) -> &[u8];
}

impl OsStrExt for OsStr {
    fn from_bytes(bytes: &[u8]) -> &OsStr {
        name_from_bytes(bytes).unwrap_or(OsStr::new(UNUSABLE_NAME))
    }
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}

/// Conversion from bytes to owned names.
pub trait OsStringExt {
    /// Returns the name with these bytes.
    fn from_vec(bytes: Vec<u8>) -> Self;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> OsString {
        String::from_utf8(bytes).map_or_else(|_| UNUSABLE_NAME.into(), OsString::from)
    }
}

/// Metadata of a file or folder.
pub struct Stat {
    meta: Metadata,
    identity: u64,
    changed: u64,
}

impl Stat {
    /// Returns whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.meta.is_file()
    }
    /// Returns whether it is a folder.
    pub fn is_dir(&self) -> bool {
        self.meta.is_dir()
    }
    /// Returns the length in bytes.
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

/// Returns the metadata of the file or folder at this path.
pub fn stat(path: &Path) -> Result<Stat> {
    let file = OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    fstat(&file)
}

/// Like [`stat`]: links are not distinguished here.
pub fn lstat(path: &Path) -> Result<Stat> {
    stat(path)
}

/// Returns the metadata of an open file.
pub fn fstat(file: &File) -> Result<Stat> {
    let (mut by, mut basic) = (ByHandle::default(), Basic::default());
    // SAFETY: an open handle, and a structure with the layout and size that each call fills.
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
    Ok(Stat {
        meta: file.metadata()?,
        identity,
        changed: basic.changed,
    })
}

/// Returns a number that distinguishes a file from others; never 0, which means "unknown".
pub fn identity(stat: &Stat) -> u64 {
    stat.identity
}

/// Returns a number that distinguishes a file from all files that ever had its index.
pub fn origin(stat: &Stat) -> u64 {
    (stat.meta.creation_time() ^ stat.identity.rotate_left(32)).max(1)
}

/// Returns the time of the last change of content or metadata.
pub fn stamp(stat: &Stat) -> u64 {
    stat.changed
}

/// Returns the modification time in nanoseconds since 1970.
pub fn modified(stat: &Stat) -> u64 {
    /// Units of 100 ns from 1601 to 1970.
    const TO_1970: u64 = 116_444_736_000_000_000;
    stat.meta
        .last_write_time()
        .wrapping_sub(TO_1970)
        .wrapping_mul(100)
}

/// Opens a file or folder.
pub fn open(options: &mut OpenOptions, path: &Path) -> Result<File> {
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Like [`open`], without following a link. Returns `None` if the path is one. A link created
/// between the two calls is followed; few users may create links on Windows.
pub fn open_nofollow(options: &mut OpenOptions, path: &Path) -> Result<Option<File>> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
        Ok(None)
    } else {
        open(options, path).map(Some)
    }
}

/// Creates a file that is removed when it is closed, in the folder for temporary files.
pub fn create_unnamed(_folder: &Path) -> Result<File> {
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    for n in 0..u32::MAX {
        let path = std::env::temp_dir().join(format!("holdall-{}-{n}", std::process::id()));
        let mut options = OpenOptions::new();
        match options
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

/// Reads bytes from an offset of a file.
pub fn read_at(file: &File, dst: &mut [u8], at: u64) -> Result<usize> {
    file.seek_read(dst, at)
}

/// Writes all bytes to an offset of a file.
pub fn write_all_at(file: &File, mut src: &[u8], mut at: u64) -> Result<()> {
    while !src.is_empty() {
        match file.seek_write(src, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                src = src.get(n..).ok_or(ErrorKind::InvalidData)?;
                at = at.saturating_add(n as u64);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Does nothing but check the path: a folder cannot be synced, and the file system journals names.
pub fn sync_folder(path: &Path) -> Result<()> {
    fs::metadata(path).map(|_| ())
}

/// Opens or creates a lock file. While it is open, it cannot be removed or renamed.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE);
    // does not follow a link to a file elsewhere
    options
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

/// Returns whether a locked file still has its name: always, because it is open.
pub fn is_current_lock(_: &File, _: &Path) -> Result<bool> {
    Ok(true)
}

/// Releases a lock. Removes its file unless another process has it open.
pub fn unlock(file: File, path: &Path) {
    drop(file);
    let _ = fs::remove_file(path);
}

/// Returns the identity of this process: a constant, because there is no fork.
pub fn process() -> u32 {
    1
}

/// Creates a file. Fails if anything exists at the path. The folder determines the access rights.
pub fn create(path: &Path, _private: bool) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
}

/// Does nothing: files inherit the access rights of their folder.
pub fn copy_rights(_: &File, _: &Path, _: &Stat) -> Result<()> {
    Ok(())
}

/// Returns true: the folder determines who may write, for all of its files.
pub fn is_trusted_for(_: &Stat, _: &Stat, _: bool) -> bool {
    true
}

/// Returns true: owners are not compared here.
pub fn may_belong_to(_: &Stat, _: &Stat) -> bool {
    true
}

/// Returns false: see `unix.rs`; the result is not used here.
pub fn others_may_create(_: &Path) -> bool {
    false
}

/// Returns false: see `unix.rs`; the result is not used here.
pub fn is_shared(_: &Path) -> bool {
    false
}

/// Returns false: links are not counted here.
pub fn has_other_names(_: &Stat) -> bool {
    false
}
