//! The items of an array that `--slice` asks for, and the pieces in which items are read.

use crate::cli::slice::{Pick, Picks};
use crate::content::in_c_order;
use crate::failure;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::relay;
use crate::report::plural;
use crate::superchunk::packing::row_bytes;
use crate::superchunk::source::{Damage, resize};
use holdall::{Array, Integrity, Order};

/// The most bytes that are read at once, and those of listed rows.
const PIECE: u64 = 32 << 20;
const ROWS: u64 = 8 << 20;

/// Returns what a selection asks for as an array that shares the files.
pub fn view(array: &Array, picks: &Picks, path: &FileName) -> Result<Array> {
    let (ndim, mut spans) = (array.shape().len(), Vec::new());
    let picks = picks.expanded(ndim).map_err(|named| match ndim {
        0 => failure!("{path}: an array without dimensions has no slices"),
        n => {
            let s = plural(n as u64);
            failure!("{path}: --slice has {named} parts, and the array has {n} dimension{s}")
        }
    })?;
    for (d, (pick, length)) in picks.iter().zip(array.shape()).enumerate() {
        spans.push(Pick::span(*pick, *length).ok_or_else(|| {
            let valid = match length {
                0 => ", its length is 0".to_owned(),
                n => format!(", it has 0 to {}, or -{n} to -1", n - 1),
            };
            let index = if let Some(Pick::Index(index)) = pick { *index } else { 0 };
            failure!("{path}: dimension {d} (the first is 0): index {index} is out of range{valid}")
        })?);
    }
    let starts: Vec<u64> = spans.iter().map(|span| span.start).collect();
    let steps: Vec<i64> = spans.iter().map(|span| span.step).collect();
    let counts: Vec<u64> = spans.iter().map(|span| span.count).collect();
    let mut view = array.strided(&starts, &steps, &counts).map_err(library(path))?;
    let is_index = |d: &usize| matches!(picks[*d], Some(Pick::Index(_)));
    for d in (0..ndim).rev().filter(is_index) {
        view = view.squeeze(d).map_err(library(path))?;
    }
    Ok(view)
}

/// Passes the bytes of the items of an array on, or of listed rows. The next piece is read while
/// one is taken. `stored`: in the order in which they are stored, otherwise in C order.
pub fn each_piece(
    array: &Array,
    rows: Option<&[u64]>,
    stored: bool,
    (path, damage): (&FileName, &mut Damage),
    take: impl FnMut(&[u8]) -> Result,
) -> Result {
    let order = if stored && !in_c_order(array) { Order::Fortran } else { Order::C };
    let (mut damaged, mut boxes) = (false, array.boxes(order, PIECE));
    let row = row_bytes(array);
    let mut lists = rows.unwrap_or_default().chunks((ROWS / row.max(1)).max(1) as usize);
    let mut positions: Vec<Option<&[u64]>> = vec![None; array.shape().len()];
    let make = |bytes: &mut Vec<u8>| {
        let read = if rows.is_some() {
            let Some(list) = lists.next().filter(|_| row > 0) else {
                return Ok(false);
            };
            resize(bytes, list.len() * row as usize)?;
            positions[0] = Some(list);
            array.read_orthogonal_bytes(&positions, bytes)
        } else {
            let Some(of) = boxes.next() else {
                return Ok(false);
            };
            let (mut strides, mut stride) = (vec![0; of.len()], array.item_size() as i64);
            for i in 0..of.len() {
                let d = if order == Order::Fortran { i } else { of.len() - 1 - i };
                strides[d] = stride;
                stride *= (of[d].end - of[d].start) as i64;
            }
            resize(bytes, stride as usize)?;
            array.read_bytes_strided(&of[..], bytes, &strides)
        };
        damaged |= read.map_err(library(path))? == Integrity::Filled;
        Ok(true)
    };
    let done = relay::take_here(make, take);
    if damaged {
        damage.report("here");
    }
    done
}
