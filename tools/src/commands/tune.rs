//! `holdall tune`: tries encodings on a sample of the data, and recommends some.

use super::chart::{Axis, COLORS, Chart};
use super::content::{Content, Part, joined};
use super::table;
use crate::array::npy::Npy;
use crate::cli::Tune;
use crate::cli::groups::FileInput;
use crate::cli::usage::Usage;
use crate::cli::values::{DataFormat, Goal};
use crate::failure::{Exit, Failure, Result, library, system};
use crate::files::{Input, OutputFile};
use crate::output::Output;
use crate::{detect, failure, options, report, signals};
use holdall::{
    Array, ArrayLayout, Bag, BagWriter, Codec, Filter, Format, ItemType, Options, Records, Schunk,
    Status,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the sample.
const SAMPLE: u64 = 8 << 20;

/// Content that is written and read once for each encoding.
enum Sample {
    Bytes { bytes: Vec<u8>, typesize: usize },
    Items { bytes: Vec<u8>, dtype: String, shape: Vec<u64> },
    Records(Records),
}

#[derive(Clone)]
struct Encoding {
    codec: Codec,
    level: i32,
    filters: Vec<Filter>,
    chunk_size: Option<u64>,
    is_of_bag: bool,
    /// Shapes of chunks and of blocks.
    shapes: Option<[Vec<u64>; 2]>,
}

struct Trial {
    encoding: Encoding,
    /// Stored bytes per byte of content.
    size: f64,
    write: Duration,
    read: Duration,
    is_best: bool,
}

pub fn run(args: &Tune, usage: &Usage) -> Result<Exit> {
    let path = args.path.as_str();
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
        file.put(plot(path, &trials, bytes).as_bytes())?;
        file.complete()?;
    }
    let mut output = Output::standard();
    if args.json {
        let trials: Vec<Value> = trials.iter().map(|trial| trial.as_json(bytes)).collect();
        output.line(json!({
            "path": path, "sample_bytes": bytes, "goal": name(args.goal),
            "recommended": chosen.encoding.options(), "trials": trials,
        }))?;
    } else {
        print(&mut output, &trials, bytes)?;
        output.line(format_args!(
            "\nrecommended ({}): {}",
            name(args.goal),
            chosen.encoding.options()
        ))?;
    }
    output.finish(Exit::Done)
}

fn name(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

// ---- the sample

fn sample(args: &Tune, usage: &Usage) -> Result<Sample> {
    let path = args.path.as_str();
    let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
    if is_file && detect::format(path, args.source.frame.at).is_none() && !path.ends_with(".bagz") {
        return of_file(args);
    }
    let content = Content::open(path, usage, &args.source)?;
    usage.refuse(&["dtype", "typesize"], "files that are no containers")?;
    match &content {
        Content::Bag(bag) => of_bag(bag, path),
        Content::Schunk(schunk) => {
            let n = schunk.len().min(SAMPLE);
            let typesize = schunk.type_size();
            let at = (schunk.len() - n) / 2 / typesize.max(1) as u64 * typesize as u64;
            let mut bytes = vec![0; n as usize];
            schunk.read(at, &mut bytes).map_err(library(path))?;
            Ok(Sample::Bytes { bytes, typesize })
        }
        _ => {
            let parts = content.parts(path);
            let part = match &args.column {
                Some(name) => parts.iter().find(|part| part.name == name),
                None => parts.iter().max_by_key(|part| part.array.stored_bytes().unwrap_or(0)),
            };
            of_part(part.ok_or_else(|| failure!("{path}: it has no such column"))?)
        }
    }
}

fn of_part(part: &Part) -> Result<Sample> {
    let mut bytes = Vec::new();
    let Some(of) = part.boxes(SAMPLE).middle() else {
        return Ok(Sample::Bytes { bytes, typesize: 1 });
    };
    part.read(&of[..], &mut bytes)?;
    let shape: Vec<u64> = of.iter().map(|range| range.end - range.start).collect();
    Ok(of_items(bytes, part.array.dtype(), shape, part.array.item_size()))
}

fn of_items(bytes: Vec<u8>, dtype: String, shape: Vec<u64>, size: usize) -> Sample {
    if shape.len() > 1 {
        Sample::Items { bytes, dtype, shape }
    } else {
        Sample::Bytes { bytes, typesize: if size < 256 { size.max(1) } else { 1 } }
    }
}

fn of_bag(bag: &Bag, path: &str) -> Result<Sample> {
    let (from, mut n, mut bytes) = (bag.len() / 2, 0, 0);
    let from = if bag.len() < 10_000 { 0 } else { from };
    while from + n < bag.len() && bytes < SAMPLE {
        bytes += bag.record_len(from + n).map_err(library(path))? as u64;
        n += 1;
    }
    bag.read_range(from..from + n).map(Sample::Records).map_err(library(path))
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
        if npy.shape.len() > 1 && rows > 0 && !npy.fortran_order {
            bytes.truncate((rows * row) as usize);
            let shape = [&[rows], npy.shape.get(1..).unwrap_or_default()].concat();
            return Ok(Sample::Items { bytes, dtype: npy.dtype().to_owned(), shape });
        }
        return Ok(of_items(bytes, String::new(), Vec::new(), item));
    }
    let typesize = match &args.dtype {
        None => args.typesize.map_or(8, usize::from),
        Some(dtype) => {
            let item = ItemType::parse(dtype).ok().filter(|item| (1..256).contains(&item.size));
            item.ok_or_else(|| {
                crate::usage!("--dtype takes a type as NumPy spells it, not '{dtype}'")
            })?
            .size
        }
    };
    bytes.truncate(n / typesize * typesize);
    Ok(Sample::Bytes { bytes, typesize })
}

impl Sample {
    fn len(&self) -> usize {
        match self {
            Sample::Bytes { bytes, .. } | Sample::Items { bytes, .. } => bytes.len(),
            Sample::Records(records) => records.bytes().len(),
        }
    }

    /// The encodings to try, the most informative ones first.
    fn encodings(&self) -> Vec<Encoding> {
        let of = |codec, level, filters: &[Filter]| Encoding {
            codec,
            level,
            filters: filters.to_vec(),
            chunk_size: None,
            is_of_bag: matches!(self, Sample::Records(_)),
            shapes: None,
        };
        use Codec::{BloscLz, Lz4, Lz4Hc, None as Plain, Zlib, Zstd};
        if let Sample::Records(_) = self {
            let levels = [3, 1, 6, 9, -5, 12, 15, 19].map(|level| of(Zstd, level, &[]));
            return [vec![of(Plain, 0, &[])], levels.to_vec()].concat();
        }
        let is_single = matches!(self, Sample::Bytes { typesize: 1, .. });
        let mut filters: Vec<&[Filter]> = vec![&[Filter::Shuffle], &[Filter::Bitshuffle], &[]];
        if is_single {
            filters = vec![&[], &[Filter::Bitshuffle]];
        } else {
            filters.push(&[Filter::Shuffle, Filter::Bytedelta]);
        }
        let codecs = [
            (Lz4, 5),
            (Zstd, 1),
            (Zstd, 3),
            (BloscLz, 5),
            (Zstd, 5),
            (Lz4Hc, 5),
            (Zlib, 5),
            (Lz4, 1),
            (Zstd, 7),
            (Lz4Hc, 9),
            (Zlib, 1),
            (Zstd, 9),
        ];
        let all = |of_filter: &&[Filter]| codecs.map(|(codec, level)| of(codec, level, of_filter));
        filters.iter().flat_map(all).collect()
    }

    /// Variants of an encoding with other chunks.
    fn variants(&self, encoding: &Encoding) -> Vec<Encoding> {
        let sizes = [256 << 10, 1 << 20, 4 << 20].map(Some);
        match self {
            Sample::Records(_) => Vec::new(),
            Sample::Bytes { .. } => {
                let of = |chunk_size| Encoding { chunk_size, ..encoding.clone() };
                sizes.map(of).to_vec()
            }
            Sample::Items { bytes, shape, .. } => {
                let items = shape.iter().product::<u64>().max(1);
                let item = (bytes.len() as u64 / items).max(1);
                let of = |make: fn(&[u64], u64) -> Vec<u64>| {
                    let chunk = make(shape, (1 << 20) / item);
                    let block = make(&chunk, (64 << 10) / item);
                    Encoding { shapes: Some([chunk, block]), ..encoding.clone() }
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
        of: &Encoding,
    ) -> holdall::Result<(u64, [Duration; 2])> {
        let start = Instant::now();
        let elapsed = |written: Duration| [written, start.elapsed() - written];
        match self {
            Sample::Bytes { bytes, typesize } => {
                let mut to_write = Schunk::replace(to, Format::B2Frame, *typesize, options)?;
                to_write.append(bytes)?;
                to_write.commit()?;
                let (written, stored) = (start.elapsed(), to_write.stored_bytes()?);
                Schunk::open(to)?.read(0, &mut vec![0; bytes.len()])?;
                Ok((stored, elapsed(written)))
            }
            Sample::Items { bytes, dtype, shape } => {
                let mut layout = ArrayLayout::new(Format::B2nd);
                if let Some([chunks, blocks]) = &of.shapes {
                    layout = layout.chunks(chunks).blocks(blocks);
                }
                let mut array = Array::replace(to, dtype, shape, &layout, options)?;
                let all = holdall::Selection::all(shape);
                array.write_bytes(all.clone(), bytes)?;
                array.commit()?;
                let (written, stored) = (start.elapsed(), array.stored_bytes()?);
                Array::open(to)?.read_bytes(all, &mut vec![0; bytes.len()])?;
                Ok((stored, elapsed(written)))
            }
            Sample::Records(records) => {
                let mut bag = BagWriter::replace(to, options)?;
                bag.append_concatenated(records.bytes(), records.offsets())?;
                bag.commit()?;
                let written = start.elapsed();
                let bag = Bag::open_with(to, &Options::new().codec(of.codec))?;
                bag.read_range(..)?;
                Ok((bag.stored_bytes(), elapsed(written)))
            }
        }
    }
}

/// A box of about equal sides with at most `items` items.
fn cube(shape: &[u64], items: u64) -> Vec<u64> {
    let mut sides = vec![1u64; shape.len()];
    while let Some(d) = (0..shape.len()).filter(|d| sides[*d] < shape[*d]).min_by_key(|d| sides[*d])
    {
        if sides.iter().product::<u64>() * 2 > items.max(1) {
            break;
        }
        sides[d] = (sides[d] * 2).min(shape[d]);
    }
    sides
}

/// A box of whole rows with at most `items` items.
fn slab(shape: &[u64], items: u64) -> Vec<u64> {
    let mut left = items.max(1);
    let mut sides: Vec<u64> = shape
        .iter()
        .rev()
        .map(|n| {
            let side = (*n).min(left).max(1);
            left /= side;
            side
        })
        .collect();
    sides.reverse();
    sides
}

// ---- trials

fn try_all(args: &Tune, sample: &Sample, folder: &Path) -> Result<Vec<Trial>> {
    let start = Instant::now();
    let until = |part: f64| start + Duration::from_secs_f64(args.seconds * part);
    let mut trials = Vec::new();
    let encodings = sample.encodings();
    if let Some(first) = encodings.first() {
        // the first one starts threads and fills caches
        attempt(args, sample, folder, first.clone(), until(0.7))?;
    }
    for encoding in encodings {
        let Some(trial) = attempt(args, sample, folder, encoding, until(0.75))? else {
            break;
        };
        trials.push(trial);
    }
    let best = [Goal::Balance, Goal::Size, Goal::Speed].into_iter();
    let best: Vec<Encoding> =
        best.filter_map(|goal| Some(choose(&trials, goal)?.encoding.clone())).collect();
    for encoding in best.iter().flat_map(|encoding| sample.variants(encoding)) {
        let known = |trial: &Trial| trial.encoding.options() == encoding.options();
        if !trials.iter().any(known) {
            trials.extend(attempt(args, sample, folder, encoding, until(1.0))?);
        }
    }
    Ok(trials)
}

/// Measures one encoding; None: not until the deadline.
fn attempt(
    args: &Tune,
    sample: &Sample,
    folder: &Path,
    encoding: Encoding,
    deadline: Instant,
) -> Result<Option<Trial>> {
    let in_time = move || Instant::now() < deadline && !signals::stopped();
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    let options = options::reading(&args.source.reading);
    let mut options = options.durable(false).lock(false).progress(move |_, _| in_time());
    options = match sample {
        Sample::Records(_) => options.codec(encoding.codec),
        _ => {
            let options = options.codec(encoding.codec);
            options::given(
                options.filters(&encoding.filters),
                encoding.chunk_size,
                Options::chunk_bytes,
            )
        }
    };
    if encoding.codec != Codec::None {
        options = options.level(encoding.level);
    }
    let to = folder.join("sample");
    if !in_time() {
        return Ok(None);
    }
    let mut measured = sample.measure(&to, &options, &encoding);
    // short times are those of the faster of two runs
    if let Ok((stored, [write, read])) = measured
        && write + read < Duration::from_millis(100)
        && let Ok((_, again)) = sample.measure(&to, &options, &encoding)
    {
        measured = Ok((stored, [write.min(again[0]), read.min(again[1])]));
    }
    // a sample that is left over is replaced, or removed with the folder
    let _ = std::fs::remove_file(&to);
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

impl Encoding {
    /// The options of the command line.
    fn options(&self) -> String {
        let mut text = format!("--codec {}", name(self.codec));
        if self.codec != Codec::None {
            text += &format!(" --level {}", self.level);
        }
        let filters: Vec<String> = self.filters.iter().map(|filter| name(*filter)).collect();
        match filters.as_slice() {
            [] if matches!(self.codec, Codec::None) || self.is_of_bag => {}
            [] => text += " --filters none",
            filters => text += &format!(" --filters {}", filters.join(",")),
        }
        if let Some(size) = self.chunk_size {
            let of_unit = |shift, unit| format!(" --chunk-size {}{unit}", size >> shift);
            text += &if size < 1 << 20 { of_unit(10, "K") } else { of_unit(20, "M") };
        }
        if let Some([chunks, blocks]) = &self.shapes {
            text += &format!(" --chunks {} --blocks {}", joined(chunks, ","), joined(blocks, ","));
        }
        text
    }

    /// A short name in the chart.
    fn label(&self) -> String {
        let filters = self.filters.iter().map(|filter| format!(" {}", name(*filter)));
        let chunk = self.chunk_size.map(|size| format!(" {}K", size >> 10));
        let shape = self.shapes.as_ref().map(|[chunks, _]| format!(" {}", joined(chunks, "x")));
        let level =
            if self.codec == Codec::None { String::new() } else { format!(" {}", self.level) };
        name(self.codec)
            + &level
            + &filters.collect::<String>()
            + &chunk.or(shape).unwrap_or_default()
    }
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
            "options": self.encoding.options(), "codec": name(self.encoding.codec),
            "level": self.encoding.level, "size": self.size,
            "write_mb_per_second": write, "read_mb_per_second": read, "pareto": self.is_best,
        })
    }
}

fn print(output: &mut Output, trials: &[Trial], bytes: usize) -> Result {
    output.line(format_args!(
        "sample of {}; *: no other is smaller and faster",
        indicatif::HumanBytes(bytes as u64)
    ))?;
    let titles = ["", "options", "size", "write MB/s", "read MB/s"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for trial in trials {
        let [write, read] = trial.speeds(bytes);
        rows.push(vec![
            if trial.is_best { "*" } else { " " }.to_owned(),
            trial.encoding.options(),
            format!("{:.1} %", 100.0 * trial.size),
            format!("{write:.0}"),
            format!("{read:.0}"),
        ]);
    }
    table::print(output, &rows, 2)
}

/// Draws the sizes against the speeds of writing and of reading.
fn plot(path: &str, trials: &[Trial], bytes: usize) -> String {
    let file = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
    let title = format!("{}: size against speed", report::shortened(file, 60));
    let mut chart = Chart::new(980.0, 520.0, &title);
    let mut codecs: Vec<String> = trials.iter().map(|trial| name(trial.encoding.codec)).collect();
    codecs.sort();
    codecs.dedup();
    let color = |codec: &str| {
        let i = codecs.iter().position(|known| known == codec).unwrap_or(0);
        COLORS[i % COLORS.len()]
    };
    for (i, codec) in codecs.iter().enumerate() {
        let x = 66.0 + 92.0 * i as f64;
        chart.point(x, 50.0, color(codec), true, codec);
        chart.text("legend", x + 10.0, 54.0, "start", codec);
    }
    let note = "large dots: no other is smaller and faster";
    chart.text("legend", 960.0, 54.0, "end", note);
    let largest = trials.iter().map(|trial| 100.0 * trial.size).fold(1.0, f64::max);
    let y = Axis::new((0.0, largest * 1.08), false, 455.0, -355.0);
    for (panel, verb) in ["write", "read"].into_iter().enumerate() {
        let speeds: Vec<f64> = trials.iter().map(|trial| trial.speeds(bytes)[panel]).collect();
        let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = speeds.iter().copied().fold(0.0, f64::max);
        let start = 66.0 + 482.0 * panel as f64;
        let x = Axis::new((least / 1.3, most * 1.3), true, start, 410.0);
        chart.axes(&x, &y, (&format!("{verb}, MB/s"), "stored size, % of the content"));
        let at = |i: usize| (x.at(speeds[i]), y.at(100.0 * trials[i].size));
        let best: Vec<usize> = (0..trials.len()).filter(|i| trials[*i].is_best).collect();
        for (i, trial) in trials.iter().enumerate() {
            let about = format!(
                "{}: {:.1} %, {:.0} MB/s",
                trial.encoding.options(),
                100.0 * trial.size,
                speeds[i]
            );
            chart.point(
                at(i).0,
                at(i).1,
                color(&name(trial.encoding.codec)),
                trial.is_best,
                &about,
            );
        }
        for i in best {
            chart.label(at(i).0, at(i).1, &trials[i].encoding.label(), (start, start + 415.0));
        }
    }
    chart.finish()
}
