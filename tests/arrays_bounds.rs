//! Arrays: the cost of reads, and refused calls.

mod common;

use common::heap::{Counting, most_held};
use common::memory::{all, array_of, memory, name, open};
use holdall::array::{Array, NewTiled};
use holdall::dtype::Dtype;
use holdall::dtype::numpy_meta::{ArrayMeta, Order};
use holdall::error::Status;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::{Bloscpack, Mode};
use std::sync::atomic::Ordering;

#[global_allocator]
static HEAP: Counting = Counting;

// ---- the cost of reads

#[test]
fn a_huge_array_takes_no_memory_until_it_is_written() {
    let (_, folder) = memory();
    let mut a = Array::create_in(
        &folder,
        name(),
        Mode::New,
        "<f8",
        &[1 << 40, 1 << 15],
        None,
        &Options::new(),
    )
    .unwrap();
    assert_eq!(a.nbytes(), 1 << 58);
    let mut item = [1; 8];
    a.read(&[(1 << 40) - 1, 5], &[1, 1], None, &mut item, None)
        .unwrap();
    assert_eq!(item, [0; 8]);
    a.write(&[0, 3], &[1, 1], None, &[7; 8], None).unwrap();
    a.resize(&[2, 1 << 15]).unwrap();
    a.commit().unwrap();
    let a = open(&folder, Mode::Read);
    a.read(&[0, 3], &[1, 1], None, &mut item, None).unwrap();
    assert_eq!((item, a.shape()), ([7; 8], &[2, 1 << 15][..]));
}

#[test]
fn a_column_reads_each_chunk_once() {
    for order in [Order::C, Order::Fortran] {
        let (memory, folder) = memory();
        let (rows, columns) = if order == Order::C {
            (5000, 100)
        } else {
            (100, 5000)
        };
        let options = Options::new().with(Opt::ChunkBytes, 80_000).unwrap();
        let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 8, &options).unwrap();
        let meta = ArrayMeta {
            dtype: Dtype::parse("<i8").unwrap(),
            shape: vec![rows, columns],
            order,
        };
        file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
        file.append(&vec![3; 4_000_000]).unwrap();
        file.commit().unwrap();
        let a = open(&folder, Mode::Read);
        let mut dst = vec![0; 40_000];
        for (start, count, step, most) in [
            ([0, 7], [5000, 1], [1, 1], 50),
            ([0, 7], [625, 2], [8, 3], 50),
            ([3, 0], [2, 100], [1, 1], 1),
            ([0, 7], [10, 1], [500, 1], 10),
        ] {
            let turned = |v: [u64; 2]| if order == Order::C { v } else { [v[1], v[0]] };
            let before = memory.reads.load(Ordering::Relaxed);
            a.read(
                &turned(start),
                &turned(count),
                Some(&turned(step)),
                &mut dst,
                None,
            )
            .unwrap();
            let reads = memory.reads.load(Ordering::Relaxed) - before;
            assert!(
                reads <= most,
                "{order:?}: {reads} reads for {start:?}, {count:?}, {step:?}"
            );
        }
        assert_eq!(a.chunkshape(), turned_shape(order, [100, 100]));
    }
}

/// The block table of a chunk is read at the first access. A block is at most one read, and small
/// adjacent blocks are one read. With checksums a chunk is read completely at the first access, by
/// at most as many reads.
#[test]
fn a_touched_block_is_one_read() {
    for (side, checksum) in [(20, 0), (20, 2), (50, 0), (50, 2)] {
        let (all, h) = (2 * side, side / 5);
        let (memory, folder) = memory();
        let new = NewTiled {
            dtype: "<i4",
            shape: &[all; 3],
            chunks: Some(&[side; 3]),
            blocks: Some(&[h, side, side]),
            caterva: false,
        };
        let wished = [(Opt::Checksum, checksum), (Opt::Threads, 1)];
        let options = wished
            .iter()
            .fold(Options::new(), |o, (opt, n)| o.with(*opt, *n).unwrap());
        let mut a = Array::create_frame_in(&folder, name(), Mode::New, &new, &options).unwrap();
        let content: Vec<u8> = (0..all.pow(3) as u32)
            .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 7 & 0xffff_7fff).to_le_bytes())
            .collect();
        a.write(&[0; 3], &[all; 3], None, &content, None).unwrap();
        a.commit().unwrap();
        drop(a);
        let a = Array::open_in(
            &folder,
            name(),
            Mode::Read,
            &Options::new().with(Opt::Threads, 1).unwrap(),
        )
        .unwrap();
        let mut dst = vec![0; content.len()];
        // and how many chunks are accessed, how many of them for the first time, and how many
        // blocks
        for (start, count, chunks, first, blocks) in [
            ([0, 3, 3], [1; 3], 1, 1, 1),
            ([h + 1, 8, 8], [1; 3], 1, 0, 1),
            ([1, 5, 0], [2 * h + 1, 9, 9], 1, 0, 3),
            ([4 * h, 0, 0], [1, all, all], 4, 3, 4),
            ([3 * h, 0, 0], [1, all, all], 4, 0, 4),
            ([1, 0, 0], [2 * h + 1, all, all], 4, 0, 12),
            ([0; 3], [all; 3], 8, 4, 40),
            ([0; 3], [all; 3], 8, 0, 40),
        ] {
            let before = memory.reads.load(Ordering::Relaxed);
            a.read(&start, &count, None, &mut dst, None).unwrap();
            let reads = memory.reads.load(Ordering::Relaxed) - before;
            // the table of blocks, and their checksums
            let tables = if checksum == 2 { 2 * first } else { first };
            let most = if side == 20 { chunks } else { blocks + tables };
            assert!(
                reads <= most,
                "checksum {checksum}: {reads} reads for {start:?}, {count:?}, at most {most}"
            );
        }
        assert!(dst == content);
    }
}

/// A stored block, and a decoded block: for every requested part and every writer.
#[test]
fn a_read_holds_two_blocks_at_most() {
    const BLOCK: usize = 200_000;
    for codec in [1, 2] {
        let (_, folder) = memory();
        let new = NewTiled {
            dtype: "<i4",
            shape: &[80, 100, 100],
            chunks: Some(&[40, 100, 100]),
            blocks: Some(&[5, 100, 100]),
            caterva: false,
        };
        let wished = [(Opt::Codec, codec), (Opt::Checksum, 0), (Opt::Threads, 1)];
        let options = wished
            .iter()
            .fold(Options::new(), |o, (opt, n)| o.with(*opt, *n).unwrap());
        let mut a = Array::create_frame_in(&folder, name(), Mode::New, &new, &options).unwrap();
        let content: Vec<u8> = (0..800_000u32)
            .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 14 & 0xffff_7fff).to_le_bytes())
            .collect();
        a.write(&[0; 3], &[80, 100, 100], None, &content, None)
            .unwrap();
        a.commit().unwrap();
        drop(a);
        let mut dst = vec![0; content.len()];
        for (start, count) in [
            ([0; 3], [80, 100, 100]),
            ([3, 10, 20], [70, 50, 60]),
            ([0, 0, 7], [80, 100, 1]),
        ] {
            // by a thread without a buffer
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let a = Array::open_in(
                        &folder,
                        name(),
                        Mode::Read,
                        &Options::new().with(Opt::Threads, 1).unwrap(),
                    )
                    .unwrap();
                    let most = most_held(|| {
                        assert!(!a.read(&start, &count, None, &mut dst, None).unwrap())
                    });
                    assert!(
                        most <= 2 * BLOCK + 16_000,
                        "codec {codec}, {start:?}, {count:?}: {most} bytes"
                    );
                });
            });
        }
        let a = open(&folder, Mode::Read);
        assert!(all(&a) == content);
    }
}

/// Chunks after an insert stay as they are if their boundaries allow it.
#[test]
fn complete_chunks_are_inserted_without_changing_later_ones() {
    let (memory, folder) = memory();
    let options = Options::new().with(Opt::ChunkBytes, 1000).unwrap();
    let mut a = Array::create_in(
        &folder,
        name(),
        Mode::New,
        "|u1",
        &[100_000],
        None,
        &options,
    )
    .unwrap();
    a.write(&[0], &[100_000], None, &[7; 100_000], None)
        .unwrap();
    a.commit().unwrap();
    drop(a);
    for (at, count, most) in [(5000, 3000, 2), (5500, 3000, 3), (99_500, 10, 2)] {
        let mut a = open(&folder, Mode::Append);
        let before = memory.reads.load(Ordering::Relaxed);
        a.insert(0, at, count, &vec![9; count as usize]).unwrap();
        let reads = memory.reads.load(Ordering::Relaxed) - before;
        assert!(reads <= most, "{reads} reads to insert {count} at {at}");
        let mut want = vec![7; 100_000];
        want.splice(at as usize..at as usize, vec![9; count as usize]);
        assert!(all(&a) == want);
        a.remove(0, at, count).unwrap();
        assert!(all(&a) == [7; 100_000]);
    }
}

fn turned_shape(order: Order, shape: [u64; 2]) -> [u64; 2] {
    if order == Order::C {
        shape
    } else {
        [shape[1], shape[0]]
    }
}

// ---- refused calls

#[test]
fn files_without_an_array_are_refused() {
    let json = |dtype: &str, shape: &str| {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"order":"C","container":"numpy"}}"#)
    };
    for (json, status) in [
        (json("<f8", "[3]"), None),
        (json("<f8", "[2]"), Some(Status::Format)),
        (json("<f8", "[4]"), Some(Status::Format)),
        (json("<f8", "[4611686018427387904,4]"), Some(Status::Format)),
        (json("<f8", "[0,4]"), Some(Status::Format)),
        (json("O", "[3]"), None),
        (json("<f3", "[8]"), Some(Status::Type)),
        (
            json("<f8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,1,1]"),
            Some(Status::Unsupported),
        ),
        (json("<f8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,1]"), None),
        ("{}".into(), Some(Status::Type)),
        (r#"{"container":"numpy"}"#.into(), Some(Status::Format)),
    ] {
        let got = array_of(&json, &[0; 24]);
        assert_eq!(
            got.as_ref().err().map(|e| e.status),
            status,
            "{json}: {:?}",
            got.err()
        );
    }
    let e = array_of(&json("<f8", "[2,3]"), &[0; 24]).err().unwrap();
    assert!(e.message.contains("48") && e.message.contains("24"), "{e}");
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let mut a = array_of(
        r#"{"dtype":"<i2","shape":[3,4],"order":"C","container":"numpy"}"#,
        &[5; 24],
    )
    .unwrap();
    let mut dst = [0xee; 64];
    let mut read =
        |start: &[u64], count: &[u64], step: &[u64], strides: Option<&[i64]>, n: usize| {
            let read = a.read(start, count, Some(step), &mut dst[..n], strides);
            read.map_err(|e| e.status)
        };
    let huge = u64::MAX;
    for (start, count, step, status) in [
        ([0, 0], [3, 4], [1, 1], None),
        ([3, 0], [0, 4], [1, 1], None),
        ([4, 0], [0, 4], [1, 1], Some(Status::Range)),
        ([1, 0], [3, 4], [1, 1], Some(Status::Range)),
        ([0, 0], [2, 4], [3, 1], Some(Status::Range)),
        ([0, 0], [1, 4], [huge, 1], None),
        ([0, 0], [2, 4], [huge, 1], Some(Status::Range)),
        ([0, 0], [huge, 4], [1, 1], Some(Status::Range)),
        ([huge, 0], [1, 4], [1, 1], Some(Status::Range)),
        ([0, 0], [1, 4], [0, 1], Some(Status::Argument)),
    ] {
        assert_eq!(
            read(&start, &count, &step, None, 24).err(),
            status,
            "{start:?} {count:?} {step:?}"
        );
    }
    assert_eq!(
        read(&[0], &[1], &[1], None, 64).err(),
        Some(Status::Argument)
    );
    for (strides, n, status) in [
        ([8, 2], 24, None),
        ([8, 2], 23, Some(Status::Buffer)),
        ([-8, 2], 24, None),
        ([-8, -2], 23, Some(Status::Buffer)),
        ([2, 6], 24, None),
        ([0, 0], 2, None),
        ([20, 2], 47, Some(Status::Buffer)),
        ([i64::MIN, i64::MAX], 64, Some(Status::Buffer)),
        ([i64::MAX, 0], 64, Some(Status::Buffer)),
    ] {
        assert_eq!(
            read(&[0, 0], &[3, 4], &[1, 1], Some(&strides), n).err(),
            status,
            "{strides:?} {n}"
        );
    }
    assert_eq!(
        a.read_points(&[0, 0, 2, 4], 2, &mut [0; 4])
            .unwrap_err()
            .status,
        Status::Range
    );
    assert_eq!(
        a.read_points(&[0, 0, 2], 2, &mut [0; 4])
            .unwrap_err()
            .status,
        Status::Argument
    );
    assert_eq!(
        a.read_points(&[0, 0, 2, 3], 2, &mut [0; 3])
            .unwrap_err()
            .status,
        Status::Buffer
    );
    assert_eq!(
        a.read_orthogonal(&[None, Some(&[4])], &mut [0; 64])
            .unwrap_err()
            .status,
        Status::Range
    );
    assert_eq!(
        a.read_orthogonal(&[None, Some(&[3])], &mut [0; 5])
            .unwrap_err()
            .status,
        Status::Buffer
    );

    for (e, status) in [
        (a.append(1, 1, &[0; 8]), Status::Argument),
        (a.append(2, 1, &[0; 6]), Status::Argument),
        (a.append(0, 1, &[0; 6]), Status::Argument),
        (a.append(0, u64::MAX, &[]), Status::Argument),
        (a.resize(&[3]), Status::Argument),
        (a.resize(&[1 << 62, 4]), Status::Argument),
        (a.remove(0, 2, 2), Status::Range),
        (a.remove(0, u64::MAX, 2), Status::Range),
        (a.remove(1, 3, 2), Status::Range),
        (a.remove(2, 0, 1), Status::Argument),
        (a.insert(0, 1, 1, &[0; 6]), Status::Argument),
        (a.insert(0, 4, 1, &[0; 8]), Status::Range),
        (a.insert(0, 1, u64::MAX, &[]), Status::Argument),
        (a.insert(1, 5, 1, &[0; 6]), Status::Range),
        (a.insert(2, 0, 1, &[0; 6]), Status::Argument),
        (a.meta_set(b"{}"), Status::Argument),
    ] {
        assert_eq!(e.unwrap_err().status, status);
    }
    assert_eq!((a.shape(), all(&a)), (&[3, 4][..], vec![5; 24]));
    a.remove(0, 1, 2).unwrap();
    assert_eq!((a.shape(), all(&a)), (&[1, 4][..], vec![5; 8]));
    a.meta_set(br#"{"dtype":"<i2","shape":[1,4],"order":"C","container":"numpy","unit":"m"}"#)
        .unwrap();
    a.append(0, 1, &[6; 8]).unwrap();
    a.commit().unwrap();
    assert_eq!(
        a.meta().unwrap(),
        br#"{"dtype":"<i2","shape":[2,4],"order":"C","container":"numpy","unit":"m"}"#
    );
}

#[test]
fn a_reader_changes_nothing() {
    let (_, folder) = memory();
    Array::create_in(
        &folder,
        name(),
        Mode::New,
        "<i2",
        &[3],
        None,
        &Options::new(),
    )
    .unwrap()
    .commit()
    .unwrap();
    let mut a = open(&folder, Mode::Read);
    for e in [
        a.insert(0, 1, 1, &[0; 2]),
        a.remove(0, 0, 1),
        a.append(0, 1, &[0; 2]),
        a.resize(&[9]),
        a.resize(&[1]),
        a.write(&[0], &[1], None, &[0; 2], None),
        a.commit(),
    ] {
        assert_eq!(e.unwrap_err().status, Status::State);
    }
    assert_eq!((a.shape(), all(&a)), (&[3][..], vec![0; 6]));
}

#[test]
fn arguments_of_create_are_checked() {
    let (_, folder) = memory();
    let with = |opt, n| Options::new().with(opt, n).unwrap();
    let create = |dtype: &str, shape: &[u64], chunks: Option<&[u64]>, o: Options| {
        let made = Array::create_in(&folder, name(), Mode::Replace, dtype, shape, chunks, &o);
        made.map(|a| a.chunkshape().to_vec()).map_err(|e| e.status)
    };
    assert_eq!(
        create("<f8", &[10, 3], Some(&[4, 3]), Options::new()),
        Ok(vec![4, 3])
    );
    assert_eq!(
        create("<f8", &[10, 3], Some(&[4, 2]), Options::new()),
        Err(Status::Unsupported)
    );
    assert_eq!(
        create("<f8", &[10, 3], Some(&[0, 3]), Options::new()),
        Err(Status::Argument)
    );
    assert_eq!(
        create("<f8", &[10, 3], Some(&[4, 3]), with(Opt::ChunkBytes, 100)),
        Err(Status::Argument)
    );
    assert_eq!(
        create("<f8", &[10, 3], Some(&[1 << 40, 3]), Options::new()),
        Err(Status::Argument)
    );
    assert_eq!(
        create("<f8", &[1 << 62], None, Options::new()),
        Err(Status::Argument)
    );
    assert_eq!(
        create("<f8", &[1; 17], None, Options::new()),
        Err(Status::Argument)
    );
    assert_eq!(
        create("O", &[3], None, Options::new()),
        Err(Status::Unsupported)
    );
    assert_eq!(create("<f3", &[3], None, Options::new()), Err(Status::Type));
    assert_eq!(
        create("<f8", &[3], None, with(Opt::FormatVersion, 2)),
        Err(Status::Unsupported)
    );
    assert_eq!(
        create("<f8", &[3], None, with(Opt::FormatVersion, 103)),
        Ok(vec![131_072])
    );
}
