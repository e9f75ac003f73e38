//! The command-line tool of holdall.

mod array;
mod bag;
mod cli;
mod commands;
mod content;
mod descriptors;
mod detect;
mod failure;
mod file_name;
mod files;
mod ipc;
mod memory;
mod node;
mod options;
mod output;
mod progress;
mod relay;
mod report;
mod rows;
mod signals;
mod standard;
mod superchunk;

use clap::FromArgMatches;
use cli::usage::{self, Usage};
use cli::{Cli, Command, old_names};
use failure::{Exit, Result};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

fn run(command: &Command, usage: &Usage) -> Result<Exit> {
    usage.check()?;
    check_environment()?;
    standard::load(command)?;
    match command {
        Command::Info(args) => commands::info::run(args, usage),
        Command::Ls(args) => commands::ls::run(args),
        Command::Tree(args) => commands::tree::run(args),
        Command::Schema(args) => commands::overview::schema(args, usage),
        Command::Count(args) => commands::overview::count(args, usage),
        Command::Head(args) => commands::excerpt::head(args, usage),
        Command::Tail(args) => commands::excerpt::tail(args, usage),
        Command::Sample(args) => commands::excerpt::sample(args, usage),
        Command::Cat(args) => commands::cat::run(args, usage),
        Command::Pack(args) => commands::pack::run(args, usage),
        Command::Unpack(args) => commands::unpack::run(args),
        Command::Append(args) => commands::append::run(args),
        Command::Convert(args) => commands::convert::run(args, usage),
        Command::Merge(args) => commands::merge::run(args, usage),
        Command::Split(args) => bag::split::run(args),
        Command::Trim(args) => commands::trim::run(args),
        Command::Attr(args) => commands::attr::run(args),
        Command::Index(args) => bag::index::run(args),
        Command::Dictionary(args) => bag::dictionary::run(args),
        Command::Verify(args) => commands::verify::run(args, usage),
        Command::Repair(args) => commands::repair::run(args, usage),
        Command::Sum(args) => commands::sum::run(args, usage),
        Command::Identify(args) => commands::identify::run(args),
        Command::Stats(args) => commands::stats::run(args, usage),
        Command::Diff(args) => commands::diff::run(args, usage),
        Command::Tune(args) => commands::tune::run(args, usage),
        Command::View(args) => commands::view::run(args, usage),
        Command::Generate(args) => commands::generate::run(args),
    }
}

/// Refuses a value that the library would ignore.
fn check_environment() -> Result {
    let threads = std::env::var_os("HOLDALL_THREADS").unwrap_or_default();
    let threads = threads.to_string_lossy();
    match threads.trim().parse::<usize>() {
        Err(_) if !threads.is_empty() => {
            Err(usage!("HOLDALL_THREADS takes a whole number, not '{threads}'"))
        }
        _ => Ok(()),
    }
}

/// The names of the command and the action, for a message about a command line that cannot be
/// parsed.
fn named_command(mut command: &clap::Command, arguments: &[OsString]) -> String {
    let mut names = Vec::new();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        if let Some(found) = command.find_subcommand(argument) {
            command = found;
            names.push(argument);
        }
    }
    names.join(" ")
}

/// Reports what clap says: help and versions on standard output, errors in one line.
fn refuse(error: &clap::Error, command: &clap::Command, arguments: &[OsString]) -> Exit {
    if error.use_stderr() {
        report::error(&usage::message(error, &named_command(command, arguments)));
        return Exit::Usage;
    }
    let mut output = output::Output::standard();
    let text = error.render();
    let styled = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    let printed = output.text(text).and_then(|()| output.finish(Exit::Done));
    printed.unwrap_or_else(|failure| failure.report_output())
}

fn main() -> ExitCode {
    memory::handle_failures();
    let (arguments, notes) = old_names::replaced(std::env::args_os().skip(1).collect());
    let all = std::iter::once(OsString::from("holdall")).chain(arguments.iter().cloned());
    let mut command = cli::help::command_for(&arguments);
    let parsed = command.try_get_matches_from_mut(all);
    let exit = match parsed
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, Usage::of(&command, &matches))))
    {
        Ok((cli, usage)) => {
            report::set_quiet(cli.quiet);
            notes.iter().for_each(|note| report::note(note));
            let begin = Instant::now();
            let done = memory::caught(|| {
                let exit = run(&cli.command, &usage)?;
                node::commit().map(|()| exit)
            });
            progress::end();
            let exit = done.unwrap_or_else(|failure| failure.report(&usage));
            if cli.verbose {
                report::note(&format!("{}: {:.3} s", usage.command, begin.elapsed().as_secs_f64()));
            }
            exit
        }
        Err(error) => refuse(&error, &command, &arguments),
    };
    ExitCode::from(exit as u8)
}
