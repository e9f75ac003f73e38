//! Blocks that several reads of an array share.

use crate::dataset::any::create_in;
use crate::dataset::create::ArraySpec;
use crate::dataset::open::open_in;
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{Counting, SimDisk, Use};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::sync::{Arc, Mutex};

/// A block has 16 x 8 x 8 items of 4 bytes; a slab of blocks across the first dimension has 8 of them.
const SHAPE: [u64; 3] = [64, 16, 32];
const CHUNKS: [u64; 3] = [32, 16, 16];
const BLOCKS: [u64; 3] = [16, 8, 8];
const SLAB: i64 = 16 * 16 * 32 * 4;

fn content() -> Vec<u8> {
    let items = 0..(SHAPE[0] * SHAPE[1] * SHAPE[2]) as u32;
    items.flat_map(|i| (i * i).to_le_bytes()).collect()
}

fn written(folder: &Arc<dyn Folder>) -> Vec<u8> {
    let spec = ArraySpec {
        dtype: "<i4",
        shape: &SHAPE,
        chunks: Some(&CHUNKS),
        format: Format::B2nd,
    };
    let mut array = create_in(folder, Mode::New, &spec, Some(&BLOCKS), &Options::new()).unwrap();
    array
        .write(&[0; 3], &SHAPE, None, &content(), None)
        .unwrap();
    array.commit().unwrap();
    content()
}

#[test]
fn planes_decode_each_block_twice_at_most() {
    let folder = SimDisk::default().folder();
    let content = written(&folder);
    let plane = content.len() / SHAPE[0] as usize;
    for (limit, reused) in [
        (None, true),
        (Some(SLAB), true),
        (Some(SLAB / 2), false),
        (Some(0), false),
    ] {
        for io in [0, 1] {
            let uses = Arc::new(Mutex::new(Vec::new()));
            let watched: Arc<dyn Folder> = Arc::new(Counting(folder.clone(), uses.clone()));
            let mut options = Options::new().with(Opt::Threads, 1).unwrap();
            options.set(Opt::Io, io).unwrap();
            if let Some(limit) = limit {
                options.set(Opt::CacheBytes, limit).unwrap();
            }
            let array = open_in(&watched, Mode::Read, &options).unwrap();
            for at in 0..SHAPE[0] as usize {
                uses.lock().unwrap().clear();
                let mut found = vec![0; plane];
                let (start, count) = ([at as u64, 0, 0], [1, SHAPE[1], SHAPE[2]]);
                array.read(&start, &count, None, &mut found, None).unwrap();
                assert!(found == content[at * plane..][..plane], "plane {at}");
                let (reads, _) = Use::tally(&uses.lock().unwrap());
                let again = reused && at % BLOCKS[0] as usize > 1;
                assert_eq!(reads == 0, again, "plane {at}, {limit:?}: {reads} reads");
            }
        }
    }
}

#[test]
fn a_writer_reads_what_it_has_changed() {
    let folder = SimDisk::default().folder();
    let mut expected = written(&folder);
    let mut array = open_in(&folder, Mode::Append, &Options::new()).unwrap();
    for round in 0..4u8 {
        for _ in 0..3 {
            let mut found = vec![0; expected.len()];
            array.read(&[0; 3], &SHAPE, None, &mut found, None).unwrap();
            assert!(found == expected, "round {round}");
        }
        let (at, items) = ([5, 3, 7], [2, 6, 5]);
        let new = vec![round; 2 * 6 * 5 * 4];
        array.write(&at, &items, None, &new, None).unwrap();
        for row in 0..2 {
            for column in 0..6 {
                let first = ((5 + row) * 16 + 3 + column) * 32 + 7;
                expected[first * 4..(first + 5) * 4].fill(round);
            }
        }
        if round % 2 == 1 {
            array.commit().unwrap();
        }
    }
}
