//! `holdall convert` of arrays, and of the items of files.

use super::cat::header;
use super::selection::each_piece;
use crate::cli::Convert;
use crate::cli::values::DataFormat;
use crate::content::{has_objects, in_c_order};
use crate::failure::{Exit, Failure, Result, creation, library};
use crate::file_name::FileName;
use crate::output::{self, Output};
use crate::report::{self, plural};
use crate::rows::convert::StoredRows;
use crate::superchunk::packing;
use crate::superchunk::source::Damage;
use crate::{create, detect, options, progress, rows, signals, standard, usage};
use holdall::{Array, ArrayLayout, Format, Integrity, Schunk};

/// The format of the container that convert writes; None: a plain file, or a bag.
pub fn format_of(to: DataFormat) -> Option<Format> {
    Some(match to {
        DataFormat::Blpk => Format::Bloscpack,
        DataFormat::Bcolz => Format::Bcolz,
        DataFormat::Blz => Format::Blz,
        DataFormat::BlzRfc => Format::BlzRfc,
        DataFormat::CTable => Format::CTable,
        DataFormat::B2nd => Format::B2nd,
        DataFormat::Caterva => Format::Caterva,
        DataFormat::B2Frame => Format::B2Frame,
        _ => return None,
    })
}

/// Calls a function that writes OUT, with progress, and reports the bytes of content.
pub fn converting(
    out: &FileName,
    bytes: u64,
    damage: &mut Damage,
    write: impl FnOnce(&mut Damage) -> Result,
) -> Result<Exit> {
    signals::catch();
    progress::begin("convert");
    let written = write(damage);
    progress::end();
    if signals::stopped() && written.is_err() {
        return Err(Failure::Stopped);
    }
    written?;
    report::note(&format!("{out}: {bytes} byte{} converted", plural(bytes)));
    Ok(Exit::damaged(damage.found))
}

/// The result of a copy by the library.
pub fn copied(
    result: holdall::Result<Integrity>,
    out: &FileName,
    force: bool,
    damage: &mut Damage,
) -> Result {
    if result.map_err(creation(out, force))? == Integrity::Filled {
        damage.report("in the copy");
    }
    Ok(())
}

/// Notes that a file cannot store so many attributes.
pub fn note_lost_attributes(out: &FileName, n: usize) {
    if n > 0 {
        let s = plural(n as u64);
        report::note(&format!("{out}: a file of this format cannot store {n} attribute{s}"));
    }
}

/// The layout that the options give an array of so many dimensions.
pub fn layout(args: &Convert, format: Format, path: &FileName, ndim: usize) -> Result<ArrayLayout> {
    let mut layout = ArrayLayout::new(format);
    if let Some(chunks) = packing::shape(args.layout.chunks.as_ref(), "chunks", path, ndim)? {
        layout = layout.chunks(chunks);
    }
    if let Some(blocks) = packing::shape(args.layout.blocks.as_ref(), "blocks", path, ndim)? {
        layout = layout.blocks(blocks);
    }
    Ok(layout)
}

// ---- from an array

/// Converts an array, also one in a Bloscpack file.
pub fn array(
    args: &Convert,
    rows: &StoredRows,
    damage: &mut Damage,
    out: &FileName,
    to: DataFormat,
) -> Result<Exit> {
    let path = rows.path;
    let Some(array) = rows.content.array() else {
        return rows::convert::dataset(args, rows, out, to);
    };
    let has_objects = has_objects(array);
    let copies =
        |format| format == Format::Bloscpack || detect::is_frame(format) || in_c_order(array);
    let (force, bytes) = (args.output.force, array.content_bytes());
    match (to, format_of(to)) {
        (DataFormat::B2Frame, _) if !has_objects => {
            converting(out, bytes, damage, |damage| flat(args, path, array, damage, out))
        }
        (_, Some(format)) if copies(format) => {
            let layout = layout(args, format, path, array.shape().len())?;
            let options = options::converting(args)?;
            converting(out, bytes, damage, |damage| {
                let copy = if force { Array::copy_replacing } else { Array::copy_to };
                copied(copy(array, standard::output(out), &layout, &options), out, force, damage)
            })
        }
        (DataFormat::Npy | DataFormat::Raw, _) if !has_objects => {
            let code = converting(out, bytes, damage, |damage| {
                let print = |output: &mut Output| {
                    let is_npy = to == DataFormat::Npy;
                    if is_npy {
                        output.bytes(&header(array, None, true))?;
                    }
                    each_piece(array, None, is_npy, (path, damage), |bytes| output.bytes(bytes))?;
                    Ok(Exit::Done)
                };
                output::printed(Some(out), force, print).map(drop)
            })?;
            if array.format() != Format::Bloscpack {
                note_lost_attributes(out, array.attribute_names().len());
            }
            Ok(code)
        }
        _ => rows::convert::dataset(args, rows, out, to),
    }
}

/// Writes the items of an array, in C order, into a frame without a shape.
fn flat(
    args: &Convert,
    path: &FileName,
    array: &Array,
    damage: &mut Damage,
    out: &FileName,
) -> Result {
    if args.layout.chunks.is_some() || args.layout.blocks.is_some() {
        return Err(usage!(
            "--chunks and --blocks are for arrays, and this becomes a frame without a shape (--chunk-size)"
        ));
    }
    let options = options::converting(args)?.progress(|_, _| !signals::stopped());
    let type_size = packing::type_size(array.item_size() as u64);
    let (mut done, total) = (0, array.content_bytes());
    let force = args.output.force;
    let mut schunk = create!(Schunk, out, force, Format::B2Frame, type_size, &options)?;
    each_piece(array, None, false, (path, damage), |bytes| {
        schunk.append(bytes).map_err(library(out))?;
        done += bytes.len() as u64;
        progress::report(done, total);
        Ok(())
    })?;
    schunk.commit().map_err(library(out))
}

// ---- from items of a file

/// Converts the items of a .npy file, or of a file without a header.
pub fn items(
    args: &Convert,
    input: &FileName,
    from: DataFormat,
    out: &FileName,
    to: DataFormat,
) -> Result<Exit> {
    match (to, format_of(to)) {
        (DataFormat::Npy | DataFormat::Raw, _)
        | (_, Some(Format::Bloscpack | Format::B2Frame | Format::B2nd | Format::Caterva)) => {
            super::pack::items(args, input, from, out, to)
        }
        _ => rows::convert::file(args, input, from, out, to),
    }
}
