//! The types of items, parsed from the spellings of NumPy: a name (`<f8`, `float64`, `<M8[25s]`), a
//! list of fields (`[('a', '<i4', (2,)), ...]`), or a pair of a type and a shape.

/// Nested types that are deeper than this are not understood.
const DEPTH: usize = 32;
/// The most dimensions of a shape.
const DIMENSIONS: usize = 16;

/// What the bytes of an item mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Complex,
    /// Bytes, padded with zeros: `S`.
    Bytes,
    /// Characters of 4 bytes, padded with zeros: `U`.
    Text,
    /// A count of `many` units since 1970, or (`difference`) a difference. The unit is empty if it
    /// is unknown.
    Time {
        difference: bool,
        unit: String,
        many: i64,
    },
    Void,
    /// Pickled Python objects.
    Object,
    Fields(Vec<Field>),
    Items {
        of: Box<Type>,
        count: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub kind: Kind,
    pub big_endian: bool,
    /// Bytes of an item.
    pub size: usize,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    /// The type as it was spelled, without quotes; with a shape, a pair.
    pub dtype: String,
    pub offset: usize,
    pub of: Type,
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        self.name == other.name && self.offset == other.offset && self.of == other.of
    }
}

impl Type {
    /// Parses a type; `None` if it is not known here.
    pub fn read(dtype: &str) -> Option<Type> {
        if !dtype.starts_with('[') && !dtype.contains(['(', '\'', '"', '{']) {
            return name(dtype);
        }
        let mut cursor = Cursor::new(dtype);
        let found = cursor.any_type()?;
        cursor.rest().is_empty().then_some(found)
    }

    /// Parses a type as the library reports it. Items of a type that is not known here are bytes
    /// without a meaning.
    pub fn parse(dtype: &str, item_size: usize) -> Type {
        let fits = |found: &Type| found.size == item_size || found.kind == Kind::Object;
        Type::read(dtype).filter(fits).unwrap_or(Type::new(Kind::Void, item_size))
    }

    pub fn new(kind: Kind, size: usize) -> Type {
        Type { kind, big_endian: false, size }
    }

    /// Returns the type of items of this type in a shape; `None` if its size exceeds the address
    /// space.
    pub fn nest(self, shape: &[u64]) -> Option<Type> {
        shape.iter().rev().try_fold(self, |of, count| {
            let count = usize::try_from(*count).ok()?;
            let size = of.size.checked_mul(count).filter(|size| isize::try_from(*size).is_ok())?;
            let of = Box::new(of);
            Some(Type::new(Kind::Items { of, count }, size))
        })
    }

    /// Returns whether it contains Python objects.
    pub fn has_objects(&self) -> bool {
        match &self.kind {
            Kind::Object => true,
            Kind::Items { of, .. } => of.has_objects(),
            Kind::Fields(fields) => fields.iter().any(|field| field.of.has_objects()),
            _ => false,
        }
    }
}

/// Splits a pair of a type and a shape, `('<f8', (3,))`, into the spelling of the type and the
/// shape, which is empty for any other type. `None`: the type is not known here.
pub fn split(dtype: &str) -> Option<(String, Vec<u64>)> {
    let mut cursor = Cursor::new(dtype);
    if !cursor.next_is(b'(') {
        return Type::read(dtype).map(|_| (spelling(dtype.trim(), false), Vec::new()));
    }
    cursor.skip_space();
    let from = cursor.at;
    cursor.any_type()?;
    let item = spelling(dtype.get(from..cursor.at)?, false);
    let shape = cursor
        .next_is(b',')
        .then(|| cursor.shape())
        .flatten()
        .filter(|_| cursor.next_is(b')') && cursor.rest().is_empty())?;
    Some((item, shape))
}

/// Returns the spelling of a type without quotes around a name; with a shape, a pair.
fn spelling(text: &str, pair: bool) -> String {
    let quoted = text.len() > 1 && text.starts_with(['\'', '"']);
    match (pair, quoted) {
        (true, _) => format!("({text})"),
        (false, true) => text[1..text.len() - 1].to_owned(),
        (false, false) => text.to_owned(),
    }
}

// ---- names ----

const NAMES: &[(&str, &str)] = &[
    ("bool", "b1"),
    ("?", "b1"),
    ("int8", "i1"),
    ("int16", "i2"),
    ("int32", "i4"),
    ("int64", "i8"),
    ("uint8", "u1"),
    ("uint16", "u2"),
    ("uint32", "u4"),
    ("uint64", "u8"),
    ("float16", "f2"),
    ("float32", "f4"),
    ("float64", "f8"),
    ("float128", "f16"),
    ("float80", "f16"),
    ("complex64", "c8"),
    ("complex128", "c16"),
    ("object", "O"),
    ("datetime64", "M8"),
    ("timedelta64", "m8"),
    ("int", "i8"),
    ("float", "f8"),
    ("complex", "c16"),
];

fn name(text: &str) -> Option<Type> {
    let (word, unit) = text.split_at(text.find('[').unwrap_or(text.len()));
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == word) {
        let is_time = code.starts_with(['M', 'm']);
        return (is_time || unit.is_empty()).then(|| code_of(&format!("{code}{unit}"))).flatten();
    }
    let mut found = code_of(text.strip_prefix(['<', '>', '=', '|']).unwrap_or(text))?;
    let has_order = !matches!(found.kind, Kind::Bytes | Kind::Void | Kind::Object);
    found.big_endian = text.starts_with('>') && found.size > 1 && has_order;
    Some(found)
}

/// A letter, a number, and of times a unit.
fn code_of(code: &str) -> Option<Type> {
    let letter = code.chars().next()?;
    let number = code.get(letter.len_utf8()..)?;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let n = match digits {
        "" => 0,
        digits => digits.parse::<usize>().ok().filter(|n| *n < 1 << 30)?,
    };
    let (kind, sizes): (Kind, &[usize]) = match letter {
        'M' | 'm' => {
            let (many, unit) = unit_of(unit)?;
            let difference = letter == 'm';
            let kind = Kind::Time { difference, unit, many };
            return matches!(n, 0 | 8).then(|| Type::new(kind, 8));
        }
        'b' => (Kind::Bool, &[1]),
        'i' => (Kind::Int, &[1, 2, 4, 8]),
        'u' => (Kind::Uint, &[1, 2, 4, 8]),
        'f' => (Kind::Float, &[2, 4, 8, 12, 16]),
        'c' => (Kind::Complex, &[8, 16, 24, 32]),
        'S' | 'a' => (Kind::Bytes, &[]),
        'U' => (Kind::Text, &[]),
        'V' => (Kind::Void, &[]),
        'O' => (Kind::Object, &[]),
        _ => return None,
    };
    let size = match kind {
        Kind::Text => 4 * n,
        Kind::Object => 8,
        _ => n,
    };
    (unit.is_empty() && (sizes.is_empty() || sizes.contains(&n))).then(|| Type::new(kind, size))
}

/// The number and the unit in the brackets of a time: `[25s]`.
fn unit_of(text: &str) -> Option<(i64, String)> {
    if text.is_empty() {
        return Some((1, String::new()));
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let unit = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &inner[..inner.len() - unit.len()];
    let many = match digits {
        "" => 1,
        digits => digits.parse::<i64>().ok().filter(|many| *many < 10_000_000_000)?.max(1),
    };
    let unit = if unit == "generic" { "" } else { unit };
    (unit.len() < 8).then(|| (many, unit.to_owned()))
}

// ---- constants of Python ----

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text: text.as_bytes(), at: 0, depth: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n')) {
            self.at += 1;
        }
    }

    fn next_is(&mut self, expected: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, expected: u8) -> Option<()> {
        self.next_is(expected).then_some(())
    }

    /// The text of a span that began and ended at ASCII characters.
    fn since(&self, from: usize) -> Option<&'a str> {
        std::str::from_utf8(self.text.get(from..self.at)?).ok()
    }

    fn digits(&mut self) -> Option<u64> {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.since(from)?.parse().ok()
    }

    /// The character after a backslash.
    fn escaped(&mut self) -> Option<char> {
        let kind = self.peek()?;
        self.at += 1;
        let digits = match kind {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            b'n' => return Some('\n'),
            b't' => return Some('\t'),
            b'r' => return Some('\r'),
            kind => return Some(kind as char).filter(char::is_ascii),
        };
        let from = self.at;
        self.at += digits;
        let code = u32::from_str_radix(self.since(from)?, 16).ok()?;
        Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn string(&mut self) -> Option<String> {
        self.skip_space();
        if let Some([b'u' | b'b', b'\'' | b'"']) = self.rest().get(..2) {
            self.at += 1;
        }
        let quote = self.peek().filter(|c| matches!(c, b'\'' | b'"'))?;
        self.at += 1;
        let mut string = String::new();
        loop {
            let from = self.at;
            while self.peek()? != quote && self.peek()? != b'\\' {
                self.at += 1;
            }
            string.push_str(self.since(from)?);
            self.at += 1;
            if self.text.get(self.at - 1) == Some(&quote) {
                return Some(string);
            }
            string.push(self.escaped()?);
        }
    }

    /// `3`, `(3,)` or `(2, 3)`.
    fn shape(&mut self) -> Option<Vec<u64>> {
        let is_tuple = self.next_is(b'(');
        let mut shape = Vec::new();
        while !(is_tuple && self.next_is(b')')) {
            self.skip_space();
            shape.push(self.digits()?);
            // Python 2
            self.at += usize::from(self.peek() == Some(b'L'));
            if !is_tuple {
                break;
            }
            if !self.next_is(b',') {
                self.expect(b')')?;
                break;
            }
        }
        (shape.len() <= DIMENSIONS).then_some(shape)
    }

    /// A name, or a pair of a title and a name.
    fn field_name(&mut self) -> Option<String> {
        if !self.next_is(b'(') {
            return self.string();
        }
        self.string()?;
        self.expect(b',')?;
        let name = self.string()?;
        self.expect(b')')?;
        Some(name)
    }

    fn field(&mut self, offset: usize) -> Option<Field> {
        self.expect(b'(')?;
        let name = self.field_name()?;
        self.expect(b',')?;
        self.skip_space();
        let from = self.at;
        let of = self.any_type()?;
        let mut dtype = self.since(from)?;
        let mut shape = Vec::new();
        if self.next_is(b',') && !self.rest().starts_with(b")") {
            shape = self.shape()?;
            dtype = self.since(from)?;
        }
        self.expect(b')')?;
        Some(Field {
            name,
            dtype: spelling(dtype, !shape.is_empty()),
            offset,
            of: of.nest(&shape)?,
        })
    }

    fn fields(&mut self) -> Option<Type> {
        let (mut fields, mut size) = (Vec::new(), 0usize);
        while !self.next_is(b']') {
            let field = self.field(size)?;
            size = size.checked_add(field.of.size)?;
            fields.push(field);
            if !self.next_is(b',') {
                self.expect(b']')?;
                break;
            }
        }
        Some(Type::new(Kind::Fields(fields), size))
    }

    fn pair(&mut self) -> Option<Type> {
        let of = self.any_type()?;
        self.expect(b',')?;
        let shape = self.shape()?;
        self.expect(b')')?;
        of.nest(&shape)
    }

    fn any_type(&mut self) -> Option<Type> {
        if self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        let found = if self.next_is(b'[') {
            self.fields()
        } else if self.next_is(b'(') {
            self.pair()
        } else {
            name(&self.string()?)
        };
        self.depth -= 1;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_parsed() {
        let of = |text: &str| Type::read(text);
        assert_eq!(of(">i4").map(|t| (t.big_endian, t.size)), Some((true, 4)));
        assert_eq!(of("float64"), of("<f8"));
        assert_eq!(of("<M8[25s]"), of("datetime64[25s]"));
        assert_eq!(of("U3").map(|t| t.size), Some(12));
        let record = of("[('a', '<i4', (2,)), (('t', 'b\\x41'), [('c', '|S3')])]");
        let Some(Kind::Fields(fields)) = record.map(|t| t.kind) else { panic!("it has fields") };
        assert_eq!(fields[0].dtype, "('<i4', (2,))");
        assert_eq!((fields[1].name.as_str(), fields[1].offset), ("bA", 8));
        assert_eq!(split("('<f8', (3,))"), Some(("<f8".to_owned(), vec![3])));
        assert_eq!(split("<f8"), Some(("<f8".to_owned(), vec![])));
        for wrong in ["i3", "", "é", "[('a', 'i4'", "('i4', (2,)) ", "M8[s", "f8[s]"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(Type::parse("i3", 3), Type::new(Kind::Void, 3));
    }
}
