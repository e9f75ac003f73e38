//! Wrong usage: one line that names the option, its value and what is allowed.

use super::{groups, help};
use crate::detect;
use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use crate::report::shortened;
use crate::usage;
use clap::error::{ContextKind, ErrorKind};
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
    operands: Vec<FileName>,
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
                None => {
                    usage.operands.extend(values().map(|value| FileName::from(value.to_owned())))
                }
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
    pub fn fit_paths(&self, paths: &[FileName], at: Option<u64>) -> Result {
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
        match self.operands.iter().any(FileName::is_empty) {
            true => Err(usage!("an operand is empty")),
            false => Ok(()),
        }
    }

    /// The line for a `Failure::Usage`.
    pub fn message(&self, reason: &str) -> String {
        let shown = self.operands.iter().map(FileName::to_string);
        let long = shown.filter(|operand| operand.chars().count() > OPERAND);
        let reason = long.fold(reason.to_owned(), |text, operand| {
            text.replace(&operand, &shortened(&operand, OPERAND))
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
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let argument = context(ContextKind::InvalidArg);
    let (option, value_name) = argument.split_once([' ', '=']).unwrap_or((&argument, "a value"));
    let value = context(ContextKind::InvalidValue);
    let suggestions =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let near = suggestions.iter().find_map(|kind| error.get(*kind));
    let near = near.map(|text| format!("; did you mean {text}?")).unwrap_or_default();
    let allowed = match (context(ContextKind::ValidValue), error.source()) {
        (choices, _) if !choices.is_empty() => choices.replace(", ", "|"),
        (_, Some(parser)) => parser.to_string(),
        _ => value_name.trim_matches(['<', '>']).to_owned(),
    };
    let reason = match error.kind() {
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            format!("unknown option {argument}{near}")
        }
        ErrorKind::UnknownArgument => {
            format!("one operand too many, '{}'", shortened(&argument, OPERAND))
        }
        ErrorKind::InvalidSubcommand => {
            format!("unknown command '{}'{near}", context(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command given".to_owned()
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{option} needs a value, {allowed}"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("{option} takes {allowed}, not '{value}'{near}")
        }
        ErrorKind::MissingRequiredArgument => format!("an operand is missing, {argument}"),
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg);
            format!("{option} and {} exclude each other", other.split(' ').next().unwrap_or(""))
        }
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        ErrorKind::TooManyValues => format!("{option} takes no value"),
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or("").trim_start_matches("error: ").to_owned()
        }
    };
    if command.is_empty() {
        return format!("{reason} (holdall --help lists the commands)");
    }
    format!("{command}: {reason} ({})", hint(command))
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
