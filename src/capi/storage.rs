//! Storage that the caller provides: bytes in memory, or callbacks.

use super::guard::*;
use super::options::{chosen, holdall_options, storages};
use crate::error::{Result, fail};
use crate::io::Folder;
use crate::io::functions::{
    FunctionError, FunctionRange, FunctionResult, Functions, FunctionsFolder,
};
use crate::io::memory::MemoryFolder;
use crate::io::memory_files::MemoryFiles;
use crate::os::OsStrExt;
use crate::watch::{Reopen, Source, Watch};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::sync::Arc;

/// Storage that replaces a path (holdall_options_set_storage()): a folder of named files, for one
/// container. A container in one file is the file ""; its auxiliary files have names such as
/// "limits." and "checksums.". The files of a folder have names such as "meta/sizes",
/// "data/__0.blp", "chunks.b2frame". There is no lock: the caller must ensure a single writer.
pub struct holdall_storage {
    pub(super) folder: Arc<dyn Folder>,
    /// The files, if they can be got and put.
    memory: Option<BorrowedFiles>,
}

/// Files in memory, and what the caller has borrowed from them.
struct BorrowedFiles {
    files: Arc<MemoryFiles>,
    names: Vec<CString>,
    contents: BTreeMap<OsString, Arc<Vec<u8>>>,
}

impl BorrowedFiles {
    fn new(files: Arc<MemoryFiles>) -> BorrowedFiles {
        BorrowedFiles {
            files,
            names: Vec::new(),
            contents: BTreeMap::new(),
        }
    }
}

impl holdall_storage {
    pub(super) fn new(folder: Arc<dyn Folder>) -> holdall_storage {
        holdall_storage {
            folder,
            memory: None,
        }
    }

    fn memory(&mut self) -> Result<&mut BorrowedFiles> {
        self.memory.as_mut().ok_or_else(|| {
            fail!(
                Unsupported,
                "storage: its files are not in memory of the library; holdall_storage_new_memory() creates such a storage"
            )
        })
    }
}

/// What a call opens or creates.
pub(super) enum Target<'a> {
    /// A path, or the name of an object in an object store.
    Path(&'a OsStr),
    /// The file or folder "" in the storage of the caller.
    Storage(Arc<dyn Folder>),
}

/// Returns what a call with this path and these options opens or creates.
pub(super) fn target<'a>(
    path: *const c_char,
    options: *const holdall_options,
) -> Result<Target<'a>> {
    match storages(options) {
        [] => string(path, "path").map(Target::Path),
        [folder] => no_path(path).map(|()| Target::Storage(Arc::clone(folder))),
        several => Err(fail!(
            Argument,
            "options: {} storages (expected 1); only holdall_bag_open() reads several",
            several.len()
        )),
    }
}

/// Returns what a call opens for reading, before it opens it. `watch` begins to watch the path.
pub(super) fn opened_from(
    path: *const c_char,
    options: *const holdall_options,
    watch: fn(&OsStr) -> Watch,
) -> Result<Reopen> {
    let source = match storages(options) {
        [] => Source::Path(watch(string(path, "path")?)),
        folders => Source::Storages(folders.to_vec()),
    };
    Ok((source, chosen(options)))
}

/// Returns what to open again, for containers in one storage.
pub(super) fn target_of(source: &Source) -> Result<Target<'_>> {
    match source {
        Source::Path(watch) => Ok(Target::Path(watch.name())),
        Source::Storages(folders) => {
            let folder = folders.first().ok_or_else(|| fail!(State, "no storage"))?;
            Ok(Target::Storage(Arc::clone(folder)))
        }
    }
}

/// Refuses a path beside a storage: it would be ignored.
pub(super) fn no_path(path: *const c_char) -> Result<()> {
    match borrow(path) {
        None | Some(0) => Ok(()),
        Some(_) => Err(fail!(
            Argument,
            "{}: a path, but the options have a storage; pass NULL",
            string(path, "path")?.display()
        )),
    }
}

/// Returns the path for a call that does not access storage of the caller.
pub(super) fn path_only<'a>(
    path: *const c_char,
    options: *const holdall_options,
    call: &str,
) -> Result<&'a OsStr> {
    match storages(options) {
        [] => string(path, "path"),
        _ => Err(fail!(
            Unsupported,
            "{call}: does not access storage of the caller; open it with HOLDALL_OPT_VERIFY 2 instead"
        )),
    }
}

/// A read of read_ranges.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_storage_range {
    /// The file.
    pub name: *const c_char,
    /// Offset; negative: from the end of the file, or 0 if it is shorter.
    pub at: i64,
    /// Destination; NULL if n is 0.
    pub dst: *mut c_void,
    /// Bytes; fewer at the end.
    pub n: usize,
    /// To be set: the size of the file, or -errno.
    pub size: i64,
}

/// Callbacks of a storage. Each returns 0 or more on success, -errno on failure (-ENOENT: no such
/// file). size and read_at are required. The storage is read-only if write_at, truncate, sync, rename
/// or remove is NULL.
///
/// - The effects of sync, rename and remove must survive a power failure: see docs/storage.md.
/// - Several threads may call each function at once if several use the handles; library threads
///   only if HOLDALL_OPT_THREADS was set.
/// - Files are identified by name alone: do not replace a container that is open for reading.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_storage_functions {
    /// sizeof(holdall_storage_functions).
    pub struct_size: usize,
    /// Passed to each function.
    pub ctx: *mut c_void,
    /// Returns the size of a file in bytes.
    pub size: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Reads n bytes at offset at, fewer only at the end of the file. Returns how many.
    pub read_at: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            name: *const c_char,
            at: u64,
            dst: *mut c_void,
            n: usize,
        ) -> i64,
    >,
    /// Writes all n bytes at offset at of an existing file. A gap before them is read as zeros.
    pub write_at: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            name: *const c_char,
            at: u64,
            src: *const c_void,
            n: usize,
        ) -> i64,
    >,
    /// Sets the size of a file in bytes, and creates it if needed.
    pub truncate:
        Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char, size: u64) -> i64>,
    /// Makes the content, size and name of a file durable.
    pub sync: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Renames a file atomically and replaces one of the new name.
    pub rename: Option<
        unsafe extern "C" fn(ctx: *mut c_void, from: *const c_char, to: *const c_char) -> i64,
    >,
    /// Removes a file.
    pub remove: Option<unsafe extern "C" fn(ctx: *mut c_void, name: *const c_char) -> i64>,
    /// Calls each with the name of every file in folder ("": the storage itself), relative to it,
    /// on the calling thread, until each returns non-zero. A folder that does not exist has none;
    /// files of deeper folders may be included. Required for datasets, and to change frames in
    /// folders.
    pub list: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            folder: *const c_char,
            each: Option<unsafe extern "C" fn(arg: *mut c_void, name: *const c_char) -> c_int>,
            arg: *mut c_void,
        ) -> i64,
    >,
    /// Called once, after the storage is freed and the last options and handles that use it. May be
    /// NULL.
    pub destroy: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
    /// Reads n ranges, perhaps at once. May be NULL. Where each call takes long, it opens and reads
    /// frames and bags with few.
    pub read_ranges: Option<
        unsafe extern "C" fn(ctx: *mut c_void, ranges: *mut holdall_storage_range, n: usize) -> i64,
    >,
}

struct Table(holdall_storage_functions);
// SAFETY: the header states that several threads may call each function with this context.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.destroy {
            // SAFETY: by contract callable once with its context; the table is not used after this.
            unsafe { destroy(self.0.ctx) }
        }
    }
}

const EINVAL: i32 = 22;
const EIO: i32 = 5;

fn c_name(name: &OsStr) -> FunctionResult<CString> {
    CString::new(name.as_bytes()).map_err(|_| FunctionError::Errno(EINVAL))
}

fn checked_result(n: i64) -> FunctionResult<u64> {
    u64::try_from(n)
        .map_err(|_| FunctionError::Errno(i32::try_from(n.unsigned_abs()).unwrap_or(EINVAL)))
}

/// The `each` callback of `list`: appends `name` to the vector `names`.
unsafe extern "C" fn take_name(names: *mut c_void, name: *const c_char) -> c_int {
    if names.is_null() || name.is_null() {
        return 1;
    }
    // SAFETY: `names` is the vector that `list` borrows exclusively; by contract `name` is
    // NUL-terminated.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<OsString>>(), CStr::from_ptr(name)) };
    if names.try_reserve(1).is_err() {
        return 1;
    }
    names.push(OsStr::from_bytes(name.to_bytes()).into());
    0
}

fn required_function<F>(f: Option<F>) -> FunctionResult<F> {
    f.ok_or(FunctionError::Absent)
}

// SAFETY of all calls below: by contract, any thread may call the caller's function with its
// context, a NUL-terminated name and a buffer of the stated length.
impl Functions for Table {
    fn size(&self, name: &OsStr) -> FunctionResult<u64> {
        let (f, name) = (required_function(self.0.size)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe { f(self.0.ctx, name.as_ptr()) })
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64> {
        let (f, name) = (required_function(self.0.read_at)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe {
            f(
                self.0.ctx,
                name.as_ptr(),
                at,
                dst.as_mut_ptr().cast(),
                dst.len(),
            )
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> FunctionResult<()> {
        let (f, name) = (required_function(self.0.write_at)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe {
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
    fn truncate(&self, name: &OsStr, size: u64) -> FunctionResult<()> {
        let (f, name) = (required_function(self.0.truncate)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe { f(self.0.ctx, name.as_ptr(), size) }).map(|_| ())
    }
    fn sync(&self, name: &OsStr) -> FunctionResult<()> {
        let (f, name) = (required_function(self.0.sync)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe { f(self.0.ctx, name.as_ptr()) }).map(|_| ())
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> FunctionResult<()> {
        let (f, from, to) = (
            required_function(self.0.rename)?,
            c_name(from)?,
            c_name(to)?,
        );
        // SAFETY: see above.
        checked_result(unsafe { f(self.0.ctx, from.as_ptr(), to.as_ptr()) }).map(|_| ())
    }
    fn reads_ranges(&self) -> bool {
        self.0.read_ranges.is_some()
    }
    fn read_ranges(&self, ranges: &mut [FunctionRange<'_>]) -> FunctionResult<()> {
        let f = required_function(self.0.read_ranges)?;
        let names = ranges.iter().map(|range| c_name(range.name));
        let names = names.collect::<FunctionResult<Vec<CString>>>()?;
        let all = ranges.iter_mut().zip(&names);
        let mut all: Vec<holdall_storage_range> = all
            .map(|(range, name)| holdall_storage_range {
                name: name.as_ptr(),
                at: range.at,
                dst: match &mut *range.dst {
                    [] => std::ptr::null_mut(),
                    dst => dst.as_mut_ptr().cast(),
                },
                n: range.dst.len(),
                size: -i64::from(EIO),
            })
            .collect();
        // SAFETY: see above; names and destinations outlive the call.
        checked_result(unsafe { f(self.0.ctx, all.as_mut_ptr(), all.len()) })?;
        for (range, read) in ranges.iter_mut().zip(&all) {
            range.size = checked_result(read.size);
        }
        Ok(())
    }
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>> {
        let (f, folder) = (required_function(self.0.list)?, c_name(folder)?);
        let mut names: Vec<OsString> = Vec::new();
        // SAFETY: see above; `names` outlives the call. The caller calls back only during the call
        // and on one thread.
        checked_result(unsafe {
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
    fn remove(&self, name: &OsStr) -> FunctionResult<()> {
        let (f, name) = (required_function(self.0.remove)?, c_name(name)?);
        // SAFETY: see above.
        checked_result(unsafe { f(self.0.ctx, name.as_ptr()) }).map(|_| ())
    }
}

/// Creates a storage from callbacks. The table is copied; what the functions use must stay valid
/// until destroy is called, which a failure does not do.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_from_functions(
    functions: *const holdall_storage_functions,
    out: *mut *mut holdall_storage,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let table = read_table(functions)?;
            let functions: Arc<dyn Functions> = Arc::new(Table(table));
            Ok(holdall_storage::new(Arc::new(FunctionsFolder::new(
                functions,
            ))))
        })
    })
}

/// Copies the part of the table that the caller's version of it has.
fn read_table(p: *const holdall_storage_functions) -> Result<holdall_storage_functions> {
    let none = holdall_storage_functions {
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
        read_ranges: None,
    };
    if p.is_null() || !p.is_aligned() {
        return Err(fail!(Argument, "functions is NULL or not aligned"));
    }
    // SAFETY: not NULL and aligned; by contract at least struct_size is readable.
    let size = unsafe { (*p).struct_size };
    if size > size_of::<holdall_storage_functions>() {
        return Err(fail!(
            Argument,
            "functions->struct_size: {size} bytes (expected at most {}); the library is older than the header: update the library",
            size_of::<holdall_storage_functions>()
        ));
    }
    // each field has the size of a pointer
    if size % size_of::<usize>() != 0 {
        return Err(fail!(
            Argument,
            "functions->struct_size: {size} bytes end within a field; set it to sizeof(holdall_storage_functions)"
        ));
    }
    let mut table = none;
    // SAFETY: by contract struct_size bytes are readable; they fit into the copy, whose other
    // fields remain `None`.
    unsafe { std::ptr::copy_nonoverlapping(p.cast::<u8>(), (&raw mut table).cast::<u8>(), size) };
    if table.size.is_none() || table.read_at.is_none() {
        return Err(fail!(
            Argument,
            "functions->size and functions->read_at are required, and functions->struct_size must be set"
        ));
    }
    Ok(table)
}

/// Creates a read-only storage with one file, "": n bytes of memory, which must stay valid and
/// unchanged until every handle opened from it is closed.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_from_memory(
    bytes: *const c_void,
    n: usize,
    out: *mut *mut holdall_storage,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let bytes: &'static [u8] = slice(bytes.cast(), n, "bytes")?;
            Ok(holdall_storage::new(Arc::new(MemoryFolder::new(bytes))))
        })
    })
}

/// Creates an empty, writable storage in memory. Writers exclude each other. The last handle that
/// uses it frees the files.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_new_memory(
    out: *mut *mut holdall_storage,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let files = Arc::new(MemoryFiles::default());
            Ok(holdall_storage {
                folder: files.clone(),
                memory: Some(BorrowedFiles::new(files)),
            })
        })
    })
}

/// Creates another handle of the same storage.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_clone(
    storage: *const holdall_storage,
    out: *mut *mut holdall_storage,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let storage = borrow(storage).ok_or_else(|| fail!(Argument, "storage is NULL"))?;
            let files = storage
                .memory
                .as_ref()
                .map(|memory| Arc::clone(&memory.files));
            Ok(holdall_storage {
                folder: Arc::clone(&storage.folder),
                memory: files.map(BorrowedFiles::new),
            })
        })
    })
}

/// Gets a file of holdall_storage_new_memory() without a copy. The bytes stay unchanged, also by
/// commits, until the next call for this name, or until the handle is freed.
///
/// Returns:
/// - HOLDALL_E_MISSING: no such file.
/// - HOLDALL_E_UNSUPPORTED: another storage.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_get_file(
    storage: *mut holdall_storage,
    name: *const c_char,
    bytes: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let (bytes, n) = (required(bytes, "bytes")?, required(n, "n")?);
        let memory = required(storage, "storage")?.memory()?;
        let name = string(name, "name")?;
        memory.contents.remove(name);
        let content = memory.files.snapshot(name)?;
        (*bytes, *n) = (content.as_ptr().cast(), content.len());
        memory.contents.insert(name.to_owned(), content);
        Ok(HOLDALL_OK)
    })
}

/// Puts a copy of n bytes into holdall_storage_new_memory() as a file. Open handles keep the
/// previous file of this name. Returns as holdall_storage_get_file().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_storage_put_file(
    storage: *mut holdall_storage,
    name: *const c_char,
    bytes: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let memory = required(storage, "storage")?.memory()?;
        let mut content = crate::alloc::with_capacity(n)?;
        content.extend_from_slice(slice(bytes.cast(), n, "bytes")?);
        memory.files.put(string(name, "name")?, content);
        Ok(HOLDALL_OK)
    })
}

/// Returns the current number of files of holdall_storage_new_memory(); otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_storage_file_count(storage: *mut holdall_storage) -> usize {
    guard_value(0, || {
        let Some(memory) = borrow_mut(storage).and_then(|s| s.memory.as_mut()) else {
            return 0;
        };
        let names = memory.files.names();
        memory.names = names.iter().filter_map(|name| c_name(name).ok()).collect();
        memory.names.len()
    })
}

/// Returns the name of file i, valid until the next holdall_storage_file_count(), or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_storage_file_name(
    storage: *const holdall_storage,
    i: usize,
) -> *const c_char {
    guard_value(std::ptr::null(), || {
        let names = borrow(storage).and_then(|s| s.memory.as_ref());
        let name = names.and_then(|memory| memory.names.get(i));
        name.map_or(std::ptr::null(), |name| name.as_ptr())
    })
}

/// Frees a storage, also while options or handles use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_storage_free(storage: *mut holdall_storage) {
    take_back(storage);
}
