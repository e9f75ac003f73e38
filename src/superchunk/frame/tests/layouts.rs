//! Tests with values that only this library writes, and with malicious bytes.

use super::header::{FIXED, Header, MARK_AT, MAX_CHUNKS};
use super::index::{self, IndexSlot};
use super::metalayers::Named;
use super::part_checksum::{self, Writer};
use super::trailer::{SHORTEST, TAIL, Trailer};
use crate::blosc::{Codec, Filter, Params, Pipeline, Split, Target};
use crate::error::{Result, Status};
use proptest::prelude::*;
use std::path::Path;

const LIMIT: u64 = 1 << 20;

fn params() -> Params {
    Params {
        blocksize: Some(4000),
        ..Params::new(Target::Blosc2, Codec::Zstd, 5, 8)
    }
}

/// Returns header, index and trailer of a contiguous frame. The chunk bytes are not read.
fn frame(slots: &[IndexSlot]) -> (Header, Vec<u8>, Trailer) {
    let named = |n: usize, len: usize| (format!("name {n}"), vec![n as u8; len]);
    let trailer = Trailer {
        vlmeta: vec![named(1, 40), named(2, 0), named(3, 3)],
        ..Trailer::default()
    };
    let mut header = Header::new(&params(), 40_000, false).unwrap();
    header.metalayers = vec![named(4, 10), named(5, 0)];
    header.has_vlmeta = true;
    (header.nbytes, header.cbytes) = (slots.len() as u64 * 40_000 - 8, 1000);
    let index = index::encode(slots).unwrap();
    header.frame_len = header.len() + 1000 + index.len() as u64 + trailer.len();
    (header, index, trailer)
}

const SLOTS: [IndexSlot; 6] = [
    IndexSlot::At(0),
    IndexSlot::Zeros,
    IndexSlot::Nan,
    IndexSlot::At(500),
    IndexSlot::Uninit,
    IndexSlot::Unknown(1 << 63 | 3 << 56),
];

/// Checks that the parsed bytes are encoded to the same bytes, or that the error has a message.
fn written_again<T>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T>,
    encode: impl Fn(&T) -> Result<Vec<u8>>,
) -> bool {
    match parse(bytes) {
        Ok(parsed) => {
            assert_eq!(encode(&parsed).as_deref(), Ok(bytes));
            true
        }
        Err(e) => {
            assert!(
                matches!(
                    e.status,
                    Status::Format | Status::Version | Status::Unsupported
                ),
                "{e:?}"
            );
            assert!(!e.message.is_empty());
            false
        }
    }
}

fn header_again(bytes: &[u8]) -> bool {
    // these calls may fail, but must not panic
    let parse = |bytes: &[u8]| {
        Header::parse(bytes).inspect(|h| _ = (h.params().is_ok(), h.index_range(99).is_ok()))
    };
    written_again(bytes, parse, Header::encode)
}

fn trailer_again(bytes: &[u8]) -> bool {
    written_again(bytes, Trailer::parse, Trailer::encode)
}

/// Tries many changes of each byte, and all lengths.
fn damaged(bytes: &[u8], read: impl Fn(&[u8]) -> bool) {
    assert!(read(bytes));
    let cut = (0..bytes.len()).filter(|n| read(&bytes[..*n])).count();
    assert_eq!(cut, 0, "cut short, and read");
    assert!(!read(&[bytes, &[0]].concat()));
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() {
        for bits in [1, 2, 4, 8, 16, 32, 64, 128, 255, 0x7f, bytes[at]] {
            bytes[at] ^= bits;
            read(&bytes);
            bytes[at] ^= bits;
        }
    }
}

#[test]
fn corrupt_bytes_are_refused_or_are_other_values() {
    let (mut header, index, mut trailer) = frame(&SLOTS);
    let (head, tail) = part_checksum::seal(&mut header, &index, &mut trailer).unwrap();
    damaged(&head, header_again);
    damaged(&tail, trailer_again);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/b2nd");
    for name in [
        "m_meta_vlmeta.b2nd",
        "d16_i4_default.b2nd",
        "v_batcharray.b2frame",
    ] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (head, tail) = (
            Header::prefix_len(&bytes).unwrap() as usize,
            Trailer::length(&bytes).unwrap() as usize,
        );
        damaged(&bytes[..head], header_again);
        damaged(&bytes[bytes.len() - tail..], trailer_again);
    }
    for (chunk, slots) in [
        (&index, 6),
        (&index::encode(&[IndexSlot::Zeros; 100]).unwrap(), 100),
    ] {
        let read = |bytes: &[u8]| {
            index::decode(bytes, slots, LIMIT)
                .inspect(|s| assert_eq!(s.len() as u64, slots))
                .is_ok()
        };
        assert!(
            read(&[chunk, &[1u8; 50][..]].concat()),
            "bytes after the index are ignored"
        );
        for n in 0..chunk.len() {
            assert!(!read(&chunk[..n]), "{n} bytes");
            for bits in 1..=255 {
                let mut chunk = chunk.clone();
                chunk[n] ^= bits;
                read(&chunk);
            }
        }
    }
}

#[test]
fn a_seal_detects_every_corruption() {
    let (mut header, index, mut trailer) = frame(&SLOTS);
    let (head, tail) = part_checksum::seal(&mut header, &index, &mut trailer).unwrap();
    assert_eq!(
        (
            Header::parse(&head).unwrap(),
            Trailer::parse(&tail).unwrap()
        ),
        (header.clone(), trailer.clone())
    );
    assert_eq!(
        part_checksum::check(&head, &index, &tail),
        Ok(Writer::Holdall)
    );
    let mut parts = [head, index, tail];
    for part in 0..3 {
        for at in 0..parts[part].len() {
            for bits in 1..=255 {
                parts[part][at] ^= bits;
                let [head, index, tail] = &parts;
                let params_out = part_checksum::check(head, index, tail).map_err(|e| e.status);
                let others = (part, at) == (0, MARK_AT) && head[at] == 0;
                assert_eq!(
                    params_out,
                    if others {
                        Ok(Writer::OtherHeader)
                    } else {
                        Err(Status::Checksum)
                    },
                    "{part} {at} {bits}"
                );
                parts[part][at] ^= bits;
            }
        }
    }
}

#[test]
fn the_seal_does_not_apply_to_parts_of_other_writers() {
    let (mut header, index, mut trailer) = frame(&SLOTS);
    let (head, tail) = part_checksum::seal(&mut header, &index, &mut trailer).unwrap();
    // a metalayer of the header
    header.metalayers[0].1[3] ^= 5;
    header.mark = 0;
    assert_eq!(
        part_checksum::check(&header.encode().unwrap(), &index, &tail),
        Ok(Writer::OtherHeader)
    );
    // the trailer, which belongs to header and index
    let new = Trailer {
        fingerprint: [0; 16],
        ..trailer.clone()
    };
    for head in [&head, &header.encode().unwrap()] {
        assert_eq!(
            part_checksum::check(head, &[], &new.encode().unwrap()),
            Ok(Writer::Other)
        );
    }
    // a fingerprint that later writers may use
    let later = Trailer {
        fingerprint: [7; 16],
        fingerprint_kind: 3,
        ..trailer.clone()
    };
    assert_eq!(
        part_checksum::check(&head, &index, &later.encode().unwrap()),
        Ok(Writer::Other)
    );
    part_checksum::unseal(&mut header, &mut trailer);
    assert_eq!((header.mark, trailer), (0, new));
    assert_eq!(
        part_checksum::check(&head, &index[1..], &tail)
            .unwrap_err()
            .status,
        Status::Checksum
    );
    assert_eq!(
        part_checksum::check(&head[..head.len() - 1], &index, &tail)
            .unwrap_err()
            .status,
        Status::Checksum
    );
    assert_eq!(
        part_checksum::check(&[], &index, &tail).unwrap_err().status,
        Status::Format
    );
    assert_eq!(
        part_checksum::check(&head, &index, &[]).unwrap_err().status,
        Status::Format
    );
}

/// Returns the header, or its status, after bytes are replaced.
fn header_with(at: usize, new: &[u8]) -> std::result::Result<Header, Status> {
    let mut bytes = frame(&SLOTS).0.encode().unwrap();
    bytes[at..at + new.len()].copy_from_slice(new);
    Header::parse(&bytes).map_err(|e| e.status)
}

#[test]
fn invalid_header_fields_are_refused() {
    let be = u32::to_be_bytes;
    for (at, new) in [
        (0x0b, &be(1 << 31)[..]),
        (0x0b, &be(86)),
        (0x0b, &be(FIXED as u32)),
        (0x10, &[0; 8]),
        (0x10, &[0xff; 8]),
        (0x1e, &[0xff; 8]),
        (0x27, &[0x80]),
        (0x30, &be(0)),
        (0x30, &be(1 << 31)),
        (0x35, &be(u32::MAX)),
        (0x3a, &be(1 << 31)),
        (0x44, &[0xc1]),
        (0x46, &[7]),
        (0x5a, &[0, 12]),
        (0x5c, &[0, 17]),
        (0x5c, &[0xff, 0xff]),
    ] {
        assert_eq!(
            header_with(at, new),
            Err(Status::Format),
            "{at:#x} {new:02x?}"
        );
    }
    assert_eq!(header_with(0x19, &[0x11]), Err(Status::Version));
    assert_eq!(header_with(0x19, &[0x14]), Err(Status::Version));
    assert_eq!(header_with(0x19, &[0x02]), Err(Status::Unsupported));
    assert_eq!(header_with(0x19, &[0x32]), Err(Status::Unsupported));
    assert_eq!(header_with(0x1a, &[2]), Err(Status::Unsupported));
    // informative and unknown values are preserved
    for (at, new) in [
        (0x1b, 0x6f),
        (0x1c, 0xff),
        (0x3f, 0xff),
        (0x46, 5),
        (0x47, 200),
        (0x4d, 200),
        (0x55, 0xfe),
        (0x56, 9),
    ] {
        let header = header_with(at, &[new]).unwrap();
        assert_eq!(header.encode().unwrap()[at], new);
    }
}

#[test]
fn chunks_are_made_as_the_header_says() {
    let filters = Pipeline::new(&[Filter::Delta, Filter::Shuffle { group: 3 }]).unwrap();
    for split in [Split::Auto, Split::Always, Split::Never] {
        for codec in Codec::FOR_BLOSC2 {
            let params_in = Params {
                codec,
                filters,
                split,
                typesize: 300,
                level: 7,
                ..params()
            };
            let params_out = Header::new(&params_in, 6000, true)
                .unwrap()
                .params()
                .unwrap();
            let both = [params_in, params_out].map(|p| {
                (
                    p.target,
                    p.codec,
                    p.level,
                    p.filters,
                    p.typesize,
                    p.blocksize,
                    p.split,
                )
            });
            assert_eq!(both[0], both[1]);
        }
    }
    let made = Header::new(&params(), 40_000, false).unwrap();
    let status = |header: Header| {
        header
            .params()
            .map(|_| ())
            .map_err(|e| (e.status, e.message))
    };
    let unknown_codec = |number: u8| Err((Status::Codec, format!("codec {number} is not known")));
    assert_eq!(
        status(Header {
            codec: 6,
            user_codec: 33,
            ..made.clone()
        }),
        unknown_codec(33)
    );
    assert_eq!(
        status(Header {
            codec: 3,
            ..made.clone()
        }),
        unknown_codec(3)
    );
    assert_eq!(
        status(Header {
            codec: 6,
            user_codec: 1,
            ..made.clone()
        }),
        Ok(())
    );
    assert_eq!(
        status(Header {
            filters: [0, 0, 0, 0, 0, 33],
            ..made.clone()
        }),
        Err((Status::Codec, "filter 33 is not known".to_owned()))
    );
    assert_eq!(
        status(Header {
            filters: [0, 0, 0, 0, 0, 33],
            slots: 5,
            ..made.clone()
        }),
        Ok(())
    );
    assert_eq!(
        Header {
            blocksize: 0,
            ..made
        }
        .params()
        .unwrap()
        .blocksize,
        None
    );
    assert_eq!(
        Header::new(&params(), 1 << 31, false).unwrap_err().status,
        Status::Argument
    );
}

#[test]
fn the_parts_must_fit_in_the_frame() {
    let (header, index, trailer) = frame(&SLOTS);
    let tail = trailer.len() as u32;
    let at = |h: &Header| h.index_range(tail).map_err(|e| e.status);
    let begin = header.len() + 1000;
    assert_eq!(at(&header), Ok(Some(begin..begin + index.len() as u64)));
    assert_eq!(
        at(&Header {
            sparse: true,
            ..header.clone()
        }),
        Ok(Some(header.len()..begin + index.len() as u64))
    );
    for (frame_len, cbytes) in [
        (begin + u64::from(tail) + 31, 1000),
        (10, 1000),
        (u64::MAX, u64::MAX),
        (header.frame_len, i64::MAX as u64),
    ] {
        assert_eq!(
            at(&Header {
                frame_len,
                cbytes,
                ..header.clone()
            }),
            Err(Status::Format),
            "{frame_len} {cbytes}"
        );
    }
    // the last chunk was removed
    let none = Header {
        nbytes: 0,
        frame_len: header.len() + u64::from(tail),
        ..header.clone()
    };
    assert_eq!((at(&none), none.chunks()), (Ok(None), Ok(0)));
    assert_eq!(
        at(&Header {
            frame_len: none.frame_len - 1,
            ..none.clone()
        }),
        Err(Status::Format)
    );
    assert_eq!(
        at(&Header {
            chunksize: 0,
            variable_chunks: true,
            version: 3,
            ..none
        }),
        Ok(None)
    );
    assert_eq!(
        at(&Header {
            chunksize: 0,
            ..header.clone()
        }),
        Err(Status::Format)
    );
    assert_eq!(
        at(&Header {
            chunksize: 1,
            nbytes: MAX_CHUNKS + 1,
            ..header.clone()
        }),
        Err(Status::Format)
    );
    assert_eq!(
        Header {
            chunksize: 1,
            nbytes: MAX_CHUNKS,
            ..header.clone()
        }
        .chunks(),
        Ok(MAX_CHUNKS)
    );
    let variable_chunks = Header {
        variable_chunks: true,
        ..header.clone()
    };
    assert_eq!(at(&variable_chunks), Err(Status::Unsupported));
}

#[test]
fn metalayers_that_cannot_be_encoded_are_refused() {
    let base = frame(&SLOTS).0;
    let status = |metalayers: Vec<Named>| {
        Header {
            metalayers,
            ..base.clone()
        }
        .encode()
        .map(|b| header_again(&b))
        .map_err(|e| e.status)
    };
    let named = |n: usize| {
        (0..n)
            .map(|i| (format!("{i:031}"), Vec::new()))
            .collect::<Vec<Named>>()
    };
    assert_eq!(status(named(16)), Ok(true));
    assert_eq!(status(named(17)), Err(Status::Limit));
    assert_eq!(
        status(vec![("x".repeat(32), Vec::new())]),
        Err(Status::Argument)
    );
    assert_eq!(
        status(vec![("x\0".to_owned(), Vec::new())]),
        Err(Status::Argument)
    );
    assert_eq!(status(vec![(String::new(), Vec::new())]), Ok(true));
    assert_eq!(
        status(vec![named(1).remove(0); 2]),
        Ok(false),
        "two of one name"
    );
    let trailer = |vlmeta: Vec<Named>| {
        Trailer {
            vlmeta,
            ..Trailer::default()
        }
        .encode()
        .map(|b| trailer_again(&b))
        .map_err(|e| e.status)
    };
    // their names have 65,535 bytes
    assert_eq!(trailer(named((65_535 - 6) / 37)), Ok(true));
    assert_eq!(trailer(named((65_535 - 6) / 37 + 1)), Err(Status::Limit));
    let short = |n: usize| {
        (0..n)
            .map(|i| {
                (
                    String::from_utf8(vec![33 + (i / 94) as u8, 33 + (i % 94) as u8]).unwrap(),
                    Vec::new(),
                )
            })
            .collect::<Vec<Named>>()
    };
    assert_eq!(trailer(short(8191)), Ok(true));
    assert_eq!(trailer(short(8192)), Err(Status::Limit));
    assert_eq!(Trailer::default().len(), SHORTEST as u64);
}

#[test]
fn the_length_of_the_trailer_is_at_its_end() {
    let bytes = frame(&SLOTS).2.encode().unwrap();
    let length = |bytes: &[u8]| Trailer::length(bytes).map_err(|e| e.status);
    assert_eq!(length(&bytes[bytes.len() - TAIL..]), Ok(bytes.len() as u32));
    assert_eq!(
        length(&bytes[bytes.len() - TAIL + 1..]),
        Err(Status::Format)
    );
    for (len, params_out) in [
        (SHORTEST as u32 - 1, Err(Status::Format)),
        (1 << 31, Err(Status::Format)),
        (i32::MAX as u32, Ok(i32::MAX as u32)),
    ] {
        let mut bytes = bytes.clone();
        let at = bytes.len() - TAIL + 1;
        bytes[at..at + 4].copy_from_slice(&len.to_be_bytes());
        assert_eq!(length(&bytes), params_out);
        assert_eq!(Trailer::parse(&bytes).unwrap_err().status, Status::Format);
    }
}

#[test]
fn an_index_respects_the_memory_limit() {
    let slots = vec![IndexSlot::Zeros; 100_000];
    let chunk = index::encode(&slots).unwrap();
    assert!(chunk.len() < 10_000, "{}", chunk.len());
    let status = |n: u64, limit: u64| {
        index::decode(&chunk, n, limit)
            .map(|s| assert_eq!(s, slots))
            .map_err(|e| e.status)
    };
    assert_eq!(status(100_000, 3 << 20), Ok(()));
    assert_eq!(status(100_000, 1 << 20), Err(Status::Limit));
    assert_eq!(status(99_999, 3 << 20), Err(Status::Format));
    assert_eq!(status(u64::MAX, u64::MAX), Err(Status::Format));
    assert_eq!(
        index::encode(&[]).map(|chunk| index::decode(&chunk, 0, 0)),
        Ok(Ok(Vec::new()))
    );
}

fn any_slot() -> impl Strategy<Value = IndexSlot> {
    prop_oneof![
        (0..1u64 << 63).prop_map(IndexSlot::At),
        (0..5000u64).prop_map(IndexSlot::At),
        Just(IndexSlot::Zeros),
        Just(IndexSlot::Nan),
        Just(IndexSlot::Uninit),
        (9 << 56..1u64 << 63).prop_map(|bits| IndexSlot::Unknown(1 << 63 | bits)),
    ]
}

fn any_named(most: usize) -> impl Strategy<Value = Vec<Named>> {
    let value = prop::collection::vec(any::<u8>(), 0..60);
    prop::collection::btree_map("[a-zà-ÿ0-9 .]{0,15}", value, 0..most)
        .prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn any_index_round_trips(slots in prop::collection::vec(any_slot(), 0..3000)) {
        let chunk = index::encode(&slots).unwrap();
        prop_assert_eq!(index::decode(&chunk, slots.len() as u64, LIMIT).unwrap(), slots);
    }

    #[test]
    fn any_header_round_trips(
        metalayers in any_named(17), numbers in any::<[u32; 5]>(), lengths in any::<[u64; 2]>(), bytes in any::<[u8; 26]>(), flags in any::<[bool; 4]>(),
    ) {
        let [typesize, blocksize, chunksize, more, _] = numbers.map(|n| n >> 1);
        let [a, b] = lengths.map(|n| n >> 1);
        let mut rest = bytes.into_iter();
        let mut byte = || rest.next().unwrap();
        let mut header = Header {
            frame_len: 0, version: 2 + byte() % 2, variable_chunks: flags[0], variable_blocks: flags[1], sparse: flags[2], codec: byte() & 15, level: byte() & 15,
            split: byte(), nbytes: a, cbytes: b, typesize: typesize.max(1), blocksize, chunksize, threads: [[byte(), byte()], [byte(), byte()]],
            has_vlmeta: flags[3], slots: byte() % 7, filters: [(); 6].map(|()| byte()), user_codec: byte(), codec_meta: byte(),
            filters_meta: [(); 6].map(|()| byte()), other_flags: byte(), mark: byte(), metalayers,
        };
        header.frame_len = header.len() + SHORTEST as u64 + u64::from(more);
        let encoded = header.encode().unwrap();
        prop_assert_eq!(Header::prefix_len(&encoded).unwrap() as usize, encoded.len());
        prop_assert_eq!(Header::parse(&encoded).unwrap(), header);
    }

    #[test]
    fn any_trailer_round_trips(vlmeta in any_named(40), fingerprint in any::<[u8; 16]>(), fingerprint_kind in any::<u8>()) {
        let trailer = Trailer { vlmeta, fingerprint_kind, fingerprint };
        let encoded = trailer.encode().unwrap();
        prop_assert_eq!(Trailer::length(&encoded).unwrap() as usize, encoded.len());
        prop_assert_eq!(Trailer::parse(&encoded).unwrap(), trailer);
    }

    #[test]
    fn any_corruption_is_refused_or_is_another_value(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let (header, index, trailer) = frame(&SLOTS);
        let change = |mut bytes: Vec<u8>| {
            changes.iter().for_each(|(at, new)| *at.get_mut(&mut bytes) = *new);
            let half = cut.index(2 * bytes.len());
            bytes.truncate(half.max(1));
            bytes
        };
        header_again(&change(header.encode().unwrap()));
        trailer_again(&change(trailer.encode().unwrap()));
        let _ = index::decode(&change(index), 6, LIMIT);
    }
}
