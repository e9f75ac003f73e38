//! Every function with NULL for each pointer and 0 for each number.

use holdall::capi::{
    array::*, arrow::*, bag::*, checksum::*, container::*, guard::*, index::*, options::*, part::*,
    schunk::*, schunk_stream::*, storage::*, store::*, stream::*, table::*,
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

#[test]
fn functions_that_can_fail_do() {
    // SAFETY: NULL is an error, or allowed, for every pointer.
    let all = unsafe {
        calls![
            holdall_options_set(no(), no(), no(), no()),
            holdall_options_set_bytes(no(), no(), no(), no(), no()),
            holdall_options_set_storage(no(), no(), no(), no()),
            holdall_storage_from_functions(no(), no(), no()),
            holdall_storage_from_memory(no(), no(), no(), no()),
            holdall_storage_new_memory(no(), no()),
            holdall_storage_clone(no(), no(), no()),
            holdall_storage_get_file(no(), no(), no(), no(), no()),
            holdall_storage_put_file(no(), no(), no(), no(), no()),
            holdall_identify(no(), no(), no(), no()),
            holdall_bag_files(no(), no(), no(), no(), no()),
            holdall_verify(no(), no(), no(), no(), no(), no()),
            holdall_repair(no(), no(), no(), no()),
            holdall_checksum_compute(no(), no(), no(), no(), no(), no(), no()),
            holdall_checksum_new(no(), no(), no()),
            holdall_checksum_update(no(), no(), no(), no()),
            holdall_checksum_finish(no(), no(), no(), no(), no()),
            holdall_schunk_open(no(), no(), no(), no(), no()),
            holdall_schunk_create(no(), no(), no(), no(), no(), no(), no()),
            holdall_schunk_get_info(no(), no(), no()),
            holdall_schunk_get_chunk_info(no(), no(), no(), no()),
            holdall_schunk_read(no(), no(), no(), no(), no()),
            holdall_schunk_read_chunk(no(), no(), no(), no(), no(), no()),
            holdall_schunk_read_raw(no(), no(), no(), no(), no(), no()),
            holdall_schunk_checksum(no(), no(), no(), no(), no(), no()),
            holdall_schunk_append(no(), no(), no(), no()),
            holdall_schunk_append_raw(no(), no(), no(), no()),
            holdall_schunk_write(no(), no(), no(), no(), no()),
            holdall_schunk_insert(no(), no(), no(), no(), no()),
            holdall_schunk_insert_blocks(no(), no(), no(), no(), no(), no()),
            holdall_schunk_block_offsets(no(), no(), no(), no(), no(), no()),
            holdall_schunk_read_block(no(), no(), no(), no(), no(), no(), no()),
            holdall_schunk_remove(no(), no(), no()),
            holdall_schunk_truncate(no(), no(), no()),
            holdall_schunk_attr_get(no(), no(), no(), no(), no()),
            holdall_schunk_attr_set(no(), no(), no(), no(), no()),
            holdall_schunk_attr_set_fixed(no(), no(), no(), no(), no()),
            holdall_schunk_commit(no(), no()),
            holdall_schunk_refresh(no(), no()),
            holdall_schunk_copy(no(), no(), no(), no(), no(), no()),
            holdall_array_open(no(), no(), no(), no(), no()),
            holdall_array_create(no(), no(), no(), no(), no(), no()),
            holdall_array_get_info(no(), no(), no()),
            holdall_array_splits(no(), no(), no(), no(), no(), no(), no()),
            holdall_array_read(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_array_write(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_array_read_orthogonal(no(), no(), no(), no(), no(), no()),
            holdall_array_write_orthogonal(no(), no(), no(), no(), no(), no()),
            holdall_array_read_points(no(), no(), no(), no(), no(), no()),
            holdall_array_append(no(), no(), no(), no(), no(), no()),
            holdall_array_insert(no(), no(), no(), no(), no(), no(), no()),
            holdall_array_remove(no(), no(), no(), no(), no()),
            holdall_array_copy(no(), no(), no(), no(), no(), no()),
            holdall_array_checksum(no(), no(), no(), no(), no(), no()),
            holdall_array_slice(no(), no(), no(), no(), no(), no()),
            holdall_array_squeeze(no(), no(), no(), no()),
            holdall_array_expand_dims(no(), no(), no(), no()),
            holdall_array_resize(no(), no(), no()),
            holdall_array_commit(no(), no()),
            holdall_array_refresh(no(), no()),
            holdall_array_fill_value_get(no(), no(), no(), no()),
            holdall_array_fill_value_set(no(), no(), no(), no()),
            holdall_array_read_object(no(), no(), no(), no(), no(), no()),
            holdall_array_meta_file_names(no(), no(), no(), no(), no()),
            holdall_array_meta_file_read(no(), no(), no(), no(), no(), no()),
            holdall_array_meta_file_write(no(), no(), no(), no(), no()),
            holdall_array_attr_get(no(), no(), no(), no(), no()),
            holdall_array_attr_set(no(), no(), no(), no(), no()),
            holdall_array_attr_set_fixed(no(), no(), no(), no(), no()),
            holdall_table_open(no(), no(), no(), no(), no()),
            holdall_table_create(no(), no(), no(), no(), no(), no()),
            holdall_table_get_info(no(), no(), no()),
            holdall_table_splits(no(), no(), no(), no(), no(), no(), no()),
            holdall_table_read_rows(no(), no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_read_points(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_where(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_slice(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_copy(no(), no(), no(), no(), no(), no()),
            holdall_table_meta_file_names(no(), no(), no(), no(), no()),
            holdall_table_meta_file_read(no(), no(), no(), no(), no(), no()),
            holdall_table_meta_file_write(no(), no(), no(), no(), no()),
            holdall_table_attr_get(no(), no(), no(), no(), no()),
            holdall_table_attr_set(no(), no(), no(), no(), no()),
            holdall_table_column_attr_set(no(), no(), no(), no(), no(), no()),
            holdall_table_append(no(), no(), no(), no(), no()),
            holdall_table_insert(no(), no(), no(), no(), no(), no()),
            holdall_table_remove(no(), no(), no(), no()),
            holdall_table_write(no(), no(), no(), no(), no(), no(), no()),
            holdall_table_column_add(no(), no(), no(), no(), no(), no(), no()),
            holdall_table_column_remove(no(), no(), no()),
            holdall_table_index_build(no(), no(), no(), no()),
            holdall_table_truncate(no(), no(), no()),
            holdall_table_commit(no(), no()),
            holdall_table_refresh(no(), no()),
            holdall_bag_open(no(), no(), no(), no()),
            holdall_bag_slice(no(), no(), no(), no(), no(), no()),
            holdall_bag_get_info(no(), no(), no()),
            holdall_bag_splits(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_refresh(no(), no()),
            holdall_bag_read(no(), no(), no(), no(), no(), no()),
            holdall_bag_read_range(no(), no(), no(), no(), no()),
            holdall_bag_read_indices(no(), no(), no(), no(), no()),
            holdall_bag_checksum(no(), no(), no(), no(), no(), no()),
            holdall_bag_read_dictionary(no(), no(), no(), no(), no()),
            holdall_dictionary_train(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_copy(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_writer_open(no(), no(), no(), no(), no()),
            holdall_bag_writer_append(no(), no(), no(), no()),
            holdall_bag_writer_append_many(no(), no(), no(), no(), no()),
            holdall_bag_writer_commit(no(), no()),
            holdall_bag_stream_open(no(), no(), no(), no(), no(), no()),
            holdall_bag_stream_next(no(), no(), no(), no()),
            holdall_bag_stream_take(no(), no(), no(), no()),
            holdall_schunk_stream_new(no(), no(), no(), no(), no(), no(), no()),
            holdall_schunk_stream_set_metadata(no(), no(), no(), no()),
            holdall_schunk_stream_write(no(), no(), no(), no()),
            holdall_schunk_stream_finish(no(), no()),
            holdall_part_of_bag(no(), no(), no(), no()),
            holdall_part_of_array(no(), no(), no(), no(), no(), no(), no()),
            holdall_part_of_table(no(), no(), no(), no()),
            holdall_part_finish(no(), no(), no()),
            holdall_parts_commit(no(), no(), no(), no(), no()),
            holdall_parts_discard(no(), no(), no(), no()),
            holdall_parts_list(no(), no(), no(), no(), no()),
            holdall_epoch_new(no(), no(), no(), no(), no(), no(), no()),
            holdall_epoch_seek(no(), no(), no(), no()),
            holdall_bag_read_range_to(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_read_indices_to(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_index_build(no(), no(), no(), no()),
            holdall_bag_index_create(no(), no(), no(), no(), no(), no()),
            holdall_bag_index_open(no(), no(), no(), no(), no()),
            holdall_bag_index_find_first(no(), no(), no(), no(), no()),
            holdall_bag_index_find(no(), no(), no(), no(), no(), no(), no()),
            holdall_bag_index_find_many(no(), no(), no(), no(), no(), no()),
            holdall_table_read_nulls(no(), no(), no(), no(), no(), no()),
            holdall_array_read_values(no(), no(), no(), no(), no()),
            holdall_store_open(no(), no(), no(), no(), no()),
            holdall_store_create(no(), no(), no(), no(), no(), no()),
            holdall_store_commit(no(), no()),
            holdall_store_node_storage(no(), no(), no(), no(), no()),
            holdall_store_remove(no(), no(), no()),
            holdall_store_copy(no(), no(), 0, 0, no(), no()),
            holdall_store_identify(no(), no(), no(), no(), no()),
            holdall_store_open_array(no(), no(), no(), no(), no(), no()),
            holdall_store_open_schunk(no(), no(), no(), no(), no(), no()),
            holdall_store_open_table(no(), no(), no(), no(), no(), no()),
            holdall_table_to_arrow(no(), no(), no(), no(), no(), no()),
            holdall_table_columns_to_arrow(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_scan(no(), no(), no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_points_to_arrow(no(), no(), no(), no(), no(), no(), no(), no()),
            holdall_table_append_arrow(no(), no(), no()),
            holdall_table_from_arrow(no(), 0, 0, no(), no(), no(), no()),
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
        holdall_options_set_progress(no(), no(), no());
        holdall_storage_free(no());
        holdall_storage_file_count(no());
        holdall_storage_file_name(no(), no());
        holdall_version_number();
        // calls the codecs, which Miri does not run
        if !cfg!(miri) {
            holdall_version_text();
        }
        holdall_status_name(no());
        holdall_constant_name(no());
        holdall_checksum_free(no());
        holdall_schunk_close(no());
        holdall_schunk_generation(no());
        holdall_schunk_chunk_count(no());
        holdall_schunk_nbytes(no());
        holdall_schunk_attr_count(no());
        holdall_schunk_attr_name(no(), no());
        holdall_array_close(no());
        holdall_array_generation(no());
        holdall_array_ndim(no());
        holdall_array_shape(no());
        holdall_array_dtype(no());
        holdall_array_itemsize(no());
        holdall_array_nbytes(no());
        holdall_array_attr_count(no());
        holdall_array_attr_name(no(), no());
        holdall_table_close(no());
        holdall_table_generation(no());
        holdall_table_row_count(no());
        holdall_table_column_count(no());
        holdall_table_column_name(no(), no());
        holdall_table_column(no(), no());
        holdall_table_find_column(no(), no());
        holdall_table_column_row_count(no(), no());
        holdall_table_attr_count(no());
        holdall_table_attr_name(no(), no());
        holdall_bag_close(no());
        holdall_bag_generation(no());
        holdall_bag_record_count(no());
        holdall_bag_shard_count(no());
        holdall_bag_shard_name(no(), no());
        holdall_bag_shard_record_count(no(), no());
        holdall_records_count(no());
        holdall_records_data(no());
        holdall_records_offsets(no());
        holdall_records_damaged_count(no());
        holdall_records_damaged_positions(no());
        holdall_records_numbers(no());
        holdall_records_free(no());
        holdall_bag_writer_record_count(no());
        holdall_bag_writer_close(no());
        holdall_bag_stream_number(no());
        holdall_bag_stream_damaged_count(no());
        holdall_bag_stream_close(no());
        holdall_schunk_stream_free(no());
        holdall_part_path(no());
        holdall_part_close(no());
        holdall_epoch_count(no());
        assert_eq!(holdall_epoch_next(no(), no()), HOLDALL_E_ARGUMENT);
        holdall_epoch_free(no());
        holdall_bag_index_close(no());
        holdall_bag_index_key_count(no());
        holdall_bag_index_damaged_count(no());
        holdall_store_close(no());
        holdall_store_node_count(no());
        holdall_store_node_path(no(), no());
        holdall_values_items(no());
        holdall_values_free(no());
    }
}

/// The tests above call every function of the headers.
#[test]
#[cfg_attr(miri, ignore = "reads text, and calls nothing")]
fn all_functions() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/include/holdall");
    let headers: String = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "h"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let name = |declared: &str| {
        let name = declared
            .split_once('(')?
            .0
            .split(['*', ' ', '\n'])
            .next_back()?;
        name.starts_with("holdall_").then(|| name.to_string())
    };
    let names: Vec<String> = headers.split("\nHOLDALL_API").filter_map(name).collect();
    assert!(names.len() > 140, "{}", names.len());
    for name in names {
        assert!(
            include_str!("nulls.rs").contains(&format!("{name}(")),
            "{name}"
        );
    }
}
