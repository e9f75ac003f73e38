//! `holdall generate`: completion scripts and pages of the manual, for packages.

use crate::cli::{Generate, Generated, help};
use crate::failure::{Exit, Result, system};
use crate::output::Output;
use clap::Command;
use clap_mangen::Man;
use roff::{Roff, roman};
use std::path::Path;

pub fn run(args: &Generate) -> Result<Exit> {
    match &args.what {
        Generated::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut help::command(), "holdall", &mut script);
            let mut output = Output::standard();
            output.bytes(&script)?;
            output.finish(Exit::Done)
        }
        Generated::Man { folder } => {
            let mut command = inline_values(help::command())
                .disable_help_subcommand(true)
                .after_long_help(help::TOPICS);
            command.build();
            pages(&command, folder).map_err(system(&folder.to_string_lossy()))?;
            Ok(Exit::Done)
        }
    }
}

/// Adds values without a help text to the help of their option: a list of them is long in a page.
fn inline_values(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let values = arg.get_possible_values();
        if !arg.get_action().takes_values()
            || values.is_empty()
            || values.iter().any(|value| value.get_help().is_some() && !value.is_hide_set())
        {
            return arg;
        }
        let names =
            values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name());
        let names = names.collect::<Vec<_>>().join(", ");
        let help =
            arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        arg.long_help(format!("{help}. Values: {names}")).hide_possible_values(true)
    });
    command.mut_subcommands(inline_values)
}

/// Writes the page of a command and those of the commands below it.
fn pages(command: &Command, folder: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages(below, folder)?;
    }
    let man = Man::new(command.clone())
        .source(format!("holdall {}", env!("CARGO_PKG_VERSION")))
        .manual("holdall");
    let (mut page, mut own) = (Vec::new(), Roff::new());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    own.control("SH", ["SYNOPSIS"]);
    let usage = command.clone().render_usage().to_string();
    for (i, line) in usage.trim_start_matches("Usage: ").lines().enumerate() {
        (i > 0).then(|| own.control("br", []));
        own.text([roman(line.trim())]);
    }
    own.control("SH", ["DESCRIPTION"]);
    let about = command.get_long_about().or(command.get_about());
    lines(&mut own, &about.map(ToString::to_string).unwrap_or_default());
    own.to_writer(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend_from_slice(tightened(&String::from_utf8_lossy(&options)).as_bytes());
    let mut own = Roff::new();
    let after = command.get_after_long_help().map(ToString::to_string);
    lines(&mut own, &after.unwrap_or_default());
    own.control("SH", ["SEE ALSO"]);
    own.text([roman(related(command))]);
    own.to_writer(&mut page)?;
    std::fs::write(folder.join(man.get_filename()), page)
}

/// Removes blank lines before lists of values, and makes their indentation that of other lists.
fn tightened(options: &str) -> String {
    options
        .replace("\n.br\n\n.br\n", "\n.br\n")
        .replace(".RS 14\n", ".RS 7\n.PD 0\n")
        .replace(".RE\n", ".RE\n.PD\n")
}

fn related(command: &Command) -> &'static str {
    match command.get_name() {
        "holdall" => "jq(1), sha256sum(1), zstd(1)",
        _ => "holdall(1)",
    }
}

/// Adds the lines of a text, see `cli/help.rs`: sections, paragraphs, literal blocks and lists.
fn lines(page: &mut Roff, text: &str) {
    let (mut literal, mut item, mut gap) = (false, false, false);
    for line in text.lines() {
        if line.is_empty() {
            gap = true;
            continue;
        }
        let indented = line.starts_with(' ') && (gap || !item);
        item = item && !gap;
        if literal && !indented {
            page.control("fi", []).control("RE", []);
        }
        if indented && !literal {
            page.control("RS", ["0"]).control("nf", []);
        } else if gap && indented {
            page.control("sp", []);
        }
        literal = indented;
        if help::is_heading(line) {
            page.control("SH", [line.trim_end_matches(':').to_uppercase().as_str()]);
        } else if let Some(text) = line.strip_prefix("- ") {
            item = true;
            page.control("IP", ["\\(bu", "2"]).text([roman(text)]);
        } else {
            if gap && !literal {
                page.control("PP", []);
            }
            page.text([roman(if literal { line.get(2..).unwrap_or(line) } else { line.trim() })]);
        }
        gap = false;
    }
    if literal {
        page.control("fi", []).control("RE", []);
    }
}
