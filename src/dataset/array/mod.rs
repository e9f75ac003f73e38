//! The array of one dataset: the content of an [`Array`](crate::array::Array).
#![forbid(unsafe_code)]

mod chunked;
mod store;

use super::attrs::{self, Attrs};
use super::chunks::{ChunkCheck, Chunks, ReadConfig, has_superchunks, is_corrupt_or_missing};
use super::commit::Writer;
use super::create;
use super::edit::Edit;
use super::fields::{Field, Fields};
use super::fill_value;
use super::folder::DatasetDir;
use super::meta::{self, Meta, SIZES, STORAGE};
use super::meta_files::MetaFiles;
use super::precision;
use super::text_checksum::with_checksum;
use crate::array::Array;
use crate::array::store::Store;
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::nbytes;
use crate::dtype::{self, Dtype, Kind, Type};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::parallel;
use chunked::ChunkedLayout;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Subfolder of the data.
const DATA: &str = "data";

/// How the items are stored.
enum Items {
    /// Complete items in one run of chunks.
    Single(Chunks),
    /// Each field in folders of its own.
    Fields(Fields),
    /// Python objects, one per file.
    Objects(Chunks),
}

/// An open dataset, or a column of one.
pub struct ArrayFile {
    name: String,
    items: Items,
    /// The chunks, if they do not consist of complete rows. The items are then those of all chunks,
    /// with padding.
    chunked: Option<ChunkedLayout>,
    /// Metadata of the dataset.
    pub meta: Meta,
    attrs: Attrs,
    pub(super) meta_files: MetaFiles,
    fill: OnceLock<Result<Option<Vec<u8>>>>,
    config: ReadConfig,
    /// True if it is stored in the BLZ RFC layout.
    pub is_blz_rfc: bool,
    /// Name of the file that attributes are written to.
    pub(super) attrs_file: &'static str,
    /// Write state, if the array is open for writing.
    pub(super) writer: Option<Writer>,
    /// Precision of the items that the writer stores; `None`: exact.
    truncation: Option<i8>,
}

/// Numbers of chunks that [`ArrayFile::verify`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks whose checksums match.
    pub intact: u64,
    /// Chunks that are corrupt or missing.
    pub corrupt: u64,
    /// Chunks that can be decoded but have no checksum, and chunks with an unknown codec or filter.
    pub unchecked: u64,
}

/// Input for finding the items of a dataset.
struct Search<'a> {
    dir: &'a DatasetDir,
    meta: &'a Meta,
    config: &'a ReadConfig,
}

impl ArrayFile {
    /// Opens the array in this folder.
    pub fn open(dir: &DatasetDir, meta: Meta, config: &ReadConfig) -> Result<ArrayFile> {
        let attrs = Attrs::read(
            dir,
            config.memory_limit,
            meta.checksum != Checksum::None,
            config.skip_damaged,
        )?;
        let item = meta.array.dtype.item.clone();
        let mut file = ArrayFile::of(dir, dir.subdir(DATA)?, &item, meta, attrs, config)?;
        file.meta_files = MetaFiles::of(dir, false);
        Ok(file)
    }

    /// Opens the array in this folder for writing.
    pub fn open_for_writing(
        dir: &DatasetDir,
        meta: Meta,
        config: &ReadConfig,
        options: &Options,
        writer: Writer,
    ) -> Result<ArrayFile> {
        let mut file = ArrayFile::open(dir, meta, config)?;
        if writer.is_first() {
            // no existing file is part of the array
            let size = file.meta.array.dtype.item.size as u64;
            let many = file.meta.superchunk.is_some();
            let search = Search {
                dir,
                meta: &file.meta,
                config,
            };
            let run = search.run(dir.subdir(DATA)?, many, size, None)?;
            file.items = Items::Single(run);
            let mut attrs = Attrs::default();
            attrs.is_yaml = file.meta.is_yaml;
            (file.attrs, file.is_blz_rfc) = (attrs, many);
        }
        file.meta_files = MetaFiles::of(dir, writer.replaces());
        let [tool_file, rfc_file] = attrs::FILES;
        let uses_tool_file = !file.is_blz_rfc || (!writer.is_new() && dir.has(tool_file)?);
        file.attrs_file = if uses_tool_file { tool_file } else { rfc_file };
        file.for_writing(options, writer)
    }

    /// Makes an array that was opened for reading writable.
    pub fn for_writing(mut self, options: &Options, writer: Writer) -> Result<ArrayFile> {
        self.choose_block(options.given(Opt::BlockBytes).map(|n| n as u64));
        self.truncation = precision::of_writer(&self.meta.storage, &self.meta.array.dtype, options)
            .map_err(|e| e.within(format_args!("{}/{STORAGE}", self.name)))?;
        let all = self
            .runs()
            .iter()
            .map(|run| run.nbytes())
            .fold(0, u64::saturating_add)
            .max(1);
        let block = self
            .chunked
            .as_ref()
            .map(|layout| (layout.block_bytes, layout.chunk_bytes));
        let (meta, config, name) = (&self.meta, &self.config, &self.name);
        let runs = match &mut self.items {
            Items::Single(chunks) => vec![(&meta.array.dtype.item, chunks)],
            Items::Fields(fields) => fields
                .all
                .iter_mut()
                .map(|f| (&f.item, &mut f.chunks))
                .collect(),
            Items::Objects(_) => {
                return Err(fail!(
                    Unsupported,
                    "{name}: an array of Python objects is read-only"
                ));
            }
        };
        for (item, chunks) in runs {
            let stored_codec = || chunks.first_header()?.codec().ok();
            let mut params = create::params(&meta.storage, &stored_codec, item, options)
                .map_err(|e| e.within(format_args!("{name}/{STORAGE}")))?;
            if let Some((block, chunk)) = block {
                // as many items as in a block of the array
                let size = block / (chunk / chunks.chunk_bytes()).max(1);
                params.blocksize = Some(size as usize);
            }
            let (encoder, per_file) = create::unit_encoder(chunks, params, meta, options)?;
            let unit = chunks
                .chunk_bytes()
                .checked_mul(per_file)
                .filter(|n| usize::try_from(*n).is_ok());
            let unit = unit.ok_or_else(|| {
                fail!(
                    Limit,
                    "{name}: superchunks of {per_file} chunks of {} bytes are too large",
                    chunks.chunk_bytes()
                )
            })?;
            let cbytes = (meta.cbytes as f64 * chunks.nbytes() as f64 / all as f64) as u64;
            let edit = Edit::new(
                chunks.dir(),
                encoder,
                [unit, chunks.nbytes(), cbytes, config.memory_limit],
                config.threads,
            );
            edit.tidy(writer.is_durable())?;
            chunks.drop_open_files();
            chunks.edit = Some(Box::new(edit));
        }
        self.writer = Some(writer);
        Ok(self)
    }

    /// Returns the fields of the array in this folder, each as an array, if they are stored in
    /// folders of their own.
    pub fn fields(
        dir: &DatasetDir,
        meta: &Meta,
        config: &ReadConfig,
    ) -> Result<Option<Vec<(String, ArrayFile)>>> {
        let data = dir.subdir(DATA)?;
        let Kind::Struct(fields) = &meta.array.dtype.item.kind else {
            return Ok(None);
        };
        if !(Search { dir, meta, config }).has_field_dirs(&data, fields)? {
            return Ok(None);
        }
        let (own, size) = (meta.of_field(), meta.array.dtype.item.size);
        let field = |f: &dtype::Field| {
            let data = data.subdir(&f.name)?;
            let mut file = ArrayFile::field(dir, &data, &f.item, (&own, size), config)?;
            file.meta_files = MetaFiles::of(dir, false);
            Ok((f.name.clone(), file))
        };
        fields.iter().map(field).collect::<Result<_>>().map(Some)
    }

    /// Opens one field in the folder `data`. If its type is an array, its shape extends the shape
    /// of a row. `all` has the metadata of the fields and the size of an item of the dataset.
    pub fn field(
        dir: &DatasetDir,
        data: &DatasetDir,
        item: &Type,
        all: (&Meta, usize),
        config: &ReadConfig,
    ) -> Result<ArrayFile> {
        let mut meta = all.0.clone();
        // the share of each field is not stored
        let of_all = meta.cbytes as f64 * item.size as f64 / all.1.max(1) as f64;
        meta.cbytes = of_all as u64;
        let item = match &item.kind {
            Kind::Array(of, shape) if !matches!(of.kind, Kind::Struct(_)) => {
                meta.array.shape.extend(shape.iter().map(|n| *n as u64));
                meta.extend_chunks(shape)?;
                &**of
            }
            _ => item,
        };
        let mut dtype = Dtype {
            spelling: String::new(),
            item: item.clone(),
        };
        dtype.spelling = dtype.to_python_literal();
        (meta.array.dtype, meta.dflt) = (dtype, Value::Null);
        ArrayFile::of(dir, data.clone(), item, meta, Attrs::default(), config)
    }

    /// Returns the folders of the chunks, each with its maximum number of files.
    pub fn chunk_dirs(&self) -> Vec<(DatasetDir, u64)> {
        self.runs()
            .iter()
            .map(|run| (run.dir().clone(), run.count()))
            .collect()
    }

    /// Returns the number of bytes per row in each of these folders.
    pub fn row_bytes(&self) -> Vec<u64> {
        self.runs().iter().map(|run| run.row).collect()
    }

    /// Returns the chunks in each of these folders that are corrupt or missing.
    pub fn damaged(&self) -> Result<Vec<Vec<Range<u64>>>> {
        let corrupt = |run: &Chunks| {
            let (mut corrupt, mut i): (Vec<Range<u64>>, u64) = (Vec::new(), 0);
            let mut existing = None;
            while i < run.count() {
                let next = match run.check(i) {
                    Err(e) if is_corrupt_or_missing(e.status) => run
                        .next_existing(i + 1, existing.get_or_insert_with(|| run.existing()))
                        .clamp(i + 1, run.count()),
                    done => {
                        done?;
                        i += 1;
                        continue;
                    }
                };
                match corrupt.last_mut().filter(|last| last.end == i) {
                    Some(last) => last.end = next,
                    None => corrupt.push(i..next),
                }
                i = next;
            }
            Ok(corrupt)
        };
        self.runs().into_iter().map(corrupt).collect()
    }

    /// Rewrites the files with these chunks with the content that can be read. Calls `before` with
    /// each file first.
    pub fn rewrite(
        &mut self,
        run: usize,
        chunks: impl Iterator<Item = u64>,
        before: &dyn Fn(&DatasetDir, &str) -> Result<()>,
    ) -> Result<()> {
        self.writer()?;
        match self.runs_mut().into_iter().nth(run) {
            Some(run) => run.rewrite(chunks, before),
            None => Ok(()),
        }
    }

    /// Creates these folders.
    pub fn make_folders(&self) -> Result<()> {
        self.chunk_dirs()
            .iter()
            .try_for_each(|(chunk_dir, _)| chunk_dir.make_folders())
    }

    fn of(
        dir: &DatasetDir,
        data: DatasetDir,
        item: &Type,
        mut meta: Meta,
        attrs: Attrs,
        config: &ReadConfig,
    ) -> Result<ArrayFile> {
        // only reads that skip damage need it now
        let fill = if config.skip_damaged {
            fill_value::bytes(&meta.dflt, item, meta.row(), config.memory_limit)?
        } else {
            None
        };
        if let (Some(_), Some(fill)) = (&meta.chunked, &fill)
            && fill.len() != item.size
        {
            return Err(fail!(
                Unsupported,
                "{}: the default value of an array in chunks along every dimension must be one item",
                dir.show(STORAGE)
            ));
        }
        let search = Search {
            dir,
            meta: &meta,
            config,
        };
        let (items, is_blz_rfc) = search.items(&data, item, fill.map(Arc::from))?;
        let layout = |chunk: &meta::ChunkShape| {
            let chunks = meta.chunk_count()?;
            Ok(ChunkedLayout::new(&chunk.shape, item.size as u64, chunks))
        };
        let chunked = meta.chunked.as_ref().map(layout).transpose()?;
        if matches!(items, Items::Objects(_)) {
            meta.array.dtype.item.size = 0;
        }
        if let Items::Single(chunks) = &items {
            chunks.refuse_excessive_loss()?;
        } else if let Items::Fields(fields) = &items {
            fields
                .all
                .iter()
                .try_for_each(|f| f.chunks.refuse_excessive_loss())?;
        }
        let name = data.show("");
        let name = name.strip_suffix("/data").unwrap_or(&name).to_owned();
        let mut attrs = attrs;
        attrs.is_yaml = meta.is_yaml;
        let mut file = ArrayFile {
            name,
            items,
            chunked,
            meta,
            attrs,
            meta_files: MetaFiles::default(),
            fill: OnceLock::new(),
            config: config.clone(),
            is_blz_rfc,
            attrs_file: attrs::FILES[0],
            writer: None,
            truncation: None,
        };
        file.choose_block(None);
        Ok(file)
    }

    /// Returns the format of the array.
    pub fn format(&self) -> Format {
        match self.meta.has("bparams") && !self.meta.has("cparams") {
            _ if self.is_blz_rfc => Format::BlzRfc,
            true => Format::Blz,
            false => Format::Bcolz,
        }
    }

    /// Wraps the dataset in an [`Array`].
    pub fn into_array(self) -> Result<Array> {
        if let Some(grid) = self.chunk_grid()? {
            let dtype = self.meta.array.dtype.clone();
            return Ok(Array::over_chunks(Box::new(self), grid, dtype));
        }
        let chunkshape = [&[self.meta.chunklen], self.meta.row()].concat();
        let (meta, options) = (self.meta.array.clone(), self.config.options.clone());
        Array::over(Box::new(self), meta, chunkshape, &options)
    }

    // ---- for commits

    pub(super) fn writer(&mut self) -> Result<&mut Writer> {
        let error = fail!(State, "{}: it was opened for reading", self.name);
        let writer = self.writer.as_mut().ok_or(error)?;
        writer.session.check().map(|()| writer)
    }

    /// Returns the pending changes of every run of chunks.
    pub(super) fn edits(&mut self) -> Vec<&mut Edit> {
        self.runs_mut()
            .into_iter()
            .filter_map(Chunks::editing)
            .collect()
    }

    /// Returns the pending changes and the content length of every run of chunks.
    pub(super) fn edits_and_lengths(&mut self) -> Vec<(&mut Edit, u64)> {
        fn with_length(run: &mut Chunks) -> Option<(&mut Edit, u64)> {
            let len = run.nbytes();
            run.editing().map(|e| (e, len))
        }
        self.runs_mut()
            .into_iter()
            .filter_map(with_length)
            .collect()
    }

    /// Returns true if the length differs from the last commit.
    fn is_resized(&self) -> bool {
        self.runs().iter().any(|run| {
            run.edit
                .as_ref()
                .is_some_and(|e| e.committed != run.nbytes())
        })
    }

    /// Returns true if the commit has to write more than metadata files.
    pub(super) fn is_changed(&mut self) -> bool {
        self.is_resized() || self.edits().iter().any(|e| e.has_pending())
    }

    /// Writes the buffered appends to the existing files.
    pub(super) fn append_tails(&mut self, durable: bool) -> Result<()> {
        self.edits()
            .into_iter()
            .try_for_each(|e| e.append_tail(durable))?;
        self.drop_open_files();
        Ok(())
    }

    /// Fails if the array is a column that shares the metadata of its table.
    fn refuse_field(&mut self, what: &str) -> Result<()> {
        let is_field = self.writer()?.is_field;
        if is_field {
            Err(fail!(
                Unsupported,
                "{}: a column in the BLZ RFC layout has no {what} of its own; use that of the table",
                self.name
            ))
        } else {
            Ok(())
        }
    }

    fn items_mut(&mut self) -> Result<&mut Items> {
        self.writer()?;
        Ok(&mut self.items)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer()?;
        if let Some(chunks) = self.chunked.as_ref().map(|layout| layout.chunks) {
            self.store_until(chunks)?;
        }
        self.runs_mut().into_iter().try_for_each(Chunks::flush)
    }

    /// Closes the cached files, because chunks moved to other files.
    pub(super) fn drop_open_files(&self) {
        self.runs().into_iter().for_each(Chunks::drop_open_files);
    }

    pub(super) fn mark_broken(&mut self) {
        self.writer.iter().for_each(Writer::mark_broken);
        // a journal may name these files
        self.edits()
            .into_iter()
            .for_each(|e| e.pending = Vec::new());
    }

    /// Returns the number of chunk files of the last commit; `None` before the first one.
    pub fn committed_files(&mut self) -> Option<u64> {
        let first = self.writer.as_ref().is_none_or(Writer::is_first);
        self.edits()
            .into_iter()
            .next()
            .filter(|_| !first)
            .map(|e| e.committed.div_ceil(e.unit))
    }

    /// Returns the metadata files that a commit has to write.
    pub(super) fn texts(&mut self) -> Result<Vec<(&'static str, String)>> {
        let (len, grown) = (self.nbytes(), self.is_resized());
        let cbytes = self.cbytes()?;
        let writer = self.writer()?;
        if writer.is_field {
            return Ok(Vec::new());
        }
        let (storage, attrs, sizes) = (
            writer.storage_changed,
            writer.attrs_changed,
            grown || writer.shape_changed,
        );
        let mut texts = Vec::new();
        if attrs {
            texts.push((self.attrs_file, self.attrs.to_text()));
        }
        if storage {
            texts.push((STORAGE, self.meta.storage_text()));
        }
        if sizes {
            let is_yaml = self.meta.is_yaml;
            texts.push((
                SIZES,
                meta::sizes(&self.meta.array.shape, len, cbytes, is_yaml),
            ));
        }
        if self.meta.checksum != Checksum::None {
            texts
                .iter_mut()
                .for_each(|(_, text)| *text = with_checksum(std::mem::take(text)));
        }
        Ok(texts)
    }

    fn runs_mut(&mut self) -> Vec<&mut Chunks> {
        match &mut self.items {
            Items::Single(chunks) | Items::Objects(chunks) => vec![chunks],
            Items::Fields(fields) => fields.all.iter_mut().map(|f| &mut f.chunks).collect(),
        }
    }

    /// Returns every run of chunks.
    fn runs(&self) -> Vec<&Chunks> {
        match &self.items {
            Items::Single(chunks) | Items::Objects(chunks) => vec![chunks],
            Items::Fields(fields) => fields.all.iter().map(|f| &f.chunks).collect(),
        }
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        self.runs()
            .iter()
            .map(|c| c.count())
            .fold(0, u64::saturating_add)
    }

    /// Reads and verifies every chunk. Calls `fault` with each error until it returns false, and
    /// `progress` with the number of chunks verified since the last call.
    pub fn verify(
        &self,
        fault: &mut dyn FnMut(&Error) -> bool,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<(Verified, bool)> {
        let mut v = Verified::default();
        if self.attrs.damage().is_some_and(|e| !fault(e)) {
            return Ok((v, false));
        }
        let group = self.config.threads.count() as u64 * 4;
        for run in self.runs() {
            let (mut first, mut was_missing, mut was_corrupt, mut existing) =
                (0, false, false, None);
            while first < run.count() {
                let end = run.count().min(first + group);
                let mut found: Vec<(u64, Result<ChunkCheck>)> = (first..end)
                    .map(|i| (i, Ok(ChunkCheck::Unchecked)))
                    .collect();
                parallel::for_each(
                    self.config.threads.count(),
                    found.iter_mut().collect(),
                    |(i, check): &mut (u64, _)| *check = run.check(*i),
                );
                for (_, check) in found {
                    was_corrupt = check.as_ref().is_err_and(|e| !e.is_unsupported());
                    let is_missing = check.as_ref().is_err_and(|e| e.status == Status::Missing);
                    match check {
                        // consecutive missing chunks are one fault, because there may be very many
                        Err(_) if is_missing && was_missing => {
                            v.corrupt = v.corrupt.saturating_add(1)
                        }
                        Ok(ChunkCheck::Checked) => v.intact += 1,
                        Ok(ChunkCheck::Unchecked) => v.unchecked += 1,
                        Err(e) => {
                            let count = if was_corrupt {
                                &mut v.corrupt
                            } else {
                                &mut v.unchecked
                            };
                            *count = count.saturating_add(1);
                            if !fault(&e) {
                                return Ok((v, false));
                            }
                        }
                    }
                    was_missing = is_missing;
                }
                let mut next = end;
                // the metadata may state far more chunks than there are files
                if was_corrupt {
                    next = run
                        .next_existing(end, existing.get_or_insert_with(|| run.existing()))
                        .clamp(end, run.count());
                    v.corrupt = v.corrupt.saturating_add(next - end);
                }
                progress(next - first)?;
                first = next;
            }
            if !run.faults().iter().all(&mut *fault) {
                return Ok((v, false));
            }
        }
        Ok((v, true))
    }
}

impl Search<'_> {
    /// Returns the run of chunks of items of `size` bytes in this folder.
    fn run(
        &self,
        dir: DatasetDir,
        many: bool,
        size: u64,
        fill: Option<Arc<[u8]>>,
    ) -> Result<Chunks> {
        let Some(chunk) = &self.meta.chunked else {
            let row = self.meta.row_items()?.saturating_mul(size);
            return Chunks::new(dir, many, self.meta, row, fill, self.config);
        };
        let too_long = || fail!(Format, "chunks of {:?} items are too long", chunk.shape);
        let chunk = nbytes(&chunk.shape, size as usize)
            .ok_or_else(too_long)?
            .max(1);
        let len = self
            .meta
            .chunk_count()?
            .checked_mul(chunk)
            .ok_or_else(too_long)?;
        let lengths = [len, chunk, chunk];
        Ok(Chunks::of_size(
            dir,
            many,
            self.meta,
            lengths,
            fill,
            self.config,
        ))
    }

    /// Opens the items in this folder. Returns true if they are in the BLZ RFC layout.
    fn items(
        &self,
        data: &DatasetDir,
        item: &Type,
        fill: Option<Arc<[u8]>>,
    ) -> Result<(Items, bool)> {
        match &item.kind {
            Kind::Object => Ok((
                Items::Objects(Chunks::objects(data.clone(), self.meta, self.config)),
                false,
            )),
            Kind::Struct(fields) if self.has_field_dirs(data, fields)? => {
                let mut all = Vec::new();
                self.flatten(data, fields, 0, fill.as_deref(), &mut all)?;
                let (item, memory_limit) = (item.size as u64, self.config.memory_limit);
                let (items, chunk_items) = self.meta.item_counts()?;
                Ok((
                    Items::Fields(Fields {
                        all,
                        item,
                        items,
                        chunk_items,
                        memory_limit,
                    }),
                    true,
                ))
            }
            _ => {
                let many = self.has_superchunks(data)?;
                let run = self.run(data.clone(), many, item.size as u64, fill)?;
                Ok((Items::Single(run), many))
            }
        }
    }

    /// Decides by the metadata, then by the data files. Without data files the attribute file
    /// decides: the tools always write one, under another name than the BLZ RFC layout.
    fn has_superchunks(&self, data: &DatasetDir) -> Result<bool> {
        let [tool_file, _] = attrs::FILES;
        let by_attrs = || Ok(!self.dir.has(tool_file)?);
        match self.meta.rows() {
            _ if self.meta.superchunk.is_some() => Ok(true),
            0 => by_attrs(),
            _ => has_superchunks(data, by_attrs),
        }
    }

    /// Returns true if the fields have folders of their own.
    fn has_field_dirs(&self, data: &DatasetDir, fields: &[dtype::Field]) -> Result<bool> {
        let Some(first) = fields.first() else {
            return Ok(false);
        };
        if self.meta.has_field_dirs {
            return Ok(true);
        }
        let has_chunks = |p: &DatasetDir| {
            Ok::<bool, Error>(
                p.has(&super::chunks::file_name(0))? || has_superchunks(p, || Ok(false))?,
            )
        };
        if has_chunks(data)? {
            return Ok(false);
        }
        // some storage does not support folders
        let Ok(inner) = data.subdir(&first.name) else {
            return Ok(false);
        };
        match &first.item.kind {
            _ if data.has(&first.name)? || has_chunks(&inner)? => Ok(true),
            Kind::Struct(fields) => self.has_field_dirs(&inner, fields),
            _ => Ok(false),
        }
    }

    fn flatten(
        &self,
        data: &DatasetDir,
        fields: &[dtype::Field],
        at: usize,
        fill: Option<&[u8]>,
        all: &mut Vec<Field>,
    ) -> Result<()> {
        for f in fields {
            let (inner, offset, size) = (data.subdir(&f.name)?, at + f.offset, f.item.size);
            match &f.item.kind {
                Kind::Struct(fields) if self.has_field_dirs(&inner, fields)? => {
                    self.flatten(&inner, fields, offset, fill, all)?
                }
                _ => {
                    let fill = fill
                        .and_then(|f| f.get(offset..)?.get(..size))
                        .map(Arc::from);
                    let many = self.has_superchunks(&inner)?;
                    let chunks = self.run(inner, many, size as u64, fill)?;
                    all.push(Field {
                        offset,
                        size,
                        item: f.item.clone(),
                        chunks,
                    });
                }
            }
        }
        Ok(())
    }
}

impl Drop for ArrayFile {
    /// Removes uncommitted files as far as possible.
    fn drop(&mut self) {
        let Some(writer) = self.writer.take().filter(|w| w.session.is_own()) else {
            return;
        };
        self.edits().into_iter().for_each(Edit::clear);
        let chunk_dirs = self.chunk_dirs();
        writer.close(&chunk_dirs);
    }
}
