//! `holdall diff`: whether two containers have the same content, whatever stores it, and where they differ.

use super::boxes::position;
use super::content::{BOX, Content, Part};
use super::numbers;
use crate::array::dataset;
use crate::cli::Diff;
use crate::cli::usage::Usage;
use crate::failure::{Exit, Failure, Result, library};
use crate::output::Output;
use crate::{options, report, signals};
use holdall::{Bag, Schunk};
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
    let mut found = Differences::default();
    found.compare(args, &left, &right)?;
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

#[derive(Default)]
struct Differences {
    list: Vec<Value>,
    /// Whether the first difference is enough.
    once: bool,
}

impl Differences {
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

    fn attributes(&mut self, of: &Value, left: Map<String, Value>, right: Map<String, Value>) {
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in names {
            let value = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or_default();
            let mut of = of.clone();
            (of["what"], of["name"]) = (json!("attribute"), json!(name));
            self.property(of, value(&left), value(&right));
        }
    }

    fn compare(&mut self, args: &Diff, left: &Content, right: &Content) -> Result {
        self.once = report::is_quiet() && !args.json;
        let ([_, a], [_, b]) = (left.names(), right.names());
        if !self.property(json!({"what": "kind"}), a.into(), b.into()) {
            return Ok(());
        }
        if args.encoding {
            let encodings = (encoding(left), encoding(right));
            for ((name, left), (_, right)) in encodings.0.into_iter().zip(encodings.1) {
                self.property(json!({"what": name}), left, right);
            }
        }
        let (a, b) = (args.left.as_str(), args.right.as_str());
        self.attributes(&json!({}), left.attributes(a)?, right.attributes(b)?);
        match (left, right) {
            (Content::Bag(left), Content::Bag(right)) => self.records(args, left, right),
            (Content::Schunk(left), Content::Schunk(right)) => self.bytes(args, left, right),
            (Content::Array(_), _) => {
                let (left, right) = (left.parts(a), right.parts(b));
                left.iter().zip(&right).try_for_each(|(a, b)| self.items(args, a, b))
            }
            _ => self.columns(args, &left.parts(a), &right.parts(b)),
        }
    }

    fn columns(&mut self, args: &Diff, left: &[Part], right: &[Part]) -> Result {
        let names = |parts: &[Part]| parts.iter().map(|part| part.name).collect::<Value>();
        self.property(json!({"what": "columns"}), names(left), names(right));
        let rows = |parts: &[Part]| parts.first().and_then(|part| part.shape.first().copied());
        self.property(json!({"what": "rows"}), rows(left).into(), rows(right).into());
        for a in left {
            if let Some(b) = right.iter().find(|b| b.name == a.name) {
                let of = json!({"what": "", "column": a.name});
                self.attributes(&of, a.attributes()?, b.attributes()?);
                self.items(args, a, b)?;
            }
        }
        Ok(())
    }

    fn items(&mut self, args: &Diff, a: &Part, b: &Part) -> Result {
        let of = |what: &str| match a.name {
            "" => json!({"what": what}),
            name => json!({"what": what, "column": name}),
        };
        if args.encoding {
            for ((name, left), (_, right)) in encoding_of(a).into_iter().zip(encoding_of(b)) {
                self.property(of(&name), left, right);
            }
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
        if dataset::has_objects(a.array) {
            self.objects(&common, (a, args.left.as_str()), (b, args.right.as_str()), &mut found)?;
        } else {
            self.boxes(&common, a, b, a.array.item_type(), &mut found)?;
        }
        self.positions(of("items"), common.len(), found);
        Ok(())
    }

    fn boxes(
        &self,
        common: &Part,
        a: &Part,
        b: &Part,
        item: &holdall::ItemType,
        found: &mut Positions,
    ) -> Result {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for of in common.boxes(BOX) {
            a.read(&of[..], &mut left)?;
            b.read(&of[..], &mut right)?;
            if left == right {
                continue;
            }
            let size = item.size.max(1);
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

    /// Compares the pickles of Python objects.
    fn objects(
        &self,
        common: &Part,
        (a, left): (&Part, &str),
        (b, right): (&Part, &str),
        found: &mut Positions,
    ) -> Result {
        for i in 0..common.len() {
            let x = a.array.read_object(i).map_err(library(left))?;
            let y = b.array.read_object(i).map_err(library(right))?;
            if x != y {
                found.add(vec![i], || around(&x, &y));
            }
        }
        Ok(())
    }

    fn records(&mut self, args: &Diff, a: &Bag, b: &Bag) -> Result {
        self.property(json!({"what": "records"}), a.len().into(), b.len().into());
        if self.is_enough() {
            return Ok(());
        }
        let options = options::reading(&args.source.reading);
        let (left, right) = (args.left.as_str(), args.right.as_str());
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

    fn bytes(&mut self, args: &Diff, a: &Schunk, b: &Schunk) -> Result {
        self.property(json!({"what": "bytes"}), a.len().into(), b.len().into());
        let (mut at, end, mut found) = (0, a.len().min(b.len()), Positions::default());
        while at < end && !self.is_enough() && !(self.once && found.count > 0) {
            let n = (end - at).min(BOX);
            let (mut left, mut right) = (vec![0; n as usize], vec![0; n as usize]);
            a.read(at, &mut left).map_err(library(&args.left))?;
            b.read(at, &mut right).map_err(library(&args.right))?;
            if left != right {
                let pairs = (at..).zip(left.iter().zip(&right));
                for (at, (x, y)) in pairs.filter(|(_, (x, y))| x != y) {
                    found.add(vec![at], || (json!(x), json!(y)));
                }
            }
            at += n;
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

// ---- encodings

fn encoding(of: &Content) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| _ = all.insert(name.to_owned(), value);
    put("format", json!(of.names()[0]));
    match of {
        Content::Bag(bag) => {
            put("codec", json!(format!("{:?}", bag.codec())));
            put("shards", json!(bag.shards().count()));
        }
        Content::Schunk(schunk) => {
            put("chunk size", json!(schunk.chunk_size()));
            put("type size", json!(schunk.type_size()));
            put("encoding", json!(format!("{:?}", schunk.encoding())));
        }
        _ => {}
    }
    all
}

fn encoding_of(part: &Part) -> Map<String, Value> {
    let array = part.array;
    let properties = [
        ("order", json!(format!("{:?}", array.order()))),
        ("chunk shape", json!(array.chunk_shape())),
        ("block shape", json!(array.block_shape())),
        ("encoding", json!(format!("{:?}", array.encoding()))),
    ];
    properties.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}
