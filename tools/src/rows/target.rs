//! Where rows go: a new table or array, or a table that is there. Nothing is durable or visible
//! before the commit.

use super::frame::{Batch, Column, Frame};
use crate::array::convert::layout;
use crate::cli::Convert;
use crate::content::Content;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::report::plural;
use crate::{create, detect, failure, options};
use holdall::{Array, Format, Options, Table, Values};

pub struct Target {
    pub path: FileName,
    pub content: Content,
    /// Which column of the frame each column of the table is.
    order: Vec<usize>,
    /// Rows of an array with fields, packed.
    packed: Vec<u8>,
    /// The row of a table before which rows are inserted; otherwise they are appended.
    pub before: Option<u64>,
    /// Rows taken so far.
    pub rows: u64,
}

impl Target {
    fn of(path: &FileName, content: Content, order: Vec<usize>) -> Target {
        let path = path.clone();
        Target { path, content, order, packed: Vec::new(), before: None, rows: 0 }
    }

    /// Takes rows with all columns of a container, in its order.
    pub fn all(path: &FileName, content: Content) -> Target {
        let columns = content.table().map_or(1, |table| table.column_names().count());
        Target::of(path, content, (0..columns).collect())
    }

    /// Creates a table or, for rows of an array and for formats without tables, an array, whose
    /// items then have fields. `rows` are going to be taken.
    pub fn create(
        frame: &Frame,
        path: &FileName,
        format: Format,
        rows: u64,
        args: &Convert,
    ) -> Result<Target> {
        let file = format == Format::Bloscpack || detect::is_frame(format);
        let mut options = options::converting(args)?;
        if !file {
            options = options.expected_rows(rows.min(i64::MAX as u64));
        }
        let content = if frame.bare || file {
            create_array(frame, path, format, args, &options).map(Content::Array)
        } else {
            create_table(frame, path, format, args, &options).map(Content::Table)
        };
        Ok(Target::all(path, content?))
    }

    /// Takes rows of the frame that are appended to a table, whose columns are `expected`. `source`
    /// names the rows in messages.
    pub fn append(
        frame: &Frame,
        expected: &Frame,
        (path, content): (&FileName, Content),
        source: &FileName,
    ) -> Result<Target> {
        let (found, count) = (frame.columns.len(), expected.columns.len());
        if frame.bare || found != count {
            let columns = plural(found as u64);
            return Err(failure!(
                "{source}: there are {found} column{columns}, and the table has {count}"
            ));
        }
        let find = |column: &Column| {
            let same = |other: &Column| other.name == column.name;
            let i = frame.columns.iter().position(same);
            let fits = |i: &usize| frame.columns[*i].row_type() == column.row_type();
            i.filter(fits).ok_or_else(|| {
                let (name, dtype) = (&column.name, &column.item);
                failure!("{source}: expected rows of column '{name}', {dtype}")
            })
        };
        let order = expected.columns.iter().map(find).collect::<Result<_>>()?;
        Ok(Target::of(path, content, order))
    }

    /// Takes rows.
    pub fn take(&mut self, frame: &Frame, batch: &Batch) -> Result {
        let rows = batch.rows as u64;
        let column = |i: usize| batch.columns.get(i).copied().unwrap_or_default();
        let taken = match &mut self.content {
            Content::Table(table) => {
                let texts = self.order.iter().map(|i| batch.texts(frame, *i));
                let texts = texts.collect::<Vec<_>>();
                let values = self.order.iter().zip(&texts).map(|(i, texts)| match texts {
                    Some(texts) => Values::from(texts.as_slice()),
                    None => Values::bytes(column(*i)),
                });
                let values = values.collect::<Vec<_>>();
                match self.before {
                    Some(row) => table.insert(row.saturating_add(self.rows), rows, &values),
                    None => table.append(rows, &values),
                }
            }
            Content::Array(array) if frame.bare => array.append_bytes(0, rows, column(0)),
            Content::Bag(_) | Content::Schunk(_) => Ok(()),
            Content::Array(array) => {
                self.packed.clear();
                for at in 0..batch.rows {
                    batch.put_row(frame, at, &mut self.packed);
                }
                array.append_bytes(0, rows, &self.packed)
            }
        };
        self.rows += rows;
        taken.map_err(library(&self.path))
    }

    pub fn commit(&mut self) -> Result {
        self.content.commit(&self.path)
    }
}

fn create_table(
    frame: &Frame,
    path: &FileName,
    format: Format,
    args: &Convert,
    options: &Options,
) -> Result<Table> {
    if args.layout.chunks.is_some() {
        return Err(failure!("{path}: --chunks is for arrays, and this becomes a table"));
    }
    let dtype = |column: &Column| column.row_type().to_string();
    let dtypes: Vec<String> = frame.columns.iter().map(dtype).collect();
    let names = frame.columns.iter().map(|column| column.name.as_str());
    let columns: Vec<(&str, &str)> = names.zip(dtypes.iter().map(String::as_str)).collect();
    create!(Table, path, args.output.force, format, &columns, options)
}

fn create_array(
    frame: &Frame,
    path: &FileName,
    format: Format,
    args: &Convert,
    options: &Options,
) -> Result<Array> {
    let (mut shape, dtype) = (vec![0], frame.row_type().to_string());
    if let (true, Some(column)) = (frame.bare, frame.columns.first()) {
        shape.extend(column.shape.iter().map(|n| *n as u64));
    }
    let layout = layout(args, format, path, shape.len())?;
    create!(Array, path, args.output.force, &dtype, &shape, &layout, options)
}
