//! `holdall generate`: completion scripts for packages, and pages of the commands for the manual and
//! for the site.

mod man;
mod markdown;

use crate::cli::{Generate, Generated, help};
use crate::failure::{Exit, Result, system};
use crate::output::Output;
use clap::Command;
use std::path::Path;

pub fn run(args: &Generate) -> Result<Exit> {
    let (folder, write): (_, fn(&Command, &Path) -> _) = match &args.what {
        Generated::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut help::command(), "holdall", &mut script);
            let mut output = Output::standard();
            output.bytes(&script)?;
            return output.finish(Exit::Done);
        }
        Generated::Man { folder } => (folder, man::write_page),
        Generated::Markdown { folder } => (folder, markdown::write_page),
    };
    let mut command =
        inline_values(help::command()).disable_help_subcommand(true).after_long_help(help::TOPICS);
    command.build();
    write_pages(&command, folder, write).map_err(system(&folder.to_string_lossy()))?;
    Ok(Exit::Done)
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

fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// Writes the page of a command and those of the commands below it.
fn write_pages(
    command: &Command,
    folder: &Path,
    write: fn(&Command, &Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    below(command).try_for_each(|command| write_pages(command, folder, write))?;
    write(command, folder)
}

fn usage(command: &Command) -> String {
    command.clone().render_usage().to_string().trim_start_matches("Usage: ").to_owned()
}

fn description(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

fn sections(command: &Command) -> String {
    command.get_after_long_help().map(ToString::to_string).unwrap_or_default()
}

/// A block of a text, see `cli/help.rs`, with its lines.
enum Block<'a> {
    Heading(&'a str),
    Paragraph(Vec<&'a str>),
    Item(Vec<&'a str>),
    Literal(Vec<&'a str>),
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut gap) = (Vec::new(), true);
    for line in text.lines() {
        if line.is_empty() {
            gap = true;
            continue;
        }
        let is_new = gap || line.starts_with("- ") || help::is_heading(line);
        match (blocks.last_mut(), line.strip_prefix("  ")) {
            (Some(Block::Item(lines)), _) if !is_new => lines.push(line.trim()),
            (Some(Block::Literal(lines)), Some(line)) => {
                gap.then(|| lines.push(""));
                lines.push(line);
            }
            (_, Some(line)) => blocks.push(Block::Literal(vec![line])),
            (Some(Block::Paragraph(lines)), None) if !is_new => lines.push(line),
            (_, None) => blocks.push(match line.strip_prefix("- ") {
                Some(item) => Block::Item(vec![item]),
                None if help::is_heading(line) => Block::Heading(line.trim_end_matches(':')),
                None => Block::Paragraph(vec![line]),
            }),
        }
        gap = false;
    }
    blocks
}
