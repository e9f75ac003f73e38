//! The parts of a container, as files and folders beside it.
//!
//! A part is a container of its own, `NAME.holdall-parts.ID` with the suffix of NAME. While parts are
//! committed, `NAME.holdall-parts` is a record of that (see [`super::record`]).
#![forbid(unsafe_code)]

use super::record::Record;
use crate::alloc;
use crate::bag::shard::PREFIXES;
use crate::dataset::commit::MAIN;
use crate::error::{Result, Status, fail};
use crate::io::lock::SUFFIX as LOCK_SUFFIX;
use crate::io::{A_FOLDER, Folder, beside, locate};
use crate::os::OsStrExt;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Suffix of the name of the record, with which the names of the parts begin.
const SUFFIX: &str = ".holdall-parts";
/// Suffix of the name of a record that is being written.
const NEW: &str = ".holdall-new";
/// Depth of folders in a part: those of a table, its columns, and their chunks.
const MAX_DEPTH: u32 = 8;

/// The identity of a part: random bytes, in hexadecimal digits in file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub [u8; 16]);

impl PartId {
    /// Returns an identity that no other part has, on any machine.
    pub fn random() -> PartId {
        // The standard library seeds its hashers with random bytes of the system. A forked child has
        // those of its parent, but another number and another time.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos());
        let word = || RandomState::new().hash_one((std::process::id(), now));
        PartId((u128::from(word()) << 64 | u128::from(word())).to_le_bytes())
    }

    /// Returns the identity that a text begins with.
    fn of(text: &[u8]) -> Option<PartId> {
        let digits = std::str::from_utf8(text.get(..32)?).ok()?;
        let is_lower = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let id = u128::from_str_radix(digits, 16).ok()?;
        let valid = digits.bytes().all(is_lower) && matches!(text.get(32), None | Some(b'.'));
        valid.then(|| PartId(id.to_be_bytes()))
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Where the parts of a container are.
pub struct Parts {
    /// The folder of the container and of its parts.
    folder: Arc<dyn Folder>,
    /// The name of the record, with which the names of the parts begin.
    name: OsString,
    /// The path of the record; empty in other storage than paths.
    path: OsString,
    /// The name of the container, whose owner is trusted.
    of: OsString,
    /// The suffix of the names of parts, which selects the codec of a bag.
    suffix: OsString,
}

impl Parts {
    /// Returns the parts of a container whose path is `base`.
    pub fn at(base: &OsStr, suffix: &OsStr) -> Result<Parts> {
        // without a trailing slash
        let base = std::path::Path::new(base).components().as_path();
        let path = beside("", base.as_os_str(), SUFFIX);
        let at = locate::locate_for_change(&path)?;
        if at.folder.is_store() {
            let shown = base.display();
            return Err(fail!(
                Unsupported,
                "{shown}: parts of containers in object stores are not supported; write containers of their own"
            ));
        }
        Ok(Parts {
            folder: at.folder,
            name: at.name,
            path,
            of: base.file_name().unwrap_or_default().to_owned(),
            suffix: suffix.to_owned(),
        })
    }

    /// Returns the parts of the container `name` in `folder`.
    #[cfg(test)]
    pub fn beside(folder: &Arc<dyn Folder>, name: &OsStr, suffix: &str) -> Parts {
        Parts {
            folder: folder.clone(),
            name: beside("", name, SUFFIX),
            path: OsString::new(),
            of: name.to_owned(),
            suffix: suffix.into(),
        }
    }

    /// Returns the folder of the container and of its parts.
    pub fn folder(&self) -> &Arc<dyn Folder> {
        &self.folder
    }

    /// Returns the name of the record for messages.
    pub fn show(&self) -> String {
        self.folder.show(&self.name)
    }

    /// Returns the name of a file of a part: of the part itself, or with a prefix of the files of a
    /// bag.
    pub fn name_of(&self, prefix: &str, id: PartId) -> OsString {
        self.completed(beside(prefix, &self.name, &format!(".{id}")))
    }

    /// Returns the path of a part.
    pub fn path_of(&self, id: PartId) -> OsString {
        self.completed(beside("", &self.path, &format!(".{id}")))
    }

    fn completed(&self, mut name: OsString) -> OsString {
        name.push(&self.suffix);
        name
    }

    /// Returns an error if a part belongs to a user who may not write the container.
    pub fn check(&self, id: PartId) -> Result<()> {
        self.folder.check_owner(&self.name_of("", id), &self.of)
    }

    /// Makes the names of the parts durable.
    pub fn sync(&self) -> Result<()> {
        self.folder.sync()
    }

    // ---- parts

    /// Returns the parts that exist, in order of their identities.
    pub fn all(&self) -> Result<Vec<PartId>> {
        let all: BTreeSet<PartId> = self.entries()?.into_iter().map(|(id, _)| id).collect();
        Ok(all.into_iter().collect())
    }

    /// Returns the names of all files and folders of parts.
    fn entries(&self) -> Result<Vec<(PartId, OsString)>> {
        let mut entries = Vec::new();
        for prefix in PREFIXES {
            let start = beside(prefix, &self.name, ".");
            for name in self.folder.list_beginning(&start)? {
                let rest = name.as_bytes().get(start.len()..);
                if let Some(id) = rest.and_then(PartId::of) {
                    entries.push((id, name));
                }
            }
        }
        Ok(entries)
    }

    /// Returns the parts that a writer has open.
    pub fn written(&self) -> Result<BTreeSet<PartId>> {
        let main = format!("/{MAIN}{LOCK_SUFFIX}");
        let is_held = |name: &OsStr| {
            let lock = self.folder.test_lock(name, false);
            lock.is_err_and(|e| e.status == Status::Busy)
        };
        let mut written = BTreeSet::new();
        for (id, name) in self.entries()? {
            let is_lock = name.as_bytes().ends_with(LOCK_SUFFIX.as_bytes());
            if is_lock && is_held(&name) || !is_lock && is_held(&beside("", &name, &main)) {
                written.insert(id);
            }
        }
        Ok(written)
    }

    /// Removes the files of parts.
    pub fn remove(&self, parts: &[PartId]) -> Result<()> {
        let parts: BTreeSet<&PartId> = parts.iter().collect();
        for (id, name) in self.entries()? {
            if parts.contains(&id) {
                self.remove_entry(&name, MAX_DEPTH)?;
            }
        }
        Ok(())
    }

    fn remove_entry(&self, name: &OsStr, depth: u32) -> Result<()> {
        let is_folder = self.folder.obstacle(name)? == Some(A_FOLDER);
        if !is_folder || depth == 0 {
            return self.folder.remove_if_there(name);
        }
        for inside in self.folder.list(name)? {
            let inside: OsString = [name, OsStr::new("/"), &inside].into_iter().collect();
            self.remove_entry(&inside, depth - 1)?;
        }
        self.folder.remove_folder(name)
    }

    // ---- the record of a commit

    /// Returns the record of a commit that did not end, if there is one.
    pub fn record(&self) -> Result<Option<Record>> {
        let file = match self.folder.open_trusted(&self.name, &self.of) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            opened => opened?,
        };
        let mut bytes = alloc::zeroed(Record::checked_size(file.size()?, &*file)?)?;
        file.read_exact_at(0, &mut bytes)?;
        let record = Record::parse(&bytes);
        record.map(Some).map_err(|e| e.within(self.show()))
    }

    /// Stores the record of a commit.
    pub fn set_record(&self, record: &Record) -> Result<()> {
        let new = beside("", &self.name, NEW);
        let file = self.folder.create(&new, &self.of)?;
        file.write_at(0, &record.to_bytes())?;
        file.sync()?;
        self.folder.rename(&new, &self.name)?;
        self.folder.sync()
    }

    /// Removes the parts of a commit that is done, and then its record: as long as a part is there,
    /// the record says that it was committed.
    pub fn remove_finished(&self, parts: &[PartId]) -> Result<()> {
        self.remove(parts)?;
        self.folder.sync()?;
        self.remove_record()
    }

    /// Removes the record of a commit.
    pub fn remove_record(&self) -> Result<()> {
        self.folder.remove_if_there(&beside("", &self.name, NEW))?;
        self.folder.remove_if_there(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_their_part() {
        let id = PartId::random();
        for end in ["", ".bagz", ".bagz.holdall-lock", ".x.y"] {
            let name = format!("{id}{end}");
            assert_eq!(PartId::of(name.as_bytes()), Some(id), "{name}");
        }
        let upper = PartId([0xab; 16]).to_string().to_uppercase();
        for name in [
            "",
            "holdall-new",
            &id.to_string()[1..],
            &format!("{id}x"),
            &upper,
        ] {
            assert_eq!(PartId::of(name.as_bytes()), None, "{name}");
        }
        assert_ne!(PartId::random(), PartId::random());
    }
}
