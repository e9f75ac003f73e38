//! Attributes as JSON, whatever the format stores.
#![forbid(unsafe_code)]

use super::Format;
use crate::array::msgpack_json;

/// Attributes as JSON. Frames store them as MessagePack, all other formats as JSON.
impl Format {
    /// Returns a stored attribute as JSON. MessagePack has bytes and extension types, which become
    /// `{"hex": "00ff"}`, the latter with a member `ext`. Invalid MessagePack is treated as bytes.
    /// Other formats store text, which is returned as it is.
    ///
    /// ```
    /// use holdall::Format;
    ///
    /// assert_eq!(Format::B2nd.attribute_to_json(b"\x92\x01\xa1m"), r#"[1,"m"]"#);
    /// assert_eq!(Format::Bcolz.attribute_to_json(b"[1]"), "[1]");
    /// ```
    pub fn attribute_to_json(self, stored: &[u8]) -> String {
        match self.is_frame() {
            true => msgpack_json::to_json(stored),
            false => String::from_utf8_lossy(stored).into_owned(),
        }
    }

    /// Returns JSON as the format stores it, the reverse of [`Format::attribute_to_json`]. Text that
    /// is no JSON becomes a text of MessagePack.
    ///
    /// ```
    /// use holdall::Format;
    ///
    /// assert_eq!(Format::B2nd.attribute_from_json(r#"{"hex": "00ff"}"#), b"\xc4\x02\0\xff");
    /// ```
    pub fn attribute_from_json(self, json: &str) -> Vec<u8> {
        match self.is_frame() {
            true => msgpack_json::from_json(json.as_bytes()),
            false => json.as_bytes().to_vec(),
        }
    }

    fn is_frame(self) -> bool {
        matches!(self, Format::B2Frame | Format::B2nd | Format::Caterva)
    }
}
