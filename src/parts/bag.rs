//! Parts of bags: bags whose records are appended, or that become the shards of a new set.
#![forbid(unsafe_code)]

use super::files::{PartId, Parts};
use super::token::{Beside, Token};
use super::{Attempt, Commit, check_items, ends_with, of_part};
use crate::bag::shard::{CHECKSUMS_PREFIX, LIMITS_PREFIX, PREFIXES, container};
use crate::bag::spec::{self, Set, SetPattern};
use crate::bag::{Bag, Mode, ShardPath, WRITE_OPTIONS, Writer};
use crate::error::{Result, fail};
use crate::io::journal::{self, Session, already_exists};
use crate::io::{Folder, locate};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Options with which a part is read.
const READ_OPTIONS: [Opt; 4] = [Opt::Threads, Opt::MemoryLimit, Opt::Codec, Opt::Dictionary];

/// What the spec of a bag with parts names.
pub enum Target {
    /// One file, to which records are appended.
    File(OsString),
    /// A new set, whose shards are the parts.
    Set(SetPattern),
}

impl Target {
    /// Parses a spec: one item.
    pub fn of(text: &OsStr) -> Result<Target> {
        if text.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        Ok(match spec::set_pattern(text) {
            Some(pattern) => Target::Set(pattern),
            None => Target::File(spec::file_name(text)),
        })
    }

    /// Returns the parts. Sets of any number of shards share them, because the number is often known
    /// only when all parts are finished.
    pub fn parts(&self) -> Result<Parts> {
        match self {
            Target::File(path) => {
                let name = std::path::Path::new(path).file_name().unwrap_or_default();
                let dot = name.as_bytes().iter().rposition(|b| *b == b'.');
                let suffix = dot
                    .and_then(|at| name.as_bytes().get(at..))
                    .unwrap_or_default();
                Parts::at(path, OsStr::from_bytes(suffix))
            }
            Target::Set(pattern) => Parts::at(&pattern.without_number(), pattern.suffix()),
        }
    }
}

fn chosen(options: &Options, opts: &[Opt]) -> Result<Options> {
    let mut chosen = Options::new();
    for opt in opts {
        options.copy_to(*opt, &mut chosen)?;
    }
    Ok(chosen)
}

/// Creates a part without records.
pub fn create(path: &OsStr, options: &Options) -> Result<()> {
    let options = chosen(options, WRITE_OPTIONS)?;
    let located = locate::locate_for_change(path)?;
    let (folder, name) = (&located.folder, &located.name);
    Writer::open_in(folder, name, Mode::New, &options)?.commit()
}

/// Returns the number of records of a part, and its files.
pub fn finished(parts: &Parts, id: PartId, options: &Options) -> Result<(u64, Beside)> {
    let has = |prefix| parts.folder().exists(&parts.name_of(prefix, id));
    let beside = Beside {
        limits: has(LIMITS_PREFIX)?,
        checksums: has(CHECKSUMS_PREFIX)?,
    };
    Ok((open(parts, id, beside, options)?.size(), beside))
}

fn open(parts: &Parts, id: PartId, beside: Beside, options: &Options) -> Result<Bag> {
    let mut options = chosen(options, &READ_OPTIONS)?;
    options.set(Opt::BagLimits, beside.limits.into())?;
    let path = ShardPath::new(parts.folder().clone(), parts.name_of("", id));
    Bag::open_in(&[path], &options)
}

/// Opens a part and compares it with its token.
fn open_checked(parts: &Parts, token: &Token, options: &Options) -> Result<Bag> {
    let opened = parts
        .check(token.id)
        .and_then(|()| open(parts, token.id, token.beside, options));
    opened
        .and_then(|bag| check_items(token, bag.size()).map(|()| bag))
        .map_err(|e| of_part(parts, token, e))
}

/// Commits parts to a bag or as a new set.
pub fn commit(target: Target, parts: &Parts, tokens: &[Token], options: &Options) -> Result<()> {
    match target {
        Target::File(text) => {
            let located = locate::locate_for_change(&text)?;
            append(&located.folder, &located.name, parts, tokens, options)
        }
        Target::Set(pattern) => {
            let (folder, set) = pattern.new_set(tokens.len())?;
            commit_set(&folder, &set, parts, tokens, options)
        }
    }
}

/// Appends the records of all parts to a bag, which may be new, with one commit.
pub(super) fn append(
    folder: &Arc<dyn Folder>,
    name: &OsStr,
    parts: &Parts,
    tokens: &[Token],
    options: &Options,
) -> Result<()> {
    let mode = if folder.exists(name)? {
        Mode::Append
    } else {
        Mode::New
    };
    let mut writer = Writer::open_in(folder, name, mode, &chosen(options, WRITE_OPTIONS)?)?;
    let before = writer.size();
    let is_there = || {
        let mut reading = chosen(options, &READ_OPTIONS)?;
        options.copy_to(Opt::BagLimits, &mut reading)?;
        let bag = Bag::open_in(&[ShardPath::new(folder.clone(), name)], &reading)?;
        ends_with(bag.size(), tokens, &|token, last| {
            let part = open_checked(parts, token, options)?;
            Ok(bag.read(last)? == part.read(token.items - 1)?)
        })
    };
    let (commit, attempt) = Commit::open(parts, tokens, Some(before), &is_there)?;
    if attempt != Attempt::Committed {
        for token in tokens {
            let part = open_checked(parts, token, options)?;
            let copied = part.copy_records(None, &mut writer);
            copied.map_err(|e| of_part(parts, token, e))?;
        }
        commit.begin(before, writer.size())?;
        writer.commit()?;
    }
    commit.end()
}

/// Renames the parts to the shards of a new set. A set does not exist as long as one of its files is
/// missing, so the first one gets its name last.
pub(super) fn commit_set(
    folder: &Arc<dyn Folder>,
    set: &Set,
    parts: &Parts,
    tokens: &[Token],
    options: &Options,
) -> Result<()> {
    let locks = chosen(options, &[Opt::Durability, Opt::Lock])?;
    let first = set.name(0);
    let session = Session::open(
        set.container(folder),
        folder.show(&first),
        Mode::New,
        &locks,
    )?;
    for i in 0..set.count {
        journal::recover_and_clean(&container(folder, &set.name(i)), session.is_durable())?;
    }
    let exists = folder.exists(&first)?;
    // the first shard gets its name after the others
    let is_there = || {
        let mut parts = tokens.iter().map(|token| parts.name_of("", token.id));
        parts.try_fold(true, |gone, part| Ok(gone && !folder.exists(&part)?))
    };
    let (commit, attempt) = Commit::open(parts, tokens, Some(exists.into()), &is_there)?;
    if attempt != Attempt::Committed {
        if exists {
            return Err(already_exists(&folder.show(&first)));
        }
        let shards: Vec<(OsString, &Token)> = (0..)
            .zip(tokens)
            .map(|(i, token)| (set.name(i), token))
            .collect();
        let is_moved = |shard: &OsStr, token: &Token| -> Result<bool> {
            let is_there = folder.exists(&parts.name_of("", token.id))?;
            Ok(!is_there && attempt == Attempt::Interrupted && folder.exists(shard)?)
        };
        for (shard, token) in &shards {
            if !is_moved(shard, token)? {
                open_checked(parts, token, options)?;
            }
        }
        commit.begin(0, 1)?;
        for (i, (shard, token)) in shards.iter().enumerate().rev() {
            session.check_commit()?;
            if !is_moved(shard, token)? {
                move_companions(folder, parts, token, shard)?;
                if i == 0 && session.is_durable() {
                    folder.sync()?;
                }
                folder.rename(&parts.name_of("", token.id), shard)?;
            }
        }
        if session.is_durable() {
            folder.sync()?;
        }
    }
    commit.end()
}

/// Renames the files beside the records of a part, and removes those of an earlier shard.
fn move_companions(
    folder: &Arc<dyn Folder>,
    parts: &Parts,
    token: &Token,
    shard: &OsStr,
) -> Result<()> {
    for prefix in PREFIXES.iter().filter(|prefix| !prefix.is_empty()) {
        let has = match *prefix {
            LIMITS_PREFIX => token.beside.limits,
            CHECKSUMS_PREFIX => token.beside.checksums,
            _ => false,
        };
        let name = crate::io::beside(prefix, shard, "");
        let part = parts.name_of(prefix, token.id);
        if !has {
            folder.remove_if_there(&name)?;
        } else if folder.exists(&part)? {
            folder.rename(&part, &name)?;
        }
    }
    Ok(())
}
