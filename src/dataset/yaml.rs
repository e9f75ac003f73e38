//! The subset of YAML that the BLZ RFC uses for the files in `meta`: mappings, nested by
//! indentation; lists in brackets; Python tuples; comments.
//!
//! The result is the value that the equivalent JSON would have. Text that begins like JSON is
//! refused.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::json::Value;

/// Maximum depth of nested mappings and of nested lists.
const DEPTH: usize = 16;

/// Parses a mapping.
pub fn parse(text: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(text)
        .map_err(|e| fail!(Format, "invalid YAML: the file is not UTF-8 text: {e}"))?;
    let lines = text
        .lines()
        .map(without_comment)
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty() && *l != "---");
    let lines: Vec<Line> = lines
        .map(|(i, l)| Line::parse(i + 1, l))
        .collect::<Result<_>>()?;
    let (value, rest) = mapping(&lines, DEPTH)?;
    match rest.first() {
        None => Ok(value),
        Some(line) => Err(line.wrong("wrong indentation")),
    }
}

/// One line: its indentation, name and value.
struct Line<'a> {
    number: usize,
    indent: usize,
    name: &'a str,
    value: &'a str,
}

impl<'a> Line<'a> {
    fn parse(number: usize, text: &'a str) -> Result<Line<'a>> {
        let own = text.trim_start_matches(' ');
        let indent = text.len() - own.len();
        let none = || {
            fail!(
                Format,
                "invalid YAML: line {number}: a name and a colon were expected"
            )
        };
        let (name, value) = own.split_once(':').ok_or_else(none)?;
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let separated = value.is_empty() || value.starts_with([' ', '\t']);
        if name.is_empty() || !name.chars().all(plain) || !separated {
            return Err(none());
        }
        Ok(Line {
            number,
            indent,
            name,
            value: value.trim(),
        })
    }

    fn wrong(&self, what: &str) -> Error {
        fail!(Format, "invalid YAML: line {}: {what}", self.number)
    }
}

/// Returns the line without its comment. A `#` begins a comment at the start of the line or after
/// white space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    let mut quote = None;
    for (i, c) in line.char_indices() {
        match (c, quote) {
            ('#', None) if before.is_whitespace() => {
                return line.get(..i).unwrap_or(line).trim_end();
            }
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
        before = c;
    }
    line.trim_end()
}

/// Parses the lines that have the indentation of the first one, and the more deeply indented lines
/// below them. Returns the remaining lines as well.
fn mapping<'l, 't>(lines: &'l [Line<'t>], depth: usize) -> Result<(Value, &'l [Line<'t>])> {
    let (mut items, mut rest) = (Vec::new(), lines);
    let Some(indent) = rest.first().map(|l| l.indent) else {
        return Err(fail!(Format, "invalid YAML: the file is empty"));
    };
    while let Some((line, after)) = rest.split_first().filter(|(l, _)| l.indent == indent) {
        let inner = after.first().is_some_and(|l| l.indent > indent);
        let value;
        (value, rest) = match depth.checked_sub(1) {
            _ if !line.value.is_empty() => (
                scalar_or_list(line.value).map_err(|what| line.wrong(what))?,
                after,
            ),
            Some(depth) if inner => mapping(after, depth)?,
            None if inner => return Err(line.wrong("mappings are nested too deeply")),
            _ => (Value::Null, after),
        };
        items.push((line.name.to_owned(), value));
    }
    Ok((Value::Object(items), rest))
}

fn scalar_or_list(text: &str) -> std::result::Result<Value, &'static str> {
    match flow(text, DEPTH)? {
        (value, "") => Ok(value),
        _ => Err("there is text after the value"),
    }
}

/// Parses one value and returns the text after it.
fn flow(text: &str, depth: usize) -> std::result::Result<(Value, &str), &'static str> {
    let mut characters = text.chars();
    let open = characters.next();
    let Some(close) = [('[', ']'), ('(', ')')]
        .into_iter()
        .find(|(o, _)| open == Some(*o))
        .map(|(_, c)| c)
    else {
        return Ok(if depth == DEPTH {
            (scalar(text)?, "")
        } else {
            in_list(text)?
        });
    };
    let depth = depth.checked_sub(1).ok_or("lists are nested too deeply")?;
    let (mut items, mut rest) = (Vec::new(), characters.as_str().trim_start());
    loop {
        if let Some(after) = rest.strip_prefix(close) {
            return Ok((Value::Array(items), after.trim_start()));
        }
        let (item, after) = flow(rest, depth)?;
        items.push(item);
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.starts_with(close) => after,
            None => return Err("the list is not closed"),
        };
    }
}

fn in_list(text: &str) -> std::result::Result<(Value, &str), &'static str> {
    let end = match text.chars().next() {
        Some(q @ ('"' | '\'')) => text
            .get(1..)
            .and_then(|t| t.find(q))
            .map(|n| n + 2)
            .ok_or("the string is not closed")?,
        _ => text.find([',', ']', ')']).unwrap_or(text.len()),
    };
    let (own, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Ok((scalar(own.trim())?, rest.trim_start()))
}

/// Parses numbers and other scalars as JSON does; everything else is text.
fn scalar(text: &str) -> std::result::Result<Value, &'static str> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted
            .strip_suffix('\'')
            .map(|t| Value::String(t.to_owned()))
            .ok_or("the string is not closed");
    }
    match Value::parse(text.as_bytes()) {
        Ok(value @ (Value::Array(_) | Value::Object(_))) => Ok(value),
        Ok(value) => Ok(value),
        Err(_)
            if text.is_empty()
                || text.starts_with(['"', '{', '[', '&', '*', '!', '|', '>', '%', '@']) =>
        {
            Err("a value was expected")
        }
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn the_examples_of_the_rfc_are_parsed() {
        let text = "dtype: \n  col1: int8\n  col2: '>f4'\nchunkshape: (30, 20)\nsuperchunksize: 10  # max. number of chunks\n\
                    endianness: big\n\n# more\ncompression:\n  library: blosclz\n  filters: [shuffle, [1, \"a, b\"]]\nshape: (5000000000,)\nlast:\n";
        let expected = r#"{"dtype":{"col1":"int8","col2":">f4"},"chunkshape":[30,20],"superchunksize":10,"endianness":"big",
            "compression":{"library":"blosclz","filters":["shuffle",[1,"a, b"]]},"shape":[5000000000],"last":null}"#;
        assert_eq!(
            parse(text.as_bytes()).unwrap(),
            Value::parse(expected.as_bytes()).unwrap()
        );
    }

    #[test]
    fn invalid_text_is_refused() {
        let deep = |open: &str| format!("a: {}", open.repeat(100_000));
        let nested: String = (0..1000)
            .map(|i| format!("{}a:\n", " ".repeat(i)))
            .collect();
        for text in [
            "",
            "a",
            "{\"a\": 1}",
            "\"a\": 1",
            "a: [1, 2",
            "a: (1 2]",
            "a: 1\n  b: 2",
            "  a: 1\nb: 2",
            "a:1",
            ": 1",
            "a: 'b",
            "a: \"b",
            "a: {b",
            "- a",
            "a: [[1]",
            "a: [1]]",
            &deep("["),
            &deep("("),
            &nested,
        ] {
            assert_eq!(
                parse(text.as_bytes()).unwrap_err().status,
                Status::Format,
                "{text:.40}"
            );
        }
        assert!(parse(&[b'a', b':', b' ', 0xff]).is_err());
    }
}
