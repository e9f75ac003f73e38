//! Texts or bytes of a CTable in a `BatchArray`: a frame of which each chunk is a batch, one or more
//! MessagePack arrays of them and of nulls, one per block. The metalayer `_batch_array_metadata` has
//! the number of items of each batch.
#![forbid(unsafe_code)]

use super::text_rows::{TextSource, check_text};
use crate::alloc;
use crate::array::msgpack_json::to_json;
use crate::array::store::Texts;
use crate::error::{Result, fail};
use crate::json::Value;
use crate::superchunk::frame::Frame;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

const LENGTHS: &str = "_batch_array_metadata";
const FORM: &str = "batcharray";

/// The batches of a frame.
pub struct Batches {
    frame: Frame,
    /// The position of the first item of each batch, and the number of items.
    starts: Vec<u64>,
    /// Whether the items are texts, not bytes.
    are_texts: bool,
    limit: u64,
    /// The batch that was read last.
    last: Mutex<Option<(usize, Arc<Texts>)>>,
}

impl Batches {
    /// Reads the lengths of the batches of texts, or else of bytes. A batch may need `limit` bytes.
    pub fn new(frame: Frame, are_texts: bool, limit: u64) -> Result<Batches> {
        let json = |name: &str| -> Result<Option<Value>> {
            let value = frame
                .meta(name)?
                .map(|value| Value::parse(to_json(value).as_bytes()));
            value.transpose()
        };
        let form = json(FORM)?;
        let serializer = form.as_ref().and_then(|form| form.get("serializer"));
        if serializer.is_some_and(|form| form.as_str() != Some("msgpack")) {
            return Err(fail!(
                Unsupported,
                "batches in the form {} (expected MessagePack)",
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
        let mut starts = vec![0];
        let mut end = 0u64;
        for n in lengths {
            end = end.saturating_add(n);
            starts.push(end);
        }
        Ok(Batches {
            frame,
            starts,
            are_texts,
            limit,
            last: Mutex::default(),
        })
    }

    /// Returns the items of a batch.
    fn batch(&self, i: usize) -> Result<Arc<Texts>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, texts)) = last.as_ref().filter(|(of, _)| *of == i) {
            let _ = of;
            return Ok(Arc::clone(texts));
        }
        let span = self.frame.span(i as u64)?;
        let n = alloc::allow(span.end - span.start, self.limit, "a batch of texts")?;
        let mut content = alloc::zeroed(n)?;
        self.frame.read_chunk(i as u64, &mut content)?;
        let texts =
            Arc::new(unpacked(&content, self.are_texts, self.limit).map_err(|e| e.at(i as u64))?);
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
            let i = self
                .starts
                .partition_point(|start| *start <= at)
                .saturating_sub(1);
            let texts = self.batch(i)?;
            let begin = self.starts.get(i).copied().unwrap_or(0);
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

/// Returns the items of MessagePack arrays of texts or bytes, and of nulls, one after the other.
fn unpacked(mut rest: &[u8], are_texts: bool, limit: u64) -> Result<Texts> {
    let mut texts = Texts::new(limit);
    while !rest.is_empty() {
        let marker = take(&mut rest, 1)?.first().copied().unwrap_or(0);
        let n = match marker {
            0x90..=0x9f => u64::from(marker & 15),
            0xdc => number(&mut rest, 2)?,
            0xdd => number(&mut rest, 4)?,
            _ => {
                return Err(fail!(
                    Format,
                    "a batch has the byte {marker:#04x} (expected an array)"
                ));
            }
        };
        for _ in 0..n {
            item(&mut rest, are_texts, &mut texts)?;
        }
    }
    Ok(texts)
}

fn item(rest: &mut &[u8], is_text: bool, texts: &mut Texts) -> Result<()> {
    let marker = take(rest, 1)?.first().copied().unwrap_or(0);
    let n = match (marker, is_text) {
        (0xc0, _) => return texts.push(&[], true),
        (0xa0..=0xbf, true) => u64::from(marker & 31),
        (0xd9, true) | (0xc4, false) => number(rest, 1)?,
        (0xda, true) | (0xc5, false) => number(rest, 2)?,
        (0xdb, true) | (0xc6, false) => number(rest, 4)?,
        _ => {
            let expected = if is_text { "text" } else { "bytes" };
            return Err(fail!(
                Format,
                "an item begins with the byte {marker:#04x} (expected {expected})"
            ));
        }
    };
    let bytes = take(rest, usize::try_from(n).unwrap_or(usize::MAX))?;
    if is_text {
        check_text(texts.ends.len() as u64, bytes)?;
    }
    texts.push(bytes, false)
}

/// Reads a big-endian number of `n` bytes.
fn number(rest: &mut &[u8], n: usize) -> Result<u64> {
    let bytes = take(rest, n)?.iter();
    Ok(bytes.fold(0, |all, b| all << 8 | u64::from(*b)))
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let Some((first, after)) = rest.split_at_checked(n) else {
        return Err(fail!(
            Format,
            "a batch is truncated (expected {n} more bytes, found {})",
            rest.len()
        ));
    };
    *rest = after;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_nulls() {
        let unpacked = |bytes, are_texts| super::unpacked(bytes, are_texts, 9);
        let texts = unpacked(
            b"\x93\xa1a\xc0\xd9\x02\xc3\xa9\x91\xa0\xdc\x00\x01\xda\x00\x01b",
            true,
        )
        .unwrap();
        let all: Vec<_> = (0..5).map(|i| texts.get(i).unwrap()).collect();
        assert_eq!(all, [&b"a"[..], b"", "é".as_bytes(), b"", b"b"]);
        assert_eq!(texts.nulls, [false, true, false, false, false]);
        assert!(texts.get(5).is_none() && unpacked(b"", true).unwrap().ends.is_empty());
        for wrong in [
            &b"\x91"[..],
            b"\x91\xa2a",
            b"\xa1a",
            b"\x91\x01",
            b"\x91\xa1\xff",
            b"\xdd\xff\xff\xff\xff",
        ] {
            assert!(unpacked(wrong, true).is_err(), "{wrong:?}");
        }
        let bytes = unpacked(b"\x92\xc4\x01\xff\xc0", false).unwrap();
        assert_eq!(
            (bytes.get(0), &*bytes.nulls),
            (Some(&b"\xff"[..]), &[false, true][..])
        );
        let e = unpacked(b"\x91\xaa0123456789", true).err().unwrap();
        assert_eq!(e.status, crate::error::Status::Limit);
        assert!(unpacked(b"\x91\xa1a", false).is_err());
        assert!(unpacked(b"\x91\xc4\x01a", true).is_err());
    }
}
