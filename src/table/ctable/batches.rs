//! Texts, bytes or other values of a CTable in a `BatchArray`: a frame of which each chunk is a
//! batch, one or more MessagePack arrays of them and of nulls, one per block, or streams in Arrow's
//! format. The metalayer `_batch_array_metadata` has the number of items of each batch.
#![forbid(unsafe_code)]

use super::text_rows::{TextSource, check_text};
use crate::alloc;
use crate::array::msgpack_json::{from_json, to_json};
use crate::array::store::Texts;
use crate::arrow_ipc;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};
use crate::json::Value;
use crate::msgpack::{self, Token};
use crate::superchunk::frame::Frame;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

const LENGTHS: &str = "_batch_array_metadata";
pub const FORM: &str = "batcharray";
const PER_BLOCK: &str = "items_per_block";
/// Items of a block if the frame does not state it: the largest number in one byte of MessagePack.
const FEW_PER_BLOCK: usize = 127;
/// Maximum bytes before the bytes of a text.
const MAX_MARKER: usize = 5;

/// What the items of batches are. All may be null.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    /// Texts.
    Texts,
    /// Bytes.
    Bytes,
    /// Any values in MessagePack.
    Values,
    /// Values of this type in Arrow's format, which are only read.
    Arrow(PackedType),
}

/// The batches of a frame.
pub struct Batches {
    frame: Frame,
    /// The position of the first item of each batch, and the number of items.
    starts: Vec<u64>,
    /// What the items are.
    items: Items,
    /// Items of each block but the last one of a batch, if the frame states it.
    per_block: Option<usize>,
    limit: u64,
    /// The batch that was read last.
    last: Mutex<Option<(usize, Arc<Texts>)>>,
}

impl Batches {
    /// Reads the lengths of the batches. A batch may need `limit` bytes.
    pub fn new(frame: Frame, items: Items, limit: u64) -> Result<Batches> {
        let json = |name: &str| -> Result<Option<Value>> {
            let value = frame
                .meta(name)?
                .map(|value| Value::parse(to_json(value).as_bytes()));
            value.transpose()
        };
        let form = json(FORM)?;
        let serializer = form.as_ref().and_then(|form| form.get("serializer"));
        let expected = match items {
            Items::Arrow(_) => "arrow",
            Items::Texts | Items::Bytes | Items::Values => "msgpack",
        };
        if serializer.is_some_and(|form| form.as_str() != Some(expected)) {
            return Err(fail!(
                Unsupported,
                "batches in the form {} (expected {expected})",
                serializer.map_or(String::new(), Value::to_string)
            ));
        }
        let lengths = json(LENGTHS)?;
        let lengths = match lengths.as_ref().and_then(|all| all.get("batch_lengths")) {
            Some(Value::Array(lengths)) => lengths
                .iter()
                .map(Value::as_u64)
                .collect::<Option<Vec<_>>>(),
            _ if frame.chunks() == 0 => Some(Vec::new()),
            _ => None,
        };
        let Some(lengths) = lengths.filter(|all| all.len() as u64 == frame.chunks()) else {
            return Err(fail!(
                Format,
                "the metalayer {LENGTHS:?} does not have the lengths of the {} batches",
                frame.chunks()
            ));
        };
        let per_block = form.as_ref().and_then(|form| form.get(PER_BLOCK)?.as_u64());
        let mut starts = vec![0];
        let mut end = 0u64;
        for n in lengths {
            end = end.saturating_add(n);
            starts.push(end);
        }
        Ok(Batches {
            frame,
            starts,
            items,
            per_block: per_block.map(|n| n.clamp(1, u32::MAX.into()) as usize),
            limit,
            last: Mutex::default(),
        })
    }

    /// Returns the number of batches.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the position of the first item of a batch.
    pub fn start(&self, i: usize) -> u64 {
        self.starts.get(i).copied().unwrap_or(0)
    }

    /// Returns the batch with the item at a position, and the number of that item in it.
    pub fn find(&self, position: u64) -> (usize, usize) {
        let after = self.starts.partition_point(|start| *start <= position);
        let i = after.saturating_sub(1);
        (i, (position - self.start(i)) as usize)
    }

    /// Returns whether the last batch has fewer items than `items`, in fewer than `bytes` bytes.
    pub fn is_last_short(&self, items: usize, bytes: usize) -> Result<bool> {
        let Some(last) = self.count().checked_sub(1) else {
            return Ok(false);
        };
        let span = self.frame.span(last as u64)?;
        let n = self.len() - self.start(last);
        Ok(n < items as u64 && span.end - span.start < bytes as u64)
    }

    /// Inserts a batch before batch `i`, or after the last one.
    pub fn insert(&mut self, i: usize, items: &Texts) -> Result<()> {
        if self.per_block.is_none() && self.count() == 0 {
            self.set_per_block()?;
        }
        let (mut blocks, per_block) = (Vec::new(), self.per_block.unwrap_or(items.len()));
        for first in (0..items.len()).step_by(per_block.max(1)) {
            let end = items.len().min(first + per_block);
            blocks.push(packed(items, first..end, &self.items)?);
        }
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        self.frame.insert_blocks(i as u64, &blocks)?;
        self.forget();
        let n = items.len() as u64;
        self.starts.insert(i + 1, self.start(i));
        self.starts
            .iter_mut()
            .skip(i + 1)
            .for_each(|start| *start += n);
        Ok(())
    }

    /// Removes a batch.
    pub fn remove(&mut self, i: usize) -> Result<()> {
        self.frame.remove(i as u64)?;
        self.forget();
        let n = self.start(i + 1) - self.start(i);
        self.starts.remove(i + 1);
        self.starts
            .iter_mut()
            .skip(i + 1)
            .for_each(|start| *start -= n);
        Ok(())
    }

    fn forget(&mut self) {
        self.last = Mutex::default();
    }

    /// States how many items a block has. The number has the length of what was there, which
    /// metalayers of fixed length must keep.
    fn set_per_block(&mut self) -> Result<()> {
        let form = to_json(self.frame.meta(FORM)?.unwrap_or_default());
        let Ok(mut members) = Value::parse(form.as_bytes()) else {
            return Ok(());
        };
        let Some(value) = members.get_mut(PER_BLOCK) else {
            return Ok(());
        };
        *value = Value::Int(FEW_PER_BLOCK as i128);
        let form = from_json(members.to_string().as_bytes());
        self.frame.fixed_set(FORM, &form)?;
        self.per_block = Some(FEW_PER_BLOCK);
        Ok(())
    }

    /// Writes the lengths of all batches to the metalayer.
    pub fn write_lengths(&mut self) -> Result<()> {
        let stored = self.frame.meta(LENGTHS)?;
        if self.count() == 0 {
            return match stored {
                Some(_) => self.frame.meta_remove(LENGTHS),
                None => Ok(()),
            };
        }
        let lengths = self.starts.windows(2).map(|ends| match ends {
            [begin, end] => Value::Int((end - begin).into()),
            _ => Value::Null,
        });
        let lengths = Value::Array(lengths.collect());
        let lengths = Value::Object(vec![("batch_lengths".to_owned(), lengths)]);
        let new = from_json(lengths.to_string().as_bytes());
        match stored {
            Some(stored) if stored == new => Ok(()),
            _ => self.frame.vlmeta_set(LENGTHS, &new),
        }
    }

    /// Returns the frame for a commit.
    pub fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// Returns the items of a batch.
    pub fn batch(&self, i: usize) -> Result<Arc<Texts>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, texts)) = last.as_ref().filter(|(of, _)| *of == i) {
            return Ok(Arc::clone(texts));
        }
        let content = self
            .frame
            .chunk_content(i as u64, self.limit, "a batch of texts")?;
        let texts =
            Arc::new(unpacked(&content, &self.items, self.limit).map_err(|e| e.at(i as u64))?);
        let expected = self.starts.get(i..i + 2).map_or(0, |ends| match ends {
            [begin, end] => end - begin,
            _ => 0,
        });
        if texts.ends.len() as u64 != expected {
            return Err(fail!(
                Format,
                "batch {i} has {} items (expected {expected})",
                texts.ends.len()
            )
            .at(i as u64));
        }
        *last = Some((i, Arc::clone(&texts)));
        Ok(texts)
    }
}

impl TextSource for Batches {
    fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        let mut at = positions.start;
        while at < positions.end {
            let (i, _) = self.find(at);
            let texts = self.batch(i)?;
            let begin = self.start(i);
            let end = (begin + texts.ends.len() as u64).min(positions.end);
            if end <= at {
                return Err(fail!(Format, "no batch has position {at}"));
            }
            for position in at..end {
                let item = (position - begin) as usize;
                let is_null = texts.nulls.get(item).copied().unwrap_or(false);
                to.push(texts.get(item).unwrap_or_default(), is_null)?;
            }
            at = end;
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.frame.file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        self.frame.cbytes()
    }
}

/// Returns items as a MessagePack array.
fn packed(items: &Texts, range: Range<usize>, form: &Items) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    msgpack::put(&mut out, Token::Array(range.len() as u64));
    for i in range {
        let item = items.get(i).unwrap_or_default();
        alloc::reserve(&mut out, item.len() + MAX_MARKER)?;
        match form {
            _ if items.is_null(i) => msgpack::put(&mut out, Token::Nil),
            Items::Texts => msgpack::put(&mut out, Token::Text(item)),
            Items::Bytes => msgpack::put(&mut out, Token::Bytes(item)),
            Items::Values => out.extend_from_slice(item),
            Items::Arrow(of) => {
                return Err(fail!(Unsupported, "writing {of} in Arrow's format"));
            }
        }
    }
    Ok(out)
}

/// Returns the items of the blocks of a batch, one after the other.
fn unpacked(mut rest: &[u8], items: &Items, limit: u64) -> Result<Texts> {
    let mut texts = Texts::new(limit);
    if let Items::Arrow(of) = items {
        arrow_ipc::read_values(rest, of, limit, &mut texts)?;
        return Ok(texts);
    }
    while !rest.is_empty() {
        let n = match msgpack::next(&mut rest) {
            Some(Token::Array(n)) => n,
            token => return Err(wrong(token, "array")),
        };
        for _ in 0..n {
            item(&mut rest, items, &mut texts)?;
        }
    }
    Ok(texts)
}

fn item(rest: &mut &[u8], items: &Items, texts: &mut Texts) -> Result<()> {
    let whole = *rest;
    match (msgpack::next(rest), items) {
        (Some(Token::Nil), _) => texts.push(&[], true),
        (Some(Token::Text(text)), Items::Texts) => {
            check_text(text).map_err(|e| e.within(format_args!("item {}", texts.len())))?;
            texts.push(text, false)
        }
        (Some(Token::Bytes(bytes)), Items::Bytes) => texts.push(bytes, false),
        (Some(_), Items::Values | Items::Arrow(_)) => {
            *rest = whole;
            let value = msgpack::value(rest).ok_or_else(|| wrong(None, "value"))?;
            texts.push(value, false)
        }
        (token, Items::Texts) => Err(wrong(token, "text")),
        (token, Items::Bytes) => Err(wrong(token, "bytes")),
        (None, Items::Values | Items::Arrow(_)) => Err(wrong(None, "value")),
    }
}

fn wrong(token: Option<Token>, expected: &str) -> Error {
    match token {
        Some(token) => fail!(Format, "a batch has {token:?} (expected {expected})"),
        None => fail!(
            Format,
            "a batch is truncated, or no MessagePack (expected {expected})"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_nulls() {
        let unpacked = |bytes, items| super::unpacked(bytes, &items, 9);
        let texts = unpacked(
            b"\x93\xa1a\xc0\xd9\x02\xc3\xa9\x91\xa0\xdc\x00\x01\xda\x00\x01b",
            Items::Texts,
        )
        .unwrap();
        let all: Vec<_> = (0..5).map(|i| texts.get(i).unwrap()).collect();
        assert_eq!(all, [&b"a"[..], b"", "é".as_bytes(), b"", b"b"]);
        assert_eq!(texts.nulls, [false, true, false, false, false]);
        assert!(texts.get(5).is_none() && unpacked(b"", Items::Texts).unwrap().ends.is_empty());
        for wrong in [
            &b"\x91"[..],
            b"\x91\xa2a",
            b"\xa1a",
            b"\x91\x01",
            b"\xc1",
            b"\x91\xa1\xff",
            b"\xdd\xff\xff\xff\xff",
        ] {
            assert!(unpacked(wrong, Items::Texts).is_err(), "{wrong:?}");
        }
        let bytes = unpacked(b"\x92\xc4\x01\xff\xc0", Items::Bytes).unwrap();
        assert_eq!(
            (bytes.get(0), &*bytes.nulls),
            (Some(&b"\xff"[..]), &[false, true][..])
        );
        let values = unpacked(b"\x93\x92\x01\x02\xc0\x81\xa1a\x05", Items::Values).unwrap();
        assert_eq!(
            (values.get(0), values.get(2)),
            (Some(&b"\x92\x01\x02"[..]), Some(&b"\x81\xa1a\x05"[..]))
        );
        assert!(unpacked(b"\x91\x92\x01", Items::Values).is_err());
        let e = unpacked(b"\x91\xaa0123456789", Items::Texts).err().unwrap();
        assert_eq!(e.status, crate::error::Status::Limit);
        assert!(unpacked(b"\x91\xa1a", Items::Bytes).is_err());
        assert!(unpacked(b"\x91\xc4\x01a", Items::Texts).is_err());
    }
}
