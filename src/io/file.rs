//! Local files: a folder of the file system, read and written by position.
#![forbid(unsafe_code)]

use super::{Access, File, Folder, lock::Lock, map::MappedFile};
use crate::error::{Error, Result, fail};
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of the local file system.
pub struct LocalFolder {
    path: PathBuf,
}

/// Folder and name of a local path. A symbolic link is followed, so that what replaces the file goes
/// where the file is.
pub fn locate(path: &OsStr) -> Result<(Arc<dyn Folder>, OsString)> {
    let given = Path::new(path);
    let real = match fs::symlink_metadata(given) {
        Ok(m) if m.is_symlink() => fs::canonicalize(given).unwrap_or_else(|_| given.to_path_buf()),
        _ => given.to_path_buf(),
    };
    let name = match real.file_name() {
        Some(n) if !path.as_encoded_bytes().ends_with(b"/") => n.to_os_string(),
        _ => return Err(fail!(Argument, "{}: this path names no file", given.display())),
    };
    let folder = match real.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    };
    Ok((Arc::new(LocalFolder { path: folder }), name))
}

impl LocalFolder {
    fn path(&self, name: &OsStr) -> PathBuf {
        if self.path == Path::new(".") { PathBuf::from(name) } else { self.path.join(name) }
    }
}

impl Folder for LocalFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let path = self.path(name);
        let shown = path.display().to_string();
        let mut o = OpenOptions::new();
        // not to wait for the other end of a pipe: what is no regular file is refused below
        o.read(true).custom_flags(libc::O_NONBLOCK);
        match access {
            Access::Read | Access::Map => {}
            Access::Write => _ = o.write(true),
            Access::Create => _ = o.write(true).create(true).truncate(true),
        }
        let file = o.open(&path).map_err(|e| Error::os(&shown, &e))?;
        let meta = file.metadata().map_err(|e| Error::os(&shown, &e))?;
        if !meta.is_file() {
            let what = if meta.is_dir() { "a folder" } else { "neither a file nor a folder" };
            return Err(fail!(Format, "{shown}: this is {what}, a file was expected"));
        }
        let local = LocalFile { file, name: shown, identity: identity(&meta) };
        Ok(if access == Access::Map { Arc::new(MappedFile::new(local)?) } else { Arc::new(local) })
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let to = self.path(to);
        fs::rename(self.path(from), &to).map_err(|e| Error::os(to.display(), &e))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(|e| Error::os(path.display(), &e))
    }

    fn sync(&self) -> Result<()> {
        let what = |e| Error::os(self.path.display(), &e);
        let folder = fs::File::open(&self.path).map_err(what)?;
        match folder.sync_all() {
            // some file systems (network ones) cannot sync a folder, and need not
            Err(e) if e.kind() == ErrorKind::InvalidInput || e.raw_os_error() == Some(libc::ENOTSUP) => Ok(()),
            r => r.map_err(what),
        }
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        let path = self.path(name);
        match fs::metadata(&path) {
            Ok(m) => Ok(Some(identity(&m))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::os(path.display(), &e)),
        }
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        Lock::take(self.path(name))
    }

    fn show(&self, name: &OsStr) -> String {
        self.path(name).display().to_string()
    }
}

fn identity(m: &fs::Metadata) -> u64 {
    // 0 is kept for "cannot tell"
    (m.ino() ^ m.dev().rotate_left(40)).max(1)
}

/// A file that is read and written by position.
pub struct LocalFile {
    pub(super) file: fs::File,
    name: String,
    identity: u64,
}

impl File for LocalFile {
    fn size(&self) -> Result<u64> {
        super::size::of(&self.file).map_err(|e| Error::os(&self.name, &e))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            let Some(from) = at.checked_add(done as u64).filter(|&f| f <= i64::MAX as u64) else { break };
            match self.file.read_at(rest, from) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::os(&self.name, &e)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.file.write_all_at(src, at).map_err(|e| Error::os(&self.name, &e))
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|e| Error::os(&self.name, &e))
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
}
