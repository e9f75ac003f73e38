//! Creates tables of Arrow streams: for each field a column that can hold all its values, and in CTables
//! nulls if the field may have them.
#![forbid(unsafe_code)]

use super::append::schema_of_columns;
use super::ffi::Stream;
use super::format::{Field, Format as ArrowType};
use crate::array::NewLocation;
use crate::dtype::packed::PackedType;
use crate::dtype::{Dtype, Kind, Type};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::options::Options;
use crate::superchunk::bloscpack::Mode;
use crate::table::{LongKind, NewColumn, NullRule, Table, long_entry};

impl Table {
    /// Creates a table with the columns and the rows of a stream, and commits it.
    pub fn from_arrow(
        to: NewLocation,
        mode: Mode,
        format: Format,
        mut stream: Stream,
        options: &Options,
    ) -> Result<Table> {
        let schema = schema_of_columns(&mut stream)?;
        let column = |field| column(field, format, options);
        let columns: Vec<NewColumn> = schema.children.iter().map(column).collect::<Result<_>>()?;
        let mut table = Table::create_with(to, mode, format, &columns, options)?;
        table.append_arrow(stream)?;
        table.commit()?;
        Ok(table)
    }
}

/// What a column has.
enum Content {
    Items(Type),
    Long(LongKind),
}

fn column<'a>(field: &'a Field, format: Format, options: &Options) -> Result<NewColumn<'a>> {
    let content = content(field).filter(|content| match content {
        Content::Items(_) => true,
        Content::Long(_) => format == Format::CTable,
    });
    let content = content.ok_or_else(|| {
        fail!(
            Unsupported,
            "column {:?}: a table of the format {format:?} has no columns of the type {}",
            field.name,
            field.describe()
        )
    })?;
    let (item, nulls, entry) = match content {
        Content::Items(item) => {
            let may_be_null = field.nullable && format == Format::CTable;
            let is_row = matches!(item.kind, Kind::Array(..));
            let nulls = (may_be_null && !is_row).then(NullRule::new_mask);
            (item, nulls, None)
        }
        Content::Long(kind) => {
            let entry = long_entry(&kind, field.nullable);
            (Dtype::text().item, None, Some(entry))
        }
    };
    let dtype = Dtype {
        spelling: String::new(),
        item,
    };
    Ok(NewColumn {
        name: &field.name,
        dtype: Dtype {
            spelling: dtype.to_python_literal(),
            ..dtype
        },
        nulls,
        entry,
        options: options.clone(),
    })
}

fn content(field: &Field) -> Option<Content> {
    if let Some(values) = &field.dictionary {
        return match content(values)? {
            Content::Long(LongKind::Utf8) => Some(Content::Long(LongKind::Dictionary)),
            content => Some(content),
        };
    }
    let long = match &field.format {
        ArrowType::Variable { text: true, .. } => LongKind::Utf8,
        ArrowType::Variable { .. } | ArrowType::Fixed(_) => LongKind::Bytes,
        ArrowType::VariableList(_) | ArrowType::Struct => LongKind::Packed(packed(field)?),
        _ => return item(field).map(Content::Items),
    };
    Some(Content::Long(long))
}

/// Returns the type of items of fixed length.
fn item(mut field: &Field) -> Option<Type> {
    let mut shape = Vec::new();
    while let ArrowType::List(n) = field.format {
        shape.push(n as u64);
        field = field.children.first()?;
    }
    let spelling = match &field.format {
        ArrowType::Bool => "|b1".to_owned(),
        ArrowType::Int { signed, size } => {
            format!("<{}{size}", if *signed { 'i' } else { 'u' })
        }
        ArrowType::Float(size @ (4 | 8)) => format!("<f{size}"),
        ArrowType::Timestamp(unit, _) => format!("<M8[{}]", unit.name()),
        _ => return None,
    };
    let item = Dtype::parse(&spelling).ok()?.item;
    match shape.is_empty() {
        true => Some(item),
        false => item.in_shape(&shape).ok(),
    }
}

/// Returns the type of values of lists and structures.
fn packed(field: &Field) -> Option<PackedType> {
    if let Some(values) = &field.dictionary {
        return packed(values);
    }
    Some(match &field.format {
        ArrowType::Bool => PackedType::Bool,
        &ArrowType::Int { signed, size } => PackedType::Int { signed, size },
        ArrowType::Float(size @ (4 | 8)) => PackedType::Float(*size),
        ArrowType::Variable { text: true, .. } => PackedType::Text,
        ArrowType::Variable { .. } | ArrowType::Fixed(_) => PackedType::Bytes,
        ArrowType::Timestamp(unit, _) => PackedType::Time(unit.name().to_owned()),
        ArrowType::VariableList(_) | ArrowType::List(_) => {
            PackedType::List(Box::new(packed(field.children.first()?)?))
        }
        ArrowType::Struct => {
            let fields = field.children.iter().map(|field| {
                let of = packed(field)?;
                Some((field.name.clone(), of))
            });
            PackedType::Struct(fields.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
