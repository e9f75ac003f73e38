//! Writes an array into a box of another one.
#![forbid(unsafe_code)]

use super::any::{Array, Body, COPY_BYTES, copy_box, next_box};
use super::tiled::{NewTiled, TiledArray};
use crate::alloc;
use crate::error::Result;
use crate::options::{Opt, Options};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

impl Array {
    /// Creates an array of another shape in a frame: zeros, or the fill value of this one. If this
    /// one is in a frame too, its chunks can be copied to this one as they are stored.
    pub fn create_like(&self, path: &OsStr, shape: &[u64], options: &Options) -> Result<Array> {
        let dtype = self.dtype_text();
        let mut options = options.clone();
        let mut new = NewTiled {
            dtype: &dtype,
            shape,
            chunks: None,
            blocks: None,
            caterva: false,
        };
        if let Body::Tiled(tiled) = &*self.body {
            if !tiled.chunkshape().contains(&0) {
                (new.chunks, new.blocks) = (Some(tiled.chunkshape()), Some(tiled.blockshape()));
            }
            if !tiled.has_checksums() && options.given(Opt::Checksum).is_none() {
                options.set(Opt::Checksum, 0)?;
            }
        }
        if let (None, Some(value)) = (options.given_bytes(Opt::Fill), self.fill()?) {
            options.set_bytes(Opt::Fill, value)?;
        }
        TiledArray::create(path, Mode::New, &new, self.params(), &options).map(Array::from)
    }

    /// Appends rows of `from`, which has the same dtype, as they are stored, as far as this is
    /// possible, and returns their number.
    pub fn append_stored(&mut self, from: &Array) -> Result<u64> {
        match (self.body_mut()?, &*from.body) {
            (Body::Linear(to), Body::Linear(from)) => to.append_stored(from),
            _ => Ok(0),
        }
    }

    /// Writes all items of `from`, which has the same dtype, to the box that begins at `start`.
    pub fn paste(&mut self, from: &Array, start: &[u64]) -> Result<()> {
        if let (Body::Tiled(to), Body::Tiled(from)) = (self.body_mut()?, &*from.body) {
            return to.paste(from, start);
        }
        let (shape, item) = (from.shape(), self.itemsize() as u64);
        let bytes = |lengths: &[u64]| lengths.iter().fold(item, |n, d| n.saturating_mul(*d));
        let limit = self.memory_limit();
        let lengths = copy_box(shape, self, COPY_BYTES.min(limit) / item.max(1));
        let mut buffer = alloc::zeroed(alloc::allow(bytes(&lengths), limit, "copy buffer")?)?;
        let mut at = vec![0; shape.len()];
        while !shape.contains(&0) {
            let rest = at.iter().zip(&lengths).zip(shape);
            let count: Vec<u64> = rest.map(|((at, n), all)| *n.min(&(all - at))).collect();
            let there: Vec<u64> = at.iter().zip(start).map(|(at, from)| at + from).collect();
            let part = buffer.at_mut(..bytes(&count) as usize)?;
            from.read(&at, &count, None, part, None)?;
            self.write(&there, &count, None, part, None)?;
            if !next_box(&mut at, &lengths, shape) {
                break;
            }
        }
        Ok(())
    }
}
