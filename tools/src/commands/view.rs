//! `holdall view`: a plane of an array as a picture, and histograms.

use super::chart;
use super::numbers::{self, short};
use crate::cli::View;
use crate::cli::groups::Source;
use crate::cli::slice::{Pick, Picks, Span};
use crate::cli::usage::Usage;
use crate::content::{BOX, Content, Part, column};
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::files::{self, OutputFile};
use crate::output::Output;
use crate::{failure, report, usage as wrong};
use anstream::{AutoStream, ColorChoice};
use holdall::{Array, ItemKind, Selection};
use plotters::prelude::{Color, Palette, Palette99, Rectangle};
use std::fmt::Write as _;
use std::io::IsTerminal;

pub fn run(args: &View, usage: &Usage) -> Result<Exit> {
    let path = &args.path;
    if let Some(out) = &args.output.output {
        files::refuse_same(path, out)?;
    }
    let source =
        Source { reading: args.reading.clone(), frame: args.frame.clone(), ..Source::default() };
    let content = Content::open(path, usage, &source)?;
    let parts = content.parts(path);
    let is_numeric = |part: &&Part| numbers::is_numeric(part.array.item_type());
    let part = match &args.column {
        Some(name) => column(&parts, path, name)?,
        None => parts.iter().find(is_numeric).or(parts.first()).ok_or_else(|| {
            let [_, kind] = content.names();
            failure!("{path}: a {kind} has no picture (view shows arrays and tables)")
        })?,
    };
    if !is_numeric(&part) {
        let dtype = part.array.dtype();
        return Err(failure!("{path}: items of type {dtype} are no numbers, and have no picture"));
    }
    let (plane, position) = plane(part, &args.slice.clone().unwrap_or_default())?;
    let plane = Part { array: &plane, shape: plane.shape().to_vec(), ..*part };
    match plane.shape[..] {
        [rows, columns] => show(args, &plane, [rows, columns], &position),
        _ => histogram(args, &plane),
    }
}

/// Returns what a selection shows, an array of at most two dimensions, and its position.
fn plane(part: &Part, picks: &Picks) -> Result<(Array, String)> {
    let (path, ndim) = (part.path, part.shape.len());
    let picks = picks.expanded(ndim).map_err(|named| {
        wrong!("{path}: --slice: it has {named} parts, and the array has {ndim} dimensions")
    })?;
    let is_index = |d: &usize| matches!(picks[*d], Some(Pick::Index(_)));
    // dimensions with a range in --slice are shown first, then the last ones
    let (given, rest): (Vec<_>, Vec<_>) =
        (0..ndim).filter(|d| !is_index(d)).partition(|d| picks[*d].is_some());
    let free = [rest, given].concat();
    let hidden = &free[..free.len().saturating_sub(2)];
    let (mut starts, mut steps, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (d, (pick, length)) in picks.iter().zip(&part.shape).enumerate() {
        let Span { mut start, mut count, step } = Pick::span(*pick, *length).ok_or_else(|| {
            let index = if let Some(Pick::Index(index)) = pick { *index } else { 0 };
            wrong!("{path}: --slice: {index} is not inside dimension {d} of length {length}")
        })?;
        if step < 0 {
            return Err(wrong!("{path}: --slice: view takes steps of at least 1"));
        }
        if count == 0 && free.len() > 1 {
            return Err(failure!("{path}: the plane has no items"));
        }
        if hidden.contains(&d) {
            (start, count) = (start + count / 2 * step.unsigned_abs(), 1);
        }
        starts.push(start);
        steps.push(step);
        counts.push(count);
    }
    let at = starts.iter().zip(&steps).zip(&counts).map(|((start, step), count)| match count {
        0 | 1 => start.to_string(),
        n => format!("{start}:{}", start + (n - 1) * step.unsigned_abs() + 1),
    });
    let at = at.collect::<Vec<_>>().join(",");
    let mut plane = part.array.strided(&starts, &steps, &counts).map_err(library(path))?;
    for d in (0..ndim).rev().filter(|d| is_index(d) || hidden.contains(d)) {
        plane = plane.squeeze(d).map_err(library(path))?;
    }
    Ok((plane, at))
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
fn grid(part: &Part, [rows, columns]: [u64; 2], (width, height): (u64, u64)) -> Result<Grid> {
    let factor = columns.div_ceil(width).max(rows.div_ceil(height)).max(1);
    let step = (factor / SIDE).max(1);
    let block = factor.div_ceil(step);
    let (picked, across) = (rows.div_ceil(step), columns.div_ceil(step));
    let width = across.div_ceil(block) as usize;
    let (mut grid, mut buffer) = (Grid { width, values: Vec::new() }, Vec::new());
    for first in (0..picked).step_by(block as usize) {
        let end = (first + block).min(picked) * step;
        let of = [first * step..end.min(rows), 0..columns];
        part.read(Selection::from(&of[..]).step(&[step, step]), &mut buffer)?;
        let (mut totals, mut i) = (vec![(0.0, 0u32); width], 0);
        numbers::floats(part.array.item_type(), &buffer, |value| {
            let column = (i % across.max(1) / block) as usize;
            if let Some((sum, n)) = totals.get_mut(column).filter(|_| !value.is_nan()) {
                (*sum, *n) = (*sum + value, *n + 1);
            }
            i += 1;
        });
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
        sorted.sort_by(f64::total_cmp);
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

fn show(args: &View, part: &Part, shape: [u64; 2], position: &str) -> Result<Exit> {
    if let Some(to) = &args.output.output {
        let most = u64::from(args.width.unwrap_or(1024));
        let grid = grid(part, shape, (most, most))?;
        return save(args, to, &grid);
    }
    let has_color = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
    let (width, height) = screen(args);
    // two pixels share a character, above each other
    let grid = grid(part, shape, (width, height * 2))?;
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
    output.line(format_args!("[{position}]  dark {}, bright {}", short(low), short(high)))?;
    output.finish(Exit::Done)
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
    let color = |gray: f64| if gray.is_nan() { 160 } else { 232 + (gray * 23.0).round() as u8 };
    // writing to a string does not fail
    let _ = match lower {
        Some(lower) => write!(line, "\x1b[38;5;{}m\x1b[48;5;{}m▀", color(upper), color(lower)),
        None => write!(line, "\x1b[0m\x1b[38;5;{}m▀", color(upper)),
    };
}

fn save(args: &View, to: &FileName, grid: &Grid) -> Result<Exit> {
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

/// Calls a function for the numbers of an array.
fn each(part: &Part, mut f: impl FnMut(f64)) -> Result {
    let mut buffer = Vec::new();
    for of in part.boxes(BOX) {
        part.read(&of[..], &mut buffer)?;
        numbers::floats(part.array.item_type(), &buffer, &mut f);
    }
    Ok(())
}

fn count(part: &Part, bins: usize) -> Result<Histogram> {
    let (mut least, mut most, mut others) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    each(part, |value| {
        if value.is_finite() {
            (least, most) = (least.min(value), most.max(value));
        } else {
            others += 1;
        }
    })?;
    let is_whole = part.array.item_type().kind != ItemKind::Float;
    let mut bins = bins.max(1);
    let mut width = (most - least) / bins as f64;
    if is_whole && most - least < bins as f64 {
        (bins, width) = ((most - least).max(0.0) as usize + 1, 1.0);
    } else if least >= most {
        (bins, width) = (1, 1.0);
    }
    let mut counts = vec![0; bins];
    each(part, |value| {
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

fn histogram(args: &View, part: &Part) -> Result<Exit> {
    let path = args.path.text();
    let name = if part.name.is_empty() { &path } else { part.name };
    if let Some(to) = &args.output.output {
        if !to.ends_with(".svg") {
            return Err(wrong!("-o takes a name that ends in .svg for a histogram, not '{to}'"));
        }
        let counted = count(part, BARS)?;
        let mut file = OutputFile::create(to, args.output.force)?;
        file.put(counted.draw(name)?.as_bytes())?;
        file.complete()?;
        return Ok(Exit::Done);
    }
    let counted = count(part, LINES)?;
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
        let bar = "█".repeat((*n as f64 / most as f64 * width as f64).round() as usize);
        output.line(format!("{label:>side$} {n:>numbers$} {bar}").trim_end())?;
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

    fn draw(&self, name: &str) -> Result<String> {
        let (total, n): (u64, usize) = (self.counts.iter().sum(), self.counts.len());
        let title = format!(
            "Histogram of {}: {total} values, {} without a value",
            report::shortened(name, 60),
            self.others
        );
        let from = if self.from.is_finite() { self.from } else { 0.0 };
        let left =
            |i: usize| from + self.width * (i as f64 - if self.is_whole { 0.5 } else { 0.0 });
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        chart::draw(&title, 1, |areas| {
            let mut chart = chart::axes(
                &areas[0],
                left(0)..left(n),
                0.0..most * 1.05,
                (name, "number of values"),
            )?;
            let bars = self.counts.iter().enumerate().filter(|_| total > 0);
            chart.draw_series(bars.map(|(i, count)| {
                let corners = [(left(i), 0.0), (left(i + 1), *count as f64)];
                Rectangle::new(corners, Palette99::pick(3).filled())
            }))?;
            Ok(())
        })
    }
}
