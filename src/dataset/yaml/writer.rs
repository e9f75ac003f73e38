//! Writes YAML that all versions of YAML, PyYAML included, read alike.
#![forbid(unsafe_code)]

use super::scalar;
use crate::json::{Quoted, Value};

/// Returns a mapping as YAML in ASCII: a line for each value, and nested mappings by indentation.
pub fn to_yaml(mapping: &Value) -> String {
    let mut text = String::new();
    match mapping {
        Value::Object(items) if !items.is_empty() => block(items, 0, &mut text),
        // the marker distinguishes it from JSON
        other => text = format!("---\n{}\n", flow(other)),
    }
    text
}

fn block(items: &[(String, Value)], indentation: usize, text: &mut String) {
    for (key, value) in items {
        text.push_str(&format!("{:indentation$}{}:", "", string(key)));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                block(inner, indentation + 2, text);
            }
            value => text.push_str(&format!(" {}\n", flow(value))),
        }
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(items) => {
            let pair = |(key, value): &(String, Value)| format!("{}: {}", string(key), flow(value));
            format!(
                "{{{}}}",
                items.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
        Value::String(text) => string(text),
        Value::Float(x) if x.is_nan() => ".nan".to_owned(),
        Value::Float(x) if x.is_infinite() => if *x > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        Value::Float(x) => float(*x),
        other => other.to_string(),
    }
}

/// Formats a number with a point and a signed exponent, which YAML 1.1 requires.
fn float(x: f64) -> String {
    let text = format!("{x:?}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

/// Formats a string: a word as it is, everything else in double quotes.
fn string(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        // booleans for some readers
        && !matches!(text, "y" | "Y" | "n" | "N")
        && matches!(scalar::resolve(text), Ok(Value::String(_)));
    if is_word {
        return text.to_owned();
    }
    let quoted = |c: char| match c as u32 {
        // not as surrogates, which YAML does not combine
        code @ 0x10000.. => format!("\\U{code:08X}"),
        _ => {
            let quoted = Quoted(c.encode_utf8(&mut [0; 4])).to_string();
            let inner = quoted.get(1..quoted.len().saturating_sub(1));
            inner.unwrap_or_default().to_owned()
        }
    };
    format!("\"{}\"", text.chars().map(quoted).collect::<String>())
}
