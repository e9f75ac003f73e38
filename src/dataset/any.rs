//! Arrays in every format there is: created, and copied from one to another.
#![forbid(unsafe_code)]

use super::create::{self, Kindred};
use crate::array::{Array, NewTiled};
use crate::error::{Result, fail};
use crate::identify::Format;
use crate::io::{Folder, file};
use crate::options::Options;
use crate::superchunk::bloscpack::{Destination, Mode};
use std::ffi::OsStr;
use std::sync::Arc;

/// Creates an array of zeros, or of the fill value; it is there with the first commit. `blocks`:
/// the shape of a block, which only frames can have.
pub fn create(
    path: &OsStr,
    mode: Mode,
    new: &Kindred,
    blocks: Option<&[u64]>,
    options: &Options,
) -> Result<Array> {
    if let Some(new) = tiled(new, blocks)? {
        return Array::create_frame(path, mode, &new, options);
    }
    match new.format {
        Format::Bloscpack => Array::create(path, mode, new.dtype, new.shape, new.chunks, options),
        _ => create::create(path, mode, new, options),
    }
}

/// The same in storage of the caller's.
pub fn create_in(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    new: &Kindred,
    blocks: Option<&[u64]>,
    options: &Options,
) -> Result<Array> {
    let name = OsStr::new("");
    if let Some(new) = tiled(new, blocks)? {
        return Array::create_frame_in(folder, name, mode, &new, options);
    }
    match new.format {
        Format::Bloscpack => Array::create_in(
            folder, name, mode, new.dtype, new.shape, new.chunks, options,
        ),
        _ => create::create_in(folder, mode, new, options),
    }
}

/// Copies an array, as it is here and now. `[chunks, blocks]`: their shapes, where they are given.
/// True: some of it was damaged, and is zeros in the copy, as was wished.
pub fn copy(
    from: &Array,
    path: &OsStr,
    mode: Mode,
    format: Format,
    [chunks, blocks]: [Option<&[u64]>; 2],
    options: &Options,
) -> Result<bool> {
    let dtype = from.dtype_text();
    if let Some(new) = tiled(
        &Kindred {
            dtype: &dtype,
            shape: from.shape(),
            chunks,
            format,
        },
        blocks,
    )? {
        return from.copy_to_frame(path, mode, &new, options);
    }
    match format {
        Format::Bloscpack => {
            let place = file::locate_for_change(path)?;
            from.copy(
                Destination {
                    folder: place.folder,
                    name: place.name,
                    mode,
                    options: options.clone(),
                },
                chunks,
            )
        }
        _ => create::copy(from, path, mode, format, chunks, options),
    }
}

/// What a new frame is to be; none where it is something else.
fn tiled<'a>(new: &Kindred<'a>, blocks: Option<&'a [u64]>) -> Result<Option<NewTiled<'a>>> {
    if matches!(new.format, Format::B2nd | Format::Caterva) {
        let Kindred {
            dtype,
            shape,
            chunks,
            format,
        } = *new;
        return Ok(Some(NewTiled {
            dtype,
            shape,
            chunks,
            blocks,
            caterva: format == Format::Caterva,
        }));
    }
    match blocks {
        Some(_) => Err(fail!(
            Unsupported,
            "blocks: HOLDALL_OPT_BLOCK_BYTES is in their place"
        )),
        None => Ok(None),
    }
}
