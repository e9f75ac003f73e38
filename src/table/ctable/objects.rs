//! Lists of a CTable in an `ObjectArray`: a frame of which each chunk is one value in MessagePack, or
//! a null.
#![forbid(unsafe_code)]

use super::text_rows::TextSource;
use super::text_writer::TextSink;
use crate::array::store::Texts;
use crate::error::{Result, fail};
use crate::msgpack;
use crate::superchunk::frame::Frame;
use std::ops::Range;

const NULL: u8 = 0xc0;

/// The values of a frame.
pub struct Objects {
    frame: Frame,
    limit: u64,
}

impl Objects {
    /// Wraps a frame. A value may need `limit` bytes.
    pub fn new(frame: Frame, limit: u64) -> Objects {
        Objects { frame, limit }
    }

    fn read_one(&self, i: u64, to: &mut Texts) -> Result<()> {
        let content = self.frame.chunk_content(i, self.limit, "a value")?;
        let mut rest = &content[..];
        match msgpack::value(&mut rest) {
            Some([NULL]) if rest.is_empty() => to.push(&[], true),
            Some(value) if rest.is_empty() => to.push(value, false),
            _ => Err(fail!(Format, "chunk {i} is not one value in MessagePack").at(i)),
        }
    }
}

impl TextSource for Objects {
    fn len(&self) -> u64 {
        self.frame.chunks()
    }

    fn read(&self, mut positions: Range<u64>, to: &mut Texts) -> Result<()> {
        positions.try_for_each(|i| self.read_one(i, to))
    }

    fn threads(&self) -> usize {
        self.frame.file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        self.frame.cbytes()
    }
}

impl TextSink for Objects {
    fn append(&mut self, texts: &Texts) -> Result<()> {
        for i in 0..texts.len() {
            self.frame.insert(self.frame.chunks(), stored(texts, i))?;
        }
        Ok(())
    }

    fn overwrite(&mut self, position: u64, texts: &Texts) -> Result<()> {
        for i in 0..texts.len() {
            let at = position + i as u64;
            self.frame.remove(at)?;
            self.frame.insert(at, stored(texts, i))?;
        }
        Ok(())
    }

    fn truncate(&mut self, positions: u64) -> Result<()> {
        while self.frame.chunks() > positions {
            self.frame.remove(self.frame.chunks() - 1)?;
        }
        match positions {
            // python-blosc2 refuses a next value that is longer than the only one was
            0 => self.frame.set_variable_chunks(),
            _ => Ok(()),
        }
    }

    fn prepare_commit(&mut self, _positions: u64) -> Result<Vec<&mut Frame>> {
        Ok(vec![&mut self.frame])
    }
}

/// Returns a value as the content of a chunk.
fn stored(texts: &Texts, i: usize) -> &[u8] {
    match texts.is_null(i) {
        true => &[NULL],
        false => texts.get(i).unwrap_or_default(),
    }
}
