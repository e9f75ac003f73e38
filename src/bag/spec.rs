//! File specs: which files a bag is made of.
//!
//! `spec := item (',' item)*`, empty items are skipped. In an item, the first `@` after the last `/`
//! may begin `@N` (1 to 99999: the files `prefix-00000-of-0000N suffix` and so on) or `@*` (as many as
//! there are). A name that exists as it stands is taken as it stands, `@` and `,` included.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

const MOST_SHARDS: u32 = 99_999;

/// The files of a spec, in order.
pub fn expand(spec: &OsStr) -> Result<Vec<OsString>> {
    let bytes = spec.as_bytes();
    if there(bytes) {
        return Ok(vec![spec.into()]);
    }
    let mut files = Vec::new();
    for item in bytes.split(|&b| b == b',').filter(|i| !i.is_empty()) {
        let item = item.strip_prefix(b"posix:").unwrap_or(item);
        expand_item(item, &mut files)?;
    }
    if files.is_empty() {
        return Err(fail!(Argument, "the spec {:?} names no file", spec.display().to_string()));
    }
    Ok(files)
}

fn there(path: &[u8]) -> bool {
    std::fs::symlink_metadata(Path::new(OsStr::from_bytes(path))).is_ok()
}

fn expand_item(item: &[u8], files: &mut Vec<OsString>) -> Result<()> {
    match shards(item) {
        Some(_) if there(item) => files.push(OsString::from_vec(item.to_vec())),
        Some((prefix, Count::Number(n), suffix)) => files.extend((0..n).map(|i| shard_name(prefix, i, n, suffix))),
        Some((prefix, Count::Any, suffix)) => {
            let n = count(prefix, suffix)?;
            files.extend((0..n).map(|i| shard_name(prefix, i, n, suffix)));
        }
        None => files.push(OsString::from_vec(item.to_vec())),
    }
    Ok(())
}

enum Count {
    Number(u32),
    Any,
}

/// Takes `prefix@N suffix` or `prefix@* suffix` apart.
fn shards(item: &[u8]) -> Option<(&[u8], Count, &[u8])> {
    let name = item.iter().rposition(|&b| b == b'/').map_or(0, |i| i + 1);
    let at = name + item.get(name..)?.iter().position(|&b| b == b'@')?;
    let (prefix, rest) = (item.get(..at)?, item.get(at + 1..)?);
    if let Some(suffix) = rest.strip_prefix(b"*") {
        return Some((prefix, Count::Any, suffix));
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, suffix) = rest.split_at_checked(digits)?;
    let n: u32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    (1..=MOST_SHARDS).contains(&n).then_some((prefix, Count::Number(n), suffix))
}

/// Does the path ask for several files to be written?
pub fn is_sharded(path: &OsStr) -> bool {
    shards(path.as_bytes()).is_some()
}

fn shard_name(prefix: &[u8], i: u32, n: u32, suffix: &[u8]) -> OsString {
    let middle = format!("-{i:05}-of-{n:05}");
    OsString::from_vec([prefix, middle.as_bytes(), suffix].concat())
}

/// How many shards there are on disk, where they agree about it.
fn count(prefix: &[u8], suffix: &[u8]) -> Result<u32> {
    let name_at = prefix.iter().rposition(|&b| b == b'/').map_or(0, |i| i + 1);
    let (folder, start) = prefix.split_at_checked(name_at).unwrap_or((b"", prefix));
    let folder = if folder.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(folder)) };
    let mut counts = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Error::os(folder.display(), &e))? {
        let name = entry.map_err(|e| Error::os(folder.display(), &e))?.file_name();
        counts.extend(shard_count(name.as_bytes(), start, suffix));
    }
    let shown = |n: &u32| shard_name(prefix, 0, *n, suffix).display().to_string();
    match counts.iter().collect::<Vec<_>>()[..] {
        [n] => Ok(*n),
        [] => Err(fail!(Missing, "{}: no file of this pattern", shown(&0).replace("00000-of-00000", "*-of-*"))),
        [a, .., b] => Err(fail!(Argument, "there are shards both of {} and of {}: write the number instead of @*", shown(a), shown(b))),
    }
}

/// The N of a name `start-MMMMM-of-NNNNN suffix`.
fn shard_count(name: &[u8], start: &[u8], suffix: &[u8]) -> Option<u32> {
    let middle = name.strip_prefix(start)?.strip_suffix(suffix)?;
    let [b'-', i @ .., _, _, _, _, _, _, _, _, _] = middle else { return None };
    let n = middle.get(1 + i.len()..)?.strip_prefix(b"-of-")?;
    let number = |b: &[u8]| (b.len() == 5 && b.iter().all(u8::is_ascii_digit)).then(|| std::str::from_utf8(b).ok()?.parse::<u32>().ok()).flatten();
    let (i, n) = (number(i)?, number(n)?);
    (n >= 1 && i < n).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(spec: &str) -> Vec<String> {
        expand(OsStr::new(spec)).unwrap().iter().map(|n| n.display().to_string()).collect()
    }

    #[test]
    fn syntax() {
        assert_eq!(names("/no/a@2.bagz,,b.bag,"), ["/no/a-00000-of-00002.bagz", "/no/a-00001-of-00002.bagz", "b.bag"]);
        assert_eq!(names("x.bagz@01"), ["x.bagz-00000-of-00001"]);
        assert_eq!(names("a@1@2"), ["a-00000-of-00001@2"]);
        for literal in ["a@0", "a@100000", "a@?", "dir@2/x", "a@", "a@-1", "a@99999999999"] {
            assert_eq!(names(literal), [literal]);
        }
        assert_eq!(names("posix:/a.bag"), ["/a.bag"]);
        assert!(expand(OsStr::new("")).is_err() && expand(OsStr::new(",,")).is_err());
        assert!(is_sharded(OsStr::new("a@3.bag")) && is_sharded(OsStr::new("a@*")) && !is_sharded(OsStr::new("a@0")));
    }

    #[test]
    fn names_of_shards() {
        assert_eq!(shard_count(b"s-00001-of-00003.bag", b"s", b".bag"), Some(3));
        for no in
            ["s-0001-of-00003.bag", "s-00003-of-00003.bag", "t-00001-of-00003.bag", "s-00001-of-00003.bagz", "s-00001of-00003.bag", "s.bag", "s-.bag"]
        {
            assert_eq!(shard_count(no.as_bytes(), b"s", b".bag"), None, "{no}");
        }
    }
}
