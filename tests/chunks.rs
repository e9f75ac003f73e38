//! Chunks that other libraries wrote: every chunk of the frames in the fixtures, combined to the
//! array that they hold; and, for `tests/peer/test_chunks.py`, chunks to and from those libraries.

mod common;

use common::fixtures;
use holdall::blosc::{
    Codec, Filter, Header, Params, Pipeline, Split, Target, decode, decode_range, encode,
};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::superchunk::chunks::Chunks;
use holdall::superchunk::frame::Frame;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn whole(chunk: &[u8], threads: usize) -> holdall::error::Result<Vec<u8>> {
    let mut out = vec![0x55; Header::parse(chunk)?.nbytes];
    decode(chunk, &mut out, threads).map(|()| out)
}

// ---- the frames in the fixtures

/// The chunks of a frame in order, found through its index, as far as this test parses it. Chunks
/// that are only a mark in the index are returned as zeros or NaN.
fn frame_chunks(path: &Path, about: &Value) -> Vec<Vec<u8>> {
    let folder = path.is_dir();
    let frame = fs::read(if folder {
        path.join("chunks.b2frame")
    } else {
        path.into()
    })
    .unwrap();
    let header = u32::from_be_bytes(frame[0x0b..0x0f].try_into().unwrap()) as usize;
    let data = if folder {
        0
    } else {
        u64::from_be_bytes(frame[0x27..0x2f].try_into().unwrap()) as usize
    };
    let total = u64::from_be_bytes(frame[0x1e..0x26].try_into().unwrap()) as usize;
    let typesize = u32::from_be_bytes(frame[0x30..0x34].try_into().unwrap()) as usize;
    let chunksize = u32::from_be_bytes(frame[0x3a..0x3e].try_into().unwrap()) as usize;
    if total == 0 {
        return Vec::new();
    }
    let index = whole(&frame[header + data..], 1).unwrap();
    let offsets = index
        .chunks_exact(8)
        .map(|b| i64::from_le_bytes(b.try_into().unwrap()));
    let mut left = total;
    let chunk = |at: i64| {
        let n = chunksize.min(left);
        left = left.saturating_sub(chunksize);
        if at < 0 {
            let nan = if typesize == 4 {
                f32::NAN.to_le_bytes().to_vec()
            } else {
                f64::NAN.to_le_bytes().to_vec()
            };
            let special = at.to_be_bytes()[0] & 0x7f;
            return if special == 2 {
                nan.repeat(n / typesize)
            } else {
                vec![0; n]
            };
        }
        let stored = if folder {
            fs::read(path.join(format!("{at:08X}.chunk"))).unwrap()
        } else {
            frame[header + at as usize..].to_vec()
        };
        let content = whole(&stored, 2).unwrap_or_else(|e| panic!("{about}: {e}"));
        assert!(content == whole(&stored, 1).unwrap());
        content
    };
    offsets.map(chunk).collect()
}

fn numbers(v: &Value) -> Vec<usize> {
    v.as_array()
        .into_iter()
        .flatten()
        .map(|n| n.as_u64().unwrap() as usize)
        .collect()
}

/// Iterates over all positions below `ends`, the last one fastest.
fn positions(ends: &[usize]) -> Vec<Vec<usize>> {
    ends.iter().fold(vec![vec![]], |all, &end| {
        all.iter()
            .flat_map(|p| (0..end).map(move |i| p.iter().copied().chain([i]).collect()))
            .collect()
    })
}

/// Copies the items of the chunks to their positions in the array.
fn assemble(chunks: &[Vec<u8>], about: &Value, itemsize: usize) -> Vec<u8> {
    let [shape, chunk, block] = ["shape", "chunkshape", "blockshape"].map(|k| numbers(&about[k]));
    let mut out = vec![0; shape.iter().product::<usize>() * itemsize];
    if out.is_empty() {
        return out;
    }
    let grid: Vec<usize> = shape
        .iter()
        .zip(&chunk)
        .map(|(s, c)| s.div_ceil(*c))
        .collect();
    let blocks: Vec<usize> = chunk
        .iter()
        .zip(&block)
        .map(|(c, b)| c.div_ceil(*b))
        .collect();
    for (content, c) in chunks.iter().zip(positions(&grid)) {
        let inside = positions(&blocks)
            .into_iter()
            .flat_map(|b| positions(&block).into_iter().map(move |i| (b.clone(), i)));
        for (item, (b, i)) in content.chunks_exact(itemsize).zip(inside) {
            let local: Vec<usize> = (0..shape.len()).map(|d| b[d] * block[d] + i[d]).collect();
            let global: Vec<usize> = (0..shape.len())
                .map(|d| c[d] * chunk[d] + local[d])
                .collect();
            if (0..shape.len()).all(|d| local[d] < chunk[d] && global[d] < shape[d]) {
                let at = global.iter().zip(&shape).fold(0, |at, (g, s)| at * s + g);
                out[at * itemsize..][..itemsize].copy_from_slice(item);
            }
        }
    }
    out
}

fn check_frame(folder: &Path, about: &Value) {
    let expected = fs::read(folder.join(about["expected"].as_str().unwrap())).unwrap();
    let chunks = frame_chunks(&folder.join(about["path"].as_str().unwrap()), about);
    let content = if about["kind"] == "schunk" {
        chunks.concat()
    } else {
        let items: usize = numbers(&about["shape"]).iter().product();
        assemble(
            &chunks,
            about,
            expected.len().checked_div(items).unwrap_or(1),
        )
    };
    assert!(content == expected, "{}", about["name"]);
    check_as_frame(&folder.join(about["path"].as_str().unwrap()), &chunks);
}

/// The same through a handle: all of it, ranges, and each block by itself.
fn check_as_frame(path: &Path, chunks: &[Vec<u8>]) {
    let content = chunks.concat();
    for (io, threads) in [(0, 1), (0, 2), (1, 2)] {
        let options = Options::new()
            .with(Opt::Io, io)
            .unwrap()
            .with(Opt::Threads, threads)
            .unwrap();
        let frame =
            Frame::open(path.as_os_str(), Mode::Read, &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (frame.chunks(), frame.nbytes()),
            (chunks.len() as u64, content.len() as u64),
            "{}",
            frame.name()
        );
        let mut seed = 7u64;
        let ranges = (0..40).map(|_| {
            let mut draw = |n: usize| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                ((seed >> 33) % (n as u64 + 1)) as usize
            };
            let from = draw(content.len());
            from..from + draw([60, content.len()][from % 2]).min(content.len() - from)
        });
        for range in std::iter::once(0..content.len()).chain(ranges) {
            let mut got = vec![0x55; range.len()];
            assert!(
                !frame
                    .read(range.start as u64, &mut got)
                    .unwrap_or_else(|e| panic!("{e}"))
            );
            assert!(got == content[range.clone()], "{}: {range:?}", frame.name());
        }
        for (i, chunk) in chunks
            .iter()
            .enumerate()
            .filter(|_| frame.chunk_bytes() > 0)
        {
            for (block, want) in chunk.chunks(Chunks::block_bytes(&frame)).enumerate() {
                let (from, mut got) = (want.len() / 3, vec![0x55; want.len() / 2]);
                frame.read_part(i as u64, block, from, &mut got).unwrap();
                assert!(
                    got == want[from..][..got.len()],
                    "{}: block {block} of chunk {i}",
                    frame.name()
                );
            }
        }
        let verified = frame.verify(|e| panic!("{e}")).unwrap();
        assert_eq!(
            (verified.unchecked, verified.corrupt),
            (chunks.len() as u64, 0)
        );
    }
}

#[test]
fn frames_of_the_reference_library() {
    let mut checked = 0;
    for folder in ["b2nd", "caterva"].map(|f| fixtures().join(f)) {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "json") {
                continue;
            }
            let about: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let name = about["name"].as_str().unwrap();
            // plugins that holdall does not have; content that was never written; blocks of
            // variable length
            let elsewhere = [
                "k_ndcell",
                "k_ndlz",
                "k_zfp",
                "k_int_trunc",
                "s_uninit",
                "s_empty",
                "v_",
            ];
            if !about["expected"].is_string() || elsewhere.iter().any(|e| name.starts_with(e)) {
                continue;
            }
            check_frame(&folder, &about);
            checked += 1;
        }
    }
    println!("{checked} frames");
    assert!(checked >= 23, "{checked} frames");
}

// ---- chunks to and from other libraries

/// One line of the script: the data and parameters for encoding, and the chunk of the other
/// library.
struct Case<'a> {
    /// None: there is nothing to encode.
    params: Option<Params>,
    content: &'a [u8],
    /// Empty: there is nothing to decode.
    theirs: &'a [u8],
}

fn params(fields: &[&str]) -> Option<Params> {
    let [target, codec, level, typesize, blocksize, split, filters] = fields else {
        panic!("{fields:?}")
    };
    let number = |w: &str| w.parse::<usize>().unwrap();
    let filters: Vec<Filter> = filters
        .split(',')
        .filter(|f| *f != "-")
        .map(|f| {
            let (id, meta) = f.split_once(':').unwrap();
            let meta: i16 = meta.parse().unwrap();
            match id {
                "1" => Filter::Shuffle { group: meta as u8 },
                "2" => Filter::Bitshuffle,
                "3" => Filter::Delta,
                "4" => Filter::Truncate { bits: meta as i8 },
                "35" => Filter::ByteDelta { runs: meta as u8 },
                _ => panic!("{f}"),
            }
        })
        .collect();
    Some(Params {
        target: match *target {
            "1" => Target::Blosc1,
            "2" => Target::Blosc2,
            _ => return None,
        },
        codec: Codec::from_name(codec).unwrap(),
        level: number(level) as u8,
        filters: Pipeline::new(&filters).unwrap(),
        typesize: number(typesize),
        blocksize: Some(number(blocksize)).filter(|b| *b > 0),
        split: match *split {
            "always" => Split::Always,
            "never" => Split::Never,
            _ => Split::Auto,
        },
        dictionary: false,
    })
}

impl Case<'_> {
    /// Decodes chunks of the other libraries, completely and in parts.
    fn read(&self, seed: usize) -> Result<(), String> {
        let message = |e: holdall::error::Error| e.to_string();
        let content = self.content;
        if whole(self.theirs, 1 + seed % 2).map_err(message)? != content {
            return Err("decodes to something else".into());
        }
        for i in 0..3 {
            let mut ends = [0x9e37_79b9, 0x85eb_ca6b]
                .map(|k: usize| seed.wrapping_add(i).wrapping_mul(k) % (content.len() + 1));
            ends.sort_unstable();
            let mut part = vec![0; ends[1] - ends[0]];
            decode_range(self.theirs, ends[0], &mut part, 1 + seed % 2).map_err(message)?;
            if part != content[ends[0]..ends[1]] {
                return Err(format!("{ends:?} decodes to something else"));
            }
        }
        Ok(())
    }
}

/// Executes the requests of the script in the folder that it names: see there.
#[test]
#[ignore = "run by tests/peer/test_chunks.py"]
fn exchange() {
    let folder = PathBuf::from(std::env::var_os("HOLDALL_CHUNKS").unwrap());
    let [inputs, theirs] = ["inputs", "theirs"].map(|n| fs::read(folder.join(n)).unwrap());
    let (mut ours, mut results) = (Vec::new(), String::new());
    for (i, line) in fs::read_to_string(folder.join("cases"))
        .unwrap()
        .lines()
        .enumerate()
    {
        let fields: Vec<&str> = line.split(' ').collect();
        let (how, numbers) = fields.split_at(7);
        let numbers: Vec<usize> = numbers.iter().map(|w| w.parse().unwrap()).collect();
        let [at, len, their_at, their_len] = numbers[..] else {
            panic!("{line}")
        };
        let case = Case {
            params: params(how),
            content: &inputs[at..][..len],
            theirs: &theirs[their_at..][..their_len],
        };
        let before = ours.len();
        if let Some(p) = &case.params {
            encode(p, case.content, &mut ours, 1 + i % 2).unwrap();
        }
        let read = if their_len > 0 { case.read(i) } else { Ok(()) };
        writeln!(
            results,
            "{} {}",
            ours.len() - before,
            read.err().unwrap_or_default()
        )
        .unwrap();
    }
    fs::write(folder.join("ours"), ours).unwrap();
    fs::write(folder.join("results"), results).unwrap();
}
