//! Why a command does not succeed, and the exit codes.

use crate::file_name::FileName;
use crate::{detect, standard};
use std::fmt::Display;
use std::io;

/// Exit codes, as the manual promises them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// The operation failed, or something is corrupt.
    Failed = 1,
    /// Wrong usage; nothing was done.
    Usage = 2,
    /// `verify` found no damage, but a writer changed the container each time.
    Changed = 3,
}

impl Exit {
    /// Returns `Failed` if something is damaged, otherwise `Done`.
    pub fn damaged(damaged: bool) -> Exit {
        if damaged { Exit::Failed } else { Exit::Done }
    }
}

#[derive(Debug)]
pub enum Failure {
    /// Wrong usage. The message names the option and what it takes; the usage line is added.
    Usage(String),
    /// A complete message, which names the file.
    Message(String),
    /// A signal asked the tool to stop.
    Stopped,
    /// Standard output takes no more.
    Output(io::Error),
}

impl Failure {
    /// Reports a message of an operation after which the command goes on.
    pub fn report_message(&self) {
        if let Failure::Message(text) = self {
            crate::report::error(text);
        }
    }
}

pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// The failure of an operation of the library on a path. The message names the path if the
/// library's does not.
pub fn library(path: &FileName) -> impl Fn(holdall::Error) -> Failure {
    move |error| library_with(path, &error, "")
}

/// The same with a hint after the message.
pub fn library_with(path: &FileName, error: &holdall::Error, hint: &str) -> Failure {
    if error.status() == holdall::Status::Cancelled && crate::signals::stopped() {
        return Failure::Stopped;
    }
    if error.status() == holdall::Status::Missing
        && let Err(refused) = standard::refuse_unread(path)
    {
        return refused;
    }
    if let Some(text) = torn_bag(path, error).or_else(|| not_a_container(path, error)) {
        return Failure::Message(text);
    }
    Failure::Message(crate::report::library_message(path, error) + hint)
}

/// The failure to repair a bag. The message of the library for a file that is perhaps none shows why it
/// cannot be restored.
pub fn repair(path: &FileName) -> impl Fn(holdall::Error) -> Failure {
    move |error| match detect::stored_format(path) {
        None if error.status() == holdall::Status::Format => {
            Failure::Message(crate::report::library_message(path, &error))
        }
        _ => library(path)(error),
    }
}

/// The message for a file that has the name of a bag and cannot be opened as one.
fn torn_bag(path: &FileName, error: &holdall::Error) -> Option<String> {
    let is_format = |error: &holdall::Error| error.status() == holdall::Status::Format;
    let is_torn = is_format(error)
        && error.position().is_none()
        && detect::is_named_bag(path)
        && std::fs::metadata(path).is_ok_and(|about| about.is_file())
        && holdall::Bag::open(path).is_err_and(|error| is_format(&error));
    let reason = crate::report::library_message(path, error);
    let reason = reason.trim_start_matches(&*path.text()).trim_start_matches(": ");
    is_torn.then(|| format!("{path}: a torn or corrupt bag: {reason} (repair restores it)"))
}

/// The message for a folder that is no container, or a file whose bytes show none. The library takes
/// such a file for a torn bag, since bags have no magic number.
fn not_a_container(path: &FileName, error: &holdall::Error) -> Option<String> {
    let is_format = |error: &holdall::Error| error.status() == holdall::Status::Format;
    let (is_folder, has_bytes) = match standard::input().filter(|_| path.is_standard()) {
        Some(bytes) => (false, !bytes.is_empty()),
        None => {
            let about = std::fs::metadata(path).ok()?;
            let has_bytes = about.is_file() && about.len() > 0 && !detect::is_named_bag(path);
            (about.is_dir(), has_bytes)
        }
    };
    let is_known = || {
        !holdall::identify(path).is_err_and(|error| is_format(&error))
            || holdall::kind_of_broken(path).is_some()
    };
    if !is_format(error) || !(is_folder || has_bytes) || is_known() {
        return None;
    }
    let remedy = match path.is_standard() {
        true => "pack, and convert with --from or --dtype, make a container of a file",
        false => "pack and convert make a container of a file",
    };
    Some(match detect::stored_format(path) {
        _ if is_folder => format!(
            "{path}: a folder that is no container: expected a dataset of bcolz or BLZ, a sparse frame, or a file (ls lists the containers in a folder)"
        ),
        Some(format) => format!("{path}: a file of {format}, and no container ({remedy})"),
        None => format!("{path}: no container ({remedy}; repair restores a torn bag)"),
    })
}

/// The failure to create a container, with a hint at --force if that helps.
pub fn creation(path: &FileName, force: bool) -> impl Fn(holdall::Error) -> Failure {
    move |error| {
        let helps = error.status() == holdall::Status::Exists && !force;
        library_with(path, &error, if helps { " (--force replaces it)" } else { "" })
    }
}

/// The failure of an operation of the system on a path.
pub fn system(path: impl Display) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Message(format!("{path}: {}", crate::report::system_message(&error)))
}

/// Creates a container, or with `force` replaces it.
#[macro_export]
macro_rules! create {
    ($type:ident, $out:expr, $force:expr, $($arg:expr),*) => {{
        let create = if $force { $type::replace } else { $type::create };
        create($crate::standard::output($out), $($arg),*)
            .map_err($crate::failure::creation($out, $force))
    }};
}

/// Returns a `Failure::Message`.
#[macro_export]
macro_rules! failure {
    ($($arg:tt)*) => { $crate::failure::Failure::Message(format!($($arg)*)) };
}

/// Returns a `Failure::Usage`.
#[macro_export]
macro_rules! usage {
    ($($arg:tt)*) => { $crate::failure::Failure::Usage(format!($($arg)*)) };
}
