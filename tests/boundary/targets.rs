//! What calls open and create: a path, or the storages in their options.

use crate::sources::{Sources, of_source};
use crate::storage::Storage;
use crate::{array_spec, bags, done, in_storages, info, made, not_made, options, refused, tables};
use holdall::capi::{
    array::*, bag::*, container::*, guard::*, index::*, options::*, schunk::*, storage::*,
    stream::*, table::*,
};
use std::ffi::c_char;
use std::ptr::{null, null_mut};

type Call<'a> = (
    &'static str,
    Box<dyn Fn(*const c_char, *const holdall_options, *mut holdall_error) -> holdall_status + 'a>,
);

macro_rules! calls {
    ($($f:ident($($a:expr),*; $o:ident; $($b:expr),*),)*) => {
        vec![$((
            stringify!($f),
            // SAFETY: handles, structures and options exist while the calls are used; what they
            // open is not closed, because they fail.
            Box::new(move |path, $o, err| unsafe { $f(path, $($a,)* $o, $($b,)* err) }) as _,
        )),*]
    };
}

/// Calls `check` with every call that takes a path or one storage.
fn each_call(check: impl Fn(&Call)) {
    let (from, columns) = (Sources::new(), tables::columns());
    let array = array_spec(HOLDALL_FORMAT_B2ND, c"<i4", &[3]);
    let copy = of_source(&array);
    let table = tables::spec(HOLDALL_FORMAT_BCOLZ, &columns);
    let (array, copy, table) = (&raw const array, &raw const copy, &raw const table);
    let (new, read, file) = (HOLDALL_CREATE, HOLDALL_READ, HOLDALL_FORMAT_BLOSCPACK);
    let mut calls: Vec<Call> = calls![
        holdall_schunk_open(read; o; &mut null_mut()),
        holdall_schunk_create(new, file, 1; o; &mut null_mut()),
        holdall_array_open(read; o; &mut null_mut()),
        holdall_array_create(new, array; o; &mut null_mut()),
        holdall_table_open(read; o; &mut null_mut()),
        holdall_table_create(new, table; o; &mut null_mut()),
        holdall_bag_writer_open(new; o; &mut null_mut()),
        holdall_bag_index_create(new, from.bag; o; &mut null_mut()),
        holdall_bag_index_open(from.bag; o; &mut null_mut()),
    ];
    let (schunk, array, table) = (from.schunk, from.array, from.table);
    // SAFETY: as above.
    calls.push((
        "holdall_schunk_copy",
        Box::new(move |path, o, err| unsafe {
            holdall_schunk_copy(schunk, path, new, file, o, err)
        }),
    ));
    // SAFETY: as above.
    calls.push((
        "holdall_array_copy",
        Box::new(move |path, o, err| unsafe { holdall_array_copy(array, path, new, copy, o, err) }),
    ));
    // SAFETY: as above.
    calls.push((
        "holdall_table_copy",
        Box::new(move |path, o, err| unsafe {
            holdall_table_copy(table, path, new, HOLDALL_FORMAT_BCOLZ, o, err)
        }),
    ));
    calls.iter().for_each(check);
}

#[test]
fn a_path_beside_a_storage_is_refused() {
    let s = Storage::new();
    let o = s.options(&[]);
    each_call(|(name, call)| {
        let message = refused(HOLDALL_E_ARGUMENT, |err| call(c"x".as_ptr(), o, err));
        assert_eq!(
            message, "x: a path, but the options have a storage; pass NULL",
            "{name}"
        );
    });
    // SAFETY: the options exist until they are freed.
    unsafe {
        let open = |spec: *const c_char| {
            not_made(HOLDALL_E_ARGUMENT, |out, err| {
                holdall_bag_open(spec, o, out, err)
            })
        };
        assert!(open(c"x".as_ptr()).starts_with("x: a path"));
        assert!(s.names().is_empty());
        holdall_options_free(o);
    }
}

#[test]
fn several_storages_are_for_bags_only() {
    let (a, b) = (Storage::new(), Storage::new());
    let o = holdall_options_new();
    // SAFETY: options and storages exist.
    unsafe {
        let both = [a.handle, b.handle];
        done(|err| holdall_options_set_storage(o, both.as_ptr(), 2, err));
        each_call(|(name, call)| {
            let message = refused(HOLDALL_E_ARGUMENT, |err| call(null(), o, err));
            assert!(
                message.contains("2 storages (expected 1)"),
                "{name}: {message}"
            );
        });
        assert!(a.names().is_empty() && b.names().is_empty());
        holdall_options_free(o);
    }
}

#[test]
fn without_storage_there_must_be_a_path() {
    let s = Storage::new();
    let o = s.options(&[]);
    // SAFETY: the options exist until they are freed.
    unsafe { done(|err| holdall_options_set_storage(o, null(), 0, err)) };
    for o in [null(), o.cast_const()] {
        each_call(|(name, call)| {
            let message = refused(HOLDALL_E_ARGUMENT, |err| call(null(), o, err));
            assert_eq!(message, "path is NULL", "{name}");
        });
    }
    // SAFETY: as above.
    unsafe { holdall_options_free(o) };
}

/// An empty path is no path.
#[test]
fn an_empty_path_beside_a_storage_is_allowed() {
    let s = bags::stored(&[]);
    let o = s.options(&[]);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        let b = made(|out, err| holdall_bag_open(c"".as_ptr(), o, out, err));
        assert_eq!(holdall_bag_record_count(b), 5);
        holdall_bag_close(b);
        holdall_options_free(o);
    }
}

#[test]
fn calls_without_storage_refuse_it() {
    let s = bags::stored(&[]);
    let b = bags::opened(&s, null_mut());
    let o = s.options(&[]);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        for path in [null(), c"x".as_ptr()] {
            refused(HOLDALL_E_UNSUPPORTED, |err| {
                holdall_verify(path, o, None, null_mut(), null_mut(), err)
            });
            refused(HOLDALL_E_UNSUPPORTED, |err| {
                holdall_repair(path, o, null_mut(), err)
            });
        }
        not_made(HOLDALL_E_ARGUMENT, |out, err| {
            holdall_bag_index_build(b, o, out, err)
        });
        not_made(HOLDALL_E_ARGUMENT, |out, err| {
            holdall_bag_stream_open(b, None, null_mut(), o, out, err)
        });
        holdall_bag_close(b);
        holdall_options_free(o);
    }
}

/// Shards in storages, as one sequence.
#[test]
fn several_storages_are_the_shards_of_a_bag() {
    let shards = [bags::stored(&[]), bags::stored(&[])];
    let handles = [shards[0].handle, shards[1].handle, shards[0].handle];
    for (option, order) in [
        (
            HOLDALL_BAG_SHARDS_CONCATENATED,
            [0, 1, 2, 3, 4, 0, 1, 2, 3, 4],
        ),
        (
            HOLDALL_BAG_SHARDS_INTERLEAVED,
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
        ),
    ] {
        let o = options(&[(HOLDALL_OPT_BAG_SHARDS, option.into())]);
        // SAFETY: handles that are open until they are closed.
        unsafe {
            let b = made(|out, err| {
                in_storages(&handles[..2], o, |o| holdall_bag_open(null(), o, out, err))
            });
            let of_bag: holdall_bag_info = info(|info, err| holdall_bag_get_info(b, info, err));
            assert_eq!((of_bag.shard_count, of_bag.shards), (2, option));
            assert_eq!(holdall_bag_shard_record_count(b, 1), 5);
            let all = bags::taken(made(|out, err| holdall_bag_read_range(b, 0, 10, out, err)));
            assert_eq!(all, order.map(|i: usize| bags::RECORDS[i]));
            holdall_bag_close(b);
            holdall_options_free(o);
        }
    }
    // one of them twice
    // SAFETY: as above.
    unsafe {
        let b = made(|out, err| {
            in_storages(&handles, null_mut(), |o| {
                holdall_bag_open(null(), o, out, err)
            })
        });
        assert_eq!(holdall_bag_record_count(b), 15);
        holdall_bag_close(b);
    }
}

#[test]
fn options_hold_storages_until_others_are_set() {
    let (s, other) = (bags::stored(&[]), Storage::new());
    let bytes = s.bytes("");
    let o = holdall_options_new();
    // SAFETY: options, storages and bytes exist while they are used.
    unsafe {
        let memory = made(|out, err| {
            holdall_storage_from_memory(bytes.as_ptr().cast(), bytes.len(), out, err)
        });
        done(|err| holdall_options_set_storage(o, &memory, 1, err));
        holdall_storage_free(memory);
        // a failure changes nothing
        let with_null = [other.handle, null_mut()];
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set_storage(o, with_null.as_ptr(), 2, err)
        });
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set_storage(o, null(), 1, err)
        });
        let checksum = (HOLDALL_OPT_VERIFY, 0);
        done(|err| holdall_options_set(o, checksum.0, checksum.1, err));
        let b = made(|out, err| holdall_bag_open(null(), o, out, err));
        assert_eq!(holdall_bag_record_count(b), 5);
        done(|err| holdall_options_set_storage(o, &other.handle, 1, err));
        not_made(HOLDALL_E_MISSING, |out, err| {
            holdall_bag_open(null(), o, out, err)
        });
        holdall_options_free(o);
        let first = made(|out, err| holdall_bag_read_range(b, 0, 1, out, err));
        assert_eq!(bags::taken(first), [bags::RECORDS[0]]);
        holdall_bag_close(b);
    }
}
