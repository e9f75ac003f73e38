//! Creating, and how new chunks are made.
#![forbid(unsafe_code)]

use super::Frame;
use super::header::Header;
use super::open::{OPEN_OPTIONS, WRITE_OPTIONS};
use super::storage::Site;
use crate::blosc::{Codec, Filter, Params, Pipeline, Target};
use crate::checksum::Sum;
use crate::error::{Result, fail};
use crate::io::{Folder, locate};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// What a new frame is like.
pub struct NewFrame<'a> {
    /// Bytes in an item.
    pub typesize: usize,
    /// Bytes of content in a chunk.
    pub chunk_bytes: usize,
    /// How chunks are made, for readers of Blosc 2.
    pub params: Params,
    /// Metalayers of fixed length.
    pub metalayers: &'a [(&'a str, Vec<u8>)],
    /// A folder with a file a chunk.
    pub sparse: bool,
}

impl Frame {
    /// Creates a frame; it is there with the first commit.
    pub fn create(path: &OsStr, mode: Mode, new: &NewFrame, options: &Options) -> Result<Frame> {
        let place = locate::locate_for_change(path)?;
        if !new.sparse {
            return Frame::create_in(&place.folder, &place.name, mode, new, options);
        }
        let is_new = !Path::new(path).exists();
        refuse_file(&place.folder, &place.name, Path::new(path).is_dir())?;
        place.folder.make_folder(&place.name)?;
        let own = locate::folder(path)?;
        let made = is_new.then(|| (place.folder.clone(), place.name.clone()));
        let created = Frame::create_at(
            Site {
                folder: own,
                name: "".into(),
                sparse: true,
            },
            mode,
            new,
            options,
        );
        match created {
            Ok(mut frame) => {
                frame.writing.made = made;
                Ok(frame)
            }
            Err(e) => {
                made.iter()
                    .for_each(|(folder, name)| _ = folder.remove_folder(name));
                Err(e)
            }
        }
    }

    /// Creates a name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<Frame> {
        let site = Site {
            folder: folder.clone(),
            name: name.into(),
            sparse: new.sparse,
        };
        if !new.sparse {
            return Frame::create_at(site, mode, new, options);
        }
        let is_new = !folder.exists(name)?;
        refuse_file(folder, name, folder.list(name).is_ok())?;
        folder.make_folder(name)?;
        let mut frame = Frame::create_at(site, mode, new, options)?;
        frame.writing.made = is_new.then(|| (folder.clone(), name.into()));
        Ok(frame)
    }

    fn create_at(site: Site, mode: Mode, new: &NewFrame, options: &Options) -> Result<Frame> {
        if !matches!(mode, Mode::New | Mode::Replace) {
            return Err(fail!(
                Argument,
                "creating takes HOLDALL_NEW or HOLDALL_REPLACE"
            ));
        }
        options.only("creating a frame", &[OPEN_OPTIONS, WRITE_OPTIONS].concat())?;
        if options.given(Opt::At).is_some_and(|at| at > 0) {
            return Err(fail!(
                Unsupported,
                "{}: a frame within a larger file can be read only",
                site.show()
            ));
        }
        site.folder.writable()?;
        refuse_strangers(&site)?;
        let header = new.header()?;
        let lock = Frame::lock(&site, options)?;
        let mut frame = Frame::of(&site, header, options, lock);
        frame.sums = sums_wished(options)?.unwrap_or(true);
        frame.write_from_here(mode);
        frame.writing.changed = true;
        frame.refuse_existing()?;
        frame.base = frame.header.len();
        frame.params()?;
        if site.sparse {
            // none of those that are there already is written over
            frame.writing.files = site.chunks()?;
            frame.writing.number = frame
                .writing
                .files
                .iter()
                .max()
                .map_or(0, |n| n.saturating_add(1));
        } else {
            frame.file = Some(site.container().create(&site.part())?);
        }
        Ok(frame)
    }

    pub(super) fn refuse_existing(&self) -> Result<()> {
        let (folder, other) = (
            &self.site.folder,
            Site {
                sparse: !self.site.sparse,
                ..self.site.clone()
            },
        );
        if self.writing.mode == Some(Mode::New) && folder.exists(&self.site.main())? {
            return Err(fail!(Exists, "{}: it is there already", self.name));
        }
        if !self.site.sparse && folder.exists(&other.main()).is_ok_and(|there| there) {
            return Err(fail!(
                Exists,
                "{}: a folder is there, and a frame in one file does not take its place, also with HOLDALL_REPLACE: remove it first",
                self.name
            ));
        }
        folder.refuse_obstacle(&self.site.main())
    }

    /// What is new from here on is made as the options say.
    pub(super) fn go_on_as_wished(&mut self) -> Result<()> {
        if let Some(sums) = sums_wished(&self.options)? {
            self.writing.changed |= sums != self.sums;
            self.sums = sums;
        }
        let asked = [Opt::Codec, Opt::Level]
            .iter()
            .any(|o| self.options.given(*o).is_some())
            || self.options.given_bytes(Opt::Filters).is_some();
        if let Some(params) = asked
            .then(|| wished(&self.options, self.params()?))
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
                "a chunk of {} bytes ends within an item of {}",
                self.chunk_bytes,
                self.typesize
            ));
        }
        let params = Params {
            target: Target::Blosc2,
            typesize: self.typesize,
            ..self.params.clone()
        }
        .spelled()?;
        let mut header = Header::new(&params, self.chunk_bytes, self.sparse)?;
        header.metalayers = self
            .metalayers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        // refused now, not at the commit
        header.encode()?;
        Ok(header)
    }
}

/// Refuses to make a folder where a file is: nothing puts one in the place of the other in one
/// step.
fn refuse_file(folder: &Arc<dyn Folder>, name: &OsStr, is_folder: bool) -> Result<()> {
    if is_folder || !folder.exists(name)? {
        return Ok(());
    }
    let words = "a file is there, and a frame that is a folder does not take its place, also with HOLDALL_REPLACE: remove it first";
    Err(fail!(Exists, "{}: {words}", folder.show(name)))
}

/// Refuses to make a frame in a folder that holds something else, such as a dataset: what is there
/// would be taken for a frame.
fn refuse_strangers(site: &Site) -> Result<()> {
    if !site.sparse || site.folder.exists(&site.main())? {
        return Ok(());
    }
    let Some(other) = site.stranger()? else {
        return Ok(());
    };
    let words =
        "a frame that is a folder is not made where other files are, also with HOLDALL_REPLACE";
    Err(fail!(
        Exists,
        "{}: {} is in it, and {words}",
        site.show(),
        other.display()
    ))
}

/// Are checksums wished?
fn sums_wished(options: &Options) -> Result<Option<bool>> {
    let Some(wished) = options.given(Opt::Checksum) else {
        return Ok(None);
    };
    match Sum::from_number(wished as i32) {
        Ok(Sum::None) => Ok(Some(false)),
        Ok(Sum::Crc32) => Ok(Some(true)),
        _ => Err(fail!(
            Unsupported,
            "{}: the chunks of frames have CRC-32 (2) or nothing (0)",
            Opt::Checksum.name()
        )),
    }
}

/// How chunks are made: as these, where the options do not say otherwise.
pub fn wished(options: &Options, like: &Params) -> Result<Params> {
    let mut params = like.clone();
    params.target = Target::Blosc2;
    if let Some(n) = options.given(Opt::Codec).filter(|n| *n != 0) {
        let codec = u8::try_from(n - 1)
            .ok()
            .and_then(Codec::from_number)
            .filter(|c| *c != Codec::Snappy);
        params.codec = codec.ok_or_else(|| {
            fail!(Unsupported, "HOLDALL_OPT_CODEC: {n}: frames have BloscLZ (1), LZ4 (2), LZ4HC (3), zlib (5) and Zstandard (6), or none (0)")
        })?;
    }
    if let Some(level) = options.given(Opt::Level) {
        params.level = u8::try_from(level)
            .ok()
            .filter(|l| *l <= 9)
            .ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_LEVEL: {level}: chunks have levels 0 to 9"
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
