//! `holdall identify`: the format and kind of paths.

use crate::cli::Identify;
use crate::detect::{self, format_name, kind_name};
use crate::failure::{Exit, Result, library};
use crate::output::Output;

pub fn run(args: &Identify) -> Result<Exit> {
    let (mut output, mut has_failed) = (Output::standard(), false);
    for path in &args.paths {
        match detect::identify(path, None) {
            Ok((format, kind)) => {
                let (format, kind) = (format_name(format), kind_name(kind));
                output.line(match args.json {
                    true => serde_json::json!({"path": path, "format": format, "kind": kind})
                        .to_string(),
                    false => format!("{path}: {format} {kind}"),
                })?;
            }
            Err(error) => {
                has_failed = true;
                library(path)(error).report_message();
            }
        }
    }
    output.finish(Exit::damaged(has_failed))
}
