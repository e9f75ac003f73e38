//! Many ranges of objects by few requests: near ones are fetched together, large ones cut, and many requests are under way
//! at once. What comes goes straight to where it is wanted, and is held against what was asked for.
//!
//! Costs, as of any large store: a request takes a round trip of 20 to 100 ms, a connection gives 50 to 100 MB/s, and some
//! sixteen may be open at once. So bytes that nobody wants pay as long as they take less than a sixteenth of a round trip
//! or two: half a MiB. A request of 4 to 8 MiB is long beside its round trip, and short enough to be made again.
#![forbid(unsafe_code)]

use super::file::ObjectFile;
use super::kept::PAGE;
use super::store::Store;
use crate::error::{Result, fail};
use crate::io::Part;
use crate::memory;
use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::{GetOptions, GetRange};
use std::collections::HashMap;

/// Ranges that lie this near are fetched together.
const GAP: u64 = 512 << 10;
/// The most of one request. What is longer is cut into equal parts, none below half of it.
pub const MOST: u64 = 8 << 20;

/// A request, and where what comes goes.
struct Request<'a, 'b> {
    file: &'a ObjectFile,
    from: u64,
    to: u64,
    /// In rising order; they may overlap.
    parts: Vec<Part<'b>>,
}

/// Reads parts of objects: from what is kept, else by requests.
pub fn read(jobs: Vec<(&ObjectFile, Vec<Part<'_>>)>) -> Result<()> {
    let (mut wanted, mut ahead) = (Vec::new(), Vec::new());
    for (file, parts) in by_file(jobs) {
        let behind = file.ahead(&parts);
        let parts = file.take_kept(parts)?;
        if !parts.is_empty() {
            let (at, to) = behind.unwrap_or((0, 0));
            ahead.push((file, at, memory::zeroed((to - at) as usize)?));
            wanted.push((file, parts));
        }
    }
    for ((_, parts), (_, at, bytes)) in wanted.iter_mut().zip(&mut ahead) {
        parts.extend((!bytes.is_empty()).then_some(Part { at: *at, dst: bytes }));
    }
    fetch(wanted)?;
    ahead.into_iter().filter(|(.., bytes)| !bytes.is_empty()).for_each(|(file, at, bytes)| file.keep(at, bytes));
    Ok(())
}

/// Fetches the pages of these ranges that are not kept yet, and keeps them.
pub fn keep(jobs: Vec<(&ObjectFile, u64, u64)>) -> Result<()> {
    let (mut runs, mut seen) = (Vec::new(), HashMap::new());
    for (file, from, to) in jobs {
        // neighbours may share a page
        let from = from.max(seen.insert(std::ptr::from_ref(file), to.next_multiple_of(PAGE)).filter(|&before| before <= to).unwrap_or(0));
        for (first, end) in file.missing_pages(from, to) {
            runs.push((file, first, memory::zeroed((end - first * PAGE) as usize)?));
        }
    }
    fetch(by_file(runs.iter_mut().map(|(file, first, bytes)| (*file, vec![Part { at: *first * PAGE, dst: bytes }])).collect()))?;
    runs.into_iter().for_each(|(file, first, bytes)| file.keep_pages(first, &bytes));
    Ok(())
}

/// One job a file: only those of one job are put together.
fn by_file<'a, 'b>(jobs: Vec<(&'a ObjectFile, Vec<Part<'b>>)>) -> Vec<(&'a ObjectFile, Vec<Part<'b>>)> {
    let mut out: Vec<(&ObjectFile, Vec<Part<'b>>)> = Vec::new();
    let mut places = HashMap::new();
    for (file, parts) in jobs {
        let place = *places.entry(std::ptr::from_ref(file)).or_insert(out.len());
        match out.get_mut(place) {
            Some((_, all)) => all.extend(parts),
            None => out.push((file, parts)),
        }
    }
    out
}

/// Fetches all parts of all files, or says what failed first. They must lie within their files.
pub fn fetch(jobs: Vec<(&ObjectFile, Vec<Part<'_>>)>) -> Result<()> {
    let mut requests = Vec::new();
    for (file, parts) in jobs {
        plan(file, parts, &mut requests);
    }
    let Some(store) = requests.first().map(|r| r.file.store().clone()) else { return Ok(()) };
    store.wait(all(&store, requests))
}

async fn all(store: &Store, requests: Vec<Request<'_, '_>>) -> Result<()> {
    let mut waiting = requests.into_iter();
    let mut running: FuturesUnordered<_> = waiting.by_ref().take(store.patience().requests.max(1)).map(Request::run).collect();
    while let Some(done) = running.next().await {
        done?;
        running.extend(waiting.next().map(Request::run));
    }
    Ok(())
}

/// Cuts parts that are too long, and puts near ones together.
fn plan<'a, 'b>(file: &'a ObjectFile, parts: Vec<Part<'b>>, out: &mut Vec<Request<'a, 'b>>) {
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
            _ => out.push(Request { file, from: piece.at, to: end, parts: vec![piece] }),
        }
    }
}

fn cut<'b>(part: Part<'b>, out: &mut Vec<Part<'b>>) {
    let size = part.dst.len() as u64;
    let piece = size.div_ceil(size.div_ceil(MOST).max(1)).max(1);
    let places = (0..).map(|i| part.at + i * piece);
    out.extend(places.zip(part.dst.chunks_mut(piece as usize)).map(|(at, dst)| Part { at, dst }));
}

impl Request<'_, '_> {
    async fn run(mut self) -> Result<()> {
        let (file, store) = (self.file, &**self.file.store());
        let options = GetOptions { range: Some(GetRange::Bounded(self.from..self.to)), if_match: file.pin(), ..GetOptions::default() };
        let got = store.step(file.key(), store.inner().get_opts(file.path(), options)).await.map_err(|e| file.gone(e))?;
        file.same(&got.meta)?;
        let mut stream = got.into_stream();
        let (mut at, mut first) = (self.from, 0);
        while let Some(bytes) = store.step(file.key(), async { stream.next().await.transpose() }).await.map_err(|e| file.gone(e))? {
            let end = at + bytes.len() as u64;
            if end > self.to {
                return Err(fail!(Io, "{}: {} bytes were asked for at {}, the server sends more", file.shown(), self.to - self.from, self.from));
            }
            first = scatter(&mut self.parts, first, at, &bytes);
            at = end;
        }
        if at == self.to {
            return Ok(());
        }
        Err(fail!(Io, "{}: {} bytes were asked for at {}, the server sends {}", file.shown(), self.to - self.from, self.from, at - self.from))
    }
}

/// Copies bytes of this place to the parts that want them; `first` may be the first of those. Returns which is for the next ones.
fn scatter(parts: &mut [Part<'_>], mut first: usize, at: u64, bytes: &[u8]) -> usize {
    let end = at + bytes.len() as u64;
    while parts.get(first).is_some_and(|p| p.end() <= at) {
        first += 1;
    }
    for part in parts.iter_mut().skip(first).take_while(|p| p.at < end) {
        let (from, to) = (part.at.max(at), part.end().min(end));
        if from < to {
            let to_fill = part.dst.get_mut((from - part.at) as usize..(to - part.at) as usize);
            let there = bytes.get((from - at) as usize..(to - at) as usize);
            to_fill.into_iter().zip(there).for_each(|(d, s)| d.copy_from_slice(s));
        }
    }
    first
}
