//! An object that is open: its length and its version are those of the moment when it was opened,
//! and what is read is of that version or an error.
//!
//! What was read lately stays for a while: the end of the object, which opening fetches, the last
//! reads with what follows them, and what readers say they will want again.
#![forbid(unsafe_code)]

use super::cache::{Kept, PAGE};
use super::ranges::{self, MOST};
use super::store::Store;
use super::{message, runtime};
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::io::{File, Part, read_only};
use crate::os;
use futures_util::stream::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What is fetched of the end at opening: limits, trailers and small objects are there.
const TAIL: u64 = 256 << 10;
/// What one read fetches at least, and what reads in order do.
const LEAST: u64 = 64 << 10;
const AHEAD: u64 = 4 << 20;
/// Longer reads are not kept.
const LONG: u64 = 1 << 20;

/// An open object.
pub struct ObjectFile {
    store: Arc<Store>,
    key: String,
    path: Path,
    shown: String,
    meta: ObjectMeta,
    kept: Kept,
    process: u32,
}

impl ObjectFile {
    /// Opens the object of this key; `Missing` where there is none.
    pub fn open(store: &Arc<Store>, key: &str) -> Result<ObjectFile> {
        let (path, shown) = (store.path(key)?, store.show(key));
        let (meta, tail) = store.wait(tail(store, key, &path, &shown))?;
        let kept = Kept::new();
        if !tail.is_empty() {
            kept.keep_recent(meta.size - tail.len() as u64, tail);
        }
        Ok(ObjectFile {
            store: store.clone(),
            key: key.into(),
            path,
            shown,
            meta,
            kept,
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

    /// The version that requests ask for.
    pub(super) fn pin(&self) -> Option<String> {
        // a weak tag matches nothing, by RFC 9110
        self.meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// Refuses an answer about another version; not every server minds which is asked for.
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

    /// The words for an object that was there once.
    pub(super) fn gone(&self, e: Error) -> Error {
        match e.status {
            Status::Missing => message::changed(&self.shown, "it was deleted"),
            _ => e,
        }
    }

    /// The part of a range that is there.
    fn clip(&self, at: u64, n: usize) -> usize {
        usize::try_from(self.meta.size.saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(n)
    }

    /// Fetches what begins here, and what is likely to be wanted next behind it.
    fn fetch(&self, at: u64, to: u64, least: u64) -> Result<Vec<u8>> {
        let end = to.max(at.saturating_add(least)).min(self.meta.size);
        let mut bytes = alloc::zeroed((end - at) as usize)?;
        ranges::fetch_one(self, at, &mut bytes)?;
        Ok(bytes)
    }

    /// Takes what is kept out of these parts; all of them must be within the object.
    pub(super) fn take_kept<'b>(&self, parts: Vec<Part<'b>>) -> Result<Vec<Part<'b>>> {
        runtime::same_process(self.process, &self.shown)?;
        let mut wanted = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|p| !p.dst.is_empty()) {
            if part.end() > self.meta.size {
                return Err(self.too_short(part.at, part.dst.len()));
            }
            let done = self.kept.copy_recent(part.at, part.dst);
            let rest = Part {
                at: part.at + done as u64,
                dst: part.dst.get_mut(done..).unwrap_or_default(),
            };
            if !rest.dst.is_empty() {
                wanted.push(rest);
            }
        }
        Ok(wanted)
    }

    /// Where a call that wants these parts goes on from where the last one stopped: what is to be
    /// fetched besides, so that requests are long.
    pub(super) fn ahead(&self, parts: &[Part<'_>]) -> Option<(u64, u64)> {
        let (from, to) = (
            parts.iter().map(|p| p.at).min()?,
            parts.iter().map(Part::end).max()?,
        );
        let goes_on = self.kept.goes_on(from);
        self.kept.ends_at(to);
        let end = from.saturating_add(AHEAD).min(self.meta.size);
        (goes_on && end > to).then_some((to, end))
    }

    /// Keeps what was fetched ahead.
    pub(super) fn keep(&self, at: u64, bytes: Vec<u8>) {
        self.kept.keep_recent(at, bytes);
    }

    /// Runs of pages of a range that are not kept: the first, and where in the object the last one
    /// ends. What came with opening it needs none.
    pub(super) fn missing_pages(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let to = to.min(self.meta.size);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        if from >= to || self.kept.has_recent(from, to) {
            return runs;
        }
        for page in (from / PAGE..=(to - 1) / PAGE).filter(|&page| !self.kept.has_page(page)) {
            let end = ((page + 1) * PAGE).min(self.meta.size);
            match runs.last_mut() {
                Some((_, last)) if *last == page * PAGE => *last = end,
                _ => runs.push((page, end)),
            }
        }
        runs
    }

    /// Keeps pages that were fetched.
    pub(super) fn keep_pages(&self, first: u64, bytes: &[u8]) {
        self.kept.keep_pages(first, bytes);
    }

    fn too_short(&self, at: u64, n: usize) -> Error {
        fail!(
            Format,
            "{}: {n} bytes were expected at {at}, the object has {} in all",
            self.shown,
            self.meta.size
        )
    }
}

/// Length and version of an object, and its last bytes, by one request where the store can do that.
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
        // an empty object has no last bytes, and some stores do not know of them
        Err(e)
            if matches!(e, object_store::Error::NotSupported { .. })
                || message::is_outside(&e)
                || message::is_whole(&e) =>
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
                n if message::is_outside(&e) => Err(fail!(
                    Io,
                    "{shown}: the server says that it has {n} bytes, and refuses to give the last ones"
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
    let mut bytes = alloc::with_room(want)?;
    let mut stream = got.into_stream();
    while let Some(more) = store
        .step(key, async { stream.next().await.transpose() })
        .await?
    {
        if bytes.len() + more.len() > want {
            return Err(fail!(
                Io,
                "{shown}: its last {want} bytes were asked for, the server sends more"
            ));
        }
        bytes.extend_from_slice(&more);
    }
    if bytes.len() < want {
        return Err(fail!(
            Io,
            "{shown}: its last {want} bytes were asked for, the server sends {}",
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
        let dst = dst.get_mut(..n).unwrap_or_default();
        let (done, to) = (self.kept.copy_recent(at, dst), at.saturating_add(n as u64));
        let goes_on = self.kept.goes_on(at);
        self.kept.ends_at(to);
        let (at, dst) = (at + done as u64, dst.get_mut(done..).unwrap_or_default());
        if dst.len() as u64 > if goes_on { MOST } else { LONG } {
            ranges::fetch_one(self, at, dst)?;
        } else if !dst.is_empty() {
            let bytes = self.fetch(at, to, if goes_on { AHEAD } else { LEAST })?;
            bytes
                .get(..dst.len())
                .into_iter()
                .for_each(|b| dst.copy_from_slice(b));
            self.kept.keep_recent(at, bytes);
        }
        Ok(n)
    }

    fn read_kept(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        runtime::same_process(self.process, &self.shown)?;
        let n = dst.len();
        if self.clip(at, n) < n {
            return Err(self.too_short(at, n));
        }
        if n as u64 > LONG {
            return ranges::fetch_one(self, at, dst);
        }
        let mut done = self.kept.copy_pages(at, dst);
        done += self
            .kept
            .copy_recent(at + done as u64, dst.get_mut(done..).unwrap_or_default());
        let (at, dst) = (at + done as u64, dst.get_mut(done..).unwrap_or_default());
        if dst.is_empty() {
            return Ok(());
        }
        let (first, last) = (at / PAGE, (at + dst.len() as u64 - 1) / PAGE);
        // who reads on will read on
        let ahead = if first
            .checked_sub(1)
            .is_some_and(|before| self.kept.has_page(before))
        {
            LONG
        } else {
            PAGE
        };
        let bytes = self.fetch(first * PAGE, (last + 1) * PAGE, ahead)?;
        let there = bytes
            .get((at - first * PAGE) as usize..)
            .and_then(|b| b.get(..dst.len()));
        there.into_iter().for_each(|b| dst.copy_from_slice(b));
        self.kept.keep_pages(first, &bytes);
        Ok(())
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

    fn object(&self) -> Option<&ObjectFile> {
        Some(self)
    }
}

/// What tells one version of an object from another.
pub fn identity(meta: &ObjectMeta) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&meta.e_tag, &meta.version, meta.size, meta.last_modified).hash(&mut hasher);
    hasher.finish().max(1)
}
