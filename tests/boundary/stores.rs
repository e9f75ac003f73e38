//! Stores: their nodes, in storage of the caller and by path.

use crate::common::own;
use crate::storage::Storage;
use crate::{done, made, options, refused};
use holdall::capi::{array::*, container::*, guard::*, options::*, schunk::*, store::*};
use std::ffi::{CStr, CString};
use std::fs;
use std::ptr::{null, null_mut};

#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn nodes_are_listed_and_opened() {
    let bytes = fs::read(own().join("stores/dict.b2z")).unwrap();
    let (s, o) = (Storage::new(), options(&[]));
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        s.put("", bytes);
        let store =
            made(|out, err| s.with(o, |o| holdall_store_open(null(), HOLDALL_READ, o, out, err)));
        let n = holdall_store_node_count(store);
        let path = |i| {
            CStr::from_ptr(holdall_store_node_path(store, i))
                .to_str()
                .unwrap()
        };
        assert_eq!((n, path(0), path(n - 1)), (8, "/a", "/objects"));
        assert!(holdall_store_node_path(store, n).is_null());
        let (mut format, mut kind) = (0, 0);
        done(|err| holdall_store_identify(store, c"/a".as_ptr(), &mut format, &mut kind, err));
        assert_eq!((format, kind), (HOLDALL_FORMAT_B2ND, HOLDALL_KIND_ARRAY));
        refused(HOLDALL_E_TYPE, |err| {
            holdall_store_identify(store, c"/group".as_ptr(), null_mut(), null_mut(), err)
        });
        let mut items = [0i32; 1000];
        let node = c"/a".as_ptr();
        let array =
            made(|out, err| holdall_store_open_array(store, node, HOLDALL_READ, o, out, err));
        // nodes do not need the store
        holdall_store_close(store);
        let dst = items.as_mut_ptr().cast();
        done(|err| holdall_array_read(array, null(), null(), null(), dst, 4000, null(), err));
        assert!(items.iter().zip(0..).all(|(item, i)| *item == i));
        done(|err| holdall_array_refresh(array, err));
        holdall_array_close(array);
        holdall_options_free(o);
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn a_path_names_a_node() {
    let inside = own().join("stores/threshold.b2d/group/s");
    let path = CString::new(inside.into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: as above.
    unsafe {
        let schunk =
            made(|out, err| holdall_schunk_open(path.as_ptr(), HOLDALL_READ, null(), out, err));
        assert_eq!(holdall_schunk_nbytes(schunk), 120);
        done(|err| holdall_schunk_refresh(schunk, err));
        holdall_schunk_close(schunk);
        // embedded in another frame
        refused(HOLDALL_E_UNSUPPORTED, |err| {
            holdall_schunk_open(path.as_ptr(), HOLDALL_APPEND, null(), &mut null_mut(), err)
        });
    }
}
