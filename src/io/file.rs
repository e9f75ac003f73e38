//! Local files, read and written with positional I/O.
#![forbid(unsafe_code)]

use super::folder_identity::FolderIdentities;
#[cfg(unix)]
use super::map::MappedFile;
use super::{Access, AsOpened, File, Folder, lock::Lock};
use crate::error::{Error, Result, fail};
use crate::os::{self, OsStrExt};
use crate::parallel::try_lock;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf, is_separator};
use std::sync::{Arc, Mutex};

/// A folder of the local file system.
pub struct LocalFolder {
    /// An absolute path, because the process may change its working directory.
    path: PathBuf,
    /// The path as given, for messages.
    shown: PathBuf,
    /// The symbolic link through which the container was found, if any.
    link: Option<Link>,
    /// The real path that links may not lead out of, if the folder is confined.
    confinement: Option<Confinement>,
    /// The folders that a writer has recorded.
    identities: FolderIdentities,
    /// A file that was opened to find this folder: the next reader takes it.
    open: Mutex<Option<(OsString, fs::File)>>,
}

struct Confinement {
    real: PathBuf,
    /// True if links may lead out of the folder.
    follows_links: bool,
    /// Folders already verified to be inside. Resolving the path for each file would take longer
    /// than opening the file.
    inside: Mutex<HashSet<OsString>>,
}

impl Confinement {
    /// Returns whether the path is a symbolic link that leads out of the folder, and may not.
    fn is_escaped_by(&self, path: &Path) -> bool {
        if self.follows_links {
            return false;
        }
        let linked = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
        linked && fs::canonicalize(path).is_ok_and(|real| !real.starts_with(&self.real))
    }
}

struct Link {
    folder: PathBuf,
    name: OsString,
    /// The name of the target file.
    target: OsString,
}

/// Folder and name of a local path.
pub struct Located {
    /// The folder that contains the file.
    pub folder: Arc<dyn Folder>,
    /// The name of the file in the folder.
    pub name: OsString,
    /// The name that was given. It differs from `name` if the path is a symbolic link.
    pub given: OsString,
}

/// Returns folder and name of a local path. Follows a symbolic link, because journal and lock are
/// beside the real file. Other files of the container are searched beside the link first.
pub fn locate(path: &OsStr) -> Result<Located> {
    let linked = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
    match linked.then(|| fs::canonicalize(path).ok()).flatten() {
        Some(real) => locate_target(path, &real),
        None => locate_itself(path),
    }
}

/// Like [`locate`], for callers that open the file next, and no other before. Opening it here shows
/// whether it is a link, with one system call less.
pub fn locate_to_open(path: &OsStr) -> Result<Located> {
    match os::open_nofollow(OpenOptions::new().read(true), Path::new(path)) {
        Ok(Some(file)) => {
            let (shown, name) = split(Path::new(path))?;
            let mut folder = LocalFolder::at(absolute(&shown)?, shown);
            folder.open = Mutex::new(Some((name.clone(), file)));
            Ok(Located::in_folder(folder, name))
        }
        // a link, or an error that opening it reports
        _ => locate(path),
    }
}

fn locate_target(path: &OsStr, real: &Path) -> Result<Located> {
    let (given_folder, given) = split(Path::new(path))?;
    let (real_folder, name) = split(real)?;
    let mut folder = LocalFolder::at(real_folder.clone(), real_folder);
    folder.link = Some(Link {
        folder: absolute(&given_folder)?,
        name: given.clone(),
        target: name.clone(),
    });
    Ok(Located {
        given,
        ..Located::in_folder(folder, name)
    })
}

/// Like [`locate`], but does not follow a symbolic link.
pub fn locate_itself(path: &OsStr) -> Result<Located> {
    let (shown, name) = split(Path::new(path))?;
    Ok(Located::in_folder(
        LocalFolder::at(absolute(&shown)?, shown),
        name,
    ))
}

/// Like [`locate`], for callers that change the container. All files of a container that is written
/// must be beside each other, under the real name of the file.
pub fn locate_for_change(path: &OsStr) -> Result<Located> {
    let l = locate(path)?;
    if l.name != l.given {
        return Err(fail!(
            Unsupported,
            "{}: this is a symbolic link to {}; open the target for writing",
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

/// Returns the folder at this path, for containers that are folders. Names may contain subfolders.
/// Links that lead out of the folder are refused, unless `follows_links`.
pub fn folder(path: &OsStr, follows_links: bool) -> Result<Arc<dyn Folder>> {
    let shown = PathBuf::from(path);
    let real = fs::canonicalize(path).map_err(|e| Error::os(shown.display(), &e))?;
    let mut folder = LocalFolder::at(real.clone(), shown);
    folder.confinement = Some(Confinement {
        real,
        follows_links,
        inside: Mutex::default(),
    });
    Ok(Arc::new(folder))
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
            "{}: this path does not name a file",
            path.display()
        )),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::os(path.display(), &e))
}

impl Link {
    /// Returns the path of the companion file beside the link, if it exists: `name` with the link's
    /// name instead of the target's.
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

impl Located {
    fn in_folder(folder: LocalFolder, name: OsString) -> Located {
        Located {
            folder: Arc::new(folder),
            given: name.clone(),
            name,
        }
    }
}

impl LocalFolder {
    fn at(path: PathBuf, shown: PathBuf) -> LocalFolder {
        LocalFolder {
            path,
            shown,
            link: None,
            confinement: None,
            identities: FolderIdentities::default(),
            open: Mutex::default(),
        }
    }

    /// Takes the file that is already open, if it has this name.
    fn take_open(&self, name: &OsStr) -> Option<fs::File> {
        let taken = try_lock(&self.open)?.take_if(|(of, _)| of == name);
        taken.map(|(_, file)| file)
    }

    fn path(&self, name: &OsStr) -> PathBuf {
        self.link
            .as_ref()
            .and_then(|l| l.beside(name))
            .unwrap_or_else(|| self.path.join(name))
    }

    /// Refuses a name whose folder is outside of a confined folder. The last component may be a
    /// link: rename and remove act on the link itself, and open does not follow it out of the
    /// folder.
    fn check_inside(&self, name: &OsStr) -> Result<()> {
        let plain = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if plain || self.confinement.is_none() {
            self.check_folder_inside(super::parent(name))
        } else {
            Err(self.outside(name))
        }
    }

    /// Like `check_inside`, for a change. Also refuses it if another folder has taken the path.
    fn check_change(&self, name: &OsStr) -> Result<()> {
        self.check_inside(name)?;
        self.identities
            .check(&self.path, super::parent(name), &self.shown)
    }

    /// Like [`LocalFolder::check_inside`], for the path of a folder.
    fn check_folder_inside(&self, folder: &OsStr) -> Result<()> {
        let Some(confinement) = &self.confinement else {
            return Ok(());
        };
        if try_lock(&confinement.inside).is_some_and(|inside| inside.contains(folder)) {
            return Ok(());
        }
        let mut path = self.path.clone();
        for part in Path::new(folder).components() {
            path.push(part);
            if !matches!(part, Component::Normal(_)) || confinement.is_escaped_by(&path) {
                return Err(self.outside(folder));
            }
        }
        if let Some(mut inside) = try_lock(&confinement.inside) {
            inside.extend(
                Path::new(folder)
                    .ancestors()
                    .map(|f| f.as_os_str().to_owned()),
            );
        }
        Ok(())
    }

    /// Opens an existing file.
    fn open_file(&self, name: &OsStr, access: Access, shown: &str) -> Result<fs::File> {
        let path = self.path(name);
        let mut o = OpenOptions::new();
        o.read(true);
        match access {
            Access::Read | Access::Map => {
                if let Some(file) = self.take_open(name) {
                    return Ok(file);
                }
            }
            Access::Create => {}
            Access::Write | Access::WriteBeside => _ = o.write(true),
        }
        let what = |e| Error::os(shown, &e);
        if let Some(confinement) = &self.confinement {
            match os::open_nofollow(&mut o, &path).map_err(what)? {
                Some(file) => return Ok(file),
                None if access == Access::WriteBeside || confinement.is_escaped_by(&path) => {
                    return Err(self.outside(name));
                }
                None => {}
            }
        }
        if access == Access::WriteBeside {
            return os::open_nofollow(&mut o, &path)
                .map_err(what)?
                .ok_or_else(|| self.is_link(name));
        }
        os::open(&mut o, &path).map_err(what)
    }

    fn is_link(&self, name: &OsStr) -> Error {
        fail!(
            Format,
            "{}: this is a symbolic link, which is not followed; replace it by the file itself, or remove it",
            self.show(name)
        )
    }

    /// Wraps an open file. Refuses anything but a regular file.
    fn opened(&self, file: fs::File, stat: &os::Stat, shown: String) -> Result<LocalFile> {
        if let Some(what) = non_file_kind(stat) {
            return Err(fail!(Format, "{shown}: expected a file, found {what}"));
        }
        Ok(LocalFile {
            file,
            name: shown,
            identity: os::identity(stat),
            as_opened: AsOpened {
                size: stat.len(),
                modified: os::modified(stat),
                stamp: os::stamp(stat),
            },
        })
    }

    fn outside(&self, name: &OsStr) -> Error {
        fail!(
            Format,
            "{}: this path leads out of {}",
            self.show(name),
            self.shown.display()
        )
    }
}

impl Folder for LocalFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        match access {
            Access::Read | Access::Map => self.check_inside(name)?,
            Access::Write | Access::WriteBeside | Access::Create => self.check_change(name)?,
        }
        if access == Access::Create {
            return self.create(name, OsStr::new(""));
        }
        let shown = self.show(name);
        let file = self.open_file(name, access, &shown)?;
        let stat = os::fstat(&file).map_err(|e| Error::os(&shown, &e))?;
        if access == Access::WriteBeside && stat.is_file() && os::has_other_names(&stat) {
            return Err(fail!(
                Format,
                "{shown}: this file has other names (hard links), which a change would affect; remove it or them"
            ));
        }
        let local = self.opened(file, &stat, shown)?;
        #[cfg(unix)]
        if access == Access::Map {
            return Ok(Arc::new(MappedFile::new(local)?));
        }
        Ok(Arc::new(local))
    }

    fn create(&self, name: &OsStr, like: &OsStr) -> Result<Arc<dyn File>> {
        self.check_change(name)?;
        let (shown, path, like) = (self.show(name), self.path.join(name), self.path.join(like));
        let from = os::stat(&like).ok().filter(|stat| stat.is_file());
        let new = || os::create(&path, from.is_some());
        let made = match new() {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&path).and_then(|()| new())
            }
            made => made,
        };
        let copy_rights = |file: &fs::File| {
            from.as_ref()
                .map_or(Ok(()), |from| os::copy_rights(file, &like, from))
        };
        let file = made
            .and_then(|file| copy_rights(&file).map(|()| file))
            .map_err(|e| Error::os(&shown, &e))?;
        let stat = os::fstat(&file).map_err(|e| Error::os(&shown, &e))?;
        Ok(Arc::new(self.opened(file, &stat, shown)?))
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        self.check_inside(name)?;
        let (shown, path) = (self.show(name), self.path.join(name));
        let mut how = OpenOptions::new();
        let untrusted = || {
            fail!(
                Missing,
                "{shown}: this file is ignored, because its owner may not change the container"
            )
        };
        let file = match os::open_nofollow(how.read(true), &path) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(untrusted()),
            // a file that this user may not read belongs to another user
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Err(untrusted()),
            Err(e) => return Err(Error::os(&shown, &e)),
        };
        let stat = os::fstat(&file).map_err(|e| Error::os(&shown, &e))?;
        let about = os::stat(&self.path.join(of))
            .or_else(|_| os::stat(&self.path))
            .map_err(|e| Error::os(&shown, &e))?;
        if !os::is_trusted_for(&stat, &about, os::is_shared(&self.path)) {
            return Err(untrusted());
        }
        Ok(Arc::new(self.opened(file, &stat, shown)?))
    }

    fn check_owner(&self, name: &OsStr, of: &OsStr) -> Result<()> {
        let path = self.path(name);
        if !path.parent().is_some_and(os::others_may_create) {
            return Ok(());
        }
        // A file that does not exist, or cannot be inspected, is reported where it is opened.
        let (Ok(by), Ok(about)) = (os::lstat(&path), os::stat(&self.path.join(of))) else {
            return Ok(());
        };
        if os::may_belong_to(&by, &about) {
            return Ok(());
        }
        Err(fail!(
            Format,
            "{}: its owner may not write {}, so it is not trusted; remove it",
            self.show(name),
            self.show(of)
        ))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.check_change(from)
            .and_then(|()| self.check_inside(to))?;
        if super::parent(from) != super::parent(to) {
            self.check_change(to)?;
        }
        fs::rename(self.path(from), self.path(to)).map_err(|e| Error::os(self.show(to), &e))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.check_change(name)?;
        fs::remove_file(self.path(name)).map_err(|e| Error::os(self.show(name), &e))
    }

    fn sync(&self) -> Result<()> {
        self.sync_in(OsStr::new(""))
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        self.check_change(name)?;
        match fs::create_dir(self.path.join(name)) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            r => r.map_err(|e| Error::os(self.show(name), &e)),
        }
    }

    fn remove_folder(&self, name: &OsStr) -> Result<()> {
        self.check_change(name)?;
        self.identities.forget(name);
        match fs::remove_dir(self.path.join(name)) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                Ok(())
            }
            r => r.map_err(|e| Error::os(self.show(name), &e)),
        }
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        self.check_folder_inside(name)?;
        self.identities.check(&self.path, name, &self.shown)?;
        let names = fs::read_dir(self.path.join(name))
            .and_then(|all| all.map(|entry| entry.map(|e| e.file_name())).collect());
        names.map_err(|e| Error::os(self.show(name), &e))
    }

    fn files(&self) -> Result<Vec<OsString>> {
        let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(folder) = folders.pop() {
            let failed = |e: std::io::Error| Error::os(self.show(folder.as_os_str()), &e);
            let entries = match fs::read_dir(self.path.join(&folder)) {
                // a writer has removed it meanwhile
                Err(e) if e.kind() == ErrorKind::NotFound && folder != Path::new("") => continue,
                entries => entries.map_err(failed)?,
            };
            for entry in entries {
                let entry = entry.map_err(failed)?;
                let (kind, name) = (
                    entry.file_type().map_err(failed)?,
                    folder.join(entry.file_name()),
                );
                match kind {
                    _ if kind.is_dir() => folders.push(name),
                    // opening the file decides whether its link may be followed
                    _ if kind.is_file() || entry.path().is_file() => files.push(name.into()),
                    _ => {}
                }
            }
        }
        Ok(files)
    }

    fn sync_in(&self, name: &OsStr) -> Result<()> {
        self.check_folder_inside(name)?;
        os::sync_folder(&self.path.join(name)).map_err(|e| Error::os(self.show(name), &e))
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        let path = self.path(name);
        match os::stat(&path) {
            Ok(l) => Ok(Some(os::identity(&l))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        match os::stat(&self.path(name)) {
            Ok(stat) => Ok(non_file_kind(&stat)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn is_unchanged(&self, name: &OsStr, file: &dyn File, seen: (u64, u64)) -> Result<bool> {
        // one stat call returns all three values
        match os::stat(&self.path(name)) {
            Ok(l) => Ok(os::identity(&l) == file.identity() && (l.len(), os::stamp(&l)) == seen),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::os(self.show(name), &e)),
        }
    }

    fn writable(&self) -> Result<()> {
        self.identities.begin(&self.path);
        Ok(())
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        Lock::take(&self.path, name)
    }

    fn lock_shared(&self, name: &OsStr) -> Result<Lock> {
        Lock::take_shared(&self.path, name)
    }

    fn test_lock(&self, name: &OsStr, shared: bool) -> Result<Lock> {
        Lock::test(&self.path, name, shared)
    }

    fn local_path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn show(&self, name: &OsStr) -> String {
        let shown = match self.shown == Path::new(".") {
            // "." does not identify the folder in a message
            true if name.is_empty() => self.path.clone(),
            true => PathBuf::from(name),
            false => self.shown.join(name),
        };
        let shown = shown.into_os_string().into_string();
        shown.unwrap_or_else(|bytes| bytes.display().to_string())
    }
}

/// A local file, read and written with positional I/O.
pub struct LocalFile {
    pub(super) file: fs::File,
    name: String,
    identity: u64,
    as_opened: AsOpened,
}

/// Returns what the entry is if it is not a regular file.
fn non_file_kind(stat: &os::Stat) -> Option<&'static str> {
    match (stat.is_file(), stat.is_dir()) {
        (true, _) => None,
        (_, true) => Some(super::A_FOLDER),
        _ => Some("neither a file nor a folder"),
    }
}

impl File for LocalFile {
    fn size(&self) -> Result<u64> {
        // lseek takes a third of the time of fstat, and no code uses the file position
        (&self.file)
            .seek(SeekFrom::End(0))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            // the system refuses ranges that end beyond its largest offset; no file has bytes there
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

    fn is_cached(&self, at: u64) -> bool {
        os::is_cached(&self.file, at)
    }

    fn begin_reading(&self, from: u64, to: u64) {
        os::begin_reading(&self.file, from, to);
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
        os::fstat(&self.file)
            .map(|l| os::origin(&l))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn modified(&self) -> Result<u64> {
        self.size_and_modified().map(|(_, modified)| modified)
    }

    fn size_and_modified(&self) -> Result<(u64, u64)> {
        os::fstat(&self.file)
            .map(|l| (l.len(), os::modified(&l)))
            .map_err(|e| Error::os(&self.name, &e))
    }

    fn as_opened(&self) -> Result<AsOpened> {
        Ok(self.as_opened)
    }

    fn stamp(&self) -> Result<u64> {
        os::fstat(&self.file)
            .map(|l| os::stamp(&l))
            .map_err(|e| Error::os(&self.name, &e))
    }
}
