//! `holdall cat` of a bag.

use super::Access;
use super::printer::Printer;
use super::reader::{Reader, check_order};
use super::records::{Batch, Sink};
use crate::cli::Cat;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result};
use crate::output::{self, Output};
use crate::usage;

/// Prints records as they are, end to end.
struct Bare<'a, 'o>(&'a mut Output<'o>);

impl Sink for Bare<'_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        self.0.bytes(batch.bytes())
    }
}

/// Prints records on a terminal: each ends with a newline, and bytes that are no text are refused.
struct Lines<'a, 'o>(&'a mut Output<'o>);

impl Sink for Lines<'_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        let is_control = |c: char| c.is_control() && !c.is_whitespace();
        for record in batch.iter() {
            match std::str::from_utf8(record) {
                Ok(text) if !text.contains(is_control) => self.0.text(text)?,
                _ => return output::refuse_terminal(None, "records that are no text"),
            }
            if !record.ends_with(b"\n") {
                self.0.text("\n")?;
            }
        }
        Ok(())
    }
}

pub fn run(args: &Cat, usage: &Usage) -> Result<Exit> {
    check_order(&args.order, usage)?;
    let path = &args.print.path;
    let access = Access::of(&args.print.source)?;
    let access = access.sliced(args.select.slice.as_ref())?;
    let mut reader = Reader::open(path, &access, args.print.skip_damaged)?;
    match (args.order.seed, &args.select.records) {
        (Some(seed), _) => reader.shuffle(seed, &args.order)?,
        (None, Some(records)) => reader.list(&records.0)?,
        (None, None) => {}
    }
    let out = args.print.output.output.as_ref();
    let is_lines = args.print.to == Some(DataFormat::Lines);
    if is_lines && args.print.lengths {
        return Err(usage!("--lengths and --to lines exclude each other"));
    }
    if args.print.lengths {
        output::refuse_terminal(out, "lengths")?;
    }
    output::printed(out, args.print.output.force, |output| {
        let printed = if output::is_terminal(out) {
            reader.each(&mut Lines(output))
        } else if args.print.lengths || is_lines {
            let format = if is_lines { DataFormat::Lines } else { DataFormat::Lengths64 };
            reader.each(&mut Printer { format, path, output, done: 0 })
        } else {
            reader.each(&mut Bare(output))
        };
        // what precedes a damaged record is printed
        output.flush()?;
        printed?;
        Ok(Exit::damaged(reader.damaged > 0))
    })
}
