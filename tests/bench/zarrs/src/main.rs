//! The loops of bench_b2nd.py that time zarrs. The commands are those of bench_b2nd.c that read;
//! PATH is a Zarr array, and IO is ignored.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::Instant;
use zarrs::array::{Array, ArrayBytes, ArraySubset, CodecOptions};
use zarrs::filesystem::FilesystemStore;

type Opened = Array<FilesystemStore>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn open(path: &str) -> Result<Opened> {
    Ok(Array::open(Arc::new(FilesystemStore::new(path)?), "/")?)
}

fn read(array: &Opened, subset: &ArraySubset, options: &CodecOptions) -> Result<()> {
    black_box(array.retrieve_array_subset_opt::<ArrayBytes>(subset, options)?);
    Ok(())
}

/// The sequence of random positions of boxes.h.
struct Elsewhere(u64);

impl Elsewhere {
    fn next(&mut self, positions: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005);
        self.0 = self.0.wrapping_add(1442695040888963407);
        (self.0 >> 33) % positions
    }
}

/// As `box_starts` of boxes.h.
fn boxes(shape: &[u64], count: &[u64], number: usize, along: bool) -> Result<Vec<ArraySubset>> {
    let mut elsewhere = Elsewhere(1);
    let mut start = |i: usize, d: usize| {
        let positions = shape[d] - count[d] + 1;
        match along {
            false => elsewhere.next(positions),
            true if d + 1 == shape.len() => i as u64 % positions,
            true => positions / 2,
        }
    };
    let mut subset = |i| {
        let first = (0..shape.len()).map(|d| start(i, d)).collect();
        Ok(ArraySubset::new_with_start_shape(first, count.to_vec())?)
    };
    (0..number).map(&mut subset).collect()
}

fn read_all(path: &str, options: &CodecOptions) -> Result<f64> {
    let begin = Instant::now();
    let array = open(path)?;
    read(&array, &array.subset_all(), options)?;
    Ok(begin.elapsed().as_secs_f64())
}

/// As many other boxes are read first, as in bench_b2nd.c.
fn read_boxes(
    path: &str,
    options: &CodecOptions,
    count: impl Fn(usize, u64) -> u64,
    times: usize,
    along: bool,
) -> Result<f64> {
    let array = open(path)?;
    let lengths = array.shape().iter().enumerate();
    let count: Vec<u64> = lengths.map(|(d, length)| count(d, *length)).collect();
    let boxes = boxes(array.shape(), &count, 2 * times, along)?;
    let (timed, before) = boxes.split_at(times);
    for subset in before {
        read(&array, subset, options)?;
    }
    let begin = Instant::now();
    for subset in timed {
        read(&array, subset, options)?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

fn answer(fields: &[&str]) -> Result<f64> {
    let [command, path, _, threads, rest @ ..] = fields else {
        return Err(format!("unknown command: {fields:?}").into());
    };
    let options = CodecOptions::default().with_concurrent_target(threads.parse()?);
    let numbers: Vec<usize> = rest
        .iter()
        .map(|n| n.parse())
        .collect::<std::result::Result<_, _>>()?;
    match (*command, numbers.as_slice()) {
        ("read", []) => read_all(path, &options),
        ("planes", &[axis, times]) => {
            let count = |d, length| if d == axis { 1 } else { length };
            read_boxes(path, &options, count, times, false)
        }
        ("cubes", &[edge, times]) => read_boxes(path, &options, |_, _| edge as u64, times, false),
        ("points", &[times]) => read_boxes(path, &options, |_, _| 1, times, false),
        ("near", &[times]) => read_boxes(path, &options, |_, _| 1, times, true),
        _ => Err(format!("unknown command: {fields:?}").into()),
    }
}

fn main() -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build_global()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        println!("{:.9}", answer(&fields)?);
    }
    Ok(())
}
