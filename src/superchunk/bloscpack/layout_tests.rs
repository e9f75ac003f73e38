//! What no real file shows: layouts of our own, and files made to do harm.

use super::chunk_table::{ChunkPlace, ChunkTable};
use super::header::{Dialect, Header};
use super::metadata::{self, DEFAULT_LEVEL, DEFAULT_SUM, Form, MetaPlace, Section};
use super::offsets;
use crate::checksum::Sum;
use crate::error::{Result, Status};
use crate::io::{Access, File, Folder, memory::MemoryFolder};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LIMIT: u64 = 1 << 20;

fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Arc<dyn File> {
    MemoryFolder::new(bytes)
        .open(OsStr::new(""), Access::Read)
        .unwrap()
}

/// A chunk that is a copy of `n` bytes.
fn chunk(n: u32, fill: u8) -> Vec<u8> {
    let mut c = vec![2, 1, 2, 1];
    c.extend([n, n, n + 16].into_iter().flat_map(u32::to_le_bytes));
    c.resize(n as usize + 16, fill);
    c
}

/// A file of v3 with offsets, and chunks that hold as many bytes as they are told.
fn file_of(sizes: &[u32], sum: Sum) -> (Header, Vec<u8>) {
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
    let section = metadata::section(b"{}", Some(40), &Section::new(Sum::Md5, 0)).unwrap();
    let rfc = metadata::encode_rfc(b"[1,2]", false).unwrap();
    let packed = metadata::encode_rfc(b"[1,2]", true).unwrap();
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
                    (Sum::Sha384, 200, Some(i32::MAX as u32));
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
fn headers_of_others_are_refused() {
    let (_, good) = file_of(&[10, 10], Sum::None);
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
    // version 1 is one of 32 bits, or has three bytes of nothing
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
    // numbers that cannot be
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
    // without a table its spare room means nothing
    let mut b = good.clone();
    b[5] = 0;
    put(&mut b, 24, i64::MIN);
    assert_eq!(Header::parse(&b, size).unwrap().chunks_at(), 32);
}

#[test]
fn a_first_version_without_a_version_is_known_by_its_chunk() {
    for n in [1u32, 2, 3, 4, 0x103, 0x1_0003] {
        let mut file = [b"blpk".as_slice(), &n.to_le_bytes()].concat();
        (0..n).for_each(|i| file.extend(chunk(5, i as u8)));
        let table = table_of(&file);
        assert_eq!(
            (table.chunks.len(), &table.damage, &table.doubt),
            (n as usize, &None, &None)
        );
        // one chunk is lost, the others are there
        let table = (n > 1).then(|| table_of(&file[..file.len() - 1]));
        assert!(table.is_none_or(|t| t.chunks.len() == n as usize - 1 && t.damage.is_some()));
    }
}

#[test]
fn metadata_are_read_as_written() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(3000)).into_bytes();
    for sum in (0..9).map(|n| Sum::from_number(n).unwrap()) {
        for level in [0, 1, 6, 9] {
            for json in [b"{}".as_slice(), &long] {
                let (place, bytes) =
                    metadata::section(json, None, &Section::new(sum, level)).unwrap();
                assert_eq!(
                    (place.room as usize, place.size()),
                    (10 * json.len(), bytes.len() as u64)
                );
                let again = MetaPlace::of_section(bytes.first_chunk().unwrap()).unwrap();
                assert_eq!(again, place);
                let file = memory([&[0; 32], &bytes[..]].concat());
                assert_eq!(place.read(&*file, LIMIT).unwrap(), json);
                // a damaged byte of the JSON or the digest, and one of the room
                for at in [0, place.stored as usize - 1, bytes.len() - 33] {
                    let mut bad = [&[0; 32], &bytes[..]].concat();
                    bad[64 + at] ^= 1;
                    let in_room = at >= place.stored as usize && at < place.room as usize;
                    let read = place.read(&*memory(bad), LIMIT);
                    assert!(
                        sum == Sum::None
                            || in_room && read.is_ok()
                            || read.unwrap_err().status == Status::Checksum
                    );
                }
            }
        }
    }
    for packed in [false, true] {
        let (place, bytes) = metadata::encode_rfc(&long, packed).unwrap();
        let file = memory([&[0; 32], &bytes[..]].concat());
        assert_eq!(place.read(&*file, LIMIT).unwrap(), long);
    }
}

#[test]
fn metadata_are_rewritten_where_they_fit() {
    let (place, bytes) = metadata::section(
        b"{\"a\":1}",
        Some(20),
        &Section::new(DEFAULT_SUM, DEFAULT_LEVEL),
    )
    .unwrap();
    let (less, with_less) = place.rewrite(b"{}").unwrap().unwrap();
    assert_eq!(
        (less.room, less.stored, with_less.len()),
        (20, 2, bytes.len())
    );
    let packs_well = format!("[{}0]", "0,".repeat(300)).into_bytes();
    let (packed, _) = place.rewrite(&packs_well).unwrap().unwrap();
    assert!(packed.stored < 20 && matches!(&packed.form, Form::Section(s) if s.codec == 1));
    assert_eq!(place.rewrite(b"[1,5,3,9,7,2,6,4,8,0,12]").unwrap(), None);
    assert_eq!(
        metadata::section(&packs_well, Some(9), &Section::new(Sum::None, 9))
            .unwrap_err()
            .status,
        Status::Argument
    );

    let (place, _) = metadata::encode_rfc(b"{\"a\":1}", false).unwrap();
    assert_eq!(
        place.rewrite(b"[5]").unwrap().unwrap(),
        (place.clone(), b"[5]    ".to_vec())
    );
    assert_eq!(place.rewrite(b"{\"a\":11}").unwrap(), None);
}

#[test]
fn metadata_that_lie_are_refused() {
    let bomb = vec![b' '; 10_000_000];
    let read = |place: &MetaPlace, bytes: &[u8]| {
        place
            .read(&*memory([&[0; 32], bytes].concat()), LIMIT)
            .map_err(|e| e.status)
    };
    let (place, bytes) = metadata::section(&bomb, None, &Section::new(Sum::None, 9)).unwrap();
    assert_eq!(read(&place, &bytes), Err(Status::Limit));
    let (rfc, packed) = metadata::encode_rfc(&bomb, true).unwrap();
    assert_eq!(read(&rfc, &packed), Err(Status::Limit));

    let (place, bytes) =
        metadata::section(&[b' '; 5000], Some(100), &Section::new(Sum::None, 9)).unwrap();
    let changed = |change: &dyn Fn(&mut Section)| {
        let mut place = place.clone();
        let Form::Section(s) = &mut place.form else {
            unreachable!()
        };
        change(s);
        read(&place, &bytes)
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
        MetaPlace::of_section(&more_than_room).unwrap_err().status,
        Status::Format
    );
    // neither JSON nor a section, a size that is none, reserved bytes
    for (field, packed, first) in [
        (5, false, b"K"),
        (5, true, b"{"),
        (5, false, b"x"),
        (0, false, b"{"),
        (-5, false, b"{"),
        (5 | 1 << 32, false, b"{"),
    ] {
        assert_eq!(
            MetaPlace::of_rfc(i64::to_le_bytes(field), packed, first)
                .unwrap_err()
                .status,
            Status::Format
        );
    }
    let (place, _) = metadata::section(b"[\"\xff\"]", None, &Section::new(Sum::None, 0)).unwrap();
    let (_, bytes) = metadata::section(b"[\"\xff\"]", None, &Section::new(Sum::None, 0)).unwrap();
    assert_eq!(read(&place, &bytes), Err(Status::Format));
}

#[test]
fn one_wrong_offset_loses_nothing() {
    let sizes = [100, 100, 100, 100, 70];
    let (header, good) = file_of(&sizes, Sum::Crc32);
    let want = table_of(&good);
    assert!(
        want.by_offsets
            && want.in_order
            && want.as_header
            && want.damage.is_none()
            && want.doubt.is_none()
    );
    assert_eq!(want.end, good.len() as u64);
    let end = good.len() as i64;
    let places: Vec<i64> = want.chunks.iter().map(|c| c.at as i64).collect();
    for i in 0..sizes.len() {
        let beside = [
            places[(i + 1) % sizes.len()],
            places[(i + 4) % sizes.len()],
            places[i] + 1,
            places[i] + 16,
        ];
        for wrong in [-1, 0, 1, 40, i64::MIN, i64::MAX, end, end - 3]
            .into_iter()
            .chain(beside)
        {
            let mut bad = good.clone();
            put(&mut bad, header.offsets_at() as usize + 8 * i, wrong);
            let table = table_of(&bad);
            assert_eq!(
                (&table.chunks, &table.damage),
                (&want.chunks, &None),
                "{wrong} for chunk {i}"
            );
            assert_eq!(
                (table.by_offsets, table.doubt.is_some()),
                (false, wrong >= 0),
                "{wrong} for chunk {i}"
            );
        }
    }
}

#[test]
fn chunks_out_of_order_keep_their_order() {
    let (header, mut file) = file_of(&[100, 100, 100, 100], Sum::Adler32);
    let places: Vec<u64> = table_of(&file).chunks.iter().map(|c| c.at).collect();
    let order = [2, 0, 3, 1];
    for (i, k) in order.into_iter().enumerate() {
        put(
            &mut file,
            header.offsets_at() as usize + 8 * i,
            places[k] as i64,
        );
    }
    let table = table_of(&file);
    assert!(
        table
            .chunks
            .iter()
            .map(|c| c.at)
            .eq(order.map(|k| places[k]))
    );
    assert!(table.by_offsets && !table.in_order && table.damage.is_none() && table.doubt.is_none());
    // one offset is lost: behind the chunk before stands another one, which must not be taken for
    // it
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
fn two_offsets_to_one_chunk_are_damage() {
    let (header, mut file) = file_of(&[100, 100, 100, 100], Sum::None);
    let places: Vec<u64> = table_of(&file).chunks.iter().map(|c| c.at).collect();
    for (i, k) in [2, 0, 3, 3].into_iter().enumerate() {
        put(
            &mut file,
            header.offsets_at() as usize + 8 * i,
            places[k] as i64,
        );
    }
    // the chunks stand in another order than the good offsets say: so the bad one cannot be told
    let table = table_of(&file);
    assert_eq!((table.chunks.len(), table.damage.unwrap().position), (3, 3));
}

#[test]
fn a_wrong_number_of_chunks_is_noticed() {
    for sum in [Sum::None, Sum::Sha1] {
        let (header, good) = file_of(&[50, 50, 50, 50], sum);
        for n in [0, 1, 3, 5, 6, 7] {
            let mut bad = good.clone();
            put(&mut bad, 16, n);
            let noticed = |bytes: &[u8]| {
                let t = table_of(bytes);
                t.damage.is_some() || t.doubt.is_some() || !t.as_header
            };
            assert!(noticed(&bad), "{n} chunks");
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
    let (_, good) = file_of(&[50, 50, 50, 50], Sum::Crc32);
    let want = table_of(&good).chunks;
    // spare entries, chunks
    for (at, n) in [
        (24, 0),
        (24, 2),
        (24, 4),
        (24, 20),
        (16, 5),
        (16, 7),
        (16, 20),
    ] {
        let mut bad = good.clone();
        put(&mut bad, at, n);
        let table = table_of(&bad);
        assert_eq!(table.chunks.get(..4), Some(want.as_slice()), "{n} at {at}");
        assert!(
            table.damage.is_some() || table.doubt.is_some(),
            "{n} at {at}"
        );
    }
}

#[test]
fn a_number_of_chunks_that_is_not_known_is_counted() {
    let (header, good) = file_of(&[50, 50, 7], Sum::Md5);
    let plain = Header {
        has_offsets: false,
        max_app_chunks: 0,
        nchunks: None,
        ..header.clone()
    };
    let plain = [&plain.encode(), &good[header.chunks_at() as usize..]].concat();
    let table = table_of(&plain);
    assert_eq!(
        (table.chunks.len(), &table.damage, &table.doubt),
        (3, &None, &None)
    );
    for cut in 1..plain.len() - 32 {
        let table = table_of(&plain[..plain.len() - cut]);
        let whole = table
            .chunks
            .last()
            .is_some_and(|c| c.end(Sum::Md5) == (plain.len() - cut) as u64);
        assert_eq!(table.damage.is_none(), whole, "{cut}");
        assert!(
            table
                .damage
                .is_none_or(|e| e.position == table.chunks.len() as i64)
        );
    }
}

/// A file that counts how often and how much is read.
struct Counting(Arc<dyn File>, AtomicU64, AtomicU64);

impl File for Counting {
    fn size(&self) -> Result<u64> {
        self.0.size()
    }
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.2.fetch_add(dst.len() as u64, Ordering::Relaxed);
        self.0.read_at(at, dst)
    }
    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.0.write_at(at, src)
    }
    fn set_size(&self, size: u64) -> Result<()> {
        self.0.set_size(size)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
}

fn reads(bytes: Vec<u8>) -> (u64, u64) {
    let file = Counting(memory(bytes), AtomicU64::new(0), AtomicU64::new(0));
    let header = Header::read(&file).unwrap();
    assert!(
        ChunkTable::read(&file, &header, LIMIT)
            .unwrap()
            .damage
            .is_none()
    );
    (file.1.into_inner(), file.2.into_inner())
}

#[test]
fn small_chunks_are_found_in_large_pieces() {
    for size in [0, 1, 100, 1000] {
        let (_, bytes) = file_of(&vec![size; 3000], Sum::Crc32);
        let all = bytes.len() as u64;
        let (calls, read) = reads(bytes);
        assert!(
            calls < 20 + all / 30_000 && read < 2 * all + 100_000,
            "{size}: {calls} calls, {read} of {all} bytes"
        );
    }
    let (_, bytes) = file_of(&[200_000; 30], Sum::Crc32);
    let (calls, read) = reads(bytes);
    assert!(calls < 40 && read < 2000, "{calls} calls, {read} bytes");
}

#[test]
fn many_chunks_need_memory_within_the_limit() {
    let (header, bytes) = file_of(&vec![0; 50_000], Sum::None);
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
fn what_cannot_be_a_chunk_is_none() {
    let good = *chunk(40, 0).first_chunk().unwrap();
    assert!(ChunkPlace::parse(0, &good).is_some());
    let with = |at: usize, byte: u8| {
        let mut h = good;
        h[at] = byte;
        ChunkPlace::parse(0, &h)
    };
    // version, version inside, typesize, unpacked size, block, size of a copy
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
    // any other has room behind its content
    let mut packed = good;
    (packed[2], packed[12]) = (0, 60);
    assert!(ChunkPlace::parse(0, &packed).is_some_and(|c| c.end(Sum::Md5) == 76));
}
