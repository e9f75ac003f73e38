//! Every function with nothing: NULL for each pointer, 0 for each number.

use holdall::capi::{
    array::*, arrow::*, bag::*, common::*, guard::*, index::*, io::*, options::*, schunk::*,
    stream::*, table::*,
};

trait Nothing {
    const NOTHING: Self;
}
macro_rules! nothing {
    ($($t:ty),*) => { $(impl Nothing for $t { const NOTHING: $t = 0; })* };
}
nothing!(i32, u32, i64, u64, usize);
impl<T> Nothing for *const T {
    const NOTHING: *const T = std::ptr::null();
}
impl<T> Nothing for *mut T {
    const NOTHING: *mut T = std::ptr::null_mut();
}
impl<F> Nothing for Option<F> {
    const NOTHING: Option<F> = None;
}

fn no<T: Nothing>() -> T {
    T::NOTHING
}

macro_rules! calls {
    ($($f:ident($($no:expr),*),)*) => { [$((stringify!($f), $f($($no),*))),*] };
}

/// What can fail, fails.
#[test]
fn functions_that_can_fail() {
    // SAFETY: the header says that NULL is an error, or fine, for every pointer.
    let all = unsafe {
        calls![
            holdall_options_set(no(), no(), no(), no()),
            holdall_options_set_bytes(no(), no(), no(), no(), no()),
            holdall_io_from_functions(no(), no(), no()),
            holdall_io_from_memory(no(), no(), no(), no()),
            holdall_identify(no(), no(), no(), no()),
            holdall_bag_files(no(), no(), no(), no(), no()),
            holdall_verify(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_repair(no(), no(), no(), no(), no()),
            holdall_checksum(no(), no(), no(), no(), no(), no(), no()),
            holdall_digest_new(no(), no(), no()),
            holdall_digest_update(no(), no(), no(), no()),
            holdall_digest_finish(no(), no(), no(), no(), no()),
            holdall_schunk_open(no(), no(), no(), no(), no()),
            holdall_schunk_open_io(no(), no(), no(), no(), no()),
            holdall_schunk_create(no(), no(), no(), no(), no(), no(), no()),
            holdall_schunk_create_io(no(), no(), no(), no(), no(), no(), no()),
            holdall_schunk_chunk_info(no(), no(), no(), no(), no(), no()),
            holdall_schunk_read(no(), no(), no(), no(), no()),
            holdall_schunk_read_chunk(no(), no(), no(), no(), no(), no()),
            holdall_schunk_read_raw(no(), no(), no(), no(), no(), no()),
            holdall_schunk_checksum(no(), no(), no(), no(), no(), no()),
            holdall_schunk_append(no(), no(), no(), no()),
            holdall_schunk_append_raw(no(), no(), no(), no()),
            holdall_schunk_write(no(), no(), no(), no(), no()),
            holdall_schunk_insert(no(), no(), no(), no(), no()),
            holdall_schunk_remove(no(), no(), no()),
            holdall_schunk_truncate(no(), no(), no()),
            holdall_schunk_meta_get(no(), no(), no(), no(), no()),
            holdall_schunk_meta_set(no(), no(), no(), no(), no()),
            holdall_schunk_commit(no(), no()),
            holdall_schunk_copy(no(), no(), no(), no(), no(), no()),
            holdall_array_open(no(), no(), no(), no(), no()),
            holdall_array_open_io(no(), no(), no(), no(), no()),
            holdall_array_create(
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no()
            ),
            holdall_array_create_io(
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no(),
                no()
            ),
            holdall_array_read(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_array_write(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_array_read_orthogonal(no(), no(), no(), no(), no(), no()),
            holdall_array_write_orthogonal(no(), no(), no(), no(), no(), no()),
            holdall_array_read_points(no(), no(), no(), no(), no(), no()),
            holdall_array_append(no(), no(), no(), no(), no(), no()),
            holdall_array_insert(no(), no(), no(), no(), no(), no(), no()),
            holdall_array_remove(no(), no(), no(), no(), no()),
            holdall_array_copy(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_array_resize(no(), no(), no()),
            holdall_array_commit(no(), no()),
            holdall_array_fill(no(), no(), no(), no()),
            holdall_array_fill_set(no(), no(), no(), no()),
            holdall_array_read_object(no(), no(), no(), no(), no(), no()),
            holdall_array_attr_get(no(), no(), no(), no(), no()),
            holdall_array_attr_set(no(), no(), no(), no(), no()),
            holdall_table_open(no(), no(), no(), no(), no()),
            holdall_table_open_io(no(), no(), no(), no(), no()),
            holdall_table_create(no(), no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_create_io(no(), no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_attr_get(no(), no(), no(), no(), no()),
            holdall_table_attr_set(no(), no(), no(), no(), no()),
            holdall_table_column_attr_set(no(), no(), no(), no(), no(), no()),
            holdall_table_append(no(), no(), no(), no(), no()),
            holdall_table_write(no(), no(), no(), no(), no(), no(), no()),
            holdall_table_column_add(no(), no(), no(), no(), no(), no(), no()),
            holdall_table_column_remove(no(), no(), no()),
            holdall_table_truncate(no(), no(), no()),
            holdall_table_commit(no(), no()),
            holdall_bag_open(no(), no(), no(), no()),
            holdall_bag_open_io(no(), no(), no(), no(), no()),
            holdall_bag_slice(no(), no(), no(), no(), no(), no()),
            holdall_bag_read(no(), no(), no(), no(), no(), no()),
            holdall_bag_read_range(no(), no(), no(), no(), no()),
            holdall_bag_read_indices(no(), no(), no(), no(), no()),
            holdall_bag_checksum(no(), no(), no(), no(), no(), no()),
            holdall_bag_writer_open(no(), no(), no(), no(), no()),
            holdall_bag_writer_open_io(no(), no(), no(), no(), no()),
            holdall_bag_writer_append(no(), no(), no(), no()),
            holdall_bag_writer_append_many(no(), no(), no(), no(), no()),
            holdall_bag_writer_commit(no(), no()),
            holdall_bag_stream_open(no(), no(), no(), no(), no(), no()),
            holdall_bag_stream_next(no(), no(), no(), no()),
            holdall_bag_stream_take(no(), no(), no(), no()),
            holdall_epoch_open(no(), no(), no(), no(), no(), no(), no()),
            holdall_epoch_seek(no(), no(), no(), no()),
            holdall_bag_read_range_to(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_read_indices_to(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_index_build(no(), no(), no(), no()),
            holdall_bag_index_create(no(), no(), no(), no(), no(), no()),
            holdall_bag_index_create_io(no(), no(), no(), no(), no(), no()),
            holdall_bag_index_open(no(), no(), no(), no(), no()),
            holdall_bag_index_open_io(no(), no(), no(), no(), no()),
            holdall_bag_index_find_first(no(), no(), no(), no(), no()),
            holdall_bag_index_find(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_index_find_many(no(), no(), no(), no(), no(), no()),
            holdall_table_to_arrow(no(), no(), no(), no(), no(), no()),
            holdall_table_append_arrow(no(), no(), no()),
            holdall_bag_to_arrow(no(), no(), no(), no(), no(), no()),
        ]
    };
    for (name, status) in all {
        assert_eq!(status, HOLDALL_E_ARGUMENT, "{name}");
    }
}

#[test]
fn functions_that_cannot_fail() {
    // SAFETY: as above.
    unsafe {
        holdall_options_free(holdall_options_new());
        holdall_options_free(no());
        holdall_options_on_progress(no(), no(), no());
        holdall_io_close(no());
        holdall_version_number();
        // it asks the codecs, which Miri does not run
        if !cfg!(miri) {
            holdall_version_text();
        }
        holdall_status_name(no());
        holdall_digest_free(no());
        holdall_schunk_close(no());
        holdall_schunk_chunks(no());
        holdall_schunk_nbytes(no());
        holdall_schunk_cbytes(no());
        holdall_schunk_typesize(no());
        holdall_schunk_chunk_size(no());
        holdall_schunk_sum(no());
        holdall_schunk_version(no());
        holdall_schunk_metas(no());
        holdall_schunk_meta_name(no(), no());
        holdall_array_close(no());
        holdall_array_ndim(no());
        holdall_array_shape(no());
        holdall_array_chunkshape(no());
        holdall_array_blockshape(no());
        holdall_array_dtype(no());
        holdall_array_itemsize(no());
        holdall_array_order(no());
        holdall_array_nbytes(no());
        holdall_array_cbytes(no());
        holdall_array_attrs(no());
        holdall_array_attr_name(no(), no());
        holdall_table_close(no());
        holdall_table_rows(no());
        holdall_table_columns(no());
        holdall_table_column_name(no(), no());
        holdall_table_column(no(), no());
        holdall_table_column_rows(no(), no());
        holdall_table_attrs(no());
        holdall_table_attr_name(no(), no());
        holdall_bag_close(no());
        holdall_bag_size(no());
        holdall_bag_codec(no());
        holdall_bag_sum(no());
        holdall_bag_limits(no());
        holdall_bag_cbytes(no());
        holdall_bag_shards(no());
        holdall_bag_shard_name(no(), no());
        holdall_bag_shard_size(no(), no());
        holdall_records_count(no());
        holdall_records_data(no());
        holdall_records_offsets(no());
        holdall_records_damaged(no());
        holdall_records_damaged_at(no());
        holdall_records_numbers(no());
        holdall_records_close(no());
        holdall_bag_writer_size(no());
        holdall_bag_writer_close(no());
        holdall_bag_stream_number(no());
        holdall_bag_stream_damaged(no());
        holdall_bag_stream_close(no());
        holdall_epoch_size(no());
        assert_eq!(holdall_epoch_next(no(), no()), HOLDALL_E_ARGUMENT);
        holdall_epoch_close(no());
        holdall_bag_index_close(no());
        holdall_bag_index_keys(no());
        holdall_bag_index_damaged(no());
    }
}

/// None of the header's is left out.
#[test]
#[cfg_attr(miri, ignore = "calls nothing, and looks through much text")]
fn all_functions() {
    let (header, here) = (
        include_str!("../../include/holdall.h"),
        include_str!("nulls.rs"),
    );
    let name = |declared: &'static str| {
        declared
            .split_once('(')?
            .0
            .split(['*', ' ', '\n'])
            .next_back()
            .filter(|n| n.starts_with("holdall_"))
    };
    let names: Vec<&str> = header.split("\nHOLDALL_API").filter_map(name).collect();
    assert!(names.len() > 150, "{}", names.len());
    for name in names {
        assert!(here.contains(&format!("{name}(")), "{name}");
    }
}
