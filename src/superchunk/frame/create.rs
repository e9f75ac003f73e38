//! Creates frames.
#![forbid(unsafe_code)]

use super::header::Header;
use super::options::{OPEN_OPTIONS, WRITE_OPTIONS, requested_checksums};
use super::read::FrameReader;
use super::storage::FrameStorage;
use super::write::FrameWriter;
use crate::blosc::{Params, Target};
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::io::{Folder, locate};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// The properties of a new frame.
pub struct NewFrame<'a> {
    /// Bytes of an item.
    pub typesize: usize,
    /// Content bytes of a chunk.
    pub chunk_bytes: usize,
    /// Encoding parameters of the chunks, in the Blosc 2 format.
    pub params: Params,
    /// Metalayers of fixed length.
    pub metalayers: &'a [(&'a str, Vec<u8>)],
    /// Create a folder with one file per chunk.
    pub sparse: bool,
}

impl FrameWriter {
    /// Creates a frame. It becomes visible with the first commit.
    pub(super) fn create(
        path: &OsStr,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<FrameWriter> {
        let location = locate::locate_for_change(path)?;
        if !new.sparse {
            return FrameWriter::create_in(&location.folder, &location.name, mode, new, options);
        }
        let is_new = !Path::new(path).exists();
        refuse_file(&location.folder, &location.name, Path::new(path).is_dir())?;
        location.folder.make_folder(&location.name)?;
        let own = locate::folder(path)?;
        let created_folder = is_new.then(|| (location.folder.clone(), location.name.clone()));
        let storage = FrameStorage {
            folder: own,
            name: "".into(),
            sparse: true,
        };
        own_folder(
            FrameWriter::create_at(storage, mode, new, options),
            created_folder,
        )
    }

    /// Creates a frame by name in a folder.
    pub(super) fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<FrameWriter> {
        let storage = FrameStorage {
            folder: folder.clone(),
            name: name.into(),
            sparse: new.sparse,
        };
        if !new.sparse {
            return FrameWriter::create_at(storage, mode, new, options);
        }
        let is_new = !folder.exists(name)?;
        refuse_file(folder, name, folder.list(name).is_ok())?;
        folder.make_folder(name)?;
        let created_folder = is_new.then(|| (folder.clone(), name.into()));
        own_folder(
            FrameWriter::create_at(storage, mode, new, options),
            created_folder,
        )
    }

    /// Creates a frame in one file of a container that commits several frames together.
    pub(super) fn create_member(
        session: &Arc<Session>,
        name: &OsStr,
        new: &NewFrame,
        options: &Options,
    ) -> Result<FrameWriter> {
        let storage = FrameStorage::of_member(session, name);
        check_options(&storage, options)?;
        storage.folder.remove_if_there(&storage.temporary_file())?;
        FrameWriter::create_with(storage, session.clone(), new, options)
    }

    fn create_at(
        storage: FrameStorage,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<FrameWriter> {
        let mode = mode.creating()?;
        check_options(&storage, options)?;
        refuse_foreign_files(&storage)?;
        new.header()?;
        let session = storage.open_session(mode, options)?;
        FrameWriter::create_with(storage, session, new, options)
    }

    fn create_with(
        storage: FrameStorage,
        session: Arc<Session>,
        new: &NewFrame,
        options: &Options,
    ) -> Result<FrameWriter> {
        let header = new.header()?;
        let mut reader = FrameReader::new(&storage, header, options);
        reader.layout.checksums = requested_checksums(options)?.unwrap_or(true);
        reader.files.base = reader.layout.header.len();
        let mut writer = FrameWriter::new(reader, session);
        writer.changed = true;
        let FrameReader { layout, files, .. } = &mut writer.reader;
        files.refuse_existing()?;
        layout.params()?;
        if storage.sparse {
            // existing chunk files are not overwritten
            writer.chunk_files = storage.chunk_numbers()?;
            let highest = writer.chunk_files.iter().max();
            writer.number = highest.map_or(0, |n| n.saturating_add(1));
        } else {
            files.main = Some(storage.container().create(&storage.temporary_file())?);
        }
        Ok(writer)
    }
}

impl NewFrame<'_> {
    fn header(&self) -> Result<Header> {
        if self.chunk_bytes > 0 && !self.chunk_bytes.is_multiple_of(self.typesize.max(1)) {
            return Err(fail!(
                Argument,
                "a chunk of {} bytes is not a multiple of the item size {}",
                self.chunk_bytes,
                self.typesize
            ));
        }
        let params = Params {
            target: Target::Blosc2,
            typesize: self.typesize,
            ..self.params.clone()
        }
        .with_explicit_settings()?;
        params.check(0)?;
        let mut header = Header::new(&params, self.chunk_bytes, self.sparse)?;
        header.metalayers = self
            .metalayers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        // an invalid header is refused here, not at the commit
        header.encode()?;
        Ok(header)
    }
}

/// Returns an error if no frame can be created with these options.
fn check_options(storage: &FrameStorage, options: &Options) -> Result<()> {
    options.only("creating a frame", &[OPEN_OPTIONS, WRITE_OPTIONS].concat())?;
    if options.given(Opt::At).is_some_and(|at| at > 0) {
        return Err(fail!(
            Unsupported,
            "{}: a frame inside a larger file is read-only",
            storage.show()
        ));
    }
    Ok(())
}

/// Records the folder that was created for a frame. Removes it if creating the frame failed.
fn own_folder(
    created: Result<FrameWriter>,
    folder: Option<(Arc<dyn Folder>, OsString)>,
) -> Result<FrameWriter> {
    match created {
        Ok(frame) => {
            if let Some((folder, _)) = folder {
                frame.reader.files.session()?.created_in(folder);
            }
            Ok(frame)
        }
        Err(e) => {
            if let Some((folder, name)) = folder {
                let _ = folder.remove_folder(&name);
            }
            Err(e)
        }
    }
}

/// Refuses to create a folder where a file exists: a folder cannot replace a file atomically.
fn refuse_file(folder: &Arc<dyn Folder>, name: &OsStr, is_folder: bool) -> Result<()> {
    if is_folder || !folder.exists(name)? {
        return Ok(());
    }
    let hint = "a file exists there, which a sparse frame (a folder) does not replace, even with HOLDALL_REPLACE; remove it first";
    Err(fail!(Exists, "{}: {hint}", folder.show(name)))
}

/// Refuses to create a frame in a folder that holds other files, such as a dataset: its content
/// would be taken for a frame.
fn refuse_foreign_files(storage: &FrameStorage) -> Result<()> {
    if !storage.sparse || storage.folder.exists(&storage.main())? {
        return Ok(());
    }
    let Some(other) = storage.foreign_file()? else {
        return Ok(());
    };
    let hint = "a sparse frame is not created among other files, even with HOLDALL_REPLACE";
    Err(fail!(
        Exists,
        "{}: the folder contains {}; {hint}",
        storage.show(),
        other.display()
    ))
}
