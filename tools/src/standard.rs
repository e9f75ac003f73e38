//! Containers on standard input and standard output ("-"), which are held in memory: a container is
//! not read or written from front to back.

use crate::cli::groups::Reading;
use crate::cli::{self, Attr, AttrAction, Command, Convert};
use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::{failure, node, usage};
use holdall::{Location, MemoryStorage};
use std::io::Read;
use std::sync::{LazyLock, OnceLock};

/// Bytes of a container that are read without `--memory-limit`: the default of the library.
const MEMORY_LIMIT: u64 = 4 << 30;

/// The container on standard input, if the command reads one.
static INPUT: OnceLock<Vec<u8>> = OnceLock::new();

/// The container that is written to standard output.
static OUTPUT: LazyLock<MemoryStorage> = LazyLock::new(MemoryStorage::new);

/// Returns the container on standard input, if the command reads one.
pub fn input() -> Option<&'static [u8]> {
    INPUT.get().map(Vec::as_slice)
}

/// "-" is the container on standard input; an output has its own function.
impl From<&FileName> for Location {
    fn from(path: &FileName) -> Location {
        match input().filter(|_| path.is_standard()) {
            Some(bytes) => Location::memory(bytes),
            None => node::location(path).unwrap_or_else(|| Location::from(path.path())),
        }
    }
}

/// Refuses standard input if the command reads no container there.
pub fn refuse_unread(path: &FileName) -> Result {
    match path.is_standard() && input().is_none() {
        true => Err(failure!(
            "standard input: this command takes files; save it to one ('./-' is a file '-')"
        )),
        false => Ok(()),
    }
}

/// Returns the location of a container that is written.
pub fn output(out: &FileName) -> Location {
    match out.is_standard() {
        true => Location::from(&*OUTPUT),
        false => node::location(out).unwrap_or_else(|| Location::from(out.path())),
    }
}

/// Refuses standard output as the output of `what`, which is several files.
pub fn refuse_files(out: &FileName, what: &str, instead: &str) -> Result {
    if !out.is_standard() {
        return Ok(());
    }
    Err(usage!("{what} has several files, and '-' takes one: name OUT, or {instead}"))
}

/// Writes the container to standard output, if `out` is that.
pub fn finish(out: &FileName) -> Result {
    if !out.is_standard() {
        return Ok(());
    }
    match OUTPUT.bytes("") {
        Ok(bytes) => OutputFile::create(out, false)?.put(&bytes),
        // what was written as it was made
        Err(_) => Ok(()),
    }
}

/// Reads standard input if the command reads a container there.
pub fn load(command: &Command) -> Result {
    let none = Reading::default();
    let one = |path, reading| Ok((std::slice::from_ref(path), reading));
    let (paths, reading) = match command {
        Command::Info(args) => one(&args.path, &args.source.reading),
        Command::Schema(args) | Command::Count(args) => one(&args.path, &args.source.reading),
        Command::Cat(args) => one(&args.print.path, &args.print.source.reading),
        Command::Head(args) | Command::Tail(args) => {
            one(&args.print.path, &args.print.source.reading)
        }
        Command::Sample(args) => one(&args.excerpt.print.path, &args.excerpt.print.source.reading),
        Command::Stats(args) => one(&args.path, &args.source.reading),
        Command::View(args) => one(&args.path, &args.reading),
        Command::Sum(args) => Ok((args.paths.as_slice(), &args.source.reading)),
        Command::Attr(Attr { action: AttrAction::Get { path, .. } }) => one(path, &none),
        Command::Identify(args) => Ok((args.paths.as_slice(), &none)),
        Command::Unpack(args) => one(cli::one_operand(&args.paths, &args.output)?.0, &args.reading),
        Command::Convert(args) if reads_container(args) => {
            one(cli::one_operand(&args.paths, &args.output)?.0, &args.reading)
        }
        Command::Diff(args) if args.left.is_standard() && args.right.is_standard() => {
            Err(usage!("A and B cannot both be standard input"))
        }
        Command::Diff(args) if args.left.is_standard() => one(&args.left, &args.source.reading),
        Command::Diff(args) => one(&args.right, &args.source.reading),
        _ => return Ok(()),
    }?;
    match paths.iter().find(|path| path.is_standard()) {
        Some(path) => read(path, reading.memory_limit.unwrap_or(MEMORY_LIMIT)),
        None => Ok(()),
    }
}

/// Returns whether IN of convert is a container, not a file of items, rows or records.
fn reads_container(args: &Convert) -> bool {
    match args.input.from {
        None => args.input.dtype.is_none(),
        Some(from) => from == cli::values::DataFormat::Bagz,
    }
}

fn read(path: &FileName, most: u64) -> Result {
    let mut input = Input::open(path, None)?;
    let mut bytes = Vec::new();
    let read = (&mut input).take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| input.failure(error))?;
    if bytes.len() as u64 > most {
        return Err(failure!(
            "{}: a container of more than {most} bytes (--memory-limit allows more; a file is read from the disk)",
            input.name
        ));
    }
    if INPUT.set(bytes).is_err() {
        return Err(Failure::Message("standard input was read".to_owned()));
    }
    Ok(())
}
