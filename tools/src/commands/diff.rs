//! `holdall diff`: whether two containers have the same content, whatever stores it, and where they differ.

use super::boxes::{Boxes, position};
use super::numbers;
use crate::cli::Diff;
use crate::cli::usage::Usage;
use crate::content::{BOX, Content, Part, has_objects};
use crate::failure::{Exit, Failure, Result, library};
use crate::output::Output;
use crate::superchunk::source::resize;
use crate::{options, report, signals};
use holdall::Bag;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Exit codes are those of diff(1): a failure is 2.
pub fn run(args: &Diff, usage: &Usage) -> Result<Exit> {
    match compare(args, usage) {
        Err(Failure::Message(text)) => {
            report::error(&text);
            Ok(Exit::Usage)
        }
        Err(Failure::Output(error)) if error.kind() != ErrorKind::BrokenPipe => {
            report::error(&format!("standard output: {}", report::system_message(&error)));
            Ok(Exit::Usage)
        }
        // differences are all that is printed without --json
        Err(Failure::Output(_)) => Ok(Exit::Failed),
        done => done,
    }
}

fn compare(args: &Diff, usage: &Usage) -> Result<Exit> {
    let open = |path| Content::open(path, usage, &args.source);
    let (left, right) = (open(&args.left)?, open(&args.right)?);
    let once = report::is_quiet() && !args.json;
    let mut found = Differences { args, list: Vec::new(), once };
    found.compare(&left, &right)?;
    let code = Exit::damaged(!found.list.is_empty());
    let mut output = Output::standard();
    if args.json {
        output.line(json!({
            "left": args.left, "right": args.right, "equal": found.list.is_empty(),
            "differences": found.list,
        }))?;
    } else if !report::is_quiet() {
        found.list.iter().try_for_each(|difference| print(&mut output, difference))?;
    }
    output.finish(code)
}

/// Characters of a value in text.
const SHOWN: usize = 120;

fn print(output: &mut Output, difference: &Value) -> Result {
    let text = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        report::printable(&report::shortened(&text, SHOWN))
    };
    let column = difference.get("column").map(|name| format!("column {}: ", text(name)));
    let name = difference.get("name").map(|name| format!(" {}", text(name)));
    let what = text(&difference["what"]);
    let before = column.unwrap_or_default() + &what + &name.unwrap_or_default();
    let Some(first) = difference.get("first").and_then(Value::as_array) else {
        let (left, right) = (&difference["left"], &difference["right"]);
        return output.line(format_args!("{before}: {} and {}", text(left), text(right)));
    };
    output
        .line(format_args!("{before}: {} of {} differ", difference["count"], difference["of"]))?;
    for item in first {
        let at = text(&item["at"]);
        let (left, right) = (text(&item["left"]), text(&item["right"]));
        output.line(format_args!("  at {}: {left} and {right}", at.trim_matches(['[', ']'])))?;
    }
    Ok(())
}

struct Differences<'a> {
    args: &'a Diff,
    list: Vec<Value>,
    /// Whether the first difference is enough.
    once: bool,
}

impl Differences<'_> {
    fn is_enough(&self) -> bool {
        self.once && !self.list.is_empty()
    }

    /// Notes two properties if they differ. Returns whether they are equal.
    fn property(&mut self, mut of: Value, left: Value, right: Value) -> bool {
        let is_equal = left == right;
        if !is_equal {
            (of["left"], of["right"]) = (left, right);
            self.list.push(of);
        }
        is_equal
    }

    /// Notes the members that differ.
    fn members(&mut self, of: &Value, what: &str, left: &Value, right: &Value) {
        let members = [left, right].into_iter().filter_map(Value::as_object);
        for name in members.flat_map(Map::keys).collect::<BTreeSet<&String>>() {
            let mut of = of.clone();
            match what {
                "" => of["what"] = json!(name),
                what => (of["what"], of["name"]) = (json!(what), json!(name)),
            }
            let value = |value: &Value| value.get(name).cloned().unwrap_or_default();
            self.property(of, value(left), value(right));
        }
    }

    fn compare(&mut self, left: &Content, right: &Content) -> Result {
        let (a, b) = (&self.args.left, &self.args.right);
        let ([_, x], [_, y]) = (left.names(), right.names());
        let is_bytes = |content: &Content| match content {
            Content::Array(array) => !has_objects(array),
            content => matches!(content, Content::Schunk(_)),
        };
        // an array and a superchunk are compared as bytes
        let are_bytes = is_bytes(left) && is_bytes(right);
        if (!are_bytes || self.args.encoding)
            && !self.property(json!({"what": "kind"}), x.into(), y.into())
        {
            return Ok(());
        }
        if self.args.encoding {
            self.members(&json!({}), "", &encoding(left), &encoding(right));
        }
        let attributes = [left.attributes(a)?, right.attributes(b)?].map(Value::Object);
        self.members(&json!({}), "attribute", &attributes[0], &attributes[1]);
        match (left, right) {
            (Content::Bag(left), Content::Bag(right)) => self.records(left, right),
            (Content::Table(_), _) => self.columns(&left.parts(a), &right.parts(b)),
            (Content::Array(_), Content::Array(_)) => {
                let (left, right) = (left.parts(a), right.parts(b));
                left.iter().zip(&right).try_for_each(|(a, b)| self.items(a, b))
            }
            _ => self.bytes(left, right),
        }
    }

    fn columns(&mut self, left: &[Part], right: &[Part]) -> Result {
        let names = |parts: &[Part]| parts.iter().map(|part| part.name).collect::<Value>();
        self.property(json!({"what": "columns"}), names(left), names(right));
        let rows = |parts: &[Part]| parts.first().and_then(|part| part.shape.first().copied());
        self.property(json!({"what": "rows"}), rows(left).into(), rows(right).into());
        for a in left {
            if let Some(b) = right.iter().find(|b| b.name == a.name) {
                let (left, right) =
                    (Value::Object(a.attributes()?), Value::Object(b.attributes()?));
                let of = json!({"what": "", "column": a.name});
                self.members(&of, "attribute", &left, &right);
                self.items(a, b)?;
            }
        }
        Ok(())
    }

    fn items(&mut self, a: &Part, b: &Part) -> Result {
        let of = |what: &str| match a.name {
            "" => json!({"what": what}),
            name => json!({"what": what, "column": name}),
        };
        if self.args.encoding {
            self.members(&of(""), "", &encoding_of(a), &encoding_of(b));
        }
        let rows = usize::from(!a.name.is_empty());
        let shapes = (a.shape.get(rows..), b.shape.get(rows..));
        let mut comparable = self.property(of("shape"), json!(shapes.0), json!(shapes.1));
        if a.array.item_type() != b.array.item_type() {
            let (left, right) = (a.array.dtype(), b.array.dtype());
            comparable = self.property(of("dtype"), left.into(), right.into());
        }
        if !comparable || self.is_enough() {
            return Ok(());
        }
        let mut common = Part { shape: a.shape.clone(), ..*a };
        if let (1, Some(n), Some(m)) = (rows, common.shape.first_mut(), b.shape.first()) {
            *n = (*n).min(*m);
        }
        let mut found = Positions::default();
        if has_objects(a.array) {
            // the pickles of Python objects
            for i in 0..common.len() {
                let x = a.array.read_object(i).map_err(library(a.path))?;
                let y = b.array.read_object(i).map_err(library(b.path))?;
                if x != y {
                    found.add(vec![i], || around(&x, &y));
                }
            }
        } else {
            self.boxes(&common, a, b, &mut found)?;
        }
        self.positions(of("items"), common.len(), found);
        Ok(())
    }

    fn boxes(&self, common: &Part, a: &Part, b: &Part, found: &mut Positions) -> Result {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let (item, size) = (a.array.item_type(), a.array.item_size().max(1));
        for of in common.boxes(BOX) {
            a.read(&of[..], &mut left)?;
            b.read(&of[..], &mut right)?;
            if left == right {
                continue;
            }
            for (i, (left, right)) in left.chunks(size).zip(right.chunks(size)).enumerate() {
                if left != right {
                    let value = |bytes| numbers::as_json(item, bytes);
                    found.add(position(&of, i as u64), || (value(left), value(right)));
                }
            }
            if self.once {
                break;
            }
        }
        Ok(())
    }

    fn records(&mut self, a: &Bag, b: &Bag) -> Result {
        self.property(json!({"what": "records"}), a.len().into(), b.len().into());
        if self.is_enough() {
            return Ok(());
        }
        let options = options::reading(&self.args.source.reading);
        let (left, right) = (&self.args.left, &self.args.right);
        let mut x = a.stream(&options).map_err(library(left))?;
        let mut y = b.stream(&options).map_err(library(right))?;
        let mut found = Positions::default();
        for i in 0..a.len().min(b.len()) {
            if signals::stopped() {
                return Err(Failure::Stopped);
            }
            let x = x.next_record().map_err(library(left))?;
            let y = y.next_record().map_err(library(right))?;
            if x != y {
                found.add(vec![i], || around(x.unwrap_or_default(), y.unwrap_or_default()));
                if self.once {
                    break;
                }
            }
        }
        self.positions(json!({"what": "content of records"}), a.len().min(b.len()), found);
        Ok(())
    }

    /// Compares superchunks, or a superchunk and the items of an array in C order.
    fn bytes(&mut self, left: &Content, right: &Content) -> Result {
        let (a, b) = (&self.args.left, &self.args.right);
        let (x, y) = (left.parts(a), right.parts(b));
        let length = |content: &Content, parts: &[Part]| match (content, parts) {
            (Content::Schunk(schunk), _) => schunk.len(),
            (_, [part]) => part.len().saturating_mul(part.item_size()),
            _ => 0,
        };
        let (n, m) = (length(left, &x), length(right, &y));
        self.property(json!({"what": "bytes"}), n.into(), m.into());
        let end = n.min(m);
        let (shape, size) = match x.first().or(y.first()) {
            Some(part) => (part.shape.clone(), part.item_size()),
            None => (vec![end], 1),
        };
        let (mut at, mut found) = (0, Positions::default());
        let mut buffers = [Vec::new(), Vec::new()];
        for of in Boxes::new(&shape, &[], false, BOX / size.max(1)) {
            if at >= end || self.is_enough() || (self.once && found.count > 0) {
                break;
            }
            let items = of.iter().fold(size, |n, range| n * (range.end - range.start));
            let sides = [(left, &x, a), (right, &y, b)];
            for ((content, parts, path), buffer) in sides.into_iter().zip(&mut buffers) {
                match (content, parts.first()) {
                    (_, Some(part)) => part.read(&of[..], buffer)?,
                    (Content::Schunk(schunk), _) => {
                        resize(buffer, items.min(end - at) as usize)?;
                        schunk.read(at, buffer).map_err(library(path))?;
                    }
                    _ => {}
                }
            }
            let [left, right] = &buffers;
            if left != right {
                let pairs = (at..).zip(left.iter().zip(right));
                for (at, (x, y)) in pairs.filter(|(_, (x, y))| x != y) {
                    found.add(vec![at], || (json!(x), json!(y)));
                }
            }
            at += items;
        }
        self.positions(json!({"what": "content"}), end, found);
        Ok(())
    }

    fn positions(&mut self, mut of: Value, total: u64, found: Positions) {
        if found.count == 0 {
            return;
        }
        let position = |(at, (left, right))| json!({"at": at, "left": left, "right": right});
        (of["count"], of["of"]) = (json!(found.count), json!(total));
        of["first"] = found.first.into_iter().map(position).collect();
        self.list.push(of);
    }
}

/// The number of differing items, and the first of them in C order.
#[derive(Default)]
struct Positions {
    count: u64,
    first: BTreeMap<Vec<u64>, (Value, Value)>,
}

/// Differing items that are shown.
const FIRST: usize = 5;

impl Positions {
    fn add(&mut self, at: Vec<u64>, values: impl FnOnce() -> (Value, Value)) {
        self.count += 1;
        let is_full = self.first.len() == FIRST;
        if !is_full || self.first.last_key_value().is_some_and(|(last, _)| at < *last) {
            if is_full {
                self.first.pop_last();
            }
            self.first.insert(at, values());
        }
    }
}

/// What two records have from shortly before the first differing byte on.
fn around(left: &[u8], right: &[u8]) -> (Value, Value) {
    let same = left.iter().zip(right).take_while(|(x, y)| x == y).count();
    let part = |bytes: &[u8]| {
        let from = same.saturating_sub(16);
        let text = bytes.get(from..bytes.len().min(from + 64)).unwrap_or_default().escape_ascii();
        json!(format!("{}{text}", if from > 0 { "..." } else { "" }))
    };
    (part(left), part(right))
}

fn encoding(of: &Content) -> Value {
    let format = of.names()[0];
    match of {
        Content::Bag(bag) => {
            let (codec, shards) = (format!("{:?}", bag.codec()), bag.shards().count());
            json!({"format": format, "codec": codec, "shards": shards})
        }
        Content::Schunk(schunk) => json!({
            "format": format, "chunk size": schunk.chunk_size(), "type size": schunk.type_size(),
            "encoding": format!("{:?}", schunk.encoding()),
        }),
        _ => json!({"format": format}),
    }
}

fn encoding_of(part: &Part) -> Value {
    let array = part.array;
    json!({
        "order": format!("{:?}", array.order()), "chunk shape": array.chunk_shape(),
        "block shape": array.block_shape(), "encoding": format!("{:?}", array.encoding()),
    })
}
