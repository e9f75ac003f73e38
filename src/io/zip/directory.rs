//! The central directory of a zip archive: the names, positions and checksums of its members.
//!
//! The records at the end of the file, each after the one before: the central directory; the zip64
//! end record and its locator, if a number does not fit into the last record; the end record, which
//! ends with a comment. All numbers are little-endian. Specified in PKWARE's APPNOTE, 4.3.
//!
//! An archive is refused if readers could disagree about its members: two members of one name,
//! members that overlap, names that lead out of the archive, and lengths that contradict each
//! other.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;
use crate::slice::SliceExt;
use std::collections::BTreeMap;
use std::ops::Range;

/// First bytes of a local header, and of an archive without members.
pub const MAGIC: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// Begins an entry of the directory.
pub const ENTRY: &[u8; 4] = b"PK\x01\x02";
/// Begins the record at the end.
pub const END: &[u8; 4] = b"PK\x05\x06";
/// Begins the zip64 end record.
pub const END64: &[u8; 4] = b"PK\x06\x06";
/// Begins the locator of that record.
pub const LOCATOR: &[u8; 4] = b"PK\x06\x07";

const ENTRY_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END64_BYTES: usize = 56;
const LOCATOR_BYTES: usize = 20;
/// Bytes of a local header without the name and the extra field.
pub const LOCAL_BYTES: usize = 30;
const MAX_COMMENT: usize = u16::MAX as usize;

/// Values of a 16-bit or 32-bit field whose number is in a zip64 record.
const IN_ZIP64: (u64, u64) = (u16::MAX as u64, u32::MAX as u64);
/// Kind of the extra field with numbers of 64 bits.
pub const ZIP64: u16 = 1;
const ENCRYPTED: u16 = 1;
/// Flag of a name in UTF-8.
pub const UTF8: u16 = 1 << 11;

/// A member as the central directory describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset of its local header.
    pub header_at: u64,
    /// Stored bytes.
    pub stored: u64,
    /// Bytes of content.
    pub size: u64,
    /// CRC-32 of the content.
    pub crc: u32,
    /// Compression method: 0 if the content is stored as it is.
    pub method: u16,
    /// Whether the content is encrypted.
    pub encrypted: bool,
    /// Offset at which the next member or the directory begins.
    pub limit: u64,
    /// Whether this is the name in the local header, and the directory has another one.
    pub is_contradicted: bool,
}

/// The members of an archive by name. Entries for folders are left out.
pub type Members = BTreeMap<String, Member>;

/// Where the directory is.
struct End {
    /// Offset of the first record of the end: the directory ends there.
    at: u64,
    entries: u64,
    bytes: u64,
    /// Offset of the directory as stated. It is relative to the first member's beginning.
    stated_at: u64,
}

/// Reads the directory of an archive.
pub fn read(file: &dyn File) -> Result<Members> {
    let (end, tail) = read_end(file)?;
    let wrong = |what: &str| {
        Err(fail!(
            Format,
            "the central directory of the zip archive has {} bytes at {} (expected {what})",
            end.bytes,
            end.stated_at
        ))
    };
    // other content may precede the archive
    let Some(at) = end.at.checked_sub(end.bytes) else {
        return wrong("fewer than the file");
    };
    let Some(base) = at.checked_sub(end.stated_at) else {
        return wrong("a smaller offset");
    };
    if end.entries > end.bytes / ENTRY_BYTES as u64 {
        return wrong(&format!("space for {} members", end.entries));
    }
    let bytes = alloc::allow(end.bytes, alloc::DEFAULT_LIMIT, "central directory")?;
    let mut directory = alloc::zeroed(bytes)?;
    match at.checked_sub(tail.at) {
        Some(in_tail) => {
            let in_tail = in_tail as usize;
            directory.copy_from_slice(tail.bytes.at(in_tail..in_tail + bytes)?);
        }
        None => file.read_exact_at(at, &mut directory)?,
    }
    let mut fields = Fields(&directory);
    let mut members = Members::new();
    for _ in 0..end.entries {
        let (name, member) = entry(&mut fields, base)?;
        if name.ends_with('/') && member.size == 0 {
            continue;
        }
        check_name(&name)?;
        if members.contains_key(&name) {
            return Err(fail!(Format, "two members have the name {name:?}"));
        }
        members.insert(name, member);
    }
    if !fields.0.is_empty() {
        return wrong(&format!("{} bytes fewer", fields.0.len()));
    }
    set_limits(&mut members, at)?;
    Ok(members)
}

/// Sets where each member ends at the latest, and refuses members that overlap.
fn set_limits(members: &mut Members, end: u64) -> Result<()> {
    let mut all: Vec<_> = members.iter_mut().collect();
    all.sort_by_key(|(_, member)| std::cmp::Reverse(member.header_at));
    let mut next = end;
    for (name, member) in all {
        let header = LOCAL_BYTES as u64 + name.len() as u64;
        let range = Some(member.header_at)
            .and_then(|at| at.checked_add(header))
            .and_then(|at| at.checked_add(member.stored));
        if range.is_none_or(|to| to > next) {
            return Err(fail!(
                Format,
                "the member {name:?} at {} has {} bytes (expected an end before {next}, where other content begins)",
                member.header_at,
                member.stored
            ));
        }
        member.limit = next;
        next = member.header_at;
    }
    Ok(())
}

/// The last bytes of the file.
struct Tail {
    at: u64,
    bytes: Vec<u8>,
}

/// Reads the records at the end of the file.
fn read_end(file: &dyn File) -> Result<(End, Tail)> {
    let size = file.size()?;
    let bytes = alloc::zeroed(size.min((END_BYTES + MAX_COMMENT) as u64) as usize)?;
    let at = size - bytes.len() as u64;
    let mut tail = Tail { at, bytes };
    file.read_exact_at(at, &mut tail.bytes)?;
    let in_tail = find_end(&tail.bytes).ok_or_else(|| {
        fail!(
            Format,
            "no end record of a zip archive (the file is truncated, or no zip archive)"
        )
    })?;
    let mut fields = Fields(tail.bytes.at(in_tail + END.len()..)?);
    let disks = [fields.u16()?, fields.u16()?];
    let entries = [fields.u16()?, fields.u16()?].map(u64::from);
    let (bytes, stated_at) = (fields.u32()?, fields.u32()?);
    let end = End {
        at: tail.at + in_tail as u64,
        entries: entries[1],
        bytes: bytes.into(),
        stated_at: stated_at.into(),
    };
    match read_end64(file, &end)? {
        Some(end64) => Ok((end64, tail)),
        None if disks != [0, 0] || entries[0] != entries[1] => {
            Err(fail!(Unsupported, "the zip archive has several parts"))
        }
        None => Ok((end, tail)),
    }
}

/// Returns the position of the end record whose comment ends the file.
fn find_end(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END_BYTES)?;
    (0..=last).rev().find(|&at| {
        let record = tail.get(at..).unwrap_or_default();
        let comment = record.get(END_BYTES - 2..END_BYTES);
        let comment = comment
            .and_then(|n| n.try_into().ok())
            .map(u16::from_le_bytes);
        record.starts_with(END) && comment == u16::try_from(record.len() - END_BYTES).ok()
    })
}

/// Reads the zip64 end record, if a number of the end record says that it is there.
fn read_end64(file: &dyn File, end: &End) -> Result<Option<End>> {
    let (short, long) = IN_ZIP64;
    if end.entries != short && end.bytes != long && end.stated_at != long {
        return Ok(None);
    }
    let Some(at) = end.at.checked_sub(LOCATOR_BYTES as u64) else {
        return Ok(None);
    };
    let mut locator = [0; LOCATOR_BYTES];
    file.read_exact_at(at, &mut locator)?;
    if !locator.starts_with(LOCATOR) {
        // exactly so many members, and no zip64
        return Ok(None);
    }
    let end64_at = at.checked_sub(END64_BYTES as u64);
    let mut record = [0; END64_BYTES];
    if let Some(at) = end64_at {
        file.read_exact_at(at, &mut record)?;
    }
    let mut fields = Fields(&record);
    let (magic, bytes) = (fields.take(END64.len())?, fields.u64()?);
    if magic != END64 || bytes != (END64_BYTES - 12) as u64 {
        return Err(fail!(
            Format,
            "the zip64 end record is not before its locator at {at}"
        ));
    }
    fields.take(4)?; // versions
    let disks = [fields.u32()?, fields.u32()?];
    let entries = [fields.u64()?, fields.u64()?];
    if disks != [0, 0] || entries[0] != entries[1] {
        return Err(fail!(Unsupported, "the zip archive has several parts"));
    }
    Ok(Some(End {
        at: end64_at.unwrap_or(0),
        entries: entries[1],
        bytes: fields.u64()?,
        stated_at: fields.u64()?,
    }))
}

/// Reads an entry. `base` is the offset to which its offset is relative.
fn entry(fields: &mut Fields, base: u64) -> Result<(String, Member)> {
    let magic = fields.take(ENTRY.len())?;
    if magic != ENTRY {
        return Err(fail!(
            Format,
            "an entry of the central directory begins with {magic:02x?} (expected {ENTRY:02x?})"
        ));
    }
    fields.take(4)?; // versions
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?; // time and date
    let crc = fields.u32()?;
    let [stored, size] = [fields.u32()?, fields.u32()?].map(u64::from);
    let lengths = [fields.u16()?, fields.u16()?, fields.u16()?].map(usize::from);
    let disk = u64::from(fields.u16()?);
    fields.take(6)?; // attributes
    let header_at = u64::from(fields.u32()?);
    let name = name_of(fields.take(lengths[0])?, flags)?;
    let extra = fields.take(lengths[1])?;
    fields.take(lengths[2])?; // comment
    // in the order in which they are in the extra field
    let mut numbers = [size, stored, header_at];
    let on_disk =
        read_zip64(extra, &mut numbers, disk).map_err(|e| e.within(format_args!("{name:?}")))?;
    if on_disk != 0 {
        return Err(fail!(Unsupported, "the zip archive has several parts"));
    }
    let [size, stored, header_at] = numbers;
    if method == 0 && stored != size {
        return Err(fail!(
            Format,
            "the member {name:?} is not compressed and has {stored} bytes (expected {size})"
        ));
    }
    let header_at = base.saturating_add(header_at);
    Ok((
        name,
        Member {
            header_at,
            stored,
            size,
            crc,
            method,
            encrypted: flags & ENCRYPTED != 0,
            limit: 0,
            is_contradicted: false,
        },
    ))
}

/// Replaces the numbers that are in the zip64 field. Returns the number of the disk.
fn read_zip64(extra: &[u8], numbers: &mut [u64; 3], disk: u64) -> Result<u64> {
    let (short, long) = IN_ZIP64;
    if numbers.iter().all(|n| *n != long) && disk != short {
        return Ok(disk);
    }
    let mut fields = Fields(extra);
    while !fields.0.is_empty() {
        let (kind, n) = (fields.u16()?, fields.u16()?);
        let mut field = Fields(fields.take(n.into())?);
        if kind != ZIP64 {
            continue;
        }
        for number in numbers.iter_mut().filter(|number| **number == long) {
            *number = field.u64()?;
        }
        return if disk == short {
            field.u32().map(u64::from)
        } else {
            Ok(disk)
        };
    }
    Ok(disk)
}

/// Returns the name of an entry as text.
fn name_of(bytes: &[u8], flags: u16) -> Result<String> {
    let text = std::str::from_utf8(bytes).ok();
    match text.filter(|text| flags & UTF8 != 0 || text.is_ascii()) {
        Some(text) => Ok(text.to_owned()),
        None => Err(fail!(
            Format,
            "the name {:?} of a member is not marked as UTF-8",
            String::from_utf8_lossy(bytes)
        )),
    }
}

/// Refuses a name that is no path inside of the archive.
pub fn check_name(name: &str) -> Result<()> {
    let is_step = |step: &str| !matches!(step, "" | "." | "..");
    if name.split('/').all(is_step) && !name.contains(['\\', '\0']) {
        return Ok(());
    }
    Err(fail!(
        Format,
        "the name {name:?} of a member is no path inside of the archive"
    ))
}

/// Adds the members whose local headers have other names than the directory, under those names,
/// too: otherwise a member would be missing without an error. Opening one under either name is an
/// error.
pub fn add_contradictions(members: &mut Members, file: &dyn File) -> Result<()> {
    let mut found = Vec::new();
    for (name, member) in members.iter() {
        // a header that cannot be read is an error when the member is opened
        if let Some(other) = local_name(file, member, name.len())?
            && other != name.as_bytes()
            && let Ok(other) = String::from_utf8(other)
            && check_name(&other).is_ok()
        {
            found.push((other, member.clone()));
        }
    }
    for (name, member) in found {
        members.entry(name).or_insert(Member {
            is_contradicted: true,
            ..member
        });
    }
    Ok(())
}

/// Returns the name in the local header of a member, which is expected to have `n` bytes.
fn local_name(file: &dyn File, member: &Member, n: usize) -> Result<Option<Vec<u8>>> {
    let mut local = alloc::zeroed(LOCAL_BYTES + n)?;
    if file.read_at(member.header_at, &mut local)? < local.len() {
        return Ok(None);
    }
    let mut fields = Fields(&local);
    fields.take(LOCAL_BYTES - 4)?;
    let found = usize::from(fields.u16()?);
    fields.take(2)?;
    if found <= n {
        return Ok(Some(fields.take(found)?.to_vec()));
    }
    let mut name = alloc::zeroed(found)?;
    let at = member.header_at.saturating_add(LOCAL_BYTES as u64);
    let all = file.read_at(at, &mut name)?;
    Ok((all == found).then_some(name))
}

/// Returns where the content of a member is. `local` begins with its local header.
pub fn content(name: &str, member: &Member, local: &[u8]) -> Result<Range<u64>> {
    let mut fields = Fields(local);
    let wrong = |what: &str| {
        fail!(
            Format,
            "the header at {} {what} than the central directory",
            member.header_at
        )
    };
    let magic = fields.take(4)?;
    if magic != MAGIC[0] {
        return Err(fail!(
            Format,
            "no member begins at {} (expected {:02x?}, found {magic:02x?})",
            member.header_at,
            MAGIC[0]
        ));
    }
    fields.take(4)?; // version, flags
    if fields.u16()? != member.method {
        return Err(wrong("has another compression method"));
    }
    fields.take(16)?; // time, date, checksum, lengths
    let (name_bytes, extra) = (fields.u16()?, fields.u16()?);
    if member.is_contradicted || fields.take(name_bytes.into()).ok() != Some(name.as_bytes()) {
        return Err(wrong("has another name"));
    }
    let header = LOCAL_BYTES as u64 + u64::from(name_bytes) + u64::from(extra);
    let from = member.header_at.saturating_add(header);
    let to = from.saturating_add(member.stored);
    if to > member.limit {
        return Err(wrong("leaves less space for the content"));
    }
    Ok(from..to)
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some((first, rest)) = self.0.split_at_checked(n) else {
            return Err(fail!(
                Format,
                "a record of the zip archive is truncated (expected {n} more bytes, found {})",
                self.0.len()
            ));
        };
        self.0 = rest;
        Ok(first)
    }

    fn number(&mut self, n: usize) -> Result<u64> {
        let bytes = self.take(n)?.iter().rev();
        Ok(bytes.fold(0, |all, b| all << 8 | u64::from(*b)))
    }

    fn u16(&mut self) -> Result<u16> {
        self.number(2).map(|n| n as u16)
    }

    fn u32(&mut self) -> Result<u32> {
        self.number(4).map(|n| n as u32)
    }

    fn u64(&mut self) -> Result<u64> {
        self.number(8)
    }
}
