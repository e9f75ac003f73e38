//! The metalayers that mark a Blosc2 frame as an array: `b2nd` and its predecessor `caterva`.
//!
//! Both are MessagePack arrays: a version, the number of dimensions, the shape, the chunk shape and
//! the block shape; `b2nd` also has the dtype. Readers skip the MessagePack markers by their length
//! alone, so all writers use the same markers, and this module accepts only these. For 16
//! dimensions writers use, and readers require, a marker that MessagePack does not define (0x90 +
//! 16).
#![forbid(unsafe_code)]

use super::selection::MAX_NDIM;
use crate::dtype::Dtype;
use crate::error::{Error, Result, fail};

/// Name of the current metalayer.
pub const B2ND: &str = "b2nd";
/// Name of the predecessor of [`B2ND`].
pub const CATERVA: &str = "caterva";

/// Version of both layouts.
const VERSION: u8 = 0;
/// Marker of an array; the number of entries is added to it.
const ARRAY: u8 = 0x90;
const I64: u8 = 0xd3;
const I32: u8 = 0xd2;
/// Marker of text with a 32-bit length.
const TEXT: u8 = 0xdb;
/// Number of entries without a dtype.
const UNTYPED: u8 = 5;
/// Number of entries with a dtype.
const TYPED: u8 = 7;
/// Dtype format: NumPy spelling.
const NUMPY: u8 = 0;
/// Default dtype of c-blosc2 for arrays that were created without one.
const DEFAULT_DTYPE: &str = "|u1";

/// The content of an array metalayer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMetalayer {
    /// Length along each dimension.
    pub shape: Vec<u64>,
    /// Shape of a chunk; a length is 0 only if the array has length 0 along that dimension.
    pub chunkshape: Vec<u64>,
    /// Shape of a block.
    pub blockshape: Vec<u64>,
    /// Dtype as it is spelled in the frame; `None` in `caterva`.
    pub dtype: Option<String>,
}

impl ArrayMetalayer {
    /// Parses either metalayer.
    pub fn parse(bytes: &[u8]) -> Result<ArrayMetalayer> {
        let mut p = Parser { rest: bytes };
        let head = p.byte()?;
        let has_dtype = match head.wrapping_sub(ARRAY) {
            UNTYPED => false,
            TYPED => true,
            _ => return Err(p.unexpected("an array of 5 or 7 entries", head)),
        };
        match p.byte()? {
            VERSION => {}
            n => return Err(fail!(Version, "unknown version (expected 0, found {n})")),
        }
        let ndim = p.byte()?;
        if usize::from(ndim) > MAX_NDIM {
            return Err(fail!(
                Format,
                "too many dimensions (limit {MAX_NDIM}, found {ndim})"
            ));
        }
        let shape = p.numbers(ndim, Parser::i64)?;
        let chunkshape = p.numbers(ndim, Parser::i32)?;
        let blockshape = p.numbers(ndim, Parser::i32)?;
        let dtype = if has_dtype { Some(p.dtype()?) } else { None };
        // A metalayer that became shorter is padded with zeros.
        if p.rest.iter().any(|b| *b != 0) {
            return Err(fail!(
                Format,
                "{} unexpected bytes after the last entry",
                p.rest.len()
            ));
        }
        let layer = ArrayMetalayer {
            shape,
            chunkshape,
            blockshape,
            dtype,
        };
        layer.check_lengths()?;
        Ok(layer)
    }

    fn check_lengths(&self) -> Result<()> {
        for (d, ((n, chunk), block)) in self.dimensions().enumerate() {
            let is_none = *n == 0 && *chunk == 0;
            if !is_none && (*chunk == 0 || *block == 0) {
                return Err(fail!(
                    Format,
                    "dimension {d}: invalid lengths: {n} items in chunks of {chunk} and blocks of {block}"
                ));
            }
        }
        Ok(())
    }

    fn dimensions(&self) -> impl Iterator<Item = ((&u64, &u64), &u64)> {
        self.shape
            .iter()
            .zip(&self.chunkshape)
            .zip(&self.blockshape)
    }

    /// Encodes the metalayer: `b2nd` if it has a dtype, otherwise `caterva`.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let ndim = self.shape.len() as u8;
        let entries = if self.dtype.is_some() { TYPED } else { UNTYPED };
        let mut out = vec![ARRAY + entries, VERSION, ndim, ARRAY + ndim];
        for n in &self.shape {
            out.push(I64);
            out.extend(i64::try_from(*n).map_err(|_| too_large(*n))?.to_be_bytes());
        }
        for lengths in [&self.chunkshape, &self.blockshape] {
            out.push(ARRAY + ndim);
            for n in lengths {
                out.push(I32);
                out.extend(i32::try_from(*n).map_err(|_| too_large(*n))?.to_be_bytes());
            }
        }
        if let Some(dtype) = &self.dtype {
            out.extend([NUMPY, TEXT]);
            out.extend(
                u32::try_from(dtype.len())
                    .map_err(|_| too_large(dtype.len() as u64))?
                    .to_be_bytes(),
            );
            out.extend(dtype.as_bytes());
        }
        Ok(out)
    }

    /// Returns the dtype of the items, if it matches the item size `item` of the frame. A missing
    /// or default dtype becomes opaque bytes.
    pub fn items(&self, item: usize) -> Result<Dtype> {
        let Some(text) = &self.dtype else {
            return void_dtype(item);
        };
        if text == DEFAULT_DTYPE && item != 1 {
            return void_dtype(item);
        }
        let dtype = Dtype::parse_argument(text)?;
        match dtype.item.size {
            n if n == item => Ok(dtype),
            n => Err(fail!(
                Format,
                "dtype {text:?}: item size differs from the frame (expected {item}, found {n})"
            )),
        }
    }
}

/// Returns the dtype of opaque items of this size.
pub fn void_dtype(item: usize) -> Result<Dtype> {
    Dtype::parse(&format!("|V{item}"))
}

/// Returns the spelling of a dtype in `b2nd`, which is that of `str(dtype)` in NumPy.
pub fn spelling(dtype: &Dtype) -> String {
    let constant = dtype.to_python_literal();
    let plain = constant
        .strip_prefix('\'')
        .and_then(|t| t.strip_suffix('\''));
    plain.map_or_else(|| constant.clone(), str::to_owned)
}

fn too_large(n: u64) -> Error {
    fail!(
        Argument,
        "{n} exceeds the range of the metadata of a Blosc2 frame"
    )
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn ends_before(&self, n: usize) -> Error {
        fail!(
            Format,
            "unexpected end (expected {n} more bytes, found {})",
            self.rest.len()
        )
    }

    fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let parts = self.rest.split_at_checked(n);
        let (bytes, rest) = parts.ok_or_else(|| self.ends_before(n))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let parts = self.rest.split_first_chunk();
        let (bytes, rest) = parts.ok_or_else(|| self.ends_before(N))?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        self.array().map(|[b]: [u8; 1]| b)
    }

    fn marker(&mut self, want: u8, what: &str) -> Result<()> {
        match self.byte()? {
            b if b == want => Ok(()),
            b => Err(self.unexpected(what, b)),
        }
    }

    fn unexpected(&self, what: &str, found: u8) -> Error {
        fail!(
            Format,
            "unexpected marker {} bytes before the end (expected {what}, found {found:#04x})",
            self.rest.len() + 1
        )
    }

    fn i64(&mut self) -> Result<i64> {
        self.marker(I64, "a number of 64 bits")?;
        self.array().map(i64::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i64> {
        self.marker(I32, "a number of 32 bits")?;
        self.array().map(|b| i32::from_be_bytes(b).into())
    }

    /// Parses a list with one number per dimension.
    fn numbers(&mut self, ndim: u8, number: fn(&mut Self) -> Result<i64>) -> Result<Vec<u64>> {
        self.marker(ARRAY + ndim, "a list with a number for each dimension")?;
        let length = |n: i64| u64::try_from(n).map_err(|_| fail!(Format, "invalid length {n}"));
        (0..ndim).map(|_| length(number(self)?)).collect()
    }

    fn dtype(&mut self) -> Result<String> {
        match self.byte()? {
            NUMPY => {}
            n => {
                return Err(fail!(
                    Unsupported,
                    "unsupported dtype format (expected 0 for NumPy, found {n})"
                ));
            }
        }
        self.marker(TEXT, "text")?;
        let n = u32::from_be_bytes(self.array()?);
        let text = std::str::from_utf8(self.bytes(n as usize)?);
        Ok(text
            .map_err(|_| fail!(Format, "the dtype is not valid UTF-8"))?
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn layer(shape: &[u64], chunks: &[u64], blocks: &[u64], dtype: Option<&str>) -> ArrayMetalayer {
        ArrayMetalayer {
            shape: shape.to_vec(),
            chunkshape: chunks.to_vec(),
            blockshape: blocks.to_vec(),
            dtype: dtype.map(str::to_owned),
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn encoded_bytes_match_those_of_other_writers() {
        // Written by python-blosc2 4.14.1 and caterva 0.7.3.
        for (text, want) in [
            (
                "97000090909000db000000033c6638",
                layer(&[], &[], &[], Some("<f8")),
            ),
            (
                "97000292d3000000000000003dd3000000000000002f92d200000014d20000001092d200000007d20000000500db000000033c6934",
                layer(&[61, 47], &[20, 16], &[7, 5], Some("<i4")),
            ),
            (
                "97000191d3000000000000000091d20000000091d20000000000db000000033c6934",
                layer(&[0], &[0], &[0], Some("<i4")),
            ),
            (
                "95000191d300000000000003e891d20000012c91d200000040",
                layer(&[1000], &[300], &[64], None),
            ),
        ] {
            assert_eq!(ArrayMetalayer::parse(&hex(text)).unwrap(), want);
            assert_eq!(want.encode().unwrap(), hex(text));
        }
        let most = layer(&[2; 16], &[2; 16], &[1; 16], Some("|u1"));
        let bytes = most.encode().unwrap();
        assert_eq!(
            (bytes[3], ArrayMetalayer::parse(&bytes).unwrap()),
            (0xa0, most)
        );
    }

    #[test]
    fn every_byte_is_checked() {
        let good = layer(&[61, 47], &[20, 16], &[7, 5], Some("<i4"));
        let bytes = good.encode().unwrap();
        for n in 0..bytes.len() {
            assert_eq!(
                ArrayMetalayer::parse(&bytes[..n]).unwrap_err().status,
                Status::Format,
                "{n}"
            );
        }
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut other = bytes.clone();
                other[at] = value;
                match ArrayMetalayer::parse(&other) {
                    Ok(l) => assert_eq!(l.encode().unwrap(), other, "{at} {value}"),
                    Err(e) => assert!(
                        matches!(
                            e.status,
                            Status::Format | Status::Version | Status::Unsupported
                        ),
                        "{at} {value}: {e}"
                    ),
                }
            }
        }
        let filled = [&bytes[..], &[0; 7]].concat();
        assert_eq!(ArrayMetalayer::parse(&filled).unwrap(), good);
        assert_eq!(
            ArrayMetalayer::parse(&[&bytes[..], &[0, 1]].concat())
                .unwrap_err()
                .status,
            Status::Format
        );
    }

    #[test]
    fn lengths_are_checked() {
        for (shape, chunk, block) in [(5, 0, 1), (5, 1, 0), (0, 3, 0), (5, 0, 0)] {
            let bytes = layer(&[shape], &[chunk], &[block], None).encode().unwrap();
            assert_eq!(
                ArrayMetalayer::parse(&bytes).unwrap_err().status,
                Status::Format,
                "{shape} {chunk} {block}"
            );
        }
        let dimensions = [
            vec![0x95, 0, 17, 0xa1],
            [0xd3, 0, 0, 0, 0, 0, 0, 0, 1].repeat(17),
        ]
        .concat();
        assert_eq!(
            ArrayMetalayer::parse(&dimensions).unwrap_err().status,
            Status::Format
        );
        let negative = hex("95000191d3ffffffffffffffff91d20000012c91d200000040");
        assert_eq!(
            ArrayMetalayer::parse(&negative).unwrap_err().status,
            Status::Format
        );
        assert_eq!(
            ArrayMetalayer::parse(&hex("9501")).unwrap_err().status,
            Status::Version
        );
        assert_eq!(
            ArrayMetalayer::parse(&hex("97000090909003db000000033c6638"))
                .unwrap_err()
                .status,
            Status::Unsupported
        );
    }

    #[test]
    fn item_types_match_the_item_size_of_the_frame() {
        let of =
            |dtype: Option<&str>, item| layer(&[], &[], &[], dtype).items(item).map(|d| d.spelling);
        assert_eq!(of(None, 12).unwrap(), "|V12");
        assert_eq!(of(Some("|u1"), 1).unwrap(), "|u1");
        assert_eq!(of(Some("|u1"), 4).unwrap(), "|V4");
        assert_eq!(of(Some(">M8[ns]"), 8).unwrap(), ">M8[ns]");
        assert_eq!(of(Some("[('', '|V16')]"), 16).unwrap(), "[('', '|V16')]");
        assert_eq!(of(Some("('<f4', (2, 3))"), 24).unwrap(), "('<f4', (2, 3))");
        assert_eq!(of(Some("<f8"), 4).unwrap_err().status, Status::Format);
        assert_eq!(of(Some("bfloat16"), 2).unwrap_err().status, Status::Type);
    }

    #[test]
    fn types_are_spelled_as_in_numpy() {
        for (text, want) in [
            ("float64", "<f8"),
            ("'>u2'", ">u2"),
            ("int8", "|i1"),
            ("[('a', 'i4')]", "[('a', '<i4')]"),
            ("S7", "|S7"),
        ] {
            assert_eq!(spelling(&Dtype::parse(text).unwrap()), want);
        }
    }
}
