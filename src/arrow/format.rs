//! Arrow types, as format strings of the C data interface, and fields, which are types with a name.
#![forbid(unsafe_code)]

use super::time_units::Unit;

/// An Arrow type. The children of a nested type are in its [`Field`].
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// Only nulls.
    Null,
    /// Booleans, one bit each.
    Bool,
    /// Integers.
    Int {
        /// Whether the integers are signed.
        signed: bool,
        /// The size in bytes.
        size: usize,
    },
    /// Floating-point numbers of a size in bytes.
    Float(usize),
    /// Byte strings of variable length.
    Variable {
        /// Whether the bytes are UTF-8.
        text: bool,
        /// How the positions of the values are stored.
        layout: OffsetLayout,
    },
    /// Byte strings of a fixed size.
    Fixed(usize),
    /// Days since 1970, 32 bits.
    Date,
    /// Milliseconds since 1970, 64 bits, in whole days.
    DateMs,
    /// Time since 1970, 64 bits, and the time zone for display.
    Timestamp(Unit, String),
    /// Durations, 64 bits.
    Duration(Unit),
    /// Months, 32 bits.
    Months,
    /// Lists of a fixed number of items.
    List(usize),
    /// Lists of any number of items, with offsets of 32 or 64 bits.
    VariableList(OffsetLayout),
    /// Structures of named fields.
    Struct,
}

/// How a type of variable length stores the positions of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetLayout {
    /// 32-bit offsets.
    Offsets32,
    /// 64-bit offsets.
    Offsets64,
    /// Views of 16 bytes, which contain short values themselves.
    View,
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type, or the index type of a dictionary.
    pub format: Format,
    /// Whether values may be null.
    pub nullable: bool,
    /// Key-value metadata.
    pub metadata: Vec<(String, String)>,
    /// The child fields.
    pub children: Vec<Field>,
    /// The values of a dictionary.
    pub dictionary: Option<Box<Field>>,
}

impl Field {
    /// Creates a field without children and nulls.
    pub fn new(name: impl Into<String>, format: Format) -> Field {
        Field {
            name: name.into(),
            format,
            nullable: false,
            metadata: Vec::new(),
            children: Vec::new(),
            dictionary: None,
        }
    }

    /// Creates a field with children.
    pub fn of(name: impl Into<String>, format: Format, children: Vec<Field>) -> Field {
        Field {
            children,
            ..Field::new(name, format)
        }
    }

    /// Returns a description of the type for messages.
    pub fn describe(&self) -> String {
        match (
            &self.dictionary,
            matches!(
                self.format,
                Format::Struct | Format::List(_) | Format::VariableList(_)
            ),
        ) {
            (Some(values), _) => format!("a dictionary of {}", values.describe()),
            (None, true) => format!(
                "{:?} of {}",
                self.format.format_string(),
                self.children
                    .iter()
                    .map(Field::describe)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            (None, false) => format!("{:?}", self.format.format_string()),
        }
    }
}

impl Format {
    /// Parses a format string. Returns `None` for a type that is not supported.
    pub fn parse(text: &str) -> Option<Format> {
        let int = |signed, size| Format::Int { signed, size };
        let variable = |text, layout| Format::Variable { text, layout };
        Some(match text {
            "n" => Format::Null,
            "b" => Format::Bool,
            "c" => int(true, 1),
            "C" => int(false, 1),
            "s" => int(true, 2),
            "S" => int(false, 2),
            "i" => int(true, 4),
            "I" => int(false, 4),
            "l" => int(true, 8),
            "L" => int(false, 8),
            "e" => Format::Float(2),
            "f" => Format::Float(4),
            "g" => Format::Float(8),
            "u" => variable(true, OffsetLayout::Offsets32),
            "U" => variable(true, OffsetLayout::Offsets64),
            "vu" => variable(true, OffsetLayout::View),
            "z" => variable(false, OffsetLayout::Offsets32),
            "Z" => variable(false, OffsetLayout::Offsets64),
            "vz" => variable(false, OffsetLayout::View),
            "tdD" => Format::Date,
            "tdm" => Format::DateMs,
            "tiM" => Format::Months,
            "+s" => Format::Struct,
            "+l" => Format::VariableList(OffsetLayout::Offsets32),
            "+L" => Format::VariableList(OffsetLayout::Offsets64),
            _ => return Format::parse_parameters(text),
        })
    }

    fn parse_parameters(text: &str) -> Option<Format> {
        if let Some(n) = text.strip_prefix("w:") {
            return n.parse().ok().map(Format::Fixed);
        }
        if let Some(n) = text.strip_prefix("+w:") {
            return n.parse().ok().map(Format::List);
        }
        let (unit, zone) = match text.strip_prefix("ts") {
            Some(rest) => rest
                .split_once(':')
                .map(|(unit, zone)| (unit, Some(zone)))?,
            None => (text.strip_prefix("tD")?, None),
        };
        let unit = Unit::parse(unit)?;
        Some(zone.map_or(Format::Duration(unit), |zone| {
            Format::Timestamp(unit, zone.to_owned())
        }))
    }

    /// Returns the format string.
    pub fn format_string(&self) -> String {
        let plain = match self {
            Format::Null => "n",
            Format::Bool => "b",
            Format::Int { signed, size } => match (size, signed) {
                (1, true) => "c",
                (1, false) => "C",
                (2, true) => "s",
                (2, false) => "S",
                (4, true) => "i",
                (4, false) => "I",
                (_, true) => "l",
                (_, false) => "L",
            },
            Format::Float(2) => "e",
            Format::Float(4) => "f",
            Format::Float(_) => "g",
            Format::Variable { text, layout } => match (layout, text) {
                (OffsetLayout::Offsets32, true) => "u",
                (OffsetLayout::Offsets32, false) => "z",
                (OffsetLayout::Offsets64, true) => "U",
                (OffsetLayout::Offsets64, false) => "Z",
                (OffsetLayout::View, true) => "vu",
                (OffsetLayout::View, false) => "vz",
            },
            Format::Fixed(n) => return format!("w:{n}"),
            Format::Date => "tdD",
            Format::DateMs => "tdm",
            Format::Timestamp(unit, zone) => return format!("ts{}:{zone}", unit.letter()),
            Format::Duration(unit) => return format!("tD{}", unit.letter()),
            Format::Months => "tiM",
            Format::List(n) => return format!("+w:{n}"),
            Format::VariableList(OffsetLayout::Offsets64) => "+L",
            Format::VariableList(_) => "+l",
            Format::Struct => "+s",
        };
        plain.to_owned()
    }

    /// Returns the number of buffers of an array of the type, including the validity bitmap. Arrays
    /// of views may have more.
    pub fn buffers(&self) -> usize {
        match self {
            Format::Null => 0,
            Format::Struct | Format::List(_) => 1,
            Format::Variable { .. } => 3,
            _ => 2,
        }
    }
}
