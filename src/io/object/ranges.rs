//! Many ranges of objects by few requests: near ones are fetched together, large ones cut, and many
//! requests are under way at once. What comes goes straight to where it is wanted, and is held
//! against what was asked for.
//!
//! Costs, as of any large store: a request takes a round trip of 20 to 100 ms, a connection gives
//! 50 to 100 MB/s, and some sixteen may be open at once. So bytes that nobody wants pay as long as
//! they take less than a sixteenth of a round trip or two: half a MiB. A request of 4 to 8 MiB is
//! long beside its round trip, and short enough to be made again.
#![forbid(unsafe_code)]

use super::cache::PAGE;
use super::file::ObjectFile;
use super::store::Store;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::{Part, Unread};
use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::{GetOptions, GetRange};
use std::collections::HashMap;

/// Ranges that lie this near are fetched together.
const GAP: u64 = 512 << 10;
/// The most of one request. What is longer is cut into equal parts, none below half of it.
pub const MOST: u64 = 8 << 20;

/// Parts of a file that are wanted, and the number of the job.
pub type Job<'a, 'b> = (usize, &'a ObjectFile, Vec<Part<'b>>);

/// A request, and where what comes goes.
struct Request<'a, 'b> {
    job: usize,
    file: &'a ObjectFile,
    from: u64,
    to: u64,
    /// In rising order; they may overlap.
    parts: Vec<Part<'b>>,
}

/// Reads parts of objects: from what is kept, else by requests.
pub fn read(jobs: Vec<Job<'_, '_>>) -> Result<(), Unread> {
    let (mut wanted, mut ahead) = (Vec::new(), Vec::new());
    for (job, file, parts) in by_file(jobs) {
        let whole = |error: Error| Unread::anywhere(job, error);
        let behind = file.ahead(&parts);
        let parts = file.take_kept(parts).map_err(whole)?;
        if !parts.is_empty() {
            let (at, to) = behind.unwrap_or((0, 0));
            ahead.push((file, at, alloc::zeroed((to - at) as usize).map_err(whole)?));
            wanted.push((job, file, parts));
        }
    }
    for ((_, _, parts), (_, at, bytes)) in wanted.iter_mut().zip(&mut ahead) {
        parts.extend((!bytes.is_empty()).then_some(Part {
            at: *at,
            dst: bytes,
        }));
    }
    fetch(wanted)?;
    ahead
        .into_iter()
        .filter(|(.., bytes)| !bytes.is_empty())
        .for_each(|(file, at, bytes)| file.keep(at, bytes));
    Ok(())
}

/// Fetches the pages of these ranges that are not kept yet, and keeps them.
pub fn keep(jobs: Vec<(usize, &ObjectFile, u64, u64)>) -> Result<(), Unread> {
    let (mut runs, mut seen) = (Vec::new(), HashMap::new());
    for (job, file, from, to) in jobs {
        // neighbours may share a page
        let from = from.max(
            seen.insert(std::ptr::from_ref(file), to.next_multiple_of(PAGE))
                .filter(|&before| before <= to)
                .unwrap_or(0),
        );
        for (first, end) in file.missing_pages(from, to) {
            let bytes = alloc::zeroed((end - first * PAGE) as usize)
                .map_err(|error| Unread::anywhere(job, error))?;
            runs.push((job, file, first, bytes));
        }
    }
    fetch(by_file(
        runs.iter_mut()
            .map(|(job, file, first, bytes)| {
                (
                    *job,
                    *file,
                    vec![Part {
                        at: *first * PAGE,
                        dst: bytes,
                    }],
                )
            })
            .collect(),
    ))?;
    runs.into_iter()
        .for_each(|(_, file, first, bytes)| file.keep_pages(first, &bytes));
    Ok(())
}

/// One job a file, by the number of its first one: only those of one job are put together.
fn by_file<'a, 'b>(jobs: Vec<Job<'a, 'b>>) -> Vec<Job<'a, 'b>> {
    let mut out: Vec<Job<'a, 'b>> = Vec::new();
    let mut places = HashMap::new();
    for (job, file, parts) in jobs {
        let place = *places.entry(std::ptr::from_ref(file)).or_insert(out.len());
        match out.get_mut(place) {
            Some((_, _, all)) => all.extend(parts),
            None => out.push((job, file, parts)),
        }
    }
    out
}

/// Fetches one part of a file.
pub fn fetch_one(file: &ObjectFile, at: u64, dst: &mut [u8]) -> Result<()> {
    fetch(vec![(0, file, vec![Part { at, dst }])]).map_err(|unread| unread.error)
}

/// Fetches all parts of all files, or says what failed first. They must lie within their files.
fn fetch(jobs: Vec<Job<'_, '_>>) -> Result<(), Unread> {
    let mut requests = Vec::new();
    for job in jobs {
        plan(job, &mut requests);
    }
    let Some((job, store)) = requests.first().map(|r| (r.job, r.file.store().clone())) else {
        return Ok(());
    };
    store
        .wait(async { Ok(all(&store, requests).await) })
        .unwrap_or_else(|error| Err(Unread::anywhere(job, error)))
}

async fn all(store: &Store, requests: Vec<Request<'_, '_>>) -> Result<(), Unread> {
    let mut waiting = requests.into_iter();
    let mut running: FuturesUnordered<_> = waiting
        .by_ref()
        .take(store.patience().requests.max(1))
        .map(Request::run)
        .collect();
    while let Some(done) = running.next().await {
        done?;
        running.extend(waiting.next().map(Request::run));
    }
    Ok(())
}

/// Cuts parts that are too long, and puts near ones together.
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
            Some(r) if piece.at <= r.to.saturating_add(GAP) && r.to.max(end) - r.from <= MOST => {
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

fn cut<'b>(part: Part<'b>, out: &mut Vec<Part<'b>>) {
    let size = part.dst.len() as u64;
    let piece = size.div_ceil(size.div_ceil(MOST).max(1)).max(1);
    let places = (0..).map(|i| part.at + i * piece);
    out.extend(
        places
            .zip(part.dst.chunks_mut(piece as usize))
            .map(|(at, dst)| Part { at, dst }),
    );
}

impl Request<'_, '_> {
    async fn run(self) -> Result<(), Unread> {
        let (job, bytes) = (self.job, self.from..self.to);
        self.get()
            .await
            .map_err(|error| Unread { job, bytes, error })
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
                    "{}: {} bytes were asked for at {}, the server sends more",
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
            "{}: {} bytes were asked for at {}, the server sends {}",
            file.shown(),
            self.to - self.from,
            self.from,
            at - self.from
        ))
    }
}

/// Copies bytes of this place to the parts that want them; `first` may be the first of those.
/// Returns which is for the next ones.
fn scatter(parts: &mut [Part<'_>], mut first: usize, at: u64, bytes: &[u8]) -> usize {
    let end = at + bytes.len() as u64;
    while parts.get(first).is_some_and(|p| p.end() <= at) {
        first += 1;
    }
    for part in parts.iter_mut().skip(first).take_while(|p| p.at < end) {
        let (from, to) = (part.at.max(at), part.end().min(end));
        if from < to {
            let to_fill = part
                .dst
                .get_mut((from - part.at) as usize..(to - part.at) as usize);
            let there = bytes.get((from - at) as usize..(to - at) as usize);
            to_fill
                .into_iter()
                .zip(there)
                .for_each(|(d, s)| d.copy_from_slice(s));
        }
    }
    first
}
