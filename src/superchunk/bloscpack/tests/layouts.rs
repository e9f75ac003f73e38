//! Tests of layouts that no fixture has, and of malicious files.

use super::chunk_table::ChunkTable;
use super::header::{Dialect, Header};
use super::located_chunk::LocatedChunk;
use super::metadata::{MetaLayout, MetaLocation, Section};
use super::metadata_encode::{self, DEFAULT_LEVEL, DEFAULT_SUM};
use super::offsets;
use crate::checksum::Checksum;
use crate::error::Status;
use crate::io::sim::Counted;
use crate::io::{Access, File, Folder, memory::MemoryFolder};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

const LIMIT: u64 = 1 << 20;

fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Arc<dyn File> {
    MemoryFolder::new(bytes)
        .open(OsStr::new(""), Access::Read)
        .unwrap()
}

/// Returns an uncompressed chunk of `n` bytes of content.
fn chunk(n: u32, fill: u8) -> Vec<u8> {
    let mut c = vec![2, 1, 2, 1];
    c.extend([n, n, n + 16].into_iter().flat_map(u32::to_le_bytes));
    c.resize(n as usize + 16, fill);
    c
}

/// Returns a v3 file with offsets, and chunks of these content sizes.
fn file_of(sizes: &[u32], sum: Checksum) -> (Header, Vec<u8>) {
    let n = sizes.len() as u64;
    let header = Header {
        has_offsets: true,
        checksum: sum,
        typesize: 1,
        chunk_size: sizes.first().copied(),
        last_chunk: sizes.last().copied(),
        nchunks: Some(n),
        max_app_chunks: 3,
        ..Header::new(Dialect::V3)
    };
    let (mut at, mut positions, mut data) = (header.chunks_at(), vec![], vec![]);
    for (i, &size) in sizes.iter().enumerate() {
        let c = chunk(size, i as u8);
        positions.push(at);
        at += (c.len() + sum.size()) as u64;
        data.extend(sum.of(&c).into_iter().fold(c, |mut c, b| {
            c.push(b);
            c
        }));
    }
    let table = offsets::encode(positions, header.offset_entries()).unwrap();
    let bytes = [header.encode(), table, data].concat();
    (header, bytes)
}

fn table_of(bytes: &[u8]) -> ChunkTable {
    let file = memory(bytes.to_vec());
    ChunkTable::read(&*file, &Header::read(&*file).unwrap(), 16 * LIMIT).unwrap()
}

fn put(bytes: &mut [u8], at: usize, value: i64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn status(prefix: &[u8], size: u64) -> Status {
    Header::parse(prefix, size).unwrap_err().status
}

#[test]
fn headers_are_read_as_written() {
    let section =
        metadata_encode::section(b"{}", Some(40), &Section::new(Checksum::Md5, 0)).unwrap();
    let rfc = metadata_encode::encode_rfc(b"[1,2]", false).unwrap();
    let packed = metadata_encode::encode_rfc(b"[1,2]", true).unwrap();
    let mut headers: Vec<(Header, Vec<u8>)> = [Dialect::V1, Dialect::V2, Dialect::V3]
        .map(|d| (Header::new(d), vec![]))
        .into();
    headers.push((
        Header {
            meta: Some(section.0),
            max_app_chunks: 2,
            has_offsets: true,
            ..Header::new(Dialect::V3)
        },
        section.1,
    ));
    headers.push((
        Header {
            meta: Some(rfc.0),
            ..Header::new(Dialect::Rfc)
        },
        rfc.1,
    ));
    headers.push((
        Header {
            meta: Some(packed.0),
            version: 2,
            has_offsets: true,
            ..Header::new(Dialect::Rfc)
        },
        packed.1,
    ));
    for (mut header, meta) in headers {
        for nchunks in [Some(0), Some(7), None] {
            if header.has_offsets && nchunks.is_none() {
                continue;
            }
            header.nchunks = nchunks;
            if header.dialect != Dialect::V1 {
                (header.checksum, header.typesize, header.chunk_size) =
                    (Checksum::Sha384, 200, Some(i32::MAX as u32));
            }
            let bytes = [header.encode(), meta.clone()].concat();
            assert!(header.chunks_at() >= bytes.len() as u64);
            assert_eq!(Header::parse(&bytes, header.chunks_at()).unwrap(), header);
            let short = header.chunks_at().checked_sub(1).unwrap();
            assert_eq!(
                status(&bytes[..bytes.len().min(short as usize)], short),
                Status::Format,
                "{header:?}"
            );
        }
    }
}

#[test]
fn invalid_headers_are_refused() {
    let (_, good) = file_of(&[10, 10], Checksum::None);
    let size = good.len() as u64;
    let with = |at: usize, byte: u8| {
        let mut b = good.clone();
        b[at] = byte;
        status(&b[..64], size)
    };
    assert_eq!(with(0, b'B'), Status::Format);
    for version in [0, 4, 255] {
        assert_eq!(with(4, version), Status::Version);
    }
    // version 1 has a version of 32 bits, or three zero bytes after the version byte
    assert_eq!(with(4, 1), Status::Version);
    for options in [0x04, 0x05, 0x08, 0x80] {
        assert_eq!(with(5, options), Status::Unsupported);
    }
    assert_eq!(with(6, 9), Status::Unsupported);
    assert_eq!(
        with(4, 2),
        Status::Format,
        "bytes that are reserved in version 2"
    );
    assert_eq!(status(b"", 0), Status::Format);
    // invalid numbers
    for (at, n) in [
        (16, -2),
        (16, i64::MIN),
        (16, -1),
        (16, i64::MAX),
        (16, 1 << 40),
        (24, -1),
        (24, i64::MAX),
        (24, 1 << 61),
    ] {
        let mut b = good.clone();
        put(&mut b, at, n);
        assert_eq!(status(&b[..64], size), Status::Format, "{n} at {at}");
    }
    // without a table the number of spare offsets has no meaning
    let mut b = good.clone();
    b[5] = 0;
    put(&mut b, 24, i64::MIN);
    assert_eq!(Header::parse(&b, size).unwrap().chunks_at(), 32);
}

#[test]
fn v0_is_detected_by_its_first_chunk() {
    for n in [1u32, 2, 3, 4, 0x103, 0x1_0003] {
        let mut file = [b"blpk".as_slice(), &n.to_le_bytes()].concat();
        (0..n).for_each(|i| file.extend(chunk(5, i as u8)));
        let table = table_of(&file);
        assert_eq!(
            (table.chunks.len(), &table.damage, &table.suspected),
            (n as usize, &None, &None)
        );
        // one chunk is lost, the others are found
        let table = (n > 1).then(|| table_of(&file[..file.len() - 1]));
        assert!(table.is_none_or(|t| t.chunks.len() == n as usize - 1 && t.damage.is_some()));
    }
}

#[test]
fn metadata_are_read_as_written() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(3000)).into_bytes();
    for sum in (0..9).map(|n| Checksum::from_number(n).unwrap()) {
        for level in [0, 1, 6, 9] {
            for json in [b"{}".as_slice(), &long] {
                let (location, bytes) =
                    metadata_encode::section(json, None, &Section::new(sum, level)).unwrap();
                assert_eq!(
                    (location.room as usize, location.size()),
                    (10 * json.len(), bytes.len() as u64)
                );
                let again = MetaLocation::of_section(bytes.first_chunk().unwrap()).unwrap();
                assert_eq!(again, location);
                let file = memory([&[0; 32], &bytes[..]].concat());
                assert_eq!(location.read(&*file, LIMIT).unwrap(), json);
                // a corrupt byte of the JSON, of the checksum, and of the reserved bytes
                for at in [0, location.stored as usize - 1, bytes.len() - 33] {
                    let mut corrupt = [&[0; 32], &bytes[..]].concat();
                    corrupt[64 + at] ^= 1;
                    let in_room = at >= location.stored as usize && at < location.room as usize;
                    let read = location.read(&*memory(corrupt), LIMIT);
                    assert!(
                        sum == Checksum::None
                            || in_room && read.is_ok()
                            || read.unwrap_err().status == Status::Checksum
                    );
                }
            }
        }
    }
    for packed in [false, true] {
        let (location, bytes) = metadata_encode::encode_rfc(&long, packed).unwrap();
        let file = memory([&[0; 32], &bytes[..]].concat());
        assert_eq!(location.read(&*file, LIMIT).unwrap(), long);
    }
}

#[test]
fn metadata_are_rewritten_where_they_fit() {
    let (location, bytes) = metadata_encode::section(
        b"{\"a\":1}",
        Some(20),
        &Section::new(DEFAULT_SUM, DEFAULT_LEVEL),
    )
    .unwrap();
    let (less, with_less) = location.rewrite(b"{}").unwrap().unwrap();
    assert_eq!(
        (less.room, less.stored, with_less.len()),
        (20, 2, bytes.len())
    );
    let packs_well = format!("[{}0]", "0,".repeat(300)).into_bytes();
    let (packed, _) = location.rewrite(&packs_well).unwrap().unwrap();
    assert!(packed.stored < 20 && matches!(&packed.layout, MetaLayout::Section(s) if s.codec == 1));
    assert_eq!(location.rewrite(b"[1,5,3,9,7,2,6,4,8,0,12]").unwrap(), None);
    assert_eq!(
        metadata_encode::section(&packs_well, Some(9), &Section::new(Checksum::None, 9))
            .unwrap_err()
            .status,
        Status::Argument
    );

    let (location, _) = metadata_encode::encode_rfc(b"{\"a\":1}", false).unwrap();
    assert_eq!(
        location.rewrite(b"[5]").unwrap().unwrap(),
        (location.clone(), b"[5]    ".to_vec())
    );
    assert_eq!(location.rewrite(b"{\"a\":11}").unwrap(), None);
}

#[test]
fn contradictory_metadata_are_refused() {
    let bomb = vec![b' '; 10_000_000];
    let read = |location: &MetaLocation, bytes: &[u8]| {
        location
            .read(&*memory([&[0; 32], bytes].concat()), LIMIT)
            .map_err(|e| e.status)
    };
    let (location, bytes) =
        metadata_encode::section(&bomb, None, &Section::new(Checksum::None, 9)).unwrap();
    assert_eq!(read(&location, &bytes), Err(Status::Limit));
    let (rfc, packed) = metadata_encode::encode_rfc(&bomb, true).unwrap();
    assert_eq!(read(&rfc, &packed), Err(Status::Limit));

    let (location, bytes) =
        metadata_encode::section(&[b' '; 5000], Some(100), &Section::new(Checksum::None, 9))
            .unwrap();
    let changed = |change: &dyn Fn(&mut Section)| {
        let mut location = location.clone();
        let MetaLayout::Section(s) = &mut location.layout else {
            unreachable!()
        };
        change(s);
        read(&location, &bytes)
    };
    assert_eq!(changed(&|_| ()).unwrap(), [b' '; 5000]);
    assert_eq!(changed(&|s| s.size = 4999), Err(Status::Format));
    assert_eq!(changed(&|s| s.size = 5001), Err(Status::Format));
    assert_eq!(changed(&|s| s.size = u32::MAX), Err(Status::Format));
    assert_eq!(changed(&|s| s.codec = 0), Err(Status::Format));
    assert_eq!(changed(&|s| s.codec = 2), Err(Status::Codec));

    let mut more_than_room: [u8; 32] = *bytes.first_chunk().unwrap();
    more_than_room[16] = 1;
    assert_eq!(
        MetaLocation::of_section(&more_than_room)
            .unwrap_err()
            .status,
        Status::Format
    );
    // neither JSON nor a section, invalid sizes, reserved bytes
    for (field, packed, first) in [
        (5, false, b"K"),
        (5, true, b"{"),
        (5, false, b"x"),
        (0, false, b"{"),
        (-5, false, b"{"),
        (5 | 1 << 32, false, b"{"),
    ] {
        assert_eq!(
            MetaLocation::of_rfc(i64::to_le_bytes(field), packed, first)
                .unwrap_err()
                .status,
            Status::Format
        );
    }
    let (location, _) =
        metadata_encode::section(b"[\"\xff\"]", None, &Section::new(Checksum::None, 0)).unwrap();
    let (_, bytes) =
        metadata_encode::section(b"[\"\xff\"]", None, &Section::new(Checksum::None, 0)).unwrap();
    assert_eq!(read(&location, &bytes), Err(Status::Format));
}

#[test]
fn one_wrong_offset_loses_nothing() {
    let sizes = [100, 100, 100, 100, 70];
    let (header, good) = file_of(&sizes, Checksum::Crc32);
    let want = table_of(&good);
    assert!(
        want.by_offsets
            && want.in_order
            && want.as_header
            && want.damage.is_none()
            && want.suspected.is_none()
    );
    assert_eq!(want.end, good.len() as u64);
    let end = good.len() as i64;
    let positions: Vec<i64> = want.chunks.iter().map(|c| c.at as i64).collect();
    for i in 0..sizes.len() {
        let beside = [
            positions[(i + 1) % sizes.len()],
            positions[(i + 4) % sizes.len()],
            positions[i] + 1,
            positions[i] + 16,
        ];
        for wrong in [-1, 0, 1, 40, i64::MIN, i64::MAX, end, end - 3]
            .into_iter()
            .chain(beside)
        {
            let mut corrupt = good.clone();
            put(&mut corrupt, header.offsets_at() as usize + 8 * i, wrong);
            let table = table_of(&corrupt);
            assert_eq!(
                (&table.chunks, &table.damage),
                (&want.chunks, &None),
                "{wrong} for chunk {i}"
            );
            assert_eq!(
                (table.by_offsets, table.suspected.is_some()),
                (false, wrong >= 0),
                "{wrong} for chunk {i}"
            );
        }
    }
}

#[test]
fn chunks_out_of_order_are_found_in_content_order() {
    let (header, mut file) = file_of(&[100, 100, 100, 100], Checksum::Adler32);
    let positions: Vec<u64> = table_of(&file).chunks.iter().map(|c| c.at).collect();
    let order = [2, 0, 3, 1];
    for (i, k) in order.into_iter().enumerate() {
        put(
            &mut file,
            header.offsets_at() as usize + 8 * i,
            positions[k] as i64,
        );
    }
    let table = table_of(&file);
    assert!(
        table
            .chunks
            .iter()
            .map(|c| c.at)
            .eq(order.map(|k| positions[k]))
    );
    assert!(
        table.by_offsets && !table.in_order && table.damage.is_none() && table.suspected.is_none()
    );
    // One offset is lost. A different chunk follows the previous chunk and must not be taken for
    // the lost one.
    put(&mut file, header.offsets_at() as usize + 8, -1);
    let table = table_of(&file);
    assert_eq!(
        table.chunks.iter().map(|c| c.is_lost()).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    assert_eq!(table.damage.map(|e| e.position), Some(1));
    assert_eq!(table.chunks[1].nbytes, 100);
}

#[test]
fn two_equal_offsets_are_damage() {
    let (header, mut file) = file_of(&[100, 100, 100, 100], Checksum::None);
    let positions: Vec<u64> = table_of(&file).chunks.iter().map(|c| c.at).collect();
    for (i, k) in [2, 0, 3, 3].into_iter().enumerate() {
        put(
            &mut file,
            header.offsets_at() as usize + 8 * i,
            positions[k] as i64,
        );
    }
    // the file order differs from the order of the valid offsets, so the wrong offset cannot be
    // identified
    let table = table_of(&file);
    assert_eq!((table.chunks.len(), table.damage.unwrap().position), (3, 3));
}

#[test]
fn a_wrong_number_of_chunks_is_detected() {
    for sum in [Checksum::None, Checksum::Sha1] {
        let (header, good) = file_of(&[50, 50, 50, 50], sum);
        for n in [0, 1, 3, 5, 6, 7] {
            let mut corrupt = good.clone();
            put(&mut corrupt, 16, n);
            let noticed = |bytes: &[u8]| {
                let t = table_of(bytes);
                t.damage.is_some() || t.suspected.is_some() || !t.as_header
            };
            assert!(noticed(&corrupt), "{n} chunks");
            // the same without a table
            let plain = Header {
                has_offsets: false,
                max_app_chunks: 0,
                nchunks: Some(n as u64),
                ..header.clone()
            };
            let plain = [&plain.encode(), &good[header.chunks_at() as usize..]].concat();
            assert!(noticed(&plain), "{n} chunks, no offsets");
        }
    }
}

#[test]
fn offsets_lead_to_the_chunks_whatever_the_length_of_the_table() {
    let (_, good) = file_of(&[50, 50, 50, 50], Checksum::Crc32);
    let want = table_of(&good).chunks;
    // spare offsets, chunks
    for (at, n) in [
        (24, 0),
        (24, 2),
        (24, 4),
        (24, 20),
        (16, 5),
        (16, 7),
        (16, 20),
    ] {
        let mut corrupt = good.clone();
        put(&mut corrupt, at, n);
        let table = table_of(&corrupt);
        assert_eq!(table.chunks.get(..4), Some(want.as_slice()), "{n} at {at}");
        assert!(
            table.damage.is_some() || table.suspected.is_some(),
            "{n} at {at}"
        );
    }
}

#[test]
fn an_unknown_number_of_chunks_is_counted() {
    let (header, good) = file_of(&[50, 50, 7], Checksum::Md5);
    let plain = Header {
        has_offsets: false,
        max_app_chunks: 0,
        nchunks: None,
        ..header.clone()
    };
    for last_chunk in [header.last_chunk, None] {
        let plain = Header {
            last_chunk,
            ..plain.clone()
        };
        let plain = [&plain.encode(), &good[header.chunks_at() as usize..]].concat();
        let table = table_of(&plain);
        assert_eq!(
            (table.chunks.len(), &table.damage, &table.suspected),
            (3, &None, &None)
        );
        for cut in 1..plain.len() - 32 {
            let table = table_of(&plain[..plain.len() - cut]);
            // the size of the last chunk, if it is known, shows that chunks are missing
            let whole = last_chunk.is_none()
                && table
                    .chunks
                    .last()
                    .is_some_and(|c| c.end(Checksum::Md5) == (plain.len() - cut) as u64);
            assert_eq!(table.damage.is_none(), whole, "{cut}");
            assert!(
                table
                    .damage
                    .is_none_or(|e| e.position == table.chunks.len() as i64)
            );
        }
    }
}

/// Returns the numbers of read calls and bytes that finding the chunks takes.
fn reads(bytes: Vec<u8>) -> (u64, u64) {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let file = Counted(memory(bytes), sizes.clone());
    let header = Header::read(&file).unwrap();
    assert!(
        ChunkTable::read(&file, &header, LIMIT)
            .unwrap()
            .damage
            .is_none()
    );
    let sizes = sizes.lock().unwrap();
    (sizes.len() as u64, sizes.iter().sum::<usize>() as u64)
}

#[test]
fn small_chunks_are_found_with_large_reads() {
    for size in [0, 1, 100, 1000] {
        let (_, bytes) = file_of(&vec![size; 3000], Checksum::Crc32);
        let all = bytes.len() as u64;
        let (calls, read) = reads(bytes);
        assert!(
            calls < 20 + all / 30_000 && read < 2 * all + 100_000,
            "{size}: {calls} calls, {read} of {all} bytes"
        );
    }
    let (_, bytes) = file_of(&[200_000; 30], Checksum::Crc32);
    let (calls, read) = reads(bytes);
    assert!(calls < 40 && read < 2000, "{calls} calls, {read} bytes");
}

#[test]
fn many_chunks_need_memory_within_the_limit() {
    let (header, bytes) = file_of(&vec![0; 50_000], Checksum::None);
    let file = memory(bytes);
    assert_eq!(
        ChunkTable::read(&*file, &header, LIMIT).unwrap_err().status,
        Status::Limit
    );
    assert_eq!(
        ChunkTable::read(&*file, &header, 4 * LIMIT)
            .unwrap()
            .chunks
            .len(),
        50_000
    );
}

#[test]
fn an_invalid_chunk_header_is_refused() {
    let good = *chunk(40, 0).first_chunk().unwrap();
    assert!(LocatedChunk::parse(0, &good).is_some());
    let with = |at: usize, byte: u8| {
        let mut h = good;
        h[at] = byte;
        LocatedChunk::parse(0, &h)
    };
    // version, codec format version, typesize, content size, block size, encoded size of an
    // uncompressed chunk
    for (at, byte) in [
        (0, 0),
        (0, 6),
        (1, 0),
        (1, 2),
        (3, 0),
        (7, 0x80),
        (8, 0),
        (8, 41),
        (12, 55),
        (12, 60),
        (12, 15),
    ] {
        assert_eq!(with(at, byte), None, "{byte} at {at}");
    }
    // other chunks may have unused bytes after their content
    let mut packed = good;
    (packed[2], packed[12]) = (0, 60);
    assert!(LocatedChunk::parse(0, &packed).is_some_and(|c| c.end(Checksum::Md5) == 76));
}

#[test]
fn the_length_of_the_table_is_known_without_the_number_of_chunks() {
    let (header, good) = file_of(&[50, 50, 7], Checksum::Md5);
    let at = header.offsets_at() as usize;
    let mut unknown = good.clone();
    put(&mut unknown, 16, -1);
    let with = |offsets: &[(usize, i64)]| {
        let mut file = unknown.clone();
        for (i, value) in offsets {
            put(&mut file, at + 8 * i, *value);
        }
        file
    };
    let intact = table_of(&good);
    // the first chunk ends the table, if its offset is known or not
    for offsets in [
        &[][..],
        &[(0, -1)],
        &[(1, -1)],
        &[(2, -1)],
        &[(1, -1), (2, -1)],
        &[(0, -1), (1, -1), (2, -1)],
    ] {
        let table = table_of(&with(offsets));
        assert_eq!(table.chunks, intact.chunks, "{offsets:?}");
        assert_eq!(
            (&table.damage, &table.suspected),
            (&None, &None),
            "{offsets:?}"
        );
    }
    // a table without an end
    let error = |file: Vec<u8>| {
        let file = memory(file);
        Header::read(&*file).map(|_| ()).unwrap_err().status
    };
    let first = header.chunks_at() as i64;
    for value in [0, 1, -2, first - 1, first + 3, i64::MAX] {
        assert_eq!(error(with(&[(0, value)])), Status::Format, "{value}");
    }
    let no_chunks = &unknown[..header.chunks_at() as usize];
    assert_eq!(error(no_chunks.to_vec()), Status::Format);
    // the bytes of a table are no chunk: no flip leads to other content without a message
    for i in 0..8 * (unknown.len().min(at + 48)) {
        let mut file = unknown.clone();
        file[i / 8] ^= 1 << (i % 8);
        let file = memory(file);
        let Ok(found) = Header::read(&*file) else {
            continue;
        };
        let table = ChunkTable::read(&*file, &found, 16 * LIMIT).unwrap();
        let reported = table.damage.is_some() || table.suspected.is_some();
        let same = table.chunks == intact.chunks;
        assert!(
            reported || same || found.checksum != header.checksum,
            "bit {i}: {table:?}"
        );
    }
}

/// Returns a v2 file without offsets, with `spare` zero bytes after each chunk and its checksum.
fn with_spare_bytes(sizes: &[u32], sum: Checksum, spare: usize) -> Vec<u8> {
    let (header, bytes) = file_of(sizes, sum);
    let table = table_of(&bytes);
    let mut file = Header {
        has_offsets: false,
        max_app_chunks: 0,
        ..header
    }
    .encode();
    for c in &table.chunks {
        file.extend(&bytes[c.at as usize..c.end(sum) as usize]);
        file.resize(file.len() + spare, 0);
    }
    file
}

#[test]
fn spare_bytes_after_chunks_are_skipped_without_offsets() {
    for (sum, spare) in [
        (Checksum::None, 1),
        (Checksum::Md5, 600),
        (Checksum::Adler32, 16),
    ] {
        let sizes = [50, 50, 7];
        let good = with_spare_bytes(&sizes, sum, spare);
        let table = table_of(&good);
        let found: Vec<u32> = table.chunks.iter().map(|c| c.nbytes).collect();
        assert_eq!(found, sizes, "{sum} {spare}");
        assert_eq!((&table.damage, &table.suspected), (&None, &None));
        assert!(!table.in_order);
        let positions: Vec<u64> = table.chunks.iter().map(|c| c.at).collect();
        // the spare bytes after the last chunk may be missing, everything else may not
        let least = good.len() - spare;
        for n in 33..good.len() {
            assert_eq!(table_of(&good[..n]).damage.is_none(), n >= least, "{n}");
        }
        // a chunk that is overwritten by zeros is not replaced by the next one
        for (i, at) in positions.iter().enumerate() {
            let mut file = good.clone();
            let next = positions.get(i + 1).map_or(file.len(), |n| *n as usize);
            file[*at as usize..next].fill(0);
            let table = table_of(&file);
            assert!(table.damage.is_some_and(|e| e.position <= i as i64), "{i}");
        }
        // other bytes than zeros may be a chunk, and an unknown number cannot be checked
        let mut file = good.clone();
        file[positions[1] as usize - 1] = 1;
        assert!(table_of(&file).damage.is_some());
        for field in [8, 12, 16] {
            let mut file = good.clone();
            file[field..field + 4].fill(0xff);
            file[16..24].copy_from_slice(&if field == 16 {
                [0xff; 8]
            } else {
                3u64.to_le_bytes()
            });
            assert!(table_of(&file).damage.is_some(), "{field}");
        }
    }
}
