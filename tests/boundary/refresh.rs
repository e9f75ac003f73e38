//! Handles for reading that follow a writer: generation, and refresh.

use crate::{TempFolder, array_spec, arrays, bags, done, info, made, refused, schunks, tables};
use holdall::capi::{array::*, bag::*, container::*, guard::*, schunk::*, table::*};
use std::ptr::{null, null_mut};

const NEW: [i32; 10] = [100, 101, 102, 103, 104, 105, 106, 107, 108, 109];

/// Storage has no time stamps: each refresh opens the newest commit again.
#[test]
fn handles_follow_commits_in_storage() {
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let src = NEW.as_ptr().cast();
        let (s, _) = schunks::stored(HOLDALL_FORMAT_B2FRAME);
        let (reader, writer) = (
            schunks::opened(&s, HOLDALL_READ),
            schunks::opened(&s, HOLDALL_APPEND),
        );
        done(|err| holdall_schunk_append(writer, src, 40, err));
        assert_eq!(holdall_schunk_generation(writer), 0);
        done(|err| holdall_schunk_commit(writer, err));
        assert_eq!(holdall_schunk_generation(writer), 1);
        assert_eq!(holdall_schunk_nbytes(reader), 170);
        done(|err| holdall_schunk_refresh(reader, err));
        assert_eq!(
            (
                holdall_schunk_nbytes(reader),
                holdall_schunk_generation(reader)
            ),
            (210, 1)
        );
        let reported: holdall_schunk_info = info(|i, err| holdall_schunk_get_info(reader, i, err));
        assert_eq!((reported.nbytes, reported.generation), (210, 1));
        refused(HOLDALL_E_STATE, |err| holdall_schunk_refresh(writer, err));
        holdall_schunk_close(reader);
        holdall_schunk_close(writer);

        let s = arrays::stored(HOLDALL_FORMAT_B2ND);
        let (reader, writer) = (
            arrays::opened(&s, HOLDALL_READ),
            arrays::opened(&s, HOLDALL_APPEND),
        );
        done(|err| holdall_array_append(writer, 0, 2, src, 40, err));
        done(|err| holdall_array_commit(writer, err));
        assert_eq!(
            (
                holdall_array_generation(writer),
                *holdall_array_shape(reader)
            ),
            (1, 7)
        );
        done(|err| holdall_array_refresh(reader, err));
        assert_eq!(
            (
                holdall_array_generation(reader),
                *holdall_array_shape(reader)
            ),
            (1, 9)
        );
        assert_eq!(arrays::all(reader)[35..], NEW);
        refused(HOLDALL_E_STATE, |err| holdall_array_refresh(writer, err));
        holdall_array_close(reader);
        holdall_array_close(writer);

        let (s, writer) = tables::stored(2);
        let reader = tables::opened(&s, HOLDALL_READ);
        let (columns, sizes) = ([src, src], [4, 3]);
        done(|err| holdall_table_append(writer, 1, columns.as_ptr(), sizes.as_ptr(), err));
        done(|err| holdall_table_commit(writer, err));
        assert_eq!(
            (
                holdall_table_generation(writer),
                holdall_table_row_count(reader)
            ),
            (2, 2)
        );
        done(|err| holdall_table_refresh(reader, err));
        assert_eq!(
            (
                holdall_table_generation(reader),
                holdall_table_row_count(reader)
            ),
            (1, 3)
        );
        refused(HOLDALL_E_STATE, |err| holdall_table_refresh(writer, err));
        holdall_table_close(reader);
        holdall_table_close(writer);

        let s = bags::stored(&[]);
        let bag = bags::opened(&s, null_mut());
        let slice = made(|out, err| holdall_bag_slice(bag, 0, 2, 1, out, err));
        let writer = made(|out, err| {
            s.with(null_mut(), |o| {
                holdall_bag_writer_open(null(), HOLDALL_APPEND, o, out, err)
            })
        });
        done(|err| holdall_bag_writer_append(writer, src, 4, err));
        done(|err| holdall_bag_writer_commit(writer, err));
        holdall_bag_writer_close(writer);
        done(|err| holdall_bag_refresh(bag, err));
        assert_eq!(
            (holdall_bag_generation(bag), holdall_bag_record_count(bag)),
            (1, 6)
        );
        refused(HOLDALL_E_STATE, |err| holdall_bag_refresh(slice, err));
        holdall_bag_close(slice);
        holdall_bag_close(bag);
    }
}

/// After a failure the handle is at the earlier commit.
#[test]
fn a_refresh_that_fails_changes_nothing() {
    let s = arrays::stored(HOLDALL_FORMAT_B2ND);
    let reader = arrays::opened(&s, HOLDALL_READ);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        let before = arrays::all(reader);
        let bytes = s.bytes("");
        s.change("", |bytes| bytes.truncate(5));
        refused(HOLDALL_E_FORMAT, |err| holdall_array_refresh(reader, err));
        s.change("", |now| *now = bytes);
        assert_eq!(
            (holdall_array_generation(reader), arrays::all(reader)),
            (0, before)
        );
        done(|err| holdall_array_refresh(reader, err));
        holdall_array_close(reader);
    }
}

/// Time stamps of files: without a commit nothing is opened again.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn files_without_a_new_commit_are_not_opened_again() {
    let folder = TempFolder::new("refresh");
    let (path, spec) = (
        folder.file("a.b2nd"),
        array_spec(HOLDALL_FORMAT_B2ND, c"<i4", &[10]),
    );
    let src = NEW.as_ptr().cast();
    // SAFETY: handles that are open until they are closed.
    unsafe {
        let writer = made(|out, err| {
            holdall_array_create(path.as_ptr(), HOLDALL_CREATE, &spec, null(), out, err)
        });
        done(|err| holdall_array_commit(writer, err));
        // a file that changed recently may change again without another time stamp
        std::thread::sleep(std::time::Duration::from_millis(200));
        let reader =
            made(|out, err| holdall_array_open(path.as_ptr(), HOLDALL_READ, null(), out, err));
        // the first one begins to compare time stamps
        done(|err| holdall_array_refresh(reader, err));
        let before = holdall_array_generation(reader);
        for _ in 0..3 {
            done(|err| holdall_array_refresh(reader, err));
        }
        assert_eq!(holdall_array_generation(reader), before);
        done(|err| holdall_array_write(writer, null(), null(), null(), src, 40, null(), err));
        done(|err| holdall_array_commit(writer, err));
        done(|err| holdall_array_refresh(reader, err));
        assert_eq!(holdall_array_generation(reader), before + 1);
        let mut items = [0i32; 10];
        let dst = items.as_mut_ptr().cast();
        done(|err| holdall_array_read(reader, null(), null(), null(), dst, 40, null(), err));
        assert_eq!(items, NEW);
        holdall_array_close(reader);
        holdall_array_close(writer);
    }
}

/// A handle keeps its number of dimensions and its dtype: the program has buffers for them.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn another_array_at_the_path_is_refused() {
    let folder = TempFolder::new("another");
    let path = folder.file("a.b2nd");
    let create = |dtype, shape: &[u64]| {
        let spec = array_spec(HOLDALL_FORMAT_B2ND, dtype, shape);
        // SAFETY: a handle that is open until it is closed.
        unsafe {
            let writer = made(|out, err| {
                holdall_array_create(path.as_ptr(), HOLDALL_REPLACE, &spec, null(), out, err)
            });
            done(|err| holdall_array_commit(writer, err));
            holdall_array_close(writer);
        }
    };
    create(c"<i4", &[10]);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        let reader =
            made(|out, err| holdall_array_open(path.as_ptr(), HOLDALL_READ, null(), out, err));
        for (dtype, shape) in [(c"<f4", &[10][..]), (c"<i4", &[10, 2])] {
            create(dtype, shape);
            refused(HOLDALL_E_TYPE, |err| holdall_array_refresh(reader, err));
            assert_eq!(
                (holdall_array_ndim(reader), holdall_array_generation(reader)),
                (1, 0)
            );
        }
        create(c"int32", &[20]);
        done(|err| holdall_array_refresh(reader, err));
        assert_eq!(*holdall_array_shape(reader), 20);
        holdall_array_close(reader);
    }
}
