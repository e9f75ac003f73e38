//! Chunks, both ways: c-blosc2 encodes and holdall decodes, holdall encodes and c-blosc2 decodes.
//! Then a byte of the chunk changes: if both libraries accept it, they see the same content.

use crate::{Tally, blosc2, content};
use fastrand::Rng;
use holdall::blosc::{self, Codec, Filter, Params, Pipeline, Split, Target};

/// What both libraries have.
pub const CODECS: [Codec; 5] = [
    Codec::BloscLz,
    Codec::Lz4,
    Codec::Lz4Hc,
    Codec::Zlib,
    Codec::Zstd,
];

/// Random filters. The truncation filter has cases of its own.
pub fn filters(rng: &mut Rng) -> Pipeline {
    let shuffle = match rng.u8(..4) {
        0 => None,
        1 => Some(Filter::Bitshuffle),
        _ => Some(Filter::Shuffle { group: 0 }),
    };
    let delta = (rng.u8(..8) == 0).then_some(Filter::Delta);
    let list: Vec<_> = delta.into_iter().chain(shuffle).collect();
    Pipeline::new(&list).expect("two filters")
}

/// Random parameters. The slow levels of the slow codecs are seldom.
pub fn params(rng: &mut Rng, target: Target) -> Params {
    let codec = rng.choice(CODECS).expect("codecs");
    let most = if rng.u8(..50) == 0 { 9 } else { 5 };
    let typesize = match rng.u8(..20) {
        0 => rng.usize(1..300),
        1..5 => rng.usize(1..20),
        _ => 1 << rng.usize(..4),
    };
    let filters = match target {
        Target::Blosc2 => filters(rng),
        Target::Blosc1 if rng.bool() => Pipeline::default(),
        Target::Blosc1 => Pipeline::single(Filter::Shuffle { group: 0 }),
    };
    Params {
        filters,
        blocksize: rng.bool().then(|| rng.usize(1..3000)),
        split: rng
            .choice([Split::Auto, Split::Always, Split::Never])
            .expect("three"),
        ..Params::new(target, codec, rng.u8(..=most), typesize)
    }
}

/// The parameters as c-blosc2 takes them.
pub fn theirs(params: &Params) -> blosc2::Params {
    let (filters, filters_meta) = params.filters.slots();
    blosc2::Params {
        codec: params.codec.number(),
        level: params.level,
        typesize: params.typesize,
        blocksize: params.blocksize.unwrap_or(0),
        split: match params.split {
            Split::Always => 1,
            Split::Never => 2,
            Split::Auto => 3,
        },
        filters,
        filters_meta,
    }
}

/// Runs the case of a seed.
pub fn case(seed: u64) -> Result<Tally, String> {
    let rng = &mut Rng::with_seed(seed);
    let target = if rng.u8(..5) == 0 {
        Target::Blosc1
    } else {
        Target::Blosc2
    };
    let params = params(rng, target);
    let n = content::size(rng);
    let content = content::bytes(rng, n, params.typesize);
    let about = |why: String| format!("{n} bytes, {params:?}: {why}");
    let mut tally = Tally::default();

    let mut chunk = Vec::new();
    blosc::encode(&params, &content, &mut chunk, 1).map_err(|e| about(e.message))?;
    tally += read_by_both(rng, &chunk, &content).map_err(|e| about(format!("ours: {e}")))?;
    tally += changed(rng, &mut chunk).map_err(|e| about(format!("ours, changed: {e}")))?;
    if target == Target::Blosc2 {
        let encoded = blosc2::encode(&theirs(&params), &content);
        let mut chunk = encoded.map_err(|e| about(format!("they do not encode it: {e}")))?;
        if !n.is_multiple_of(params.typesize) && (is_one_value(&chunk) || has_delta(&chunk)) {
            // c-blosc2 refuses its own chunk of one value that ends within an item, and its delta
            // filter loses the bytes after the last whole item
            tally.refused += 1;
            return Ok(tally);
        }
        tally += read_by_both(rng, &chunk, &content).map_err(|e| about(format!("theirs: {e}")))?;
        tally += changed(rng, &mut chunk).map_err(|e| about(format!("theirs, changed: {e}")))?;
    }
    Ok(tally)
}

/// All content and some items, by both libraries.
fn read_by_both(rng: &mut Rng, chunk: &[u8], content: &[u8]) -> Result<Tally, String> {
    let n = content.len();
    let mut whole = vec![0xaa; n];
    blosc::decode(chunk, &mut whole, 1).map_err(|e| format!("we: {}", e.message))?;
    same("we read", &whole, content)?;
    let header = blosc::Header::parse(chunk).map_err(|e| e.message)?;
    let (from, to) = (rng.usize(..=n), rng.usize(..=n));
    let range = from.min(to)..from.max(to);
    let mut part = vec![0xaa; range.len()];
    blosc::decode_range(chunk, range.start, &mut part, 1).map_err(|e| e.message)?;
    same("we read a part", &part, &content[range])?;

    let peer = blosc2::Chunk::new(chunk).map_err(|e| format!("no context: {e}"))?;
    let whole = peer.decode(n).map_err(|e| format!("they: {e}"))?;
    same("they read", &whole, content)?;
    let items = n / header.typesize;
    let start = rng.usize(..=items);
    let count = rng.usize(..=items - start);
    if misreads_items(&header, chunk, count * header.typesize) {
        return Ok(Tally {
            compared: 1,
            refused: 1,
        });
    }
    let range = start * header.typesize..(start + count) * header.typesize;
    let part = peer.items(start, count, header.typesize);
    let part = part.map_err(|e| format!("they, items {start}+{count}: {e}"))?;
    same("they read items", &part, &content[range])?;
    Ok(Tally {
        compared: 1,
        refused: 0,
    })
}

/// Does c-blosc2 misread `n` bytes of items of a chunk that it decodes?
fn misreads_items(header: &blosc::Header, chunk: &[u8], n: usize) -> bool {
    // it has not decoded the first block, which delta refers to
    has_delta(chunk)
        // if the part of two blocks is as long as the second one, it takes it for that block
        || n > 0 && [header.blocksize, header.nbytes % header.blocksize].contains(&n)
        // it looks for the table of blocks that a short copied chunk has no room for
        || chunk.len() < header.len() + 4 * header.blocks()
}

fn is_one_value(chunk: &[u8]) -> bool {
    let content = blosc::Header::parse(chunk).and_then(|header| header.content());
    content
        .is_ok_and(|content| content != blosc::Content::Blocks && content != blosc::Content::Copied)
}

fn has_delta(chunk: &[u8]) -> bool {
    let filters = blosc::Header::parse(chunk).and_then(|header| header.pipeline());
    filters.is_ok_and(|filters| filters.iter().any(|filter| filter == Filter::Delta))
}

/// Settings of filters in the header. Since 2.23 they are the item size of the shuffle filter; the
/// peer is older.
const SHUFFLE_GROUPS: std::ops::Range<usize> = 24..30;

/// A changed chunk that holdall accepts: c-blosc2 refuses it, or reads the same.
fn changed(rng: &mut Rng, chunk: &mut [u8]) -> Result<Tally, String> {
    let most = if rng.bool() { 40 } else { chunk.len() };
    let at = rng.usize(..chunk.len().min(most));
    if SHUFFLE_GROUPS.contains(&at) {
        return Ok(Tally::default());
    }
    chunk[at] ^= 1 << rng.u8(..8);
    let Ok(header) = blosc::Header::parse(chunk) else {
        return Ok(Tally::default());
    };
    // what was never set has no content that could be compared
    if header.nbytes > 1 << 20 || header.content() == Ok(blosc::Content::Uninitialised) {
        return Ok(Tally::default());
    }
    // c-blosc2 misreads its own chunks with another filter before delta
    let delta_is_first = |filters: Pipeline| filters.iter().skip(1).all(|f| f != Filter::Delta);
    let mut ours = vec![0x55; header.nbytes];
    if !header.pipeline().is_ok_and(delta_is_first) || blosc::decode(chunk, &mut ours, 1).is_err() {
        return Ok(Tally::default());
    }
    let peer = blosc2::Chunk::new(chunk).map_err(|e| format!("no context: {e}"))?;
    match peer.decode(header.nbytes) {
        Ok(theirs) => same(&format!("byte {at}, they read"), &theirs, &ours).map(|()| Tally {
            compared: 1,
            refused: 0,
        }),
        Err(_) => Ok(Tally {
            compared: 0,
            refused: 1,
        }),
    }
}

/// An error that names the first byte that differs.
pub fn same(what: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b);
    Err(format!(
        "{what} other content: {} bytes instead of {}, first difference at {at:?}",
        found.len(),
        expected.len()
    ))
}
