//! Files of NumPy (.npy), and files of items without a header.
//!
//! A header is a magic number, a version, a length, and a Python dictionary that is filled up with
//! spaces, so that the items begin at a multiple of 64 bytes.

use crate::cli::groups::FileInput;
use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::{Failure, Result};
use crate::files::Input;
use crate::superchunk::packing::row_bytes;
use holdall::{Array, ItemType};
use std::io::Read;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The items begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// NumPy leaves room for so many digits of the dimension that grows.
const GROWTH: usize = 21;
/// The longest header that is read: types with many fields have long ones.
const HEADER_MOST: usize = 16 << 20;
const DIMENSIONS_MOST: usize = 16;

/// What the items of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Npy {
    /// The type as a Python constant: a string in its quotes, or a list.
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

/// Returns a type as a Python constant: the spelling of NumPy stands in quotes.
pub fn constant(dtype: &str) -> String {
    if dtype.starts_with(['[', '(', '{', '\'', '"']) {
        dtype.to_owned()
    } else {
        format!("'{dtype}'")
    }
}

fn refused(input: &Input, why: &str) -> Failure {
    failure!("{}: no file of NumPy: {why} (--raw packs its bytes)", input.name)
}

impl Npy {
    /// Reads the header of a .npy file, or takes what the options say of a file without one. The
    /// items come next.
    pub fn begin(input: &mut Input, from: DataFormat, options: &FileInput) -> Result<Npy> {
        match (from, &options.dtype) {
            (DataFormat::Raw, Some(dtype)) => Npy::without_header(input, dtype, options),
            _ => Npy::read(input),
        }
    }

    fn without_header(input: &mut Input, dtype: &str, options: &FileInput) -> Result<Npy> {
        let (skipped, name) = (options.skip.unwrap_or(0), &input.name);
        let mut npy = Npy {
            descr: constant(dtype),
            fortran_order: options.order == Some(holdall::Order::Fortran),
            shape: Vec::new(),
        };
        match &options.shape {
            Some(shape) if shape.0.len() > DIMENSIONS_MOST => {
                return Err(failure!("{name}: --shape: at most {DIMENSIONS_MOST} dimensions"));
            }
            Some(shape) => npy.shape.clone_from(&shape.0),
            None => {
                let (size, _) = npy.measure(input)?;
                let total = input.total.filter(|total| *total > 0).ok_or_else(|| {
                    failure!("{name}: its length is known only at its end: give --shape")
                })?;
                let n = total.saturating_sub(skipped);
                let items = n.checked_div(size).filter(|_| n.is_multiple_of(size));
                npy.shape = vec![items.ok_or_else(|| {
                    failure!("{name}: {n} bytes are no whole number of items of {size}")
                })?];
            }
        }
        let passed = std::io::copy(&mut input.by_ref().take(skipped), &mut std::io::sink());
        let passed = passed.map_err(|error| input.failure(error))?;
        if passed < skipped {
            let name = &input.name;
            return Err(failure!("{name}: it has {passed} bytes, --skip leaves out {skipped}"));
        }
        Ok(npy)
    }

    /// Returns the bytes of an item, and of all items.
    pub fn measure(&self, input: &Input) -> Result<(u64, u64)> {
        let name = &input.name;
        let item = ItemType::parse(&self.descr).ok().filter(|item| !item.has_objects());
        let item = item.ok_or_else(|| failure!("{name}: items of {} are not read", self.descr))?;
        let size = item.size as u64;
        let bytes = self.shape.iter().try_fold(size, |bytes, n| bytes.checked_mul(*n));
        let bytes = bytes.ok_or_else(|| failure!("{name}: it cannot have so many bytes"))?;
        Ok((size, bytes))
    }

    /// The type as the library takes it: a string without its quotes.
    pub fn dtype(&self) -> &str {
        let quoted = |quote| self.descr.strip_prefix(quote)?.strip_suffix(quote);
        quoted('\'').or(quoted('"')).unwrap_or(&self.descr)
    }

    // ---- the header

    /// Reads a header.
    pub fn read(input: &mut Input) -> Result<Npy> {
        let text = read_header(input)?;
        let refuse = |why| refused(input, why);
        let [descr, order, shape] = values(&text)
            .filter(|[descr, ..]| !descr.is_empty())
            .ok_or_else(|| refuse("its header is no dictionary of one"))?;
        let fortran_order = match order {
            "True" => true,
            "False" => false,
            _ => return Err(refuse("fortran_order is neither True nor False")),
        };
        Ok(Npy {
            descr: descr.to_owned(),
            fortran_order,
            shape: parse_shape(shape)
                .ok_or_else(|| refuse("its shape is no tuple of at most 16 numbers"))?,
        })
    }

    /// The header as NumPy writes it.
    pub fn header(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let grows = if self.fortran_order { self.shape.last() } else { self.shape.first() };
        let room = grows.map_or(0, |n| GROWTH.saturating_sub(n.to_string().len()));
        let text = format!(
            "{{'descr': {}, 'fortran_order': {order}, 'shape': {}, }}{:room$}",
            self.descr,
            tuple(&self.shape),
            ""
        );
        let n = text.len() + 1;
        // version 1 has 2 bytes for the length and version 2 has 4; version 3 is for UTF-8
        let version = match n + ALIGNMENT > usize::from(u16::MAX) {
            _ if !text.is_ascii() => 3,
            true => 2,
            false => 1,
        };
        let lead = if version == 1 { 10 } else { 12 };
        let spaces = (lead + n).next_multiple_of(ALIGNMENT) - (lead + n);
        let mut header = [MAGIC, &[version, 0]].concat();
        header.extend_from_slice(&(n + spaces).to_le_bytes()[..lead - 8]);
        header.extend_from_slice(text.as_bytes());
        header.resize(header.len() + spaces, b' ');
        header.push(b'\n');
        header
    }

    // ---- rows of an array

    /// Refuses items that are no rows of an array, in its order. Returns their bytes.
    pub fn fits(&self, input: &Input, array: &Array) -> Result<u64> {
        let (name, dtype, shape) = (&input.name, array.dtype(), array.shape());
        let is_same =
            ItemType::parse(&self.descr).is_ok_and(|item| Ok(item) == ItemType::parse(&dtype));
        if !is_same {
            return Err(failure!(
                "{name}: its items are of {}, those of the array are of {dtype} (--raw takes its bytes)",
                self.descr
            ));
        }
        if self.shape.len() != shape.len() || self.shape.iter().skip(1).ne(shape.iter().skip(1)) {
            return Err(failure!(
                "{name}: its shape is {}, that of the array is {}: only the first dimension may be another one",
                tuple(&self.shape),
                tuple(shape)
            ));
        }
        if self.fortran_order && shape.len() > 1 {
            return Err(failure!(
                "{name}: its items are in Fortran order, rows of the array are not (pack it, and append what cat gives of that)"
            ));
        }
        let rows = self.shape.first().copied().unwrap_or(1);
        let bytes = row_bytes(array).checked_mul(rows);
        bytes.ok_or_else(|| refused(input, "it cannot have so many bytes"))
    }

    // ---- an array in a Bloscpack file

    /// The metadata that make a superchunk an array.
    pub fn metadata(&self) -> String {
        serde_json::json!({
            "dtype": self.descr,
            "shape": self.shape,
            "order": if self.fortran_order { "F" } else { "C" },
            "container": "numpy",
        })
        .to_string()
    }
}

/// A shape as a tuple of Python.
pub fn tuple(shape: &[u64]) -> String {
    match shape {
        [n] => format!("({n},)"),
        shape => {
            let numbers: Vec<String> = shape.iter().map(u64::to_string).collect();
            format!("({})", numbers.join(", "))
        }
    }
}

/// Reads the text of a header.
fn read_header(input: &mut Input) -> Result<String> {
    let mut lead = [0; 12];
    let got = input.fill(&mut lead[..10])?;
    if got < 10 || !lead.starts_with(MAGIC) {
        return Err(refused(input, "it does not begin as one"));
    }
    let version = lead[6];
    if !(1..=3).contains(&version) {
        return Err(refused(input, "its version is none of 1, 2 and 3"));
    }
    let end = if version == 1 { 10 } else { 12 };
    let more = input.fill(&mut lead[10..end])?;
    let size = lead[8..end].iter().rev().fold(0, |n, c| n << 8 | usize::from(*c));
    if size > HEADER_MOST {
        return Err(refused(input, "its header is too long"));
    }
    let mut bytes = vec![0; size];
    let got = input.fill(&mut bytes)?;
    if more < end - 10 || got < size || bytes.contains(&0) {
        return Err(refused(input, "it ends within its header"));
    }
    // text of versions 1 and 2 is Latin-1
    if version < 3 {
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    String::from_utf8(bytes).map_err(|_| refused(input, "its header is not UTF-8"))
}

/// Returns the offset of the first of `stops` outside of strings and brackets.
fn end_of(text: &str, stops: &[char]) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(_) if c == '\\' => drop(chars.next()),
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if depth == 0 && stops.contains(&c) => return Some(at),
            None => match c {
                '\'' | '"' => quote = Some(c),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            },
        }
    }
    None
}

/// Returns descr, fortran_order and shape of a dictionary; empty ones if they are absent.
fn values(text: &str) -> Option<[&str; 3]> {
    let mut found = [""; 3];
    let mut rest = text.trim_start().strip_prefix('{')?;
    loop {
        let colon = end_of(rest, &[':', '}'])?;
        let (key, value) = (rest[..colon].trim(), &rest[colon + 1..]);
        if rest[colon..].starts_with('}') {
            return key.is_empty().then_some(found);
        }
        let end = end_of(value, &[',', '}'])?;
        let names = ["descr", "fortran_order", "shape"];
        let is = |name: &&str| key == format!("'{name}'") || key == format!("\"{name}\"");
        if let Some(i) = names.iter().position(is) {
            found[i] = value[..end].trim();
        }
        if value[end..].starts_with('}') {
            return Some(found);
        }
        rest = &value[end + 1..];
    }
}

/// Parses a tuple of numbers; Python 2 appended an L to some.
fn parse_shape(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let number = |text: &str| {
        let text = text.trim();
        let digits = text.strip_suffix('L').unwrap_or(text);
        let is_number = digits.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    };
    let shape: Option<Vec<u64>> = inside.split(',').map(number).collect();
    shape.filter(|shape| shape.len() <= DIMENSIONS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_among_strings_and_brackets() {
        let text = "{'descr': [('a,}', '<i4', (2,)), (\"b':\", '|O')], \"shape\" : (3L, 4 ), 'fortran_order':True}";
        let [descr, order, shape] = values(text).unwrap();
        assert_eq!(descr, "[('a,}', '<i4', (2,)), (\"b':\", '|O')]");
        assert_eq!((order, parse_shape(shape)), ("True", Some(vec![3, 4])));
        assert_eq!(values("{}"), Some(["", "", ""]));
        for wrong in ["", "[]", "{'a'}", "{'a': (}", "{'a': 'b"] {
            assert_eq!(values(wrong), None, "{wrong}");
        }
        for wrong in ["4", "(-4,)", "(1,,2)", "(99999999999999999999,)"] {
            assert_eq!(parse_shape(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn headers_are_those_of_numpy() {
        let npy = |shape: &[u64]| Npy {
            descr: constant("<f8"),
            fortran_order: false,
            shape: shape.to_vec(),
        };
        let header = npy(&[3]).header();
        assert_eq!(header.len(), 128);
        assert!(header.starts_with(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }  "
        ));
        assert_eq!(npy(&[]).header().len(), 128);
        // the version that NumPy picks for names that are not ASCII
        let descr = "[('\u{20ac}', '<i4')]".to_owned();
        assert_eq!(Npy { descr, ..npy(&[1]) }.header()[6], 3);
    }
}
