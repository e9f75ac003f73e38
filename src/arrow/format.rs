//! Arrow's types, as its C interface spells them, and fields: types with a name.
#![forbid(unsafe_code)]

use super::times::Unit;

/// A type. What has parts has them in its [`Field`].
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// Nulls, and nothing else.
    Null,
    /// One bit each.
    Bool,
    /// Whole numbers of so many bytes.
    Int {
        /// May they be negative?
        signed: bool,
        /// Bytes.
        size: usize,
    },
    /// Floating-point numbers of so many bytes.
    Float(usize),
    /// Bytes of any length.
    Variable {
        /// Are they UTF-8?
        text: bool,
        /// Where each begins.
        ends: Ends,
    },
    /// So many bytes each.
    Fixed(usize),
    /// Days since 1970, 32 bits.
    Date,
    /// Milliseconds since 1970 that are whole days.
    DateMs,
    /// 64 bits since 1970, and the zone that they are shown in.
    Timestamp(Unit, String),
    /// 64 bits of a duration.
    Duration(Unit),
    /// Months, 32 bits.
    Months,
    /// Lists of so many items.
    List(usize),
    /// Named parts.
    Struct,
}

/// How a type whose values have any length says where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Offsets of 32 bits.
    Narrow,
    /// Offsets of 64 bits.
    Wide,
    /// 16 bytes each, with a short value itself.
    View,
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type; of the numbers of the values, where there is a dictionary.
    pub format: Format,
    /// May values be missing?
    pub nullable: bool,
    /// What else is told of it.
    pub metadata: Vec<(String, String)>,
    /// Its parts.
    pub children: Vec<Field>,
    /// The values that it has the numbers of.
    pub dictionary: Option<Box<Field>>,
}

impl Field {
    /// One that has no parts and is never null.
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

    /// One of these parts.
    pub fn of(name: impl Into<String>, format: Format, children: Vec<Field>) -> Field {
        Field {
            children,
            ..Field::new(name, format)
        }
    }

    /// Its type for messages.
    pub fn words(&self) -> String {
        match (
            &self.dictionary,
            self.format == Format::Struct || matches!(self.format, Format::List(_)),
        ) {
            (Some(values), _) => format!("a dictionary of {}", values.words()),
            (None, true) => format!(
                "{:?} of {}",
                self.format.spelling(),
                self.children
                    .iter()
                    .map(Field::words)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            (None, false) => format!("{:?}", self.format.spelling()),
        }
    }
}

impl Format {
    /// The type that is spelled like this; nothing where it is none of those above.
    pub fn parse(text: &str) -> Option<Format> {
        let int = |signed, size| Format::Int { signed, size };
        let variable = |text, ends| Format::Variable { text, ends };
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
            "u" => variable(true, Ends::Narrow),
            "U" => variable(true, Ends::Wide),
            "vu" => variable(true, Ends::View),
            "z" => variable(false, Ends::Narrow),
            "Z" => variable(false, Ends::Wide),
            "vz" => variable(false, Ends::View),
            "tdD" => Format::Date,
            "tdm" => Format::DateMs,
            "tiM" => Format::Months,
            "+s" => Format::Struct,
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

    /// As C has it.
    pub fn spelling(&self) -> String {
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
            Format::Variable { text, ends } => match (ends, text) {
                (Ends::Narrow, true) => "u",
                (Ends::Narrow, false) => "z",
                (Ends::Wide, true) => "U",
                (Ends::Wide, false) => "Z",
                (Ends::View, true) => "vu",
                (Ends::View, false) => "vz",
            },
            Format::Fixed(n) => return format!("w:{n}"),
            Format::Date => "tdD",
            Format::DateMs => "tdm",
            Format::Timestamp(unit, zone) => return format!("ts{}:{zone}", unit.letter()),
            Format::Duration(unit) => return format!("tD{}", unit.letter()),
            Format::Months => "tiM",
            Format::List(n) => return format!("+w:{n}"),
            Format::Struct => "+s",
        };
        plain.to_owned()
    }

    /// How many buffers a value of it has, the one that tells nulls among them; those of views
    /// differ.
    pub fn buffers(&self) -> usize {
        match self {
            Format::Null => 0,
            Format::Struct | Format::List(_) => 1,
            Format::Variable { .. } => 3,
            _ => 2,
        }
    }
}
