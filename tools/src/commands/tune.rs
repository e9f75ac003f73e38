//! `holdall tune`: tries encodings on a sample of the data, and recommends some.

use super::{chart, table};
use crate::array::npy::Npy;
use crate::cli::Tune;
use crate::cli::groups::{self, FileInput};
use crate::cli::usage::Usage;
use crate::cli::values::{DataFormat, Goal};
use crate::content::{Content, Part, column, joined};
use crate::failure::{Exit, Failure, Result, library, system};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::output::Output;
use crate::{detect, failure, options, report, signals};
use clap::Parser;
use holdall::{
    Array, ArrayLayout, Bag, BagWriter, Format, ItemType, Options, Records, Selection, Status,
};
use plotters::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the sample.
const SAMPLE: u64 = 8 << 20;

/// Content that is written and read once for each encoding.
enum Sample {
    Items { bytes: Vec<u8>, dtype: String, shape: Vec<u64>, item: usize },
    Records(Records),
}

/// The options of an encoding, as `pack` and `convert` take them.
#[derive(Parser, Clone, Debug)]
#[command(no_binary_name = true, allow_negative_numbers = true)]
struct Candidate {
    #[command(flatten)]
    of_chunks: groups::Encoding,
    #[command(flatten)]
    layout: groups::Layout,
    #[arg(skip)]
    text: String,
}

struct Trial {
    encoding: Candidate,
    /// Stored bytes per byte of content.
    size: f64,
    write: Duration,
    read: Duration,
    is_best: bool,
}

pub fn run(args: &Tune, usage: &Usage) -> Result<Exit> {
    let path = &args.path;
    let sample = sample(args, usage)?;
    let bytes = sample.len();
    if bytes == 0 {
        return Err(failure!("{path}: it is empty, and nothing can be measured"));
    }
    let folder = tempfile::tempdir().map_err(system("temporary folder"))?;
    let mut trials = try_all(args, &sample, folder.path())?;
    mark_best(&mut trials);
    trials.sort_by(|a, b| a.size.total_cmp(&b.size).then(a.time().cmp(&b.time())));
    let Some(chosen) = choose(&trials, args.goal) else {
        return Err(failure!("{path}: no trial ended within --seconds {}", args.seconds));
    };
    if let Some(to) = &args.plot {
        let mut file = OutputFile::create(to, args.force)?;
        file.put(plot(path, &trials, bytes)?.as_bytes())?;
        file.complete()?;
    }
    let (goal, options) =
        (format!("{:?}", args.goal).to_lowercase(), chosen.encoding.text.as_str());
    let mut output = Output::standard();
    if args.json {
        let trials: Vec<Value> = trials.iter().map(|trial| trial.as_json(bytes)).collect();
        output.line(json!({
            "path": path, "sample_bytes": bytes, "goal": goal, "recommended": options, "trials": trials,
        }))?;
    } else {
        print(&mut output, &trials, bytes)?;
        output.line(format_args!("\nrecommended ({goal}): {options}"))?;
    }
    output.finish(Exit::Done)
}

// ---- the sample

fn sample(args: &Tune, usage: &Usage) -> Result<Sample> {
    let (path, at) = (&args.path, args.source.frame.at);
    let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
    if is_file && detect::format(path, at).is_none() && !path.ends_with(".bagz") {
        return of_file(args);
    }
    let content = Content::open(path, usage, &args.source)?;
    usage.refuse(&["dtype", "typesize"], "files that are no containers")?;
    let parts = content.parts(path);
    match (&content, &args.column) {
        (Content::Bag(bag), _) => {
            let (from, mut n, mut bytes) = (bag.len() / 2, 0, 0);
            let from = if bag.len() < 10_000 { 0 } else { from };
            while from + n < bag.len() && bytes < SAMPLE {
                bytes += bag.record_len(from + n).map_err(library(path))? as u64;
                n += 1;
            }
            bag.read_range(from..from + n).map(Sample::Records).map_err(library(path))
        }
        (Content::Schunk(schunk), _) => {
            let (n, item) = (schunk.len().min(SAMPLE), schunk.type_size());
            let at = (schunk.len() - n) / 2 / item.max(1) as u64 * item as u64;
            let mut bytes = vec![0; n as usize];
            schunk.read(at, &mut bytes).map_err(library(path))?;
            Ok(Sample::of_items(bytes, item))
        }
        (_, Some(name)) => of_part(column(&parts, path, name)?),
        _ => {
            let largest = parts.iter().max_by_key(|part| part.array.stored_bytes().unwrap_or(0));
            of_part(largest.ok_or_else(|| failure!("{path}: it has no columns"))?)
        }
    }
}

fn of_part(part: &Part) -> Result<Sample> {
    let (mut bytes, item) = (Vec::new(), part.array.item_size());
    let Some(of) = part.boxes(SAMPLE).middle() else {
        return Ok(Sample::of_items(bytes, 1));
    };
    part.read(&of[..], &mut bytes)?;
    let shape: Vec<u64> = of.iter().map(|range| range.end - range.start).collect();
    Ok(match shape.len() {
        0 | 1 => Sample::of_items(bytes, item),
        _ => Sample::Items { bytes, dtype: part.array.dtype(), shape, item },
    })
}

/// A .npy file, or a file without a header.
fn of_file(args: &Tune) -> Result<Sample> {
    let mut input = Input::open(&args.path, None)?;
    let npy = (args.path.ends_with(".npy") && args.dtype.is_none())
        .then(|| Npy::begin(&mut input, DataFormat::Npy, &FileInput::default()));
    let mut bytes = vec![0; input.total.unwrap_or(SAMPLE).min(SAMPLE) as usize];
    let n = input.fill(&mut bytes)?;
    bytes.truncate(n);
    if let Some(npy) = npy.transpose()? {
        let item = ItemType::parse(npy.dtype()).map_or(1, |item| item.size.max(1));
        let row = npy.shape.iter().skip(1).fold(item as u64, |n, d| n.saturating_mul(*d));
        let rows = (n as u64).checked_div(row).unwrap_or(0);
        if npy.shape.len() < 2 || rows == 0 || npy.fortran_order {
            return Ok(Sample::of_items(bytes, item));
        }
        bytes.truncate((rows * row) as usize);
        let shape = [&[rows], npy.shape.get(1..).unwrap_or_default()].concat();
        return Ok(Sample::Items { bytes, dtype: npy.dtype().to_owned(), shape, item });
    }
    let item = match &args.dtype {
        None => args.typesize.map_or(8, usize::from),
        Some(dtype) => {
            let item = ItemType::parse(dtype).ok().filter(|item| (1..256).contains(&item.size));
            let wrong = || crate::usage!("--dtype takes a type as NumPy spells it, not '{dtype}'");
            item.ok_or_else(wrong)?.size
        }
    };
    Ok(Sample::of_items(bytes, item))
}

/// Codecs and levels of chunks and of records, the most informative ones first.
const CHUNKS: &str =
    "lz4 5,zstd 1,zstd 3,blosclz 5,zstd 5,lz4hc 5,zlib 5,lz4 1,zstd 7,lz4hc 9,zlib 1,zstd 9";
const RECORDS: &str = "none,zstd 3,zstd 1,zstd 6,zstd 9,zstd -5,zstd 12,zstd 15,zstd 19";
/// Options after these: filters of items, of single bytes, and none for records.
const FILTERS: [&str; 4] = [
    " --filters shuffle",
    " --filters bitshuffle",
    " --filters none",
    " --filters shuffle,bytedelta",
];
const BYTE_FILTERS: [&str; 2] = [" --filters none", " --filters bitshuffle"];

impl Sample {
    /// Items in one dimension, whose size is all that matters.
    fn of_items(mut bytes: Vec<u8>, item: usize) -> Sample {
        let item = if item < 256 { item.max(1) } else { 1 };
        bytes.truncate(bytes.len() / item * item);
        let dtype = if item == 1 { "|u1".to_owned() } else { format!("|V{item}") };
        Sample::Items { shape: vec![(bytes.len() / item) as u64], bytes, dtype, item }
    }

    fn len(&self) -> usize {
        match self {
            Sample::Items { bytes, .. } => bytes.len(),
            Sample::Records(records) => records.bytes().len(),
        }
    }

    /// The options to try, the most informative ones first.
    fn encodings(&self) -> Vec<String> {
        let (codecs, filters) = match self {
            Sample::Records(_) => (RECORDS, &[""][..]),
            Sample::Items { item: 1, .. } => (CHUNKS, &BYTE_FILTERS[..]),
            Sample::Items { .. } => (CHUNKS, &FILTERS[..]),
        };
        let codec = |codec: &str| format!("--codec {}", codec.replace(' ', " --level "));
        let mut all = Vec::new();
        for filters in filters {
            all.extend(codecs.split(',').map(|text| codec(text) + filters));
        }
        all
    }

    /// The same options with other chunks.
    fn variants(&self, options: &str) -> Vec<String> {
        match self {
            Sample::Records(_) => Vec::new(),
            Sample::Items { shape, .. } if shape.len() < 2 => {
                ["256K", "1M", "4M"].map(|size| format!("{options} --chunk-size {size}")).to_vec()
            }
            Sample::Items { shape, item, .. } => {
                let of = |make: fn(&[u64], u64) -> Vec<u64>| {
                    let chunk = make(shape, (1 << 20) / *item as u64);
                    let block = make(&chunk, (64 << 10) / *item as u64);
                    let (chunk, block) = (joined(&chunk, ","), joined(&block, ","));
                    format!("{options} --chunks {chunk} --blocks {block}")
                };
                vec![of(cube), of(slab)]
            }
        }
    }

    /// Writes and reads the sample. Returns the stored bytes and the times.
    fn measure(
        &self,
        to: &Path,
        options: &Options,
        of: &Candidate,
    ) -> holdall::Result<(u64, [Duration; 2])> {
        let start = Instant::now();
        let (written, stored) = match self {
            Sample::Items { bytes, dtype, shape, .. } => {
                let mut layout = ArrayLayout::new(Format::B2nd);
                if let (Some(chunks), Some(blocks)) = (&of.layout.chunks, &of.layout.blocks) {
                    layout = layout.chunks(&chunks.0).blocks(&blocks.0);
                }
                let mut array = Array::replace(to, dtype, shape, &layout, options)?;
                array.write_bytes(Selection::all(shape), bytes)?;
                array.commit()?;
                let (written, stored) = (start.elapsed(), array.stored_bytes()?);
                let all = Selection::all(shape);
                Array::open(to)?.read_bytes(all, &mut vec![0; bytes.len()])?;
                (written, stored)
            }
            Sample::Records(records) => {
                let mut bag = BagWriter::replace(to, options)?;
                bag.append_concatenated(records.bytes(), records.offsets())?;
                bag.commit()?;
                let written = start.elapsed();
                let bag = Bag::open_with(to, &coded(Options::new(), of))?;
                bag.read_range(..)?;
                (written, bag.stored_bytes())
            }
        };
        Ok((stored, [written, start.elapsed() - written]))
    }
}

/// A box of about equal sides with at most `items` items.
fn cube(shape: &[u64], items: u64) -> Vec<u64> {
    let mut sides = vec![1u64; shape.len()];
    while let Some(d) = (0..shape.len()).filter(|d| sides[*d] < shape[*d]).min_by_key(|d| sides[*d])
        && sides.iter().product::<u64>() * 2 <= items.max(1)
    {
        sides[d] = (sides[d] * 2).min(shape[d]);
    }
    sides
}

/// A box of whole rows with at most `items` items.
fn slab(shape: &[u64], items: u64) -> Vec<u64> {
    let (mut left, mut sides) = (items.max(1), shape.to_vec());
    for side in sides.iter_mut().rev() {
        *side = (*side).min(left).max(1);
        left /= *side;
    }
    sides
}

// ---- trials

fn try_all(args: &Tune, sample: &Sample, folder: &Path) -> Result<Vec<Trial>> {
    let start = Instant::now();
    let attempt = |encoding: &str, part: f64| {
        let deadline = start + Duration::from_secs_f64(args.seconds * part);
        attempt(args, sample, &folder.join("sample"), encoding, deadline)
    };
    let mut trials = Vec::new();
    let encodings = sample.encodings();
    if let Some(first) = encodings.first() {
        // the first one starts threads and fills caches
        attempt(first, 0.7)?;
    }
    for encoding in &encodings {
        let Some(trial) = attempt(encoding, 0.75)? else {
            break;
        };
        trials.push(trial);
    }
    let goals = [Goal::Balance, Goal::Size, Goal::Speed].into_iter();
    let best: Vec<String> =
        goals.filter_map(|goal| Some(choose(&trials, goal)?.encoding.text.clone())).collect();
    for encoding in best.iter().flat_map(|options| sample.variants(options)) {
        if !trials.iter().any(|trial: &Trial| trial.encoding.text == encoding) {
            trials.extend(attempt(&encoding, 1.0)?);
        }
    }
    Ok(trials)
}

/// Measures one encoding; None: not until the deadline.
fn attempt(
    args: &Tune,
    sample: &Sample,
    to: &Path,
    encoding: &str,
    deadline: Instant,
) -> Result<Option<Trial>> {
    let in_time = move || Instant::now() < deadline && !signals::stopped();
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    if !in_time() {
        return Ok(None);
    }
    let encoding = Candidate::parse(encoding)?;
    let options = options::reading(&args.source.reading);
    let options = options.durable(false).lock(false).progress(move |_, _| in_time());
    let options = match sample {
        Sample::Records(_) => {
            let options = coded(options, &encoding);
            options::given(options, encoding.of_chunks.codecs.level, Options::level)
        }
        Sample::Items { .. } => options::encoding(options, &encoding.of_chunks)?,
    };
    let mut measured = sample.measure(to, &options, &encoding);
    // short times are those of the faster of two runs
    if let Ok((stored, [write, read])) = measured
        && write + read < Duration::from_millis(100)
        && let Ok((_, again)) = sample.measure(to, &options, &encoding)
    {
        measured = Ok((stored, [write.min(again[0]), read.min(again[1])]));
    }
    // a sample that is left over is replaced, or removed with the folder
    let _ = std::fs::remove_file(to);
    match measured {
        Err(error) if error.status() == Status::Cancelled && !signals::stopped() => Ok(None),
        Err(error) => Err(library(&args.path)(error)),
        Ok((stored, [write, read])) => {
            let size = stored as f64 / sample.len() as f64;
            Ok(Some(Trial { encoding, size, write, read, is_best: false }))
        }
    }
}

/// Marks the trials that no other one beats in size and in time.
fn mark_best(trials: &mut [Trial]) {
    let results: Vec<_> = trials.iter().map(|trial| (trial.size, trial.time())).collect();
    for trial in trials {
        let own = (trial.size, trial.time());
        let beats = |other: &(f64, Duration)| other.0 <= own.0 && other.1 <= own.1 && *other != own;
        trial.is_best = !results.iter().any(beats);
    }
}

/// The best trial for a goal. In the balance, half the size is worth 8 times the time.
fn choose(trials: &[Trial], goal: Goal) -> Option<&Trial> {
    let score = |trial: &Trial| match goal {
        Goal::Size => (trial.size, trial.time().as_secs_f64()),
        Goal::Balance => (trial.size * trial.time().as_secs_f64().cbrt(), 0.0),
        Goal::Speed => (trial.time().as_secs_f64(), trial.size),
    };
    trials
        .iter()
        .min_by(|a, b| score(a).partial_cmp(&score(b)).unwrap_or(std::cmp::Ordering::Equal))
}

impl Candidate {
    fn parse(text: &str) -> Result<Candidate> {
        let parsed = Candidate::try_parse_from(text.split(' '));
        let encoding = parsed.map_err(|error| failure!("tune: {text}: {error}"))?;
        Ok(Candidate { text: text.to_owned(), ..encoding })
    }

    fn codec(&self) -> &str {
        self.text.split(' ').nth(1).unwrap_or_default()
    }
}

/// Adds the codec of a bag.
fn coded(options: Options, encoding: &Candidate) -> Options {
    options::given(options, encoding.of_chunks.codecs.codec.flatten(), Options::codec)
}

impl Trial {
    fn time(&self) -> Duration {
        self.write + self.read
    }

    /// MB/s of content, written and read.
    fn speeds(&self, bytes: usize) -> [f64; 2] {
        [self.write, self.read].map(|time| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9))
    }

    fn as_json(&self, bytes: usize) -> Value {
        let [write, read] = self.speeds(bytes);
        json!({
            "options": self.encoding.text, "codec": self.encoding.codec(),
            "level": self.encoding.of_chunks.codecs.level.unwrap_or(0), "size": self.size,
            "write_mb_per_second": write, "read_mb_per_second": read, "pareto": self.is_best,
        })
    }
}

fn print(output: &mut Output, trials: &[Trial], bytes: usize) -> Result {
    let size = indicatif::HumanBytes(bytes as u64);
    output.line(format_args!("sample of {size}; *: no other is smaller and faster"))?;
    let titles = ["", "options", "size", "write MB/s", "read MB/s"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for trial in trials {
        let [write, read] = trial.speeds(bytes);
        rows.push(vec![
            if trial.is_best { "*" } else { " " }.to_owned(),
            trial.encoding.text.clone(),
            format!("{:.1} %", 100.0 * trial.size),
            format!("{write:.0}"),
            format!("{read:.0}"),
        ]);
    }
    table::print(output, &rows, 2)
}

/// Draws the sizes against the speeds of writing and of reading.
fn plot(path: &FileName, trials: &[Trial], bytes: usize) -> Result<String> {
    let path = path.text();
    let file = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&path);
    let title = format!(
        "{}: size against speed (filled: no other is smaller and faster)",
        report::printable(&report::shortened(file, 60))
    );
    let mut codecs: Vec<&str> = trials.iter().map(|trial| trial.encoding.codec()).collect();
    codecs.sort();
    codecs.dedup();
    let largest = trials.iter().map(|trial| 100.0 * trial.size).fold(1.0, f64::max);
    chart::draw(&title, 2, |areas| {
        for (panel, (area, verb)) in areas.iter().zip(["write", "read"]).enumerate() {
            let speed = |trial: &Trial| trial.speeds(bytes)[panel];
            let least = trials.iter().map(speed).fold(f64::INFINITY, f64::min);
            let most = trials.iter().map(speed).fold(0.0, f64::max);
            let x = (least / 1.3..most * 1.3).log_scale();
            let names = (&*format!("{verb}, MB/s"), "stored size, % of the content");
            let mut axes = chart::axes(area, x, 0.0..largest * 1.08, names)?;
            for (i, codec) in codecs.iter().enumerate() {
                let style = move |is_filled| ShapeStyle {
                    color: Palette99::pick(i).to_rgba(),
                    filled: is_filled,
                    stroke_width: 1,
                };
                let own = trials.iter().filter(|trial| trial.encoding.codec() == *codec);
                let points = own.map(|trial| {
                    Circle::new((speed(trial), 100.0 * trial.size), 4, style(trial.is_best))
                });
                axes.draw_series(points)?
                    .label(*codec)
                    .legend(move |(x, y)| Circle::new((x + 10, y), 4, style(true)));
            }
            axes.configure_series_labels().border_style(BLACK).draw()?;
        }
        Ok(())
    })
}
