//! Structures with a struct_size that this version does not know are refused and left unchanged.

use crate::storage::Storage;
use crate::{TempFolder, arrays, bags, done, refused, schunks, tables};
use holdall::capi::{array::*, bag::*, container::*, guard::*, schunk::*, table::*};
use std::ptr::{null, null_mut};

/// Calls with structures of other sizes. The structure of `call` may be read and written.
#[track_caller]
fn sizes_are_checked<T>(
    name: &str,
    parameter: &str,
    call: impl Fn(*mut T, *mut holdall_error) -> holdall_status,
) {
    let count = size_of::<T>() / 8;
    assert_eq!(
        (size_of::<T>() % 8, align_of::<T>()),
        (0, align_of::<usize>()),
        "{name}"
    );
    let whole = size_of::<T>();
    for size in [
        0,
        4,
        8,
        whole - 8,
        whole - 4,
        whole + 1,
        whole + 8,
        usize::MAX,
    ] {
        let mut memory = vec![0xeeee_eeee_eeee_eeeeu64; count + 1];
        memory[0] = size as u64;
        let before = memory.clone();
        let message = refused(HOLDALL_E_ARGUMENT, |err| {
            call(memory.as_mut_ptr().cast(), err)
        });
        let expected = format!(
            "{parameter}->struct_size: {size} (expected sizeof({name}), {whole}); set it before the call"
        );
        assert_eq!(message, expected);
        assert_eq!(memory, before, "{name}: {size}");
    }
    let mut memory = vec![whole as u64; count + 1];
    let misaligned = memory.as_mut_ptr().wrapping_byte_add(4).cast();
    let message = refused(HOLDALL_E_ARGUMENT, |err| call(misaligned, err));
    assert_eq!(message, format!("{parameter} is NULL or not aligned"));
}

#[test]
fn information_of_other_sizes() {
    let (schunk, _) = schunks::stored(HOLDALL_FORMAT_B2FRAME);
    let (array, bag) = (arrays::stored(HOLDALL_FORMAT_B2ND), bags::stored(&[]));
    let (schunk, array) = (
        schunks::opened(&schunk, HOLDALL_READ),
        arrays::opened(&array, HOLDALL_READ),
    );
    let ((_storage, table), bag) = (tables::stored(2), bags::opened(&bag, null_mut()));
    // SAFETY: handles that are open until they are closed; structures of another size are refused.
    unsafe {
        sizes_are_checked("holdall_schunk_info", "info", |info, err| {
            holdall_schunk_get_info(schunk, info, err)
        });
        sizes_are_checked("holdall_chunk_info", "info", |info, err| {
            holdall_schunk_get_chunk_info(schunk, 0, info, err)
        });
        sizes_are_checked("holdall_array_info", "info", |info, err| {
            holdall_array_get_info(array, info, err)
        });
        sizes_are_checked("holdall_table_info", "info", |info, err| {
            holdall_table_get_info(table, info, err)
        });
        sizes_are_checked("holdall_bag_info", "info", |info, err| {
            holdall_bag_get_info(bag, info, err)
        });
        holdall_schunk_close(schunk);
        holdall_array_close(array);
        holdall_table_close(table);
        holdall_bag_close(bag);
    }
}

#[test]
fn descriptions_of_other_sizes() {
    let (empty, source) = (Storage::new(), arrays::stored(HOLDALL_FORMAT_B2ND));
    let array = arrays::opened(&source, HOLDALL_READ);
    // SAFETY: handles and options exist; structures of another size are refused.
    unsafe {
        let create = |spec: *mut holdall_array_spec, err| {
            empty.with(null_mut(), |o| {
                holdall_array_create(null(), HOLDALL_CREATE, spec, o, &mut null_mut(), err)
            })
        };
        sizes_are_checked("holdall_array_spec", "spec", create);
        let copy = |spec: *mut holdall_array_spec, err| {
            empty.with(null_mut(), |o| {
                holdall_array_copy(array, null(), HOLDALL_CREATE, spec, o, err)
            })
        };
        sizes_are_checked("holdall_array_spec", "spec", copy);
        let create = |spec: *mut holdall_table_spec, err| {
            empty.with(null_mut(), |o| {
                holdall_table_create(null(), HOLDALL_CREATE, spec, o, &mut null_mut(), err)
            })
        };
        sizes_are_checked("holdall_table_spec", "spec", create);
        holdall_array_close(array);
    }
    assert!(empty.names().is_empty());
}

/// They may be NULL, and are checked before the call does anything.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn results_of_other_sizes() {
    let folder = TempFolder::new("results");
    let (path, name) = (folder.0.join("a.bag"), folder.file("a.bag"));
    unsafe extern "C" fn fault(
        _: *mut std::ffi::c_void,
        _: *const std::ffi::c_char,
        _: *const holdall_error,
    ) -> std::ffi::c_int {
        unreachable!("the call must not begin")
    }
    // a record and its limit, of which the last bytes are missing
    std::fs::write(&path, b"record\x06\0\0").unwrap();
    // SAFETY: path and structures exist; structures of another size are refused.
    unsafe {
        let verify = |result: *mut holdall_verify_result, err| {
            holdall_verify(name.as_ptr(), null(), Some(fault), null_mut(), result, err)
        };
        sizes_are_checked("holdall_verify_result", "result", verify);
        let repair = |result: *mut holdall_repair_result, err| {
            holdall_repair(name.as_ptr(), null(), result, err)
        };
        sizes_are_checked("holdall_repair_result", "result", repair);
        assert_eq!(std::fs::read(&path).unwrap(), b"record\x06\0\0");
        refused(HOLDALL_E_FORMAT, |err| {
            holdall_verify(name.as_ptr(), null(), None, null_mut(), null_mut(), err)
        });
        std::fs::write(&path, b"record\x06\0\0\0\0\0\0\0").unwrap();
        done(|err| holdall_verify(name.as_ptr(), null(), None, null_mut(), null_mut(), err));
        done(|err| holdall_repair(name.as_ptr(), null(), null_mut(), err));
        let result: holdall_verify_result = crate::info(|result, err| {
            holdall_verify(name.as_ptr(), null(), None, null_mut(), result, err)
        });
        assert_eq!((result.intact, result.corrupt, result.unchecked), (0, 0, 1));
        let result: holdall_repair_result =
            crate::info(|result, err| holdall_repair(name.as_ptr(), null(), result, err));
        assert_eq!((result.retained, result.lost), (1, 0));
    }
}
