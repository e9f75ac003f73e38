//! A zip archive as a read-only folder. Members that are stored without compression are read
//! where they are, without a copy.
#![forbid(unsafe_code)]

mod directory;
#[cfg(test)]
mod tests;
mod write;

pub use write::ZipWriter;

use self::directory::{LOCAL_BYTES, MAGIC, Member, Members};
use super::file_part::FilePart;
use super::lock::Lock;
use super::{Access, File, Folder, read_only};
use crate::alloc;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result, fail};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::sync::Arc;

/// A zip archive.
pub struct ZipFolder {
    folder: Arc<dyn Folder>,
    name: OsString,
    file: Arc<dyn File>,
    members: Members,
}

impl ZipFolder {
    /// Opens the archive `name` in `folder`.
    pub fn open(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<ZipFolder> {
        let file = folder.open(name, Access::Read)?;
        let within = |e: Error| e.within(folder.show(name));
        let mut members = directory::read(&*file).map_err(within)?;
        // over a network this would be a request for each member
        if !file.is_remote() {
            directory::add_contradictions(&mut members, &*file).map_err(within)?;
        }
        Ok(ZipFolder {
            folder: folder.clone(),
            name: name.to_owned(),
            file,
            members,
        })
    }

    /// Returns whether a file is a zip archive by its first bytes.
    pub fn is_zip(file: &dyn File) -> Result<bool> {
        let mut head = [0; MAGIC[0].len()];
        let n = file.read_at(0, &mut head)?;
        Ok(n == head.len() && MAGIC.contains(&&head))
    }

    /// Returns the names of all members, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Verifies the checksum of a member.
    pub fn verify(&self, name: &str) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        let (member, file) = (
            self.member(OsStr::new(name))?.1,
            self.open_part(name, &self.file)?,
        );
        let mut piece = alloc::zeroed(member.size.min(PIECE) as usize)?;
        let mut hasher = Hasher::new(Checksum::Crc32);
        let mut done = 0;
        while done < member.size {
            let part = piece.at_mut(..(member.size - done).min(PIECE) as usize)?;
            file.read_exact_at(done, part)?;
            hasher.update(part);
            done += part.len() as u64;
        }
        let found = hasher.finish();
        if found == member.crc.to_le_bytes() {
            return Ok(());
        }
        Err(fail!(
            Checksum,
            "{}: the CRC-32 of the zip archive does not match (expected {:02x?}, found {found:02x?})",
            self.show(OsStr::new(name)),
            member.crc.to_le_bytes()
        ))
    }

    fn member(&self, name: &OsStr) -> Result<(&str, &Member)> {
        let found = name
            .to_str()
            .and_then(|name| self.members.get_key_value(name));
        found
            .map(|(name, member)| (&**name, member))
            .ok_or_else(|| {
                fail!(
                    Missing,
                    "{}: the zip archive has no such member",
                    self.show(name)
                )
            })
    }

    /// Opens a member in `file`, this archive.
    fn open_part(&self, name: &str, file: &Arc<dyn File>) -> Result<FilePart> {
        let (name, member) = self.member(OsStr::new(name))?;
        let shown = self.show(OsStr::new(name));
        if member.encrypted || member.method != 0 {
            let how = if member.encrypted {
                "encrypted"
            } else {
                "compressed"
            };
            return Err(fail!(
                Unsupported,
                "{shown}: this member of the zip archive is {how} and cannot be read in place; extract the archive to a folder"
            ));
        }
        let mut local = alloc::zeroed(LOCAL_BYTES + name.len())?;
        file.read_cached(member.header_at, &mut local)
            .and_then(|()| directory::content(name, member, &local))
            .map(|range| FilePart::new(file.clone(), shown.clone(), range))
            .map_err(|e| e.within(&shown))
    }

    /// Opens the archive again to map it.
    fn mapped(&self) -> Result<Arc<dyn File>> {
        let file = self.folder.open(&self.name, Access::Map)?;
        if (file.identity(), file.size()?) == (self.file.identity(), self.file.size()?) {
            return Ok(file);
        }
        Err(fail!(
            State,
            "{}: the file was replaced since it was opened; open it again",
            self.folder.show(&self.name)
        ))
    }
}

impl Folder for ZipFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let file = match access {
            Access::Read => self.file.clone(),
            Access::Map => self.mapped()?,
            Access::Write | Access::WriteBeside | Access::Create => {
                return Err(read_only(&self.show(name)));
            }
        };
        let (name, _) = self.member(name)?;
        Ok(Arc::new(self.open_part(name, &file)?))
    }

    fn rename(&self, from: &OsStr, _: &OsStr) -> Result<()> {
        Err(read_only(&self.show(from)))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        Err(read_only(&self.show(name)))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        // a part of a file has the offset of its first byte as identity
        match self.member(name) {
            Ok((name, _)) => Ok(Some(self.open_part(name, &self.file)?.identity())),
            Err(_) => Ok(None),
        }
    }

    fn exists(&self, name: &OsStr) -> Result<bool> {
        Ok(self.member(name).is_ok())
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        Err(read_only(&self.show(name)))
    }

    fn writable(&self) -> Result<()> {
        Err(read_only(&self.folder.show(&self.name)))
    }

    fn show(&self, name: &OsStr) -> String {
        let shown = self.folder.show(&self.name);
        match name.is_empty() {
            true => shown,
            false => format!("{shown}/{}", name.display()),
        }
    }

    fn list(&self, folder: &OsStr) -> Result<Vec<OsString>> {
        let mut prefix = folder.to_string_lossy().into_owned();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let names = self
            .members
            .range::<str, _>(from)
            .map_while(|(name, _)| name.strip_prefix(&*prefix));
        let mut steps: Vec<&str> = names.filter_map(|rest| rest.split('/').next()).collect();
        // "a.b" is between "a" and "a/b"
        steps.sort_unstable();
        steps.dedup();
        Ok(steps
            .into_iter()
            .map(|step| OsStr::from_bytes(step.as_bytes()).to_owned())
            .collect())
    }

    fn files(&self) -> Result<Vec<OsString>> {
        Ok(self.members.keys().map(OsString::from).collect())
    }

    fn is_foreign(&self) -> bool {
        self.folder.is_foreign()
    }
}
