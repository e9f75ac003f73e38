//! Repair of an array whose chunks have a file each: what it can be made of what is there.
//!
//! Nothing is changed while that is found out. Then everything new is written beside the old, as
//! for a commit, and counts at once, with that of the other columns where it is one of a table.
//! What is damaged stays in the folder under another name: somebody may get more out of it.
#![forbid(unsafe_code)]

use super::attrs::{Attrs, FILES};
use super::chunk_file::{self, ChunkFile, HEADER};
use super::chunks::{file_name, has_superchunks, is_damage, number};
use super::commit::{container, write_new};
use super::create;
use super::edit::{Make, Names};
use super::fill_value;
use super::folder::Place;
use super::meta::{Meta, SIZES, STORAGE, parse, sizes};
use super::text_checksum::{self, sealed};
use crate::alloc;
use crate::array::dtype::Kind;
use crate::array::store::repeat;
use crate::checksum::Sum;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Swapped};
use crate::io::{self, Access};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::parallel;
use std::collections::BTreeMap;

/// Files that are asked for by their names where storage cannot list them.
const PROBES: u64 = if cfg!(fuzzing) { 8 } else { 4096 };
/// What a damaged file is called from now on, and how many of one name there may be.
const DAMAGED: &str = ".holdall-damaged";
const MOST_DAMAGED: usize = 1000;

/// How a dataset is to be repaired.
pub struct Wish {
    options: Options,
    limit: u64,
    threads: usize,
    durable: bool,
    /// Damaged chunks become the default value.
    pub skip: bool,
    /// Checksums of small files are not looked at.
    pub trust: bool,
}

impl Wish {
    /// Is what is written made durable?
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// What these options say.
    pub fn new(options: &Options) -> Wish {
        Wish {
            options: options.clone(),
            limit: options.memory_limit(),
            threads: options.threads().count(),
            durable: options.get(Opt::Durability, 1) == 1,
            skip: options.get(Opt::SkipDamaged, 0) == 1,
            trust: options.get(Opt::Verify, 1) == 0,
        }
    }
}

/// A chunk's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It holds so many bytes, all of them sound.
    Whole(u64),
    Damaged,
}

/// What becomes of an array.
pub struct Plan {
    place: Place,
    data: Place,
    meta: Meta,
    /// Bytes of a row, and of a chunk.
    row: u64,
    chunk: u64,
    /// The rows that it has then.
    pub rows: u64,
    /// What `meta/sizes` says, if it is sound.
    said: Option<u64>,
    found: BTreeMap<u64, Found>,
    /// Chunks that become the default value.
    filled: Vec<u64>,
    /// Small files that are damaged, and those that are new.
    damaged: Vec<&'static str>,
    texts: Vec<(&'static str, String)>,
    /// How many chunks counted before.
    counted: u64,
    /// Files of attributes that are lost.
    attrs_lost: u64,
}

/// Files that were written for a commit: those that get their names by it, and those that go.
#[derive(Default)]
pub struct Ready {
    new: Vec<String>,
    gone: Vec<String>,
}

impl Plan {
    /// Looks at all of an array. Nothing is changed.
    pub fn new(place: &Place, wish: &Wish) -> Result<Plan> {
        let place = place.trusted(wish.trust);
        let (meta, is_new) = storage(&place, wish)?;
        let data = place.down("data")?;
        let mut plan = Plan {
            place,
            data,
            meta,
            row: 0,
            chunk: 1,
            rows: 0,
            said: None,
            found: BTreeMap::new(),
            filled: Vec::new(),
            damaged: Vec::new(),
            texts: Vec::new(),
            counted: 0,
            attrs_lost: 0,
        };
        plan.refuse_others()?;
        if is_new {
            plan.texts.push((STORAGE, plan.meta.storage.to_string()));
        }
        let torn = plan.sizes(wish)?;
        plan.look(wish)?;
        if let Some(torn) = torn {
            plan.find_rows(&torn)?;
        }
        plan.decide(wish)?;
        plan.attrs(wish)?;
        Ok(plan)
    }

    fn refuse_others(&self) -> Result<()> {
        let name = self.place.show("");
        if self.meta.has_objects() {
            return Err(fail!(
                Unsupported,
                "{name}: objects of Python's are not repaired"
            ));
        }
        let apart = match &self.meta.array.dtype.item.kind {
            Kind::Struct(fields) => fields
                .first()
                .map(|f| self.data.has(&f.name))
                .transpose()?
                .unwrap_or(false),
            _ => false,
        };
        if apart || has_superchunks(&self.data, || Ok(false))? {
            return Err(fail!(
                Unsupported,
                "{name}: arrays with a file for each chunk are repaired; the files of this one are superchunks, which can be, each by itself"
            ));
        }
        Ok(())
    }

    /// Takes what `meta/sizes` says; its text where that is not sound.
    fn sizes(&mut self, wish: &Wish) -> Result<Option<Vec<u8>>> {
        let read = self.place.read(SIZES, wish.limit).and_then(|text| {
            let text = text.ok_or_else(|| fail!(Missing, "none"))?;
            self.meta.take_sizes(&parse(&text)?, wish.trust)
        });
        match read {
            Ok(()) => {
                let rows = self.meta.rows();
                self.row = self
                    .meta
                    .row_items()?
                    .saturating_mul(self.meta.array.dtype.item.size as u64);
                (self.said, self.rows) = (Some(rows), rows);
                self.chunk = self.meta.chunklen.saturating_mul(self.row).max(1);
                Ok(None)
            }
            Err(e) if is_damage(e.status) => {
                if e.status != Status::Missing {
                    self.damaged.push(SIZES);
                }
                self.place
                    .trusted(true)
                    .read(SIZES, wish.limit)
                    .map(|text| Some(text.unwrap_or_default()))
            }
            Err(e) => Err(e),
        }
    }

    /// Reads every chunk's file.
    fn look(&mut self, wish: &Wish) -> Result<()> {
        let names = self.data.list("");
        let numbers: Vec<u64> = if names.is_empty() {
            (0..PROBES)
                .filter(|i| self.data.has(&file_name(*i)).unwrap_or(false))
                .collect()
        } else {
            names.iter().filter_map(|n| number(n.to_str()?)).collect()
        };
        let threads = if self.place.folder().is_foreign() {
            1
        } else {
            wish.threads
        };
        for (done, group) in numbers.chunks(threads.max(1) * 4).enumerate() {
            wish.options
                .progress((done * threads.max(1) * 4) as u64, numbers.len() as u64)?;
            let mut found: Vec<(u64, Result<Found>)> =
                group.iter().map(|i| (*i, Ok(Found::Damaged))).collect();
            parallel::for_each(
                threads,
                found.iter_mut().collect(),
                |(i, found): &mut (u64, _)| *found = self.look_at(*i, wish.limit),
            );
            for (i, found) in found {
                self.found.insert(i, found?);
            }
        }
        Ok(())
    }

    fn look_at(&self, i: u64, limit: u64) -> Result<Found> {
        let name = file_name(i);
        let read = || {
            let file = ChunkFile::open(
                self.data.open(&name, Access::Read)?,
                self.meta.checksum,
                limit,
            )?;
            let n = file.nbytes() as u64;
            // what is longer than a chunk is none of this array; it is not worth its memory
            if self.said.is_none() || n <= self.chunk {
                file.read(
                    0,
                    &mut alloc::zeroed(alloc::allow(n, limit, "a chunk")?)?,
                    true,
                    1,
                    &chunk_file::blocks(),
                )?;
            }
            Ok::<_, Error>(Found::Whole(n))
        };
        match read() {
            Err(e) if matches!(e.status, Status::Format | Status::Checksum) => Ok(Found::Damaged),
            // a codec or a version that is not known, or a byte of it that was changed
            Err(e) if is_damage(e.status) && self.digest_differs(&name, limit)? => {
                Ok(Found::Damaged)
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
            bytes.get(end..).unwrap_or_default(),
        );
        Ok(sum != Sum::None && sum.of(chunk) != digest)
    }

    /// The rows of an array that has lost `meta/sizes`: as many as its chunks hold, up to the first
    /// that is not full.
    fn find_rows(&mut self, torn: &[u8]) -> Result<()> {
        let item = self.meta.array.dtype.item.size as u64;
        let whole = |found: &Found| {
            if let Found::Whole(n) = found {
                Some(*n)
            } else {
                None
            }
        };
        let most = self.found.values().filter_map(whole).max().unwrap_or(0);
        let lost = || {
            fail!(
                Format,
                "{}: the shape of a row is lost, and cannot be told from {most} bytes of a chunk",
                self.place.show(SIZES)
            )
        };
        let row = match self.stored_row(torn) {
            Some(row) => row,
            // one chunk alone may be not full
            None if most <= self.meta.chunklen.saturating_mul(item) && self.found.len() < 2 => {
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
        for (i, found) in &self.found {
            match whole(found).filter(|n| n.is_multiple_of(self.row)) {
                Some(n) => {
                    self.rows = i
                        .saturating_mul(self.meta.chunklen)
                        .saturating_add(n / self.row)
                }
                None => continue,
            }
            if whole(found) != Some(self.chunk) {
                break;
            }
        }
        Ok(())
    }

    /// The shape of a row, as `meta/storage` has it, or what is left of the other file.
    fn stored_row(&self, torn: &[u8]) -> Option<Vec<u64>> {
        if let Some(Value::Array(shape)) = self.meta.storage.get("chunkshape") {
            return shape.iter().skip(1).map(Value::as_u64).collect();
        }
        let text = String::from_utf8_lossy(torn);
        let (_, behind) = text.split_once("\"shape\"")?.1.split_once('[')?;
        let numbers: Option<Vec<u64>> = behind
            .split_once(']')?
            .0
            .split(',')
            .map(|n| n.trim().parse().ok())
            .collect();
        numbers?.get(1..).map(<[u64]>::to_vec)
    }

    /// Bytes of a chunk that count.
    fn wanted(&self, i: u64) -> u64 {
        self.rows
            .saturating_mul(self.row)
            .saturating_sub(i.saturating_mul(self.chunk))
            .min(self.chunk)
    }

    fn count(&self) -> u64 {
        self.rows.saturating_mul(self.row).div_ceil(self.chunk)
    }

    /// What is cut off, and what is filled.
    fn decide(&mut self, wish: &Wish) -> Result<()> {
        let count = self.count();
        let fits = |i: u64, n: u64| {
            let want = self.wanted(i);
            n == want
                || (i + 1 == count
                    && (want..=self.chunk).contains(&n)
                    && n.is_multiple_of(self.row))
        };
        let good: Vec<u64> = self
            .found
            .range(..count)
            .filter(|(i, f)| matches!(f, Found::Whole(n) if fits(**i, *n)))
            .map(|(i, _)| *i)
            .collect();
        let next = good.last().map_or(0, |i| i + 1);
        // one that holds less than it should is the last, if it is made of rows
        let rest = match self.found.get(&next) {
            Some(Found::Whole(n)) if *n < self.wanted(next) && n.is_multiple_of(self.row) => {
                n / self.row
            }
            _ => 0,
        };
        let bad = count - good.len() as u64;
        let name = self.place.show("");
        if bad > 0 && good.is_empty() && rest == 0 {
            return Err(fail!(
                Format,
                "{name}: none of its {count} chunks is sound: there is nothing to keep"
            ));
        }
        if wish.skip && bad > self.found.len() as u64 {
            return Err(fail!(
                Format,
                "{name}: {bad} of its chunks are lost, more than are there: nothing was changed"
            ));
        }
        self.counted = count;
        if wish.skip {
            self.filled = (0..count)
                .filter(|i| good.binary_search(i).is_err())
                .collect();
        } else if let Some(first) = (0..next)
            .zip(&good)
            .find(|(i, good)| i != *good)
            .map(|(i, _)| i)
        {
            let words = "is damaged, and others behind it are not; HOLDALL_OPT_SKIP_DAMAGED lets it be the default value, else nothing is changed";
            return Err(fail!(
                Format,
                "{}: chunk {first} {words}",
                self.data.show(&file_name(first))
            )
            .at(first));
        } else if next < count {
            self.rows = next.saturating_mul(self.meta.chunklen).saturating_add(rest);
        }
        Ok(())
    }

    fn attrs(&mut self, wish: &Wish) -> Result<()> {
        let is_sealed = self.meta.checksum != Sum::None;
        let (damaged, is_new) = damaged_attrs(&self.place, wish.limit, is_sealed)?;
        self.attrs_lost = damaged.len() as u64;
        self.damaged.extend(damaged);
        if is_new {
            self.texts.push((FILES[0], "{}\n".to_owned()));
        }
        Ok(())
    }

    /// Leaves the first rows.
    pub fn cut(&mut self, rows: u64) {
        self.rows = self.rows.min(rows);
        let count = self.count();
        self.filled.retain(|i| *i < count);
    }

    /// Chunks that stay.
    pub fn kept(&self) -> u64 {
        self.count() - self.filled.len() as u64
    }

    /// Chunks, and files of attributes, that are lost.
    pub fn dropped(&self) -> u64 {
        self.counted - self.kept() + self.attrs_lost
    }

    /// Is there nothing to be done?
    fn is_sound(&self) -> bool {
        self.said == Some(self.rows)
            && self.filled.is_empty()
            && self.texts.is_empty()
            && self.damaged.is_empty()
    }

    /// Writes all that is new beside what is there, durable.
    pub fn prepare(&mut self, wish: &Wish, ready: &mut Ready) -> Result<()> {
        if self.is_sound() {
            return Ok(());
        }
        for name in &self.damaged {
            keep(&self.place, name, wish.durable)?;
        }
        let count = self.count();
        // what has counted, or might have
        let gone = |i: u64| i >= count && (i < self.counted || self.said.is_none());
        for (i, _) in self
            .found
            .iter()
            .filter(|(i, f)| gone(**i) || (**i < self.counted && **f == Found::Damaged))
        {
            keep(&self.data, &file_name(*i), wish.durable)?;
        }
        self.fill(wish, ready)?;
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
        let cbytes: u64 = self.found.keys().filter(|i| **i < count).map(size).sum();
        let nbytes = self.rows.saturating_mul(self.row);
        self.texts
            .push((SIZES, sizes(&self.meta.array.shape, nbytes, cbytes)));
        if self.meta.checksum != Sum::None {
            self.texts
                .iter_mut()
                .for_each(|(_, text)| *text = sealed(std::mem::take(text)));
        }
        ready.texts(&self.place, &self.texts, &self.damaged, wish)
    }

    /// Chunks of the default value, with what there is of their rows.
    fn fill(&self, wish: &Wish, ready: &mut Ready) -> Result<()> {
        let item = &self.meta.array.dtype.item;
        let value = fill_value::bytes(&self.meta.dflt, item, self.meta.row(), wish.limit)?;
        let params = create::params(&self.meta.storage, &|| None, item, &Options::new())?;
        let make = Make::One(params, self.meta.checksum);
        for i in &self.filled {
            let mut content = alloc::zeroed(alloc::allow(self.wanted(*i), wish.limit, "a chunk")?)?;
            repeat(value.as_deref(), i.saturating_mul(self.chunk), &mut content);
            if let Some(Found::Whole(n)) = self.found.get(i) {
                let file = ChunkFile::open(
                    self.data.open(&file_name(*i), Access::Read)?,
                    self.meta.checksum,
                    wish.limit,
                )?;
                let n = (*n as usize).min(content.len());
                file.read(
                    0,
                    content.get_mut(..n).unwrap_or_default(),
                    true,
                    1,
                    &chunk_file::blocks(),
                )?;
            }
            let file = self.data.create(&Names::One.waiting(*i, false))?;
            file.write_at(0, &make.encode(&content, Vec::new(), wish.threads)?)?;
            if wish.durable {
                file.sync()?;
            }
            ready.new.push(
                self.data
                    .name(&file_name(*i))
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        Ok(())
    }

    /// Removes what does not count, once the rest does.
    pub fn settle(&self) {
        let count = self.count();
        for (i, _) in self.found.range(count..) {
            let _ = self
                .data
                .folder()
                .remove_if_there(&self.data.name(&file_name(*i)));
        }
    }

    /// Has it checksums?
    pub fn is_sealed(&self) -> bool {
        self.meta.checksum != Sum::None
    }
}

/// What `meta/storage` says, without which there is nothing; true: it counts though its checksum
/// does not match.
fn storage(place: &Place, wish: &Wish) -> Result<(Meta, bool)> {
    let words = "what the items are is nowhere else; where another array has the same, this file of it may be put here";
    let text = place.read(STORAGE, wish.limit).map_err(|mut e| {
        e.message
            .push_str("; HOLDALL_OPT_VERIFY 0 takes it as it is");
        e
    })?;
    let text =
        text.ok_or_else(|| fail!(Missing, "{}: it is not there: {words}", place.show(STORAGE)))?;
    let meta = parse(&text).and_then(Meta::of_storage).map_err(|mut e| {
        e.message.push_str(&format!("; {words}"));
        e.within(place.show(STORAGE))
    })?;
    Ok((meta, text_checksum::check(&text).is_err()))
}

/// Which files of attributes are damaged, and whether the tools' one has to be made new.
pub fn damaged_attrs(
    place: &Place,
    limit: u64,
    is_sealed: bool,
) -> Result<(Vec<&'static str>, bool)> {
    let mut damaged = Vec::new();
    let mut is_new = false;
    for file in FILES {
        let is_tools = file == FILES[0];
        let is_blank = |text: &[u8]| text.trim_ascii().is_empty();
        let read = place.read(file, limit).and_then(|text| match text {
            Some(text) if !is_blank(&text) => Attrs::check(&text).map(|()| Some(text)),
            text => Ok(text),
        });
        match read {
            Ok(None) => is_new |= is_tools,
            // bcolz cannot read it
            Ok(Some(text)) if is_blank(&text) => {
                is_new |= is_tools;
                damaged.extend(is_sealed.then_some(file));
            }
            Ok(Some(_)) => {}
            Err(e) if is_damage(e.status) => {
                is_new |= is_tools;
                damaged.push(file);
            }
            Err(e) => return Err(e),
        }
    }
    Ok((damaged, is_new))
}

impl Ready {
    /// Writes small files, and puts those aside that are damaged.
    pub fn texts(
        &mut self,
        place: &Place,
        texts: &[(&'static str, String)],
        damaged: &[&'static str],
        wish: &Wish,
    ) -> Result<()> {
        let full = |name: &str| place.name(name).to_string_lossy().into_owned();
        write_new(place, texts, wish.durable)?;
        self.new.extend(texts.iter().map(|(name, _)| full(name)));
        self.gone.extend(
            damaged
                .iter()
                .filter(|d| texts.iter().all(|(name, _)| name != *d))
                .map(|d| full(d)),
        );
        Ok(())
    }

    /// All of it counts, or nothing.
    pub fn commit(self, place: &Place, wish: &Wish) -> Result<()> {
        if self.new.is_empty() && self.gone.is_empty() {
            return Ok(());
        }
        let [new, gone] = [&self.new, &self.gone]
            .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        match journal::swap(&container(place.folder()), wish.durable, &new, &gone) {
            Swapped::Done | Swapped::Counts => Ok(()),
            Swapped::Nothing(e) | Swapped::Unsure(e) => Err(e),
        }
    }
}

/// Keeps a copy of a damaged file beside it.
pub fn keep(place: &Place, name: &str, durable: bool) -> Result<()> {
    let from = place.open(name, Access::Read)?;
    for n in 1..MOST_DAMAGED {
        let other = if n == 1 {
            format!("{name}{DAMAGED}")
        } else {
            format!("{name}{DAMAGED}-{n}")
        };
        if place.has(&other)? {
            continue;
        }
        let to = place.create(&other)?;
        io::copy(&*from, 0, &*to, 0, from.size()?)?;
        return if durable {
            to.sync()
                .and_then(|()| place.folder().sync_in(io::parent(&place.name(&other))))
        } else {
            Ok(())
        };
    }
    Err(fail!(
        Exists,
        "{}: {MOST_DAMAGED} files that were damaged are beside it already",
        place.show(name)
    ))
}
