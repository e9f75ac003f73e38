//! As much of YAML as the bcolz paper shows for the files in `meta`: names with values, some of
//! which are names with values again, deeper in; lists in brackets; tuples, as Python has them;
//! comments.
//!
//! What it yields is what JSON would. Text that begins as JSON does is none of this, and is
//! refused.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::json::Value;

/// Levels of names and of lists.
const DEPTH: usize = 16;

/// Reads a text of names and values.
pub fn parse(text: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(text)
        .map_err(|e| fail!(Format, "YAML was expected, this is no text: {e}"))?;
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
        Some(line) => Err(line.wrong("it stands where nothing can")),
    }
}

/// One line: how far it is in, and its two parts.
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
                "YAML: line {number}: a name and a colon were expected"
            )
        };
        let (name, value) = own.split_once(':').ok_or_else(none)?;
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let apart = value.is_empty() || value.starts_with([' ', '\t']);
        if name.is_empty() || !name.chars().all(plain) || !apart {
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
        fail!(Format, "YAML: line {}: {what}", self.number)
    }
}

/// A line up to the sign of a comment, which stands at its beginning or behind space.
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

/// The lines that are as far in as the first one, with what is deeper in below them; and the lines
/// behind.
fn mapping<'l, 't>(lines: &'l [Line<'t>], depth: usize) -> Result<(Value, &'l [Line<'t>])> {
    let (mut items, mut rest) = (Vec::new(), lines);
    let Some(indent) = rest.first().map(|l| l.indent) else {
        return Err(fail!(Format, "YAML: there is nothing"));
    };
    while let Some((line, behind)) = rest.split_first().filter(|(l, _)| l.indent == indent) {
        let inner = behind.first().is_some_and(|l| l.indent > indent);
        let value;
        (value, rest) = match depth.checked_sub(1) {
            _ if !line.value.is_empty() => (
                scalar_or_list(line.value).map_err(|what| line.wrong(what))?,
                behind,
            ),
            Some(depth) if inner => mapping(behind, depth)?,
            None if inner => return Err(line.wrong("it is too deep in")),
            _ => (Value::Null, behind),
        };
        items.push((line.name.to_owned(), value));
    }
    Ok((Value::Object(items), rest))
}

fn scalar_or_list(text: &str) -> std::result::Result<Value, &'static str> {
    match flow(text, DEPTH)? {
        (value, "") => Ok(value),
        _ => Err("something stands behind its value"),
    }
}

/// One value and what is behind it.
fn flow(text: &str, depth: usize) -> std::result::Result<(Value, &str), &'static str> {
    let open = text.chars().next();
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
    let depth = depth.checked_sub(1).ok_or("its lists are too deep")?;
    let (mut items, mut rest) = (Vec::new(), text.get(1..).unwrap_or_default().trim_start());
    loop {
        if let Some(behind) = rest.strip_prefix(close) {
            return Ok((Value::Array(items), behind.trim_start()));
        }
        let (item, behind) = flow(rest, depth)?;
        items.push(item);
        rest = match behind.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if behind.starts_with(close) => behind,
            None => return Err("its list has no end"),
        };
    }
}

fn in_list(text: &str) -> std::result::Result<(Value, &str), &'static str> {
    let end = match text.chars().next() {
        Some(q @ ('"' | '\'')) => text
            .get(1..)
            .and_then(|t| t.find(q))
            .map(|n| n + 2)
            .ok_or("its text has no end")?,
        _ => text.find([',', ']', ')']).unwrap_or(text.len()),
    };
    let (own, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Ok((scalar(own.trim())?, rest.trim_start()))
}

/// Numbers and the like as in JSON; all else is text.
fn scalar(text: &str) -> std::result::Result<Value, &'static str> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted
            .strip_suffix('\'')
            .map(|t| Value::String(t.to_owned()))
            .ok_or("its text has no end");
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
    fn what_the_paper_shows_is_read() {
        let text = "dtype: \n  col1: int8\n  col2: '>f4'\nchunkshape: (30, 20)\nsuperchunksize: 10  # max. number of chunks\n\
                    endianness: big\n\n# more\ncompression:\n  library: blosclz\n  filters: [shuffle, [1, \"a, b\"]]\nshape: (5000000000,)\nlast:\n";
        let want = r#"{"dtype":{"col1":"int8","col2":">f4"},"chunkshape":[30,20],"superchunksize":10,"endianness":"big",
            "compression":{"library":"blosclz","filters":["shuffle",[1,"a, b"]]},"shape":[5000000000],"last":null}"#;
        assert_eq!(
            parse(text.as_bytes()).unwrap(),
            Value::parse(want.as_bytes()).unwrap()
        );
    }

    #[test]
    fn other_text_is_refused() {
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
