//! Reads many ranges of objects in few requests: close ranges are fetched together, long ranges are
//! split, and several requests run at once. Received bytes go directly to their destination, and
//! their number is checked against the request.
//!
//! Costs, as of any large store: a request takes a round trip of 20 to 100 ms, a connection
//! transfers 50 to 100 MB/s, and about sixteen may be open at once. Fetching unneeded bytes is
//! faster than another request as long as they take less than a sixteenth of one or two round
//! trips: 512 KiB. A request of 4 to 8 MiB is long compared to its round trip, and short enough to
//! be repeated.
#![forbid(unsafe_code)]

use super::cache::PAGE;
use super::file::ObjectFile;
use super::runtime;
use super::store::Store;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::{ReadFailure, ReadRange};
use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::{GetOptions, GetRange};
use std::collections::HashMap;
use std::ops::Range;

/// Ranges with at most this gap are fetched together.
const GAP: u64 = 512 << 10;
/// Maximum length of one request. A longer range is split into equal parts of at least half of it.
pub const MAX_REQUEST: u64 = 8 << 20;

/// Requested ranges of a file, with the index of the job.
pub type Job<'a, 'b> = (usize, &'a ObjectFile, Vec<ReadRange<'b>>);

/// A request and the destinations of its bytes.
struct Request<'a, 'b> {
    job: usize,
    file: &'a ObjectFile,
    from: u64,
    to: u64,
    /// Ascending; ranges may overlap.
    parts: Vec<ReadRange<'b>>,
}

/// Reads ranges of objects, from their caches or by requests.
pub fn read(jobs: Vec<Job<'_, '_>>) -> Result<(), ReadFailure> {
    let (mut requested, mut ahead) = (Vec::new(), Vec::new());
    for (job, file, parts) in by_file(jobs) {
        let whole = |error: Error| ReadFailure::anywhere(job, error);
        let read_ahead = file.ahead(&parts);
        let parts = file.take_cached(parts).map_err(whole)?;
        if !parts.is_empty() {
            let (at, to) = read_ahead.unwrap_or((0, 0));
            ahead.push((file, at, alloc::zeroed((to - at) as usize).map_err(whole)?));
            requested.push((job, file, parts));
        }
    }
    for ((_, _, parts), (_, at, bytes)) in requested.iter_mut().zip(&mut ahead) {
        parts.extend((!bytes.is_empty()).then_some(ReadRange {
            at: *at,
            dst: bytes,
        }));
    }
    fetch(requested)?;
    ahead
        .into_iter()
        .filter(|(.., bytes)| !bytes.is_empty())
        .for_each(|(file, at, bytes)| file.insert_ahead(at, bytes));
    Ok(())
}

/// Fetches the uncached pages of these ranges into the caches.
pub fn prefetch(jobs: Vec<(usize, &ObjectFile, u64, u64)>) -> Result<(), ReadFailure> {
    let (mut runs, mut seen) = (Vec::new(), HashMap::new());
    for (job, file, from, to) in jobs {
        // consecutive ranges may share a page
        let from = from.max(
            seen.insert(std::ptr::from_ref(file), to.next_multiple_of(PAGE))
                .filter(|&before| before <= to)
                .unwrap_or(0),
        );
        for (first, end) in file.missing_pages(from, to) {
            let bytes = alloc::zeroed((end - first * PAGE) as usize)
                .map_err(|error| ReadFailure::anywhere(job, error))?;
            runs.push((job, file, first, bytes));
        }
    }
    fetch(by_file(
        runs.iter_mut()
            .map(|(job, file, first, bytes)| {
                (
                    *job,
                    *file,
                    vec![ReadRange {
                        at: *first * PAGE,
                        dst: bytes,
                    }],
                )
            })
            .collect(),
    ))?;
    runs.into_iter()
        .for_each(|(_, file, first, bytes)| file.insert_pages(first, &bytes));
    Ok(())
}

/// Fetches the uncached parts of these ranges into the cache of recent reads.
pub fn fetch_ahead(file: &ObjectFile, requested: &[Range<u64>]) -> Result<()> {
    runtime::same_process(file.process(), file.shown())?;
    let mut missing = Vec::new();
    for range in file.missing(requested) {
        let n = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        missing.push((range.start, alloc::zeroed(n)?));
    }
    let parts = missing.iter_mut();
    let parts = parts.map(|(at, dst)| ReadRange { at: *at, dst });
    fetch(vec![(0, file, parts.collect())]).map_err(|unread| unread.error)?;
    for (at, bytes) in missing {
        file.insert_ahead(at, bytes);
    }
    Ok(())
}

/// Merges the jobs of each file under the index of the first one: only ranges of one job are
/// combined.
fn by_file<'a, 'b>(jobs: Vec<Job<'a, 'b>>) -> Vec<Job<'a, 'b>> {
    let mut out: Vec<Job<'a, 'b>> = Vec::new();
    let mut indices = HashMap::new();
    for (job, file, parts) in jobs {
        let index = *indices.entry(std::ptr::from_ref(file)).or_insert(out.len());
        match out.get_mut(index) {
            Some((_, _, all)) => all.extend(parts),
            None => out.push((job, file, parts)),
        }
    }
    out
}

/// Fetches one range of a file.
pub fn fetch_one(file: &ObjectFile, at: u64, dst: &mut [u8]) -> Result<()> {
    fetch(vec![(0, file, vec![ReadRange { at, dst }])]).map_err(|unread| unread.error)
}

/// Fetches all ranges of all files. Returns the first failure. The ranges must lie within their
/// files.
fn fetch(jobs: Vec<Job<'_, '_>>) -> Result<(), ReadFailure> {
    let mut requests = Vec::new();
    for job in jobs {
        plan(job, &mut requests);
    }
    let Some((job, store)) = requests.first().map(|r| (r.job, r.file.store().clone())) else {
        return Ok(());
    };
    store
        .wait(async { Ok(all(&store, requests).await) })
        .unwrap_or_else(|error| Err(ReadFailure::anywhere(job, error)))
}

async fn all(store: &Store, requests: Vec<Request<'_, '_>>) -> Result<(), ReadFailure> {
    let mut waiting = requests.into_iter();
    let mut running: FuturesUnordered<_> = waiting
        .by_ref()
        .take(store.limits().requests.max(1))
        .map(Request::run)
        .collect();
    while let Some(done) = running.next().await {
        done?;
        running.extend(waiting.next().map(Request::run));
    }
    Ok(())
}

/// Splits long ranges and combines close ones.
fn plan<'a, 'b>((job, file, parts): Job<'a, 'b>, out: &mut Vec<Request<'a, 'b>>) {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        cut(part, &mut pieces);
    }
    pieces.sort_by_key(|p| p.at);
    let first = out.len();
    for piece in pieces {
        let end = piece.end();
        match out.get_mut(first..).and_then(|own| own.last_mut()) {
            Some(r)
                if piece.at <= r.to.saturating_add(GAP)
                    && r.to.max(end) - r.from <= MAX_REQUEST =>
            {
                r.to = r.to.max(end);
                r.parts.push(piece);
            }
            _ => out.push(Request {
                job,
                file,
                from: piece.at,
                to: end,
                parts: vec![piece],
            }),
        }
    }
}

fn cut<'b>(part: ReadRange<'b>, out: &mut Vec<ReadRange<'b>>) {
    let size = part.dst.len() as u64;
    let piece = size.div_ceil(size.div_ceil(MAX_REQUEST).max(1)).max(1);
    let offsets = (0..).map(|i| part.at + i * piece);
    out.extend(
        offsets
            .zip(part.dst.chunks_mut(piece as usize))
            .map(|(at, dst)| ReadRange { at, dst }),
    );
}

impl Request<'_, '_> {
    async fn run(self) -> Result<(), ReadFailure> {
        let (job, bytes) = (self.job, self.from..self.to);
        self.get()
            .await
            .map_err(|error| ReadFailure { job, bytes, error })
    }

    async fn get(mut self) -> Result<()> {
        let (file, store) = (self.file, &**self.file.store());
        let options = GetOptions {
            range: Some(GetRange::Bounded(self.from..self.to)),
            if_match: file.pin(),
            ..GetOptions::default()
        };
        let got = store
            .step(file.key(), store.inner().get_opts(file.path(), options))
            .await
            .map_err(|e| file.gone(e))?;
        file.same(&got.meta)?;
        let mut stream = got.into_stream();
        let (mut at, mut first) = (self.from, 0);
        while let Some(bytes) = store
            .step(file.key(), async { stream.next().await.transpose() })
            .await
            .map_err(|e| file.gone(e))?
        {
            let end = at + bytes.len() as u64;
            if end > self.to {
                return Err(fail!(
                    Io,
                    "{}: the server returned more than the {} bytes requested at {}",
                    file.shown(),
                    self.to - self.from,
                    self.from
                ));
            }
            first = scatter(&mut self.parts, first, at, &bytes);
            at = end;
        }
        if at == self.to {
            return Ok(());
        }
        Err(fail!(
            Io,
            "{}: the server returned too few bytes (expected {} at {}, found {})",
            file.shown(),
            self.to - self.from,
            self.from,
            at - self.from
        ))
    }
}

/// Copies received bytes at offset `at` to the ranges that contain them. `first` is a lower bound
/// of the first such range. Returns the bound for the next bytes.
fn scatter(parts: &mut [ReadRange<'_>], mut first: usize, at: u64, bytes: &[u8]) -> usize {
    let end = at + bytes.len() as u64;
    while parts.get(first).is_some_and(|p| p.end() <= at) {
        first += 1;
    }
    for part in parts.iter_mut().skip(first).take_while(|p| p.at < end) {
        let (from, to) = (part.at.max(at), part.end().min(end));
        if from < to {
            let zeroed_large_pages = part
                .dst
                .get_mut((from - part.at) as usize..(to - part.at) as usize);
            let there = bytes.get((from - at) as usize..(to - at) as usize);
            zeroed_large_pages
                .into_iter()
                .zip(there)
                .for_each(|(d, s)| d.copy_from_slice(s));
        }
    }
    first
}
