//! Local files: a folder of the file system, read and written by position.
#![forbid(unsafe_code)]

use super::folder_identity::Anchors;
#[cfg(unix)]
use super::map::MappedFile;
use super::{Access, File, Folder, lock::Lock};
use crate::error::{Error, Result, fail};
use crate::os::{self, OsStrExt};
use crate::parallel::unless_taken;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf, is_separator};
use std::sync::{Arc, Mutex};

/// A folder of the local file system.
pub struct LocalFolder {
    /// Absolute: the process may change its folder while a container is open.
    path: PathBuf,
    /// As it was given, for messages.
    shown: PathBuf,
    /// Where a symbolic link is, if the container was found through one.
    link: Option<Link>,
    /// The folder, by its real name, where no link may lead out of it.
    fence: Option<Fence>,
    /// What a writer knows of it.
    anchors: Anchors,
}

struct Fence {
    real: PathBuf,
    /// Folders in it that are in it, as was found once: asking for each file would take longer
    /// than the file.
    inside: Mutex<HashSet<OsString>>,
}

impl Fence {
    /// Is this a link that leads out of the folder?
    fn is_left_by(&self, path: &Path) -> bool {
        let linked = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
        linked && fs::canonicalize(path).is_ok_and(|real| !real.starts_with(&self.real))
    }
}

struct Link {
    folder: PathBuf,
    name: OsString,
    /// The name of the file that it leads to.
    target: OsString,
}

/// Where a local path leads.
pub struct Located {
    /// The folder.
    pub folder: Arc<dyn Folder>,
    /// The name there.
    pub name: OsString,
    /// The name that was given: another one where it is that of a symbolic link.
    pub given: OsString,
}

/// Folder and name of a local path. A symbolic link is followed: journal and lock lie beside the
/// file, whatever the name it was reached by; other files that belong to it are looked for beside
/// the link first.
pub fn locate(path: &OsStr) -> Result<Located> {
    let given_path = Path::new(path);
    let (given_folder, given) = split(given_path)?;
    let linked = fs::symlink_metadata(given_path).is_ok_and(|m| m.is_symlink());
    let Some(real) = linked.then(|| fs::canonicalize(given_path).ok()).flatten() else {
        return locate_itself(path);
    };
    let (real_folder, name) = split(&real)?;
    let link = Link {
        folder: absolute(&given_folder)?,
        name: given.clone(),
        target: name.clone(),
    };
    let folder = LocalFolder {
        path: real_folder.clone(),
        shown: real_folder,
        link: Some(link),
        fence: None,
        anchors: Anchors::default(),
    };
    Ok(Located {
        folder: Arc::new(folder),
        name,
        given,
    })
}

/// As [`locate`], of a link itself.
pub fn locate_itself(path: &OsStr) -> Result<Located> {
    let (shown, name) = split(Path::new(path))?;
    let folder = LocalFolder {
        path: absolute(&shown)?,
        shown,
        link: None,
        fence: None,
        anchors: Anchors::default(),
    };
    Ok(Located {
        folder: Arc::new(folder),
        given: name.clone(),
        name,
    })
}

/// As [`locate`], for who is going to change the container: its files all lie beside each other,
/// under the name that the file has.
pub fn locate_for_change(path: &OsStr) -> Result<Located> {
    let l = locate(path)?;
    if l.name != l.given {
        return Err(fail!(
            Unsupported,
            "{}: this is a link to {}; open that for writing",
            path.display(),
            l.folder.show(&l.name)
        ));
    }
    match fs::canonicalize(path) {
        Ok(real) if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) => {
            locate(real.as_os_str())
        }
        _ => Ok(l),
    }
}

/// The folder of this path itself, for containers that are folders: names in it may have folders in
/// them, and no link leads out of it.
pub fn folder(path: &OsStr) -> Result<Arc<dyn Folder>> {
    let shown = PathBuf::from(path);
    let real = fs::canonicalize(path).map_err(|e| Error::os(shown.display(), &e))?;
    Ok(Arc::new(LocalFolder {
        path: real.clone(),
        shown,
        link: None,
        fence: Some(Fence {
            real,
            inside: Mutex::default(),
        }),
        anchors: Anchors::default(),
    }))
}

fn split(path: &Path) -> Result<(PathBuf, OsString)> {
    match path.file_name() {
        Some(name)
            if !path
                .as_os_str()
                .as_encoded_bytes()
                .last()
                .is_some_and(|&b| is_separator(b.into())) =>
        {
            let folder = path
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Ok((folder.to_path_buf(), name.to_os_string()))
        }
        _ => Err(fail!(
            Argument,
            "{}: this path names no file",
            path.display()
        )),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::os(path.display(), &e))
}

impl Link {
    /// The file beside the link that belongs to it as `name` belongs to its target.
    fn beside(&self, name: &OsStr) -> Option<PathBuf> {
        let prefix = name
            .as_encoded_bytes()
            .strip_suffix(self.target.as_encoded_bytes())
            .filter(|p| !p.is_empty())?;
        let mut there = OsStr::from_bytes(prefix).to_os_string();
        there.push(&self.name);
        let there = self.folder.join(there);
        there.exists().then_some(there)
    }
}

impl LocalFolder {
    fn path(&self, name: &OsStr) -> PathBuf {
        self.link
            .as_ref()
            .and_then(|l| l.beside(name))
            .unwrap_or_else(|| self.path.join(name))
    }

    /// Refuses a name that is in a folder out of this one, where that is asked for. What has the
    /// name may be a link: that is itself renamed or removed, and not followed where that would
    /// lead out.
    fn stays_inside(&self, name: &OsStr) -> Result<()> {
        let plain = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if plain || self.fence.is_none() {
            self.is_inside(super::parent(name))
        } else {
            Err(self.outside(name))
        }
    }

    /// The same for a change there; refuses it, too, where another folder has the name.
    fn may_change(&self, name: &OsStr) -> Result<()> {
        self.stays_inside(name)?;
        self.anchors
            .check(&self.path, super::parent(name), &self.shown)
    }

    /// As [`LocalFolder::stays_inside`], of the folder itself.
    fn is_inside(&self, folder: &OsStr) -> Result<()> {
        let Some(fence) = &self.fence else {
            return Ok(());
        };
        if unless_taken(&fence.inside).is_some_and(|inside| inside.contains(folder)) {
            return Ok(());
        }
        let mut path = self.path.clone();
        for part in Path::new(folder).components() {
            path.push(part);
            if !matches!(part, Component::Normal(_)) || fence.is_left_by(&path) {
                return Err(self.outside(folder));
            }
        }
        if let Some(mut inside) = unless_taken(&fence.inside) {
            inside.extend(
                Path::new(folder)
                    .ancestors()
                    .map(|f| f.as_os_str().to_owned()),
            );
        }
        Ok(())
    }

    /// Opens a file that is there.
    fn open_file(&self, name: &OsStr, access: Access, shown: &str) -> Result<fs::File> {
        let path = self.path(name);
        let mut o = OpenOptions::new();
        o.read(true);
        match access {
            Access::Read | Access::Map | Access::Create => {}
            Access::Write | Access::WriteBeside => _ = o.write(true),
        }
        let what = |e| Error::os(shown, &e);
        if let Some(fence) = &self.fence {
            match os::open_itself(&mut o, &path).map_err(what)? {
                Some(file) => return Ok(file),
                None if access == Access::WriteBeside || fence.is_left_by(&path) => {
                    return Err(self.outside(name));
                }
                None => {}
            }
        }
        if access == Access::WriteBeside {
            return os::open_itself(&mut o, &path)
                .map_err(what)?
                .ok_or_else(|| self.is_link(name));
        }
        os::open(&mut o, &path).map_err(what)
    }

    fn is_link(&self, name: &OsStr) -> Error {
        fail!(
            Format,
            "{}: this is a symbolic link, which is not followed; remove it, or put the file itself there",
            self.show(name)
        )
    }

    /// What was opened, if it is a regular file.
    fn opened(&self, file: fs::File, look: &os::Look, shown: String) -> Result<LocalFile> {
        if let Some(what) = what_else(look) {
            return Err(fail!(
                Format,
                "{shown}: this is {what}, a file was expected"
            ));
        }
        Ok(LocalFile {
            file,
            name: shown,
            identity: os::identity(look),
            as_opened: seen(look),
        })
    }

    fn outside(&self, name: &OsStr) -> Error {
        fail!(
            Format,
            "{}: this leads out of {}",
            self.show(name),
            self.shown.display()
        )
    }
}

impl Folder for LocalFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        match access {
            Access::Read | Access::Map => self.stays_inside(name)?,
            Access::Write | Access::WriteBeside | Access::Create => self.may_change(name)?,
        }
        if access == Access::Create {
            return self.create(name, OsStr::new(""));
        }
        let shown = self.show(name);
        let file = self.open_file(name, access, &shown)?;
        let look = os::look_at(&file).map_err(|e| Error::os(&shown, &e))?;
        if access == Access::WriteBeside && look.is_file() && os::has_other_names(&look) {
            return Err(fail!(
                Format,
                "{shown}: this file has other names (hard links), which are not to be changed; remove it or them"
            ));
        }
        let local = self.opened(file, &look, shown)?;
        #[cfg(unix)]
        if access == Access::Map {
            return Ok(Arc::new(MappedFile::new(local)?));
        }
        Ok(Arc::new(local))
    }

    fn create(&self, name: &OsStr, like: &OsStr) -> Result<Arc<dyn File>> {
        self.may_change(name)?;
        let (shown, path, like) = (self.show(name), self.path.join(name), self.path.join(like));
        let from = os::look(&like).ok().filter(|look| look.is_file());
        let new = || os::create(&path, from.is_some());
        let made = match new() {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&path).and_then(|()| new())
            }
            made => made,
        };
        let rights = |file: &fs::File| {
            from.as_ref()
                .map_or(Ok(()), |from| os::take_rights(file, &like, from))
        };
        let file = made
            .and_then(|file| rights(&file).map(|()| file))
            .map_err(|e| Error::os(&shown, &e))?;
        let look = os::look_at(&file).map_err(|e| Error::os(&shown, &e))?;
        Ok(Arc::new(self.opened(file, &look, shown)?))
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        self.stays_inside(name)?;
        let (shown, path) = (self.show(name), self.path.join(name));
        let mut how = OpenOptions::new();
        let ignored = || {
            fail!(
                Missing,
                "{shown}: it is another user's, who may not change what it is about: it is not used"
            )
        };
        let file = match os::open_itself(how.read(true), &path) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(ignored()),
            // what is there, but not for this user, is another user's
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Err(ignored()),
            Err(e) => return Err(Error::os(&shown, &e)),
        };
        let look = os::look_at(&file).map_err(|e| Error::os(&shown, &e))?;
        let about = os::look(&self.path.join(of))
            .or_else(|_| os::look(&self.path))
            .map_err(|e| Error::os(&shown, &e))?;
        if !os::may_speak_for(&look, &about, os::is_shared(&self.path)) {
            return Err(ignored());
        }
        Ok(Arc::new(self.opened(file, &look, shown)?))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.may_change(from).and_then(|()| self.stays_inside(to))?;
        if super::parent(from) != super::parent(to) {
            self.may_change(to)?;
        }
        fs::rename(self.path(from), self.path(to)).map_err(|e| Error::os(self.show(to), &e))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.may_change(name)?;
        fs::remove_file(self.path(name)).map_err(|e| Error::os(self.show(name), &e))
    }

    fn sync(&self) -> Result<()> {
        self.sync_in(OsStr::new(""))
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        self.may_change(name)?;
        match fs::create_dir(self.path.join(name)) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            r => r.map_err(|e| Error::os(self.show(name), &e)),
        }
    }

    fn remove_folder(&self, name: &OsStr) -> Result<()> {
        self.may_change(name)?;
        self.anchors.forget(name);
        match fs::remove_dir(self.path.join(name)) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                Ok(())
            }
            r => r.map_err(|e| Error::os(self.show(name), &e)),
        }
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        self.is_inside(name)?;
        self.anchors.check(&self.path, name, &self.shown)?;
        let names = fs::read_dir(self.path.join(name))
            .and_then(|all| all.map(|entry| entry.map(|e| e.file_name())).collect());
        names.map_err(|e| Error::os(self.show(name), &e))
    }

    fn sync_in(&self, name: &OsStr) -> Result<()> {
        self.is_inside(name)?;
        os::sync_folder(&self.path.join(name)).map_err(|e| Error::os(self.show(name), &e))
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        let path = self.path(name);
        match os::look(&path) {
            Ok(l) => Ok(Some(os::identity(&l))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        match os::look(&self.path(name)) {
            Ok(look) => Ok(what_else(&look)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn has_still(&self, name: &OsStr, file: &dyn File, seen: (u64, u64)) -> Result<bool> {
        // one look tells all
        match os::look(&self.path(name)) {
            Ok(l) => Ok(os::identity(&l) == file.identity() && (l.len(), os::stamp(&l)) == seen),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn writable(&self) -> Result<()> {
        self.anchors.begin(&self.path);
        Ok(())
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        Lock::take(&self.path, name)
    }

    fn lock_in_part(&self, name: &OsStr) -> Result<Lock> {
        Lock::take_part(&self.path, name)
    }

    fn test_lock(&self, name: &OsStr, part: bool) -> Result<Lock> {
        Lock::test(&self.path, name, part)
    }

    fn show(&self, name: &OsStr) -> String {
        let shown = match self.shown == Path::new(".") {
            // "." would tell nobody which folder that is
            true if name.is_empty() => self.path.clone(),
            true => PathBuf::from(name),
            false => self.shown.join(name),
        };
        shown.display().to_string()
    }
}

/// A file that is read and written by position.
pub struct LocalFile {
    pub(super) file: fs::File,
    name: String,
    identity: u64,
    as_opened: (u64, u64),
}

/// What this is, where it is no file.
fn what_else(look: &os::Look) -> Option<&'static str> {
    match (look.is_file(), look.is_dir()) {
        (true, _) => None,
        (_, true) => Some(super::A_FOLDER),
        _ => Some("neither a file nor a folder"),
    }
}

fn seen(look: &os::Look) -> (u64, u64) {
    (look.len(), os::modified(look))
}

impl File for LocalFile {
    fn size(&self) -> Result<u64> {
        // a third of what asking for all metadata takes; nobody reads from where the file stands
        (&self.file)
            .seek(SeekFrom::End(0))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            // the system refuses what would end beyond its largest offset, and no file has bytes
            // there
            let Some(from) = at
                .checked_add(done as u64)
                .filter(|&f| f <= i64::MAX as u64 - rest.len() as u64)
            else {
                break;
            };
            match os::read_at(&self.file, rest, from) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::os(&self.name, &e)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        os::write_all_at(&self.file, src, at).map_err(|e| Error::os(&self.name, &e))
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.file
            .set_len(size)
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::os(&self.name, &e))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    fn origin(&self) -> Result<u64> {
        os::look_at(&self.file)
            .map(|l| os::origin(&l))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn modified(&self) -> Result<u64> {
        self.look().map(|(_, modified)| modified)
    }

    fn look(&self) -> Result<(u64, u64)> {
        os::look_at(&self.file)
            .map(|l| seen(&l))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn as_opened(&self) -> Result<(u64, u64)> {
        Ok(self.as_opened)
    }

    fn stamp(&self) -> Result<u64> {
        os::look_at(&self.file)
            .map(|l| os::stamp(&l))
            .map_err(|e| Error::os(&self.name, &e))
    }
}
