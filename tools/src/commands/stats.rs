//! `holdall stats`: summaries of the values of a table, an array, a bag or a superchunk.

use super::content::{BOX, Content, Part, joined};
use super::numbers::{self, Kind, Number, Summary, shortest};
use super::table;
use crate::cli::Stats;
use crate::cli::usage::Usage;
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::{failure, report};
use holdall::{Bag, ItemKind, ItemType, Schunk};
use indicatif::HumanBytes;
use serde_json::{Value, json};

/// A summary, and what it is of.
#[derive(Clone)]
struct Row {
    name: String,
    dtype: String,
    item: ItemType,
    summary: Summary,
    content: u64,
    stored: u64,
}

pub fn run(args: &Stats, usage: &Usage) -> Result<Exit> {
    let path = args.path.as_str();
    let content = Content::open(path, usage, &args.source)?;
    let rows = match &content {
        Content::Bag(bag) => vec![of_records(bag, path)?],
        Content::Schunk(schunk) => vec![of_chunks(schunk, path)?],
        _ => {
            let parts = content.parts(path);
            let chosen: Vec<&Part> = match &args.columns {
                None => parts.iter().collect(),
                Some(names) => {
                    let find = |name: &String| {
                        let found = parts.iter().find(|part| part.name == name);
                        found.ok_or_else(|| failure!("{path}: it has no column '{name}'"))
                    };
                    names.iter().map(find).collect::<Result<_>>()?
                }
            };
            let rows = chosen.into_iter().map(|part| of_items(part, path));
            rows.collect::<Result<Vec<_>>>()?.concat()
        }
    };
    let mut output = Output::standard();
    if args.json {
        output.line(as_json(&content, path, &rows))?;
    } else {
        print(&mut output, &content, path, &rows)?;
    }
    output.finish(Exit::Done)
}

/// Summaries of the items, or of each field of theirs.
fn of_items(part: &Part, path: &str) -> Result<Vec<Row>> {
    let dtype = part.array.dtype();
    let item = part.array.item_type().clone();
    let stored = part.array.stored_bytes().map_err(library(path))?;
    let row = |name: String, dtype: &str, item: &ItemType, stored| Row {
        name,
        dtype: dtype.to_owned(),
        item: item.clone(),
        summary: Summary::default(),
        content: (item.size as u64).saturating_mul(part.len()),
        stored,
    };
    let mut rows = vec![row(part.name.to_owned(), &dtype, &item, stored)];
    let mut fields = vec![(0, item.clone())];
    if let ItemKind::Struct(list) = item.kind {
        let named = |field: &holdall::Field| match part.name {
            "" => field.name.clone(),
            column => format!("{column}.{}", field.name),
        };
        rows = list.iter().map(|f| row(named(f), &f.item.to_string(), &f.item, 0)).collect();
        fields = list.into_iter().map(|field| (field.offset, field.item)).collect();
    }
    for (_, of) in &mut fields {
        while let ItemKind::Array(inner, _) = &of.kind {
            *of = (**inner).clone();
        }
    }
    let numbers: Vec<Number> = fields.iter().map(|(_, of)| Number::of(of)).collect();
    if numbers.iter().all(|number| number.kind == Kind::Other) {
        rows.iter_mut().for_each(|row| row.summary.count = part.len());
        return Ok(rows);
    }
    let (mut buffer, mut picked) = (Vec::new(), Vec::new());
    for of in part.boxes(BOX) {
        part.read(&of[..], &mut buffer)?;
        for ((row, number), (offset, _)) in rows.iter_mut().zip(&numbers).zip(&fields) {
            if row.item.size == item.size {
                row.summary.add(*number, &buffer);
                continue;
            }
            picked.clear();
            for item in buffer.chunks_exact(item.size.max(1)) {
                picked.extend_from_slice(
                    item.get(*offset..offset + row.item.size).unwrap_or_default(),
                );
            }
            row.summary.add(*number, &picked);
        }
    }
    Ok(rows)
}

/// The lengths of the records.
fn of_records(bag: &Bag, path: &str) -> Result<Row> {
    let mut summary = Summary::default();
    for i in 0..bag.len() {
        if i % 1024 == 0 && crate::signals::stopped() {
            return Err(failure::Failure::Stopped);
        }
        let length = bag.record_len(i).map_err(library(path))? as u64;
        summary.nulls += u64::from(length == 0);
        summary.add_integer(length);
    }
    let content = u64::try_from(summary.sum()).unwrap_or(u64::MAX);
    Ok(Row { stored: bag.stored_bytes(), ..Row::of("length", summary, content) })
}

/// The sizes of the chunks as they are stored.
fn of_chunks(schunk: &Schunk, path: &str) -> Result<Row> {
    let mut summary = Summary::default();
    for i in 0..schunk.chunks() {
        let chunk = schunk.chunk_info(i).map_err(library(path))?;
        summary.nulls += u64::from(chunk.content_bytes == 0);
        summary.add_integer(chunk.stored_bytes as u64);
    }
    let stored = schunk.stored_bytes().map_err(library(path))?;
    Ok(Row { stored, ..Row::of("chunk", summary, schunk.len()) })
}

impl Row {
    fn of(name: &str, summary: Summary, content: u64) -> Row {
        let (dtype, item) =
            (String::new(), ItemType { kind: ItemKind::Uint, big_endian: false, size: 8 });
        Row { name: name.to_owned(), dtype, item, summary, content, stored: 0 }
    }

    fn is_time(&self) -> bool {
        matches!(self.item.kind, ItemKind::Datetime(_) | ItemKind::Timedelta(_))
    }

    /// The least and the largest value.
    fn extremes(&self) -> [Value; 2] {
        let summary = &self.summary;
        let floats = summary.floats.map(|pair| pair.map(|value| real(value, self.item.size)));
        let texts = summary.texts.as_ref().map(|pair| pair.clone().map(Value::from));
        let integers = summary.integers.map(|pair| pair.map(|value| self.integer(value)));
        floats.or(texts).or(integers).unwrap_or_default()
    }

    fn integer(&self, value: i128) -> Value {
        let item = ItemType { big_endian: false, ..self.item.clone() };
        numbers::as_json(&item, value.to_le_bytes().get(..item.size.min(8)).unwrap_or_default())
    }

    /// The mean and the deviation; of times the mean is one, and the deviation is in their unit.
    fn spread(&self) -> [Value; 2] {
        let number = |value: Option<f64>| value.map_or(Value::Null, |value| real(value, 8));
        let mean = match self.summary.mean() {
            Some(mean) if self.is_time() => self.integer(mean.round() as i128),
            mean => number(mean),
        };
        [mean, number(self.summary.deviation())]
    }

    fn ratio(&self) -> Option<f64> {
        ratio(self.content, self.stored)
    }
}

fn ratio(content: u64, stored: u64) -> Option<f64> {
    (stored > 0).then(|| content as f64 / stored as f64)
}

/// A number; text if JSON does not have it.
fn real(value: f64, size: usize) -> Value {
    let text = shortest(value, size);
    let short = text.parse().ok().filter(|value: &f64| value.is_finite());
    short.map_or(Value::from(text), |value| json!(value))
}

// ---- results

fn as_json(content: &Content, path: &str, rows: &[Row]) -> Value {
    let of_row = |row: &Row| {
        let ([min, max], [mean, std]) = (row.extremes(), row.spread());
        json!({
            "name": row.name, "dtype": row.dtype, "count": row.summary.count, "nulls": row.summary.nulls,
            "min": min, "max": max, "mean": mean, "std": std,
            "content_bytes": row.content, "stored_bytes": row.stored, "ratio": row.ratio(),
        })
    };
    let [format, kind] = content.names();
    let mut all = json!({"path": path, "format": format, "kind": kind});
    let (name, size) = match content {
        Content::Bag(bag) => ("records", json!(bag.len())),
        Content::Schunk(schunk) => ("chunks", json!(schunk.chunks())),
        Content::Array(array) => ("shape", json!(array.shape())),
        Content::Table(table) => ("rows", json!(table.rows())),
    };
    all[name] = size;
    all["columns"] = rows.iter().map(of_row).collect();
    all
}

/// Characters of a value in the table.
const CELL: usize = 24;

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            let rounded = format!("{value:.5e}").parse().unwrap_or(value);
            shortest(rounded, 8)
        }
        value => value.to_string(),
    };
    report::printable(&report::shortened(&text, CELL))
}

fn print(output: &mut Output, content: &Content, path: &str, rows: &[Row]) -> Result {
    let (stored, total) =
        (rows.iter().map(|r| r.stored).sum(), rows.iter().map(|r| r.content).sum());
    let what = match content {
        Content::Bag(bag) => format!("{} records", bag.len()),
        Content::Schunk(schunk) => format!("{} chunks", schunk.chunks()),
        Content::Array(array) => {
            format!("{} of shape {}", array.dtype(), joined(array.shape(), "x"))
        }
        Content::Table(table) => format!("{} rows, {} columns", table.rows(), rows.len()),
    };
    output.line(format_args!(
        "{}: {}, {what}, {} in {} ({})",
        report::printable(path),
        content.names().join(" "),
        HumanBytes(total),
        HumanBytes(stored),
        ratio(total, stored).map_or("-".to_owned(), |ratio| format!("ratio {ratio:.2}")),
    ))?;
    let titles = ["name", "type", "count", "nulls", "min", "max", "mean", "std", "size", "ratio"];
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    for row in rows {
        let ([min, max], [mean, std]) = (row.extremes(), row.spread());
        let mut cells = vec![cell(&json!(row.name)), cell(&json!(row.dtype))];
        cells.extend([row.summary.count, row.summary.nulls].map(|n| n.to_string()));
        cells.extend([min, max, mean, std].map(|value| cell(&value)));
        cells.push(HumanBytes(row.stored).to_string());
        cells.push(row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
        table.push(cells);
    }
    table::print(output, &table, 2)
}
