//! `holdall append`: content for a superchunk, or rows for an array.

use super::packing::{self, Packing, Target, row_bytes};
use crate::array::npy::Npy;
use crate::cli::Append;
use crate::cli::values::DataFormat;
use crate::content::in_c_order;
use crate::detect;
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::files::Input;
use crate::{failure, node, options};
use holdall::{Array, Schunk, Status};

/// The format of the input; `None` is bytes.
pub fn format(args: &Append) -> Option<DataFormat> {
    match args.raw {
        true => Some(DataFormat::Raw),
        false => detect::file_format(&args.input, args.from),
    }
}

/// Refuses the bytes of a container as rows, unless they are asked for.
pub fn check_rows(args: &Append) -> Result {
    if format(args).is_some() {
        return Ok(());
    }
    let name = args.input.of_input();
    match detect::stored_format(&args.input) {
        Some(stored) => Err(failure!(
            "{name}: it is a file of {stored}, whose bytes are no rows (--raw takes them)"
        )),
        None => Ok(()),
    }
}

/// Refuses an array that cannot take bytes as rows, in the order in which they come.
fn check_array(array: &Array, path: &FileName) -> Result {
    if array.shape().is_empty() {
        return Err(failure!("{path}: an array without dimensions does not grow"));
    }
    if !in_c_order(array) {
        return Err(failure!("{path}: an array in Fortran order takes no rows"));
    }
    if row_bytes(array) == 0 {
        return Err(failure!("{path}: rows of this array have no bytes"));
    }
    Ok(())
}

fn open(args: &Append, input: &mut Input) -> Result<(Target, Option<u64>)> {
    let path = &args.path;
    let options = options::codecs(options::changing(&args.changing), &args.encoding)?;
    node::change(path)?;
    let array = match Array::open_for_writing(path, &options) {
        // a superchunk that is no array
        Err(error) if error.status() == Status::Type => {
            let schunk = Schunk::open_for_writing(path, &options).map_err(library(path))?;
            return Ok((Target::Schunk(schunk), None));
        }
        opened => opened.map_err(library(path))?,
    };
    if matches!(format(args), Some(DataFormat::Csv | DataFormat::Jsonl)) {
        return Err(failure!(
            "{}: rows of text are for tables, and {path} is an array (--raw takes its bytes)",
            args.input
        ));
    }
    check_rows(args)?;
    check_array(&array, path)?;
    let expected = match format(args) {
        Some(DataFormat::Npy) => Some(Npy::read(input)?.fits(input, &array)?),
        _ => None,
    };
    Ok((Target::Rows(array), expected))
}

pub fn run(args: &Append) -> Result<Exit> {
    if args.before.is_some() {
        return Err(failure!("{}: --before is for tables", args.path));
    }
    let packing = Packing { command: "append", from: &args.input, out: &args.path };
    packing::run(&packing, |input| open(args, input))
}
