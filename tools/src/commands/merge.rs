//! `holdall merge`: several containers of a kind into one.

use super::convert::by_name;
use crate::array::convert::format_of;
use crate::cli::groups::BagCopy;
use crate::cli::operands;
use crate::cli::usage::Usage;
use crate::content::{Content, columns, joined};
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::report::{self, plural};
use crate::rows::frame::{Stored, Takes};
use crate::rows::target::Target;
use crate::superchunk::source::Damage;
use crate::{array, bag, options, progress, signals};
use crate::{create, failure, usage};
use holdall::{Array, ArrayLayout, Format, Options, Table};

pub fn run(args: &BagCopy, usage: &Usage) -> Result<Exit> {
    let (inputs, out) = operands(&args.paths, &args.output)?;
    if out.is_standard() {
        return Err(usage!("merge writes files: not to '-'"));
    }
    if let Some(input) = inputs.iter().find(|input| detect::is_missing(input)) {
        holdall::identify(input).map_err(library(input))?;
    }
    let kinds: Vec<Container> = inputs.iter().map(|input| detect::container(input, None)).collect();
    let odd = kinds.iter().zip(inputs).find(|(kind, _)| **kind != kinds[0]);
    if let Some((kind, input)) = odd {
        return Err(usage!(
            "'{}' is a {}, and '{input}' is a {}",
            inputs[0],
            kinds[0].name(),
            kind.name()
        ));
    }
    usage.fit(kinds[0].name())?;
    let reading = options::reading(&args.reading);
    match kinds[0] {
        Container::Bag if !detect::known_ending(out, &[".bag", ".bagz"]) => {
            Err(usage!("'{out}' is not a name of a bag: .bagz, .bag or none"))
        }
        Container::Bag => bag::merge::run(args, inputs, out),
        Container::Dataset => {
            let open = |input| Ok((input, Content::dataset(input, None, &reading)?));
            datasets(args, inputs.iter().map(open).collect::<Result<_>>()?, out)
        }
        Container::Store => Err(detect::refuse_store(&inputs[0])),
        Container::Superchunk => {
            Err(usage!("merge takes bags, arrays or tables, and '{}' is a superchunk", inputs[0]))
        }
    }
}

/// Concatenates arrays along their first dimension, or the rows of tables. The result has the
/// format, the chunks and the attributes of the first one.
fn datasets(args: &BagCopy, datasets: Vec<(&FileName, Content)>, out: &FileName) -> Result<Exit> {
    let (first_path, first) = &datasets[0];
    let format = first.format();
    for (path, dataset) in &datasets {
        if type_of(dataset) != type_of(first) || dataset.format() != format {
            let (this, other) = (described(dataset), described(first));
            return Err(failure!("{path}: it is {this}, and {first_path} is {other}"));
        }
    }
    let named = by_name(out);
    if named.is_some_and(|to| format_of(to) != Some(format)) || detect::is_named_bag(out) {
        let format = detect::format_name(format);
        return Err(usage!("'{out}' is not a name of {format}, the format of '{first_path}'"));
    }
    signals::catch();
    progress::begin("merge");
    let mut merged = create(args, (first_path, first), out)?;
    if format != Format::Bloscpack {
        array::attributes::copy((first, first_path), (&mut merged, out))?;
    }
    let all: u64 = datasets.iter().map(|(_, dataset)| dataset.len()).sum();
    let mut target = Target::all(out, merged);
    for (path, dataset) in &datasets {
        let stored = Stored::of(path, dataset, None, None, Takes::Nothing)?;
        stored.each(&mut Damage::new(path), |batch| {
            target.take(&stored.frame, batch)?;
            match progress::report(target.rows, all) {
                true => Ok(()),
                false => Err(Failure::Stopped),
            }
        })?;
    }
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    target.commit()?;
    progress::end();
    let (n, s) = (datasets.len(), plural(datasets.len() as u64));
    let what = if first.table().is_some() { "table" } else { "array" };
    report::note(&format!("{out}: {all} row{} of {n} {what}{s} merged", plural(all)));
    Ok(Exit::Done)
}

/// The types of the columns, or of the items and the shape of a row.
fn type_of(dataset: &Content) -> Vec<(String, String)> {
    let row = |array: &Array| {
        let shape = array.shape().get(1..).unwrap_or_default();
        format!("{} {shape:?}", array.dtype())
    };
    let columns = dataset.table().into_iter().flat_map(columns);
    let all = dataset.array().map(|array| ("", array)).into_iter().chain(columns);
    all.map(|(name, array)| (name.to_owned(), row(array))).collect()
}

fn described(dataset: &Content) -> String {
    let types = type_of(dataset).into_iter();
    let types: Vec<String> = types.map(|(name, row)| format!("{name} {row}")).collect();
    let kind = if dataset.table().is_some() { "a table" } else { "an array" };
    let format = detect::format_name(dataset.format());
    format!("{kind} of {format} with rows of{}", types.join(","))
}

/// Creates a dataset without rows, which appears with its commit.
fn create(args: &BagCopy, (path, like): (&FileName, &Content), out: &FileName) -> Result<Content> {
    let options = options::given(Options::new(), args.reading.threads, Options::threads);
    let (options, force) = (&options::sync(options, &args.sync), args.output.force);
    let format = like.format();
    if let Some(table) = like.table() {
        let types: Vec<(&str, String)> =
            columns(table).map(|(name, column)| (name, dtype(column))).collect();
        let types: Vec<(&str, &str)> = types.iter().map(|(n, t)| (*n, &t[..])).collect();
        return create!(Table, out, force, format, &types, options).map(Content::Table);
    }
    let array = like.array().filter(|array| !array.shape().is_empty());
    let array = array.ok_or_else(|| failure!("{path}: an array without dimensions has no rows"))?;
    let shape = [&[0], array.shape().get(1..).unwrap_or_default()].concat();
    let mut layout = ArrayLayout::new(format).chunks(array.chunk_shape());
    if detect::is_frame(format) {
        layout = layout.blocks(array.block_shape());
    }
    create!(Array, out, force, &array.dtype(), &shape, &layout, options).map(Content::Array)
}

/// The type of a column, with the shape of its items.
fn dtype(column: &Array) -> String {
    match column.shape().get(1..).unwrap_or_default() {
        [] => column.dtype(),
        shape => format!("({},){}", joined(shape, ","), column.dtype()),
    }
}
