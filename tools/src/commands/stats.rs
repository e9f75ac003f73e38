//! `holdall stats`: summaries of the values of a table, an array, a bag or a superchunk.

use super::numbers::{self, BLOCK, Summary, shortest};
use super::table;
use crate::cli::Stats;
use crate::cli::usage::Usage;
use crate::content::{BOX, Content, Part, column, joined};
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::{report, signals};
use holdall::{Field, ItemKind, ItemType};
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
    let path = &args.path;
    let content = Content::open(path, usage, &args.source)?;
    let parts = content.parts(path);
    let rows = match &content {
        Content::Bag(bag) => {
            let length = |i| bag.record_len(i).map(|length| (length as u64, length == 0));
            let mut row = of_sizes(path, "length", bag.len(), length)?;
            row.content = u64::try_from(row.summary.sum).unwrap_or(u64::MAX);
            row.stored = bag.stored_bytes();
            vec![row]
        }
        Content::Schunk(schunk) => {
            let size = |i| {
                let chunk = schunk.chunk_info(i)?;
                Ok((chunk.stored_bytes as u64, chunk.content_bytes == 0))
            };
            let mut row = of_sizes(path, "chunk", schunk.chunks(), size)?;
            row.content = schunk.len();
            row.stored = schunk.stored_bytes().map_err(library(path))?;
            vec![row]
        }
        _ => {
            let chosen: Vec<&Part> = match &args.columns {
                None => parts.iter().collect(),
                Some(names) => {
                    names.iter().map(|name| column(&parts, path, name)).collect::<Result<_>>()?
                }
            };
            chosen.into_iter().map(of_items).collect::<Result<Vec<_>>>()?.concat()
        }
    };
    let mut output = Output::standard();
    let all = as_json(&content, path, &rows);
    match args.json {
        true => output.line(all)?,
        false => print(&mut output, &content, &all, &rows)?,
    }
    output.finish(Exit::Done)
}

/// Summarizes the lengths of records or the stored sizes of chunks, each with whether its content
/// is empty.
fn of_sizes(
    path: &FileName,
    name: &str,
    n: u64,
    size: impl Fn(u64) -> holdall::Result<(u64, bool)>,
) -> Result<Row> {
    let mut row = Row::new(
        name.to_owned(),
        "",
        &ItemType { kind: ItemKind::Uint, big_endian: false, size: 8 },
    );
    let (mut sizes, mut empty) = (Vec::new(), 0);
    for i in 0..n {
        let (size, is_empty) = size(i).map_err(library(path))?;
        sizes.extend_from_slice(&size.to_le_bytes());
        empty += u64::from(is_empty);
        if sizes.len() == 8 * BLOCK || i + 1 == n {
            row.summary.add(&row.item, &sizes);
            sizes.clear();
            if signals::stopped() {
                return Err(Failure::Stopped);
            }
        }
    }
    row.summary.nulls = empty;
    Ok(row)
}

/// Summaries of the items, or of each field of theirs.
fn of_items(part: &Part) -> Result<Vec<Row>> {
    let dtype = part.array.dtype();
    let item = part.array.item_type().clone();
    let mut rows = vec![Row::new(part.name.to_owned(), &dtype, &item)];
    let mut fields = vec![(0, item.clone())];
    rows[0].stored = part.array.stored_bytes().map_err(library(part.path))?;
    if let ItemKind::Struct(list) = &item.kind {
        let name = |field: &Field| match part.name {
            "" => field.name.clone(),
            column => format!("{column}.{}", field.name),
        };
        rows = list.iter().map(|f| Row::new(name(f), &f.item.to_string(), &f.item)).collect();
        fields = list.iter().map(|field| (field.offset, field.item.clone())).collect();
    }
    for (row, (_, of)) in rows.iter_mut().zip(&mut fields) {
        row.content = (row.item.size as u64).saturating_mul(part.len());
        while let ItemKind::Array(inner, _) = &of.kind {
            *of = (**inner).clone();
        }
    }
    if !fields.iter().any(|(_, of)| numbers::is_numeric(of) || numbers::is_text(of)) {
        rows.iter_mut().for_each(|row| row.summary.items = part.len());
        return Ok(rows);
    }
    let (mut buffer, mut picked) = (Vec::new(), Vec::new());
    for of in part.boxes(BOX) {
        part.read(&of[..], &mut buffer)?;
        for (row, (offset, of)) in rows.iter_mut().zip(&fields) {
            if row.item.size == item.size {
                row.summary.add(of, &buffer);
                continue;
            }
            picked.clear();
            let range = *offset..*offset + row.item.size;
            for item in buffer.chunks_exact(item.size.max(1)) {
                picked.extend_from_slice(item.get(range.clone()).unwrap_or_default());
            }
            row.summary.add(of, &picked);
        }
    }
    Ok(rows)
}

impl Row {
    fn new(name: String, dtype: &str, item: &ItemType) -> Row {
        let summary = Summary::default();
        Row { name, dtype: dtype.to_owned(), item: item.clone(), summary, content: 0, stored: 0 }
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

    fn json(&self) -> Value {
        let [min, max] = self.extremes();
        let number = |value: Option<f64>| value.map_or(Value::Null, |value| real(value, 8));
        // the mean of times is one, and the deviation is in their unit
        let mean = match self.summary.mean() {
            Some(mean)
                if matches!(self.item.kind, ItemKind::Datetime(_) | ItemKind::Timedelta(_)) =>
            {
                self.integer(mean.round() as i128)
            }
            mean => number(mean),
        };
        let (std, nulls) = (number(self.summary.deviation()), self.summary.nulls);
        json!({
            "name": self.name, "dtype": self.dtype, "count": self.summary.items - nulls, "nulls": nulls,
            "min": min, "max": max, "mean": mean, "std": std, "content_bytes": self.content,
            "stored_bytes": self.stored, "ratio": ratio(self.content, self.stored),
        })
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

fn as_json(content: &Content, path: &FileName, rows: &[Row]) -> Value {
    let [format, kind] = content.names();
    let mut all = json!({"path": path, "format": format, "kind": kind});
    let (name, size) = match content {
        Content::Bag(bag) => ("records", json!(bag.len())),
        Content::Schunk(schunk) => ("chunks", json!(schunk.chunks())),
        Content::Array(array) => ("shape", json!(array.shape())),
        Content::Table(table) => ("rows", json!(table.rows())),
    };
    all[name] = size;
    all["columns"] = rows.iter().map(Row::json).collect();
    all
}

/// Characters of a value in the table.
const CELL: usize = 24;

fn cell(column: &Value, title: &str) -> String {
    let member = match title {
        "type" => "dtype",
        "size" => "stored_bytes",
        title => title,
    };
    let text = match &column[member] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        value if title == "size" => HumanBytes(value.as_u64().unwrap_or(0)).to_string(),
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            match title {
                "ratio" => format!("{value:.2}"),
                _ => shortest(format!("{value:.5e}").parse().unwrap_or(value), 8),
            }
        }
        value => value.to_string(),
    };
    report::printable(&report::shortened(&text, CELL))
}

fn print(output: &mut Output, content: &Content, all: &Value, rows: &[Row]) -> Result {
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
        report::printable(all["path"].as_str().unwrap_or_default()),
        content.names().join(" "),
        HumanBytes(total),
        HumanBytes(stored),
        ratio(total, stored).map_or("-".to_owned(), |ratio| format!("ratio {ratio:.2}")),
    ))?;
    let titles = ["name", "type", "count", "nulls", "min", "max", "mean", "std", "size", "ratio"];
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    let columns = all["columns"].as_array().into_iter().flatten();
    table.extend(columns.map(|column| titles.map(|title| cell(column, title)).to_vec()));
    table::print(output, &table, 2)
}
