//! Opens and creates stores for changes: in a folder, an archive or a frame.
#![forbid(unsafe_code)]

use super::{StoreWriter, embedded_writer};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::{
    Container, Mode as SessionMode, SUFFIX, Session, already_exists, recover_and_clean,
    remove_uncommitted,
};
use crate::io::memory_files::MemoryFiles;
use crate::io::overlay::{Overlay, Purpose, ScratchSpace};
use crate::io::zip::ZipFolder;
use crate::io::{Folder, is_own_file, locate, parent};
use crate::options::Options;
use crate::os::OsStrExt;
use crate::store::table_files::TableFiles;
use crate::store::{EMBED, embed_frame, open_archive};
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::{Frame, in_store};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Where a store is.
struct StoreLocation {
    format: Format,
    /// The folder of the store, or that of its file.
    folder: Arc<dyn Folder>,
    /// The name of its file.
    name: OsString,
    /// A folder for temporary files.
    scratch: PathBuf,
}

impl StoreLocation {
    /// Returns the location of a store at a path.
    fn at(path: &OsStr, format: Format) -> Result<StoreLocation> {
        if format == Format::B2d {
            return Ok(StoreLocation {
                format,
                folder: locate::folder(path)?,
                name: OsString::new(),
                scratch: path.into(),
            });
        }
        let located = locate::locate_for_change(path)?;
        let above = parent(path);
        Ok(StoreLocation {
            format,
            folder: located.folder,
            name: located.name,
            scratch: match above.is_empty() {
                true => ".".into(),
                false => above.into(),
            },
        })
    }

    /// Returns the location of a store in a folder of the caller.
    fn in_folder(folder: &Arc<dyn Folder>, format: Format) -> StoreLocation {
        StoreLocation {
            format,
            folder: folder.clone(),
            name: OsString::new(),
            scratch: env::temp_dir(),
        }
    }

    /// Returns the files that are committed together.
    fn container(&self) -> Container {
        match self.format {
            Format::B2d => in_store::set(&self.folder),
            _ => Container::new(&self.folder, self.name.clone(), &[""]),
        }
    }

    fn show(&self) -> String {
        let shown = self.folder.show(&self.name);
        shown.trim_end_matches('/').to_owned()
    }

    /// Takes the lock, and recovers the store.
    fn open_session(&self, mode: SessionMode, options: &Options) -> Result<Session> {
        if self.folder.is_store() {
            return Err(fail!(
                Unsupported,
                "{}: stores of an object store are read-only; copy it to a local file",
                self.show()
            ));
        }
        Session::open(self.container(), self.show(), mode, options)
    }

    /// Returns the files of the store.
    fn files(&self) -> Result<Arc<dyn Folder>> {
        Ok(match self.format {
            Format::B2d => self.folder.clone(),
            Format::B2z => Arc::new(ZipFolder::open(&self.folder, &self.name)?),
            _ => embedded_writer::files(&self.folder, &self.name),
        })
    }

    /// Returns the store that is open for changes, over its files.
    fn open(
        &self,
        files: Arc<dyn Folder>,
        session: Session,
        is_new: bool,
        options: &Options,
    ) -> StoreWriter {
        let in_place = self.format == Format::B2d;
        let space = Arc::new(ScratchSpace::new(&self.scratch));
        StoreWriter {
            format: self.format,
            overlay: Arc::new(Overlay::new(files, space, Purpose::Commit { in_place })),
            shown: self.show(),
            options: options.clone(),
            is_new,
            committed_changes: 0,
            embedded: Mutex::default(),
            session: Arc::new(session),
        }
    }
}

impl StoreWriter {
    /// Opens a store for changes.
    pub fn open(path: &OsStr, options: &Options) -> Result<StoreWriter> {
        if locate::is_folder(path) {
            return StoreWriter::open_at(StoreLocation::at(path, Format::B2d)?, options);
        }
        let located = locate::locate(path)?;
        let format = format_in_file(&located.folder, &located.name)?;
        StoreWriter::open_at(StoreLocation::at(path, format)?, options)
    }

    /// Opens a store in a folder of the caller for changes: the file `""`, or the folder itself if
    /// it has no such file.
    pub fn open_in(folder: &Arc<dyn Folder>, options: &Options) -> Result<StoreWriter> {
        let name = OsStr::new("");
        let format = match folder.exists(name)? {
            true => format_in_file(folder, name)?,
            false => Format::B2d,
        };
        StoreWriter::open_at(StoreLocation::in_folder(folder, format), options)
    }

    fn open_at(location: StoreLocation, options: &Options) -> Result<StoreWriter> {
        let session = location.open_session(SessionMode::Append, options)?;
        if location.format == Format::B2d {
            tidy(&location.folder, session.is_durable())?;
        }
        let writer = location.open(location.files()?, session, false, options);
        // reports what is wrong with it
        writer.view()?;
        Ok(writer)
    }

    /// Creates a store, which exists from the first commit on. The end of the name determines the
    /// format.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        expected: Option<Format>,
        options: &Options,
    ) -> Result<StoreWriter> {
        let format = format_of_name(path)?;
        if expected.is_some_and(|expected| expected != format) {
            return Err(fail!(
                Argument,
                "{}: the name of another kind of store than {expected:?}",
                path.display()
            ));
        }
        if format != Format::B2d {
            return StoreWriter::create_at(&StoreLocation::at(path, format)?, None, mode, options);
        }
        locate::in_new_folder(path, |above| {
            StoreWriter::create_at(&StoreLocation::at(path, format)?, above, mode, options)
        })
    }

    /// Creates a store in a folder of the caller: the files of the folder, or the file `""`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<StoreWriter> {
        let Some(format @ (Format::B2d | Format::B2z | Format::B2e)) = format else {
            return Err(fail!(
                Argument,
                "the format of a store in a storage (expected b2d, b2z or b2e, found {format:?})"
            ));
        };
        let location = StoreLocation::in_folder(folder, format);
        StoreWriter::create_at(&location, None, mode, options)
    }

    fn create_at(
        location: &StoreLocation,
        above: Option<Arc<dyn Folder>>,
        mode: Mode,
        options: &Options,
    ) -> Result<StoreWriter> {
        let session_mode = match mode {
            Mode::New => SessionMode::New,
            Mode::Replace => SessionMode::Replace,
            Mode::Read | Mode::Append => {
                return Err(fail!(
                    Argument,
                    "creating takes HOLDALL_CREATE or HOLDALL_REPLACE"
                ));
            }
        };
        let session = location.open_session(session_mode, options)?;
        above
            .into_iter()
            .for_each(|above| session.created_in(above));
        let files = match location.format {
            Format::B2d => {
                tidy(&location.folder, session.is_durable())?;
                refuse_existing(&location.folder, mode)?;
                location.folder.clone()
            }
            _ => {
                session.refuse_existing(&location.name)?;
                Arc::new(MemoryFiles::default())
            }
        };
        let writer = location.open(files, session, true, options);
        for name in writer.folder().files()? {
            if in_store::is_file(&name) {
                writer.folder().remove(&name)?;
            }
        }
        let (folder, name) = (writer.folder(), OsStr::new(EMBED));
        let mut embed = embed_frame::create(location.format, |new| {
            Frame::create_in(&folder, name, Mode::New, new, &Options::new())
        })?;
        embed.commit()?;
        drop(embed);
        Ok(writer)
    }
}

/// Returns the format of the store that a name is for.
fn format_of_name(name: &OsStr) -> Result<Format> {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    match extension {
        Some("b2d") => Ok(Format::B2d),
        Some("b2z") => Ok(Format::B2z),
        Some("b2e") => Ok(Format::B2e),
        _ => Err(fail!(
            Argument,
            "{}: the name of a store ends in .b2d (a folder), .b2z (an archive) or .b2e (a frame)",
            name.display()
        )),
    }
}

/// Returns the format of the store in a file.
fn format_in_file(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Format> {
    Ok(match open_archive(folder, name)? {
        Some(_) => Format::B2z,
        None => Format::B2e,
    })
}

/// Fails if a folder has something else than a store that may be replaced. Returns whether it has a
/// store.
pub fn refuse_existing(folder: &Arc<dyn Folder>, mode: Mode) -> Result<bool> {
    let shown = folder.show(OsStr::new(""));
    if folder.exists(OsStr::new(EMBED))? {
        return match mode {
            Mode::New => Err(already_exists(&shown)),
            _ => Ok(true),
        };
    }
    match folder.files()?.iter().find(|name| !is_own_file(name)) {
        Some(other) => Err(fail!(
            Exists,
            "{shown}: the folder is not empty (found {other:?})"
        )),
        None => Ok(false),
    }
}

/// Recovers the nodes that interrupted writers were changing, and removes the temporary files that
/// they left. Must be called under the lock of the store, which excludes such writers.
pub fn tidy(folder: &Arc<dyn Folder>, is_durable: bool) -> Result<()> {
    let set = in_store::set(folder);
    for name in folder.files()? {
        let bytes = name.as_bytes();
        if let Some(stem) = bytes.strip_suffix(SUFFIX.as_bytes()) {
            let stem = OsStr::from_bytes(stem);
            let of_table = name.to_str().and_then(TableFiles::root_of);
            let container = match of_table {
                Some(root) => TableFiles::new(folder, root).container(),
                None => Container::new(folder, stem, &[""]),
            };
            if of_table.is_some() || set.has(stem) {
                recover_and_clean(&container, is_durable)?;
            }
        }
    }
    remove_uncommitted(&set)
}
