//! Wrong usage: one line that names the option, its value and what is allowed.

use super::{groups, help};
use crate::detect;
use crate::failure::{Failure, Result};
use crate::report::shortened;
use crate::usage;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::error::Error as _;

/// Characters of an operand in a message; the reason comes after it, and there may be two.
const OPERAND: usize = 240;

/// The options of the command line that were given, and how the command is used.
pub struct Usage {
    /// `pack`, or `index build`.
    pub command: String,
    /// The name and the heading of each option.
    given: Vec<(String, Option<String>)>,
    operands: Vec<String>,
}

impl Usage {
    /// `command` is the complete command line that was parsed.
    pub fn of(mut command: &Command, mut matches: &ArgMatches) -> Usage {
        let mut names = Vec::new();
        while let Some((name, deeper)) = matches.subcommand() {
            let Some(next) = command.find_subcommand(name) else {
                break;
            };
            (command, matches) = (next, deeper);
            names.push(name);
        }
        let mut usage = Usage { command: names.join(" "), given: Vec::new(), operands: Vec::new() };
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        for arg in command.get_arguments().filter(|arg| is_given(arg.get_id().as_str())) {
            let values = || matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
            match arg.get_long() {
                Some(long) => {
                    usage.given.push((long.to_owned(), arg.get_help_heading().map(str::to_owned)))
                }
                None => usage
                    .operands
                    .extend(values().map(|value| value.to_string_lossy().into_owned())),
            }
        }
        usage
    }

    /// Returns whether an option was given.
    pub fn has(&self, option: &str) -> bool {
        self.given.iter().any(|(name, _)| name == option)
    }

    /// Refuses the options under headings of other containers. `container` is "bag", "superchunk"
    /// or "dataset".
    pub fn fit(&self, container: &str) -> Result {
        self.fit_any(&[container])
    }

    /// Refuses the options that fit none of the containers at some paths. Missing ones are reported
    /// when they are opened.
    pub fn fit_paths(&self, paths: &[String], at: Option<u64>) -> Result {
        let there = paths.iter().filter(|path| !detect::is_missing(path));
        let kinds: Vec<_> = there.map(|path| detect::container(path, at).name()).collect();
        self.fit_any(&kinds)
    }

    fn fit_any(&self, containers: &[&str]) -> Result {
        let others = |container: &str| -> &[&str] {
            match container {
                "bag" => &[groups::SUPERCHUNKS, groups::DATASETS, groups::NOT_BAGS],
                "superchunk" => &[groups::BAGS, groups::DATASETS],
                _ => &[groups::BAGS, groups::SUPERCHUNKS],
            }
        };
        let Some(first) = containers.first() else {
            return Ok(());
        };
        for (name, heading) in &self.given {
            let heading = heading.as_deref().unwrap_or_default();
            if containers.iter().all(|container| others(container).contains(&heading)) {
                let whose = heading.trim_start_matches("Options for ");
                return Err(usage!("--{name} is for {whose}, and this is a {first}"));
            }
        }
        Ok(())
    }

    /// Refuses some options, which are for `what`.
    pub fn refuse(&self, options: &[&str], what: &str) -> Result {
        match options.iter().find(|option| self.has(option)) {
            Some(option) => Err(usage!("--{option} is for {what}")),
            None => Ok(()),
        }
    }

    /// Refuses empty operands.
    pub fn check(&self) -> Result {
        match self.operands.iter().any(String::is_empty) {
            true => Err(usage!("an operand is empty")),
            false => Ok(()),
        }
    }

    /// The line for a `Failure::Usage`.
    pub fn message(&self, reason: &str) -> String {
        let long = self.operands.iter().filter(|operand| operand.chars().count() > OPERAND);
        let reason = long.fold(reason.to_owned(), |text, operand| {
            text.replace(operand, &shortened(operand, OPERAND))
        });
        format!("{}: {reason} ({})", self.command, hint(&self.command))
    }
}

fn hint(command: &str) -> String {
    let mut all = help::command();
    all.build();
    let found = command.split(' ').try_fold(&mut all, |all, name| all.find_subcommand_mut(name));
    let usage = found.map(|command| command.render_usage().to_string()).unwrap_or_default();
    let usage = usage.lines().next().unwrap_or_default().trim_start_matches("Usage: ");
    format!("usage: {usage}; more: holdall {command} --help")
}

/// The line for a command line that clap refuses.
pub fn message(error: &clap::Error, command: &str) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join("|")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let option = argument.split([' ', '=']).next().unwrap_or_default().to_owned();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let suggestion =
        |kind| context(kind).map(|text| format!("; did you mean {text}?")).unwrap_or_default();
    let reason = match error.kind() {
        ErrorKind::UnknownArgument => {
            let near = suggestion(ContextKind::SuggestedArg);
            if option.starts_with('-') {
                format!("unknown option {argument}{near}")
            } else {
                format!("one operand too many, '{}'", shortened(&argument, OPERAND))
            }
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("unknown command '{name}'{}", suggestion(ContextKind::SuggestedSubcommand))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command given".to_owned()
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} needs a value, {}", allowed(&context, error, &argument))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let near = suggestion(ContextKind::SuggestedValue);
            format!("{option} takes {}, not '{value}'{near}", allowed(&context, error, &argument))
        }
        ErrorKind::MissingRequiredArgument => format!("an operand is missing, {argument}"),
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            format!(
                "{option} and {} exclude each other",
                other.split(' ').next().unwrap_or_default()
            )
        }
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        ErrorKind::TooManyValues => format!("{option} takes no value"),
        _ => error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned(),
    };
    if command.is_empty() {
        return format!("{reason} (holdall --help lists the commands)");
    }
    format!("{command}: {reason} ({})", hint(command))
}

/// The numbers that an option takes, from clap's message "0 is not in 1..=9".
fn described_range(text: &str) -> Option<String> {
    if text.contains("invalid digit") {
        return Some("a whole number".to_owned());
    }
    let (low, high) = text.split_once(" is not in ")?.1.split_once("..")?;
    let high = high.strip_prefix('=').map(|high| format!(" to {high}"));
    Some(format!("a whole number from {low}{}", high.unwrap_or(" on".to_owned())))
}

/// What an option takes: its choices, the message of its parser, or the name of its value.
fn allowed(
    context: &impl Fn(ContextKind) -> Option<String>,
    error: &clap::Error,
    argument: &str,
) -> String {
    let choices = context(ContextKind::ValidValue).filter(|choices| !choices.is_empty());
    let parser = error.source().map(ToString::to_string);
    let name =
        argument.split_once(' ').map_or("a value", |(_, name)| name.trim_matches(['<', '>']));
    let parser = parser.map(|text| described_range(&text).unwrap_or(text));
    choices.or(parser).unwrap_or_else(|| name.to_owned())
}

impl Failure {
    /// Reports the failure and returns the exit code.
    pub fn report(self, usage: &Usage) -> crate::failure::Exit {
        use crate::failure::Exit;
        match self {
            Failure::Usage(reason) => {
                crate::report::error(&usage.message(&reason));
                Exit::Usage
            }
            Failure::Message(text) => {
                crate::report::error(&text);
                Exit::Failed
            }
            Failure::Stopped => crate::signals::die(),
            output @ Failure::Output(_) => output.report_output(),
        }
    }
}
