//! One open container of each kind, as sources of copies and indexes.

use crate::storage::Storage;
use crate::{arrays, bags, schunks, tables};
use holdall::capi::{array::*, bag::*, container::*, schunk::*, table::*};
use std::ptr::{null, null_mut};

/// Existing containers, as sources of copies.
pub struct Sources {
    pub schunk: *mut holdall_schunk,
    pub array: *mut holdall_array,
    pub table: *mut holdall_table,
    pub bag: *mut holdall_bag,
    _storages: [Storage; 4],
}

impl Sources {
    pub fn new() -> Sources {
        let (schunk, _) = schunks::stored(HOLDALL_FORMAT_B2FRAME);
        let array = arrays::stored(HOLDALL_FORMAT_B2ND);
        let ((table, handle), bag) = (tables::stored(2), bags::stored(&[]));
        Sources {
            schunk: schunks::opened(&schunk, HOLDALL_READ),
            array: arrays::opened(&array, HOLDALL_READ),
            table: handle,
            bag: bags::opened(&bag, null_mut()),
            _storages: [schunk, array, table, bag],
        }
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        // SAFETY: the handles are open, and not used any more.
        unsafe {
            holdall_schunk_close(self.schunk);
            holdall_array_close(self.array);
            holdall_table_close(self.table);
            holdall_bag_close(self.bag);
        }
    }
}

/// The description of a copy with dtype and shape of its source.
pub fn of_source(spec: &holdall_array_spec) -> holdall_array_spec {
    holdall_array_spec {
        dtype: null(),
        shape: null(),
        ndim: 0,
        ..*spec
    }
}
