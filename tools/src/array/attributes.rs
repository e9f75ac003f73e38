//! Attributes: JSON in folders, MessagePack in frames, and members of the metadata in Bloscpack
//! files.

use crate::content::{Content, columns};
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::{detect, failure, report};
use holdall::Array;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

/// Returns whether a text is one JSON value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns a value as JSON: as it is, or as a string if it is none, as NaN of Python.
pub fn as_json(text: &str) -> String {
    if is_json(text) { text.trim().to_owned() } else { Json::from(text).to_string() }
}

/// A container and its path.
type At<'a, C> = (C, &'a FileName);

/// Copies the attributes of an array or a table to another one.
pub fn copy((from, path): At<&Content>, (to, out): At<&mut Content>) -> Result {
    for name in from.attribute_names() {
        let value = from.attribute(path, name)?;
        // frames take JSON only: NaN of Python becomes text
        let value = if detect::is_frame(to.format()) { as_json(&value) } else { value };
        to.set_attribute(out, (name, false), &value)?;
    }
    Ok(())
}

/// Copies the attributes of a dataset into the metadata of an array in a Bloscpack file, as a
/// member "attrs".
pub fn copy_into_metadata((from, source): At<&Content>, (to, path): At<&mut Array>) -> Result {
    let mut members = Map::new();
    for name in from.attribute_names() {
        match serde_json::from_str(&from.attribute(source, name)?) {
            Ok(value) => drop(members.insert(name.to_owned(), value)),
            Err(_) => {
                report::note(&format!("{path}: attribute '{name}' is no JSON, and is not in there"))
            }
        }
    }
    if from.attribute_names().is_empty() {
        return Ok(());
    }
    let metadata = to.attribute("").map_err(library(path))?.unwrap_or(b"{}");
    let mut metadata: Map<String, Json> =
        serde_json::from_slice(metadata).map_err(|error| failure!("{path}: metadata: {error}"))?;
    metadata.insert("attrs".to_owned(), Json::Object(members));
    let metadata = Json::Object(metadata).to_string();
    to.set_attribute("", metadata.as_bytes()).map_err(library(path))
}

/// Returns the attributes in the metadata of an array in a Bloscpack file: all but what makes it an
/// array.
pub fn of_metadata(metadata: Map<String, Json>) -> Map<String, Json> {
    let mut members = Map::new();
    for (name, value) in metadata {
        match (name.as_str(), value) {
            ("dtype" | "shape" | "order" | "container", _) => {}
            ("attrs", Json::Object(attributes)) => members.extend(attributes),
            (_, value) => _ = members.insert(name, value),
        }
    }
    members
}

/// Copies the attributes in the metadata of an array in a Bloscpack file to a dataset.
pub fn copy_from_metadata((from, path): At<&Array>, (to, out): At<&mut Content>) -> Result {
    let metadata = from.attribute("").map_err(library(path))?.unwrap_or_default();
    let members = of_metadata(serde_json::from_slice(metadata).unwrap_or_default());
    let mut members = members.iter();
    members.try_for_each(|(name, value)| to.set_attribute(out, (name, false), &value.to_string()))
}

/// The number of attributes of a container and of its columns.
pub fn count(of: &Content) -> usize {
    let columns = of.table().into_iter().flat_map(columns);
    of.attribute_names().len()
        + columns.map(|(_, array)| array.attribute_names().len()).sum::<usize>()
}
