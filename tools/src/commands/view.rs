//! `holdall view`: a plane of an array as a picture, and histograms.

use super::chart::{Axis, Chart, short};
use super::content::{BOX, Content, Part};
use super::numbers::{self, Kind, Number};
use crate::cli::View;
use crate::cli::groups::Source;
use crate::cli::slice::{Pick, Slice, Span};
use crate::cli::usage::Usage;
use crate::failure::{Exit, Result};
use crate::files::{self, OutputFile};
use crate::output::Output;
use crate::{failure, report, usage as wrong};
use holdall::Selection;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::ops::Range;

pub fn run(args: &View, usage: &Usage) -> Result<Exit> {
    let path = args.path.as_str();
    if let Some(out) = &args.output.output {
        files::refuse_same(path, out)?;
    }
    let (reading, frame) = (args.reading.clone(), args.frame.clone());
    let content = Content::open(path, usage, &Source { reading, frame, ..Source::default() })?;
    let parts = content.parts(path);
    let is_numeric = |part: &&Part| number(part).is_numeric();
    let part = match &args.column {
        Some(name) => parts.iter().find(|part| part.name == name),
        None => parts.iter().find(is_numeric).or(parts.first()),
    };
    let missing = match &args.column {
        Some(name) => failure!("{path}: it has no column '{name}'"),
        None => {
            let [_, kind] = content.names();
            failure!("{path}: a {kind} has no picture (view shows arrays and tables)")
        }
    };
    let part = part.ok_or(missing)?;
    if !number(part).is_numeric() {
        let dtype = part.array.dtype();
        return Err(failure!("{path}: items of type {dtype} are no numbers, and have no picture"));
    }
    let (rows, columns, spans) = plane(part, args)?;
    match (rows, columns) {
        (Some(rows), Some(columns)) => show(args, part, spans, (rows, columns)),
        _ => histogram(args, part, &spans),
    }
}

fn number(part: &Part) -> Number {
    Number::of(part.array.item_type())
}

/// The selected indices of each dimension, and the dimensions that are the rows and the columns of
/// the plane.
fn plane(part: &Part, args: &View) -> Result<(Option<usize>, Option<usize>, Vec<Span>)> {
    let ndim = part.shape.len();
    let picks = args.slice.clone().unwrap_or_default().0;
    let named = picks.iter().filter(|pick| **pick != Pick::Rest).count();
    if named > ndim {
        return Err(wrong!("--slice has {named} parts, and the array has {ndim} dimensions"));
    }
    let mut of: Vec<Option<Pick>> = Vec::new();
    for pick in picks {
        match pick {
            Pick::Rest => of.resize(of.len() + ndim - named, None),
            pick => of.push(Some(pick)),
        }
    }
    of.resize(ndim, None);
    let mut free: Vec<usize> =
        (0..ndim).filter(|d| !matches!(of[*d], Some(Pick::Index(_)))).collect();
    let is_shown = |d: &usize| matches!(of[*d], Some(Pick::Range(_)));
    // dimensions with a range in --slice are shown first, then the last ones
    let (given, rest): (Vec<usize>, Vec<usize>) = free.iter().partition(|d| is_shown(d));
    free = rest.into_iter().chain(given).collect();
    let mut shown = free.split_off(free.len().saturating_sub(2));
    shown.sort_unstable();
    let spans = part.shape.iter().zip(&of).enumerate().map(|(d, (length, pick))| {
        let span = match pick {
            Some(Pick::Index(index)) => {
                let at = if *index < 0 { index.saturating_add_unsigned(*length) } else { *index };
                let at = u64::try_from(at).ok().filter(|at| at < length);
                let outside =
                    || wrong!("--slice: {index} is not inside dimension {d} of length {length}");
                Span { start: at.ok_or_else(outside)?, count: 1, step: 1 }
            }
            Some(Pick::Range(slice)) => slice.resolve(*length),
            _ => Slice::default().resolve(*length),
        };
        if free.contains(&d) && span.count > 1 {
            let middle = span.start.saturating_add_signed(span.step * (span.count / 2) as i64);
            return Ok(Span { start: middle, count: 1, step: 1 });
        }
        Ok(span)
    });
    let spans = spans.collect::<Result<Vec<_>>>()?;
    if spans.iter().any(|span| span.step < 0) {
        return Err(wrong!("--slice: view takes steps of at least 1"));
    }
    let columns = shown.pop();
    Ok((shown.pop(), columns, spans))
}

// ---- planes

/// Values of a picture; NaN: none.
struct Grid {
    width: usize,
    values: Vec<f64>,
}

/// Items along a side of the square whose mean is a pixel.
const SIDE: u64 = 8;

/// Reads a plane in a grid of at most `width` x `height` means.
fn grid(part: &Part, spans: &[Span], (r, c): (usize, usize), most: (u64, u64)) -> Result<Grid> {
    let number = number(part);
    let factor = spans[c].count.div_ceil(most.0).max(spans[r].count.div_ceil(most.1)).max(1);
    let step = (factor / SIDE).max(1);
    let block = factor.div_ceil(step);
    let (rows, columns) = (spans[r].count.div_ceil(step), spans[c].count.div_ceil(step));
    let width = columns.div_ceil(block) as usize;
    let (mut grid, mut buffer) = (Grid { width, values: Vec::new() }, Vec::new());
    let steps: Vec<u64> = (0..spans.len())
        .map(|d| {
            let own = spans[d].step.unsigned_abs();
            if d == r || d == c { own.saturating_mul(step) } else { 1 }
        })
        .collect();
    for first in (0..rows).step_by(block as usize) {
        let strip = block.min(rows - first);
        let ranges: Vec<Range<u64>> = (0..spans.len())
            .map(|d| {
                let count = if d == r {
                    strip
                } else if d == c {
                    columns
                } else {
                    1
                };
                let start = spans[d].start + if d == r { first * steps[d] } else { 0 };
                start..start + (count.max(1) - 1) * steps[d] + u64::from(count > 0)
            })
            .collect();
        part.read(Selection::from(&ranges[..]).step(&steps), &mut buffer)?;
        let mut totals = vec![(0.0, 0u32); width];
        for (i, item) in buffer.chunks_exact(number.size.max(1)).enumerate() {
            let value = number.float(item);
            let column = i as u64 % columns.max(1) / block;
            if let Some((sum, n)) = totals.get_mut(column as usize).filter(|_| !value.is_nan()) {
                (*sum, *n) = (*sum + value, *n + 1);
            }
        }
        grid.values.extend(totals.iter().map(|(sum, n)| sum / f64::from(*n)));
    }
    Ok(grid)
}

impl Grid {
    fn height(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// The grays from 0 to 1 between the percentiles 2 and 98; NaN stays.
    fn scaled(&self) -> (Vec<f64>, [f64; 2]) {
        let mut sorted: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(numbers::order);
        let at = |part: f64| {
            let i = (part * sorted.len().saturating_sub(1) as f64).round() as usize;
            sorted.get(i).copied().unwrap_or(0.0)
        };
        let (low, high) = (at(0.02), at(0.98));
        let gray = |value: f64| match value {
            value if value.is_nan() => value,
            value if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
            value => 0.5 + (value - low).clamp(-0.5, 0.5),
        };
        (self.values.iter().map(|value| gray(*value)).collect(), [low, high])
    }
}

/// The color of items that are no number.
const MISSING: [u8; 3] = [214, 60, 60];
/// The least side of a picture in pixels.
const LEAST: usize = 256;

fn show(args: &View, part: &Part, spans: Vec<Span>, plane: (usize, usize)) -> Result<Exit> {
    if spans.iter().any(|span| span.count == 0) {
        return Err(failure!("{}: the plane has no items", args.path));
    }
    if let Some(to) = &args.output.output {
        let most = u64::from(args.width.unwrap_or(1024));
        let grid = grid(part, &spans, plane, (most, most))?;
        return save(args, to, &grid);
    }
    let has_color = has_color();
    let (width, height) = screen(args);
    // two pixels share a character, above each other
    let grid = grid(part, &spans, plane, (width, height * 2))?;
    let (grays, [low, high]) = grid.scaled();
    let mut output = Output::standard();
    for y in (0..grid.height()).step_by(2) {
        let mut line = String::new();
        for x in 0..grid.width {
            let upper = grays[y * grid.width + x];
            let lower = grays.get((y + 1) * grid.width + x).copied();
            put_pixels(&mut line, has_color, upper, lower);
        }
        output.line(if has_color { line + "\x1b[0m" } else { line.trim_end().to_owned() })?;
    }
    let at = spans.iter().map(|span| match span.count {
        1 => span.start.to_string(),
        count => {
            format!("{}:{}", span.start, span.start + (count - 1) * span.step.unsigned_abs() + 1)
        }
    });
    let at = at.collect::<Vec<_>>().join(",");
    output.line(format_args!("[{at}]  dark {}, bright {}", short(low), short(high)))?;
    output.finish(Exit::Done)
}

/// Returns whether standard output is a terminal with colors.
fn has_color() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// The columns and lines for a picture.
fn screen(args: &View) -> (u64, u64) {
    let size = terminal_size::terminal_size().filter(|_| std::io::stdout().is_terminal());
    let (width, height) = size.map_or((80, 40), |(w, h)| (u64::from(w.0), u64::from(h.0)));
    match args.width {
        Some(width) => (u64::from(width), u64::from(width)),
        None => (width.max(8), height.saturating_sub(2).max(8)),
    }
}

fn put_pixels(line: &mut String, has_color: bool, upper: f64, lower: Option<f64>) {
    const RAMP: &[u8] = b" .:-=+*#%@";
    if !has_color {
        let gray = (upper + lower.unwrap_or(upper)) / 2.0;
        let shade = RAMP.get((gray * (RAMP.len() - 1) as f64).round() as usize);
        return line.push(if gray.is_nan() { '?' } else { char::from(*shade.unwrap_or(&b'@')) });
    }
    let is_true = std::env::var("COLORTERM").is_ok_and(|v| v == "truecolor" || v == "24bit");
    let color = |gray: f64| match (is_true, gray.is_nan()) {
        (true, true) => format!("2;{};{};{}", MISSING[0], MISSING[1], MISSING[2]),
        (true, false) => format!("2;{0};{0};{0}", (gray * 255.0).round()),
        (false, true) => "5;160".to_owned(),
        (false, false) => format!("5;{}", 232 + (gray * 23.0).round() as u8),
    };
    // writing to a string does not fail
    let _ = match lower {
        Some(lower) => write!(line, "\x1b[38;{}m\x1b[48;{}m▀", color(upper), color(lower)),
        None => write!(line, "\x1b[0m\x1b[38;{}m▀", color(upper)),
    };
}

fn save(args: &View, to: &str, grid: &Grid) -> Result<Exit> {
    if !to.ends_with(".png") {
        return Err(wrong!("-o takes a name that ends in .png for a plane, not '{to}'"));
    }
    let (grays, _) = grid.scaled();
    let has_missing = grays.iter().any(|gray| gray.is_nan());
    let scale = (LEAST / grid.width.max(grid.height()).max(1)).max(1);
    let mut pixels = Vec::new();
    for row in grays.chunks(grid.width.max(1)) {
        let mut line = Vec::new();
        for gray in row.iter().flat_map(|gray| std::iter::repeat_n(gray, scale)) {
            let byte = (gray * 255.0).round() as u8;
            match has_missing {
                true if gray.is_nan() => line.extend(MISSING),
                true => line.extend([byte; 3]),
                false => line.push(byte),
            }
        }
        (0..scale).for_each(|_| pixels.extend_from_slice(&line));
    }
    let mut file = OutputFile::create(to, args.output.force)?;
    let (width, height) = ((grid.width * scale) as u32, (grid.height() * scale) as u32);
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(if has_missing { png::ColorType::Rgb } else { png::ColorType::Grayscale });
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    match written {
        Err(png::EncodingError::IoError(error)) => return Err(file.failure(error)),
        written => written.map_err(|error| failure!("{to}: {error}"))?,
    }
    file.complete()?;
    report::note(&format!("{to}: {width} x {height} pixels"));
    Ok(Exit::Done)
}

// ---- histograms

/// Numbers of values between `from` and `to`, in bins of equal width.
struct Histogram {
    from: f64,
    width: f64,
    counts: Vec<u64>,
    /// Values that are no finite number.
    others: u64,
    is_whole: bool,
}

/// Calls a function for the numbers of a selection, of which at most one dimension has more than
/// one index.
fn each(part: &Part, spans: &[Span], mut f: impl FnMut(f64)) -> Result {
    let (number, mut buffer, mut done) = (number(part), Vec::new(), 0);
    let total = spans.iter().map(|span| span.count).min().filter(|n| *n == 0);
    let total = total.or(spans.iter().map(|span| span.count).max()).unwrap_or(1);
    let steps: Vec<u64> = spans.iter().map(|span| span.step.unsigned_abs()).collect();
    while done < total {
        let n = (BOX / part.item_size().max(1)).clamp(1, total - done);
        let range = |span: &Span| {
            let (from, n) = if span.count > 1 { (done, n) } else { (0, 1) };
            let (start, step) = (span.start, span.step.unsigned_abs());
            start + from * step..start + (from + n - 1) * step + 1
        };
        let ranges: Vec<Range<u64>> = spans.iter().map(range).collect();
        part.read(Selection::from(&ranges[..]).step(&steps), &mut buffer)?;
        buffer.chunks_exact(number.size.max(1)).for_each(|item| f(number.float(item)));
        done += n;
    }
    Ok(())
}

fn count(part: &Part, spans: &[Span], bins: usize) -> Result<Histogram> {
    let (mut least, mut most, mut others) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    each(part, spans, |value| {
        if value.is_finite() {
            (least, most) = (least.min(value), most.max(value));
        } else {
            others += 1;
        }
    })?;
    let is_whole = !matches!(number(part).kind, Kind::Float);
    let mut bins = bins.max(1);
    let mut width = (most - least) / bins as f64;
    if is_whole && most - least < bins as f64 {
        (bins, width) = ((most - least).max(0.0) as usize + 1, 1.0);
    } else if least >= most {
        (bins, width) = (1, 1.0);
    }
    let mut counts = vec![0; bins];
    each(part, spans, |value| {
        if value.is_finite() {
            let bin = ((value - least) / width) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
    })?;
    Ok(Histogram { from: least, width, counts, others, is_whole: is_whole && width == 1.0 })
}

/// Bins in the terminal, and in a picture.
const LINES: usize = 20;
const BARS: usize = 80;

fn histogram(args: &View, part: &Part, spans: &[Span]) -> Result<Exit> {
    let name = if part.name.is_empty() { args.path.as_str() } else { part.name };
    if let Some(to) = &args.output.output {
        if !to.ends_with(".svg") {
            return Err(wrong!("-o takes a name that ends in .svg for a histogram, not '{to}'"));
        }
        let counted = count(part, spans, BARS)?;
        let mut file = OutputFile::create(to, args.output.force)?;
        file.put(counted.draw(name).as_bytes())?;
        file.complete()?;
        return Ok(Exit::Done);
    }
    let counted = count(part, spans, LINES)?;
    let mut output = Output::standard();
    let total: u64 = counted.counts.iter().sum();
    output.line(format_args!(
        "{}: {total} values, {} without a value",
        report::printable(name),
        counted.others
    ))?;
    let labels: Vec<String> = (0..counted.counts.len()).map(|i| counted.label(i)).collect();
    let side = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let most = counted.counts.iter().copied().max().unwrap_or(0).max(1);
    let numbers = most.to_string().len();
    let width = (screen(args).0 as usize).saturating_sub(side + numbers + 3).clamp(8, 8192);
    for (label, n) in labels.iter().zip(&counted.counts).filter(|_| total > 0) {
        let eighths = (*n as f64 / most as f64 * (width * 8) as f64).round() as usize;
        let end = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8];
        let bar = format!("{}{end}", "█".repeat(eighths / 8));
        output.line(
            format_args!("{label:>side$} {n:>numbers$} {}", bar.trim_end()).to_string().trim_end(),
        )?;
    }
    output.finish(Exit::Done)
}

impl Histogram {
    /// The values of a bin.
    fn label(&self, i: usize) -> String {
        let from = self.from + self.width * i as f64;
        if self.is_whole || self.counts.len() == 1 {
            return short(from);
        }
        format!("{} to {}", short(from), short(from + self.width))
    }

    fn draw(&self, name: &str) -> String {
        let mut chart =
            Chart::new(760.0, 420.0, &format!("Histogram of {}", report::shortened(name, 60)));
        let (total, n): (u64, usize) = (self.counts.iter().sum(), self.counts.len());
        let about = format!("{total} values, {} without a value", self.others);
        chart.text("legend", 740.0, 26.0, "end", &about);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let from = if self.from.is_finite() { self.from } else { 0.0 };
        let middle = if self.is_whole { self.width / 2.0 } else { 0.0 };
        let x =
            Axis::new((from - middle, from - middle + self.width * n as f64), false, 70.0, 665.0);
        let y = Axis::new((0.0, most * 1.05), false, 365.0, -290.0);
        for (i, count) in self.counts.iter().enumerate().filter(|_| total > 0) {
            let (left, right) = (665.0 / n as f64 * i as f64 + 70.0, 665.0 / n as f64);
            let top = y.at(*count as f64);
            chart.bar(left, top, right - 0.6, 365.0 - top, &format!("{}: {count}", self.label(i)));
        }
        chart.axes(&x, &y, (name, "number of values"));
        chart.finish()
    }
}
