//! The types of items.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::dtype::{Dtype, Type};

impl Type {
    /// Parses a type as NumPy spells it: a type string (`<f8`), a name (`datetime64[ns]`), a list of
    /// fields, a pair of a type and a shape, or a dictionary of names, formats and offsets.
    ///
    /// Fails with [`Status::Type`](crate::Status::Type) if it is none of these, and with
    /// [`Status::Limit`](crate::Status::Limit) if the text is too long.
    pub fn parse(text: &str) -> Result<Type> {
        let parsed = Dtype::parse_argument(text).map_err(Error)?;
        Ok(parsed.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn types_are_printed_as_they_are_parsed() {
        for text in [
            "<f8",
            "|b1",
            ">M8[25s]",
            "<U3",
            "|O",
            "('<i4', (2, 3))",
            "[('a', '<i4', (2,)), (('t', 'b'), [('c', '|S3')])]",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [4], 'itemsize': 8}",
        ] {
            assert_eq!(Type::parse(text).unwrap().to_string(), text);
        }
        for text in ["i3", "", "M8[s", "[('a', 'i4'"] {
            assert_eq!(Type::parse(text).unwrap_err().status(), Status::Type);
        }
    }
}
