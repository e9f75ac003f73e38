//! How fast the filters are, against memcpy: `filters [typesize]...`
//!
//! A block in the cache; a block in the cache and the memory, as decoding and encoding have it;
//! memory alone, in blocks and whole.

use holdall::blosc::filter;
use std::time::Instant;

const BLOCK: usize = 256 << 10;
const MEMORY: usize = 64 << 20;

type Filter = (String, Box<dyn Fn(&[u8], &mut [u8])>);

fn filters(typesizes: &[usize]) -> (Vec<Filter>, Vec<Filter>) {
    let (mut forward, mut backward): (Vec<Filter>, Vec<Filter>) = (Vec::new(), Vec::new());
    let copy = |src: &[u8], dst: &mut [u8]| dst.copy_from_slice(src);
    forward.push(("memcpy".into(), Box::new(copy)));
    backward.push(("memcpy".into(), Box::new(copy)));
    for &t in typesizes {
        forward.push((
            format!("shuffle {t}"),
            Box::new(move |s, d| filter::shuffle(t, s, d)),
        ));
        backward.push((
            format!("unshuffle {t}"),
            Box::new(move |s, d| filter::unshuffle(t, s, d)),
        ));
        forward.push((
            format!("bitshuffle {t}"),
            Box::new(move |s, d| filter::bitshuffle(t, s, d)),
        ));
        backward.push((
            format!("bitunshuffle {t}"),
            Box::new(move |s, d| filter::bitunshuffle(t, s, d)),
        ));
        forward.push((
            format!("bytedelta {t}"),
            Box::new(move |s, d| filter::bytedelta_encode(t, s, d)),
        ));
        backward.push((
            format!("un-bytedelta {t}"),
            Box::new(move |s, d| filter::bytedelta_decode(t, s, d)),
        ));
        forward.push((
            format!("delta {t}"),
            Box::new(move |s, d| filter::delta_encode(s, true, t, s, d)),
        ));
        backward.push((
            format!("un-delta {t}"),
            Box::new(move |s, d| filter::delta_decode(Some(s), t, d)),
        ));
        backward.push((
            format!("un-delta first {t}"),
            Box::new(move |_, d| filter::delta_decode(None, t, d)),
        ));
        if t == 4 || t == 8 {
            forward.push((
                format!("truncate {t}"),
                Box::new(move |s, d| filter::truncate(10, t, s, d).unwrap_or(())),
            ));
        }
    }
    (forward, backward)
}

/// The best of some runs of `work` over `bytes`.
fn report(name: &str, bytes: usize, mut work: impl FnMut()) {
    let times = (MEMORY / bytes).max(1);
    let mut best = f64::MAX;
    for _ in 0..9 {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        best = best.min(start.elapsed().as_secs_f64() / times as f64);
    }
    println!("{name:20} {:7.1} GB/s", bytes as f64 / best / 1e9);
}

fn main() {
    let mut typesizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    if typesizes.is_empty() {
        typesizes = vec![4, 8, 16];
    }
    let (forward, backward) = filters(&typesizes);
    let noise = |len| {
        (0..len as u32)
            .map(|i| (i.wrapping_mul(2654435761) >> 13) as u8)
            .collect::<Vec<u8>>()
    };
    let (mut small, mut small2, mut big, mut big2) =
        (noise(BLOCK), vec![1; BLOCK], noise(MEMORY), vec![1; MEMORY]);
    println!("-- cache to cache, {BLOCK} bytes");
    for (name, filter) in forward.iter().chain(&backward) {
        report(name, BLOCK, || filter(&small, &mut small2));
    }
    println!("-- cache to memory, {MEMORY} bytes");
    for (name, filter) in &backward {
        report(name, MEMORY, || {
            big.chunks_mut(BLOCK).for_each(|to| filter(&small, to))
        });
    }
    println!("-- memory to cache");
    for (name, filter) in &forward {
        report(name, MEMORY, || {
            big.chunks(BLOCK).for_each(|from| filter(from, &mut small))
        });
    }
    println!("-- memory to memory, in blocks");
    for (name, filter) in forward.iter().chain(&backward) {
        report(name, MEMORY, || {
            big.chunks(BLOCK)
                .zip(big2.chunks_mut(BLOCK))
                .for_each(|(from, to)| filter(from, to))
        });
    }
    println!("-- memory to memory, one block");
    for (name, filter) in forward.iter().chain(&backward) {
        report(name, MEMORY, || filter(&big, &mut big2));
    }
}
