//! Reads FlatBuffers: tables, whose fields have numbers and may be absent, and vectors. Every read is
//! `None` if it is outside of the bytes.
#![forbid(unsafe_code)]

/// A table at a position of the bytes.
#[derive(Clone, Copy)]
pub struct FlatTable<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The position of the list of its fields, and its length.
    fields: (usize, usize),
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes_at(bytes, at).map(|b| u16::from_le_bytes(b).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes_at(bytes, at).and_then(|b| u32::from_le_bytes(b).try_into().ok())
}

impl<'a> FlatTable<'a> {
    /// Returns the outermost table.
    pub fn root(bytes: &'a [u8]) -> Option<FlatTable<'a>> {
        FlatTable::new(bytes, u32_at(bytes, 0)?)
    }

    fn new(bytes: &'a [u8], at: usize) -> Option<FlatTable<'a>> {
        let back = i32::from_le_bytes(bytes_at(bytes, at)?);
        let list = usize::try_from(i64::try_from(at).ok()? - i64::from(back)).ok()?;
        let fields = (list, u16_at(bytes, list)?);
        Some(FlatTable { bytes, at, fields })
    }

    /// Returns the position of a field. `Some(None)` if it is absent, which means its default.
    fn field(&self, number: usize) -> Option<Option<usize>> {
        let (list, len) = self.fields;
        let entry = 4 + 2 * number;
        if entry + 2 > len {
            return Some(None);
        }
        let offset = u16_at(self.bytes, list.checked_add(entry)?)?;
        match offset {
            0 => Some(None),
            offset => self.at.checked_add(offset).map(Some),
        }
    }

    fn scalar<const N: usize>(&self, number: usize) -> Option<[u8; N]> {
        match self.field(number)? {
            None => Some([0; N]),
            Some(at) => bytes_at(self.bytes, at),
        }
    }

    /// Returns a byte or Boolean, 0 if it is absent.
    pub fn u8(&self, number: usize) -> Option<u8> {
        self.scalar(number).map(u8::from_le_bytes)
    }

    /// Returns an integer of 16 bits, 0 if it is absent.
    pub fn i16(&self, number: usize) -> Option<i16> {
        self.scalar(number).map(i16::from_le_bytes)
    }

    /// Returns an integer of 32 bits, 0 if it is absent.
    pub fn i32(&self, number: usize) -> Option<i32> {
        self.scalar(number).map(i32::from_le_bytes)
    }

    /// Returns an integer of 64 bits, 0 if it is absent.
    pub fn i64(&self, number: usize) -> Option<i64> {
        self.scalar(number).map(i64::from_le_bytes)
    }

    /// Returns whether a field is present.
    pub fn has(&self, number: usize) -> Option<bool> {
        self.field(number).map(|at| at.is_some())
    }

    /// Returns the position that a field refers to.
    fn target(&self, number: usize) -> Option<usize> {
        let at = self.field(number)??;
        at.checked_add(u32_at(self.bytes, at)?)
    }

    /// Returns a table.
    pub fn table(&self, number: usize) -> Option<FlatTable<'a>> {
        FlatTable::new(self.bytes, self.target(number)?)
    }

    /// Returns the bytes of a vector of items of some bytes, or of a text; empty if it is absent.
    pub fn vector(&self, number: usize, item: usize) -> Option<&'a [u8]> {
        if self.field(number)?.is_none() {
            return Some(&[]);
        }
        let at = self.target(number)?;
        let n = u32_at(self.bytes, at)?.checked_mul(item)?;
        let first = at.checked_add(4)?;
        self.bytes.get(first..first.checked_add(n)?)
    }

    /// Returns the number of tables in a vector.
    pub fn table_count(&self, number: usize) -> Option<usize> {
        self.vector(number, 4).map(|tables| tables.len() / 4)
    }

    /// Returns table `i` of a vector.
    pub fn table_in(&self, number: usize, i: usize) -> Option<FlatTable<'a>> {
        if i >= self.table_count(number)? {
            return None;
        }
        let at = self.target(number)?.checked_add(4 + 4 * i)?;
        FlatTable::new(self.bytes, at.checked_add(u32_at(self.bytes, at)?)?)
    }
}
