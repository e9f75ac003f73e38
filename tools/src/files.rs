//! Plain files: inputs, also standard input, and outputs that appear when they are complete.

use crate::failure::{Failure, Result, system};
use crate::file_name::FileName;
use crate::{failure, memory, progress, signals, standard};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use std::sync::Mutex;
use tempfile::NamedTempFile;

/// The most bytes that `peek` returns.
pub const PEEK: usize = 4096;

/// Bytes of standard input that `peek` has read from a pipe and that are still to be read.
static PEEKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A file that is read from its beginning to its end, or standard input ("-").
pub struct Input {
    pub name: FileName,
    file: File,
    standard: bool,
    /// Where what is read begins in the file: a shell may have read some of it.
    base: u64,
    /// Bytes read so far.
    pub done: u64,
    /// Bytes to read, if known.
    pub total: Option<u64>,
}

/// Returns a handle of standard input that reads each byte once and does not buffer.
fn standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

impl Input {
    /// Opens a file. `out`, which is going to be written, must be another file.
    pub fn open(path: &FileName, out: Option<&FileName>) -> Result<Input> {
        let standard = path.is_standard();
        let name = path.of_input();
        let opened = if standard { standard_input() } else { File::open(path) };
        let mut file = opened.map_err(system(&name))?;
        let about = file.metadata().map_err(system(&name))?;
        if let Some(out) = out
            && std::fs::metadata(out).is_ok_and(|there| is_same(&there, &about))
        {
            return Err(read_and_written(out));
        }
        let base = file.stream_position().unwrap_or(0);
        let total = about.is_file().then(|| about.len().saturating_sub(base));
        Ok(Input { name, file, standard, base, done: 0, total })
    }

    /// Moves to an offset in what is read.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.file.seek(io::SeekFrom::Start(self.base.saturating_add(offset)))?;
        self.done = offset;
        Ok(())
    }

    /// Reads until `dst` is full or the file ends. Returns the number of bytes.
    pub fn fill(&mut self, dst: &mut [u8]) -> Result<usize> {
        let mut n = 0;
        while n < dst.len() {
            match self.read(&mut dst[n..]) {
                Ok(0) => break,
                Ok(got) => n += got,
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(n)
    }

    /// The failure of a read.
    pub fn failure(&self, error: io::Error) -> Failure {
        if signals::stopped() { Failure::Stopped } else { system(&self.name)(error) }
    }

    /// Reports progress: of the input if its length is known, otherwise `done` bytes.
    pub fn progress(&self, done: u64) {
        match self.total {
            Some(total) if total > 0 => progress::report(self.done, total.max(self.done)),
            _ => progress::report(done, 0),
        };
    }
}

/// Fails with `Other` when a signal asks to stop, so that loops of the standard library end.
impl Read for Input {
    fn read(&mut self, dst: &mut [u8]) -> io::Result<usize> {
        loop {
            if signals::stopped() {
                return Err(io::Error::other("stopped"));
            }
            let peeked = if self.standard { take_peeked(dst) } else { 0 };
            let got = if peeked > 0 { Ok(peeked) } else { self.file.read(dst) };
            match got {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(n) => {
                    self.done += n as u64;
                    return Ok(n);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Refuses an output that is the input.
pub fn refuse_same(input: &FileName, out: &FileName) -> Result {
    if input.is_standard() || out.is_standard() {
        return Ok(());
    }
    match (std::fs::metadata(input), std::fs::metadata(out)) {
        (Ok(from), Ok(to)) if is_same(&from, &to) => Err(read_and_written(out)),
        _ => Ok(()),
    }
}

fn read_and_written(out: &FileName) -> Failure {
    failure!("{out}: it is both what is to be read and what is to be written")
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn take_peeked(dst: &mut [u8]) -> usize {
    let Ok(mut peeked) = PEEKED.lock() else {
        return 0;
    };
    let n = peeked.len().min(dst.len());
    dst[..n].copy_from_slice(&peeked[..n]);
    peeked.drain(..n);
    n
}

/// Returns the next bytes of standard input, `n` at most, without consuming them. Waits for them or
/// the end.
pub fn peek_standard_input(n: usize) -> Vec<u8> {
    let n = n.min(PEEK);
    if let Some(container) = standard::input() {
        return container[..n.min(container.len())].to_vec();
    }
    let (Ok(mut file), Ok(mut peeked)) = (standard_input(), PEEKED.lock()) else {
        return Vec::new();
    };
    if let Ok(at) = file.stream_position()
        && peeked.is_empty()
    {
        let mut bytes = vec![0; n];
        let got = file.read_at(&mut bytes, at).unwrap_or(0);
        bytes.truncate(got);
        return bytes;
    }
    let mut buffer = [0; PEEK];
    while peeked.len() < n {
        // an error comes again when the input is read
        match file.read(&mut buffer[..n - peeked.len()]) {
            Ok(got) if got > 0 => peeked.extend_from_slice(&buffer[..got]),
            _ => break,
        }
    }
    peeked[..n.min(peeked.len())].to_vec()
}

/// Returns the bytes of a file, or of standard input.
pub fn read_all(path: &FileName) -> Result<Vec<u8>> {
    let mut input = Input::open(path, None)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| input.failure(error))?;
    Ok(bytes)
}

/// A file that is written under a temporary name, and gets its own when it is complete; or a
/// device, a pipe, or standard output ("-"), which is written to as it is.
pub struct OutputFile {
    path: FileName,
    force: bool,
    target: Target,
}

enum Target {
    Temporary(NamedTempFile),
    Direct(File),
}

fn refuse_existing(path: &FileName) -> Failure {
    failure!("{path}: it is there already (--force replaces it)")
}

impl OutputFile {
    /// Creates the file. One that exists is refused, or with `force` stays until `complete`.
    pub fn create(path: &FileName, force: bool) -> Result<OutputFile> {
        let made = |target| Ok(OutputFile { path: path.clone(), force, target });
        if path.is_standard() {
            let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(Failure::Output)?;
            return made(Target::Direct(File::from(descriptor)));
        }
        match std::fs::metadata(path) {
            Ok(there) if there.is_file() && !force => return Err(refuse_existing(path)),
            Ok(there) if there.is_dir() => return Err(failure!("{path}: Is a directory")),
            Ok(there) if !there.is_file() => {
                let opened = File::options().write(true).open(path);
                return opened.map_err(system(path)).and_then(|file| made(Target::Direct(file)));
            }
            _ => {}
        }
        let folder = match path.path().parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => Path::new("/"),
        };
        let mut prefix = path.path().file_name().unwrap_or_default().to_owned();
        prefix.push(".holdall-part-");
        let temporary = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder);
        // the message names the file, not its folder
        let temporary = temporary.map_err(|error| failure!("{path}: {}", plain_message(&error)))?;
        memory::remove_at_end(temporary.path());
        made(Target::Temporary(temporary))
    }

    /// Syncs the file and gives it its name, its mode and, where possible, the owner of the file it
    /// replaces.
    pub fn complete(self) -> Result {
        let OutputFile { path, force, target } = self;
        let Target::Temporary(temporary) = target else {
            return Ok(());
        };
        set_rights(temporary.as_file(), &path).map_err(system(&path))?;
        temporary.as_file().sync_all().map_err(system(&path))?;
        if force {
            temporary.persist(&path).map_err(|error| system(&path)(error.error))?;
        } else {
            temporary.persist_noclobber(&path).map_err(|error| match error.error.kind() {
                ErrorKind::AlreadyExists => refuse_existing(&path),
                _ => system(&path)(error.error),
            })?;
        }
        sync_folder_of(&path).map_err(system(&path))
    }

    /// The failure of a write.
    pub fn failure(&self, error: io::Error) -> Failure {
        match &self.target {
            _ if signals::stopped() => Failure::Stopped,
            // a reader that has gone is no failure, whatever the name of the pipe
            Target::Direct(_)
                if self.path.is_standard() || error.kind() == ErrorKind::BrokenPipe =>
            {
                Failure::Output(error)
            }
            _ => system(&self.path)(error),
        }
    }

    /// Writes all the bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result {
        self.write_all(bytes).map_err(|error| self.failure(error))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if signals::stopped() {
            return Err(io::Error::other("stopped"));
        }
        match &mut self.target {
            Target::Temporary(file) => file.write(bytes),
            Target::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The message of the system; tempfile adds the path of the folder.
fn plain_message(error: &io::Error) -> String {
    let source = error.get_ref().and_then(|source| source.source().map(ToString::to_string));
    let text = source.unwrap_or_else(|| error.to_string());
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Sets the mode and owner of the file that is replaced, otherwise the mode that the umask leaves.
fn set_rights(file: &File, path: &FileName) -> io::Result<()> {
    let there = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file);
    let Some(there) = there else {
        // SAFETY: umask() takes and returns a number. Only this thread creates files meanwhile.
        let mask = unsafe {
            let mask = libc::umask(0);
            libc::umask(mask);
            #[allow(clippy::useless_conversion)] // it has 16 bits on macOS
            u32::from(mask)
        };
        return file.set_permissions(std::fs::Permissions::from_mode(0o666 & !mask));
    };
    let own = file.metadata()?;
    let mut mode = there.mode() & 0o777;
    let is_given = (own.uid(), own.gid()) == (there.uid(), there.gid())
        || fchown(file, Some(there.uid()), Some(there.gid())).is_ok();
    // another group must not get the rights of the group of that file
    if !is_given && own.gid() != there.gid() && fchown(file, None, Some(there.gid())).is_err() {
        mode &= !0o070;
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// Makes a name durable; some file systems cannot, and need not.
fn sync_folder_of(path: &FileName) -> io::Result<()> {
    let folder = path.path().parent().filter(|folder| !folder.as_os_str().is_empty());
    let opened = File::open(folder.unwrap_or(Path::new(".")))?;
    match opened.sync_all() {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
