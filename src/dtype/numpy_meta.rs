//! The metadata by which Bloscpack marks a file as one NumPy array:
//! `{"dtype":"'<f8'","shape":[20,30],"order":"C","container":"numpy"}`.
//!
//! The dtype is a Python literal in a string. Up to version 0.7.1 it was the string itself, or
//! JSON.
//!
//! The metadata in the BLZ RFC are `{"dtype":"float64","shape":[1024],"others":[]}`, in C order. The
//! documentation of Bloscpack has the same example as metadata of any content, so they describe an
//! array only if the content has its size.
#![forbid(unsafe_code)]

use super::Dtype;
use crate::error::{Result, fail};
use crate::json::{self, Quoted, Value};

/// Maximum number of dimensions, NumPy's limit.
const MAX_DIMENSIONS: usize = 64;

/// The order in which the items of an array are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index varies fastest.
    C,
    /// The first index varies fastest.
    Fortran,
}

/// The description of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayMeta {
    /// Dtype of the items.
    pub dtype: Dtype,
    /// Length along each dimension.
    pub shape: Vec<u64>,
    /// Order of the items.
    pub order: Order,
}

impl ArrayMeta {
    /// Parses metadata. Returns `None` if they do not describe a NumPy array.
    pub fn read(json: &[u8]) -> Result<Option<ArrayMeta>> {
        match Value::parse(json) {
            Ok(meta) if meta.get("container").and_then(Value::as_str) == Some("numpy") => {
                ArrayMeta::of_fields(&meta).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Parses metadata of `nbytes` bytes of content. Returns `None` if they describe neither a NumPy
    /// array nor, as in the BLZ RFC, an array of exactly this size.
    pub fn of_content(json: &[u8], nbytes: u64) -> Result<Option<ArrayMeta>> {
        match Value::parse(json) {
            Ok(meta) if meta.get("container").is_none() && meta.get("others").is_some() => {
                let array = ArrayMeta::of_fields(&meta).ok();
                Ok(array.filter(|array| array.nbytes() == Some(nbytes)))
            }
            _ => ArrayMeta::read(json),
        }
    }

    fn of_fields(meta: &Value) -> Result<ArrayMeta> {
        let get = |key: &str| {
            meta.get(key)
                .ok_or_else(|| fail!(Format, "metadata: {key:?} of the array is missing"))
        };
        let order = match meta.get("order").map(Value::as_str) {
            Some(Some("C")) => Order::C,
            Some(Some("F")) => Order::Fortran,
            None if meta.get("container").is_none() => Order::C,
            None => return Err(fail!(Format, "metadata: \"order\" of the array is missing")),
            _ => {
                return Err(fail!(Format, "metadata: the order must be \"C\" or \"F\""));
            }
        };
        let shape = match get("shape")? {
            Value::Array(a) if a.len() <= MAX_DIMENSIONS => a.iter().map(Value::as_u64).collect(),
            n => n.as_u64().map(|n| vec![n]),
        };
        let shape = shape.ok_or_else(|| {
            fail!(
                Format,
                "metadata: the shape must be a list of at most {MAX_DIMENSIONS} numbers"
            )
        })?;
        Ok(ArrayMeta {
            dtype: Dtype::from_json(get("dtype")?)?,
            shape,
            order,
        })
    }

    /// Returns the size of all items in bytes; `None` if it exceeds 64 bits.
    pub fn nbytes(&self) -> Option<u64> {
        nbytes(&self.shape, self.dtype.item.size)
    }

    /// Returns an error if the content does not have exactly the size of all items.
    pub fn check(&self, have: u64) -> Result<()> {
        let (size, shape) = (self.dtype.item.size, &self.shape);
        match self.nbytes() {
            Some(n) if n == have => Ok(()),
            Some(n) => Err(fail!(
                Format,
                "items of {size} bytes in the shape {shape:?} are {n} bytes, but the content has {have}"
            )),
            None => Err(fail!(
                Format,
                "items of {size} bytes in the shape {shape:?} exceed 2^64 bytes, but the content has {have}"
            )),
        }
    }

    /// Returns the metadata byte by byte as Bloscpack 0.16 writes them, except for field names with
    /// non-ASCII characters.
    pub fn to_json(&self) -> String {
        let order = match self.order {
            Order::C => "C",
            Order::Fortran => "F",
        };
        let dtype = self.dtype.to_python_literal();
        let dtype = Quoted(&dtype);
        format!(
            "{{\"dtype\":{dtype},\"shape\":{},\"order\":\"{order}\",\"container\":\"numpy\"}}",
            list(&self.shape)
        )
    }
}

/// Returns the size in bytes of items of `item` bytes in this shape; `None` if it exceeds 64 bits.
pub fn nbytes(shape: &[u64], item: usize) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(item as u64, |n, d| n.checked_mul(*d))
}

/// Returns the metadata with another shape and no other change: the dtype keeps its spelling, and
/// other members remain.
pub fn with_shape(json: &[u8], shape: &[u64]) -> Result<String> {
    let none = || fail!(Format, "metadata: the shape of the array is missing");
    if !Value::parse(json).is_ok_and(|v| v.get("shape").is_some()) {
        return Err(none());
    }
    let text = std::str::from_utf8(json).map_err(|_| none())?;
    let (before, value, after) = split_at_value(text, "\"shape\"").ok_or_else(none)?;
    // The value includes trailing spaces; retain them.
    let space = value.len() - value.trim_end().len();
    Ok(format!(
        "{before}{}{}{after}",
        list(shape),
        " ".repeat(space)
    ))
}

/// Name of the member that has the attributes of a dataset.
const ATTRS: &str = "attrs";

/// Returns the metadata with these attributes added, if there are any.
pub fn with_attrs(mut json: String, attrs: &[(String, Vec<u8>)]) -> String {
    if !attrs.is_empty() && json.ends_with('}') {
        json.pop();
        let one = |(name, value): &(String, Vec<u8>)| {
            format!("{}:{}", Quoted(name), String::from_utf8_lossy(value))
        };
        let all: Vec<String> = attrs.iter().map(one).collect();
        json.push_str(&format!(",\"{ATTRS}\":{{{}}}}}", all.join(",")));
    }
    json
}

/// Returns all members that do not describe the array; the attributes of a dataset are returned one
/// by one.
pub fn attrs_in(json: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for (name, value) in json::members(json)? {
        match name.as_str() {
            "dtype" | "shape" | "order" | "container" => {}
            ATTRS if value.starts_with('{') => all.extend(json::members(value.as_bytes())?),
            _ => all.push((name, value)),
        }
    }
    Ok(all
        .into_iter()
        .map(|(name, value)| (name, value.as_bytes().to_vec()))
        .collect())
}

/// Splits a JSON object into the text before, in and after the value of a key. The last occurrence
/// is used, as in all readers.
fn split_at_value<'a>(json: &'a str, key: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let (mut string_at, mut last_string, mut value_at, mut found) = (0, "", None, None);
    for (i, b) in json.bytes().enumerate() {
        if in_string {
            in_string = escaped || b != b'"';
            escaped = b == b'\\' && !escaped;
            last_string = if in_string {
                last_string
            } else {
                json.get(string_at..=i)?
            };
            continue;
        }
        match b {
            b'"' => (in_string, string_at) = (true, i),
            b':' if depth == 1 && last_string == key => value_at = Some(i + 1),
            b',' | b'}' if depth == 1 => found = value_at.take().map(|from| (from, i)).or(found),
            _ => {}
        }
        match b {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    let (from, to) = found?;
    Some((json.get(..from)?, json.get(from..to)?, json.get(to..)?))
}

fn list(shape: &[u64]) -> String {
    format!(
        "[{}]",
        shape
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn metadata_match_those_of_bloscpack() {
        for json in [
            r#"{"dtype":"'<f8'","shape":[20,30],"order":"F","container":"numpy"}"#,
            r#"{"dtype":"[('a', '<i4'), (\"it's\", '<f8', (2,))]","shape":[],"order":"C","container":"numpy"}"#,
        ] {
            assert_eq!(
                ArrayMeta::read(json.as_bytes()).unwrap().unwrap().to_json(),
                json
            );
        }
        // Format up to version 0.7.1.
        let old = ArrayMeta::read(
            br#"{"container":"numpy","shape":[3],"order":"C","dtype":[["a",">i4"]]}"#,
        )
        .unwrap()
        .unwrap();
        assert_eq!(
            old.to_json(),
            r#"{"dtype":"[('a', '>i4')]","shape":[3],"order":"C","container":"numpy"}"#
        );
    }

    #[test]
    fn other_metadata_are_no_arrays() {
        for json in [
            "",
            "[1,2]",
            "null",
            "{",
            r#"{"dtype":"<f8","shape":[3]}"#,
            r#"{"container":"other"}"#,
        ] {
            assert_eq!(ArrayMeta::read(json.as_bytes()).unwrap(), None, "{json}");
        }
        for fields in [
            r#""shape":[3],"order":"C""#,
            r#""dtype":"<f8","order":"C""#,
            r#""dtype":"<f8","shape":[3]"#,
            r#""dtype":"<f8","shape":[-3],"order":"C""#,
            r#""dtype":"<f8","shape":[1.5],"order":"C""#,
            r#""dtype":"<f8","shape":"3","order":"C""#,
            r#""dtype":"<f8","shape":[3],"order":"A""#,
        ] {
            let json = format!("{{\"container\":\"numpy\",{fields}}}");
            assert_eq!(
                ArrayMeta::read(json.as_bytes()).unwrap_err().status,
                Status::Format,
                "{json}"
            );
        }
        let json = br#"{"container":"numpy","dtype":"<f3","shape":[3],"order":"C"}"#;
        assert_eq!(ArrayMeta::read(json).unwrap_err().status, Status::Type);
    }

    #[test]
    fn metadata_of_the_rfc_are_an_array() {
        let read = |json: &str, nbytes| ArrayMeta::of_content(json.as_bytes(), nbytes).unwrap();
        let example = r#"{"dtype":"float64","shape":[1024],"others":[]}"#;
        let rfc = read(example, 8192).unwrap();
        assert_eq!((&rfc.shape[..], rfc.order), (&[1024][..], Order::C));
        assert_eq!(
            rfc.to_json(),
            r#"{"dtype":"'<f8'","shape":[1024],"order":"C","container":"numpy"}"#
        );
        let fortran = read(
            r#"{"dtype":"i4","shape":[2,3],"order":"F","others":{}}"#,
            24,
        );
        assert_eq!(fortran.unwrap().order, Order::Fortran);
        assert!(
            read(&rfc.to_json(), 1).is_some(),
            "the size is checked later"
        );
        for (json, nbytes) in [
            (example, 8191),
            (example, 0),
            (r#"{"dtype":"float64","others":[]}"#, 8192),
            (r#"{"shape":[1024],"others":[]}"#, 8192),
            (r#"{"dtype":"float64","shape":[1024]}"#, 8192),
            (r#"{"dtype":"varchar","shape":[1024],"others":[]}"#, 1024),
            (
                r#"{"dtype":"float64","shape":[1024],"others":[],"container":"x"}"#,
                8192,
            ),
        ] {
            assert_eq!(read(json, nbytes), None, "{json}");
        }
        assert_eq!(ArrayMeta::read(example.as_bytes()).unwrap(), None);
    }

    #[test]
    fn byte_counts_are_checked_for_overflow() {
        let of = |shape: &str| {
            let json =
                format!(r#"{{"container":"numpy","dtype":"<f8","shape":{shape},"order":"C"}}"#);
            ArrayMeta::read(json.as_bytes()).unwrap().unwrap().nbytes()
        };
        assert_eq!(
            (
                of("[2,3]"),
                of("[]"),
                of("7"),
                of("[0,18446744073709551615,4]")
            ),
            (Some(48), Some(8), Some(56), Some(0))
        );
        assert_eq!(of("[2305843009213693952]"), None);
    }

    #[test]
    fn attributes_round_trip() {
        let meta = r#"{"dtype":"'<f8'","shape":[3],"order":"C","container":"numpy"}"#;
        let attrs = [
            ("a".to_owned(), b"[1, NaN]".to_vec()),
            ("\"\u{e4}".to_owned(), br#"{"x": {}}"#.to_vec()),
        ];
        let json = with_attrs(meta.to_owned(), &attrs);
        assert_eq!(
            json,
            r#"{"dtype":"'<f8'","shape":[3],"order":"C","container":"numpy","attrs":{"a":[1, NaN],"\"\u00e4":{"x": {}}}}"#
        );
        assert_eq!(attrs_in(json.as_bytes()).unwrap(), attrs);
        assert!(
            ArrayMeta::read(json.as_bytes()).unwrap() == ArrayMeta::read(meta.as_bytes()).unwrap()
        );
        assert_eq!(with_attrs(meta.to_owned(), &[]), meta);
        let other = br#"{"unit":"m","attrs":7,"shape":[3]}"#;
        assert_eq!(
            attrs_in(other).unwrap(),
            [
                ("unit".to_owned(), b"\"m\"".to_vec()),
                ("attrs".to_owned(), b"7".to_vec())
            ]
        );
    }

    #[test]
    fn with_shape_changes_only_the_shape() {
        for (json, want) in [
            (
                r#"{"dtype":"<f8","shape":[3],"order":"C"}"#,
                r#"{"dtype":"<f8","shape":[4,5],"order":"C"}"#,
            ),
            (
                r#"{ "shape" : [ 3, 4 ] , "x": {"shape": [1]} }"#,
                r#"{ "shape" :[4,5] , "x": {"shape": [1]} }"#,
            ),
            (
                r#"{"a":"shape","b\"":[{"shape":1}],"shape":7 }"#,
                r#"{"a":"shape","b\"":[{"shape":1}],"shape":[4,5] }"#,
            ),
            (
                r#"{"shape":[1],"shape":[2]}"#,
                r#"{"shape":[1],"shape":[4,5]}"#,
            ),
        ] {
            assert_eq!(with_shape(json.as_bytes(), &[4, 5]).unwrap(), want);
        }
        for json in [
            "",
            "[]",
            "{}",
            r#"{"a":{"shape":[1]}}"#,
            r#"{"sh\u0061pe":[1]}"#,
        ] {
            assert_eq!(
                with_shape(json.as_bytes(), &[4]).unwrap_err().status,
                Status::Format,
                "{json}"
            );
        }
    }
}
