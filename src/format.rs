//! The storage formats and the kinds of containers, with the numbers of the C API.
#![forbid(unsafe_code)]

/// A storage format. The numbers are those of the C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[non_exhaustive]
pub enum Format {
    /// A Bloscpack file.
    Bloscpack = 1,
    /// A folder written by bcolz.
    Bcolz = 2,
    /// A folder written by BLZ.
    Blz = 3,
    /// A folder in the BLZ RFC layout.
    BlzRfc = 4,
    /// A Blosc2 frame.
    B2Frame = 5,
    /// A Blosc2 frame that holds a Caterva array.
    Caterva = 6,
    /// A Blosc2 frame that holds a b2nd array (python-blosc2).
    B2nd = 7,
    /// A Bagz file.
    Bagz = 8,
    /// A store of python-blosc2 in a folder (`.b2d`).
    B2d = 9,
    /// A store of python-blosc2 in a zip archive (`.b2z`).
    B2z = 10,
    /// A store of python-blosc2 in a frame (`.b2e`).
    B2e = 11,
    /// A table of python-blosc2: a node of a store, with the nodes below it.
    CTable = 12,
}

/// A kind of container. The numbers are those of the C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[non_exhaustive]
pub enum Kind {
    /// A byte sequence in compressed chunks.
    Schunk = 1,
    /// A multidimensional array of items of one type.
    Array = 2,
    /// Columns of equal length.
    Table = 3,
    /// Records of variable length.
    Bag = 4,
    /// A tree of arrays and superchunks.
    Store = 5,
}
