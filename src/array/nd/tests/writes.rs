//! Tests of writing.

use super::*;

/// Checks that exactly the written blocks were encoded, in full if they were overwritten
/// completely, and that nothing was read.
fn check_encoded(case: &Case, written: &[Vec<u64>], what: &str) {
    let log = case.mem.log();
    let (mut now, mut all, mut of_chunk) = (
        BTreeMap::new(),
        BTreeMap::new(),
        BTreeMap::<u64, i64>::new(),
    );
    for i in written {
        let (chunk, block, _) = case.locate(i);
        *now.entry((chunk, block)).or_insert(0) += 1;
        *of_chunk.entry(chunk).or_default() += 1;
    }
    for i in indices(&case.model.shape) {
        let (chunk, block, _) = case.locate(&i);
        *all.entry((chunk, block)).or_insert(0) += 1;
        of_chunk.entry(chunk).and_modify(|n| *n -= 1);
    }
    let mut want: BTreeMap<_, _> = now
        .iter()
        .map(|(b, n)| {
            (
                *b,
                if all[b] == *n {
                    BlockChange::Full
                } else {
                    BlockChange::Partial
                },
            )
        })
        .collect();
    for (chunk, _) in of_chunk.iter().filter(|(_, left)| **left == 0) {
        (0..case.mem.chunk_bytes / case.mem.block_bytes)
            .for_each(|b| _ = want.entry((*chunk, b)).or_insert(BlockChange::Full));
    }
    assert_eq!(
        log,
        CallLog {
            encoded: want,
            ..CallLog::default()
        },
        "{what}"
    );
}

#[test]
fn box_writes_match_the_model() {
    for seed in 0..900 {
        let mut case = Case::new(seed);
        for i in 0..6 {
            let requested = case.random_box();
            let strides = case.random_strides(&requested[1], false);
            let what = format!(
                "seed {seed}, box {i}: {requested:?} {strides:?} of {:?}, {} threads",
                case.tiles, case.mem.threads
            );
            let used = strides
                .clone()
                .unwrap_or_else(|| packed(&requested[1], case.model.item));
            let (len, first) = extent(&requested[1], &used, case.model.item);
            let src = noise(&mut case.rng, len + i % 2);
            for (index, at) in pairs(&requested, first, &used) {
                case.model.set(&index, &src[at..][..case.model.item]);
            }
            let [start, count, step] = &requested;
            case.tiles
                .write(
                    &mut case.mem,
                    (start, count, Some(step)),
                    &src,
                    strides.as_deref(),
                )
                .unwrap();
            check_encoded(
                &case,
                &pairs(&requested, first, &used)
                    .map(|(i, _)| i)
                    .collect::<Vec<_>>(),
                &what,
            );
            case.check(&what);
        }
    }
}

#[test]
fn in_orthogonal_writes_the_last_duplicate_position_wins() {
    for seed in 0..900 {
        let mut case = Case::new(seed);
        for i in 0..3 {
            let lists = random_positions(&mut case.rng, &case.model.shape);
            let what = format!("seed {seed}, lists {i}: {lists:?} of {:?}", case.tiles);
            let lists: Vec<Option<&[u64]>> = lists.iter().map(Option::as_deref).collect();
            let count: Vec<u64> = lists
                .iter()
                .zip(&case.model.shape)
                .map(|(l, n)| l.map_or(*n, |l| l.len() as u64))
                .collect();
            let requested = |i: &Vec<u64>| {
                i.iter()
                    .zip(&lists)
                    .map(|(i, l)| l.map_or(*i, |l| l[*i as usize]))
                    .collect::<Vec<u64>>()
            };
            let mut all: Vec<Vec<u64>> = indices(&count).iter().map(requested).collect();
            let src = noise(&mut case.rng, all.len() * case.model.item);
            for (index, item) in all.iter().zip(src.chunks(case.model.item)) {
                case.model.set(index, item);
            }
            case.tiles
                .write_orthogonal(&mut case.mem, &lists, &src)
                .unwrap();
            all.sort();
            all.dedup();
            check_encoded(&case, &all, &what);
            case.check(&what);
        }
    }
}

#[test]
fn arrays_of_sixteen_dimensions_are_supported() {
    let shape = [2, 1, 3, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 3, 2];
    let chunk = [2, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 2];
    let block = [1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 2, 1];
    let mut case = Case::of(Rng(5), &shape, &chunk, &block, 3);
    case.check("16 dimensions");
    let mut all = vec![0xee; case.model.data.len()];
    case.tiles
        .read(&case.mem, (&[0; 16], &shape, None), &mut all, None)
        .unwrap();
    assert!(all == case.model.data);
    let src = noise(&mut case.rng, all.len() / 2);
    case.tiles.insert(&mut case.mem, 15, 1, 1, &src).unwrap();
    let mut long = shape;
    long[15] = 3;
    let parts = all
        .chunks(6)
        .zip(src.chunks(3))
        .flat_map(|(old, new)| [&old[..3], new, &old[3..]].concat());
    case.model = Model {
        shape: long.to_vec(),
        item: 3,
        data: parts.collect(),
    };
    case.check("16 dimensions, one of them longer");
    assert_eq!(
        ChunkGrid::new(&[1; 17], &[1; 17], &[1; 17], 1, 0)
            .unwrap_err()
            .status,
        crate::error::Status::Unsupported
    );
}
