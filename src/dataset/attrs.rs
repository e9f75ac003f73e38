//! What users put beside an array or a table: JSON by name, in `__attrs__`, as the tools have it,
//! and in `meta/attributes`, as the papers have it.
//!
//! Both are read; where both have a name, the tools' file counts.
#![forbid(unsafe_code)]

use super::chunks::is_damage;
use super::folder::Place;
use super::yaml;
use crate::error::{Error, Result, Status, fail};
use crate::json;
use std::collections::{HashMap, HashSet};

/// Where they are.
pub const FILES: [&str; 2] = ["__attrs__", "meta/attributes"];

/// Names and values.
#[derive(Default)]
pub struct Attrs {
    all: Vec<(String, Vec<u8>)>,
    /// Where in the list each name is.
    places: HashMap<String, usize>,
    /// What is wrong with a file of them: whoever asks for one is told, and the array itself can
    /// be used.
    damage: Option<Error>,
    /// What the list of names has in the place of those that cannot be told, so that nobody takes
    /// them for none.
    instead: Option<&'static str>,
}

impl Attrs {
    /// Those of an array or a table. `sealed`: of one whose small files have checksums, and are
    /// never empty. `skip`: are those that are damaged to be missing in the list of names?
    pub fn read(place: &Place, limit: u64, sealed: bool, skip: bool) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        for file in FILES {
            match attrs.add(place, file, limit, sealed) {
                Err(e) if is_damage(e.status) || e.status == Status::Limit => {
                    let instead = if skip { None } else { Some(file) };
                    return Ok(Attrs {
                        damage: Some(e),
                        instead,
                        ..Attrs::default()
                    });
                }
                added => added?,
            }
        }
        Ok(attrs)
    }

    fn add(&mut self, place: &Place, file: &str, limit: u64, sealed: bool) -> Result<()> {
        match place.read(file, limit)? {
            // bcolz leaves an empty one where it could not write it
            Some(text) if sealed || !text.trim_ascii().is_empty() => {
                self.take(&text).map_err(|e| e.within(place.show(file)))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with them.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// Refuses to tell, or to change, what is damaged.
    fn whole(&self) -> Result<()> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Refuses text that is none.
    pub fn check(text: &[u8]) -> Result<()> {
        Attrs::default().take(text)
    }

    fn take(&mut self, text: &[u8]) -> Result<()> {
        let as_json;
        let members = match json::members(text) {
            Err(e) => {
                as_json = yaml::parse(text).map_err(|_| e)?.to_string();
                json::members(as_json.as_bytes())?
            }
            found => found?,
        };
        // of two that bear one name the last counts, as in all readers
        let mut seen: HashSet<String> = self.places.keys().cloned().collect();
        let mut new = members;
        new.reverse();
        new.retain(|(name, _)| seen.insert(name.clone()));
        for (name, value) in new.into_iter().rev() {
            self.put(name, value.as_bytes().to_vec());
        }
        Ok(())
    }

    fn put(&mut self, name: String, value: Vec<u8>) {
        match self.places.get(&name).and_then(|i| self.all.get_mut(*i)) {
            Some((_, old)) => *old = value,
            None => {
                self.places.insert(name.clone(), self.all.len());
                self.all.push((name, value));
            }
        }
    }

    /// Sets one of them; the value is JSON.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        json::Value::parse(value)
            .map_err(|e| fail!(Argument, "the value of an attribute must be JSON: {e}"))?;
        self.whole()?;
        self.put(name.to_owned(), value.to_vec());
        Ok(())
    }

    /// Removes one of them, if it is there.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.whole()?;
        self.all.retain(|(n, _)| n != name);
        self.places = self
            .all
            .iter()
            .enumerate()
            .map(|(i, (n, _))| (n.clone(), i))
            .collect();
        Ok(())
    }

    /// The text of the tools' file, in ASCII, as bcolz wants it.
    pub fn to_json(&self) -> String {
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

    /// The names.
    pub fn names(&self) -> Vec<&str> {
        self.instead
            .into_iter()
            .chain(self.all.iter().map(|(n, _)| n.as_str()))
            .collect()
    }

    /// The value of this name, as it is stored.
    pub fn get(&self, name: &str) -> Result<Option<&[u8]>> {
        self.whole()?;
        Ok(self
            .places
            .get(name)
            .and_then(|i| self.all.get(*i))
            .map(|(_, v)| v.as_slice()))
    }
}
