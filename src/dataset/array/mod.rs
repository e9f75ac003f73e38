//! The array of one dataset, as what holds the content of an [`Array`](crate::array::Array).
#![forbid(unsafe_code)]

mod store;

use super::attrs::{self, Attrs};
use super::chunks::{Chunks, How, Sound, has_superchunks, is_damage};
use super::commit::Writer;
use super::create;
use super::edit::Edit;
use super::fields::{Field, Fields};
use super::fill_value;
use super::folder::Place;
use super::meta::{self, Meta, SIZES, STORAGE};
use super::text_checksum::sealed;
use crate::array::Array;
use crate::array::dtype::{self, Dtype, Kind, Type};
use crate::array::store::Store;
use crate::checksum::Sum;
use crate::error::{Error, Result, Status, fail};
use crate::identify::Format;
use crate::json::Value;
use crate::options::Options;
use crate::parallel;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Where the data are.
const DATA: &str = "data";

/// How the items are stored.
enum Items {
    /// As they are.
    Whole(Chunks),
    /// Each field by itself.
    Apart(Fields),
    /// As Python's objects, each by itself.
    Objects(Chunks),
}

/// An open dataset, or a column of one.
pub struct ArrayFile {
    name: String,
    items: Items,
    /// What it says of itself.
    pub meta: Meta,
    attrs: Attrs,
    fill: OnceLock<Result<Option<Vec<u8>>>>,
    how: How,
    /// Is it stored as the papers have it?
    pub as_in_papers: bool,
    /// Where its attributes are put down.
    pub(super) attrs_file: &'static str,
    /// Who may change it.
    writer: Option<Writer>,
}

/// What [`ArrayFile::verify`] counts: chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Those whose checksums fit.
    pub sound: u64,
    /// Those that are damaged, or not there.
    pub bad: u64,
    /// Those that can be decoded, and have no checksum; and those with a codec or a filter that is
    /// not known.
    pub unchecked: u64,
}

/// What is needed to find the items.
struct Search<'a> {
    place: &'a Place,
    meta: &'a Meta,
    how: &'a How,
}

impl ArrayFile {
    /// The array in this folder.
    pub fn open(place: &Place, meta: Meta, how: &How) -> Result<ArrayFile> {
        let attrs = Attrs::read(
            place,
            how.memory_limit,
            meta.checksum != Sum::None,
            how.skip_damaged,
        )?;
        let item = meta.array.dtype.item.clone();
        ArrayFile::of(place, place.down(DATA)?, &item, meta, attrs, how)
    }

    /// The array in this folder, to be changed.
    pub fn open_for_writing(
        place: &Place,
        meta: Meta,
        how: &How,
        options: &Options,
        writer: Writer,
    ) -> Result<ArrayFile> {
        let mut file = ArrayFile::open(place, meta, how)?;
        if writer.is_first() {
            // nothing of what may be there counts
            let row = file
                .meta
                .row_items()?
                .saturating_mul(file.meta.array.dtype.item.size as u64);
            let many = file.meta.superchunk.is_some();
            file.items = Items::Whole(Chunks::new(
                place.down(DATA)?,
                many,
                &file.meta,
                row,
                None,
                how,
            )?);
            (file.attrs, file.as_in_papers) = (Attrs::default(), many);
        }
        let [tools, papers] = attrs::FILES;
        let is_tools = !file.as_in_papers || (!writer.is_new() && place.has(tools)?);
        file.attrs_file = if is_tools { tools } else { papers };
        file.for_writing(options, writer)
    }

    /// What was opened to be read may be changed from now on.
    pub fn for_writing(mut self, options: &Options, writer: Writer) -> Result<ArrayFile> {
        let (all, meta, how, name) = (self.nbytes().max(1), &self.meta, &self.how, &self.name);
        let runs = match &mut self.items {
            Items::Whole(chunks) => vec![(&meta.array.dtype.item, chunks)],
            Items::Apart(fields) => fields
                .all
                .iter_mut()
                .map(|f| (&f.item, &mut f.chunks))
                .collect(),
            Items::Objects(_) => {
                return Err(fail!(
                    Unsupported,
                    "{name}: an array of objects of Python's can be read only"
                ));
            }
        };
        for (item, chunks) in runs {
            let there = || chunks.first_header()?.codec().ok();
            let params = create::params(&meta.storage, &there, item, options)
                .map_err(|e| e.within(format_args!("{name}/{STORAGE}")))?;
            let (make, each) = create::make(chunks, params, meta, options)?;
            let unit = chunks
                .chunk_bytes()
                .checked_mul(each)
                .filter(|n| usize::try_from(*n).is_ok());
            let unit = unit.ok_or_else(|| {
                fail!(
                    Limit,
                    "{name}: superchunks of {each} chunks of {} bytes",
                    chunks.chunk_bytes()
                )
            })?;
            let cbytes = (meta.cbytes as f64 * chunks.nbytes() as f64 / all as f64) as u64;
            let edit = Edit::new(
                chunks.place(),
                make,
                [unit, chunks.nbytes(), cbytes, how.memory_limit],
                how.threads,
            );
            edit.tidy(writer.is_durable())?;
            chunks.forget();
            chunks.edit = Some(Box::new(edit));
        }
        self.writer = Some(writer);
        Ok(self)
    }

    /// The fields of the array in this folder, each an array, where they are stored apart.
    pub fn fields(
        place: &Place,
        meta: &Meta,
        how: &How,
    ) -> Result<Option<Vec<(String, ArrayFile)>>> {
        let data = place.down(DATA)?;
        let Kind::Struct(fields) = &meta.array.dtype.item.kind else {
            return Ok(None);
        };
        if !(Search { place, meta, how }).is_apart(&data, fields)? {
            return Ok(None);
        }
        let (own, size) = (meta.of_field(), meta.array.dtype.item.size);
        let field = |f: &dtype::Field| {
            Ok((
                f.name.clone(),
                ArrayFile::field(place, &data.down(&f.name)?, &f.item, (&own, size), how)?,
            ))
        };
        fields.iter().map(field).collect::<Result<_>>().map(Some)
    }

    /// One of them, in this folder of data: rows of a shape where it is an array of items. `all`:
    /// what the dataset says of its fields, and the bytes of an item of it.
    pub fn field(
        place: &Place,
        data: &Place,
        item: &Type,
        all: (&Meta, usize),
        how: &How,
    ) -> Result<ArrayFile> {
        let mut meta = all.0.clone();
        // nobody has put down how much of it is this one's
        let of_all = meta.cbytes as f64 * item.size as f64 / all.1.max(1) as f64;
        meta.cbytes = of_all as u64;
        let item = match &item.kind {
            Kind::Array(of, shape) if !matches!(of.kind, Kind::Struct(_)) => {
                meta.array.shape.extend(shape.iter().map(|n| *n as u64));
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
        ArrayFile::of(place, data.clone(), item, meta, Attrs::default(), how)
    }

    /// The folders of its chunks, each with at most how many files.
    pub fn ways(&self) -> Vec<(Place, u64)> {
        self.runs()
            .iter()
            .map(|run| (run.place().clone(), run.count()))
            .collect()
    }

    /// Bytes of a row of each of them.
    pub fn row_bytes(&self) -> Vec<u64> {
        self.runs().iter().map(|run| run.row).collect()
    }

    /// The chunks of each of them that are damaged, or not there.
    pub fn damaged(&self) -> Result<Vec<Vec<Range<u64>>>> {
        let bad = |run: &Chunks| {
            let (mut bad, mut i): (Vec<Range<u64>>, u64) = (Vec::new(), 0);
            let mut there = None;
            while i < run.count() {
                let next = match run.check(i) {
                    Err(e) if is_damage(e.status) => run
                        .next_there(i + 1, there.get_or_insert_with(|| run.there()))
                        .clamp(i + 1, run.count()),
                    done => {
                        done?;
                        i += 1;
                        continue;
                    }
                };
                match bad.last_mut().filter(|last| last.end == i) {
                    Some(last) => last.end = next,
                    None => bad.push(i..next),
                }
                i = next;
            }
            Ok(bad)
        };
        self.runs().into_iter().map(bad).collect()
    }

    /// Writes the files with these chunks anew, with what can be read of them. `before` is called
    /// with each.
    pub fn write_anew(
        &mut self,
        run: usize,
        chunks: impl Iterator<Item = u64>,
        before: &dyn Fn(&Place, &str) -> Result<()>,
    ) -> Result<()> {
        self.writer()?;
        match self.runs_mut().into_iter().nth(run) {
            Some(run) => run.write_anew(chunks, before),
            None => Ok(()),
        }
    }

    /// Makes those folders.
    pub fn make_folders(&self) -> Result<()> {
        self.ways()
            .iter()
            .try_for_each(|(way, _)| way.make_folders())
    }

    fn of(
        place: &Place,
        data: Place,
        item: &Type,
        mut meta: Meta,
        attrs: Attrs,
        how: &How,
    ) -> Result<ArrayFile> {
        // only who skips damage needs it now
        let fill = if how.skip_damaged {
            fill_value::bytes(&meta.dflt, item, meta.row(), how.memory_limit)?
        } else {
            None
        };
        let (items, as_in_papers) = Search {
            place,
            meta: &meta,
            how,
        }
        .items(&data, item, fill.map(Arc::from))?;
        if matches!(items, Items::Objects(_)) {
            meta.array.dtype.item.size = 0;
        }
        if let Items::Whole(chunks) = &items {
            chunks.refuse_lost()?;
        } else if let Items::Apart(fields) = &items {
            fields.all.iter().try_for_each(|f| f.chunks.refuse_lost())?;
        }
        let name = data.show("");
        let name = name.strip_suffix("/data").unwrap_or(&name).to_owned();
        Ok(ArrayFile {
            name,
            items,
            meta,
            attrs,
            fill: OnceLock::new(),
            how: how.clone(),
            as_in_papers,
            attrs_file: attrs::FILES[0],
            writer: None,
        })
    }

    /// Whose form it has.
    pub fn format(&self) -> Format {
        match self.meta.has("bparams") && !self.meta.has("cparams") {
            _ if self.as_in_papers => Format::BlzPaper,
            true => Format::Blz,
            false => Format::Bcolz,
        }
    }

    /// The array over it.
    pub fn into_array(self) -> Result<Array> {
        let chunkshape = [&[self.meta.chunklen], self.meta.row()].concat();
        let (meta, options) = (self.meta.array.clone(), self.how.options.clone());
        Array::over(Box::new(self), meta, chunkshape, &options)
    }

    // ---- what a commit asks for

    pub(super) fn writer(&mut self) -> Result<&mut Writer> {
        let none = fail!(State, "{}: it was opened to be read", self.name);
        let writer = self.writer.as_mut().ok_or(none)?;
        writer.site.check().map(|()| writer)
    }

    /// What waits in every run of chunks.
    pub(super) fn edits(&mut self) -> Vec<&mut Edit> {
        self.runs_mut()
            .into_iter()
            .filter_map(Chunks::editing)
            .collect()
    }

    /// The same, and how many bytes of content each has.
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

    /// Has it another length than the last commit?
    fn is_resized(&self) -> bool {
        self.runs().iter().any(|run| {
            run.edit
                .as_ref()
                .is_some_and(|e| e.committed != run.nbytes())
        })
    }

    /// Is something to be committed besides small files?
    pub(super) fn is_changed(&mut self) -> bool {
        self.is_resized() || self.edits().iter().any(|e| e.has_waiting())
    }

    /// What was appended to files that are there goes into them.
    pub(super) fn append_tails(&mut self, durable: bool) -> Result<()> {
        self.edits()
            .into_iter()
            .try_for_each(|e| e.append_tail(durable))?;
        self.forget();
        Ok(())
    }

    /// Refuses what a column has not by itself.
    fn refuse_field(&mut self, what: &str) -> Result<()> {
        let is_field = self.writer()?.is_field;
        if is_field {
            Err(fail!(
                Unsupported,
                "{}: a column in the papers' form has no {what} of its own: the table has",
                self.name
            ))
        } else {
            Ok(())
        }
    }

    fn changing(&mut self) -> Result<&mut Items> {
        self.writer()?;
        Ok(&mut self.items)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer()?;
        self.runs_mut().into_iter().try_for_each(Chunks::flush)
    }

    /// Chunks are in other files from now on.
    pub(super) fn forget(&self) {
        self.runs().into_iter().for_each(Chunks::forget);
    }

    pub(super) fn break_off(&mut self) {
        self.writer.iter().for_each(Writer::break_off);
        // a journal may tell of them
        self.edits()
            .into_iter()
            .for_each(|e| e.waiting = Vec::new());
    }

    /// Files with chunks of the last commit; none before the first.
    pub fn committed_files(&mut self) -> Option<u64> {
        let first = self.writer.as_ref().is_none_or(Writer::is_first);
        self.edits()
            .into_iter()
            .next()
            .filter(|_| !first)
            .map(|e| e.committed.div_ceil(e.unit))
    }

    /// The small files that a commit has to write.
    pub(super) fn texts(&mut self) -> Result<Vec<(&'static str, String)>> {
        let (len, grown) = (self.nbytes(), self.is_resized());
        let cbytes = self.cbytes()?;
        let writer = self.writer()?;
        if writer.is_field {
            return Ok(Vec::new());
        }
        let (storage, attrs, counts) = (
            writer.storage_changed,
            writer.attrs_changed,
            grown || writer.shape_changed,
        );
        let mut texts = Vec::new();
        if attrs {
            texts.push((self.attrs_file, self.attrs.to_json()));
        }
        if storage {
            texts.push((STORAGE, meta::to_json(&self.meta.storage) + "\n"));
        }
        if counts {
            texts.push((SIZES, meta::sizes(&self.meta.array.shape, len, cbytes)));
        }
        if self.meta.checksum != Sum::None {
            texts
                .iter_mut()
                .for_each(|(_, text)| *text = sealed(std::mem::take(text)));
        }
        Ok(texts)
    }

    fn runs_mut(&mut self) -> Vec<&mut Chunks> {
        match &mut self.items {
            Items::Whole(chunks) | Items::Objects(chunks) => vec![chunks],
            Items::Apart(fields) => fields.all.iter_mut().map(|f| &mut f.chunks).collect(),
        }
    }

    /// Every run of chunks in it.
    fn runs(&self) -> Vec<&Chunks> {
        match &self.items {
            Items::Whole(chunks) | Items::Objects(chunks) => vec![chunks],
            Items::Apart(fields) => fields.all.iter().map(|f| &f.chunks).collect(),
        }
    }

    /// How many chunks it has.
    pub fn chunks(&self) -> u64 {
        self.runs()
            .iter()
            .map(|c| c.count())
            .fold(0, u64::saturating_add)
    }

    /// Reads every chunk and checks all that can be; tells each fault to `fault`, until it returns
    /// false, and `told` how many chunks were looked at.
    pub fn verify(
        &self,
        fault: &mut dyn FnMut(&Error) -> bool,
        told: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<(Verified, bool)> {
        let mut v = Verified::default();
        if self.attrs.damage().is_some_and(|e| !fault(e)) {
            return Ok((v, false));
        }
        let group = self.how.threads.count() as u64 * 4;
        for run in self.runs() {
            let (mut first, mut was_missing, mut was_bad, mut there) = (0, false, false, None);
            while first < run.count() {
                let end = run.count().min(first + group);
                let mut found: Vec<(u64, Result<Sound>)> =
                    (first..end).map(|i| (i, Ok(Sound::Unchecked))).collect();
                parallel::for_each(
                    self.how.threads.count(),
                    found.iter_mut().collect(),
                    |(i, sound): &mut (u64, _)| *sound = run.check(*i),
                );
                for (_, sound) in found {
                    was_bad = sound.as_ref().is_err_and(|e| !e.is_unsupported());
                    let is_missing = sound.as_ref().is_err_and(|e| e.status == Status::Missing);
                    match sound {
                        // one fault for all that are missing behind each other: there may be very
                        // many
                        Err(_) if is_missing && was_missing => v.bad = v.bad.saturating_add(1),
                        Ok(Sound::Checked) => v.sound += 1,
                        Ok(Sound::Unchecked) => v.unchecked += 1,
                        Err(e) => {
                            let count = if was_bad {
                                &mut v.bad
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
                // it may say that it has far more chunks than there is anything of
                if was_bad {
                    next = run
                        .next_there(end, there.get_or_insert_with(|| run.there()))
                        .clamp(end, run.count());
                    v.bad = v.bad.saturating_add(next - end);
                }
                told(next - first)?;
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
    /// The items in this folder; and whether they are as the papers have it.
    fn items(&self, data: &Place, item: &Type, fill: Option<Arc<[u8]>>) -> Result<(Items, bool)> {
        let row_items = self.meta.row_items()?;
        match &item.kind {
            Kind::Object => Ok((
                Items::Objects(Chunks::objects(data.clone(), self.meta, self.how)),
                false,
            )),
            Kind::Struct(fields) if self.is_apart(data, fields)? => {
                let mut all = Vec::new();
                self.flatten(data, fields, 0, row_items, fill.as_deref(), &mut all)?;
                let (rows, item, memory_limit) =
                    (self.meta.rows(), item.size as u64, self.how.memory_limit);
                let chunk_items = self.meta.chunklen.saturating_mul(row_items);
                Ok((
                    Items::Apart(Fields {
                        all,
                        item,
                        items: rows.saturating_mul(row_items),
                        chunk_items,
                        memory_limit,
                    }),
                    true,
                ))
            }
            _ => {
                let row = row_items.saturating_mul(item.size as u64);
                let many = self.has_superchunks(data)?;
                Ok((
                    Items::Whole(Chunks::new(
                        data.clone(),
                        many,
                        self.meta,
                        row,
                        fill,
                        self.how,
                    )?),
                    many,
                ))
            }
        }
    }

    /// It says so, or the files do. Where nothing is there to tell by: the tools write attributes
    /// always, and in another file than the papers.
    fn has_superchunks(&self, data: &Place) -> Result<bool> {
        let [tools, _] = attrs::FILES;
        let by_attrs = || Ok(!self.place.has(tools)?);
        match self.meta.rows() {
            _ if self.meta.superchunk.is_some() => Ok(true),
            0 => by_attrs(),
            _ => has_superchunks(data, by_attrs),
        }
    }

    /// Have the fields folders of their own?
    fn is_apart(&self, data: &Place, fields: &[dtype::Field]) -> Result<bool> {
        let Some(first) = fields.first() else {
            return Ok(false);
        };
        if self.meta.apart {
            return Ok(true);
        }
        let has_chunks = |p: &Place| {
            Ok::<bool, Error>(
                p.has(&super::chunks::file_name(0))? || p.has(&super::superchunks::name(1))?,
            )
        };
        if has_chunks(data)? {
            return Ok(false);
        }
        // not every storage knows of folders
        let Ok(inner) = data.down(&first.name) else {
            return Ok(false);
        };
        match &first.item.kind {
            _ if data.has(&first.name)? || has_chunks(&inner)? => Ok(true),
            Kind::Struct(fields) => self.is_apart(&inner, fields),
            _ => Ok(false),
        }
    }

    fn flatten(
        &self,
        data: &Place,
        fields: &[dtype::Field],
        at: usize,
        row_items: u64,
        fill: Option<&[u8]>,
        all: &mut Vec<Field>,
    ) -> Result<()> {
        for f in fields {
            let (inner, offset, size) = (data.down(&f.name)?, at + f.offset, f.item.size);
            match &f.item.kind {
                Kind::Struct(fields) if self.is_apart(&inner, fields)? => {
                    self.flatten(&inner, fields, offset, row_items, fill, all)?
                }
                _ => {
                    let fill = fill
                        .and_then(|f| f.get(offset..)?.get(..size))
                        .map(Arc::from);
                    let many = self.has_superchunks(&inner)?;
                    let chunks = Chunks::new(
                        inner,
                        many,
                        self.meta,
                        row_items.saturating_mul(size as u64),
                        fill,
                        self.how,
                    )?;
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
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        let Some(writer) = self.writer.take().filter(|w| w.site.is_own()) else {
            return;
        };
        self.edits().into_iter().for_each(Edit::clear);
        let ways = self.ways();
        writer.close(&ways);
    }
}
