//! `holdall cat` of a superchunk: its content, or items of it.

use super::source::{Damage, Source, resize};
use crate::array::npy::Npy;
use crate::cli::Cat;
use crate::cli::groups::Numbers;
use crate::cli::slice::{Picks, Span};
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result};
use crate::output::{Output, printed};
use crate::{failure, options};

/// Bytes of content that are read at once if only some of the items are requested.
const WINDOW: u64 = 4 << 20;

/// The items of a superchunk that a slice selects.
fn span(source: &Source, slice: Option<&Picks>) -> Span {
    let items = source.schunk.len() / source.schunk.type_size() as u64;
    slice.and_then(Picks::slice).unwrap_or_default().resolve(items)
}

fn give_items(
    source: &Source,
    Span { start, count, step }: Span,
    damage: &mut Damage,
    sink: &mut dyn FnMut(&[u8]) -> Result,
) -> Result {
    let (size, distance) = (source.schunk.type_size() as u64, step.unsigned_abs());
    if step == 1 {
        return source.stream(start * size..(start + count) * size, damage, sink);
    }
    // one at a time if there is more than a chunk between two
    let chunk = WINDOW.min(source.schunk.chunk_size() as u64) / size;
    let most = if distance > chunk { 1 } else { (WINDOW / size - 1) / distance + 1 };
    let mut window = Vec::new();
    for done in (0..count).step_by(most as usize) {
        let n = most.min(count - done);
        let item = start.wrapping_add_signed(done as i64 * step);
        let first = if step < 0 { item - (n - 1) * distance } else { item };
        resize(&mut window, (((n - 1) * distance + 1) * size) as usize)?;
        source.read(first * size, &mut window, damage)?;
        let mut items = window.chunks(size as usize).step_by(distance as usize);
        match step < 0 {
            true => items.rev().try_for_each(&mut *sink)?,
            false => items.try_for_each(&mut *sink)?,
        }
    }
    Ok(())
}

/// Passes the content, or the items of a slice, to `sink`.
pub fn give(
    source: &Source,
    slice: Option<&Picks>,
    damage: &mut Damage,
    sink: &mut dyn FnMut(&[u8]) -> Result,
) -> Result {
    match slice {
        Some(_) => give_items(source, span(source, slice), damage, sink),
        None => source.stream(0..source.schunk.len(), damage, sink),
    }
}

fn print(args: &Cat, source: &Source, damage: &mut Damage, output: &mut Output) -> Result {
    let (path, slice) = (&source.path, args.select.slice.as_ref());
    let (size, length) = (source.schunk.type_size() as u64, source.schunk.len());
    match args.print.to {
        None | Some(DataFormat::Raw | DataFormat::Npy) => {}
        Some(DataFormat::Arrow) => return Err(failure!("{path}: --to arrow is for tables")),
        Some(to) => {
            let name = format!("{to:?}").to_lowercase();
            return Err(failure!(
                "{path}: --to {name} prints values, and a superchunk that is no array has no type of values"
            ));
        }
    }
    if args.select.rows.is_some() {
        return Err(failure!(
            "{path}: a superchunk that is no array has no rows (--slice takes items)"
        ));
    }
    let numbers = args.select.records.as_ref().map(|Numbers(numbers)| numbers);
    if args.print.to == Some(DataFormat::Npy) {
        if slice.is_none() && numbers.is_none() && length % size != 0 {
            return Err(failure!(
                "{path}: {length} bytes are not a whole number of items of {size} (--slice : takes those that are)"
            ));
        }
        let span = span(source, slice);
        let descr = if size == 1 { "'|u1'".to_owned() } else { format!("'|V{size}'") };
        let count = numbers.map_or(span.count, |numbers| numbers.len() as u64);
        output.bytes(&Npy { descr, fortran_order: false, shape: vec![count] }.header())?;
        if numbers.is_none() {
            return give_items(source, span, damage, &mut |bytes| output.bytes(bytes));
        }
    }
    if let Some(numbers) = numbers {
        let mut item = vec![0; size as usize];
        return numbers.iter().try_for_each(|number| {
            source.read(*number as u64 * size, &mut item, damage)?;
            output.bytes(&item)
        });
    }
    give(source, slice, damage, &mut |bytes| output.bytes(bytes))
}

pub fn run(args: &Cat) -> Result<Exit> {
    let (print_args, source) = (&args.print, &args.print.source);
    let options = options::frame(options::reading(&source.reading), &source.frame);
    let (source, mut damage) = Source::open(&print_args.path, &options, print_args.skip_damaged)?;
    Picks::plain(args.select.slice.as_ref(), "a superchunk")?;
    printed(print_args.output.output.as_ref(), print_args.output.force, |output| {
        print(args, &source, &mut damage, output)?;
        Ok(Exit::damaged(damage.found))
    })
}
