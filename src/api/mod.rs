//! The public interface for Rust. Each type wraps one type of the engine, checks what Rust's types
//! cannot express, and has no logic of its own. The crate root re-exports everything here.

mod array;
mod array_items;
mod arrow;
mod attribute;
mod bag;
mod bag_index;
mod bag_writer;
mod checksum;
mod dictionary;
#[allow(unsafe_code)]
mod element;
mod encoding;
mod epoch;
mod error;
mod follower;
mod item_type;
mod location;
mod maintenance;
mod options;
mod part;
mod records;
mod scan;
mod schunk;
mod schunk_stream;
mod selection;
mod storage;
mod store;
mod stream;
mod table;

pub use self::array::{Array, ArrayLayout, Integrity, Order};
pub use self::arrow::{ArrowArray, ArrowArrayStream, ArrowReader, ArrowSchema};
pub use self::bag::{Bag, BagChecksum, BagIter};
pub use self::bag_index::BagIndex;
pub use self::bag_writer::BagWriter;
pub use self::checksum::ChecksumHasher;
pub use self::dictionary::train_dictionary;
pub use self::element::Element;
pub use self::encoding::Encoding;
pub use self::epoch::Epoch;
pub use self::error::{Error, Result};
pub use self::location::Location;
pub use self::maintenance::{
    Repaired, Verified, identify, kind_of_broken, repair, verify, version,
};
pub use self::options::{
    BagDictionary, BagLimits, BagShards, Checksum, Codec, FileAccess, Filter, Options, Verify,
};
pub use self::part::{PART_TOKEN_SIZE, Part, commit_parts, discard_parts, list_parts};
pub use self::records::{Batch, Records};
pub use self::scan::Scan;
pub use self::schunk::{ChunkInfo, Schunk};
pub use self::schunk_stream::SchunkStream;
pub use self::selection::Selection;
pub use self::storage::{MemoryStorage, Storage, StorageRange};
pub use self::store::Store;
pub use self::stream::Stream;
pub use self::table::{Table, Values};
pub use crate::dtype::{Field, Kind as ItemKind, Type as ItemType};
pub use crate::error::Status;
pub use crate::format::{Format, Kind};
pub use crate::splits::Split;

macro_rules! debug {
    ($type:ty: $($property:ident)*) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($property), &self.$property()))*
                    .finish_non_exhaustive()
            }
        }
    };
}

debug!(Array: dtype shape);
debug!(ArrowArray: len);
debug!(ArrowArrayStream: is_released);
debug!(ArrowReader:);
debug!(ArrowSchema: is_released);
debug!(Bag: len);
debug!(BagIndex: key_count);
debug!(BagWriter: len);
debug!(BagIter:);
debug!(ChecksumHasher:);
debug!(Location:);
debug!(Options:);
debug!(Part: path);
debug!(Schunk: len chunks);
debug!(Store: format);
debug!(Stream: number);
debug!(Table: rows);
debug!(Values<'_>:);

const fn shared<T: Send + Sync>() {}
const fn movable<T: Send>() {}
// what the documentation says about threads, checked at compile time
const _: () = (
    shared::<Array>(),
    shared::<Bag>(),
    shared::<BagIndex>(),
    shared::<BagIter>(),
    shared::<Batch>(),
    shared::<ChecksumHasher>(),
    shared::<Epoch>(),
    shared::<Error>(),
    shared::<Location>(),
    shared::<Options>(),
    shared::<Part>(),
    shared::<Records>(),
    shared::<Schunk>(),
    shared::<Selection>(),
    shared::<Store>(),
    shared::<Stream>(),
    shared::<Table>(),
    shared::<Values<'static>>(),
    movable::<ArrowArray>(),
    movable::<ArrowArrayStream>(),
    movable::<ArrowReader>(),
    movable::<ArrowSchema>(),
    movable::<BagWriter>(),
    movable::<SchunkStream<Vec<u8>>>(),
)
    .0;
