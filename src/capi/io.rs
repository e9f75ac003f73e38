//! Storage that the caller brings: bytes in memory, or functions.

use super::guard::*;
use crate::error::{Result, fail};
use crate::io::Folder;
use crate::io::functions::{Answer, Functions, FunctionsFolder, Refusal};
use crate::io::memory::MemoryFolder;
use crate::os::OsStrExt;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::sync::Arc;

/// A place where bytes live, instead of a path: a folder of named files. A container of one file
/// has the name "" there, and the files beside it names such as "limits.". May be used from many
/// threads.
pub struct holdall_io {
    pub(super) folder: Arc<dyn Folder>,
}

pub(super) fn storage<'a>(io: *mut holdall_io) -> Result<&'a Arc<dyn Folder>> {
    let io = borrow(io.cast_const()).ok_or_else(|| fail!(Argument, "io is NULL"))?;
    Ok(&io.folder)
}

/// The caller's storage, as functions. Each may be called by several threads at once if several use
/// the handles. Each returns 0 or more where it is done, and -errno (such as -ENOENT: no such file)
/// where it failed. Only `size` and `read_at` are required; where `write_at`, `truncate`, `sync`,
/// `rename` or `remove` is NULL, the storage is read-only.
///
/// Everything that commits promise rests on three of them: what `sync`, `rename` and `remove` have
/// done when they return must survive a failing power supply. Files are known by name alone: do not
/// replace a container that is open for reading.
/// Other threads than the caller's use them only where HOLDALL_OPT_THREADS was set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_io_functions {
    /// sizeof(holdall_io_functions): set it.
    pub struct_size: usize,
    /// Given to each function.
    pub ctx: *mut c_void,
    /// The length of a file, in bytes.
    pub size: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Reads n bytes from `at` on; returns how many it read, fewer than n only at the end of the
    /// file.
    pub read_at: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            name: *const c_char,
            at: u64,
            dst: *mut c_void,
            n: usize,
        ) -> i64,
    >,
    /// Writes all n bytes at `at`; the file grows where needed.
    pub write_at: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            name: *const c_char,
            at: u64,
            src: *const c_void,
            n: usize,
        ) -> i64,
    >,
    /// Sets the length of a file; makes an empty one first where there is none.
    pub truncate:
        Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char, size: u64) -> i64>,
    /// Makes the bytes, the length and the name of a file durable.
    pub sync: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Renames in one step, replacing what bore the name.
    pub rename: Option<
        unsafe extern "C" fn(ctx: *mut c_void, from: *const c_char, to: *const c_char) -> i64,
    >,
    /// Removes a file.
    pub remove: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Calls `each` with the name of each file in a folder ("": the storage itself), without that
    /// of the folder, until it returns non-zero; on the calling thread. Needed for folders
    /// alone: frames with a file a chunk that are changed, and datasets.
    pub list: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            folder: *const c_char,
            each: Option<unsafe extern "C" fn(arg: *mut c_void, name: *const c_char) -> c_int>,
            arg: *mut c_void,
        ) -> i64,
    >,
    /// Called once, after the last handle that uses the storage is closed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

struct Table(holdall_io_functions);
// SAFETY: the header says that each function may be called from several threads, with this context.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.destroy {
            // SAFETY: by contract callable once with its context; nothing uses the table any more.
            unsafe { destroy(self.0.ctx) }
        }
    }
}

const EINVAL: i32 = 22;

fn c_name(name: &OsStr) -> Answer<CString> {
    CString::new(name.as_bytes()).map_err(|_| Refusal::Errno(EINVAL))
}

fn answer(n: i64) -> Answer<u64> {
    u64::try_from(n).map_err(|_| Refusal::Errno(i32::try_from(n.unsigned_abs()).unwrap_or(EINVAL)))
}

/// What `list` calls with each name; `names` is what it was given.
unsafe extern "C" fn take_name(names: *mut c_void, name: *const c_char) -> c_int {
    if names.is_null() || name.is_null() {
        return 1;
    }
    // SAFETY: `names` is what the call of `list` gave, exclusively; `name` has a NUL, by contract.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<OsString>>(), CStr::from_ptr(name)) };
    if names.try_reserve(1).is_err() {
        return 1;
    }
    names.push(OsStr::from_bytes(name.to_bytes()).into());
    0
}

fn there<F>(f: Option<F>) -> Answer<F> {
    f.ok_or(Refusal::Absent)
}

// SAFETY of all calls below: a function of the caller's, by contract callable from any thread with
// its context, a name with a NUL, and a buffer of the length given.
impl Functions for Table {
    fn size(&self, name: &OsStr) -> Answer<u64> {
        let (f, name) = (there(self.0.size)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe { f(self.0.ctx, name.as_ptr()) })
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> Answer<u64> {
        let (f, name) = (there(self.0.read_at)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe {
            f(
                self.0.ctx,
                name.as_ptr(),
                at,
                dst.as_mut_ptr().cast(),
                dst.len(),
            )
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> Answer<()> {
        let (f, name) = (there(self.0.write_at)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe {
            f(
                self.0.ctx,
                name.as_ptr(),
                at,
                src.as_ptr().cast(),
                src.len(),
            )
        })
        .map(|_| ())
    }
    fn truncate(&self, name: &OsStr, size: u64) -> Answer<()> {
        let (f, name) = (there(self.0.truncate)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe { f(self.0.ctx, name.as_ptr(), size) }).map(|_| ())
    }
    fn sync(&self, name: &OsStr) -> Answer<()> {
        let (f, name) = (there(self.0.sync)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe { f(self.0.ctx, name.as_ptr()) }).map(|_| ())
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Answer<()> {
        let (f, from, to) = (there(self.0.rename)?, c_name(from)?, c_name(to)?);
        // SAFETY: see above.
        answer(unsafe { f(self.0.ctx, from.as_ptr(), to.as_ptr()) }).map(|_| ())
    }
    fn list(&self, folder: &OsStr) -> Answer<Vec<OsString>> {
        let (f, folder) = (there(self.0.list)?, c_name(folder)?);
        let mut names: Vec<OsString> = Vec::new();
        // SAFETY: see above; `names` is there as long as the call lasts, in which alone the caller
        // calls back, on one thread.
        answer(unsafe {
            f(
                self.0.ctx,
                folder.as_ptr(),
                Some(take_name),
                std::ptr::from_mut(&mut names).cast(),
            )
        })
        .map(|_| names)
    }
    fn writable(&self) -> bool {
        let t = &self.0;
        t.write_at.is_some()
            && t.truncate.is_some()
            && t.sync.is_some()
            && t.rename.is_some()
            && t.remove.is_some()
    }
    fn remove(&self, name: &OsStr) -> Answer<()> {
        let (f, name) = (there(self.0.remove)?, c_name(name)?);
        // SAFETY: see above.
        answer(unsafe { f(self.0.ctx, name.as_ptr()) }).map(|_| ())
    }
}

/// Storage behind functions; the table is copied, what its functions need must live until
/// `destroy`. HOLDALL_E_ARGUMENT: struct_size is 0, within a field or beyond this version's, or
/// size or read_at is NULL; `destroy` is then not called.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_io_from_functions(
    functions: *const holdall_io_functions,
    out: *mut *mut holdall_io,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let table = read_table(functions)?;
            let functions: Arc<dyn Functions> = Arc::new(Table(table));
            Ok(holdall_io {
                folder: Arc::new(FunctionsFolder::new(functions)),
            })
        })
    })
}

/// Copies as much of the table as the caller's version of it has.
fn read_table(p: *const holdall_io_functions) -> crate::Result<holdall_io_functions> {
    let none = holdall_io_functions {
        struct_size: 0,
        ctx: std::ptr::null_mut(),
        size: None,
        read_at: None,
        write_at: None,
        truncate: None,
        sync: None,
        rename: None,
        remove: None,
        list: None,
        destroy: None,
    };
    if p.is_null() || !p.is_aligned() {
        return Err(fail!(Argument, "functions is NULL"));
    }
    // SAFETY: not NULL and aligned; by contract at least struct_size is there.
    let size = unsafe { (*p).struct_size };
    if size > size_of::<holdall_io_functions>() {
        return Err(fail!(
            Argument,
            "functions->struct_size is {size}, this library knows {} bytes: it is older than the header",
            size_of::<holdall_io_functions>()
        ));
    }
    // each field is as long as a pointer
    if size % size_of::<usize>() != 0 {
        return Err(fail!(
            Argument,
            "functions->struct_size is {size}: that ends within a field"
        ));
    }
    let mut table = none;
    // SAFETY: by contract struct_size bytes are there; they fit the copy, in which all zeros are
    // valid.
    unsafe { std::ptr::copy_nonoverlapping(p.cast::<u8>(), (&raw mut table).cast::<u8>(), size) };
    if table.size.is_none() || table.read_at.is_none() {
        return Err(fail!(
            Argument,
            "functions->size and functions->read_at are required, and functions->struct_size must be set"
        ));
    }
    Ok(table)
}

/// One file, "", that is n bytes in memory: borrowed, read-only. The bytes must stay where they
/// are, and as they are, until every handle that was opened from it is closed.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_io_from_memory(
    bytes: *const c_void,
    n: usize,
    out: *mut *mut holdall_io,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let bytes: &'static [u8] = slice(bytes.cast(), n, "bytes")?;
            Ok(holdall_io {
                folder: Arc::new(MemoryFolder::new(bytes)),
            })
        })
    })
}

/// Closes it; NULL is fine. What was opened from it lives on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_io_close(io: *mut holdall_io) {
    take_back(io);
}
