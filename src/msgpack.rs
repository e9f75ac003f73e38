//! Reads and writes MessagePack, token by token.
#![forbid(unsafe_code)]

/// A value, or the beginning of one that has others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// No value.
    Nil,
    /// A Boolean.
    Bool(bool),
    /// A positive integer, or 0.
    Uint(u64),
    /// An integer.
    Int(i64),
    /// A number of 32 or 64 bits.
    Float(f64),
    /// The bytes of a text, which may not be UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// The number of an extension type, and its bytes.
    Extension(u8, &'a [u8]),
    /// The number of values that follow.
    Array(u64),
    /// The number of keys, each with a value, that follow.
    Map(u64),
}

/// Appends a token in its shortest form. A number with a fraction has 64 bits.
pub fn put(out: &mut Vec<u8>, token: Token) {
    match token {
        Token::Nil => out.push(0xc0),
        Token::Bool(b) => out.push(0xc2 + u8::from(b)),
        Token::Int(n) => match u64::try_from(n) {
            Ok(n) => put_uint(out, n),
            Err(_) => put_negative(out, n),
        },
        Token::Uint(n) => put_uint(out, n),
        Token::Float(x) => {
            out.push(0xcb);
            out.extend(x.to_be_bytes());
        }
        Token::Text(text) => {
            put_length(
                out,
                Some((0xa0, 31)),
                Some(0xd9),
                [0xda, 0xdb],
                text.len() as u64,
            );
            out.extend(text);
        }
        Token::Bytes(bytes) => {
            put_length(out, None, Some(0xc4), [0xc5, 0xc6], bytes.len() as u64);
            out.extend(bytes);
        }
        Token::Extension(kind, bytes) => {
            put_length(out, None, Some(0xc7), [0xc8, 0xc9], bytes.len() as u64);
            out.push(kind);
            out.extend(bytes);
        }
        Token::Array(n) => put_length(out, Some((0x90, 15)), None, [0xdc, 0xdd], n),
        Token::Map(n) => put_length(out, Some((0x80, 15)), None, [0xde, 0xdf], n),
    }
}

/// Appends a marker that includes a length, or that is followed by one of 1, 2 or 4 bytes.
fn put_length(
    out: &mut Vec<u8>,
    small: Option<(u8, u64)>,
    one: Option<u8>,
    [two, four]: [u8; 2],
    n: u64,
) {
    match (small, one) {
        (Some((marker, most)), _) if n <= most => out.push(marker | n as u8),
        (_, Some(one)) if n <= 0xff => out.extend([one, n as u8]),
        _ if n <= 0xffff => {
            out.push(two);
            out.extend((n as u16).to_be_bytes());
        }
        // content of more than 2^32 bytes, or values, is in several chunks
        _ => {
            out.push(four);
            out.extend((n as u32).to_be_bytes());
        }
    }
}

fn put_uint(out: &mut Vec<u8>, n: u64) {
    match n {
        0..0x80 => out.push(n as u8),
        0x80..0x100 => put_number(out, 0xcc, 1, n),
        0x100..0x1_0000 => put_number(out, 0xcd, 2, n),
        0x1_0000..0x1_0000_0000 => put_number(out, 0xce, 4, n),
        _ => put_number(out, 0xcf, 8, n),
    }
}

fn put_negative(out: &mut Vec<u8>, n: i64) {
    match n {
        -32.. => out.push(n as u8),
        -0x80..-32 => put_number(out, 0xd0, 1, n as u64),
        -0x8000..-0x80 => put_number(out, 0xd1, 2, n as u64),
        -0x8000_0000..-0x8000 => put_number(out, 0xd2, 4, n as u64),
        _ => put_number(out, 0xd3, 8, n as u64),
    }
}

/// Appends a marker and the last bytes of a number.
fn put_number(out: &mut Vec<u8>, marker: u8, bytes: usize, n: u64) {
    out.push(marker);
    out.extend(n.to_be_bytes().iter().skip(8 - bytes));
}

/// Returns the next token and removes it. `None` if it is truncated or invalid.
pub fn next<'a>(rest: &mut &'a [u8]) -> Option<Token<'a>> {
    let marker = number(rest, 1)? as u8;
    let power = |from: u8| 1usize << (marker - from);
    Some(match marker {
        0..0x80 => Token::Uint(u64::from(marker)),
        0x80..0x90 => Token::Map(u64::from(marker & 15)),
        0x90..0xa0 => Token::Array(u64::from(marker & 15)),
        0xa0..0xc0 => Token::Text(take(rest, u64::from(marker & 31))?),
        0xc0 => Token::Nil,
        0xc1 => return None,
        0xc2 | 0xc3 => Token::Bool(marker == 0xc3),
        0xc4..=0xc6 => {
            let n = number(rest, power(0xc4))?;
            Token::Bytes(take(rest, n)?)
        }
        0xc7..=0xc9 => {
            let n = number(rest, power(0xc7))?;
            let kind = number(rest, 1)? as u8;
            Token::Extension(kind, take(rest, n)?)
        }
        0xca => Token::Float(f32::from_bits(number(rest, 4)? as u32).into()),
        0xcb => Token::Float(f64::from_bits(number(rest, 8)?)),
        0xcc..=0xcf => Token::Uint(number(rest, power(0xcc))?),
        0xd0..=0xd3 => {
            let n = power(0xd0);
            let unused = 64 - 8 * n as u32;
            Token::Int(((number(rest, n)? << unused) as i64) >> unused)
        }
        0xd4..=0xd8 => {
            let kind = number(rest, 1)? as u8;
            Token::Extension(kind, take(rest, power(0xd4) as u64)?)
        }
        0xd9..=0xdb => {
            let n = number(rest, power(0xd9))?;
            Token::Text(take(rest, n)?)
        }
        0xdc | 0xdd => Token::Array(number(rest, 2 * power(0xdc))?),
        0xde | 0xdf => Token::Map(number(rest, 2 * power(0xde))?),
        0xe0.. => Token::Int(i64::from(marker as i8)),
    })
}

/// Returns the bytes of the next value with all that it has, and removes them. `None` if it is
/// truncated or invalid.
pub fn value<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (all, mut due) = (*rest, 1u64);
    while due > 0 {
        let more = match next(rest)? {
            Token::Array(n) => n,
            Token::Map(n) => n.saturating_mul(2),
            _ => 0,
        };
        due = (due - 1).saturating_add(more);
    }
    all.get(..all.len() - rest.len())
}

fn take<'a>(rest: &mut &'a [u8], n: u64) -> Option<&'a [u8]> {
    let (first, remaining) = rest.split_at_checked(usize::try_from(n).ok()?)?;
    *rest = remaining;
    Some(first)
}

/// Reads a big-endian number of `n` bytes.
fn number(rest: &mut &[u8], n: usize) -> Option<u64> {
    let bytes = take(rest, n as u64)?.iter();
    Some(bytes.fold(0, |all, b| all << 8 | u64::from(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        for (bytes, token) in [
            (&b"\x07"[..], Token::Uint(7)),
            (b"\xff", Token::Int(-1)),
            (b"\xd1\xff\x00", Token::Int(-256)),
            (b"\xcd\x01\x00", Token::Uint(256)),
            (b"\xca\x3f\x80\x00\x00", Token::Float(1.0)),
            (b"\xa1a", Token::Text(b"a")),
            (b"\xc4\x01\xff", Token::Bytes(b"\xff")),
            (b"\xd5\x2a12", Token::Extension(42, b"12")),
            (b"\xc7\x01\x2a1", Token::Extension(42, b"1")),
            (b"\xdc\x01\x02", Token::Array(258)),
            (b"\xdf\x00\x00\x00\x02", Token::Map(2)),
            (b"\x82", Token::Map(2)),
            (b"\xc3", Token::Bool(true)),
        ] {
            let mut rest = bytes;
            assert_eq!((next(&mut rest), rest), (Some(token), &b""[..]));
            for n in 0..bytes.len() {
                assert_eq!(next(&mut &bytes[..n]), None, "{bytes:?} {n}");
            }
        }
        assert_eq!(next(&mut &b"\xc1"[..]), None);
    }

    #[test]
    fn tokens_are_written_in_the_shortest_form() {
        let long = vec![b'x'; 70_000];
        let texts = [0, 31, 32, 255, 256, 70_000].map(|n| &long[..n]);
        let mut tokens = vec![Token::Nil, Token::Bool(true), Token::Float(1.5)];
        tokens.extend(texts.iter().flat_map(|t| [Token::Text(t), Token::Bytes(t)]));
        tokens.extend(texts.map(|t| Token::Extension(9, t)));
        for bits in 0..64 {
            tokens.extend([-1, 0].map(|by| Token::Uint((1u64 << bits).wrapping_add_signed(by))));
            let n = i64::MIN >> (63 - bits);
            tokens.extend([Token::Int(n), Token::Int(n.saturating_sub(1))]);
        }
        for n in [0, 15, 16, 65_535, 65_536] {
            tokens.extend([Token::Array(n), Token::Map(n)]);
        }
        for token in tokens {
            let mut out = Vec::new();
            put(&mut out, token);
            let mut rest = &out[..];
            let read = next(&mut rest);
            assert!(read == Some(token) && rest.is_empty(), "{token:?}: {out:?}");
        }
    }

    #[test]
    fn values() {
        let mut rest = &b"\x92\x81\xa1a\x90\xc0\x05"[..];
        assert_eq!(value(&mut rest), Some(&b"\x92\x81\xa1a\x90\xc0"[..]));
        assert_eq!((value(&mut rest), rest), (Some(&b"\x05"[..]), &b""[..]));
        assert_eq!(value(&mut &b"\xdf\xff\xff\xff\xff\x00"[..]), None);
    }
}
