//! Creates and copies arrays in all formats.
#![forbid(unsafe_code)]

use super::create::{self, ArraySpec};
use super::meta_files;
use crate::array::{Array, NewLocation, NewTiled};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::Folder;
use crate::options::Options;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::sync::Arc;

/// Creates an array of zeros, or of the fill value. The array exists from the first commit on.
/// `blocks` is the shape of a block, which only frames support.
pub fn create(
    path: &OsStr,
    mode: Mode,
    new: &ArraySpec,
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

/// Creates an array as [`create`] does, in storage of the caller.
pub fn create_in(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    new: &ArraySpec,
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

/// Copies an array in its current state. `[chunks, blocks]` are the requested shapes, if any.
/// Returns true if corrupt parts were replaced by zeros because `HOLDALL_OPT_SKIP_DAMAGED` is set.
pub fn copy<'a>(
    from: &Array,
    to: impl Into<NewLocation<'a>>,
    mode: Mode,
    format: Format,
    [chunks, blocks]: [Option<&[u64]>; 2],
    options: &Options,
) -> Result<bool> {
    let (to, dtype) = (to.into(), from.dtype_text());
    if let Some(new) = tiled(
        &ArraySpec {
            dtype: &dtype,
            shape: from.shape(),
            chunks,
            format,
        },
        blocks,
    )? {
        meta_files::refuse(from)?;
        return from.copy_to_frame(to, mode, &new, options);
    }
    match format {
        Format::Bloscpack => {
            meta_files::refuse(from)?;
            from.copy(to.destination(mode, options)?, chunks)
        }
        _ => create::copy(from, to, mode, format, chunks, options),
    }
}

/// Returns the parameters of a new frame, or `None` if the format is not a frame.
fn tiled<'a>(new: &ArraySpec<'a>, blocks: Option<&'a [u64]>) -> Result<Option<NewTiled<'a>>> {
    if matches!(new.format, Format::B2nd | Format::Caterva) {
        let ArraySpec {
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
            "blocks: this format has no block shape; use HOLDALL_OPT_BLOCK_BYTES"
        )),
        None => Ok(None),
    }
}
