//! A page of the site.

use super::{Block, below, blocks, description, sections, usage};
use clap::{Arg, Command};
use std::fmt::Write as _;
use std::path::Path;

pub fn write_page(command: &Command, folder: &Path) -> std::io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = usage(command).lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut page = format!("# {name}\n\n{}.\n\n```text\n{usage}\n```\n", escaped(&about));
    let description = description(command);
    let more = description.strip_prefix(&about).unwrap_or(&description);
    render(&mut page, more.strip_prefix('.').unwrap_or(more));
    let mut commands = below(command).peekable();
    if commands.peek().is_some() {
        page += "\n## Commands\n\n";
    }
    for command in commands {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        page += &format!("- [{name}]({}.md): {}\n", name.replace(' ', "-"), escaped(&about));
    }
    options(&mut page, command);
    render(&mut page, &sections(command));
    std::fs::write(folder.join(format!("{}.md", name.replace(' ', "-"))), page)
}

/// Adds the operands and options under their headings.
fn options(page: &mut String, command: &Command) {
    let mut args: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    args.sort_by_key(|arg| !arg.is_positional());
    let heading = |arg: &Arg| match arg.get_help_heading() {
        Some(heading) => heading.to_owned(),
        None if arg.is_positional() => "Operands".to_owned(),
        None => "Options".to_owned(),
    };
    let mut headings = Vec::new();
    for arg in &args {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for section in headings {
        let _ = write!(page, "\n## {section}\n\n");
        for arg in args.iter().filter(|arg| heading(arg) == section) {
            option(page, arg);
        }
    }
}

fn option(page: &mut String, arg: &Arg) {
    let short = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, "),
        _ => String::new(),
    };
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(
        page,
        "- `{short}{arg}`: {}",
        escaped(&help.replace("\n\n", ". ").replace('\n', " "))
    );
    if arg.is_hide_possible_values_set() || !arg.get_action().takes_values() {
        return;
    }
    for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "    - `{}`: {}", value.get_name(), escaped(&help));
    }
}

fn render(page: &mut String, text: &str) {
    let mut in_list = false;
    for block in blocks(text) {
        let is_item = matches!(block, Block::Item(_));
        if !(in_list && is_item) {
            page.push('\n');
        }
        in_list = is_item;
        let _ = match block {
            Block::Heading(heading) => writeln!(page, "## {}", escaped(heading)),
            Block::Paragraph(lines) => writeln!(page, "{}", escaped(&lines.join("\n"))),
            Block::Item(lines) => writeln!(page, "- {}", escaped(&lines.join(" "))),
            Block::Literal(lines) => writeln!(page, "```text\n{}\n```", lines.join("\n")),
        };
    }
}

/// Escapes what Markdown gives a meaning.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}
