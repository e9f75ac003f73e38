//! Scalars: their text, and the values that they stand for.
#![forbid(unsafe_code)]

use crate::json::Value;

type Parsed<T> = std::result::Result<T, &'static str>;

const AMBIGUOUS: &str = "YAML versions read this number differently; write it in decimal notation, or put text in quotes";

/// Returns the line without its comment and the white space before it. A `#` begins a comment
/// after white space. Quotes inside of a plain scalar have no meaning.
pub fn without_comment(line: &str) -> &str {
    let mut before = 'x';
    for (i, c) in line.char_indices() {
        if c == '#' && matches!(before, ' ' | '\t') {
            return without_blanks(line.get(..i).unwrap_or(line));
        }
        before = c;
    }
    without_blanks(line)
}

/// Returns a text without the white space at its end, which is what the parser skips.
pub fn without_blanks(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\r', '\n'])
}

/// Returns the offset of the colon that ends the key of a block mapping.
pub fn find_colon(line: &str) -> Option<usize> {
    let mut colons = line.match_indices(':').map(|(i, _)| i);
    colons.find(|i| {
        let after = line.get(i + 1..).unwrap_or_default();
        after.is_empty() || after.starts_with([' ', '\t'])
    })
}

/// Returns true if a colon before this text ends a key of a flow mapping.
pub fn ends_flow_key(after: &str) -> bool {
    after.is_empty() || after.starts_with([' ', '\t', '\r', '\n', ',', '[', ']', '{', '}'])
}

/// Returns what a line break and the white space around it stand for: a space, or one line feed
/// for each empty line.
pub fn folded(gap: &str) -> String {
    match gap.matches('\n').count() {
        0 | 1 => " ".to_owned(),
        n => "\n".repeat(n - 1),
    }
}

/// Returns the value of a plain scalar.
pub fn resolve(text: &str) -> Parsed<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return Ok(Value::Bool(true));
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Ok(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" => return Ok(Value::Float(f64::NAN)),
        _ => {}
    }
    if let Some(tuple) = tuple(text) {
        return tuple;
    }
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.get(..1).unwrap_or_default(), digits),
        None => ("", text),
    };
    match digits {
        ".inf" | ".Inf" | ".INF" => Ok(Value::Float(match sign {
            "-" => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        })),
        _ if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            Ok(Value::String(text.to_owned()))
        }
        _ => number(text, digits),
    }
}

/// Returns the value of a scalar that begins like a number.
fn number(text: &str, digits: &str) -> Parsed<Value> {
    let all = |allowed: &str| digits.chars().all(|c| allowed.contains(c));
    if all("0123456789") {
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(AMBIGUOUS);
        }
        let decimal = text.strip_prefix('+').unwrap_or(text);
        return match Value::parse(decimal.as_bytes()) {
            Ok(Value::Int(n)) => Ok(Value::Int(n)),
            _ => Err("the number is too large"),
        };
    }
    let based = ["0x", "0X", "0o", "0O", "0b", "0B"];
    let is_based = based.iter().any(|prefix| {
        digits
            .strip_prefix(prefix)
            .is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_hexdigit() || c == '_'))
    });
    let is_sexagesimal = digits.contains(':') && all("0123456789_:.");
    let has_underscore = digits.contains('_') && all("0123456789_.");
    if is_based || is_sexagesimal || has_underscore {
        return Err(AMBIGUOUS);
    }
    let is_float = all("0123456789.eE+-") && digits.contains(|c: char| c.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(x) if is_float && x.is_finite() => Ok(Value::Float(x)),
        Ok(_) if is_float => Err("the number is too large"),
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// Returns the list that a Python tuple of numbers stands for; `None` if the text is not a tuple.
fn tuple(text: &str) -> Option<Parsed<Value>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?.trim();
    if inner.is_empty() {
        return Some(Ok(Value::Array(Vec::new())));
    }
    let items = inner
        .strip_suffix(',')
        .unwrap_or(inner)
        .split(',')
        .map(|item| {
            let item = item.trim();
            let digits = item.strip_prefix(['-', '+']).unwrap_or(item);
            let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
            is_number.then(|| number(item, digits))
        });
    let items: Vec<Parsed<Value>> = items.collect::<Option<_>>()?;
    if items
        .iter()
        .any(|item| matches!(item, Ok(Value::String(_))))
    {
        return None;
    }
    Some(items.into_iter().collect::<Parsed<_>>().map(Value::Array))
}

/// Parses the quoted string at the start of the text. Returns it and the number of bytes that it
/// takes. An error has the offset of the fault.
pub fn quoted(text: &str) -> std::result::Result<(String, usize), (usize, &'static str)> {
    let mut characters = text.char_indices().peekable();
    let Some((_, quote)) = characters.next() else {
        return Err((0, "a string was expected"));
    };
    let (mut own, mut escaped) = (String::new(), 0);
    while let Some((i, c)) = characters.next() {
        match c {
            '\'' if quote == '\'' => {
                if characters.next_if(|(_, c)| *c == '\'').is_none() {
                    return Ok((own, i + 1));
                }
                own.push('\'');
            }
            '"' if quote == '"' => return Ok((own, i + 1)),
            '\\' if quote == '"' => {
                let rest = text.get(i + 1..).unwrap_or_default();
                let (c, n) = escape(rest).map_err(|what| (i, what))?;
                own.extend(c);
                escaped = own.len();
                while characters.next_if(|(at, _)| *at < i + 1 + n).is_some() {}
            }
            '\n' => {
                let trimmed = own.trim_end_matches([' ', '\t', '\r']).len();
                own.truncate(trimmed.max(escaped));
                let rest = text.get(i..).unwrap_or_default();
                let gap = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
                own.push_str(&folded(rest.get(..gap).unwrap_or_default()));
                while characters.next_if(|(at, _)| *at < i + gap).is_some() {}
            }
            c => own.push(c),
        }
    }
    Err((0, "the string is not closed"))
}

/// Parses the text after a backslash. Returns the character that it stands for, if any, and the
/// number of bytes that it takes.
fn escape(text: &str) -> Parsed<(Option<char>, usize)> {
    const UNKNOWN: &str = "unknown escape sequence";
    let hex = |from: usize, n: usize| {
        let digits = text.get(from..from + n).ok_or(UNKNOWN)?;
        match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => u32::from_str_radix(digits, 16).map_err(|_| UNKNOWN),
            false => Err(UNKNOWN),
        }
    };
    let code = |n: usize| match hex(1, n)? {
        // a pair of surrogates, as in JSON
        high @ 0xd800..=0xdbff if n == 4 && text.get(5..7) == Some("\\u") => {
            let low = hex(7, 4)?.checked_sub(0xdc00).filter(|low| *low < 0x400);
            let low = low.ok_or(UNKNOWN)?;
            let c = char::from_u32(0x10000 + ((high - 0xd800) << 10) + low);
            c.map(|c| (Some(c), 11)).ok_or(UNKNOWN)
        }
        code => char::from_u32(code)
            .map(|c| (Some(c), n + 1))
            .ok_or(UNKNOWN),
    };
    let c = match text.chars().next() {
        Some('x') => return code(2),
        Some('u') => return code(4),
        Some('U') => return code(8),
        // the line continues on the next one
        Some('\n') => {
            let rest = text.get(1..).unwrap_or_default();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            return Ok((None, 1 + blanks));
        }
        Some('0') => '\0',
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('t' | '\t') => '\t',
        Some('n') => '\n',
        Some('v') => '\u{b}',
        Some('f') => '\u{c}',
        Some('r') => '\r',
        Some('e') => '\u{1b}',
        Some('N') => '\u{85}',
        Some('_') => '\u{a0}',
        Some('L') => '\u{2028}',
        Some('P') => '\u{2029}',
        Some(c @ (' ' | '"' | '/' | '\\')) => c,
        _ => return Err(UNKNOWN),
    };
    Ok((Some(c), 1))
}
