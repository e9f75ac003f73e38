//! The help of the commands: texts, groups of commands, order of options, kinds of values for
//! completions.
//!
//! A file `texts/COMMAND.txt` begins with the line of the overview, usage lines that clap cannot
//! derive, and the help of options and operands that differs from that of other commands. After an
//! empty line come paragraphs (the description), then sections. A section begins with a line such
//! as `Examples:`. Indented lines are literal: they are not filled. `holdall COMMAND --help` and the
//! page of the manual show the same text.

use super::Cli;
use anstyle::Style;
use clap::{Arg, Command, CommandFactory, ValueHint};
use std::ffi::OsString;

const HEADING: Style = Style::new().bold().underline();
const NAME: Style = Style::new().bold();

/// The topics of the page of the manual about the tool.
pub const TOPICS: &str = include_str!("texts/holdall.txt");

macro_rules! texts {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("texts/", $name, ".txt")))),*] };
}
const TEXTS: &[(&str, &str)] = texts!("append" "attr" "cat" "convert" "count" "dictionary" "diff" "head" "identify" "index" "info"
    "ls" "merge" "pack" "repair" "sample" "schema" "split" "stats" "sum" "tail" "tree" "trim" "tune" "unpack" "verify"
    "view");

/// Commands in the order of the overview.
const GROUPS: &[(&str, &[&str])] = &[
    ("Describe", &["info", "ls", "tree", "schema", "count", "identify"]),
    ("Read", &["cat", "head", "tail", "sample", "stats", "view", "diff", "sum"]),
    ("Write", &["pack", "unpack", "convert", "append", "trim", "merge", "split"]),
    ("Find and annotate", &["index", "attr", "dictionary"]),
    ("Check and tune", &["verify", "repair", "tune"]),
];

/// Options that come first in the help of a command, and those that come last. Others are in
/// between.
const FIRST: &str = "output force to from json slice rows columns records seed epoch rank world codec level filters \
    chunk-size checksum chunks blocks dtype shape order skip dtypes shards shard append";
const LAST: &str = "skip-damaged unchecked threads map memory-limit no-sync no-lock verbose quiet";

/// Help of operands of most commands.
const OPERANDS: &str = "path: Container; NAME@N.bagz is a bag of N files
paths: Containers; NAME@N.bagz is a bag of N files";
/// What is added to it for commands that read a container from standard input.
const STANDARD_INPUT: &str = " (-: standard input)";
const READ_STANDARD_INPUT: &[&str] = &[
    "info", "schema", "count", "identify", "cat", "head", "tail", "sample", "stats", "view",
    "diff", "sum",
];

/// Returns whether a line of a text begins a section.
pub fn is_heading(line: &str) -> bool {
    line.len() < 48 && line.ends_with(':') && line.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Returns the values of a key in lines `key: value`.
fn values<'a>(lines: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    lines.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// Adds help and order to an argument, and says to shells what its value is. `header` has the help
/// for the command, or as `ACTION.NAME` for one of its actions.
fn with_help(header: &str, command: &str, arg: Arg) -> Arg {
    let name = arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
    let own = values(header, &format!("{command}.{name}")).chain(values(header, &name)).next();
    let common = values(OPERANDS, &name).next().filter(|_| arg.get_help().is_none());
    let position = |names: &str| names.split_whitespace().position(|option| option == name);
    let order = position(FIRST).or_else(|| position(LAST).map(|last| 900 + last));
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let hint = match value.as_deref() {
        _ if !arg.get_possible_values().is_empty() => ValueHint::Unknown,
        Some("FILE" | "OUT" | "IN" | "IN OUT" | "A" | "B" | "PATH" | "BAG") => ValueHint::AnyPath,
        Some("FOLDER") => ValueHint::DirPath,
        _ => ValueHint::Other,
    };
    let note = if arg.is_positional() && READ_STANDARD_INPUT.contains(&command) {
        STANDARD_INPUT
    } else {
        ""
    };
    let help = own.or(common).map(|help| format!("{help}{note}"));
    let arg = help.into_iter().fold(arg, |arg, help| arg.help(help));
    let arg = if arg.get_action().takes_values() { arg.value_hint(hint) } else { arg };
    if arg.is_positional() {
        return arg;
    }
    // a negative number is refused as the value, not as an unknown option
    let takes_number = matches!(value.as_deref(), Some("N" | "I" | "BYTES"));
    let arg = if takes_number { arg.allow_negative_numbers(true) } else { arg };
    let arg = arg.display_order(order.unwrap_or(100));
    // verify without checksums would find nothing
    arg.hide((command, name.as_str()) == ("verify", "unchecked"))
}

fn with_text(mut command: Command) -> Command {
    let own = command.get_name().to_owned();
    let Some((_, text)) = TEXTS.iter().find(|(name, _)| *name == own) else {
        return command;
    };
    let (header, text) = text.split_once("\n\n").unwrap_or((text, ""));
    let about = header.lines().next().unwrap_or_default();
    let mut is_section = false;
    let (sections, description): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| {
        is_section |= is_heading(line);
        is_section
    });
    let styled = sections.iter().map(|line| match is_heading(line) {
        true => format!("{HEADING}{line}{HEADING:#}"),
        false => (*line).to_owned(),
    });
    command = command
        .about(about)
        .long_about(format!("{about}.\n\n{}", description.join("\n").trim()))
        .after_long_help(styled.collect::<Vec<_>>().join("\n"));
    let usages: Vec<&str> = values(header, "usage").collect();
    if !usages.is_empty() {
        command = command.override_usage(usages.join("\n       "));
    }
    command.mut_args(|arg| with_help(header, &own, arg)).mut_subcommands(|action| {
        let name = action.get_name().to_owned();
        action.mut_args(|arg| with_help(header, &name, arg))
    })
}

/// The command line with the help of the command that the arguments name. That of all commands
/// takes longer than many commands.
pub fn command_for(arguments: &[OsString]) -> Command {
    let all = Cli::command();
    let mut named = arguments.iter().filter_map(|argument| argument.to_str());
    match named.find(|name| !name.starts_with('-')) {
        Some(name) if name != "help" && all.find_subcommand(name).is_some() => {
            all.mut_subcommand(name, with_text).mut_args(|arg| with_help("", "", arg))
        }
        _ => command(),
    }
}

/// The command line with all its help.
pub fn command() -> Command {
    let command = Cli::command().mut_subcommands(with_text);
    let mut overview = String::new();
    for (title, names) in GROUPS {
        overview += &format!("\n{HEADING}{title}:{HEADING:#}\n");
        for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            overview += &format!("  {NAME}{:<10}{NAME:#}{about}\n", found.get_name());
        }
    }
    command
        .mut_args(|arg| with_help("", "", arg))
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{overview}\n{HEADING}Options:{HEADING:#}\n{{options}}{{after-help}}"))
        .after_help(
            "'holdall COMMAND -h' lists the options of a command, and 'holdall COMMAND --help' explains\n\
             them. 'man holdall' explains what all commands share.",
        )
}
