//! The help of the commands: texts, groups of commands, order of options, kinds of values for
//! completions.
//!
//! A file `texts/COMMAND.txt` has the line of the overview, then paragraphs (the description), then
//! sections. A section begins with a line such as `Examples:`. Indented lines are literal: they are
//! not filled. `holdall COMMAND --help` and the page of the manual show the same text.

use super::Cli;
use anstyle::Style;
use clap::{Arg, Command, CommandFactory, ValueHint};
use std::fmt::Write as _;

const HEADING: Style = Style::new().bold().underline();
const NAME: Style = Style::new().bold();

/// The topics of the page of the manual about the tool.
pub const TOPICS: &str = include_str!("texts/holdall.txt");

/// Commands in the order of the overview.
const GROUPS: &[(&str, &[&str])] = &[
    ("Describe", &["info", "ls", "tree", "schema", "count", "identify"]),
    ("Read", &["cat", "head", "tail", "sample", "stats", "view", "diff", "sum"]),
    ("Write", &["pack", "unpack", "convert", "append", "trim", "merge", "split"]),
    ("Find and annotate", &["index", "attr"]),
    ("Check and tune", &["verify", "repair", "tune"]),
];

/// Options that come first in the help of a command, and those that come last. Others are in
/// between.
const FIRST: &[&str] = &[
    "output",
    "force",
    "to",
    "from",
    "json",
    "slice",
    "rows",
    "columns",
    "records",
    "seed",
    "epoch",
    "rank",
    "world",
    "codec",
    "level",
    "filters",
    "chunk-size",
    "checksum",
    "chunks",
    "blocks",
    "dtype",
    "shape",
    "order",
    "skip",
    "dtypes",
    "shards",
    "shard",
    "append",
];
const LAST: &[&str] = &[
    "skip-damaged",
    "unchecked",
    "threads",
    "map",
    "memory-limit",
    "no-sync",
    "no-lock",
    "verbose",
    "quiet",
];

/// Usage lines of commands whose operands clap cannot describe.
const USAGES: &[(&str, &str)] = &[
    ("pack", "holdall pack [OPTIONS] IN... OUT\n       holdall pack [OPTIONS] -o OUT IN..."),
    ("unpack", "holdall unpack [OPTIONS] IN OUT\n       holdall unpack [OPTIONS] -o OUT IN"),
    ("convert", "holdall convert [OPTIONS] IN OUT\n       holdall convert [OPTIONS] -o OUT IN"),
    ("merge", "holdall merge [OPTIONS] IN... OUT\n       holdall merge [OPTIONS] -o OUT IN..."),
    (
        "split",
        "holdall split [OPTIONS] -n PARTS IN OUT\n       holdall split [OPTIONS] -n PARTS -o OUT IN",
    ),
];

/// Help of options and operands that depends on the command: (command, option or operand, help).
const OWN: &[(&str, &str, &str)] = &[
    ("merge", "output", "Write to OUT; all operands are inputs"),
    ("merge", "checksum", "Checksums of the bag: none, or the default"),
    ("split", "checksum", "Checksums of the bags: none, or the default"),
    ("split", "force", "Replace the bags if they exist; without this option that is an error"),
    ("merge", "paths", "Containers of a kind, then the output"),
    ("split", "output", "Write to OUT; the operand is the input"),
    ("split", "paths", "Bag, then the output"),
    ("tune", "path", "Container or file"),
    ("tune", "seconds", "Time to take at most, in seconds, 0.1 to 86400"),
    ("view", "path", "Array or table"),
    ("pack", "output", "Write to OUT; all operands are inputs"),
    ("unpack", "output", "Write to OUT; the operand is the input"),
    ("convert", "output", "Write to OUT; the operand is the input"),
    ("verify", "quiet", "Print only faults and errors: no counts, no progress"),
    ("pack", "codec", "Codec [default: lz4; bags: zstd if OUT ends in .bagz, otherwise none]"),
    ("pack", "filters", "Filters before the codec, in this order [default: shuffle]"),
    ("pack", "chunk-size", "Size of the content of a chunk in bytes; K, M, G [default: 1M]"),
    ("pack", "checksum", "Checksum of each chunk [default: crc32]; bags: none, or the default"),
    (
        "convert",
        "codec",
        "Codec [default: that of IN, lz4 for a new container; bags: zstd if the name ends in .bagz]",
    ),
    (
        "convert",
        "filters",
        "Filters before the codec, in this order [default: those of IN, shuffle for a new container]",
    ),
    (
        "convert",
        "chunk-size",
        "Size of the content of a chunk in bytes; K, M, G [default: as in IN, otherwise 1M]",
    ),
    (
        "convert",
        "checksum",
        "Checksum of each chunk [default: as in IN, otherwise crc32]; bags: none, or the default",
    ),
    ("append", "codec", "Codec of new chunks [default: that of the last chunk]"),
    ("append", "level", "Level of new chunks: 0 stored, 1 fast to 9 small [default: 5]"),
    (
        "append",
        "filters",
        "Filters of new chunks, in this order [default: those of the last chunk]",
    ),
    ("ls", "path", "Folder"),
    ("tree", "path", "Folder or container"),
    ("append", "path", "Superchunk, array or table"),
    ("trim", "path", "Array or table"),
    ("trim", "rows", "Number of rows to retain; if negative (after --), number of rows to remove"),
    ("get", "path", "Dataset, or column of a table (TABLE/COLUMN)"),
    ("set", "path", "Dataset, or column of a table (TABLE/COLUMN)"),
    ("remove", "path", "Dataset, or column of a table (TABLE/COLUMN)"),
    ("get", "name", "Name of the attribute [default: all]"),
    ("", "name", "Name of the attribute"),
    ("set", "value", "JSON value, such as '\"km\"' or 5"),
    ("", "bag", "Bag; NAME@N.bagz is a bag of N files"),
    ("", "key", "Keys: complete records"),
    ("unpack", "paths", "Superchunk or array, then the output file (-: standard output)"),
    (
        "convert",
        "paths",
        "Container or file (-: standard input), then the output (-: standard output)",
    ),
    ("pack", "paths", "Input files (-: standard input), then the output"),
    ("", "path", "Container; NAME@N.bagz is a bag of N files"),
    ("", "paths", "Containers; NAME@N.bagz is a bag of N files"),
    ("", "left", "Container"),
    ("", "right", "Container to compare with"),
];

macro_rules! texts {
    ($($name:literal)*) => {
        fn text(command: &str) -> Option<&'static str> {
            match command {
                $($name => Some(include_str!(concat!("texts/", $name, ".txt"))),)*
                _ => None,
            }
        }
    };
}

texts!("append" "attr" "cat" "convert" "count" "diff" "head" "identify" "index" "info" "ls" "merge" "pack" "repair"
    "sample" "schema" "split" "stats" "sum" "tail" "tree" "trim" "tune" "unpack" "verify" "view");

/// Returns whether a line of a text begins a section.
pub fn is_heading(line: &str) -> bool {
    line.len() < 48 && line.ends_with(':') && line.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Splits a text into its first line, the description, and the sections.
fn parts(text: &str) -> (&str, &str, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut at = 0;
    let heading = rest.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        is_heading(line.trim_end()).then_some(start)
    });
    let (description, sections) = rest.split_at(heading.unwrap_or(rest.len()));
    (first, description.trim(), sections.trim_end())
}

fn styled(sections: &str) -> String {
    let lines = sections.lines().map(|line| match is_heading(line) {
        true => format!("{HEADING}{line}{HEADING:#}\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

/// What a shell completes for an argument.
fn hint(arg: &Arg) -> ValueHint {
    let names = arg.get_value_names().unwrap_or_default();
    match names.first().map(|name| name.as_str()) {
        _ if !arg.get_possible_values().is_empty() => ValueHint::Unknown,
        Some(
            "FILE" | "OUT" | "IN" | "IN OUT" | "A" | "B" | "PATH" | "BAG" | "FOLDER" | "PREFIX",
        ) => ValueHint::AnyPath,
        _ if arg.is_positional() => match arg.get_id().as_str() {
            "path" | "paths" | "bag" | "input" | "inputs" | "left" | "right" | "out" => {
                ValueHint::AnyPath
            }
            "folder" => ValueHint::DirPath,
            _ => ValueHint::Other,
        },
        _ => ValueHint::Other,
    }
}

/// Adds help and order to an argument of a command, and says to shells what its value is.
fn with_help(command: &str, mut arg: Arg) -> Arg {
    let long = arg.get_long().map(str::to_owned);
    let name = long.clone().unwrap_or_else(|| arg.get_id().to_string());
    let own =
        OWN.iter().find(|(of, of_arg, _)| *of_arg == name && (*of == command || of.is_empty()));
    if let Some((of, _, help)) = own
        && (!of.is_empty() || arg.get_help().is_none())
    {
        arg = arg.help(*help);
    }
    if arg.is_positional() {
        let hint = hint(&arg);
        return arg.value_hint(hint);
    }
    let position = |names: &[&str]| names.iter().position(|option| *option == name);
    let order = position(FIRST).or_else(|| position(LAST).map(|last| 900 + last));
    if arg.get_action().takes_values() {
        let hint = hint(&arg);
        arg = arg.value_hint(hint);
    }
    // verify without checksums would find nothing
    let is_hidden = (command, name.as_str()) == ("verify", "unchecked");
    arg.display_order(order.unwrap_or(100)).hide(is_hidden)
}

fn with_text(mut command: Command) -> Command {
    if let Some(text) = text(command.get_name()) {
        let (about, description, sections) = parts(text);
        command = command
            .about(about.to_owned())
            .long_about(format!("{about}.\n\n{description}"))
            .after_long_help(styled(sections));
    }
    if let Some((_, usage)) = USAGES.iter().find(|(name, _)| *name == command.get_name()) {
        command = command.override_usage(*usage);
    }
    with_options(command).mut_subcommands(with_options)
}

/// Adds help to the arguments of a command, or of an action such as `index build`.
fn with_options(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| with_help(&name, arg))
}

/// The commands in groups, a line each.
fn overview(command: &Command) -> String {
    let mut text = String::new();
    let line = |text: &mut String, command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {NAME}{:<10}{NAME:#}{about}", command.get_name());
    };
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{HEADING}{title}:{HEADING:#}");
        for name in *names {
            command.find_subcommand(name).into_iter().for_each(|found| line(&mut text, found));
        }
    }
    text
}

/// The command line with all its help.
pub fn command() -> Command {
    let command = Cli::command().mut_subcommands(with_text);
    let overview = overview(&command);
    command
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{overview}\n{HEADING}Options:{HEADING:#}\n{{options}}{{after-help}}"))
        .after_help(
            "'holdall COMMAND -h' lists the options of a command, and 'holdall COMMAND --help' explains\n\
             them. 'man holdall' explains what all commands share.",
        )
}
