//! The public interface for Rust. Each type wraps one type of the engine, checks what Rust's types
//! cannot express, and has no logic of its own. The crate root re-exports everything here.

mod array;
mod bag;
mod bag_writer;
#[allow(unsafe_code)]
mod element;
mod error;
mod location;
mod maintenance;
mod options;
mod records;
mod schunk;
mod selection;
mod storage;
mod stream;
mod table;

pub use self::array::{Array, ArrayLayout, Integrity};
pub use self::bag::{Bag, BagIter};
pub use self::bag_writer::BagWriter;
pub use self::element::Element;
pub use self::error::{Error, Result};
pub use self::location::Location;
pub use self::maintenance::{Repaired, Verified, identify, repair, verify};
pub use self::options::{
    BagLimits, BagShards, Checksum, Codec, FileAccess, Filter, Options, Verify,
};
pub use self::records::{Batch, Records};
pub use self::schunk::Schunk;
pub use self::selection::Selection;
pub use self::storage::Storage;
pub use self::stream::Stream;
pub use self::table::{Table, Values};
pub use crate::error::Status;
pub use crate::format::{Format, Kind};

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
debug!(Bag: len);
debug!(BagWriter: len);
debug!(BagIter:);
debug!(Location:);
debug!(Options:);
debug!(Schunk: len chunks);
debug!(Stream: number);
debug!(Table: rows);
debug!(Values<'_>:);

const fn shared<T: Send + Sync>() {}
const fn movable<T: Send>() {}
// what the documentation says about threads, checked at compile time
const _: () = (
    shared::<Array>(),
    shared::<Bag>(),
    shared::<Batch>(),
    shared::<Error>(),
    shared::<Location>(),
    shared::<Options>(),
    shared::<Records>(),
    shared::<Schunk>(),
    shared::<Stream>(),
    shared::<Table>(),
    movable::<BagWriter>(),
)
    .0;
