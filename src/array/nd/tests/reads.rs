//! Tests of reading.

use super::*;
use std::collections::BTreeSet;

/// Checks that each requested block was decoded exactly once, and no other block.
fn check_decoded(case: &Case, requested: impl Iterator<Item = Vec<u64>>, what: &str) {
    let log = case.mem.log();
    let blocks: BTreeSet<(u64, usize)> = requested
        .map(|i| case.locate(&i))
        .map(|(chunk, block, _)| (chunk, block))
        .collect();
    let stored =
        |(chunk, _): &&(u64, usize)| matches!(case.mem.chunks[*chunk as usize], Encoded::Stored(_));
    assert!(log.decoded.values().all(|n| *n == 1), "{what}: {log:?}");
    let left: Vec<_> = blocks
        .iter()
        .filter(stored)
        .filter(|b| !log.decoded.contains_key(b))
        .collect();
    assert!(left.len() <= log.parts, "{what}: {left:?}, {log:?}");
    assert!(log.decoded.keys().all(|b| blocks.contains(b)), "{what}");
    assert!(log.parts <= 1, "{what}: {} parts", log.parts);
}

fn read_a_box(case: &mut Case, what: &str) {
    let requested = case.random_box();
    let strides = case.random_strides(&requested[1], true);
    let what = format!(
        "{what}: {requested:?} {strides:?} of {:?}, {} threads",
        case.tiles, case.mem.threads
    );
    let used = strides
        .clone()
        .unwrap_or_else(|| packed(&requested[1], case.model.item));
    let (len, first) = extent(&requested[1], &used, case.model.item);
    let mut dst = vec![0xa5; len + case.rng.below(2) * 5];
    let mut want = dst.clone();
    for (index, at) in pairs(&requested, first, &used) {
        want[at..][..case.model.item].copy_from_slice(case.model.get(&index));
    }
    let [start, count, step] = &requested;
    let step = if step.iter().all(|s| *s == 1) {
        None
    } else {
        Some(&step[..])
    };
    assert!(
        !case
            .tiles
            .read(
                &case.mem,
                (start, count, step),
                &mut dst,
                strides.as_deref()
            )
            .unwrap(),
        "{what}"
    );
    assert!(dst == want, "{what}");
    check_decoded(case, pairs(&requested, first, &used).map(|(i, _)| i), &what);
    if len > 0 {
        let short = case.tiles.read(
            &case.mem,
            (start, count, step),
            &mut dst[..len - 1],
            strides.as_deref(),
        );
        assert_eq!(
            short.unwrap_err().status,
            crate::error::Status::Buffer,
            "{what}"
        );
    }
}

#[test]
fn box_reads_match_the_model() {
    for seed in 0..1200 {
        let mut case = Case::new(seed);
        for i in 0..8 {
            read_a_box(&mut case, &format!("seed {seed}, box {i}"));
        }
    }
}

#[test]
fn orthogonal_reads_match_the_model() {
    for seed in 0..1200 {
        let mut case = Case::new(seed);
        for i in 0..4 {
            let lists = random_positions(&mut case.rng, &case.model.shape);
            let what = format!(
                "seed {seed}, lists {i}: {lists:?} of {:?}, {} threads",
                case.tiles, case.mem.threads
            );
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
            let all: Vec<Vec<u64>> = indices(&count).iter().map(requested).collect();
            let want: Vec<u8> = all
                .iter()
                .flat_map(|i| case.model.get(i))
                .copied()
                .collect();
            let mut dst = vec![0xa5; want.len()];
            assert!(
                !case
                    .tiles
                    .read_orthogonal(&case.mem, &lists, &mut dst)
                    .unwrap(),
                "{what}"
            );
            assert!(dst == want, "{what}");
            check_decoded(&case, all.into_iter(), &what);
        }
    }
}

#[test]
fn point_reads_match_the_model() {
    for seed in 0..1200 {
        let mut case = Case::new(seed);
        if case.model.shape.contains(&0) {
            continue;
        }
        for i in 0..4 {
            let n = [1, 3, 40][case.rng.below(3)];
            let shape = case.model.shape.clone();
            let points: Vec<Vec<u64>> = (0..n)
                .map(|_| {
                    shape
                        .iter()
                        .map(|n| case.rng.below(*n as usize) as u64)
                        .collect()
                })
                .collect();
            let want: Vec<u8> = points
                .iter()
                .flat_map(|p| case.model.get(p))
                .copied()
                .collect();
            let mut dst = vec![0xa5; want.len()];
            let what = format!("seed {seed}, points {i}: {points:?} of {:?}", case.tiles);
            assert!(
                !case
                    .tiles
                    .read_points(&case.mem, &points.concat(), n, &mut dst)
                    .unwrap(),
                "{what}"
            );
            assert!(dst == want, "{what}");
            let log = case.mem.log();
            assert!(log.decoded.values().all(|n| *n == 1), "{what}: {log:?}");
            let blocks: BTreeSet<(u64, usize)> = points
                .iter()
                .map(|i| case.locate(i))
                .map(|(chunk, block, _)| (chunk, block))
                .collect();
            assert!(log.decoded.len() + log.parts <= blocks.len(), "{what}");
        }
    }
}

/// A huge number of chunks. The blocks of a chunk consist of repetitions of its number.
struct Endless {
    tiles: ChunkGrid,
}

impl Chunks for Endless {
    fn name(&self) -> &str {
        "endless"
    }
    fn len(&self) -> u64 {
        self.tiles.chunks()
    }
    fn block_bytes(&self) -> usize {
        self.tiles.block_bytes()
    }
    fn threads(&self) -> usize {
        2
    }
    fn fill(&self, _: u64) -> Result<Option<Fill>> {
        Ok(None)
    }
    fn read_blocks(&self, chunk: u64, requested: &[usize], sink: &mut dyn Sink) -> Result<bool> {
        let content = chunk.to_le_bytes().repeat(self.block_bytes() / 8);
        requested.iter().try_for_each(|b| {
            sink.destination(*b)
                .map(|p| p.copy_from_slice(&content))
                .map_or_else(|| sink.put(*b, &Decoded::Plain(&content)), Ok)
        })?;
        Ok(false)
    }
    fn read_part(&self, chunk: u64, _: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        let content = chunk.to_le_bytes().repeat(self.block_bytes() / 8);
        dst.copy_from_slice(&content[from..][..dst.len()]);
        Ok(false)
    }
    fn encode(&self, _: u64, _: &dyn Source, _: usize) -> Result<Encoded> {
        unreachable!()
    }
    fn put(&mut self, _: u64, _: Encoded) -> Result<()> {
        unreachable!()
    }
    fn put_all(&mut self, _: usize, _: Vec<PendingChunk>) -> Result<()> {
        unreachable!()
    }
    fn rearrange(&mut self, _: u64, _: &dyn Fn(u64) -> Option<u64>) -> Result<()> {
        unreachable!()
    }
}

#[test]
fn chunk_numbers_beyond_32_bits_are_found() {
    let shape = [1 << 36, (1 << 24) - 3];
    let e = Endless {
        tiles: ChunkGrid::new(&shape, &[4, 8], &[2, 4], 8, 1 << 30).unwrap(),
    };
    let chunks = e.tiles.chunks();
    assert_eq!(chunks, (1 << 34) * (1 << 21));
    let last = [shape[0] - 1, shape[1] - 1];
    let mut items = [0; 2 * 3 * 8];
    e.tiles
        .read(&e, (&last, &[1, 1], None), &mut items[..8], None)
        .unwrap();
    assert_eq!(items[..8], (chunks - 1).to_le_bytes());
    e.tiles
        .read(
            &e,
            (&[last[0] - 1, last[1] - 6], &[2, 3], Some(&[1, 3])),
            &mut items,
            None,
        )
        .unwrap();
    let row = [chunks - 2, chunks - 1, chunks - 1]
        .map(u64::to_le_bytes)
        .concat();
    assert_eq!(items[..], row.repeat(2)[..]);
    let (first, step) = (7, last[1] / 2 - 4);
    e.tiles
        .read(
            &e,
            (&[0, first], &[2, 3], Some(&[last[0], step])),
            &mut items,
            None,
        )
        .unwrap();
    let column = |k: u64| (first + k * step) / 8;
    let want: Vec<u8> = [0, last[0]]
        .iter()
        .flat_map(|i| (0..3).flat_map(move |k| (i / 4 * (1 << 21) + column(k)).to_le_bytes()))
        .collect();
    assert_eq!(items[..], want[..]);
    e.tiles
        .read_points(&e, &[last, [0, 0], last].concat(), 3, &mut items[..24])
        .unwrap();
    assert_eq!(
        items[..24],
        [chunks - 1, 0, chunks - 1].map(u64::to_le_bytes).concat()
    );
    let (lists, mut three) = (
        [Some(&[last[0], 5, last[0]][..]), Some(&[last[1]][..])],
        [0; 24],
    );
    e.tiles.read_orthogonal(&e, &lists, &mut three).unwrap();
    assert_eq!(
        three[..],
        [chunks - 1, 2 * (1 << 21) - 1, chunks - 1]
            .map(u64::to_le_bytes)
            .concat()
    );
}
