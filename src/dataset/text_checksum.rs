//! What tells that a small file of a dataset is damaged: the CRC-32 of its text, in a last line of
//! blanks, a space for each 0 and a tab for each 1, the highest bit first.
//!
//! JSON ends before it, so that no reader minds; and a tool that writes the file anew leaves it
//! out, so that it never is that of another text. A file without it says nothing.
#![forbid(unsafe_code)]

use crate::checksum::crc32;
use crate::error::{Result, fail};

/// Bits, each a blank, and the end of the line.
const LEN: usize = 33;

/// The text with its seal behind it.
pub fn sealed(mut text: String) -> String {
    let crc = crc32(text.as_bytes());
    text.extend(
        (0..32)
            .rev()
            .map(|bit| if crc >> bit & 1 == 1 { '\t' } else { ' ' }),
    );
    text.push('\n');
    text
}

/// The text and the bits of its seal, if it has one.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (own, seal) = text.split_at_checked(text.len().checked_sub(LEN)?)?;
    let bits = seal
        .strip_suffix(b"\n")
        .filter(|bits| bits.iter().all(|b| b" \t".contains(b)))?;
    Some((own, bits))
}

/// Has it a seal?
pub fn is_sealed(text: &[u8]) -> bool {
    parts(text).is_some()
}

/// Refuses text whose seal is that of another one.
pub fn check(text: &[u8]) -> Result<()> {
    let Some((own, bits)) = parts(text) else {
        return Ok(());
    };
    let crc = bits
        .iter()
        .fold(0, |crc, bit| crc << 1 | u32::from(*bit == b'\t'));
    if crc == crc32(own) {
        Ok(())
    } else {
        Err(fail!(
            Checksum,
            "its CRC-32 does not match its text: it is damaged, or it was changed by hand"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use crate::json::Value;

    #[test]
    fn what_is_changed_is_no_json_or_does_not_match() {
        let plain = "{\"shape\": [10], \"nbytes\": 80, \"cbytes\": 123}\n";
        let text = sealed(plain.to_owned()).into_bytes();
        assert_eq!(text.len(), plain.len() + LEN);
        let value = Value::parse(plain.as_bytes()).unwrap();
        check(&text).unwrap();
        check(plain.as_bytes()).unwrap();
        check(b"").unwrap();
        assert_eq!(Value::parse(&text).unwrap(), value);
        let damaged = |text: &[u8]| match check(text) {
            Err(e) => e.status == Status::Checksum,
            Ok(()) => Value::parse(text).map_or(true, |v| v == value),
        };
        for at in 0..text.len() {
            assert!(damaged(&text[..at]), "cut at {at}");
            for bits in 1..=255 {
                let mut flipped = text.clone();
                flipped[at] ^= bits;
                assert!(damaged(&flipped), "{at} {bits}");
            }
        }
    }
}
