//! Any bytes as the token of a part or the record of a commit of parts. The first byte chooses. What
//! is parsed has the same bytes when it is written again. With the checksum of the bytes, the fields
//! are fuzzed.
use holdall::checksum::crc32;
use holdall::parts::{CommitRecord, TOKEN_SIZE, Token};

fn token(bytes: &[u8]) -> bool {
    match Token::parse(bytes) {
        Ok(token) => {
            assert_eq!(token.to_bytes().as_slice(), bytes);
            true
        }
        Err(_) => false,
    }
}

fn record(bytes: &[u8]) -> bool {
    match CommitRecord::parse(bytes) {
        Ok(record) => {
            assert_eq!(record.to_bytes(), bytes);
            true
        }
        Err(_) => false,
    }
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else {
        return;
    };
    let (parses, size): (fn(&[u8]) -> bool, _) = if what & 1 == 0 {
        (token, TOKEN_SIZE - 4)
    } else {
        (record, bytes.len())
    };
    parses(bytes);
    let mut valid = bytes.get(..size).unwrap_or(bytes).to_vec();
    let crc = crc32(&valid);
    valid.extend_from_slice(&crc.to_le_bytes());
    if parses(&valid) {
        let last = valid.len() - 1;
        valid[last] ^= 1;
        assert!(!parses(&valid), "a wrong checksum");
    }
}
