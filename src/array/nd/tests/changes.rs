//! Changes of the shape.

use super::*;
use crate::error::Status;

/// Applies one random change. Returns its description, its result and the expected array.
fn change(case: &mut Case) -> (String, Result<()>, Model) {
    let shape = case.model.shape.clone();
    let item = case.model.item;
    if shape.is_empty() || case.rng.below(3) == 0 {
        let limit = |n: u64| n as usize + [1, 3, 9][shape.len() % 3];
        let new: Vec<u64> = shape
            .iter()
            .map(|n| {
                if case.rng.below(3) == 0 {
                    *n
                } else {
                    case.rng.below(limit(*n)) as u64
                }
            })
            .collect();
        let model = case.model.encoded(&new, |i| {
            i.iter()
                .zip(&shape)
                .all(|(i, n)| i < n)
                .then(|| case.model.get(i).to_vec())
        });
        return (
            format!("resize to {new:?}"),
            case.tiles.resize(&mut case.mem, &new),
            model,
        );
    }
    let axis = case.rng.below(shape.len());
    let (len, unit) = (shape[axis], case.tiles.dims()[axis].chunk);
    let mut any = |most: u64| {
        let n = case.rng.below(most as usize + 1) as u64;
        // Often at a chunk end.
        if case.rng.below(2) == 0 {
            (n / unit * unit).min(most)
        } else {
            n
        }
    };
    let mut new = shape.clone();
    if any(1) == 0 || len > 40 {
        let at = any(len);
        let count = any(len - at);
        new[axis] = len - count;
        let from = |i: &[u64]| {
            i.iter()
                .enumerate()
                .map(|(d, i)| if d == axis && *i >= at { i + count } else { *i })
                .collect::<Vec<_>>()
        };
        let model = case
            .model
            .encoded(&new, |i| Some(case.model.get(&from(i)).to_vec()));
        return (
            format!("remove {count} at {at} of {axis}"),
            case.tiles.remove(&mut case.mem, axis, at, count),
            model,
        );
    }
    let (at, count) = (if any(2) == 0 { len } else { any(len) }, any(2 * unit));
    new[axis] = count;
    let slab: u64 = new.iter().product();
    let src = Model {
        shape: new.clone(),
        item,
        data: noise(&mut case.rng, slab as usize * item),
    };
    new[axis] = len + count;
    let moved = |i: &[u64], back: u64| {
        i.iter()
            .enumerate()
            .map(|(d, i)| if d == axis { i - back } else { *i })
            .collect::<Vec<_>>()
    };
    let from = |i: &[u64]| match i[axis] {
        p if p < at => case.model.get(i).to_vec(),
        p if p < at + count => src.get(&moved(i, at)).to_vec(),
        _ => case.model.get(&moved(i, count)).to_vec(),
    };
    let model = case.model.encoded(&new, |i| Some(from(i)));
    if at == len {
        return (
            format!("append {count} to {axis}"),
            case.tiles.append(&mut case.mem, axis, count, &src.data),
            model,
        );
    }
    (
        format!("insert {count} at {at} of {axis}"),
        case.tiles.insert(&mut case.mem, axis, at, count, &src.data),
        model,
    )
}

/// Returns a case if its array is small.
fn small(seed: u64) -> Option<Case> {
    let case = Case::new(seed);
    let items: u64 = case.model.shape.iter().product();
    (items * case.model.item as u64 <= 30_000
        && case.model.shape.len() < 6
        && case.mem.chunk_bytes < 30_000)
        .then_some(case)
}

#[test]
fn shape_changes_match_the_model() {
    for seed in 0..1500 {
        let Some(mut case) = small(seed) else {
            continue;
        };
        for i in 0..6 {
            let before = case.model.shape.clone();
            let tiles = case.tiles.clone();
            let (what, result, model) = change(&mut case);
            let what = format!("seed {seed}, change {i}: {what} of {tiles:?}");
            result.unwrap_or_else(|e| panic!("{what}: {e}"));
            case.model = model;
            case.check(&what);
            assert!(case.mem.log().decoded.values().all(|n| *n <= 4), "{what}");
            if what.contains("resize") || what.contains("remove") {
                removed_items_are_zeros(&case, &before, &what);
            }
            if case.model.data.len() > 60_000 {
                break;
            }
        }
    }
}

/// Checks that items outside the new shape are stored as zeros.
fn removed_items_are_zeros(case: &Case, before: &[u64], what: &str) {
    let dims = case.tiles.dims();
    let there = |i: &Vec<u64>| {
        i.iter()
            .zip(dims)
            .all(|(i, d)| *i < d.len.next_multiple_of(d.chunk))
    };
    let beyond = |i: &Vec<u64>| i.iter().zip(dims).any(|(i, d)| *i >= d.len);
    if what.contains("resize") && case.tiles.chunks() > 0 {
        for i in indices(before).iter().filter(|i| beyond(i) && there(i)) {
            assert!(case.stored(i).iter().all(|b| *b == 0), "{what}: {i:?}");
        }
    }
}

#[test]
fn failed_changes_leave_the_array_intact_or_marked_broken() {
    let (mut failed, mut broken) = (0, 0);
    for seed in 0..2500 {
        let Some(mut case) = small(seed) else {
            continue;
        };
        case.mem.keep_failing = seed % 4 == 0;
        for i in 0..3 {
            case.mem.changes_left = AtomicU64::new(case.rng.below(6) as u64);
            let tiles = case.tiles.clone();
            let (what, result, model) = change(&mut case);
            let what = format!("seed {seed}, change {i}: {what} of {tiles:?}, {result:?}");
            case.mem.changes_left = AtomicU64::new(u64::MAX);
            match result {
                Ok(()) => case.model = model,
                Err(e) => {
                    assert_eq!(e.status, Status::Io, "{what}");
                    failed += 1;
                }
            }
            if let Err(e) = case.tiles.check() {
                assert_eq!(e.status, Status::State);
                assert!(case.mem.keep_failing, "{what}");
                broken += 1;
                break;
            }
            if case.tiles.shape() != case.model.shape {
                assert!(what.contains("resize") || what.contains("remove"), "{what}");
                let (shape, was) = (case.tiles.shape().to_vec(), case.model.clone());
                case.model = was.encoded(&shape, |i| {
                    i.iter()
                        .zip(&was.shape)
                        .all(|(i, n)| i < n)
                        .then(|| was.get(i).to_vec())
                });
            }
            case.check(&what);
        }
    }
    println!("{failed} failed, {broken} were broken");
    assert!(failed > 800 && broken > 20, "{failed} {broken}");
}

#[test]
fn aligned_changes_move_chunks_without_decoding() {
    let mut case = Case::of(Rng(77), &[10, 6, 5], &[2, 3, 4], &[1, 3, 2], 4);
    let all = case.model.clone();
    case.mem.log();
    case.tiles.remove(&mut case.mem, 0, 4, 2).unwrap();
    case.tiles.remove(&mut case.mem, 1, 0, 3).unwrap();
    assert_eq!(case.mem.log(), CallLog::default());
    case.model = all.encoded(&[8, 3, 5], |i| {
        Some(
            all.get(&[i[0] + if i[0] < 4 { 0 } else { 2 }, i[1] + 3, i[2]])
                .to_vec(),
        )
    });
    case.check("removed");
    let src = noise(&mut case.rng, 2 * 3 * 5 * 4);
    case.tiles.insert(&mut case.mem, 0, 2, 2, &src).unwrap();
    let log = case.mem.log();
    assert!(
        log.decoded.is_empty()
            && log.encoded.values().all(|t| *t == BlockChange::Full)
            && log.encoded.keys().all(|(chunk, _)| (2..4).contains(chunk))
    );
}

#[test]
fn invalid_shapes_are_refused() {
    let of = |shape: &[u64], chunk: &[u64], block: &[u64], item| {
        ChunkGrid::new(shape, chunk, block, item, 1 << 30)
            .map(|t| t.chunks())
            .map_err(|e| e.status)
    };
    assert_eq!(of(&[], &[], &[], 8), Ok(1));
    assert_eq!(of(&[0, 3], &[0, 3], &[0, 3], 8), Ok(0));
    assert_eq!(of(&[5], &[0], &[0], 1), Err(Status::Format));
    assert_eq!(of(&[5], &[3], &[0], 1), Err(Status::Format));
    assert_eq!(of(&[5], &[3], &[4], 1), Ok(2));
    assert_eq!(of(&[5], &[3, 1], &[3], 1), Err(Status::Format));
    assert_eq!(of(&[1 << 40], &[1 << 31], &[1], 1), Err(Status::Format));
    assert_eq!(
        of(&[1 << 40], &[(1 << 31) - 1], &[1 << 20], 1),
        Err(Status::Format)
    );
    assert_eq!(
        of(&[1 << 40; 2], &[1 << 20, 1], &[1, 1], 1),
        Err(Status::Argument)
    );
    assert_eq!(of(&[u64::MAX], &[2], &[1], 1), Err(Status::Argument));
    assert_eq!(of(&[1 << 40, 0, 1 << 40], &[1, 1, 1], &[1; 3], 1), Ok(0));
    let mut case = Case::of(Rng(3), &[0, 3], &[0, 3], &[0, 2], 2);
    assert_eq!(
        case.tiles
            .resize(&mut case.mem, &[1, 3])
            .unwrap_err()
            .status,
        Status::Unsupported
    );
    assert_eq!(
        case.tiles
            .append(&mut case.mem, 0, 1, &[0; 6])
            .unwrap_err()
            .status,
        Status::Unsupported
    );
    assert_eq!(
        case.tiles
            .append(&mut case.mem, 2, 1, &[0; 6])
            .unwrap_err()
            .status,
        Status::Argument
    );
    assert_eq!(
        case.tiles
            .insert(&mut case.mem, 1, 4, 1, &[])
            .unwrap_err()
            .status,
        Status::Range
    );
    assert_eq!(
        case.tiles
            .insert(&mut case.mem, 1, 0, 1, &[0])
            .unwrap_err()
            .status,
        Status::Argument
    );
    assert_eq!(
        case.tiles
            .remove(&mut case.mem, 1, 2, 2)
            .unwrap_err()
            .status,
        Status::Range
    );
    case.tiles.append(&mut case.mem, 1, 1, &[]).unwrap();
    assert_eq!(case.tiles.shape(), [0, 4]);
    case.tiles.resize(&mut case.mem, &[0, 1 << 50]).unwrap();
}

/// Returns a case in which all chunks are random bytes, including padding.
fn noisy(shape: &[u64], chunk: &[u64], block: &[u64]) -> Case {
    let mut case = Case::of(Rng(9), shape, chunk, block, 4);
    for i in 0..case.mem.chunks.len() {
        case.mem.chunks[i] = Encoded::Stored(noise(&mut case.rng, case.mem.chunk_bytes));
    }
    case.model.data = indices(shape).iter().flat_map(|i| case.stored(i)).collect();
    case
}

#[test]
fn changes_decode_and_encode_only_the_affected_blocks() {
    // Of the blocks at the edge only those that become visible, each once.
    let mut case = noisy(&[10, 10], &[8, 8], &[2, 2]);
    case.tiles.resize(&mut case.mem, &[11, 11]).unwrap();
    let log = case.mem.log();
    let row = |chunk: u64, blocks: &[usize]| blocks.iter().map(|b| (chunk, *b)).collect::<Vec<_>>();
    let want = [
        row(1, &[1, 5, 9, 13]),
        row(2, &[4, 5, 6, 7]),
        row(3, &[1, 4, 5]),
    ]
    .concat();
    assert!(
        log.decoded.keys().copied().eq(want.iter().copied())
            && log.decoded.values().all(|n| *n == 1),
        "{log:?}"
    );
    assert!(log.encoded.keys().copied().eq(want), "{log:?}");
    // The second time their padding is zero already.
    case.tiles.resize(&mut case.mem, &[12, 12]).unwrap();
    let log = case.mem.log();
    assert!(log.encoded.is_empty() && log.decoded.len() == 11, "{log:?}");
    // Only the removed items become padding.
    case.tiles.resize(&mut case.mem, &[11, 12]).unwrap();
    let log = case.mem.log();
    assert!(
        log.decoded.is_empty() && log.encoded.len() == 4 + 2,
        "{log:?}"
    );
    // Only the chunk that loses its second half and receives that of the next one is encoded; the
    // others move whole.
    let mut case = noisy(&[40], &[4], &[2]);
    case.tiles.remove(&mut case.mem, 0, 6, 8).unwrap();
    let log = case.mem.log();
    assert!(
        log.encoded.len() == 2 && log.encoded.values().all(|t| *t == BlockChange::Full),
        "{log:?}"
    );
    assert!(
        log.decoded.len() + log.parts == 2 && case.mem.len() == 8,
        "{log:?}"
    );
    // Padding is not read if all of it is overwritten.
    let mut case = noisy(&[10], &[8], &[4]);
    case.tiles.append(&mut case.mem, 0, 3, &[7; 12]).unwrap();
    let log = case.mem.log();
    assert_eq!(
        log.encoded,
        BTreeMap::from([((1, 0), BlockChange::Partial), ((1, 1), BlockChange::Full)])
    );
    assert!(log.decoded.is_empty());
}
