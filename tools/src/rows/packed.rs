//! Rows whose columns stand end to end: files of NumPy, and files without a header.

use super::frame::{self, Batch, Frame, Take};
use crate::array::npy::Npy;
use crate::failure;
use crate::failure::Result;
use crate::files::Input;
use crate::superchunk::source::resize;
use holdall::{ItemKind, ItemType};

/// Returns the columns of the items, which are their fields or one without a name, and the number
/// of rows.
pub fn columns(input: &Input, npy: &Npy) -> Result<(Frame, u64)> {
    let mut frame = Frame::default();
    let (name, descr) = (&input.name, &npy.descr);
    let item = ItemType::parse(descr).ok().filter(|item| !item.has_objects());
    let item = item.ok_or_else(|| failure!("{name}: items of {descr} are not read"))?;
    let Some((rows, shape)) = npy.shape.split_first() else {
        return Err(failure!("{name}: an array without dimensions has no rows"));
    };
    if npy.fortran_order && !shape.is_empty() {
        return Err(failure!(
            "{name}: its items are in Fortran order, which is not rows (--to b2nd or blpk takes it)"
        ));
    }
    match &item.kind {
        ItemKind::Struct(fields) if shape.is_empty() => {
            for field in fields {
                let (item, shape) = frame::split(&field.item);
                frame.add(&field.name, item, &shape)?;
            }
            if frame.row_type() != item {
                return Err(failure!("{name}: items of {descr} are not read"));
            }
        }
        _ => {
            frame.bare = true;
            frame.add("", &item, shape)?;
        }
    }
    Ok((frame, *rows))
}

/// Reads rows and hands them on; `None`: as many as there are.
pub fn rows(frame: &Frame, input: &mut Input, rows: Option<u64>, take: &mut Take) -> Result {
    let row = frame.row_bytes();
    if row == 0 {
        let Some(rows) = rows else {
            return Err(failure!("{}: its rows have no bytes", input.name));
        };
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let columns = vec![&[][..]; frame.columns.len()];
        return if rows == 0 { Ok(()) } else { take(&Batch { rows, columns, extras: Vec::new() }) };
    }
    let (mut packed, mut columns, mut done) = (Vec::new(), Vec::new(), 0);
    resize(&mut packed, frame.batch_rows(u64::MAX).saturating_mul(row))?;
    resize(&mut columns, packed.len())?;
    loop {
        let got = input.fill(&mut packed)?;
        if !got.is_multiple_of(row) {
            let (name, over) = (&input.name, got % row);
            return Err(failure!("{name}: its last {over} bytes are no whole row, of {row} bytes"));
        }
        if got == 0 {
            break;
        }
        scatter(frame, &packed[..got], &mut columns[..got]);
        done += (got / row) as u64;
        input.progress(input.done);
        take(&frame.batch(got / row, &columns[..got]))?;
    }
    match rows {
        Some(rows) if rows != done => {
            Err(failure!("{}: its shape declares {rows} rows, found {done}", input.name))
        }
        _ => Ok(()),
    }
}

/// Copies from rows to columns, which follow each other.
fn scatter(frame: &Frame, packed: &[u8], mut columns: &mut [u8]) {
    let (row, mut at) = (frame.row_bytes(), 0);
    let rows = packed.len() / row;
    for size in frame.columns.iter().map(|column| column.size).filter(|size| *size > 0) {
        let (own, rest) = columns.split_at_mut(rows * size);
        for (item, row) in own.chunks_exact_mut(size).zip(packed.chunks_exact(row)) {
            item.copy_from_slice(&row[at..at + size]);
        }
        (columns, at) = (rest, at + size);
    }
}
