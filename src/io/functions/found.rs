//! What calls of the caller's function `read_ranges` have found of files that a call of the library
//! opens: the sizes of all that it will look for, and their first and last bytes.
#![forbid(unsafe_code)]

use super::{FunctionError, FunctionRange, FunctionResult, Functions};
use crate::alloc;
use crate::error::Result;
use crate::io::recent_reads::RecentReads;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are read of the beginning of the main file, and of the end of each file. They contain
/// headers, and limits or trailers.
const HEAD: usize = 4 << 10;
const TAIL: usize = 64 << 10;

/// What is known of the files of a folder.
#[derive(Default)]
pub struct Found(Mutex<State>);

#[derive(Default)]
enum State {
    /// The first question asks for these names together.
    ToAsk(&'static [&'static str]),
    /// The files that were asked for.
    Asked(Files),
    /// The function has failed, which every question reports.
    Failed(FunctionError),
    /// Each question is a call of its own.
    #[default]
    Unused,
}

/// The files by name, or why they cannot be read.
type Files = HashMap<OsString, FunctionResult<FoundFile>>;

/// A file that exists.
#[derive(Clone)]
pub struct FoundFile {
    /// Its size in bytes.
    pub size: u64,
    /// Bytes of it.
    pub content: Arc<RecentReads>,
}

impl Found {
    /// Creates the knowledge of a call that will look for these names.
    pub fn to_ask(names: &'static [&'static str]) -> Found {
        Found(Mutex::new(State::ToAsk(names)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether what calls find is remembered.
    pub fn is_used(&self) -> bool {
        !matches!(&*self.state(), State::Unused)
    }

    /// Returns a file; `None` if the caller has to ask.
    pub fn get(
        &self,
        functions: &dyn Functions,
        name: &OsStr,
    ) -> Option<FunctionResult<FoundFile>> {
        let names = match &*self.state() {
            State::Unused => return None,
            State::Failed(e) => return Some(Err(*e)),
            State::Asked(files) => match files.get(name) {
                Some(found) => return Some(found.clone()),
                None => vec![name],
            },
            State::ToAsk(names) => {
                let others = names.iter().map(OsStr::new).filter(|other| *other != name);
                [name].into_iter().chain(others).collect()
            }
        };
        let asked = ask(functions, &names, (HEAD, TAIL));
        let mut state = self.state();
        let asked = match asked {
            Ok(asked) => asked,
            Err(e) => {
                *state = State::Failed(e);
                return Some(Err(e));
            }
        };
        let found = asked.get(name).cloned();
        match &mut *state {
            State::Asked(files) => files.extend(asked),
            state => *state = State::Asked(asked),
        }
        found
    }

    /// Asks for the current sizes of these files, which replace all that is known.
    pub fn ask_sizes(&self, functions: &dyn Functions, names: &dyn Fn() -> Vec<OsString>) {
        if !matches!(&*self.state(), State::Asked(_)) {
            return;
        }
        let names = names();
        let names: Vec<&OsStr> = names.iter().map(OsString::as_os_str).collect();
        let asked = ask(functions, &names, (0, 0));
        *self.state() = asked.map_or_else(State::Failed, State::Asked);
    }

    /// From now on, each question is a call of its own.
    pub fn forget(&self) {
        *self.state() = State::Unused;
    }
}

/// Asks for files, and for their first and last bytes.
fn ask(
    functions: &dyn Functions,
    names: &[&OsStr],
    (head, tail): (usize, usize),
) -> FunctionResult<Files> {
    let mut buffers =
        buffers(names, head, tail).map_err(|_| FunctionError::Errno(super::ENOMEM))?;
    let ranges = buffers.iter_mut();
    let mut ranges: Vec<FunctionRange<'_>> = ranges
        .map(|(name, at, dst)| FunctionRange::new(name, *at, dst))
        .collect();
    functions.read_ranges(&mut ranges)?;
    let sizes: Vec<_> = ranges
        .iter()
        .map(|r| r.size.map(|size| (size, r.found(size))))
        .collect();
    let mut files = Files::new();
    for ((name, _, mut bytes), read) in buffers.into_iter().zip(sizes) {
        let found = read.map(|(size, _)| FoundFile {
            size,
            content: Arc::default(),
        });
        let file = files.entry(name.into()).or_insert(found);
        match (file, read) {
            (Ok(file), Ok((size, (at, n)))) if file.size == size && n > 0 => {
                bytes.truncate(n);
                file.content.insert(at, bytes);
            }
            (file, Err(e)) => *file = Err(e),
            _ => {}
        }
    }
    Ok(files)
}

/// The name of a file, an offset in it, and a buffer.
type Buffer<'n> = (&'n OsStr, i64, Vec<u8>);

/// Returns a buffer for the end of each file, and one for the beginning of the main file.
fn buffers<'n>(names: &[&'n OsStr], head: usize, tail: usize) -> Result<Vec<Buffer<'n>>> {
    let mut buffers = Vec::new();
    for name in names {
        buffers.push((*name, -(tail as i64), alloc::zeroed(tail)?));
        if name.is_empty() && head > 0 {
            buffers.push((*name, 0, alloc::zeroed(head)?));
        }
    }
    Ok(buffers)
}
