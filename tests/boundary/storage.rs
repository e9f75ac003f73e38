//! Storage in memory, behind the functions that a C program brings.

use crate::{made, not_made};
use holdall::capi::guard::HOLDALL_E_ARGUMENT;
use holdall::capi::io::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex};

const ENOENT: i64 = -2;

type Files = Mutex<BTreeMap<Vec<u8>, Vec<u8>>>;

/// A storage, and the handle of it.
pub struct Storage {
    files: Arc<Files>,
    pub io: *mut holdall_io,
}

/// The files, and a name.
unsafe fn at<'a>(ctx: *mut c_void, name: *const c_char) -> (&'a Files, &'a [u8]) {
    // SAFETY: the context is what `Storage::new` gave, and names have a NUL.
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
    // SAFETY: there is room for n bytes, which need not have been written before.
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
    // SAFETY: what `Storage::new` gave, once.
    drop(unsafe { Arc::from_raw(ctx.cast::<Files>()) });
}

fn functions(ctx: *mut c_void) -> holdall_io_functions {
    holdall_io_functions {
        struct_size: size_of::<holdall_io_functions>(),
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
    }
}

impl Storage {
    pub fn new() -> Storage {
        let files = Arc::<Files>::default();
        let table = functions(Arc::into_raw(files.clone()).cast_mut().cast());
        // SAFETY: the table is copied; its context lives until `destroy`.
        Storage {
            files,
            io: made(|out, err| unsafe { holdall_io_from_functions(&table, out, err) }),
        }
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.files.lock().unwrap()[name.as_bytes()].clone()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: it is used no more.
        unsafe { holdall_io_close(self.io) };
        assert!(
            Arc::strong_count(&self.files) == 1 || std::thread::panicking(),
            "destroy was not called"
        );
    }
}

#[test]
fn tables_of_other_sizes() {
    let all = functions(std::ptr::null_mut());
    for struct_size in [
        0,
        4,
        8,
        size_of_val(&all) - size_of::<usize>() / 2,
        size_of_val(&all) + 8,
    ] {
        let table = holdall_io_functions { struct_size, ..all };
        // SAFETY: as much is there as it says, or it is refused before that is looked at.
        not_made(HOLDALL_E_ARGUMENT, |out, err| unsafe {
            holdall_io_from_functions(&table, out, err)
        });
    }
    // an older program's
    let table = holdall_io_functions {
        struct_size: 32,
        ..all
    };
    // SAFETY: as above; without `destroy` nothing is called with the context.
    unsafe { holdall_io_close(made(|out, err| holdall_io_from_functions(&table, out, err))) };
}
