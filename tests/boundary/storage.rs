//! Storage in memory, through functions as a C program provides them.

use crate::{done, in_storages, made, not_made, options};
use holdall::capi::{guard::*, options::*, storage::*};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

const ENOENT: i64 = -2;

type Files = Mutex<BTreeMap<Vec<u8>, Vec<u8>>>;

/// A storage with its files.
pub struct Storage {
    files: Arc<Files>,
    pub handle: *mut holdall_storage,
}

/// Returns the files and a name.
unsafe fn at<'a>(ctx: *mut c_void, name: *const c_char) -> (&'a Files, &'a [u8]) {
    // SAFETY: the context is the pointer of `Storage::new`, and names have a NUL.
    unsafe { (&*ctx.cast::<Files>(), CStr::from_ptr(name).to_bytes()) }
}

unsafe extern "C" fn size(ctx: *mut c_void, name: *const c_char) -> i64 {
    // SAFETY: as the header says.
    let (files, name) = unsafe { at(ctx, name) };
    files
        .lock()
        .unwrap()
        .get(name)
        .map_or(ENOENT, |b| b.len() as i64)
}

unsafe extern "C" fn read_at(
    ctx: *mut c_void,
    name: *const c_char,
    from: u64,
    dst: *mut c_void,
    n: usize,
) -> i64 {
    // SAFETY: as the header says.
    let (files, name) = unsafe { at(ctx, name) };
    let files = files.lock().unwrap();
    let Some(b) = files.get(name) else {
        return ENOENT;
    };
    let part = b.get(from as usize..).unwrap_or_default();
    let n = n.min(part.len());
    // SAFETY: dst has space for n bytes, which may be uninitialized.
    unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), dst.cast(), n) };
    n as i64
}

unsafe extern "C" fn write_at(
    ctx: *mut c_void,
    name: *const c_char,
    to: u64,
    src: *const c_void,
    n: usize,
) -> i64 {
    // SAFETY: as the header says.
    let ((files, name), src) = unsafe {
        (
            at(ctx, name),
            std::slice::from_raw_parts(src.cast::<u8>(), n),
        )
    };
    let mut files = files.lock().unwrap();
    let b = files.entry(name.into()).or_default();
    b.resize(b.len().max(to as usize + n), 0);
    b[to as usize..][..n].copy_from_slice(src);
    0
}

unsafe extern "C" fn truncate(ctx: *mut c_void, name: *const c_char, size: u64) -> i64 {
    // SAFETY: as the header says.
    let (files, name) = unsafe { at(ctx, name) };
    files
        .lock()
        .unwrap()
        .entry(name.into())
        .or_default()
        .resize(size as usize, 0);
    0
}

unsafe extern "C" fn sync(_: *mut c_void, _: *const c_char) -> i64 {
    0
}

unsafe extern "C" fn rename(ctx: *mut c_void, from: *const c_char, to: *const c_char) -> i64 {
    // SAFETY: as the header says.
    let ((files, from), (_, to)) = unsafe { (at(ctx, from), at(ctx, to)) };
    let mut files = files.lock().unwrap();
    let Some(b) = files.remove(from) else {
        return ENOENT;
    };
    files.insert(to.into(), b);
    0
}

unsafe extern "C" fn remove(ctx: *mut c_void, name: *const c_char) -> i64 {
    // SAFETY: as the header says.
    let (files, name) = unsafe { at(ctx, name) };
    files.lock().unwrap().remove(name).map_or(ENOENT, |_| 0)
}

unsafe extern "C" fn read_ranges(
    ctx: *mut c_void,
    ranges: *mut holdall_storage_range,
    n: usize,
) -> i64 {
    // SAFETY: as the header says.
    for range in unsafe { std::slice::from_raw_parts_mut(ranges, n) } {
        // SAFETY: as the header says.
        range.size = unsafe { size(ctx, range.name) };
        let from = match range.at {
            at if at < 0 => (range.size + at).max(0),
            at => at,
        };
        if range.size >= 0 && range.n > 0 {
            // SAFETY: as the header says.
            unsafe { read_at(ctx, range.name, from as u64, range.dst, range.n) };
        }
    }
    0
}

unsafe extern "C" fn list(
    ctx: *mut c_void,
    folder: *const c_char,
    each: Option<unsafe extern "C" fn(arg: *mut c_void, name: *const c_char) -> c_int>,
    arg: *mut c_void,
) -> i64 {
    // SAFETY: as the header says.
    let (files, folder) = unsafe { at(ctx, folder) };
    let prefix = if folder.is_empty() {
        Vec::new()
    } else {
        [folder, b"/"].concat()
    };
    let names: Vec<Vec<u8>> = files
        .lock()
        .unwrap()
        .keys()
        .filter_map(|n| Some(n.strip_prefix(&prefix[..])?.to_vec()))
        .collect();
    for mut name in names.into_iter().filter(|n| !n.contains(&b'/')) {
        name.push(0);
        // SAFETY: as the header says.
        if unsafe { each.unwrap()(arg, name.as_ptr().cast()) } != 0 {
            break;
        }
    }
    0
}

unsafe extern "C" fn destroy(ctx: *mut c_void) {
    // SAFETY: the pointer of `Storage::new`, once.
    drop(unsafe { Arc::from_raw(ctx.cast::<Files>()) });
}

fn functions(ctx: *mut c_void) -> holdall_storage_functions {
    holdall_storage_functions {
        struct_size: size_of::<holdall_storage_functions>(),
        ctx,
        size: Some(size),
        read_at: Some(read_at),
        write_at: Some(write_at),
        truncate: Some(truncate),
        sync: Some(sync),
        rename: Some(rename),
        remove: Some(remove),
        list: Some(list),
        destroy: Some(destroy),
        read_ranges: Some(read_ranges),
    }
}

impl Storage {
    pub fn new() -> Storage {
        let files = Arc::<Files>::default();
        let table = functions(Arc::into_raw(files.clone()).cast_mut().cast());
        // SAFETY: the table is copied; its context lives until `destroy`.
        let create = |out, err| unsafe { holdall_storage_from_functions(&table, out, err) };
        Storage {
            files,
            handle: made(create),
        }
    }

    /// Options of one thread that hold this storage.
    #[track_caller]
    pub fn options(&self, more: &[(i32, i64)]) -> *mut holdall_options {
        let o = options(more);
        // SAFETY: options and storage exist.
        done(|err| unsafe { holdall_options_set_storage(o, &self.handle, 1, err) });
        o
    }

    /// Runs a call with options that hold this storage.
    #[track_caller]
    pub fn with(
        &self,
        options: *mut holdall_options,
        call: impl FnOnce(*mut holdall_options) -> holdall_status,
    ) -> holdall_status {
        in_storages(&[self.handle], options, call)
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.files.lock().unwrap()[name.as_bytes()].clone()
    }

    /// Creates a file.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        self.files.lock().unwrap().insert(name.into(), bytes);
    }

    /// Changes the bytes of a file.
    pub fn change(&self, name: &str, f: impl FnOnce(&mut Vec<u8>)) {
        f(self.files.lock().unwrap().get_mut(name.as_bytes()).unwrap());
    }

    /// The names of all files, in order.
    pub fn names(&self) -> Vec<String> {
        let files = self.files.lock().unwrap();
        files
            .keys()
            .map(|name| String::from_utf8(name.clone()).unwrap())
            .collect()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        unsafe { holdall_storage_free(self.handle) };
        assert!(
            Arc::strong_count(&self.files) == 1 || std::thread::panicking(),
            "destroy was not called"
        );
    }
}

#[test]
fn functions_of_other_struct_sizes() {
    let all = functions(null_mut());
    for struct_size in [
        0,
        4,
        8,
        size_of_val(&all) - size_of::<usize>() / 2,
        size_of_val(&all) + 8,
    ] {
        let table = holdall_storage_functions { struct_size, ..all };
        // SAFETY: struct_size is refused before more than the structure is read.
        not_made(HOLDALL_E_ARGUMENT, |out, err| unsafe {
            holdall_storage_from_functions(&table, out, err)
        });
    }
    // of an older program
    let table = holdall_storage_functions {
        struct_size: 32,
        ..all
    };
    // SAFETY: as above; without `destroy` nothing is called with the context.
    unsafe {
        holdall_storage_free(made(|out, err| {
            holdall_storage_from_functions(&table, out, err)
        }))
    };
}
