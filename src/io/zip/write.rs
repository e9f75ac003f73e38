//! Writes a zip archive whose members are stored without compression, so that they are read in place.
//!
//! The same members give the same bytes: all have the first date that the format has. Lengths and
//! offsets of 4 GiB and more are in zip64 fields. Specified in PKWARE's APPNOTE, 4.3.
#![forbid(unsafe_code)]

use super::directory::{END, END64, ENTRY, LOCAL_BYTES, LOCATOR, MAGIC, UTF8, ZIP64};
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;
use crate::slice::SliceExt;

/// Bytes that are copied at once.
const PIECE: u64 = 1 << 20;
/// Versions of the format: with folders, and with zip64 fields.
const PLAIN: u16 = 20;
const WITH_ZIP64: u16 = 45;
/// The 1st of January 1980.
const DATE: u16 = (1 << 5) | 1;
/// Unix in the field of the system, and the mode `-rw-r--r--`.
const UNIX: u16 = 3 << 8;
const MODE: u32 = 0o100_644 << 16;

/// An archive that is being written.
pub struct ZipWriter<'a> {
    file: &'a dyn File,
    /// Offset of the next member.
    at: u64,
    /// The central directory.
    directory: Vec<u8>,
    members: u64,
    /// Numbers from here on are in zip64 fields.
    limit: u64,
}

impl<'a> ZipWriter<'a> {
    /// Begins an archive at the start of an empty file.
    pub fn new(file: &'a dyn File) -> ZipWriter<'a> {
        ZipWriter {
            file,
            at: 0,
            directory: Vec::new(),
            members: 0,
            limit: u32::MAX.into(),
        }
    }

    /// Sets the smallest number that is in a zip64 field.
    #[cfg(test)]
    pub fn with_limit(self, limit: u64) -> ZipWriter<'a> {
        ZipWriter { limit, ..self }
    }

    /// Returns a number, or all ones where a zip64 field has it.
    fn clamped(&self, n: u64) -> u32 {
        match n < self.limit {
            true => n as u32,
            false => u32::MAX,
        }
    }

    /// Adds a member with the content of a file. Names are unique.
    pub fn add(&mut self, name: &str, content: &dyn File) -> Result<()> {
        let Ok(name_bytes) = u16::try_from(name.len()) else {
            return Err(fail!(
                Limit,
                "{name:?}: the name of a member of a zip archive has at most {} bytes",
                u16::MAX
            ));
        };
        let size = content.size()?;
        let is_large = size >= self.limit;
        let extra = match is_large {
            true => zip64_field(&[size, size]),
            false => Vec::new(),
        };
        let from = self.at + (LOCAL_BYTES + name.len() + extra.len()) as u64;
        let crc = self.copy(content, size, from)?;
        let stated = self.clamped(size);
        let head = |version: u16| {
            let mut head = Vec::new();
            for field in [version, flags(name), 0, 0, DATE] {
                head.extend(field.to_le_bytes());
            }
            for field in [crc, stated, stated] {
                head.extend(field.to_le_bytes());
            }
            head.extend(name_bytes.to_le_bytes());
            head
        };
        let mut local = MAGIC[0].to_vec();
        local.extend(head(if is_large { WITH_ZIP64 } else { PLAIN }));
        local.extend((extra.len() as u16).to_le_bytes());
        local.extend(name.as_bytes());
        local.extend(extra);
        self.file.write_at(self.at, &local)?;
        self.list(name, size, &head);
        (self.at, self.members) = (from + size, self.members + 1);
        Ok(())
    }

    /// Copies the content of a member. Returns its CRC-32.
    fn copy(&self, content: &dyn File, size: u64, to: u64) -> Result<u32> {
        let mut piece = alloc::zeroed(size.min(PIECE) as usize)?;
        let (mut hasher, mut done) = (crc32fast::Hasher::new(), 0);
        while done < size {
            let part = piece.at_mut(..(size - done).min(PIECE) as usize)?;
            content.read_exact_at(done, part)?;
            hasher.update(part);
            self.file.write_at(to + done, part)?;
            done += part.len() as u64;
        }
        Ok(hasher.finalize())
    }

    /// Adds the entry of a member to the central directory.
    fn list(&mut self, name: &str, size: u64, head: &dyn Fn(u16) -> Vec<u8>) {
        let mut large = Vec::new();
        if size >= self.limit {
            large.extend([size, size]);
        }
        if self.at >= self.limit {
            large.push(self.at);
        }
        let extra = match large.is_empty() {
            true => Vec::new(),
            false => zip64_field(&large),
        };
        let version = if large.is_empty() { PLAIN } else { WITH_ZIP64 };
        let stated_at = self.clamped(self.at);
        let entry = &mut self.directory;
        entry.extend(ENTRY);
        entry.extend((UNIX | version).to_le_bytes());
        entry.extend(head(version));
        // the lengths of extra field and comment, the disk, and the kind of the content
        for field in [extra.len() as u16, 0, 0, 0] {
            entry.extend(field.to_le_bytes());
        }
        entry.extend(MODE.to_le_bytes());
        entry.extend(stated_at.to_le_bytes());
        entry.extend(name.as_bytes());
        entry.extend(extra);
    }

    /// Writes the central directory. The file then has exactly this archive.
    pub fn finish(self) -> Result<()> {
        let (at, bytes) = (self.at, self.directory.len() as u64);
        let (stated_at, stated_bytes) = (self.clamped(at), self.clamped(bytes));
        let is_large =
            self.members >= u64::from(u16::MAX) || at >= self.limit || bytes >= self.limit;
        let mut end = self.directory;
        if is_large {
            end.extend(END64);
            // the bytes that follow
            end.extend(44u64.to_le_bytes());
            end.extend((UNIX | WITH_ZIP64).to_le_bytes());
            end.extend(WITH_ZIP64.to_le_bytes());
            end.extend([0; 8]);
            for field in [self.members, self.members, bytes, at] {
                end.extend(field.to_le_bytes());
            }
            end.extend(LOCATOR);
            end.extend(0u32.to_le_bytes());
            end.extend((at + bytes).to_le_bytes());
            end.extend(1u32.to_le_bytes());
        }
        end.extend(END);
        end.extend([0; 4]);
        let members = self.members.min(u64::from(u16::MAX)) as u16;
        end.extend(members.to_le_bytes());
        end.extend(members.to_le_bytes());
        end.extend(stated_bytes.to_le_bytes());
        end.extend(stated_at.to_le_bytes());
        end.extend(0u16.to_le_bytes());
        self.file.write_at(at, &end)?;
        self.file.set_size(at + end.len() as u64)
    }
}

/// Returns the flags of a member: whether its name is UTF-8 rather than the old character set.
fn flags(name: &str) -> u16 {
    match name.is_ascii() {
        true => 0,
        false => UTF8,
    }
}

/// Returns the extra field with numbers that their own fields have no room for.
fn zip64_field(numbers: &[u64]) -> Vec<u8> {
    let mut field = ZIP64.to_le_bytes().to_vec();
    field.extend((8 * numbers.len() as u16).to_le_bytes());
    numbers.iter().for_each(|n| field.extend(n.to_le_bytes()));
    field
}
