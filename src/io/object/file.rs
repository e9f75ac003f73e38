//! An open object. Length and version are fixed when it is opened, and every read returns bytes of
//! that version or an error.
//!
//! The object caches what was fetched: its end, which opening fetches, the last reads with
//! read-ahead, and ranges that readers declare as repeatedly read.
#![forbid(unsafe_code)]

use super::cache::{ObjectCache, PAGE};
use super::ranges::{self, MAX_REQUEST};
use super::store::Store;
use super::{message, runtime};
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::io::{File, ReadRange, read_only};
use crate::os;
use crate::slice::SliceExt;
use futures_util::stream::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// Bytes fetched from the end at opening. They contain limits, trailers and small objects.
const TAIL: u64 = 256 << 10;
/// Minimum bytes of a fetch, and of a fetch in a sequence of reads.
const MIN_FETCH: u64 = 64 << 10;
const READ_AHEAD: u64 = 4 << 20;
/// Longer reads are not cached.
const MAX_CACHED_READ: u64 = 1 << 20;

/// An open object.
pub struct ObjectFile {
    store: Arc<Store>,
    key: String,
    path: Path,
    shown: String,
    meta: ObjectMeta,
    cache: ObjectCache,
    process: u32,
}

impl ObjectFile {
    /// Opens the object of this key. Returns `Missing` if it does not exist.
    pub fn open(store: &Arc<Store>, key: &str) -> Result<ObjectFile> {
        let (path, shown) = (store.path(key)?, store.show(key));
        let (meta, tail) = store.wait(tail(store, key, &path, &shown))?;
        let cache = ObjectCache::new();
        if !tail.is_empty() {
            cache.recent.insert(meta.size - tail.len() as u64, tail);
        }
        Ok(ObjectFile {
            store: store.clone(),
            key: key.into(),
            path,
            shown,
            meta,
            cache,
            process: os::process(),
        })
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }
    pub(super) fn key(&self) -> &str {
        &self.key
    }
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// Returns the ETag that requests must match.
    pub(super) fn pin(&self) -> Option<String> {
        // by RFC 9110 a weak tag never matches
        self.meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// Returns an error if a response is of another version: some servers ignore the precondition.
    pub(super) fn same(&self, now: &ObjectMeta) -> Result<()> {
        let was = &self.meta;
        let same = now.size == was.size && now.e_tag == was.e_tag && now.version == was.version;
        let timed = now.e_tag.is_some() || now.last_modified == was.last_modified;
        if same && timed {
            Ok(())
        } else {
            Err(message::changed(&self.shown, "it was overwritten"))
        }
    }

    /// Converts "no such object" to the error of an object that was deleted while open.
    pub(super) fn gone(&self, e: Error) -> Error {
        match e.status {
            Status::Missing => message::changed(&self.shown, "it was deleted"),
            _ => e,
        }
    }

    /// Returns how many of `n` bytes at `at` exist.
    fn clip(&self, at: u64, n: usize) -> usize {
        usize::try_from(self.meta.size.saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(n)
    }

    /// Fetches the range from `at` to `to`, extended to at least `least` bytes as read-ahead.
    fn fetch(&self, at: u64, to: u64, least: u64) -> Result<Vec<u8>> {
        let end = to.max(at.saturating_add(least)).min(self.meta.size);
        let mut bytes = alloc::zeroed((end - at) as usize)?;
        ranges::fetch_one(self, at, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies cached bytes to these ranges and returns what is left to fetch. All ranges must be
    /// within the object.
    pub(super) fn take_cached<'b>(&self, parts: Vec<ReadRange<'b>>) -> Result<Vec<ReadRange<'b>>> {
        runtime::same_process(self.process, &self.shown)?;
        let mut requested = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|p| !p.dst.is_empty()) {
            if part.end() > self.meta.size {
                return Err(self.too_short(part.at, part.dst.len()));
            }
            let done = self.cache.recent.copy(part.at, part.dst);
            let rest = ReadRange {
                at: part.at + done as u64,
                dst: part.dst.at_mut(done..)?,
            };
            if !rest.dst.is_empty() {
                requested.push(rest);
            }
        }
        Ok(requested)
    }

    /// Returns the range to read ahead if a call continues the last one, so that requests are long.
    pub(super) fn ahead(&self, parts: &[ReadRange<'_>]) -> Option<(u64, u64)> {
        let (from, to) = (
            parts.iter().map(|p| p.at).min()?,
            parts.iter().map(ReadRange::end).max()?,
        );
        let continues = self.cache.continues(from);
        self.cache.set_end(to);
        let end = from.saturating_add(READ_AHEAD).min(self.meta.size);
        (continues && end > to).then_some((to, end))
    }

    /// Returns the parts of ranges that exist and are not cached, merged where they touch.
    pub(super) fn missing(&self, requested: &[Range<u64>]) -> Vec<Range<u64>> {
        self.cache.recent.missing(requested, self.meta.size)
    }

    /// Caches bytes that were read ahead.
    pub(super) fn insert_ahead(&self, at: u64, bytes: Vec<u8>) {
        self.cache.recent.insert(at, bytes);
    }

    /// Returns runs of uncached pages of a range: the first page and the offset of the end. Ranges
    /// that were fetched at opening need none.
    pub(super) fn missing_pages(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let to = to.min(self.meta.size);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        if from >= to || self.cache.recent.has(from, to) {
            return runs;
        }
        for page in (from / PAGE..=(to - 1) / PAGE).filter(|&page| !self.cache.has_page(page)) {
            let end = ((page + 1) * PAGE).min(self.meta.size);
            match runs.last_mut() {
                Some((_, last)) if *last == page * PAGE => *last = end,
                _ => runs.push((page, end)),
            }
        }
        runs
    }

    /// Caches fetched pages.
    pub(super) fn insert_pages(&self, first: u64, bytes: &[u8]) {
        self.cache.insert_pages(first, bytes);
    }

    fn too_short(&self, at: u64, n: usize) -> Error {
        fail!(
            Format,
            "{}: the object is too short (expected {n} bytes at {at}, found a length of {})",
            self.shown,
            self.meta.size
        )
    }
}

/// Fetches metadata and the last bytes of an object, in one request if the store supports it.
async fn tail(store: &Store, key: &str, path: &Path, shown: &str) -> Result<(ObjectMeta, Vec<u8>)> {
    let options = GetOptions {
        range: Some(GetRange::Suffix(TAIL)),
        ..GetOptions::default()
    };
    let asked = store
        .step(key, async {
            Ok(store.inner().get_opts(path, options).await)
        })
        .await?;
    match asked {
        Ok(got) => body(store, key, shown, got).await,
        // an empty object has no last bytes, and some stores do not support suffix ranges
        Err(e)
            if matches!(e, object_store::Error::NotSupported { .. })
                || message::is_range_refused(&e)
                || message::is_full_response(&e) =>
        {
            let head = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            let meta = store
                .step(key, store.inner().get_opts(path, head))
                .await?
                .meta;
            let unknown = matches!(e, object_store::Error::NotSupported { .. })
                && store.scheme() != super::name::Scheme::Http;
            match meta.size {
                n if n == 0 || unknown => Ok((meta, Vec::new())),
                n if message::is_range_refused(&e) => Err(fail!(
                    Io,
                    "{shown}: the server reports a length of {n} bytes but refuses the range of the last ones"
                )),
                _ => Err(store.failure(key, &e)),
            }
        }
        Err(e) => Err(store.failure(key, &e)),
    }
}

async fn body(
    store: &Store,
    key: &str,
    shown: &str,
    got: GetResult,
) -> Result<(ObjectMeta, Vec<u8>)> {
    let (meta, want) = (got.meta.clone(), (got.range.end - got.range.start) as usize);
    let mut bytes = alloc::with_capacity(want)?;
    let mut stream = got.into_stream();
    while let Some(more) = store
        .step(key, async { stream.next().await.transpose() })
        .await?
    {
        if bytes.len() + more.len() > want {
            return Err(fail!(
                Io,
                "{shown}: the server returned more than the {want} bytes requested at the end"
            ));
        }
        bytes.extend_from_slice(&more);
    }
    if bytes.len() < want {
        return Err(fail!(
            Io,
            "{shown}: the server returned too few bytes of the end (expected {want}, found {})",
            bytes.len()
        ));
    }
    Ok((meta, bytes))
}

impl File for ObjectFile {
    fn size(&self) -> Result<u64> {
        Ok(self.meta.size)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        runtime::same_process(self.process, &self.shown)?;
        let n = self.clip(at, dst.len());
        let dst = dst.at_mut(..n)?;
        let (done, to) = (self.cache.recent.copy(at, dst), at.saturating_add(n as u64));
        let continues = self.cache.continues(at);
        self.cache.set_end(to);
        let (at, dst) = (at + done as u64, dst.at_mut(done..)?);
        if dst.len() as u64
            > if continues {
                MAX_REQUEST
            } else {
                MAX_CACHED_READ
            }
        {
            ranges::fetch_one(self, at, dst)?;
        } else if !dst.is_empty() {
            let bytes = self.fetch(at, to, if continues { READ_AHEAD } else { MIN_FETCH })?;
            bytes
                .get(..dst.len())
                .into_iter()
                .for_each(|b| dst.copy_from_slice(b));
            self.cache.recent.insert(at, bytes);
        }
        Ok(n)
    }

    fn read_cached(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        runtime::same_process(self.process, &self.shown)?;
        let n = dst.len();
        if self.clip(at, n) < n {
            return Err(self.too_short(at, n));
        }
        if n as u64 > MAX_CACHED_READ {
            return ranges::fetch_one(self, at, dst);
        }
        let mut done = self.cache.copy_pages(at, dst);
        done += self
            .cache
            .recent
            .copy(at + done as u64, dst.at_mut(done..)?);
        let (at, dst) = (at + done as u64, dst.at_mut(done..)?);
        if dst.is_empty() {
            return Ok(());
        }
        let (first, last) = (at / PAGE, (at + dst.len() as u64 - 1) / PAGE);
        // the previous page is cached: a sequential reader
        let ahead = if first
            .checked_sub(1)
            .is_some_and(|before| self.cache.has_page(before))
        {
            MAX_CACHED_READ
        } else {
            PAGE
        };
        let bytes = self.fetch(first * PAGE, (last + 1) * PAGE, ahead)?;
        let there = bytes
            .get((at - first * PAGE) as usize..)
            .and_then(|b| b.get(..dst.len()));
        there.into_iter().for_each(|b| dst.copy_from_slice(b));
        self.cache.insert_pages(first, &bytes);
        Ok(())
    }

    fn fetch(&self, requested: &[Range<u64>]) {
        let _ = ranges::fetch_ahead(self, requested);
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(read_only(&self.shown))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(read_only(&self.shown))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        &self.shown
    }

    fn identity(&self) -> u64 {
        identity(&self.meta)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn object(&self) -> Option<&ObjectFile> {
        Some(self)
    }
}

/// Returns a number that distinguishes the versions of an object.
pub fn identity(meta: &ObjectMeta) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&meta.e_tag, &meta.version, meta.size, meta.last_modified).hash(&mut hasher);
    hasher.finish().max(1)
}
