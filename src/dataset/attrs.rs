//! User attributes of an array or a table: JSON values by name. The tools store them in
//! `__attrs__`, the BLZ RFC layout in `meta/attributes`.
//!
//! Both files are read. If both contain a name, the value of the tools' file is used.
#![forbid(unsafe_code)]

use super::chunks::is_corrupt_or_missing;
use super::folder::DatasetDir;
use super::meta::yaml_or;
use super::yaml;
use crate::error::{Error, Result, Status, fail};
use crate::json;
use std::collections::{HashMap, HashSet};

/// The files that can hold attributes: that of the tools, and that of the BLZ RFC layout.
pub const FILES: [&str; 2] = ["__attrs__", "meta/attributes"];

/// Names and values.
#[derive(Clone, Default)]
pub struct Attrs {
    all: Vec<(String, Vec<u8>)>,
    /// Index in `all` by name.
    positions: HashMap<String, usize>,
    /// True if the file is written as YAML.
    pub is_yaml: bool,
    /// Error of a corrupt attribute file. Access to attributes returns it; the array itself stays
    /// usable.
    damage: Option<Error>,
    /// Name of the corrupt file, listed in place of the unreadable names so that the list is not
    /// taken for an empty one.
    damaged_file: Option<&'static str>,
}

impl Attrs {
    /// Reads the attributes of an array or a table. `has_checksum` is true if its metadata files
    /// have checksums; such a file is never empty. With `skip`, corrupt attributes are missing in
    /// the list of names.
    pub fn read(dir: &DatasetDir, limit: u64, has_checksum: bool, skip: bool) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        for file in FILES {
            match attrs.add(dir, file, limit, has_checksum) {
                Err(e) if is_corrupt_or_missing(e.status) || e.status == Status::Limit => {
                    let damaged_file = if skip { None } else { Some(file) };
                    return Ok(Attrs {
                        damage: Some(e),
                        damaged_file,
                        ..Attrs::default()
                    });
                }
                added => added?,
            }
        }
        Ok(attrs)
    }

    fn add(&mut self, dir: &DatasetDir, file: &str, limit: u64, has_checksum: bool) -> Result<()> {
        match dir.read(file, limit)? {
            // bcolz leaves an empty file when it could not write it
            Some(text) if has_checksum || !text.trim_ascii().is_empty() => {
                self.take(&text).map_err(|e| e.within(dir.show(file)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error of a corrupt attribute file.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// Fails if an attribute file is corrupt.
    fn check_damage(&self) -> Result<()> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Fails if `text` is not a valid attribute file.
    pub fn check(text: &[u8]) -> Result<()> {
        Attrs::default().take(text)
    }

    fn take(&mut self, text: &[u8]) -> Result<()> {
        let as_json;
        let members = match json::members(text) {
            Err(e) => {
                as_json = yaml_or(e, text)?.to_string();
                json::members(as_json.as_bytes())?
            }
            found => found?,
        };
        // of duplicate names the last one is used, as in all readers
        let mut seen: HashSet<String> = self.positions.keys().cloned().collect();
        let mut new = members;
        new.reverse();
        new.retain(|(name, _)| seen.insert(name.clone()));
        for (name, value) in new.into_iter().rev() {
            self.put(name, value.as_bytes().to_vec());
        }
        Ok(())
    }

    fn put(&mut self, name: String, value: Vec<u8>) {
        match self.positions.get(&name).and_then(|i| self.all.get_mut(*i)) {
            Some((_, old)) => *old = value,
            None => {
                self.positions.insert(name.clone(), self.all.len());
                self.all.push((name, value));
            }
        }
    }

    /// Sets an attribute; the value must be JSON.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        json::Value::parse(value)
            .map_err(|e| fail!(Argument, "the value of an attribute must be JSON: {e}"))?;
        if self.is_yaml && has_long_integer(&String::from_utf8_lossy(value)) {
            return Err(fail!(
                Unsupported,
                "attribute {name:?}: YAML stores integers of at most 64 bits"
            ));
        }
        self.check_damage()?;
        self.put(name.to_owned(), value.to_vec());
        Ok(())
    }

    /// Removes an attribute, if it exists.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.check_damage()?;
        self.all.retain(|(n, _)| n != name);
        self.positions = self
            .all
            .iter()
            .enumerate()
            .map(|(i, (n, _))| (n.clone(), i))
            .collect();
        Ok(())
    }

    /// Returns the text of the file, in ASCII, which bcolz requires.
    pub fn to_text(&self) -> String {
        if self.is_yaml {
            let one = |(name, value): &(String, Vec<u8>)| {
                let value = json::Value::parse(value).unwrap_or(json::Value::Null);
                (name.clone(), value)
            };
            return yaml::to_yaml(&json::Value::Object(self.all.iter().map(one).collect()));
        }
        let one = |(name, value): &(String, Vec<u8>)| {
            format!(
                "{}: {}",
                json::Quoted(name),
                json::escaped(&String::from_utf8_lossy(value))
            )
        };
        format!(
            "{{{}}}\n",
            self.all.iter().map(one).collect::<Vec<_>>().join(", ")
        )
    }

    /// Returns the names.
    pub fn names(&self) -> Vec<&str> {
        self.damaged_file
            .into_iter()
            .chain(self.all.iter().map(|(n, _)| n.as_str()))
            .collect()
    }

    /// Returns the value of an attribute as it is stored.
    pub fn get(&self, name: &str) -> Result<Option<&[u8]>> {
        self.check_damage()?;
        Ok(self
            .positions
            .get(name)
            .and_then(|i| self.all.get(*i))
            .map(|(_, v)| v.as_slice()))
    }
}

/// Returns true if a JSON text has an integer that needs more than 64 bits.
fn has_long_integer(json: &str) -> bool {
    let (mut in_string, mut is_escaped, mut number) = (false, false, String::new());
    // the space ends the last number
    for c in json.chars().chain([' ']) {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        if c.is_ascii_digit() || "+-.eE".contains(c) {
            number.push(c);
            continue;
        }
        in_string = c == '"';
        let digits = number.trim_start_matches('-');
        let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
        if is_integer && !number.parse().is_ok_and(|n: i128| range.contains(&n)) {
            return true;
        }
        number.clear();
    }
    false
}
