//! Constants: their names, and calls with a constant of another family, which are refused.

use crate::sources::{Sources, of_source};
use crate::storage::Storage;
use crate::{answer, array_spec, done, not_made, options, refused, tables};
use holdall::capi::{
    array::*, bag::*, container::*, guard::*, index::*, options::*, schunk::*, table::*,
};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

const MODES: &[i32] = &[
    HOLDALL_READ,
    HOLDALL_APPEND,
    HOLDALL_CREATE,
    HOLDALL_REPLACE,
];
const CODECS: &[i32] = &[
    HOLDALL_CODEC_NONE,
    HOLDALL_CODEC_BLOSCLZ,
    HOLDALL_CODEC_LZ4,
    HOLDALL_CODEC_LZ4HC,
    HOLDALL_CODEC_SNAPPY,
    HOLDALL_CODEC_ZLIB,
    HOLDALL_CODEC_ZSTD,
    HOLDALL_CODEC_BY_NAME,
];

/// Numbers of all families, and some that belong to none.
fn numbers() -> impl Iterator<Item = i32> {
    [i32::MIN, -1, i32::MAX].into_iter().chain(0..=1010)
}

fn name(constant: i32) -> Option<String> {
    let name = holdall_constant_name(constant);
    // SAFETY: NULL or static text.
    let text = |name| unsafe { CStr::from_ptr(name) }.to_str().unwrap().into();
    (!name.is_null()).then(|| text(name))
}

/// The names are those of the header in lower case, without the name of the family.
#[test]
#[cfg_attr(miri, ignore = "reads the headers")]
fn every_constant_has_its_name() {
    const FAMILIES: [&str; 10] = [
        "KIND_",
        "FORMAT_",
        "CODEC_",
        "CHECKSUM_",
        "FILTER_",
        "ORDER_",
        "BAG_DICTIONARY_",
        "BAG_LIMITS_",
        "BAG_SHARDS_",
        "IO_",
    ];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/include/holdall");
    let headers: String = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let defined = headers.lines().filter_map(|line| {
        let (constant, value) = line.strip_prefix("#define HOLDALL_")?.split_once(' ')?;
        let of_family = FAMILIES.iter().find_map(|f| constant.strip_prefix(f));
        let of_mode = ["READ", "APPEND", "CREATE", "REPLACE"].contains(&constant);
        let name = of_family.or(of_mode.then_some(constant))?;
        Some((value.parse().unwrap(), name.to_lowercase()))
    });
    let defined: Vec<(i32, String)> = defined.collect();
    assert_eq!(defined.len(), 4 + 5 + 12 + 9 + 10 + 6 + 2 + 3 + 2 + 2 + 2);
    for (constant, expected) in &defined {
        assert_eq!(name(*constant).as_ref(), Some(expected));
    }
    for number in numbers().filter(|n| defined.iter().all(|(constant, _)| constant != n)) {
        assert_eq!(name(number), None, "{number}");
    }
}

#[test]
fn statuses_have_names() {
    for (status, expected) in [
        (HOLDALL_OK, "HOLDALL_OK"),
        (HOLDALL_NOT_FOUND, "HOLDALL_NOT_FOUND"),
        (HOLDALL_END, "HOLDALL_END"),
        (HOLDALL_DAMAGED, "HOLDALL_DAMAGED"),
        (HOLDALL_E_INTERNAL, "HOLDALL_E_INTERNAL"),
        (HOLDALL_E_UNSUPPORTED, "HOLDALL_E_UNSUPPORTED"),
        (4, "(unknown status)"),
        (-20, "(unknown status)"),
    ] {
        // SAFETY: static text.
        let name = unsafe { CStr::from_ptr(holdall_status_name(status)) };
        assert_eq!(name.to_str().unwrap(), expected);
    }
}

/// Checks that a call refuses the argument, by its name, and leaves the storage empty.
fn refuses(
    argument: &str,
    number: i32,
    name: &str,
    call: impl FnOnce(*mut holdall_options, *mut holdall_error) -> holdall_status,
) {
    let empty = Storage::new();
    let (status, message) = answer(|err| empty.with(null_mut(), |o| call(o, err)));
    assert!(
        status == HOLDALL_E_ARGUMENT
            && message.starts_with(&format!("{argument}:"))
            && message.contains(&number.to_string()),
        "{name}({number}): {status}: {message}"
    );
    assert!(empty.names().is_empty(), "{name}({number})");
}

macro_rules! all_refuse {
    ($argument:ident, $($f:ident($($a:expr),*; $o:ident; $($b:expr),*),)*) => {
        $(refuses(stringify!($argument), $argument, stringify!($f), |$o, err| $f($($a,)* $o, $($b,)* err));)*
    };
}

/// A number of another family, an old constant (1 to 4), or none.
#[test]
fn other_numbers_are_no_modes() {
    let (from, columns) = (Sources::new(), tables::columns());
    let array = &array_spec(HOLDALL_FORMAT_B2ND, c"<i4", &[3]);
    let copied = &of_source(array);
    let table = &tables::spec(HOLDALL_FORMAT_BCOLZ, &columns);
    let (bloscpack, bcolz) = (HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_BCOLZ);
    for mode in numbers().filter(|n| !MODES.contains(n) && *n < if cfg!(miri) { 5 } else { 910 }) {
        // SAFETY: handles, structures and options exist during the calls.
        unsafe {
            all_refuse![
                mode,
                holdall_schunk_open(null(), mode; o; &mut null_mut()),
                holdall_schunk_create(null(), mode, bloscpack, 1; o; &mut null_mut()),
                holdall_schunk_copy(from.schunk, null(), mode, bloscpack; o;),
                holdall_array_open(null(), mode; o; &mut null_mut()),
                holdall_array_create(null(), mode, array; o; &mut null_mut()),
                holdall_array_copy(from.array, null(), mode, copied; o;),
                holdall_table_open(null(), mode; o; &mut null_mut()),
                holdall_table_create(null(), mode, table; o; &mut null_mut()),
                holdall_table_copy(from.table, null(), mode, bcolz; o;),
                holdall_bag_writer_open(null(), mode; o; &mut null_mut()),
                holdall_bag_index_create(null(), mode, from.bag; o; &mut null_mut()),
            ];
        }
    }
}

#[test]
fn other_numbers_are_no_formats() {
    let (from, columns, new) = (Sources::new(), tables::columns(), HOLDALL_CREATE);
    let formats = HOLDALL_FORMAT_BLOSCPACK..=HOLDALL_FORMAT_CTABLE;
    for format in
        numbers().filter(|n| !formats.contains(n) && *n < if cfg!(miri) { 5 } else { 910 })
    {
        let array = &array_spec(format, c"<i4", &[3]);
        let copied = &of_source(array);
        let table = &tables::spec(format, &columns);
        // SAFETY: handles, structures and options exist during the calls.
        unsafe {
            all_refuse![
                format,
                holdall_schunk_create(null(), new, format, 1; o; &mut null_mut()),
                holdall_schunk_copy(from.schunk, null(), new, format; o;),
                holdall_array_create(null(), new, array; o; &mut null_mut()),
                holdall_array_copy(from.array, null(), new, copied; o;),
                holdall_table_create(null(), new, table; o; &mut null_mut()),
                holdall_table_copy(from.table, null(), new, format; o;),
            ];
        }
    }
}

/// Formats of other kinds are refused, too.
#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn formats_belong_to_kinds() {
    let columns = tables::columns();
    for format in HOLDALL_FORMAT_BLOSCPACK..=HOLDALL_FORMAT_CTABLE {
        let (file, folder) = (
            format == HOLDALL_FORMAT_BLOSCPACK,
            [302, 303, 304].contains(&format),
        );
        let is_array = file || folder || [306, 307].contains(&format);
        let array = &array_spec(format, c"<i4", &[3]);
        let table = &tables::spec(format, &columns);
        let status = |allowed: bool, other| if allowed { HOLDALL_OK } else { other };
        for (kind, expected) in [
            (
                0,
                status(file || format == HOLDALL_FORMAT_B2FRAME, HOLDALL_E_ARGUMENT),
            ),
            (1, status(is_array, HOLDALL_E_UNSUPPORTED)),
            (
                2,
                status(
                    folder || format == HOLDALL_FORMAT_CTABLE,
                    HOLDALL_E_UNSUPPORTED,
                ),
            ),
        ] {
            let (empty, plain) = (Storage::new(), options(&[(HOLDALL_OPT_LEVEL, 0)]));
            // SAFETY: structures and options exist during the call; what it creates is closed.
            let (status, message) = answer(|err| unsafe {
                let (mut schunk, mut array_out, mut table_out) =
                    (null_mut(), null_mut(), null_mut());
                let status = empty.with(plain, |o| match kind {
                    0 => holdall_schunk_create(
                        null(),
                        HOLDALL_CREATE,
                        format,
                        1,
                        o,
                        &mut schunk,
                        err,
                    ),
                    1 => {
                        holdall_array_create(null(), HOLDALL_CREATE, array, o, &mut array_out, err)
                    }
                    _ => {
                        holdall_table_create(null(), HOLDALL_CREATE, table, o, &mut table_out, err)
                    }
                });
                holdall_schunk_close(schunk);
                holdall_array_close(array_out);
                holdall_table_close(table_out);
                holdall_options_free(plain);
                status
            });
            assert_eq!(status, expected, "{kind} {format}: {message}");
            assert!(
                expected == HOLDALL_OK || message.contains(&format.to_string()),
                "{message}"
            );
        }
    }
}

/// Two arguments of a call in the wrong order.
#[test]
fn exchanged_arguments_are_refused() {
    let (s, o) = (Storage::new(), options(&[]));
    // SAFETY: storage and options exist.
    unsafe {
        let (mode, format) = (HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME);
        let message = not_made(HOLDALL_E_ARGUMENT, |out, err| {
            s.with(o, |o| {
                holdall_schunk_create(null(), format, mode, 1, o, out, err)
            })
        });
        assert!(
            message.contains("HOLDALL_READ (101) to HOLDALL_REPLACE (104), found 305"),
            "{message}"
        );
        let message = refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set(o, HOLDALL_CODEC_ZSTD, HOLDALL_OPT_CODEC.into(), err)
        });
        assert!(message.contains("407"), "{message}");
        holdall_options_free(o);
    }
}

#[test]
fn values_of_options_are_constants_of_their_family() {
    const CHECKSUMS: &[i32] = &[501, 502, 503, 504, 505, 506, 507, 508, 509, 510];
    let o = holdall_options_new();
    for (option, values) in [
        (HOLDALL_OPT_CODEC, CODECS),
        (HOLDALL_OPT_CHECKSUM, CHECKSUMS),
        (HOLDALL_OPT_IO, &[HOLDALL_IO_READ, HOLDALL_IO_MAP]),
        (
            HOLDALL_OPT_BAG_LIMITS,
            &[HOLDALL_BAG_LIMITS_TAIL, HOLDALL_BAG_LIMITS_SEPARATE],
        ),
        (
            HOLDALL_OPT_BAG_DICTIONARY,
            &[
                HOLDALL_BAG_DICTIONARY_SEPARATE,
                HOLDALL_BAG_DICTIONARY_STORED,
                HOLDALL_BAG_DICTIONARY_AUTO,
            ],
        ),
        (
            HOLDALL_OPT_BAG_SHARDS,
            &[
                HOLDALL_BAG_SHARDS_CONCATENATED,
                HOLDALL_BAG_SHARDS_INTERLEAVED,
            ],
        ),
    ] {
        for value in numbers() {
            // SAFETY: the options exist.
            let set = |err| unsafe { holdall_options_set(o, option, value.into(), err) };
            if values.contains(&value) {
                done(set);
                continue;
            }
            let message = refused(HOLDALL_E_ARGUMENT, set);
            assert!(
                message.starts_with("HOLDALL_OPT_") && message.contains(&format!("value {value} ")),
                "{message}"
            );
        }
        // SAFETY: the options exist.
        refused(HOLDALL_E_ARGUMENT, |err| unsafe {
            holdall_options_set(o, option, i64::from(values[0]) + (1 << 32), err)
        });
    }
    for filter in 0..=255u8 {
        // SAFETY: the options and one byte exist.
        let set = |err| unsafe {
            holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, (&raw const filter).cast(), 1, err)
        };
        if (HOLDALL_FILTER_NONE..=HOLDALL_FILTER_TRUNC_PREC).contains(&filter.into()) {
            done(set);
        } else {
            let message = refused(HOLDALL_E_ARGUMENT, set);
            assert!(message.contains(&format!("filter {filter} ")), "{message}");
        }
    }
    // SAFETY: the options exist.
    unsafe { holdall_options_free(o) };
}

#[test]
fn other_numbers_are_no_options() {
    let o = holdall_options_new();
    for option in numbers().filter(|n| !(1..=HOLDALL_OPT_CHUNK_DICTIONARY).contains(n)) {
        // SAFETY: the options exist.
        unsafe {
            refused(HOLDALL_E_ARGUMENT, |err| {
                holdall_options_set(o, option, 1, err)
            });
            refused(HOLDALL_E_ARGUMENT, |err| {
                holdall_options_set_bytes(o, option, null(), 0, err)
            });
        }
    }
    // SAFETY: the options exist.
    unsafe { holdall_options_free(o) };
}
