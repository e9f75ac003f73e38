//! Creates frames, and derives the parameters with which new chunks are encoded.
#![forbid(unsafe_code)]

use super::Frame;
use super::header::Header;
use super::open::{OPEN_OPTIONS, WRITE_OPTIONS};
use super::storage::FrameStorage;
use crate::blosc::{Codec, Filter, Params, Pipeline, Target};
use crate::checksum::Checksum;
use crate::error::{Result, fail};
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

impl Frame {
    /// Creates a frame. It becomes visible with the first commit.
    pub fn create(path: &OsStr, mode: Mode, new: &NewFrame, options: &Options) -> Result<Frame> {
        let location = locate::locate_for_change(path)?;
        if !new.sparse {
            return Frame::create_in(&location.folder, &location.name, mode, new, options);
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
            Frame::create_at(storage, mode, new, options),
            created_folder,
        )
    }

    /// Creates a frame by name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<Frame> {
        let storage = FrameStorage {
            folder: folder.clone(),
            name: name.into(),
            sparse: new.sparse,
        };
        if !new.sparse {
            return Frame::create_at(storage, mode, new, options);
        }
        let is_new = !folder.exists(name)?;
        refuse_file(folder, name, folder.list(name).is_ok())?;
        folder.make_folder(name)?;
        let created_folder = is_new.then(|| (folder.clone(), name.into()));
        own_folder(
            Frame::create_at(storage, mode, new, options),
            created_folder,
        )
    }

    fn create_at(
        storage: FrameStorage,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<Frame> {
        let mode = mode.creating()?;
        options.only("creating a frame", &[OPEN_OPTIONS, WRITE_OPTIONS].concat())?;
        if options.given(Opt::At).is_some_and(|at| at > 0) {
            return Err(fail!(
                Unsupported,
                "{}: a frame inside a larger file is read-only",
                storage.show()
            ));
        }
        refuse_foreign_files(&storage)?;
        let header = new.header()?;
        let session = Frame::open_session(&storage, mode, options)?;
        let mut frame = Frame::without_chunks(&storage, header, options);
        frame.checksums = requested_checksums(options)?.unwrap_or(true);
        frame.start_writing(session);
        frame.writing.changed = true;
        frame.refuse_existing()?;
        frame.base = frame.header.len();
        frame.params()?;
        if storage.sparse {
            // existing chunk files are not overwritten
            frame.writing.files = storage.chunk_numbers()?;
            frame.writing.number = frame
                .writing
                .files
                .iter()
                .max()
                .map_or(0, |n| n.saturating_add(1));
        } else {
            frame.file = Some(storage.container().create(&storage.temporary_file())?);
        }
        Ok(frame)
    }

    pub(super) fn refuse_existing(&self) -> Result<()> {
        let (folder, other) = (
            &self.storage.folder,
            FrameStorage {
                sparse: !self.storage.sparse,
                ..self.storage.clone()
            },
        );
        if !self.storage.sparse && folder.exists(&other.main()).is_ok_and(|there| there) {
            return Err(fail!(
                Exists,
                "{}: a folder exists there, which a frame in one file does not replace, even with HOLDALL_REPLACE; remove it first",
                self.name
            ));
        }
        self.session()?.refuse_existing(&self.storage.main())
    }

    /// Applies the codec, filter and checksum options to all chunks that are written from now on.
    pub(super) fn apply_write_options(&mut self) -> Result<()> {
        if let Some(checksums) = requested_checksums(&self.options)? {
            self.writing.changed |= checksums != self.checksums;
            self.checksums = checksums;
        }
        let asked = [Opt::Codec, Opt::Level]
            .iter()
            .any(|o| self.options.given(*o).is_some())
            || self.options.given_bytes(Opt::Filters).is_some();
        if let Some(params) = asked
            .then(|| requested_params(&self.options, self.params()?))
            .transpose()?
        {
            let new = Header::new(&params, self.header.chunksize as usize, self.header.sparse)?;
            let h = &mut self.header;
            (h.codec, h.level, h.user_codec, h.codec_meta) =
                (new.codec, new.level, new.user_codec, new.codec_meta);
            (h.slots, h.filters, h.filters_meta) = (new.slots, new.filters, new.filters_meta);
            (self.params, self.writing.changed) = (Ok(params), true);
        }
        Ok(())
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

/// Records the folder that was created for a frame. Removes it if creating the frame failed.
fn own_folder(
    created: Result<Frame>,
    folder: Option<(Arc<dyn Folder>, OsString)>,
) -> Result<Frame> {
    match created {
        Ok(frame) => {
            if let Some((folder, _)) = folder {
                frame.session()?.created_in(folder);
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

/// Returns whether the options request checksums.
fn requested_checksums(options: &Options) -> Result<Option<bool>> {
    let Some(requested_params) = options.given(Opt::Checksum) else {
        return Ok(None);
    };
    match Checksum::from_number(requested_params as i32) {
        Ok(Checksum::None) => Ok(Some(false)),
        Ok(Checksum::Crc32) => Ok(Some(true)),
        _ => Err(fail!(
            Unsupported,
            "{}: unsupported checksum (frames have HOLDALL_CHECKSUM_CRC32 or _NONE)",
            Opt::Checksum.name()
        )),
    }
}

/// Returns encoding parameters: those of the options, or of `like` where an option is not given.
pub fn requested_params(options: &Options, like: &Params) -> Result<Params> {
    let mut params = like.clone();
    params.target = Target::Blosc2;
    if let Some(n) = options.given(Opt::Codec).filter(|n| *n != 0) {
        let codec = u8::try_from(n - 1)
            .ok()
            .and_then(Codec::from_number)
            .filter(|c| *c != Codec::Snappy);
        params.codec = codec.ok_or_else(|| {
            fail!(Unsupported, "HOLDALL_OPT_CODEC: unsupported codec (frames have HOLDALL_CODEC_BLOSCLZ, _LZ4, _LZ4HC, _ZLIB, _ZSTD and _NONE)")
        })?;
    }
    if let Some(level) = options.given(Opt::Level) {
        params.level = u8::try_from(level)
            .ok()
            .filter(|l| *l <= 9)
            .ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_LEVEL: invalid level {level} (expected 0 to 9)"
                )
            })?;
    }
    if options.given(Opt::Codec) == Some(0) {
        params.level = 0;
    }
    if let Some(bytes) = options.given_bytes(Opt::Filters) {
        let filter = |n: &u8| match n {
            1 => Ok(Filter::Shuffle { group: 0 }),
            2 => Ok(Filter::Bitshuffle),
            3 => Ok(Filter::Delta),
            35 => Ok(Filter::ByteDelta { runs: 0 }),
            n => Err(fail!(
                Unsupported,
                "HOLDALL_OPT_FILTERS: filter {n} is not known"
            )),
        };
        params.filters = Pipeline::new(
            &bytes
                .iter()
                .filter(|n| **n != 0)
                .map(filter)
                .collect::<Result<Vec<_>>>()?,
        )?;
    }
    Ok(params)
}
