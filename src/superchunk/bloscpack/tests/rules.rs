//! Tests of single calls.

use super::*;
use crate::checksum::Checksum;
use crate::io::Access;
use crate::io::sim::Counting;
use std::sync::Mutex;

#[test]
fn one_short_chunk_does_not_make_later_chunks_short() {
    let given = |n: i64| Options::new().with(Opt::ChunkBytes, n).unwrap();
    for (version, offsets) in [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (103, 1)] {
        for (first, typesize, o, want) in [
            (1, 1, Options::new(), 1 << 20),
            (8, 8, Options::new(), 1 << 20),
            (1200, 12, Options::new(), (1 << 20) / 1200 * 1200),
            (1201, 12, Options::new(), (1 << 20) / 12 * 12),
            (1200, 12, given(2400), 2400),
            (1200, 12, given(1212), 1212),
            // a smaller chunk size has no effect
            (1200, 12, given(600), 1200),
            ((16 << 10) - 1, 1, Options::new(), (1 << 20) / 16383 * 16383),
            (16 << 10, 1, Options::new(), 16 << 10),
        ] {
            let form = Form {
                chunk: first / typesize * typesize,
                typesize,
                codec: 2,
                ..Form::new(version, offsets, 2)
            };
            let disk = SimDisk::default();
            let mut w = form.create(&disk.folder(), Mode::New).unwrap();
            w.insert(0, &vec![7; first]).unwrap();
            w.commit().unwrap();
            drop(w);
            assert_eq!(reader(&disk.folder()).unwrap().chunk_size(), first);
            let mut w =
                Bloscpack::open_in(&disk.folder(), OsStr::new(NAME), Mode::Append, &o).unwrap();
            assert_eq!(w.chunk_size(), want, "{form:?}");
            w.append(&bytes(4, 300_000)).unwrap();
            w.commit().unwrap();
            let b = reader(&disk.folder()).unwrap();
            assert_eq!(
                (b.chunks(), b.chunk_size()),
                (
                    (300_000 + first).div_ceil(want),
                    if version == 1 {
                        want.min(300_000 + first)
                    } else {
                        want
                    }
                ),
                "{form:?}"
            );
            assert!(
                State::of(&b).unwrap().content() == [vec![7; first], bytes(4, 300_000)].concat()
            );
        }
    }
}

#[test]
fn a_pending_chunk_has_no_stored_size() {
    let disk = SimDisk::default();
    let mut w = Form::new(3, 1, 2)
        .create(&disk.folder(), Mode::New)
        .unwrap();
    w.append(&[5; 1500]).unwrap();
    assert_eq!(
        [0, 1, 2].map(|i| w.chunk_info(i).unwrap()),
        [(600, 0, 0), (600, 0, 0), (300, 0, 0)]
    );
    w.commit().unwrap();
    let stored = [0, 1, 2].map(|i| w.chunk_info(i).unwrap());
    assert!(stored.iter().all(|(_, cbytes, _)| *cbytes >= 16));
    // changes in one chunk are not encoded; then in another chunk
    for k in [1, 2] {
        w.write(600 * k + 5, b"x").unwrap();
        for (i, was) in stored.iter().enumerate() {
            let (nbytes, cbytes, flags) = w.chunk_info(i as u64).unwrap();
            assert_eq!(
                (nbytes, cbytes == 0, flags == 0),
                (was.0, i as u64 == k, i as u64 == k),
                "{i} while {k} waits"
            );
        }
    }
    w.commit().unwrap();
    assert!([0, 1, 2].iter().all(|i| w.chunk_info(*i).unwrap().1 >= 16));
    assert_eq!(w.chunk_info(3).unwrap_err().status, Status::Range);
}

#[test]
fn spare_offsets_are_in_proportion() {
    let given = |n: u64| (100, Some(n as i64), n..=n);
    for (content, spare, free) in [
        (0, None, 50..=50),
        (100, None, 50..=50),
        (60_000, None, 900..=1000),
        given(0),
        given(3),
    ] {
        let disk = SimDisk::default();
        let mut w = Form {
            spare_chunks: spare,
            ..Form::new(3, 1, 2)
        }
        .create(&disk.folder(), Mode::New)
        .unwrap();
        w.append(&bytes(5, content)).unwrap();
        w.commit().unwrap();
        let n = w.header().max_app_chunks;
        assert!(free.contains(&n), "{content} bytes: {n}");
        assert!(
            w.cbytes().unwrap() < 100 + 8 * n + 2 * content as u64,
            "{content} bytes: {}",
            w.cbytes().unwrap()
        );
    }
}

#[test]
fn appends_succeed_without_spare_offsets() {
    for spare in [None, Some(0), Some(7)] {
        let disk = SimDisk::default();
        let form = Form {
            spare_chunks: spare,
            ..Form::new(3, 1, 2)
        };
        let (mut w, mut rewritten, mut before) =
            (form.create(&disk.folder(), Mode::New).unwrap(), 0, None);
        for i in 0..800u64 {
            w.append(&i.to_le_bytes().repeat(75)).unwrap();
            w.commit().unwrap();
            let now = disk.folder().identity(OsStr::new(NAME)).unwrap();
            rewritten += usize::from(before != now);
            before = now;
        }
        let b = reader(&disk.folder()).unwrap();
        assert_eq!(b.chunks(), 800);
        assert!(
            State::of(&b)
                .unwrap()
                .chunks
                .iter()
                .zip(0u64..)
                .all(|(c, i)| *c == i.to_le_bytes().repeat(75))
        );
        println!("{spare:?}: {rewritten} commits of 800 made a new file");
        assert!(spare == Some(0) || rewritten <= 800 / (spare.unwrap_or(200) as usize));
    }
}

#[test]
fn spare_offsets_beyond_the_memory_limit_are_refused() {
    let disk = SimDisk::default();
    let create = |spare, limit| {
        let options = Options::new()
            .with(Opt::SpareChunks, spare)
            .unwrap()
            .with(Opt::MemoryLimit, limit)
            .unwrap();
        Bloscpack::create_in(&disk.folder(), OsStr::new(NAME), Mode::New, 4, &options)
    };
    let e = create(1000, 15_999).err().unwrap();
    assert_eq!(e.status, Status::Limit);
    assert!(
        e.to_string()
            .starts_with("HOLDALL_OPT_SPARE_CHUNKS: 16000 bytes"),
        "{e}"
    );
    assert!(!disk.folder().exists(OsStr::new(NAME)).unwrap());
    let mut b = create(1000, 16_000).unwrap();
    b.append(&[1; 40]).unwrap();
    b.commit().unwrap();
    drop(b);
}

#[test]
fn files_that_the_rfc_allows_are_read_and_committed() {
    for (foreign, forms) in [
        (Foreign::Unknown, &[(2, 1, 3), (3, 1, 2), (103, 1, 0)][..]),
        (Foreign::SpareBytes, &[(2, 0, 3), (3, 0, 0), (103, 0, 1)]),
    ] {
        for &(version, offsets, sum) in forms {
            let form = Form {
                foreign,
                ..Form::new(version, offsets, sum)
            };
            let disk = SimDisk::default();
            let mut w = form.create(&disk.folder(), Mode::New).unwrap();
            w.append(&bytes(3, 2000)).unwrap();
            if form.has_meta() {
                w.meta_set(Some(&json(1, 30))).unwrap();
            }
            w.commit().unwrap();
            let expected = State::of(&w).unwrap();
            drop(w);
            let disk = form.made_foreign(disk);
            let b = reader(&disk.folder()).unwrap();
            assert_eq!(b.header().nchunks.is_none(), foreign == Foreign::Unknown);
            assert!(State::of(&b).unwrap() == expected, "{form:?}");
            let verified = b.verify(|e| panic!("{form:?}: {e}")).unwrap();
            assert_eq!(
                (verified.intact + verified.unchecked, verified.corrupt),
                (4, 0)
            );
            let mut w = form.append(&disk.folder()).unwrap();
            w.truncate(1900).unwrap();
            w.append(&bytes(4, 700)).unwrap();
            w.commit().unwrap();
            let b = reader(&disk.folder()).unwrap();
            assert_eq!(b.header().nchunks, Some(5), "{form:?}");
            let content = [&expected.content()[..1900], &bytes(4, 700)].concat();
            assert!(State::of(&b).unwrap().content() == content, "{form:?}");
            b.verify(|e| panic!("{form:?}: {e}")).unwrap();
        }
    }
}

#[test]
fn the_blocks_of_a_chunk_are_verified_one_by_one() {
    const BLOCK: usize = 16 << 10;
    let content: Vec<u8> = (0..24 * BLOCK as u32 / 4)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 12).to_le_bytes())
        .collect();
    // Adler-32, CRC-32, SHA-512, and a chunk with spare bytes
    for (sum, spare_bytes, by_block) in [(1, 0, true), (2, 0, true), (8, 0, false), (2, 500, true)]
    {
        let form = Form {
            chunk: content.len(),
            spare_bytes,
            ..Form::new(3, 1, sum)
        };
        let disk = SimDisk::default();
        let options = form.create_options().with(Opt::BlockBytes, BLOCK as i64);
        let mut w = Bloscpack::create_in(
            &disk.folder(),
            OsStr::new(NAME),
            Mode::New,
            form.typesize,
            &options.unwrap(),
        )
        .unwrap();
        w.append(&content).unwrap();
        w.commit().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let folder: Arc<dyn Folder> = Arc::new(Counting(disk.folder(), calls.clone()));
        let r = reader(&folder).unwrap();
        calls.lock().unwrap().clear();
        let mut item = [0; 4];
        assert!(!r.read(200_000, &mut item).unwrap());
        assert_eq!(item, content[200_000..200_004]);
        let read: usize = calls.lock().unwrap().iter().sum();
        assert_eq!(read < 20_000, by_block, "{sum}: {read} bytes");
        calls.lock().unwrap().clear();
        assert!(!r.read(50_000, &mut item).unwrap());
        assert_eq!(item, content[50_000..50_004]);
        let reads = calls.lock().unwrap().len();
        assert!(
            reads == 1 || !by_block,
            "{sum}: {reads} reads, though the chunk is open"
        );
        let file = disk.folder().open(OsStr::new(NAME), Access::Write).unwrap();
        let mut all = vec![0; file.size().unwrap() as usize];
        file.read_exact_at(0, &mut all).unwrap();
        let end =
            all.len() - Checksum::from_number(sum as i32).unwrap().size() - spare_bytes as usize;
        let failed = |at: usize| -> Vec<usize> {
            file.write_at(at as u64, &[all[at] ^ 16]).unwrap();
            let r = reader(&disk.folder()).unwrap();
            let corrupt = |i: &usize| {
                r.read((i * BLOCK) as u64, &mut [0; BLOCK])
                    .is_err_and(|e| e.status == Status::Checksum)
            };
            let failed = (0..content.len() / BLOCK).filter(corrupt).collect();
            file.write_at(at as u64, &all[at..=at]).unwrap();
            failed
        };
        let blocks: Vec<usize> = (0..content.len() / BLOCK).collect();
        let mark = all.windows(8).position(|bytes| bytes == b"hldblock");
        assert_eq!(mark.is_some(), by_block, "{sum}");
        let Some(mark) = mark else {
            assert_eq!(failed(end - 100), blocks);
            continue;
        };
        assert_eq!(failed(mark + 10), [0]);
        assert_eq!(failed(end - 100), [23]);
        for at in [mark - 1, mark - 5, mark - 9, mark - 4 * 24 - 8 - 5] {
            assert_eq!(failed(at), blocks);
        }
    }
}
