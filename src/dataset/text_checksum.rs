//! Checksum of the small metadata files of a dataset: the CRC-32 of the text, in a last line of 32
//! blanks. A space is a 0, a tab is a 1, and the highest bit comes first.
//!
//! Readers ignore the line, because JSON permits trailing white space. In YAML, which does not permit
//! tabs there, a `#` before the blanks makes the line a comment. A tool that rewrites the file drops
//! the line, so the checksum never belongs to another text. A file without the line is accepted as
//! it is, unless it begins with [`YAML_MARK`]: truncated YAML may be valid.
#![forbid(unsafe_code)]

use super::yaml;
use crate::checksum::crc32;
use crate::error::{Result, fail};

/// Length of the line: 32 blanks and the line feed.
const LEN: usize = 33;

/// The first line of YAML with a checksum.
const YAML_MARK: &str = "# The last line is a checksum of this text.\n";

/// Returns the text followed by its checksum line.
pub fn with_checksum(mut text: String) -> String {
    if yaml::may_be_yaml(text.as_bytes()) {
        text = format!("{YAML_MARK}{text}#");
    }
    let crc = crc32(text.as_bytes());
    text.extend(
        (0..32)
            .rev()
            .map(|bit| if crc >> bit & 1 == 1 { '\t' } else { ' ' }),
    );
    text.push('\n');
    text
}

/// Splits off the bits of the checksum line, if there is one.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (own, seal) = text.split_at_checked(text.len().checked_sub(LEN)?)?;
    let bits = seal
        .strip_suffix(b"\n")
        .filter(|bits| bits.iter().all(|b| b" \t".contains(b)))?;
    Some((own, bits))
}

/// Returns true if the text ends with a checksum line.
pub fn has_checksum(text: &[u8]) -> bool {
    parts(text).is_some()
}

/// Fails if the text has a checksum line that does not match.
pub fn check(text: &[u8]) -> Result<()> {
    let Some((own, bits)) = parts(text) else {
        return match text.starts_with(YAML_MARK.as_bytes()) {
            false => Ok(()),
            true => Err(fail!(
                Checksum,
                "the checksum in its last line is missing: it was truncated, or edited by hand"
            )),
        };
    };
    let crc = bits
        .iter()
        .fold(0, |crc, bit| crc << 1 | u32::from(*bit == b'\t'));
    if crc == crc32(own) {
        Ok(())
    } else {
        Err(fail!(
            Checksum,
            "its CRC-32 does not match its text: it is corrupt, or it was edited by hand"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use crate::json::Value;

    #[test]
    fn changed_yaml_does_not_match() {
        let plain = "shape: [10]\nnbytes: 80\ncbytes: 123\n";
        let text = with_checksum(plain.to_owned()).into_bytes();
        let value = yaml::parse(plain.as_bytes()).unwrap();
        check(&text).unwrap();
        assert_eq!(yaml::parse(&text).unwrap(), value);
        let is_detected = |text: &[u8]| {
            check(text).is_err() || crate::dataset::meta::parse(text).map_or(true, |v| v == value)
        };
        for at in 0..text.len() {
            // cut within the mark, nothing is left
            assert!(is_detected(&text[..at]), "cut at {at}");
            for bits in 1..=255 {
                let mut flipped = text.clone();
                flipped[at] ^= bits;
                assert!(is_detected(&flipped), "{at} {bits}");
            }
        }
    }

    #[test]
    fn changed_text_is_invalid_json_or_does_not_match() {
        let plain = "{\"shape\": [10], \"nbytes\": 80, \"cbytes\": 123}\n";
        let text = with_checksum(plain.to_owned()).into_bytes();
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
