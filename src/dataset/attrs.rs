//! What users put beside an array or a table: JSON by name, in `__attrs__`, as the tools have it, and in
//! `meta/attributes`, as the papers have it.
//!
//! Both are read; where both have a name, the tools' file counts.
#![forbid(unsafe_code)]

use super::place::Place;
use super::yaml;
use crate::error::{Result, fail};
use crate::json;
use std::collections::HashSet;

/// Where they are.
pub const FILES: [&str; 2] = ["__attrs__", "meta/attributes"];

/// Names and values.
#[derive(Default)]
pub struct Attrs(Vec<(String, Vec<u8>)>);

impl Attrs {
    /// Those of an array or a table. `sealed`: of one whose small files have checksums, and are never empty.
    pub fn read(place: &Place, limit: u64, sealed: bool) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        for file in FILES {
            let Some(text) = place.read(file, limit)? else { continue };
            // bcolz leaves an empty one where it could not write it
            if sealed || !text.trim_ascii().is_empty() {
                let found = attrs.take(&text);
                found.map_err(|e| e.within(place.show(file)))?;
            }
        }
        Ok(attrs)
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
        let mut seen: HashSet<String> = self.0.iter().map(|(n, _)| n.clone()).collect();
        let mut new = members;
        new.reverse();
        new.retain(|(name, _)| seen.insert(name.clone()));
        let new: Vec<_> = new.into_iter().map(|(name, value)| (name, value.as_bytes().to_vec())).collect();
        self.0.extend(new.into_iter().rev());
        Ok(())
    }

    /// Sets one of them; the value is JSON.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        json::Value::parse(value).map_err(|e| fail!(Argument, "the value of an attribute must be JSON: {e}"))?;
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value.to_vec(),
            None => self.0.push((name.to_owned(), value.to_vec())),
        }
        Ok(())
    }

    /// Removes one of them, if it is there.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| n != name);
    }

    /// The text of the tools' file, in ASCII, as bcolz wants it.
    pub fn to_json(&self) -> String {
        let one = |(name, value): &(String, Vec<u8>)| format!("{}: {}", json::Quoted(name), json::escaped(&String::from_utf8_lossy(value)));
        format!("{{{}}}\n", self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    /// The names.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(n, _)| n.as_str()).collect()
    }

    /// The value of this name, as it is stored.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice())
    }
}
