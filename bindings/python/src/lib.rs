//! The Python extension `holdall._native`: classes over the public interface for Rust.
//!
//! Every call that reads, decodes, writes or waits releases the GIL. Callbacks attach to the
//! interpreter again; the call that ran them raises their exceptions.

mod array;
mod arrow;
mod attribute;
mod bag;
mod bag_index;
mod bag_writer;
#[allow(unsafe_code)]
mod buffers;
mod container;
mod contiguous;
mod detached;
mod dtype;
mod errors;
mod handle;
mod index;
mod indices;
mod maintenance;
mod options;
mod part;
mod recipe;
mod records;
mod schunk;
mod schunk_stream;
mod shared;
mod splits;
mod storage;
mod store;
mod stream;
mod table;

use pyo3::pymodule;

/// Registers the classes of the module.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::attribute::{attribute_from_json, attribute_to_json};
    #[pymodule_export]
    use super::bag::Bag;
    #[pymodule_export]
    use super::bag_index::BagIndex;
    #[pymodule_export]
    use super::bag_writer::BagWriter;
    #[pymodule_export]
    use super::buffers::Buffer;
    #[pymodule_export]
    use super::maintenance::{epoch_numbers, identify, repair, train_dictionary, verify, version};
    #[pymodule_export]
    use super::part::{Part, commit_parts, discard_parts, list_parts};
    #[pymodule_export]
    use super::records::Records;
    #[pymodule_export]
    use super::schunk::Schunk;
    #[pymodule_export]
    use super::schunk_stream::SchunkStream;
    #[pymodule_export]
    use super::storage::{Memory, MemoryFiles};
    #[pymodule_export]
    use super::store::{Store, StoreNode};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::table::Table;
}
