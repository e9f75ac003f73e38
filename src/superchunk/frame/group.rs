//! Commits of several frames of one container: the changes of all become visible together, or none
//! does. The frames share the session of the container.
//!
//! The first commit swaps in all files of the container at once. Later ones write what is new after
//! the committed bytes of each frame. An undo journal of the container then protects the change of
//! the headers, of frames without chunks, which are rewritten, and of the names of new frames.
#![forbid(unsafe_code)]

use super::handle::Frame;
use super::header::Header;
use super::parts::EncodedParts;
use super::read::FrameReader;
use super::write::FrameWriter;
use crate::error::{Result, fail};
use crate::io::journal::{Change, NEW, SAMPLE_BYTES, Sample, Session, already_exists};
use crate::io::{File, beside};
use crate::parallel;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A frame that is part of a commit.
struct Member<'a> {
    writer: &'a mut FrameWriter,
    header: Header,
    parts: EncodedParts,
    step: Step,
}

/// What makes the commit of a frame visible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The name of a new file.
    Name,
    /// The header; everything else is after the committed bytes.
    Header,
    /// The content of a file without chunks.
    Content,
}

/// Commits new frames, which replace all files of the container: those that have their names, and
/// `removed`.
pub fn create_all(session: &Session, frames: Vec<&mut Frame>, removed: &[OsString]) -> Result<()> {
    session.check_commit()?;
    let members = prepare(frames)?;
    let folder = &session.container().folder;
    let names = members.iter().map(|member| member.name());
    let names: Vec<OsString> = names.collect();
    let mut removed = removed.to_vec();
    removed.retain(|name| !names.contains(name));
    let swap = || {
        for member in &members {
            let waiting = member.writer.reader.files.storage.temporary_file();
            folder.rename(&waiting, &beside("", &member.name(), NEW))?;
        }
        sync_folders(session, &members)?;
        session.sync_created_folder()?;
        session.swap(&names, &removed)
    };
    let swapped = { swap }();
    if swapped.is_err() && !session.is_broken() {
        // some of the files do not have the names that another attempt expects
        session.mark_broken();
        for name in &names {
            let _ = folder.remove_if_there(&beside("", name, NEW));
        }
    }
    swapped?;
    members.into_iter().for_each(Member::finish);
    Ok(())
}

/// Commits the changes of frames, of which the files are changed in this order.
pub fn commit_all(session: &Session, frames: Vec<&mut Frame>) -> Result<()> {
    session.check_commit()?;
    let members = prepare(frames)?;
    if members.is_empty() {
        return Ok(());
    }
    for member in members.iter().filter(|member| member.step == Step::Name) {
        refuse_existing(session, &member.name())?;
    }
    let changes = members.iter().map(Member::change);
    let changes: Vec<Change> = changes.collect::<Result<_>>()?;
    let undo = session.begin(&changes)?;
    drop(changes);
    let apply = || {
        members
            .iter()
            .try_for_each(|member| member.apply(session))?;
        sync_folders(session, &members)
    };
    let written = { apply }();
    let is_named = members.iter().any(|member| member.step == Step::Name);
    session.finish(undo, written).inspect_err(|_| {
        // the rollback has removed the new files
        if is_named {
            session.mark_broken();
        }
    })?;
    members.into_iter().for_each(Member::finish);
    Ok(())
}

/// Returns an error if a file exists: rolling back would remove it.
fn refuse_existing(session: &Session, name: &OsStr) -> Result<()> {
    let folder = &session.container().folder;
    match folder.exists(name)? {
        true => Err(already_exists(&folder.show(name))),
        false => Ok(()),
    }
}

/// Makes the names of new frames durable, and those of the folders that hold them.
fn sync_folders(session: &Session, members: &[Member]) -> Result<()> {
    let new = members.iter().filter(|member| member.step == Step::Name);
    let names: Vec<OsString> = new.map(Member::name).collect();
    session.sync_names(names.iter().map(OsString::as_os_str))
}

/// Writes and syncs everything that is not visible yet. Returns the frames that have changed.
fn prepare(frames: Vec<&mut Frame>) -> Result<Vec<Member<'_>>> {
    let threads = frames.first().map_or(1, |frame| frame.file_threads());
    let mut prepared: Vec<_> = frames
        .into_iter()
        .map(|frame| (Some(frame), Ok(None)))
        .collect();
    parallel::for_each_without_nesting(
        threads,
        prepared.iter_mut().collect(),
        |(frame, made): &mut (Option<&mut Frame>, Result<Option<Member>>)| {
            if let Some(frame) = frame.take() {
                *made = frame.writer().and_then(Member::prepare);
            }
        },
    );
    let made = prepared
        .into_iter()
        .filter_map(|(_, made)| made.transpose());
    made.collect()
}

impl<'a> Member<'a> {
    /// Writes and syncs the bytes that are not visible yet. Returns `None` if nothing has changed.
    fn prepare(writer: &'a mut FrameWriter) -> Result<Option<Member<'a>>> {
        if !writer.prepare_commit()? {
            return Ok(None);
        }
        let (is_new, moves) = (writer.reader.files.is_new(), writer.moves());
        let step = match (is_new, moves) {
            (true, _) => Step::Name,
            (false, true) => Step::Content,
            (false, false) => Step::Header,
        };
        if step == Step::Content && !writer.reader.layout.entries.is_empty() {
            let name = &writer.reader.layout.name;
            return Err(fail!(
                Unsupported,
                "{name}: the length of its header changes, which moves its chunks; copy it"
            ));
        }
        if step == Step::Header {
            writer.leave_pair();
        }
        let next = match step {
            Step::Content => 0,
            _ => writer.next,
        };
        let FrameReader { layout, files, .. } = &writer.reader;
        let (header, parts) = layout.encode_parts(&layout.slots()?, next)?;
        match step {
            Step::Name => files.complete_new(next, header.frame_len, &parts)?,
            Step::Header => files.write_end(next, &parts)?,
            Step::Content => {}
        }
        Ok(Some(Member {
            writer,
            header,
            parts,
            step,
        }))
    }

    fn name(&self) -> OsString {
        self.writer.reader.files.storage.main()
    }

    fn file(&self) -> Result<&Arc<dyn File>> {
        self.writer.reader.files.main()
    }

    /// Returns what [`Member::apply`] changes.
    fn change(&self) -> Result<Change<'_>> {
        let head = &self.parts.head;
        let sample = Sample {
            at: 0,
            bytes: head.iter().copied().take(SAMPLE_BYTES).collect(),
        };
        let file = self.file()?;
        let (new, now) = (self.header.frame_len, file.size()?);
        let (file, overwritten, lengths) = match self.step {
            Step::Name => (None, Vec::new(), 0..=new),
            Step::Header => (Some(&**file), vec![0..head.len() as u64], now..=now),
            Step::Content => (Some(&**file), vec![0..now], new.min(now)..=new.max(now)),
        };
        Ok(Change {
            name: self.name(),
            file,
            overwritten,
            lengths,
            samples: vec![sample],
        })
    }

    /// Makes the commit visible.
    fn apply(&self, session: &Session) -> Result<()> {
        let file = self.file()?;
        match self.step {
            Step::Name => {
                let storage = &self.writer.reader.files.storage;
                let folder = &storage.folder;
                return folder.rename(&storage.temporary_file(), &storage.main());
            }
            Step::Header => file.write_at(0, &self.parts.head)?,
            Step::Content => {
                file.write_at(0, &self.parts.head)?;
                file.write_at(self.header.len(), &self.parts.index_and_trailer)?;
                file.set_size(self.header.frame_len)?;
            }
        }
        session.sync(&**file)
    }

    /// Continues from the commit.
    fn finish(self) {
        let Member {
            writer,
            header,
            parts,
            step,
        } = self;
        let Some(file) = writer.reader.files.main.clone() else {
            return;
        };
        if step != Step::Header {
            writer.reader.files.base = header.len();
        } else {
            writer.reader.files.remove_after(header.frame_len);
        }
        writer.continue_from(file, header, parts);
    }
}
