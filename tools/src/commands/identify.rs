//! `holdall identify`: the format and kind of paths.

use crate::cli::Identify;
use crate::detect::{self, format_name, kind_name};
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::report;

pub fn run(args: &Identify) -> Result<Exit> {
    let (mut output, mut failed) = (Output::standard(), false);
    for path in &args.paths {
        match detect::identify(path, None) {
            Ok((format, kind)) if args.json => output.line(serde_json::json!({
                "path": path, "format": format_name(format), "kind": kind_name(kind),
            }))?,
            Ok((format, kind)) => output.line(format_args!(
                "{}: {} {}",
                report::printable(path),
                format_name(format),
                kind_name(kind)
            ))?,
            Err(error) => {
                failed = true;
                if let crate::failure::Failure::Message(text) = library(path)(error) {
                    report::error(&text);
                }
            }
        }
    }
    output.finish(Exit::damaged(failed))
}
