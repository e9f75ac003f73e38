//! Repair of an array with one file per chunk.
//!
//! The repair first decides what can be recovered and changes nothing meanwhile. Then it writes the
//! new files beside the old ones, as a commit does. They take effect at once, together with those
//! of the other columns if the array is a column of a table. Corrupt files stay in the folder under
//! another name, so that more can be recovered from them by other means.
#![forbid(unsafe_code)]

use super::attrs::{Attrs, FILES};
use super::chunk_file::{ChunkFile, HEADER};
use super::chunks::{file_name, has_superchunks, is_corrupt_or_missing, number};
use super::commit::write_new;
use super::create;
use super::edit::{FileLayout, UnitEncoder};
use super::fill_value;
use super::folder::DatasetDir;
use super::meta::{Meta, SIZES, STORAGE, parse, sizes};
use super::text_checksum::{self, with_checksum};
use crate::alloc;
use crate::array::store::repeat;
use crate::blosc::block_cache::BlockCache;
use crate::checksum::Checksum;
use crate::dtype::Kind;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::Session;
use crate::io::{self, Access};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::parallel;
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Number of file names that are tried where the storage cannot list its files.
const PROBES: u64 = if cfg!(fuzzing) { 8 } else { 4096 };
/// Suffix of the copies of corrupt files, and maximum number of copies per name.
const DAMAGED: &str = ".holdall-damaged";
const MAX_DAMAGED: usize = 1000;

/// How a dataset is repaired.
pub struct RepairSettings {
    options: Options,
    limit: u64,
    threads: usize,
    durable: bool,
    /// True if corrupt chunks are replaced by the default value.
    pub skip: bool,
    /// True if checksums of metadata files are not verified.
    pub trust: bool,
}

impl RepairSettings {
    /// Returns true if the written files are synced.
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// Reads the settings from options.
    pub fn new(options: &Options) -> RepairSettings {
        RepairSettings {
            options: options.clone(),
            limit: options.memory_limit(),
            threads: options.threads().count(),
            durable: options.get(Opt::Durability, 1) == 1,
            skip: options.get(Opt::SkipDamaged, 0) == 1,
            trust: options.get(Opt::Verify, 1) == 0,
        }
    }
}

/// State of a chunk file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    /// The chunk is intact and has this number of content bytes.
    Intact(u64),
    Damaged,
}

/// What a repair does with one array.
pub struct RepairPlan {
    dir: DatasetDir,
    data: DatasetDir,
    meta: Meta,
    /// Size in bytes of a row, and of a chunk.
    row: u64,
    chunk: u64,
    /// Number of rows after the repair.
    pub rows: u64,
    /// Number of rows in `meta/sizes`, if that file is intact.
    stored_rows: Option<u64>,
    chunk_states: BTreeMap<u64, ChunkState>,
    /// Chunks that are replaced by the default value.
    filled: Vec<u64>,
    /// Metadata files that are corrupt, and those that are rewritten.
    damaged: Vec<&'static str>,
    texts: Vec<(&'static str, String)>,
    /// Number of chunks before the repair.
    chunks_before: u64,
    /// Number of attribute files that are lost.
    attrs_lost: u64,
}

/// Files that were written for a commit: those that it renames, and those that it removes.
#[derive(Default)]
pub struct PreparedFiles {
    new: Vec<OsString>,
    removed: Vec<OsString>,
}

impl RepairPlan {
    /// Inspects an array completely and plans its repair. Changes nothing.
    pub fn new(dir: &DatasetDir, settings: &RepairSettings) -> Result<RepairPlan> {
        let dir = dir.trusted(settings.trust);
        let (meta, is_new) = storage(&dir, settings)?;
        let data = dir.subdir("data")?;
        let mut plan = RepairPlan {
            dir,
            data,
            meta,
            row: 0,
            chunk: 1,
            rows: 0,
            stored_rows: None,
            chunk_states: BTreeMap::new(),
            filled: Vec::new(),
            damaged: Vec::new(),
            texts: Vec::new(),
            chunks_before: 0,
            attrs_lost: 0,
        };
        plan.refuse_others()?;
        if is_new {
            plan.texts.push((STORAGE, plan.meta.storage.to_string()));
        }
        let damaged_text = plan.sizes(settings)?;
        plan.scan_chunks(settings)?;
        if let Some(damaged_text) = damaged_text {
            plan.find_rows(&damaged_text)?;
        }
        plan.decide(settings)?;
        plan.attrs(settings)?;
        Ok(plan)
    }

    fn refuse_others(&self) -> Result<()> {
        let name = self.dir.show("");
        if self.meta.has_objects() {
            return Err(fail!(
                Unsupported,
                "{name}: arrays of Python objects cannot be repaired"
            ));
        }
        if self
            .meta
            .chunked
            .as_ref()
            .is_some_and(|chunk| chunk.shape.len() > 1)
        {
            return Err(fail!(
                Unsupported,
                "{name}: an array in chunks along every dimension, with a file for each, cannot be repaired"
            ));
        }
        let has_field_dirs = match &self.meta.array.dtype.item.kind {
            Kind::Struct(fields) => fields
                .first()
                .map(|f| self.data.has(&f.name))
                .transpose()?
                .unwrap_or(false),
            _ => false,
        };
        if has_field_dirs || has_superchunks(&self.data, || Ok(false))? {
            return Err(fail!(
                Unsupported,
                "{name}: the chunks are in superchunk files; repair each of these files by itself"
            ));
        }
        Ok(())
    }

    /// Reads `meta/sizes`. Returns its text if it is corrupt.
    fn sizes(&mut self, settings: &RepairSettings) -> Result<Option<Vec<u8>>> {
        let read = self.dir.read(SIZES, settings.limit).and_then(|text| {
            let text = text.ok_or_else(|| fail!(Missing, "none"))?;
            self.meta.apply_sizes(&parse(&text)?, settings.trust)
        });
        match read {
            Ok(()) => {
                let rows = self.meta.rows();
                self.row = self
                    .meta
                    .row_items()?
                    .saturating_mul(self.meta.array.dtype.item.size as u64);
                (self.stored_rows, self.rows) = (Some(rows), rows);
                self.chunk = self.meta.chunklen.saturating_mul(self.row).max(1);
                Ok(None)
            }
            Err(e) if is_corrupt_or_missing(e.status) => {
                if e.status != Status::Missing {
                    self.damaged.push(SIZES);
                }
                self.dir
                    .trusted(true)
                    .read(SIZES, settings.limit)
                    .map(|text| Some(text.unwrap_or_default()))
            }
            Err(e) => Err(e),
        }
    }

    /// Reads every chunk file.
    fn scan_chunks(&mut self, settings: &RepairSettings) -> Result<()> {
        let names = self.data.list("");
        let numbers: Vec<u64> = if names.is_empty() {
            (0..PROBES)
                .filter(|i| self.data.has(&file_name(*i)).unwrap_or(false))
                .collect()
        } else {
            names.iter().filter_map(|n| number(n.to_str()?)).collect()
        };
        let threads = if self.dir.folder().is_foreign() {
            1
        } else {
            settings.threads
        };
        let content = self.chunk.saturating_mul(numbers.len() as u64);
        let scope = Scope::open(settings.options.progress(), content, Step::Call);
        for (done, group) in numbers.chunks(threads.max(1) * 4).enumerate() {
            scope.at_part((done * threads.max(1) * 4) as u64, numbers.len() as u64)?;
            let mut found: Vec<(u64, Result<ChunkState>)> = group
                .iter()
                .map(|i| (*i, Ok(ChunkState::Damaged)))
                .collect();
            parallel::for_each(
                threads,
                found.iter_mut().collect(),
                |(i, found): &mut (u64, _)| *found = self.check_chunk(*i, settings.limit),
            );
            for (i, found) in found {
                self.chunk_states.insert(i, found?);
            }
        }
        Ok(())
    }

    fn check_chunk(&self, i: u64, limit: u64) -> Result<ChunkState> {
        let name = file_name(i);
        let read = || {
            let file = ChunkFile::open(
                self.data.open(&name, Access::Read)?,
                self.meta.checksum,
                limit,
            )?;
            let n = file.nbytes() as u64;
            // a file with more content than a chunk does not belong to this array and is not
            // decoded
            if self.stored_rows.is_none() || n <= self.chunk {
                file.read(
                    0,
                    &mut alloc::zeroed(alloc::allow(n, limit, "a chunk")?)?,
                    true,
                    1,
                    &BlockCache::new(Some(0)),
                )?;
            }
            Ok::<_, Error>(ChunkState::Intact(n))
        };
        match read() {
            Err(e) if matches!(e.status, Status::Format | Status::Checksum) => {
                Ok(ChunkState::Damaged)
            }
            // an unknown codec or version, or a changed byte that looks like one
            Err(e) if is_corrupt_or_missing(e.status) && self.digest_differs(&name, limit)? => {
                Ok(ChunkState::Damaged)
            }
            found => found.map_err(|e| e.within(self.data.show(&name))),
        }
    }

    fn digest_differs(&self, name: &str, limit: u64) -> Result<bool> {
        let file = self.data.open(name, Access::Read)?;
        let mut bytes = alloc::zeroed(alloc::allow(file.size()?, limit, "a stored chunk")?)?;
        file.read_exact_at(0, &mut bytes)?;
        let (sum, end) = (
            self.meta.checksum,
            bytes.len().saturating_sub(self.meta.checksum.size()),
        );
        let (chunk, digest) = (
            bytes.get(HEADER.len()..end).unwrap_or_default(),
            bytes.at(end..)?,
        );
        Ok(sum != Checksum::None && sum.of(chunk) != digest)
    }

    /// Determines the number of rows if `meta/sizes` is lost: all rows up to the first chunk that
    /// is not full.
    fn find_rows(&mut self, damaged_text: &[u8]) -> Result<()> {
        let item = self.meta.array.dtype.item.size as u64;
        let intact_len = |found: &ChunkState| {
            if let ChunkState::Intact(n) = found {
                Some(*n)
            } else {
                None
            }
        };
        let most = self
            .chunk_states
            .values()
            .filter_map(intact_len)
            .max()
            .unwrap_or(0);
        let lost = || {
            fail!(
                Format,
                "{}: the shape of a row is lost, and {most} bytes of a chunk do not determine it",
                self.dir.show(SIZES)
            )
        };
        let row = match self.row_shape(damaged_text) {
            Some(row) => row,
            // a single chunk need not be full
            None if most <= self.meta.chunklen.saturating_mul(item)
                && self.chunk_states.len() < 2 =>
            {
                Vec::new()
            }
            None if most == self.meta.chunklen.saturating_mul(item) || most == 0 => Vec::new(),
            None if most.is_multiple_of(self.meta.chunklen.saturating_mul(item).max(1)) => {
                vec![most / self.meta.chunklen / item.max(1)]
            }
            None => return Err(lost()),
        };
        self.meta.array.shape = [&[0], &row[..]].concat();
        self.row = self.meta.row_items()?.saturating_mul(item);
        self.chunk = self.meta.chunklen.saturating_mul(self.row).max(1);
        if most > self.chunk || self.row == 0 {
            return Err(lost());
        }
        for (i, found) in &self.chunk_states {
            match intact_len(found).filter(|n| n.is_multiple_of(self.row)) {
                Some(n) => {
                    self.rows = i
                        .saturating_mul(self.meta.chunklen)
                        .saturating_add(n / self.row)
                }
                None => continue,
            }
            if intact_len(found) != Some(self.chunk) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the shape of a row from `meta/storage`, or from the remains of `meta/sizes`.
    fn row_shape(&self, damaged_text: &[u8]) -> Option<Vec<u64>> {
        if let Some(Value::Array(shape)) = self.meta.storage.get("chunkshape") {
            return shape.iter().skip(1).map(Value::as_u64).collect();
        }
        let text = String::from_utf8_lossy(damaged_text);
        let (_, rest) = text.split_once("\"shape\"")?.1.split_once('[')?;
        let numbers: Option<Vec<u64>> = rest
            .split_once(']')?
            .0
            .split(',')
            .map(|n| n.trim().parse().ok())
            .collect();
        numbers?.get(1..).map(<[u64]>::to_vec)
    }

    /// Returns the number of bytes of a chunk that are part of the content.
    fn chunk_len(&self, i: u64) -> u64 {
        self.rows
            .saturating_mul(self.row)
            .saturating_sub(i.saturating_mul(self.chunk))
            .min(self.chunk)
    }

    fn count(&self) -> u64 {
        self.rows.saturating_mul(self.row).div_ceil(self.chunk)
    }

    /// Decides which chunks are cut off and which are replaced.
    fn decide(&mut self, settings: &RepairSettings) -> Result<()> {
        let count = self.count();
        let fits = |i: u64, n: u64| {
            let expected = self.chunk_len(i);
            n == expected
                || (i + 1 == count
                    && (expected..=self.chunk).contains(&n)
                    && n.is_multiple_of(self.row))
        };
        let intact: Vec<u64> = self
            .chunk_states
            .range(..count)
            .filter(|(i, f)| matches!(f, ChunkState::Intact(n) if fits(**i, *n)))
            .map(|(i, _)| *i)
            .collect();
        let next = intact.last().map_or(0, |i| i + 1);
        // a chunk that is too short becomes the last one if it consists of complete rows
        let rest = match self.chunk_states.get(&next) {
            Some(ChunkState::Intact(n))
                if *n < self.chunk_len(next) && n.is_multiple_of(self.row) =>
            {
                n / self.row
            }
            _ => 0,
        };
        let corrupt = count - intact.len() as u64;
        let name = self.dir.show("");
        if corrupt > 0 && intact.is_empty() && rest == 0 {
            return Err(fail!(
                Format,
                "{name}: none of its {count} chunks is intact, so nothing can be repaired"
            ));
        }
        if settings.skip && corrupt > self.chunk_states.len() as u64 {
            return Err(fail!(
                Format,
                "{name}: {corrupt} of its chunks are lost, more than exist; nothing was changed"
            ));
        }
        self.chunks_before = count;
        if settings.skip {
            self.filled = (0..count)
                .filter(|i| intact.binary_search(i).is_err())
                .collect();
        } else if let Some(first) = (0..next)
            .zip(&intact)
            .find(|(i, intact)| i != *intact)
            .map(|(i, _)| i)
        {
            let message = "is corrupt, and later ones are intact; nothing was changed; use HOLDALL_OPT_SKIP_DAMAGED to replace it by the default value";
            return Err(fail!(
                Format,
                "{}: chunk {first} {message}",
                self.data.show(&file_name(first))
            )
            .at(first));
        } else if next < count {
            self.rows = next.saturating_mul(self.meta.chunklen).saturating_add(rest);
        }
        Ok(())
    }

    fn attrs(&mut self, settings: &RepairSettings) -> Result<()> {
        let has_checksum = self.meta.checksum != Checksum::None;
        let (damaged, is_new) = damaged_attrs(&self.dir, settings.limit, has_checksum)?;
        self.attrs_lost = damaged.len() as u64;
        self.damaged.extend(damaged);
        if is_new {
            self.texts.push((FILES[0], "{}\n".to_owned()));
        }
        Ok(())
    }

    /// Reduces the number of rows that remain.
    pub fn cut(&mut self, rows: u64) {
        self.rows = self.rows.min(rows);
        let count = self.count();
        self.filled.retain(|i| *i < count);
    }

    /// Returns the number of chunks that are retained.
    pub fn retained(&self) -> u64 {
        self.count() - self.filled.len() as u64
    }

    /// Returns the number of chunks and attribute files that are lost.
    pub fn dropped(&self) -> u64 {
        self.chunks_before - self.retained() + self.attrs_lost
    }

    /// Returns true if nothing has to be repaired.
    fn is_intact(&self) -> bool {
        self.stored_rows == Some(self.rows)
            && self.filled.is_empty()
            && self.texts.is_empty()
            && self.damaged.is_empty()
    }

    /// Writes the new files beside the old ones and syncs them.
    pub fn prepare(
        &mut self,
        settings: &RepairSettings,
        prepared: &mut PreparedFiles,
    ) -> Result<()> {
        if self.is_intact() {
            return Ok(());
        }
        for name in &self.damaged {
            back_up(&self.dir, name, settings.durable)?;
        }
        let count = self.count();
        // chunks that were part of the array, or may have been
        let is_dropped =
            |i: u64| i >= count && (i < self.chunks_before || self.stored_rows.is_none());
        for (i, _) in self.chunk_states.iter().filter(|(i, f)| {
            is_dropped(**i) || (**i < self.chunks_before && **f == ChunkState::Damaged)
        }) {
            back_up(&self.data, &file_name(*i), settings.durable)?;
        }
        self.fill(settings, prepared)?;
        self.meta
            .array
            .shape
            .first_mut()
            .into_iter()
            .for_each(|n| *n = self.rows);
        let size = |i: &u64| {
            self.data
                .open(&file_name(*i), Access::Read)
                .and_then(|f| f.size())
                .unwrap_or(0)
        };
        let cbytes: u64 = self
            .chunk_states
            .keys()
            .filter(|i| **i < count)
            .map(size)
            .sum();
        let nbytes = self.rows.saturating_mul(self.row);
        self.texts
            .push((SIZES, sizes(&self.meta.array.shape, nbytes, cbytes, false)));
        if self.meta.checksum != Checksum::None {
            self.texts
                .iter_mut()
                .for_each(|(_, text)| *text = with_checksum(std::mem::take(text)));
        }
        prepared.texts(&self.dir, &self.texts, &self.damaged, settings)
    }

    /// Writes the chunks that are replaced by the default value, with the rows of theirs that are
    /// intact.
    fn fill(&self, settings: &RepairSettings, prepared: &mut PreparedFiles) -> Result<()> {
        let item = &self.meta.array.dtype.item;
        let value = fill_value::bytes(&self.meta.dflt, item, self.meta.row(), settings.limit)?;
        let params = create::params(&self.meta.storage, &|| None, item, &Options::new())?;
        let make = UnitEncoder::Chunk(params, self.meta.checksum);
        for i in &self.filled {
            let mut content =
                alloc::zeroed(alloc::allow(self.chunk_len(*i), settings.limit, "a chunk")?)?;
            repeat(value.as_deref(), i.saturating_mul(self.chunk), &mut content);
            if let Some(ChunkState::Intact(n)) = self.chunk_states.get(i) {
                let file = ChunkFile::open(
                    self.data.open(&file_name(*i), Access::Read)?,
                    self.meta.checksum,
                    settings.limit,
                )?;
                let n = (*n as usize).min(content.len());
                file.read(0, content.at_mut(..n)?, true, 1, &BlockCache::new(Some(0)))?;
            }
            let file = self
                .data
                .create(&FileLayout::ChunkFiles.pending_name(*i, false))?;
            file.write_at(0, &make.encode(&content, Vec::new(), settings.threads)?)?;
            if settings.durable {
                file.sync()?;
            }
            prepared.new.push(self.data.name(&file_name(*i)));
        }
        Ok(())
    }

    /// Removes the chunks that are no longer part of the array, after the commit.
    pub fn remove_dropped(&self) {
        let count = self.count();
        for (i, _) in self.chunk_states.range(count..) {
            let _ = self
                .data
                .folder()
                .remove_if_there(&self.data.name(&file_name(*i)));
        }
    }

    /// Returns true if the metadata files have checksums.
    pub fn has_checksum(&self) -> bool {
        self.meta.checksum != Checksum::None
    }
}

/// Reads `meta/storage`, which is required. Returns true if its checksum does not match and the
/// file is accepted nevertheless.
fn storage(dir: &DatasetDir, settings: &RepairSettings) -> Result<(Meta, bool)> {
    let advice = "the data type is stored nowhere else; if another array has the same one, copy this file from it";
    let text = dir.read(STORAGE, settings.limit).map_err(|mut e| {
        e.message
            .push_str("; HOLDALL_OPT_VERIFY 0 accepts it as it is");
        e
    })?;
    let text = text.ok_or_else(|| {
        fail!(
            Missing,
            "{}: the file is missing; {advice}",
            dir.show(STORAGE)
        )
    })?;
    let meta = parse(&text).and_then(Meta::of_storage).map_err(|mut e| {
        e.message.push_str(&format!("; {advice}"));
        e.within(dir.show(STORAGE))
    })?;
    Ok((meta, text_checksum::check(&text).is_err()))
}

/// Returns the attribute files that are corrupt, and whether the tools' file must be rewritten.
pub fn damaged_attrs(
    dir: &DatasetDir,
    limit: u64,
    has_checksum: bool,
) -> Result<(Vec<&'static str>, bool)> {
    let mut damaged = Vec::new();
    let mut is_new = false;
    for file in FILES {
        let is_tool_file = file == FILES[0];
        let is_blank = |text: &[u8]| text.trim_ascii().is_empty();
        let read = dir.read(file, limit).and_then(|text| match text {
            Some(text) if !is_blank(&text) => Attrs::check(&text).map(|()| Some(text)),
            text => Ok(text),
        });
        match read {
            Ok(None) => is_new |= is_tool_file,
            // bcolz cannot read an empty file
            Ok(Some(text)) if is_blank(&text) => {
                is_new |= is_tool_file;
                damaged.extend(has_checksum.then_some(file));
            }
            Ok(Some(_)) => {}
            Err(e) if is_corrupt_or_missing(e.status) => {
                is_new |= is_tool_file;
                damaged.push(file);
            }
            Err(e) => return Err(e),
        }
    }
    Ok((damaged, is_new))
}

impl PreparedFiles {
    /// Writes metadata files, and marks the corrupt ones for removal.
    pub fn texts(
        &mut self,
        dir: &DatasetDir,
        texts: &[(&'static str, String)],
        damaged: &[&'static str],
        settings: &RepairSettings,
    ) -> Result<()> {
        write_new(dir, texts, settings.durable)?;
        self.new
            .extend(texts.iter().map(|(name, _)| dir.name(name)));
        self.removed.extend(
            damaged
                .iter()
                .filter(|d| texts.iter().all(|(name, _)| name != *d))
                .map(|d| dir.name(d)),
        );
        Ok(())
    }

    /// Makes all of it durable and visible, or none.
    pub fn commit(self, session: &Session) -> Result<()> {
        if self.new.is_empty() && self.removed.is_empty() {
            return Ok(());
        }
        session.swap(&self.new, &self.removed)
    }
}

/// Copies a corrupt file to a new name beside it.
pub fn back_up(dir: &DatasetDir, name: &str, durable: bool) -> Result<()> {
    let from = dir.open(name, Access::Read)?;
    for n in 1..MAX_DAMAGED {
        let other = if n == 1 {
            format!("{name}{DAMAGED}")
        } else {
            format!("{name}{DAMAGED}-{n}")
        };
        if dir.has(&other)? {
            continue;
        }
        let to = dir.create(&other)?;
        io::copy(&*from, 0, &*to, 0, from.size()?)?;
        return if durable {
            to.sync()
                .and_then(|()| dir.folder().sync_in(io::parent(&dir.name(&other))))
        } else {
            Ok(())
        };
    }
    Err(fail!(
        Exists,
        "{}: {MAX_DAMAGED} copies of corrupt files exist beside it already; remove some",
        dir.show(name)
    ))
}
