//! Types of values in MessagePack, which have no NumPy dtype.
#![forbid(unsafe_code)]

/// The type of a value. Any value may also be null.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedType {
    /// A Boolean.
    Bool,
    /// An integer.
    Int {
        /// Whether it is signed.
        signed: bool,
        /// Its size in bytes.
        size: usize,
    },
    /// A floating-point number of 4 or 8 bytes.
    Float(usize),
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// A time since 1970, as an integer with this NumPy unit.
    Time(String),
    /// Any number of values of a type.
    List(Box<PackedType>),
    /// A value for each name.
    Struct(Vec<(String, PackedType)>),
}
