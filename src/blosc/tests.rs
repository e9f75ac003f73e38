//! Tests of chunks: round trips, ranges, and robustness against corrupt bytes.

use super::block_cache::BlockCache;
use super::stored::{StoredBytes, StoredChunk};
use super::*;
use crate::alloc::Bytes;
use crate::error::Status;
use proptest::prelude::*;

/// Returns data of one of several kinds, reproducible by seed.
fn data(kind: usize, seed: u64, n: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut random = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    match kind {
        0 => vec![0; n],
        1 => vec![seed as u8; n],
        2 => (0..n.div_ceil(4))
            .flat_map(|i| (i as u32 * 3).to_le_bytes())
            .take(n)
            .collect(),
        3 => (0..n)
            .map(|_| {
                if random() % 50 == 0 {
                    random() as u8
                } else {
                    0
                }
            })
            .collect(),
        4 => (0..n).map(|_| random() as u8).collect(),
        _ => (0..n.div_ceil(8))
            .flat_map(|_| ((random() % 10_000) as f64 / 100.0).to_le_bytes())
            .take(n)
            .collect(),
    }
}

const KINDS: usize = 6;

fn pipelines(target: Target, typesize: usize) -> Vec<Pipeline> {
    let group = |group| Filter::Shuffle { group };
    let mut all = vec![vec![], vec![group(0)], vec![Filter::Bitshuffle]];
    if target == Target::Blosc2 {
        all.push(vec![Filter::Delta]);
        all.push(vec![Filter::Delta, group(0)]);
        all.push(vec![group(0), Filter::ByteDelta { runs: 0 }]);
        all.push(vec![
            Filter::Delta,
            group(3),
            Filter::ByteDelta { runs: 5 },
            Filter::Bitshuffle,
        ]);
        if typesize == 4 || typesize == 8 {
            // retains all bits of a float of 8 or 4 bytes
            let bits = if typesize == 8 { 52 } else { 23 };
            all.push(vec![
                Filter::Truncate { bits },
                Filter::Delta,
                Filter::Bitshuffle,
            ]);
        }
    }
    all.iter().map(|f| Pipeline::new(f).unwrap()).collect()
}

fn round(p: &Params, src: &[u8]) {
    let mut one = b"before".to_vec();
    encode(p, src, &mut one, 1).unwrap();
    let mut more = b"before".to_vec();
    encode(p, src, &mut more, 3).unwrap();
    assert!(
        one == more,
        "{p:?}: the chunk depends on the number of threads"
    );
    let chunk = &one[6..];
    let h = Header::parse(chunk).unwrap();
    assert_eq!(
        (h.nbytes, h.cbytes, h.len()),
        (
            src.len(),
            chunk.len(),
            if p.target == Target::Blosc1 { 16 } else { 32 }
        )
    );
    assert!(chunk.len() <= src.len() + h.len());
    for threads in [1, 3] {
        let mut back = vec![1; src.len()];
        decode(chunk, &mut back, threads).unwrap();
        assert!(back == src, "{p:?}, {} bytes", src.len());
    }
}

fn params() -> impl Strategy<Value = Params> {
    let target = prop_oneof![Just(Target::Blosc1), Just(Target::Blosc2)];
    let typesize = prop_oneof![1usize..20, Just(4), Just(8), 1usize..300];
    let blocksize = prop_oneof![Just(None), (1usize..70_000).prop_map(Some)];
    let split = prop_oneof![Just(Split::Auto), Just(Split::Always), Just(Split::Never)];
    (
        target,
        0usize..6,
        0u8..8,
        typesize,
        blocksize,
        split,
        0usize..8,
        any::<bool>(),
    )
        .prop_map(
            |(target, codec, level, typesize, blocksize, split, f, dictionary)| {
                let known = pipelines(target, typesize);
                let filters = known[f % known.len()];
                let codec = if target == Target::Blosc2 && codec == 3 {
                    Codec::Lz4
                } else {
                    Codec::ALL[codec]
                };
                Params {
                    target,
                    codec,
                    level,
                    filters,
                    typesize,
                    blocksize,
                    split,
                    dictionary: dictionary && target == Target::Blosc2 && codec.uses_dictionaries(),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn round_trips(p in params(), kind in 0..KINDS, seed in 0u64..100, n in prop_oneof![0usize..300, 0usize..300_000]) {
        round(&p, &data(kind, seed, n));
    }
}

#[test]
fn every_range_of_small_chunks() {
    for target in [Target::Blosc1, Target::Blosc2] {
        for codec in Codec::ALL
            .into_iter()
            .filter(|c| target == Target::Blosc1 || *c != Codec::Snappy)
        {
            for typesize in [1, 3, 8] {
                for filters in pipelines(target, typesize) {
                    let p = Params {
                        target,
                        codec,
                        level: 5,
                        filters,
                        typesize,
                        blocksize: Some(130),
                        split: Split::Auto,
                        dictionary: false,
                    };
                    ranges(&p, &data(2, 0, 500));
                }
            }
        }
    }
}

fn ranges(p: &Params, src: &[u8]) {
    let mut chunk = Vec::new();
    encode(p, src, &mut chunk, 1).unwrap();
    let mut back = vec![0; src.len()];
    for from in 0..=src.len() {
        for to in from..=src.len() {
            if (to - from) % 23 > 1 {
                continue;
            }
            let part = &mut back[..to - from];
            decode_range(&chunk, from, part, 1).unwrap();
            assert!(*part == src[from..to], "{p:?}: {from}..{to}");
        }
    }
    assert_eq!(
        decode_range(&chunk, src.len(), &mut [0], 1)
            .unwrap_err()
            .status,
        Status::Range
    );
    assert_eq!(
        decode_range(&chunk, usize::MAX, &mut [0], 1)
            .unwrap_err()
            .status,
        Status::Range
    );
}

/// Returns small chunks of every kind with their content.
fn small_chunks() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for target in [Target::Blosc1, Target::Blosc2] {
        for codec in Codec::ALL
            .into_iter()
            .filter(|c| target == Target::Blosc1 || *c != Codec::Snappy)
        {
            for (kind, n) in [(2, 400), (3, 333), (4, 150), (1, 200), (0, 100)] {
                for filters in pipelines(target, 4) {
                    let p = Params {
                        target,
                        codec,
                        level: 4,
                        filters,
                        typesize: 4,
                        blocksize: Some(128),
                        split: Split::Always,
                        dictionary: false,
                    };
                    let (src, mut chunk) = (data(kind, 1, n), Vec::new());
                    encode(&p, &src, &mut chunk, 1).unwrap();
                    all.push((src, chunk));
                }
            }
        }
    }
    all.push((vec![7; 60], special(3, 4, 60, &[7; 4])));
    all.push((vec![0; 60], special(1, 4, 60, &[])));
    all
}

/// Returns a chunk that consists of a header and an optional value.
fn special(kind: u8, typesize: u8, nbytes: u32, value: &[u8]) -> Vec<u8> {
    let mut chunk = vec![5, 1, 5, typesize];
    chunk.extend(
        [nbytes, nbytes, 32 + value.len() as u32]
            .iter()
            .flat_map(|n| n.to_le_bytes()),
    );
    chunk.extend([0; 15]);
    chunk.push(kind << 4);
    chunk.extend(value);
    chunk
}

/// Text whose short blocks have much in common.
fn lines(n: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for i in 0u32.. {
        if text.len() >= n {
            break;
        }
        let score = i.wrapping_mul(2_654_435_761) >> 20;
        text.extend(format!("user {i} of the city of Osaka has the score {score}\n").bytes());
    }
    text.truncate(n);
    text
}

#[test]
fn dictionaries_make_short_blocks_smaller() {
    for codec in [Codec::Lz4, Codec::Lz4Hc, Codec::Zstd] {
        for (typesize, filters) in [
            (1, Pipeline::default()),
            (4, pipelines(Target::Blosc2, 4)[1]),
        ] {
            let src = lines(200_000);
            let plain = Params {
                filters,
                blocksize: Some(500),
                ..Params::new(Target::Blosc2, codec, 5, typesize)
            };
            let with = Params {
                dictionary: true,
                ..plain.clone()
            };
            let sizes = [&plain, &with].map(|p| {
                round(p, &src);
                let mut chunk = Vec::new();
                encode(p, &src, &mut chunk, 1).unwrap();
                let has_dictionary = Header::parse(&chunk).unwrap().has_dictionary();
                (chunk.len(), has_dictionary)
            });
            let [(plain, false), (with, is_used)] = sizes else {
                panic!("{sizes:?}")
            };
            assert!(with <= plain, "{codec:?}: {sizes:?}");
            assert!(is_used || typesize == 4, "{codec:?}");
        }
    }
}

#[test]
fn dictionaries_that_cannot_help_are_left_out() {
    let p = Params {
        dictionary: true,
        blocksize: Some(2000),
        ..Params::new(Target::Blosc2, Codec::Zstd, 5, 1)
    };
    // zeros, too few bytes, too few blocks, noise
    let large = Params {
        blocksize: Some(20_000),
        ..p.clone()
    };
    for (p, src) in [
        (&p, vec![0; 60_000]),
        (&p, lines(5000)),
        (&large, lines(100_000)),
        (&p, data(4, 1, 60_000)),
    ] {
        round(p, &src);
        let mut chunk = Vec::new();
        encode(p, &src, &mut chunk, 1).unwrap();
        assert!(!Header::parse(&chunk).unwrap().has_dictionary());
    }
    let other = Params {
        codec: Codec::Zlib,
        ..p
    };
    let e = encode(&other, &[1; 99], &mut Vec::new(), 1).unwrap_err();
    assert_eq!(e.status, Status::Argument);
}

#[test]
fn corrupt_dictionaries_are_errors_or_other_content() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        let p = Params {
            dictionary: true,
            blocksize: Some(300),
            ..Params::new(Target::Blosc2, codec, 5, 1)
        };
        let (src, mut chunk) = (lines(9000), Vec::new());
        encode(&p, &src, &mut chunk, 1).unwrap();
        assert!(Header::parse(&chunk).unwrap().has_dictionary());
        let mut back = vec![0; src.len()];
        for at in 0..chunk.len() {
            let mut corrupt = chunk.clone();
            corrupt[at] ^= 1 << (at % 8);
            if Header::parse(&corrupt).is_ok_and(|h| h.nbytes == src.len()) {
                let _ = decode(&corrupt, &mut back, 1);
            }
            assert!(decode(&chunk[..at], &mut back, 1).is_err(), "{at} bytes");
        }
    }
}

#[test]
fn mutated_chunks_do_not_panic() {
    let mut buffer = vec![0; 1 << 16];
    for (_, chunk) in small_chunks() {
        for at in 0..chunk.len() {
            for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
                let mut corrupt = chunk.clone();
                corrupt[at] ^= change;
                let Ok(h) = Header::parse(&corrupt) else {
                    continue;
                };
                if let Some(to) = buffer.get_mut(..h.nbytes) {
                    let _ = decode(&corrupt, to, 1 + at % 2);
                    let part = (h.nbytes / 3)..(h.nbytes / 2);
                    let _ = decode_range(&corrupt, part.start, &mut to[part], 1);
                }
            }
        }
        for end in 0..chunk.len() {
            let n = Header::parse(&chunk).unwrap().nbytes;
            assert_eq!(
                decode(&chunk[..end], &mut buffer[..n], 1)
                    .unwrap_err()
                    .status,
                Status::Format,
                "{end} of {}",
                chunk.len()
            );
        }
    }
}

#[test]
fn bytes_after_a_chunk_are_ignored() {
    for (src, mut chunk) in small_chunks() {
        chunk.extend(b"after");
        let mut back = vec![1; src.len()];
        decode(&chunk, &mut back, 1).unwrap();
        assert_eq!(back, src);
    }
}

#[test]
fn special_chunks() {
    let read = |chunk: &[u8]| -> Result<Vec<u8>> {
        let mut all = vec![1; Header::parse(chunk)?.nbytes];
        decode(chunk, &mut all, 1)?;
        for (from, to) in [(0, 0), (1, 1), (3, 90), (5, all.len()), (0, all.len())] {
            let mut part = vec![1; to - from];
            decode_range(chunk, from, &mut part, 1)?;
            assert_eq!(part, all[from..to]);
        }
        Ok(all)
    };
    assert_eq!(read(&special(1, 7, 100, &[])).unwrap(), [0; 100]);
    assert_eq!(read(&special(4, 8, 100, &[])).unwrap(), [0; 100]);
    assert_eq!(
        read(&special(2, 4, 100, &[])).unwrap(),
        f32::NAN.to_le_bytes().repeat(25)
    );
    assert_eq!(
        read(&special(2, 8, 9000, &[])).unwrap(),
        f64::NAN.to_le_bytes().repeat(1125)
    );
    assert_eq!(read(&special(3, 0, 99, b"abc")).unwrap(), b"abc".repeat(33));
    let long = data(4, 1, 5000);
    assert_eq!(read(&special(3, 1, 15_000, &long)).unwrap(), long.repeat(3));
    for (kind, typesize, n, value, status) in [
        (2, 2, 100, &b""[..], Status::Format),
        (2, 8, 100, b"", Status::Format),
        (3, 1, 100, b"", Status::Format),
        (3, 1, 100, b"abc", Status::Format),
        (5, 1, 100, b"", Status::Version),
        (7, 1, 100, b"", Status::Version),
    ] {
        assert_eq!(
            read(&special(kind, typesize, n, value)).unwrap_err().status,
            status,
            "{kind}"
        );
    }
}

#[test]
fn a_chunk_of_zeros_is_only_a_header() {
    for codec in Codec::FOR_BLOSC2 {
        for filters in pipelines(Target::Blosc2, 8) {
            let p = Params {
                filters,
                ..Params::new(Target::Blosc2, codec, 5, 8)
            };
            let mut chunk = Vec::new();
            encode(&p, &[0; 300_000], &mut chunk, 2).unwrap();
            assert_eq!(
                (
                    chunk.len(),
                    Header::parse(&chunk).unwrap().content().unwrap()
                ),
                (32, Content::Zeros),
                "{p:?}"
            );
        }
    }
}

#[test]
fn invalid_headers_are_errors() {
    let good = {
        let mut chunk = Vec::new();
        encode(
            &Params::new(Target::Blosc2, Codec::Lz4, 5, 4),
            &data(2, 0, 1000),
            &mut chunk,
            1,
        )
        .unwrap();
        chunk
    };
    let with = |changes: &[(usize, u8)]| {
        let mut chunk = good.clone();
        changes.iter().for_each(|&(at, byte)| chunk[at] = byte);
        decode(&chunk, &mut [0; 1000], 1).unwrap_err()
    };
    for (changes, status, fragment) in [
        (&[(0, 0)][..], Status::Version, "version 0"),
        (&[(0, 7)], Status::Version, "version 7"),
        (&[(0, 15)], Status::Version, "version 15"),
        (&[(0, 16)], Status::Format, "version 16"),
        (&[(0, 99)], Status::Format, "version 99"),
        (&[(0, 2)], Status::Format, "version 2"),
        (&[(3, 0)], Status::Format, "items of 0"),
        (&[(7, 0x80)], Status::Format, "length"),
        (&[(8, 0), (9, 0)], Status::Format, "blocks of 0"),
        (&[(12, 31), (13, 0)], Status::Format, "31 bytes"),
        (&[(15, 0x70)], Status::Format, "cut short"),
        (&[(2, 0xc5), (22, 32)], Status::Codec, "codec 32"),
        (&[(2, 0xa5)], Status::Codec, "number 5"),
        (&[(21, 32)], Status::Codec, "filter 32"),
        (&[(21, 200)], Status::Codec, "filter 200"),
        (&[(30, 1)], Status::Format, "do not fit"),
        (&[(30, 2)], Status::Version, "0x02"),
        (&[(31, 8)], Status::Format, "lazy"),
        (&[(31, 0x80)], Status::Unsupported, "instrumented"),
        (&[(32, 3), (33, 0)], Status::Format, "block 0 begins"),
        (&[(32, 0xff), (33, 0xff)], Status::Format, "block 0 begins"),
    ] {
        let e = with(changes);
        assert!(
            e.status == status && e.message.contains(fragment),
            "{changes:?}: {e:?}"
        );
    }
    // filters of uncompressed content are not checked
    let mut copied = Vec::new();
    encode(
        &Params::new(Target::Blosc2, Codec::Lz4, 0, 4),
        &data(2, 0, 1000),
        &mut copied,
        1,
    )
    .unwrap();
    copied[21] = 200;
    decode(&copied, &mut [0; 1000], 1).unwrap();
    assert_eq!(
        Header::parse(&good[..15]).unwrap_err().status,
        Status::Format
    );
    assert_eq!(
        Header::parse(&good[..31]).unwrap_err().status,
        Status::Format
    );
    assert_eq!(
        decode(&good, &mut [0; 999], 1).unwrap_err().status,
        Status::Argument
    );
}

#[test]
fn invalid_parameters_are_errors() {
    let assert_refused = |change: fn(&mut Params)| {
        let mut p = Params::new(Target::Blosc2, Codec::Lz4, 5, 4);
        change(&mut p);
        let mut chunk = b"prefix".to_vec();
        assert_eq!(
            encode(&p, &[1; 1000], &mut chunk, 1).unwrap_err().status,
            Status::Argument
        );
        assert_eq!(chunk, b"prefix");
    };
    let filters = |f: &[Filter]| Pipeline::new(f).unwrap();
    assert_refused(|p| p.level = 10);
    assert_refused(|p| p.typesize = 0);
    assert_refused(|p| p.codec = Codec::Snappy);
    assert!(Pipeline::new(&[Filter::Delta; 7]).is_err());
    for f in [
        &[Filter::Delta][..],
        &[Filter::Shuffle { group: 2 }],
        &[Filter::Shuffle { group: 0 }, Filter::Bitshuffle],
    ] {
        let p = Params {
            filters: filters(f),
            ..Params::new(Target::Blosc1, Codec::Lz4, 5, 4)
        };
        assert_eq!(
            encode(&p, &[1; 1000], &mut Vec::new(), 1)
                .unwrap_err()
                .status,
            Status::Argument
        );
    }
    for (f, typesize) in [
        (&[Filter::Truncate { bits: 10 }][..], 2),
        (&[Filter::Truncate { bits: 60 }], 8),
        (&[Filter::Delta, Filter::Truncate { bits: 10 }], 4),
        (&[Filter::Shuffle { group: 0 }, Filter::Delta], 4),
        (&[Filter::Delta, Filter::Delta], 4),
    ] {
        let p = Params {
            filters: filters(f),
            ..Params::new(Target::Blosc2, Codec::Lz4, 5, typesize)
        };
        assert_eq!(
            encode(&p, &[1; 1000], &mut Vec::new(), 1)
                .unwrap_err()
                .status,
            Status::Argument,
            "{f:?}"
        );
    }
}

/// c-blosc2 refuses a chunk of one value whose content ends within an item.
#[test]
fn zeros_that_end_within_an_item_are_blocks() {
    let p = Params::new(Target::Blosc2, Codec::Lz4, 5, 4);
    for (n, content) in [(1000, Content::Zeros), (1001, Content::Blocks)] {
        let mut chunk = Vec::new();
        encode(&p, &vec![0; n], &mut chunk, 1).unwrap();
        assert_eq!(Header::parse(&chunk).unwrap().content(), Ok(content));
        let filled = encode_filled(&p, None, n).unwrap();
        assert_eq!(filled.is_some(), content == Content::Zeros);
    }
}

/// The bytes of a chunk, of which short ranges are read.
struct ShortRanges<'a>(&'a [u8]);

impl StoredBytes for ShortRanges<'_> {
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        self.0.read_at(at, dst)
    }
    fn bytes(&self, range: std::ops::Range<usize>) -> Result<Bytes<'_>> {
        self.0.bytes(range)
    }
    fn reads_short_ranges(&self) -> bool {
        true
    }
}

#[test]
fn a_repeated_value_must_be_a_whole_item() {
    let chunk = special(3, 4, 60, &[7; 3]);
    let all = &chunk[..];
    let opened = StoredChunk::open(&all, all.len() as u64, 32, u64::MAX);
    assert_eq!(opened.err().unwrap().status, Status::Format);
}

#[test]
fn stored_chunks_are_read_in_parts() {
    for (src, chunk) in small_chunks() {
        let (all, n) = (&chunk[..], chunk.len() as u64);
        let (stored, first) = StoredChunk::open(&all, n, 32, u64::MAX).unwrap();
        assert_eq!(first[..], chunk[..first.len()]);
        let h = *stored.header();
        let no_table = h.content() == Ok(Content::Blocks) && !h.has_dictionary();
        let no_table = no_table.then(|| StoredChunk::without_table(h).unwrap());
        let cache = BlockCache::new(None);
        for (k, stored) in (0..).zip(std::iter::once(&stored).chain(&no_table)) {
            for source in [&all as &dyn StoredBytes, &ShortRanges(all)] {
                // adjacent parts of a block are read from the cache
                for from in (0..src.len()).flat_map(|at| [at, at / 3]) {
                    for n in [1, 4, 64, 128, 300].map(|n: usize| n.min(src.len() - from)) {
                        let mut part = vec![1; n];
                        let cache = Some((&cache, k)).filter(|_| n < 64);
                        stored.read(source, from, &mut part, cache).unwrap();
                        assert!(part == src[from..][..n], "{n} bytes from {from}");
                    }
                }
            }
        }
        if h.content() == Ok(Content::Blocks) {
            let beyond = stored.read(&all, src.len() - 1, &mut [0; 2], None);
            assert_eq!(beyond.unwrap_err().status, Status::Range);
            let cut_short = stored.read(&&all[..all.len() - 1], 0, &mut vec![0; src.len()], None);
            assert_eq!(cut_short.unwrap_err().status, Status::Format);
        }
        let without_room = StoredChunk::open(&all, n - 1, 32, u64::MAX);
        assert_eq!(without_room.err().unwrap().status, Status::Format);
    }
}

#[test]
fn blocks_decode_from_their_own_bytes() {
    for (src, chunk) in small_chunks() {
        let h = Header::parse(&chunk[..chunk.len().min(32)]).unwrap();
        if h.content().unwrap() != Content::Blocks {
            continue;
        }
        let (starts, dictionary) = sections(&h, &chunk).unwrap();
        let one = BlockDecoder::new(&h, dictionary).unwrap();
        let starts: Vec<usize> = starts
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()) as usize)
            .collect();
        let first = &src[..h.block_len(0)];
        for (i, block) in src.chunks(h.blocksize).enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(chunk.len());
            let stored = chunk[starts[i]..end].to_vec();
            let mut back = vec![1; h.block_len(i)];
            let context = &mut DecodeContext::take();
            one.decode(
                context,
                i,
                &stored,
                Some(first).filter(|_| one.needs_first()),
                &mut back,
            )
            .unwrap();
            assert_eq!(back, block);
            if i > 0 && one.needs_first() {
                let missing = one.decode(context, i, &stored, None, &mut back);
                assert_eq!(missing.unwrap_err().status, Status::Argument);
            }
            let short = &stored[..stored.len() - 1];
            let cut_short = one.decode(context, i, short, Some(first), &mut back);
            assert_eq!(cut_short.unwrap_err().status, Status::Format);
        }
        let context = &mut DecodeContext::take();
        let beyond = one.decode(context, starts.len(), &[], Some(first), &mut []);
        assert_eq!(beyond.unwrap_err().status, Status::Argument);
    }
}

#[test]
fn overlong_streams_are_errors() {
    // many empty zstd frames, followed by one with the content of the block
    let n = 64;
    let empty = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
    let mut stream = empty.repeat(10_000);
    stream.extend(zstd_frame(&data(2, 0, n)));
    let mut chunk = vec![2, 1, 0x90, 1];
    chunk.extend(
        [n, n, 24 + stream.len()]
            .iter()
            .flat_map(|n| (*n as u32).to_le_bytes()),
    );
    chunk.extend(20u32.to_le_bytes());
    chunk.extend((stream.len() as u32).to_le_bytes());
    chunk.extend(stream);
    assert_eq!(
        decode(&chunk, &mut [0; 64], 1).unwrap_err().status,
        Status::Format
    );
}

fn zstd_frame(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 200];
    let n = zstd_safe::compress(out.as_mut_slice(), content, 1).unwrap();
    out.truncate(n);
    out
}
