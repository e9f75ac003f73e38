//! Implements the storage of an [`Array`](crate::array::Array) for a dataset.
#![forbid(unsafe_code)]

use super::{ArrayFile, Items};
use crate::alloc::Scratch;
use crate::array::store::{Reader, Store};
use crate::blosc::filter::truncate_in_place;
use crate::blosc::{self, Codec, StoredCodec, StoredEncoding};
use crate::checksum::Checksum;
use crate::dataset::chunks::Chunks;
use crate::dataset::commit::commit;
use crate::dataset::meta::{self, Meta};
use crate::dataset::superchunks::Superchunks;
use crate::dataset::{create, fill_value, precision};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::json::Value;
use crate::options::Opt;
use crate::parallel;
use crate::progress::Progress;
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::{Bloscpack, Destination, Splice, reserve_offsets};
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of content that a copy has in memory at once.
const COPY_BYTES: u64 = 16 << 20;
/// Maximum chunk size of a copy, unless the caller chooses it.
const MAX_COPY_CHUNK: u64 = 1 << 30;

impl ArrayFile {
    /// Returns codec and filters of the first chunk, or of the chunks to come.
    fn first_chunk(&self) -> (StoredCodec, Vec<u8>) {
        let Some(run) = self.runs().into_iter().next() else {
            return (StoredCodec::None, Vec::new());
        };
        if let Some(header) = run.first_header() {
            let codec = StoredCodec::from_flags(header.flags);
            return (codec, blosc::used_filters(&header.filters));
        }
        let new = run.edit.as_ref().map(|edit| edit.params());
        new.map_or((StoredCodec::None, Vec::new()), |params| {
            let filters = blosc::used_filters(&params.filters.slots().0);
            (StoredCodec::from_params(params), filters)
        })
    }
}

impl ArrayFile {
    /// Calls `f` with the parts of `src`, in order and with their offsets, as they are to be stored.
    fn each_truncated(
        &mut self,
        src: &[u8],
        mut f: impl FnMut(&mut ArrayFile, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(bits) = self.truncation else {
            return f(self, 0, src);
        };
        // a multiple of the item size, which is 4 or 8
        let most = src.len().min(COPY_BYTES as usize);
        let mut buffer = Scratch::new(most as u64, u64::MAX, "items")?;
        let mut at = 0;
        for part in src.chunks(most.max(1)) {
            let now = buffer.at_mut(..part.len())?;
            now.copy_from_slice(part);
            truncate_in_place(bits, self.meta.array.dtype.item.size, now)?;
            f(self, at, now)?;
            at += part.len() as u64;
        }
        Ok(())
    }
}

impl Store for ArrayFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn format(&self) -> Format {
        self.format()
    }

    fn encoding(&self) -> StoredEncoding {
        let level = meta::stated_level(&self.meta.storage);
        let codec = match meta::stated_codec(&self.meta.storage) {
            _ if level == Some(0) => StoredCodec::None,
            Some(name) => Codec::from_name(name).map_or(StoredCodec::Mixed, StoredCodec::One),
            // BLZ does not record it
            None => self.first_chunk().0,
        };
        let mut filters = match meta::stated_filter(&self.meta.storage) {
            Some(0) => Vec::new(),
            Some(filter) => vec![filter],
            None => self.first_chunk().1,
        };
        if precision::stated(&self.meta.storage).is_some() {
            filters.insert(0, blosc::TRUNCATE);
        }
        StoredEncoding {
            codec,
            level: level.map(|n| n.min(9) as u8),
            filters,
            precision: match self.writer {
                Some(_) => self.truncation,
                None => precision::stated_bits(&self.meta.storage),
            },
        }
    }

    fn checksum(&self) -> Checksum {
        let files = self.runs().into_iter().find_map(Chunks::superchunks);
        let of_file = files.and_then(Superchunks::checksum);
        of_file.unwrap_or(self.meta.checksum)
    }

    fn nbytes(&self) -> u64 {
        match &self.items {
            _ if self.chunked.is_some() => self.meta.array.nbytes().unwrap_or(0),
            Items::Single(chunks) => chunks.nbytes(),
            Items::Fields(fields) => fields.nbytes(),
            Items::Objects(_) => self.meta.object_bytes,
        }
    }

    fn cbytes(&self) -> Result<u64> {
        let edited = self
            .runs()
            .iter()
            .map(|run| run.edit.as_ref().map(|e| e.cbytes))
            .sum::<Option<u64>>();
        Ok(edited.unwrap_or(self.meta.cbytes))
    }

    fn chunk_span(&self, at: u64) -> Range<u64> {
        match &self.items {
            Items::Single(chunks) | Items::Objects(chunks) => chunks.span(at),
            Items::Fields(fields) => fields.span(at),
        }
    }

    fn chunk_bytes(&self) -> u64 {
        let span = self.chunk_span(0);
        span.end - span.start
    }

    fn block_bytes(&self) -> Option<u64> {
        match &self.items {
            Items::Single(chunks) => chunks.block_bytes(),
            _ => None,
        }
    }

    fn pending_bytes(&self) -> u64 {
        let edits = self.runs().into_iter().filter_map(|run| run.edit.as_ref());
        edits.map(|edit| edit.pending_bytes()).sum()
    }

    fn progress(&self) -> Option<&Progress> {
        self.config.options.progress()
    }

    fn file_threads(&self) -> usize {
        self.config.threads.count()
    }

    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.refuse_chunked()?;
        match &self.items {
            Items::Single(chunks) | Items::Objects(chunks) => chunks.read(at, dst),
            Items::Fields(fields) => fields.read(at, dst),
        }
    }

    fn copy_as(
        &self,
        to: Destination,
        meta: Option<&[u8]>,
        len: u64,
        read: Reader,
    ) -> Result<bool> {
        if self.has_objects() {
            return Err(fail!(
                Unsupported,
                "{}: Python objects cannot be stored in another format",
                self.name
            ));
        }
        let Destination {
            folder,
            name,
            mode,
            mut options,
        } = to;
        let typesize = Some(self.meta.array.dtype.item.size)
            .filter(|n| (1..=255).contains(n))
            .unwrap_or(1);
        if options.given(Opt::ChunkBytes).is_none() {
            let bytes = (self.chunk_bytes().min(MAX_COPY_CHUNK) / typesize as u64)
                .max(1)
                .saturating_mul(typesize as u64);
            options.set(Opt::ChunkBytes, bytes as i64)?;
        }
        reserve_offsets(&mut options, len)?;
        let mut new = Bloscpack::create_in(&folder, &name, mode, typesize, &options)?;
        new.meta_set(meta)?;
        new.fill_from(len, COPY_BYTES, read, &options)
    }

    fn attr_names(&self) -> Vec<&str> {
        self.attrs.names()
    }

    fn attr(&self, name: &str) -> Result<Option<&[u8]>> {
        self.attrs.get(name)
    }

    fn fill(&self) -> Result<Option<&[u8]>> {
        let Meta { dflt, array, .. } = &self.meta;
        let made = parallel::get_or_init(&self.fill, || {
            fill_value::bytes(
                dflt,
                &array.dtype.item,
                self.meta.row(),
                self.config.memory_limit,
            )
        });
        made.as_ref()
            .map(Option::as_deref)
            .map_err(|e| e.clone().within(&self.name))
    }

    fn fill_set(&mut self, value: &[u8]) -> Result<()> {
        self.refuse_field("fill value")?;
        let item = &self.meta.array.dtype.item;
        // in chunks along every dimension, the fill value is one item
        let row = if self.chunked.is_some() {
            &[]
        } else {
            self.meta.row()
        };
        let each = matches!(self.meta.dflt, Value::Array(_)) || self.format() == Format::Blz;
        let mut value = value.to_vec();
        if let Some(bits) = self.truncation {
            truncate_in_place(bits, item.size, &mut value)?;
        }
        let new = create::dflt(&value, item, row, each)?;
        let bytes = fill_value::bytes(&new, item, row, self.config.memory_limit)?;
        if let Items::Single(chunks) = &mut self.items {
            chunks.fill = bytes.as_deref().map(Arc::from);
        }
        self.fill = OnceLock::from(Ok(bytes));
        self.meta.set_dflt(new);
        self.writer()?.storage_changed = true;
        Ok(())
    }

    fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.refuse_chunked()?;
        self.each_truncated(src, |file, from, part| file.write_items(at + from, part))
    }

    fn splice(&mut self, splice: &Splice) -> Result<()> {
        self.refuse_chunked()?;
        let (truncation, size) = (self.truncation, self.meta.array.dtype.item.size);
        let mut truncated;
        let mut splice = *splice;
        if let Some(bits) = truncation {
            let n = splice.src.len() as u64;
            truncated = Scratch::new(n, self.config.memory_limit, "inserted items")?;
            truncated.copy_from_slice(splice.src);
            truncate_in_place(bits, size, &mut truncated)?;
            splice.src = &truncated;
        }
        let splice = &splice;
        let done = match self.items_mut()? {
            Items::Fields(fields) => fields.splice(splice),
            Items::Single(chunks) | Items::Objects(chunks) => return chunks.splice(splice),
        };
        if matches!(done, Err((_, true))) {
            // some fields have the rows, others do not
            self.mark_broken();
        }
        done.map_err(|(e, _)| e)
    }

    fn append(&mut self, src: &[u8]) -> Result<()> {
        self.refuse_chunked()?;
        self.each_truncated(src, |file, _, part| file.append_items(part))
    }

    fn append_stored(&mut self, from: &dyn Store) -> Result<u64> {
        self.refuse_chunked()?;
        let from: &dyn Any = from;
        let Some(from) = from.downcast_ref::<ArrayFile>() else {
            return Ok(0);
        };
        // items of another precision must be truncated
        if from.chunked.is_some() || self.encoding().precision != from.encoding().precision {
            return Ok(0);
        }
        match (self.items_mut()?, &from.items) {
            (Items::Single(to), Items::Single(from)) => to.append_stored(from),
            _ => Ok(0),
        }
    }

    fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.refuse_chunked()?;
        match self.items_mut()? {
            Items::Fields(fields) => fields.truncate(nbytes),
            Items::Single(chunks) | Items::Objects(chunks) => chunks.truncate(nbytes),
        }
    }

    fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.refuse_field("attributes")?;
        self.attrs.set(name, value)?;
        self.writer()?.attrs_changed = true;
        Ok(())
    }

    fn attr_remove(&mut self, name: &str) -> Result<()> {
        self.refuse_field("attributes")?;
        self.writer()?;
        self.attrs.remove(name)?;
        self.writer()?.attrs_changed = true;
        Ok(())
    }

    fn meta_file_names(&self) -> Result<Vec<String>> {
        self.meta_files.names()
    }

    fn meta_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.meta_files.read(name, self.config.memory_limit)
    }

    fn meta_file_set(&mut self, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        self.refuse_field("files in meta")?;
        self.writer()?;
        self.meta_files.set(name, bytes)
    }

    fn can_have(&self, shape: &[u64]) -> Result<()> {
        let row = self.meta.row();
        let is_chunked = self.chunked.is_some() && shape.len() == self.meta.array.shape.len();
        if is_chunked || shape.get(1..) == Some(row) {
            return Ok(());
        }
        Err(fail!(
            Unsupported,
            "{}: a dataset cannot change the shape of its rows (expected {row:?}, found the shape {shape:?})",
            self.name
        ))
    }

    fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        self.can_have(shape)?;
        self.writer()?.shape_changed |= self.meta.array.shape != shape;
        self.meta.array.shape = shape.to_vec();
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        commit(self)
    }

    fn has_objects(&self) -> bool {
        matches!(self.items, Items::Objects(_))
    }

    fn object(&self, i: u64) -> Result<Vec<u8>> {
        match &self.items {
            Items::Objects(chunks) => chunks.object(i),
            _ => Err(fail!(
                Type,
                "{}: its items are not Python objects",
                self.name
            )),
        }
    }
}
