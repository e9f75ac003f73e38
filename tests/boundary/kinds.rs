//! Opening a path as another kind than it is.

use crate::{TempFolder, answer, array_spec, done, made, options};
use holdall::capi::{array::*, bag::*, container::*, guard::*, options::*, schunk::*, table::*};
use std::ffi::{CStr, CString};
use std::fs;
use std::ptr::{null, null_mut};

/// A container, and the kinds as which it opens.
pub struct Container {
    pub path: CString,
    pub format: i32,
    pub kinds: &'static [i32],
}

const ARRAY: &[i32] = &[HOLDALL_KIND_ARRAY];
const TABLE: &[i32] = &[HOLDALL_KIND_TABLE];
const BAG: &[i32] = &[HOLDALL_KIND_BAG];
const FRAME: &[i32] = &[HOLDALL_KIND_SCHUNK, HOLDALL_KIND_ARRAY];

/// One container of each kind and format.
pub fn containers(folder: &TempFolder) -> Vec<Container> {
    let mut all = Vec::new();
    let mut add = |name: &str, format, kinds: &'static [i32]| {
        let path = folder.file(name);
        all.push(Container {
            path: path.clone(),
            format,
            kinds,
        });
        path
    };
    let o = options(&[(HOLDALL_OPT_CHUNK_BYTES, 400)]);
    let sparse = options(&[(HOLDALL_OPT_CHUNK_BYTES, 400), (HOLDALL_OPT_SPARSE, 1)]);
    let items: Vec<i32> = (0..300).collect();
    let src = items.as_ptr().cast();
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        for (name, format, kinds, o) in [
            ("plain.blp", HOLDALL_FORMAT_BLOSCPACK, &FRAME[..1], o),
            ("plain.b2frame", HOLDALL_FORMAT_B2FRAME, FRAME, o),
            ("sparse.b2frame", HOLDALL_FORMAT_B2FRAME, FRAME, sparse),
        ] {
            let path = add(name, format, kinds);
            let c = made(|out, err| {
                holdall_schunk_create(path.as_ptr(), HOLDALL_CREATE, format, 4, o, out, err)
            });
            done(|err| holdall_schunk_append(c, src, 1200, err));
            done(|err| holdall_schunk_commit(c, err));
            holdall_schunk_close(c);
        }
        for (name, format, kinds) in [
            ("array.blp", HOLDALL_FORMAT_BLOSCPACK, FRAME),
            ("array.b2nd", HOLDALL_FORMAT_B2ND, FRAME),
            ("array.cat", HOLDALL_FORMAT_CATERVA, FRAME),
            ("array.bcolz", HOLDALL_FORMAT_BCOLZ, ARRAY),
            ("array.blz", HOLDALL_FORMAT_BLZ, ARRAY),
            ("array.rfc", HOLDALL_FORMAT_BLZ_RFC, ARRAY),
        ] {
            let (path, spec) = (add(name, format, kinds), array_spec(format, c"<i4", &[300]));
            let a = made(|out, err| {
                holdall_array_create(path.as_ptr(), HOLDALL_CREATE, &spec, o, out, err)
            });
            done(|err| holdall_array_write(a, null(), null(), null(), src, 1200, null(), err));
            done(|err| holdall_array_commit(a, err));
            holdall_array_close(a);
        }
        for (name, format, kinds) in [
            ("table.bcolz", HOLDALL_FORMAT_BCOLZ, TABLE),
            ("table.blz", HOLDALL_FORMAT_BLZ, TABLE),
            (
                "table.rfc",
                HOLDALL_FORMAT_BLZ_RFC,
                &[HOLDALL_KIND_TABLE, HOLDALL_KIND_ARRAY][..],
            ),
        ] {
            let (path, columns) = (add(name, format, kinds), crate::tables::columns());
            let spec = crate::tables::spec(format, &columns);
            let t = made(|out, err| {
                holdall_table_create(path.as_ptr(), HOLDALL_CREATE, &spec, o, out, err)
            });
            let sizes = [400, 300];
            done(|err| holdall_table_append(t, 100, [src, src].as_ptr(), sizes.as_ptr(), err));
            done(|err| holdall_table_commit(t, err));
            holdall_table_close(t);
        }
        for name in ["records.bag", "records.bagz", "set@2.bagz"] {
            let path = add(name, HOLDALL_FORMAT_BAGZ, BAG);
            let w = made(|out, err| {
                holdall_bag_writer_open(path.as_ptr(), HOLDALL_CREATE, null(), out, err)
            });
            for i in 0..4 {
                done(|err| holdall_bag_writer_append(w, src, 100 + i, err));
            }
            done(|err| holdall_bag_writer_commit(w, err));
            holdall_bag_writer_close(w);
        }
        holdall_options_free(o);
        holdall_options_free(sparse);
    }
    all
}

/// Opens a path as a kind, and closes the handle.
pub fn open_as(
    kind: i32,
    path: &CStr,
    mode: i32,
    o: *const holdall_options,
) -> (holdall_status, String) {
    let path = path.as_ptr();
    // SAFETY: path and options exist; a handle is closed.
    answer(|err| unsafe {
        match kind {
            HOLDALL_KIND_SCHUNK => {
                let mut out = null_mut();
                let status = holdall_schunk_open(path, mode, o, &mut out, err);
                holdall_schunk_close(out);
                status
            }
            HOLDALL_KIND_ARRAY => {
                let mut out = null_mut();
                let status = holdall_array_open(path, mode, o, &mut out, err);
                holdall_array_close(out);
                status
            }
            HOLDALL_KIND_TABLE => {
                let mut out = null_mut();
                let status = holdall_table_open(path, mode, o, &mut out, err);
                holdall_table_close(out);
                status
            }
            _ if mode == HOLDALL_READ => {
                let mut out = null_mut();
                let status = holdall_bag_open(path, o, &mut out, err);
                holdall_bag_close(out);
                status
            }
            _ => {
                let mut out = null_mut();
                let status = holdall_bag_writer_open(path, mode, o, &mut out, err);
                holdall_bag_writer_close(out);
                status
            }
        }
    })
}

pub const KINDS: [i32; 4] = [
    HOLDALL_KIND_SCHUNK,
    HOLDALL_KIND_ARRAY,
    HOLDALL_KIND_TABLE,
    HOLDALL_KIND_BAG,
];

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn opening_another_kind_names_the_kind_and_the_function() {
    let folder = TempFolder::new("kinds");
    let mut wrong = Vec::new();
    for container in containers(&folder) {
        let (mut format, mut found) = (0, 0);
        // SAFETY: the path exists.
        done(|err| unsafe {
            holdall_identify(container.path.as_ptr(), &mut format, &mut found, err)
        });
        assert_eq!(format, container.format, "{:?}", container.path);
        let (what, function) = match found {
            HOLDALL_KIND_SCHUNK => ("a superchunk", "holdall_schunk_open()"),
            HOLDALL_KIND_ARRAY => ("an array", "holdall_array_open()"),
            HOLDALL_KIND_TABLE => ("a table", "holdall_table_open()"),
            _ => ("a bag of records", "holdall_bag_open()"),
        };
        // SAFETY: a constant with a static name.
        let name = unsafe { CStr::from_ptr(holdall_constant_name(format)) }
            .to_str()
            .unwrap();
        let path = container.path.to_str().unwrap();
        // the files of a set have other names
        let is_set = path.contains('@');
        for kind in KINDS
            .into_iter()
            .filter(|kind| !is_set || *kind == HOLDALL_KIND_BAG)
        {
            for mode in [HOLDALL_READ, HOLDALL_APPEND] {
                let (status, message) = open_as(kind, &container.path, mode, null());
                if container.kinds.contains(&kind) {
                    if status != HOLDALL_OK {
                        wrong.push(format!("{path} as {kind}, {mode}: {status}: {message}"));
                    }
                    continue;
                }
                // a file of Bloscpack may be an array: what it lacks is named
                if kind == HOLDALL_KIND_ARRAY && format == HOLDALL_FORMAT_BLOSCPACK {
                    assert!(
                        status == HOLDALL_E_TYPE || status == HOLDALL_E_FORMAT,
                        "{message}"
                    );
                    continue;
                }
                let parts = [path, what, &format!("({name})"), function];
                if status != HOLDALL_E_TYPE || !parts.iter().all(|part| message.contains(part)) {
                    wrong.push(format!("{path} as {kind}, {mode}: {status}: {message}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not a container has no kind.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn other_files_are_not_of_another_kind() {
    let folder = TempFolder::new("no-kinds");
    fs::write(
        folder.0.join("text.txt"),
        "neither compressed nor a container\n",
    )
    .unwrap();
    fs::create_dir(folder.0.join("folder")).unwrap();
    for name in ["text.txt", "folder", "none"] {
        for kind in KINDS {
            for mode in [HOLDALL_READ, HOLDALL_APPEND] {
                let (status, message) = open_as(kind, &folder.file(name), mode, null());
                assert!(
                    status < 0 && !message.contains("open it with"),
                    "{name}: {message}"
                );
                if name == "none" {
                    assert_eq!(status, HOLDALL_E_MISSING, "{kind}: {message}");
                }
            }
        }
    }
}
