//! File names of the command line: any bytes, as the system has them.

use crate::report::printable;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The path of a file, the spec of a set of files (`name@8.bagz`), or "-".
///
/// A message shows it with control characters escaped, and with replacement characters for bytes
/// that are not UTF-8. JSON has such replacement characters as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(OsString);

impl FileName {
    /// Returns whether this is standard input or output.
    pub fn is_standard(&self) -> bool {
        self.0 == "-"
    }

    /// The name of an input in messages.
    pub fn of_input(&self) -> FileName {
        if self.is_standard() { FileName::from("standard input") } else { self.clone() }
    }

    /// The name as a path, also that of a file "-".
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name as text, without escapes.
    pub fn text(&self) -> Cow<'_, str> {
        self.0.to_string_lossy()
    }

    pub fn ends_with(&self, ending: &str) -> bool {
        self.bytes().ends_with(ending.as_bytes())
    }

    /// Returns the folder, which ends in a slash or is empty, and the name in it.
    pub fn split(&self) -> (&[u8], &[u8]) {
        let slash = self.bytes().iter().rposition(|byte| *byte == b'/');
        self.bytes().split_at(slash.map_or(0, |slash| slash + 1))
    }

    /// Returns the path of a file in this folder, without a redundant separator.
    pub fn join(&self, name: &FileName) -> FileName {
        let is_complete = self.is_empty() || self.ends_with("/");
        let separator: &[u8] = if is_complete { b"" } else { b"/" };
        [self.bytes(), separator, name.bytes()].concat().into()
    }

    /// Returns this name with some text after it.
    pub fn with_suffix(&self, suffix: &str) -> FileName {
        [self.bytes(), suffix.as_bytes()].concat().into()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&printable(&self.text()))
    }
}

impl Serialize for FileName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text())
    }
}

impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl From<OsString> for FileName {
    fn from(name: OsString) -> FileName {
        FileName(name)
    }
}

impl From<Vec<u8>> for FileName {
    fn from(name: Vec<u8>) -> FileName {
        FileName(OsString::from_vec(name))
    }
}

impl From<&str> for FileName {
    fn from(name: &str) -> FileName {
        FileName(name.into())
    }
}
