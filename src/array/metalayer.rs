//! The metalayers that make a Blosc2 frame an array: `b2nd` and its older form `caterva`.
//!
//! Both are MessagePack: a version, the dimensions, the shape, and the shapes of a chunk and of a
//! block; `b2nd` has the type of the items besides. Their readers skip the markers of MessagePack
//! by their length alone, so every writer uses the same ones, and these are the ones that are taken
//! here. With 16 dimensions they write a marker that MessagePack does not have (0x90 + 16), and
//! read nothing else.
#![forbid(unsafe_code)]

use super::dtype::Dtype;
use super::selection::MAX_NDIM;
use crate::error::{Error, Result, fail};

/// The name of the newer one.
pub const B2ND: &str = "b2nd";
/// The name of the older one.
pub const CATERVA: &str = "caterva";

/// The version of both.
const VERSION: u8 = 0;
/// An array of so many entries, or more.
const ARRAY: u8 = 0x90;
const I64: u8 = 0xd3;
const I32: u8 = 0xd2;
/// Text behind a length of 32 bits.
const TEXT: u8 = 0xdb;
/// Entries without a type.
const UNTYPED: u8 = 5;
/// Entries with one.
const TYPED: u8 = 7;
/// How the type is spelled: as NumPy does it.
const NUMPY: u8 = 0;
/// The type that c-blosc2 puts down where nobody has told it one.
const UNTOLD: &str = "|u1";

/// What a metalayer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Items along each dimension.
    pub shape: Vec<u64>,
    /// Those of a chunk; 0 only where there are none at all.
    pub chunkshape: Vec<u64>,
    /// Those of a block.
    pub blockshape: Vec<u64>,
    /// The type of the items, as it is spelled; `caterva` knows none.
    pub dtype: Option<String>,
}

impl Layer {
    /// Reads one of either kind.
    pub fn parse(bytes: &[u8]) -> Result<Layer> {
        let mut p = Parser { rest: bytes };
        let head = p.byte()?;
        let has_dtype = match head.wrapping_sub(ARRAY) {
            UNTYPED => false,
            TYPED => true,
            _ => return Err(p.unexpected("an array of 5 or 7 entries", head)),
        };
        match p.byte()? {
            VERSION => {}
            n => return Err(fail!(Version, "version {n}: 0 is known")),
        }
        let ndim = p.byte()?;
        if usize::from(ndim) > MAX_NDIM {
            return Err(fail!(
                Format,
                "{ndim} dimensions: at most {MAX_NDIM} were expected"
            ));
        }
        let shape = p.numbers(ndim, Parser::i64)?;
        let chunkshape = p.numbers(ndim, Parser::i32)?;
        let blockshape = p.numbers(ndim, Parser::i32)?;
        let dtype = if has_dtype { Some(p.dtype()?) } else { None };
        // one that became shorter than it was is filled up
        if p.rest.iter().any(|b| *b != 0) {
            return Err(fail!(
                Format,
                "{} bytes behind the last entry",
                p.rest.len()
            ));
        }
        let layer = Layer {
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
                    "dimension {d}: {n} items in chunks of {chunk} and blocks of {block}"
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

    /// Its bytes: those of `b2nd` where there is a type, else those of `caterva`.
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

    /// The items that it says it has, each of which has `item` bytes in the frame.
    pub fn items(&self, item: usize) -> Result<Dtype> {
        let Some(text) = &self.dtype else {
            return void(item);
        };
        if text == UNTOLD && item != 1 {
            return void(item);
        }
        let dtype = Dtype::wanted(text)?;
        match dtype.item.size {
            n if n == item => Ok(dtype),
            n => Err(fail!(
                Format,
                "dtype {text:?} has items of {n} bytes, and the frame has items of {item}"
            )),
        }
    }
}

/// Bytes of which nothing is known but their number.
pub fn void(item: usize) -> Result<Dtype> {
    Dtype::parse(&format!("|V{item}"))
}

/// A type as it is spelled in `b2nd`: as `str` has it in NumPy.
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
        "{n}: more than the metadata of a Blosc2 frame can tell"
    )
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(n).ok_or_else(|| {
            fail!(
                Format,
                "{n} bytes more were expected, {} are there",
                self.rest.len()
            )
        })?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.bytes(N)?.first_chunk().copied().unwrap_or([0; N]))
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
            "{what} was expected, the marker {found:#04x} is there, {} bytes before the end",
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

    /// One number for each dimension.
    fn numbers(&mut self, ndim: u8, number: fn(&mut Self) -> Result<i64>) -> Result<Vec<u64>> {
        self.marker(ARRAY + ndim, "a list with a number for each dimension")?;
        let length = |n: i64| u64::try_from(n).map_err(|_| fail!(Format, "a length of {n}"));
        (0..ndim).map(|_| length(number(self)?)).collect()
    }

    fn dtype(&mut self) -> Result<String> {
        match self.byte()? {
            NUMPY => {}
            n => {
                return Err(fail!(
                    Unsupported,
                    "a dtype in the format {n}: NumPy's, 0, is known"
                ));
            }
        }
        self.marker(TEXT, "text")?;
        let n = u32::from_be_bytes(self.array()?);
        let text = std::str::from_utf8(self.bytes(n as usize)?);
        Ok(text
            .map_err(|_| fail!(Format, "a dtype that is no UTF-8"))?
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn layer(shape: &[u64], chunks: &[u64], blocks: &[u64], dtype: Option<&str>) -> Layer {
        Layer {
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
    fn the_bytes_are_those_of_the_tools() {
        // python-blosc2 4.14.1, caterva 0.7.3
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
            assert_eq!(Layer::parse(&hex(text)).unwrap(), want);
            assert_eq!(want.encode().unwrap(), hex(text));
        }
        let most = layer(&[2; 16], &[2; 16], &[1; 16], Some("|u1"));
        let bytes = most.encode().unwrap();
        assert_eq!((bytes[3], Layer::parse(&bytes).unwrap()), (0xa0, most));
    }

    #[test]
    fn every_byte_is_looked_at() {
        let good = layer(&[61, 47], &[20, 16], &[7, 5], Some("<i4"));
        let bytes = good.encode().unwrap();
        for n in 0..bytes.len() {
            assert_eq!(
                Layer::parse(&bytes[..n]).unwrap_err().status,
                Status::Format,
                "{n}"
            );
        }
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut other = bytes.clone();
                other[at] = value;
                match Layer::parse(&other) {
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
        assert_eq!(Layer::parse(&filled).unwrap(), good);
        assert_eq!(
            Layer::parse(&[&bytes[..], &[0, 1]].concat())
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
                Layer::parse(&bytes).unwrap_err().status,
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
            Layer::parse(&dimensions).unwrap_err().status,
            Status::Format
        );
        let negative = hex("95000191d3ffffffffffffffff91d20000012c91d200000040");
        assert_eq!(Layer::parse(&negative).unwrap_err().status, Status::Format);
        assert_eq!(
            Layer::parse(&hex("9501")).unwrap_err().status,
            Status::Version
        );
        assert_eq!(
            Layer::parse(&hex("97000090909003db000000033c6638"))
                .unwrap_err()
                .status,
            Status::Unsupported
        );
    }

    #[test]
    fn items_are_those_of_the_frame() {
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
