//! Commits in parts: any number of processes write parts of one container without coordination, and
//! one process commits them, all or none.
//!
//! A part is a container of its own beside the container, `NAME.holdall-parts.ID` (see [`files`]).
//! The process that wrote and committed it finishes it, which gives a [`Token`]. The commit takes
//! the tokens: it appends records or rows in the order of the tokens, writes boxes of an array, or
//! renames the parts to the shards of a new set. Chunks and records are copied as they are stored
//! where the container can hold them. The commit of the container itself makes all of them visible.
//! Readers never read parts.
//!
//! A record of the commit (see [`record`]) makes it one that can be repeated after a crash.
//!
//! Parts whose tokens are never committed stay until they are discarded, or removed by a repair.
#![forbid(unsafe_code)]

mod array;
mod bag;
mod files;
mod record;
mod table;
#[cfg(test)]
mod tests;
mod token;

use crate::error::{Error, Result, Status, fail};
use crate::format::Kind;
use crate::options::{Opt, Options};
use files::{PartId, Parts};
#[cfg(feature = "internals")]
pub use record::Record as CommitRecord;
use record::{MAX_PARTS, Record, State};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
pub use token::{TOKEN_SIZE, Token};

/// Options that a commit of parts accepts.
const COMMIT_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Durability,
    Opt::Lock,
    Opt::Verify,
    Opt::Codec,
    Opt::Level,
    Opt::Checksum,
    Opt::Dictionary,
    Opt::BagLimits,
    Opt::FollowLinks,
];

/// A part that is being written. Dropping it removes it, unless it was finished.
pub struct Part {
    parts: Parts,
    kind: Kind,
    id: PartId,
    /// Where the box begins in the array, and its shape.
    of_box: Option<[Vec<u64>; 2]>,
    path: OsString,
    options: Options,
    finished: bool,
}

impl Part {
    /// Creates a part of a bag or of a new set. It has no records.
    pub fn of_bag(spec: &OsStr, options: &Options) -> Result<Part> {
        let parts = bag::Target::of(spec)?.parts()?;
        Part::new(parts, Kind::Bag, options, bag::create)
    }

    /// Creates a part of an existing array without rows, or the box from `start` on of this shape,
    /// with zeros or the fill value.
    pub fn of_array(path: &OsStr, of_box: Option<[&[u64]; 2]>, options: &Options) -> Result<Part> {
        let parts = Parts::at(path, OsStr::new(""))?;
        let mut part = Part::new(parts, Kind::Array, options, |part, options| {
            array::create(path, of_box, part, options)
        })?;
        part.of_box = of_box.map(|of_box| of_box.map(<[u64]>::to_vec));
        Ok(part)
    }

    /// Creates a part of an existing table without rows.
    pub fn of_table(path: &OsStr, options: &Options) -> Result<Part> {
        let parts = Parts::at(path, OsStr::new(""))?;
        Part::new(parts, Kind::Table, options, |part, options| {
            table::create(path, part, options)
        })
    }

    fn new(
        parts: Parts,
        kind: Kind,
        options: &Options,
        create: impl FnOnce(&OsStr, &Options) -> Result<()>,
    ) -> Result<Part> {
        let id = PartId::random();
        let part = Part {
            path: parts.path_of(id),
            parts,
            kind,
            id,
            of_box: None,
            options: options.clone(),
            finished: false,
        };
        create(&part.path, options)?;
        Ok(part)
    }

    /// Returns the path of the container that is the part. Any program may write it.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// Finishes the part, which must be committed and closed, and returns its token. The files stay
    /// until the token is committed or discarded.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        if self.finished {
            let shown = self.path.display();
            return Err(fail!(State, "{shown}: this part is finished already"));
        }
        let (items, beside) = match (self.kind, &self.of_box) {
            (Kind::Bag, _) => bag::finished(&self.parts, self.id, &self.options)?,
            (Kind::Table, _) => (table::finished(&self.path)?, token::Beside::default()),
            (_, of_box) => {
                let shape = of_box.as_ref().map(|[_, shape]| shape.as_slice());
                (
                    array::finished(&self.path, shape)?,
                    token::Beside::default(),
                )
            }
        };
        if self.options.get(Opt::Durability, 1) == 1 {
            self.parts.sync()?;
        }
        self.finished = true;
        let token = Token {
            kind: self.kind,
            id: self.id,
            items,
            beside,
            start: self.of_box.as_ref().map(|[start, _]| start.clone()),
        };
        Ok(token.to_bytes().to_vec())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.parts.remove(&[self.id]);
        }
    }
}

/// Commits parts of the container at a path, all or none, and removes them. The same call may be
/// repeated after any failure: it succeeds without a change if the parts were committed already.
pub fn commit(target: &OsStr, tokens: &[&[u8]], options: &Options) -> Result<()> {
    let options = &options.applying("committing parts", COMMIT_OPTIONS, &[])?;
    let tokens = parse(tokens)?;
    let Some(first) = tokens.first() else {
        return Ok(());
    };
    match first.kind {
        Kind::Bag => {
            let target = bag::Target::of(target)?;
            let parts = target.parts()?;
            bag::commit(target, &parts, &tokens, options)
        }
        kind => {
            let parts = Parts::at(target, OsStr::new(""))?;
            match kind {
                Kind::Table => table::commit(target, &parts, &tokens, options),
                _ => array::commit(target, &parts, &tokens, options),
            }
        }
    }
}

/// Removes the parts of these tokens without committing them.
pub fn discard(target: &OsStr, tokens: &[&[u8]]) -> Result<()> {
    let tokens = parse(tokens)?;
    let Some(first) = tokens.first() else {
        return Ok(());
    };
    parts_of(target, first.kind == Kind::Bag)?.remove(&ids(&tokens))
}

/// Returns the names of the parts of a container that were not committed.
pub fn list(target: &OsStr) -> Result<Vec<String>> {
    let parts = parts_of(target, is_bag(target))?;
    Ok(parts.all()?.iter().map(PartId::to_string).collect())
}

/// Removes all parts of a container that no writer has open, and returns their names.
pub fn remove_all(target: &OsStr) -> Result<Vec<String>> {
    let parts = parts_of(target, is_bag(target))?;
    let mut all = parts.all()?;
    let written = parts.written()?;
    all.retain(|id| !written.contains(id));
    parts.remove(&all)?;
    parts.remove_record()?;
    Ok(all.iter().map(PartId::to_string).collect())
}

/// Whether the path of an existing container, or of a set, is that of a bag.
fn is_bag(target: &OsStr) -> bool {
    !std::path::Path::new(target).is_dir()
}

fn parts_of(target: &OsStr, is_bag: bool) -> Result<Parts> {
    if is_bag {
        bag::Target::of(target)?.parts()
    } else {
        Parts::at(target, OsStr::new(""))
    }
}

/// Parses tokens, which must be of one kind and of different parts.
fn parse(tokens: &[&[u8]]) -> Result<Vec<Token>> {
    if tokens.len() > MAX_PARTS {
        let n = tokens.len();
        return Err(fail!(
            Argument,
            "tokens: {n} of them (expected at most {MAX_PARTS})"
        ));
    }
    let mut seen = HashSet::new();
    let mut all: Vec<Token> = Vec::new();
    for (i, bytes) in tokens.iter().enumerate() {
        let token = Token::parse(bytes).map_err(|e| e.within(format_args!("token {i}")))?;
        if !seen.insert(token.id) {
            return Err(fail!(Argument, "token {i}: part {} occurs twice", token.id));
        }
        let is_alike = |first: &Token| {
            first.kind == token.kind && first.start.is_some() == token.start.is_some()
        };
        if !all.first().is_none_or(is_alike) {
            return Err(fail!(
                Argument,
                "token {i}: the part is of another kind than the first one"
            ));
        }
        all.push(token);
    }
    Ok(all)
}

fn ids(tokens: &[Token]) -> Vec<PartId> {
    tokens.iter().map(|token| token.id).collect()
}

/// Adds the part to an error.
fn of_part(parts: &Parts, token: &Token, e: Error) -> Error {
    if e.status == Status::Missing {
        return fail!(
            Missing,
            "{}: part {} does not exist; it was committed by another call, discarded or removed by a repair",
            parts.show(),
            token.id
        );
    }
    e.within(format_args!("part {}", token.id))
}

/// Returns an error if a part has another number of records or rows than its token.
fn check_items(token: &Token, found: u64) -> Result<()> {
    if found == token.items {
        return Ok(());
    }
    Err(fail!(
        State,
        "the part was changed after it was finished (expected {} records or rows, found {found})",
        token.items
    ))
}

/// Returns whether a container of `end` records or rows ends with the parts. `is_last` compares the
/// last item of a part with this item of the container.
fn ends_with(
    mut end: u64,
    tokens: &[Token],
    is_last: &dyn Fn(&Token, u64) -> Result<bool>,
) -> Result<bool> {
    for token in tokens.iter().rev().filter(|token| token.items > 0) {
        let Some(first) = end.checked_sub(token.items) else {
            return Ok(false);
        };
        if !is_last(token, end - 1)? {
            return Ok(false);
        }
        end = first;
    }
    Ok(true)
}

/// A commit of parts in progress, whose container is locked.
struct Commit<'a> {
    parts: &'a Parts,
    ids: Vec<PartId>,
}

/// What an earlier attempt to commit the same parts has done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// There was none.
    None,
    /// It was interrupted before the commit.
    Interrupted,
    /// It committed the parts.
    Committed,
}

impl<'a> Commit<'a> {
    /// Begins a commit and determines what an earlier attempt has done. The container must be
    /// locked, and have `length` records or rows. `None`: its length says nothing, because the
    /// commit may be repeated. `is_there` compares its end with the parts.
    fn open(
        parts: &'a Parts,
        tokens: &[Token],
        length: Option<u64>,
        is_there: &dyn Fn() -> Result<bool>,
    ) -> Result<(Commit<'a>, Attempt)> {
        let ids = ids(tokens);
        let commit = Commit { parts, ids };
        let Some(record) = parts.record()? else {
            return Ok((commit, Attempt::None));
        };
        let is_same = record.parts == commit.ids;
        let before = length.is_none_or(|length| length == record.before);
        let attempt = match record.state {
            State::Done if is_same => Attempt::Committed,
            State::Done => {
                // the parts of that commit, which it had no time to remove
                parts.remove_finished(&record.parts)?;
                Attempt::None
            }
            State::Begun if is_same && before => Attempt::Interrupted,
            State::Begun if before => {
                parts.remove_record()?;
                Attempt::None
            }
            State::Begun if is_same && length == Some(record.after) && is_there()? => {
                Attempt::Committed
            }
            State::Begun => {
                let name = parts.show();
                return Err(fail!(
                    State,
                    "{name}: a commit of parts was interrupted (expected {} or {} records or rows, found {}); repeat it with its tokens; if the container was changed since, remove this file, and the parts that the container has",
                    record.before,
                    record.after,
                    length.unwrap_or(0)
                ));
            }
        };
        Ok((commit, attempt))
    }

    /// Stores that the container is about to be committed.
    fn begin(&self, before: u64, after: u64) -> Result<()> {
        self.parts.set_record(&Record {
            state: State::Begun,
            before,
            after,
            parts: self.ids.clone(),
        })
    }

    /// Removes the parts after the commit of the container, which must still be locked.
    fn end(&self) -> Result<()> {
        self.parts.set_record(&Record {
            state: State::Done,
            before: 0,
            after: 0,
            parts: self.ids.clone(),
        })?;
        self.parts.remove_finished(&self.ids)
    }
}
