//! File specs: lists of the files of a bag.
//!
//! `spec := item (',' item)*`. Empty items are skipped. A spec of only empty items is a bag without
//! files. In an item, the first `@` after the last `/` may begin one of two patterns:
//!
//! - `@N` (N is 1 to 99999): the files `prefix-00000-of-0000N suffix` and so on.
//! - `@*`: as many such files as exist.
//!
//! A backslash escapes a following `,`, `@` or backslash. A spec or item that is the name of an
//! existing file is taken literally.
#![forbid(unsafe_code)]

use super::shard::{BESIDE, PREFIXES};
use crate::error::{Result, Status, fail};
use crate::io::journal::Container;
use crate::io::{Folder, locate};
use crate::os::{OsStrExt, OsStringExt};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::is_separator;
use std::sync::Arc;

const MAX_SHARDS: u32 = 99_999;

/// Returns the files of a spec in order, each as a name for [`locate::locate`].
pub fn expand(spec: &OsStr) -> Result<Vec<OsString>> {
    expand_sets(spec).map(|(files, _)| files)
}

/// Like [`expand`]. Also returns the ranges of files that one item names as a set.
pub fn expand_sets(spec: &OsStr) -> Result<(Vec<OsString>, Vec<Range<usize>>)> {
    let bytes = spec.as_bytes();
    if bytes.contains(&b',') && locate::exists(spec) {
        return Ok((vec![spec.into()], Vec::new()));
    }
    let (mut files, mut sets) = (Vec::new(), Vec::new());
    for item in items(bytes) {
        let first = files.len();
        expand_item(item, &mut files)?;
        sets.push(first..files.len());
    }
    sets.retain(|set| set.len() > 1);
    Ok((files, sets))
}

/// Like [`expand`]. A spec that names no file is an error, because verify and repair would
/// otherwise report success.
pub fn expand_nonempty(spec: &OsStr) -> Result<Vec<OsString>> {
    let files = expand(spec)?;
    if files.is_empty() {
        return Err(fail!(
            Argument,
            "the spec {:?} names no file",
            spec.display().to_string()
        ));
    }
    Ok(files)
}

fn items(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut items = Vec::new();
    while let Some((item, [_, after @ ..])) =
        find(rest, b',').and_then(|at| rest.split_at_checked(at))
    {
        items.push(item);
        rest = after;
    }
    items.push(rest);
    items.retain(|i| !i.is_empty());
    items
}

fn expand_item(item: &[u8], files: &mut Vec<OsString>) -> Result<()> {
    let text = OsStr::from_bytes(item);
    if item.iter().any(|b| matches!(b, b'@' | b'\\')) && locate::exists(text) {
        files.push(text.into());
        return Ok(());
    }
    match Pattern::of(item) {
        Some(p) => {
            let n = p.count()?;
            files.extend((0..n).map(|i| shard_name(&p.prefix, i, n, &p.suffix)));
        }
        None => files.push(OsString::from_vec(unescape(item))),
    }
    Ok(())
}

/// Returns whether a backslash can escape this byte.
fn is_special(b: &u8) -> bool {
    matches!(b, b',' | b'@' | b'\\')
}

/// Returns the position of the first `needle` that is not escaped.
fn find(text: &[u8], needle: u8) -> Option<usize> {
    let mut i = 0;
    while let Some(&b) = text.get(i) {
        if b == b'\\' && text.get(i + 1).is_some_and(is_special) {
            i += 1;
        } else if b == needle {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// Returns the position of the file name after the folders.
fn name_start(item: &[u8]) -> usize {
    // On Windows a backslash that escapes nothing is a separator.
    let is_between = |i: usize, b: u8| {
        is_separator(b.into()) && !(b == b'\\' && item.get(i + 1).is_some_and(is_special))
    };
    item.iter()
        .enumerate()
        .rposition(|(i, &b)| is_between(i, b))
        .map_or(0, |i| i + 1)
}

/// Returns the text without the backslashes of escapes.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().peekable();
    while let Some(b) = bytes.next() {
        let escaped = if *b == b'\\' {
            bytes.next_if(|b| is_special(b))
        } else {
            None
        };
        out.push(*escaped.unwrap_or(b));
    }
    out
}

/// What the path of a writer names.
pub enum Target {
    /// The name of one file.
    File(OsString),
    /// The shards of a set.
    Set(Arc<dyn Folder>, Set),
}

/// Parses the path of a writer: one item, in which a comma is part of the name.
pub fn write_target(path: &OsStr, new: bool) -> Result<Target> {
    if locate::exists(path) {
        return Ok(Target::File(path.into()));
    }
    let Some(p) = Pattern::of(path.as_bytes()) else {
        return Ok(Target::File(OsString::from_vec(unescape(path.as_bytes()))));
    };
    if new && p.number.is_none() {
        return Err(fail!(
            Argument,
            "{}: a new set requires a number of shards, such as @8",
            path.display()
        ));
    }
    let (folder, set) = p.set(p.count()?)?;
    Ok(Target::Set(folder, set))
}

/// Returns the name of the file that the path of a writer names, if it names no set.
pub fn file_name(path: &OsStr) -> OsString {
    if locate::exists(path) {
        return path.into();
    }
    OsString::from_vec(unescape(path.as_bytes()))
}

/// Returns the pattern of the set that the path of a writer names, if it names one. The set need not
/// exist.
pub fn set_pattern(path: &OsStr) -> Option<SetPattern> {
    if locate::exists(path) {
        return None;
    }
    Pattern::of(path.as_bytes()).map(SetPattern)
}

/// `prefix@N suffix` or `prefix@* suffix`, of a set that may not exist yet.
pub struct SetPattern(Pattern);

impl SetPattern {
    /// Returns `prefix@suffix`, which is the same for all numbers of shards.
    pub fn without_number(&self) -> OsString {
        OsString::from_vec([&self.0.prefix[..], b"@", &self.0.suffix].concat())
    }

    /// Returns the end of the names of the shards.
    pub fn suffix(&self) -> &OsStr {
        OsStr::from_bytes(&self.0.suffix)
    }

    /// Returns an error if there is a set of another number of shards: `@*` would match two sets.
    fn refuse_other_set(&self, n: u32) -> Result<()> {
        let found = match self.0.count() {
            Err(e) if e.status == Status::Missing => return Ok(()),
            found => found?,
        };
        let first = shard_name(&self.0.prefix, 0, found, &self.0.suffix);
        if found == n || !locate::exists(&first) {
            return Ok(());
        }
        let first = first.display();
        Err(fail!(
            Exists,
            "{first}: a set of {found} shards exists (expected none, or one of {n})"
        ))
    }

    /// Returns the folder and the names of a new set of `count` shards, which must be the number of
    /// the pattern, if that has one.
    pub fn new_set(&self, count: usize) -> Result<(Arc<dyn Folder>, Set)> {
        let shown = || self.without_number().display().to_string();
        let n = u32::try_from(count)
            .ok()
            .filter(|n| (1..=MAX_SHARDS).contains(n));
        match (n, self.0.number) {
            (Some(n), None) => {
                self.refuse_other_set(n)?;
                self.0.set(n)
            }
            (Some(n), Some(number)) if n == number => self.0.set(n),
            (_, Some(number)) => Err(fail!(
                Argument,
                "{}: a set of {number} shards (found {count} parts)",
                shown()
            )),
            _ => Err(fail!(
                Argument,
                "{}: {count} parts (expected 1 to {MAX_SHARDS})",
                shown()
            )),
        }
    }
}

/// A parsed `prefix@N suffix` or `prefix@* suffix`.
struct Pattern {
    prefix: Vec<u8>,
    /// `None` for `@*`.
    number: Option<u32>,
    suffix: Vec<u8>,
}

impl Pattern {
    /// Returns the folder and the names of a set of `n` shards.
    fn set(&self, n: u32) -> Result<(Arc<dyn Folder>, Set)> {
        let name = |i| shard_name(&self.prefix, i, n, &self.suffix);
        let shard = |i| locate::locate_for_change(&name(i));
        let first = shard(0)?;
        let ending = shard_name(b"", 0, n, &self.suffix);
        let prefix = first.name.as_bytes().strip_suffix(ending.as_bytes());
        let set = Set {
            prefix: OsStr::from_bytes(prefix.unwrap_or_default()).into(),
            suffix: OsString::from_vec(self.suffix.clone()),
            count: n,
        };
        let folder = first.folder.show(OsStr::new(""));
        for i in 0..n {
            let l = shard(i)?;
            if l.name != set.name(i) || l.folder.show(OsStr::new("")) != folder {
                return Err(fail!(
                    Unsupported,
                    "{}: it is a link; a set can be written only if all its shards are files of one folder",
                    l.folder.show(&l.given)
                ));
            }
        }
        Ok((first.folder, set))
    }

    fn of(item: &[u8]) -> Option<Pattern> {
        let name = name_start(item);
        let at = name + find(item.get(name..)?, b'@')?;
        let (prefix, rest) = (unescape(item.get(..at)?), item.get(at + 1..)?);
        if let Some(suffix) = rest.strip_prefix(b"*") {
            return Some(Pattern {
                prefix,
                number: None,
                suffix: unescape(suffix),
            });
        }
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, suffix) = rest.split_at_checked(digits)?;
        let n: u32 = std::str::from_utf8(number).ok()?.parse().ok()?;
        (1..=MAX_SHARDS).contains(&n).then(|| Pattern {
            prefix,
            number: Some(n),
            suffix: unescape(suffix),
        })
    }

    /// Returns N, or for `@*` the number on which all existing files agree.
    fn count(&self) -> Result<u32> {
        if let Some(n) = self.number {
            return Ok(n);
        }
        let endings = locate::suffixes(OsStr::from_bytes(&[&self.prefix[..], b"-"].concat()))?;
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for n in endings
            .iter()
            .filter_map(|e| shard_count(e.as_bytes(), &self.suffix))
        {
            *counts.entry(n).or_default() += 1;
        }
        let shown = |n: u32| {
            shard_name(&self.prefix, 0, n, &self.suffix)
                .display()
                .to_string()
        };
        match counts.iter().collect::<Vec<_>>()[..] {
            [(n, _)] => Ok(*n),
            [] => Err(fail!(
                Missing,
                "{}: no file matches this pattern",
                shown(0).replacen("-00000-of-00000", "-*-of-*", 1)
            )),
            [(a, many), .., (b, others)] => Err(fail!(
                Argument,
                "@* matches two sets: {} ({many} of the files) and {} ({others}); write the number instead",
                shown(*a),
                shown(*b)
            )),
        }
    }
}

fn shard_name(prefix: &[u8], i: u32, n: u32, suffix: &[u8]) -> OsString {
    let middle = format!("-{i:05}-of-{n:05}");
    OsString::from_vec([prefix, middle.as_bytes(), suffix].concat())
}

/// Returns the N of `MMMMM-of-NNNNN suffix`.
fn shard_count(ending: &[u8], suffix: &[u8]) -> Option<u32> {
    shard_number(ending)
        .filter(|(_, rest)| *rest == suffix)
        .map(|(n, _)| n)
}

/// Returns the N of `MMMMM-of-NNNNN` and the text after it.
fn shard_number(ending: &[u8]) -> Option<(u32, &[u8])> {
    let (i, rest) = number(ending)?;
    let (n, rest) = number(rest.strip_prefix(b"-of-")?)?;
    (i < n).then_some((n, rest))
}

/// Parses a number of five digits. Returns the number and the text after it.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(5)?;
    let n = std::str::from_utf8(digits)
        .ok()
        .filter(|_| digits.iter().all(u8::is_ascii_digit))?
        .parse()
        .ok()?;
    Some((n, rest))
}

/// Suffix of the names of a set's journal and lock. A bag may have the name of the set itself.
const SET_SUFFIX: &str = ".holdall-set";

/// The shards of one item `prefix@N suffix`, without a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    prefix: OsString,
    suffix: OsString,
    /// The number of shards.
    pub count: u32,
}

impl Set {
    /// Returns the name of shard `i`.
    pub fn name(&self, i: u32) -> OsString {
        shard_name(
            self.prefix.as_bytes(),
            i,
            self.count,
            self.suffix.as_bytes(),
        )
    }

    /// Returns the sets that a file of this name can be a shard of. There is rarely more than one.
    pub fn of(name: &OsStr) -> Vec<Set> {
        let name = name.as_bytes();
        let at = |i: usize| {
            let (n, suffix) = shard_number(name.get(i..)?.strip_prefix(b"-")?)?;
            Some(Set {
                prefix: OsStr::from_bytes(name.get(..i)?).into(),
                suffix: OsStr::from_bytes(suffix).into(),
                count: n,
            })
        };
        (0..name.len()).filter_map(at).collect()
    }

    /// Returns the container of the set, which commits as a unit.
    pub fn container(&self, folder: &Arc<dyn Folder>) -> Container {
        let mut main = self.prefix.clone();
        main.push(format!("@{}", self.count));
        main.push(&self.suffix);
        main.push(SET_SUFFIX);
        let set = self.clone();
        let is_member = move |name: &OsStr| {
            PREFIXES.iter().any(|p| {
                name.as_bytes()
                    .strip_prefix(p.as_bytes())
                    .is_some_and(|n| set.has(n))
            })
        };
        let first = self.name(0);
        let alike = vec![first.clone()];
        Container {
            beside: BESIDE,
            ..Container::of(folder, main, Arc::new(is_member), first, alike)
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        let ending = name
            .strip_prefix(self.prefix.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"-"));
        ending
            .and_then(shard_number)
            .is_some_and(|(n, suffix)| n == self.count && suffix == self.suffix.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(spec: &str) -> Vec<String> {
        expand(OsStr::new(spec))
            .unwrap()
            .iter()
            .map(|n| n.display().to_string())
            .collect()
    }

    #[test]
    fn syntax() {
        assert_eq!(
            names("/no/a@2.bagz,,b.bag,"),
            [
                "/no/a-00000-of-00002.bagz",
                "/no/a-00001-of-00002.bagz",
                "b.bag"
            ]
        );
        assert_eq!(names("x.bagz@01"), ["x.bagz-00000-of-00001"]);
        assert_eq!(names("a@1@2"), ["a-00000-of-00001@2"]);
        for literal in [
            "a@0",
            "a@100000",
            "a@?",
            "dir@2/x",
            "a@",
            "a@-1",
            "a@99999999999",
        ] {
            assert_eq!(names(literal), [literal]);
        }
        assert_eq!(
            names("gs://b/a@2.bag,/gs:b/a@1"),
            [
                "gs://b/a-00000-of-00002.bag",
                "gs://b/a-00001-of-00002.bag",
                "/gs:b/a-00000-of-00001"
            ]
        );
        for none in ["", ",", ",,"] {
            assert_eq!(names(none), [""; 0], "{none}");
            assert!(expand_nonempty(OsStr::new(none)).is_err(), "{none}");
        }
        assert_eq!(
            names(r"x\@2,a\,b,c\\d,e\f,\,"),
            ["x@2", "a,b", r"c\d", r"e\f", ","]
        );
        assert_eq!(names(r"x\@2@1\@"), ["x@2-00000-of-00001@"]);
    }

    #[test]
    fn sets_are_recognized_by_the_names_of_their_shards() {
        let set = |prefix: &str, count, suffix: &str| Set {
            prefix: prefix.into(),
            suffix: suffix.into(),
            count,
        };
        let of = |name: &str| Set::of(OsStr::new(name));
        assert_eq!(of("a-00001-of-00003.bag"), [set("a", 3, ".bag")]);
        assert_eq!(of("-00000-of-00001"), [set("", 1, "")]);
        assert_eq!(
            of("a-00000-of-00002-00001-of-00003"),
            [
                set("a", 2, "-00001-of-00003"),
                set("a-00000-of-00002", 3, "")
            ]
        );
        for none in ["a-00003-of-00003.bag", "a.bag", "", "a@3.bag"] {
            assert_eq!(of(none), []);
        }
        let files = set("a", 3, ".bag")
            .container(&(Arc::new(crate::io::memory::MemoryFolder::new(vec![])) as Arc<dyn Folder>))
            .members
            .unwrap();
        for (name, own) in [
            ("a-00002-of-00003.bag", true),
            ("limits.a-00000-of-00003.bag", true),
            ("checksums.a-00000-of-00003.bag", true),
            ("a-00000-of-00004.bag", false),
            ("a-00003-of-00003.bag", false),
            ("b-00000-of-00003.bag", false),
            ("a-00000-of-00003.bagz", false),
            ("index.a-00000-of-00003.bag", false),
            ("a@3.bag", false),
        ] {
            assert_eq!(files(OsStr::new(name)), own, "{name}");
        }
    }

    #[test]
    fn names_of_shards_are_parsed() {
        assert_eq!(shard_count(b"00001-of-00003.bag", b".bag"), Some(3));
        for no in [
            "0001-of-00003.bag",
            "00003-of-00003.bag",
            "+0001-of-00003.bag",
            "00001-of-00003.bagz",
            "00001of-00003.bag",
            ".bag",
            "",
        ] {
            assert_eq!(shard_count(no.as_bytes(), b".bag"), None, "{no}");
        }
    }
}
