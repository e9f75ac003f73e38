//! What a path is: its container, its format, and what its name or its first bytes show.

use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::Failure;
use crate::file_name::FileName;
use crate::files;
use holdall::{Array, Format, Kind, Options, Schunk, Status};
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

/// The groups of containers that commands distinguish. A dataset is an array or a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Bag,
    Superchunk,
    Dataset,
    Store,
}

impl Container {
    pub fn name(self) -> &'static str {
        match self {
            Container::Bag => "bag",
            Container::Superchunk => "superchunk",
            Container::Dataset => "dataset",
            Container::Store => "store",
        }
    }

    fn of(kind: Kind) -> Container {
        match kind {
            Kind::Schunk => Container::Superchunk,
            Kind::Bag => Container::Bag,
            Kind::Store => Container::Store,
            _ => Container::Dataset,
        }
    }
}

type Identified = holdall::Result<(Format, Kind)>;

/// The path that was identified last: commands ask for its format, its kind and its container.
static LAST: Mutex<Option<(FileName, Option<u64>, Identified)>> = Mutex::new(None);

/// Returns the format and kind of a path, or of the frame at an offset in it.
pub fn identify(path: &FileName, at: Option<u64>) -> Identified {
    let Ok(mut last) = LAST.lock() else {
        return identify_now(path, at);
    };
    match &*last {
        Some((known, there, found)) if known == path && *there == at => found.clone(),
        _ => {
            let found = identify_now(path, at);
            *last = Some((path.clone(), at, found.clone()));
            found
        }
    }
}

fn identify_now(path: &FileName, at: Option<u64>) -> Identified {
    let Some(at) = at else {
        return holdall::identify(path).map(|(format, kind)| match format {
            Format::Bloscpack if is_bloscpack_array(path) => (format, Kind::Array),
            _ => (format, kind),
        });
    };
    let frame = Schunk::open_with(path, &Options::new().frame_offset(at).skip_corrupt(true))?;
    let has = |name: &str| matches!(frame.attribute(name), Ok(Some(_)));
    Ok(if has("b2nd") {
        (Format::B2nd, Kind::Array)
    } else if has("caterva") {
        (Format::Caterva, Kind::Array)
    } else {
        (Format::B2Frame, Kind::Schunk)
    })
}

/// Returns whether the metadata of a Bloscpack file make it an array, also if it is damaged.
fn is_bloscpack_array(path: &FileName) -> bool {
    let options = Options::new().skip_corrupt(true);
    let has_metadata = || {
        let opened = Schunk::open_with(path, &options);
        opened.is_ok_and(|schunk| matches!(schunk.attribute(""), Ok(Some(_))))
    };
    match Array::open_with(path, &options) {
        Ok(_) => true,
        Err(error) => error.status() != Status::Type && has_metadata(),
    }
}

/// Returns the container at a path, also of one that is broken; a bag if it is unknown: its reader
/// reports the error.
pub fn container(path: &FileName, at: Option<u64>) -> Container {
    match (identify(path, at), at) {
        (Ok((_, kind)), _) => Container::of(kind),
        (Err(_), Some(_)) => Container::Superchunk,
        (Err(_), None) => holdall::kind_of_broken(path).map_or(Container::Bag, Container::of),
    }
}

/// What a command that needs one container says of a store.
pub fn refuse_store(path: &FileName) -> Failure {
    failure!("{path}: this is a store; name one of its nodes, which ls lists: {path}/NODE")
}

/// Returns the format of a path, if it is a container.
pub fn format(path: &FileName, at: Option<u64>) -> Option<Format> {
    identify(path, at).ok().map(|(format, _)| format)
}

/// Returns whether nothing is at a path.
pub fn is_missing(path: &FileName) -> bool {
    identify(path, None).is_err_and(|error| error.status() == Status::Missing)
}

pub fn format_name(format: Format) -> &'static str {
    match format {
        Format::Bloscpack => "bloscpack",
        Format::Bcolz => "bcolz",
        Format::Blz => "blz",
        Format::BlzRfc => "blz-rfc",
        Format::B2Frame => "b2frame",
        Format::Caterva => "caterva",
        Format::B2nd => "b2nd",
        Format::Bagz => "bagz",
        Format::B2d => "b2d",
        Format::B2z => "b2z",
        Format::B2e => "b2e",
        Format::CTable => "ctable",
        _ => "unknown",
    }
}

pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Schunk => "schunk",
        Kind::Array => "array",
        Kind::Table => "table",
        Kind::Bag => "bag",
        Kind::Store => "store",
        _ => "unknown",
    }
}

/// Returns whether a format is one of frames.
pub fn is_frame(format: Format) -> bool {
    matches!(format, Format::B2Frame | Format::Caterva | Format::B2nd)
}

/// Returns the ending of a name, ".bagz" for `set.bagz@3` and `set.bagz-00001-of-00003`. None:
/// there is no dot, or the file is a hidden one.
pub fn ending(path: &FileName) -> Option<String> {
    let path = path.text();
    let path = path.trim_end_matches('/');
    let name = &path[path.rfind('/').map_or(0, |slash| slash + 1)..];
    let dot = name.rfind('.').filter(|dot| *dot > 0)?;
    let ending = &name[dot..];
    Some(ending[..ending.find(['@', '-']).unwrap_or(ending.len())].to_owned())
}

/// Returns whether the ending of a name is one of these, or there is none.
pub fn known_ending(path: &FileName, endings: &[&str]) -> bool {
    ending(path).is_none_or(|ending| endings.contains(&&*ending))
}

/// Returns whether the name of a path is that of a bag.
pub fn is_named_bag(path: &FileName) -> bool {
    matches!(ending(path).as_deref(), Some(".bag" | ".bagz"))
}

/// Returns a name without an ending, in upper or lower case, if it has that.
pub fn strip_ending(path: &FileName, ending: &str) -> Option<FileName> {
    let length = path.bytes().len().checked_sub(ending.len())?;
    let (name, end) = path.bytes().split_at_checked(length)?;
    end.eq_ignore_ascii_case(ending.as_bytes()).then(|| name.to_vec().into())
}

/// Returns the format of a file of rows: as given, otherwise by its ending.
pub fn file_format(path: &FileName, given: Option<DataFormat>) -> Option<DataFormat> {
    use DataFormat::{Csv, Jsonl, Npy};
    let (path, _) = crate::rows::compression::split(path);
    let named = || DataFormat::of_name(&path).filter(|found| matches!(found, Npy | Csv | Jsonl));
    given.or_else(named)
}

// ---- formats by the first bytes

/// (name, offset, magic string). The library identifies the last three; a zstd frame may begin a
/// bag.
const MAGICS: &[(&str, usize, &[u8])] = &[
    ("npy", 0, b"\x93NUMPY"),
    ("arrow", 0, b"ARROW1"),
    ("bagz-index", 0, b"holdall bagindex"),
    ("gzip", 0, b"\x1f\x8b\x08"),
    ("zip", 0, b"PK\x03\x04"),
    ("bzip2", 4, b"1AY&SY"),
    ("xz", 0, b"\xfd7zXZ\0"),
    ("bloscpack", 0, b"blpk"),
    ("b2frame", 2, b"b2frame\0"),
    ("zstd", 0, b"\x28\xb5\x2f\xfd"),
];
const NOT_IDENTIFIED: usize = 7;

/// Returns the name of the format that the first bytes of a file show: bytes of such a file are no
/// items or lines. "-" is standard input, of which nothing is consumed. A bag has no magic string,
/// and many files end like one: it must have the name of a bag, or begin with a zstd frame.
pub fn stored_format(path: &FileName) -> Option<&'static str> {
    if path.is_standard() {
        return format_of_bytes(&files::peek_standard_input(files::PEEK), MAGICS);
    }
    let head = head(path);
    if let Some(shown) = format_of_bytes(&head, &MAGICS[..NOT_IDENTIFIED]) {
        return Some(shown);
    }
    if is_chunk_of_frame(path) {
        return Some(format_name(Format::B2Frame));
    }
    let shown = format_of_bytes(&head, MAGICS); // zstd, perhaps
    let is_bag = || shown.is_some() || path.ends_with(".bagz") || path.ends_with(".bag");
    match format(path, None) {
        Some(format) if format != Format::Bagz || is_bag() => Some(format_name(format)),
        _ => shown.or_else(|| {
            let container = container(path, None);
            (container != Container::Bag).then_some(container.name())
        }),
    }
}

/// Returns whether a file begins with a page of printable text. Of standard input, nothing is
/// consumed.
pub fn is_text(path: &FileName) -> bool {
    let head = match path.is_standard() {
        true => files::peek_standard_input(files::PEEK),
        false => head(path),
    };
    let text = match std::str::from_utf8(&head) {
        Ok(text) => text,
        // a character that is cut off at the end of the page
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_printable = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    !text.is_empty() && text.chars().all(is_printable)
}

/// Returns the name of the format of a file or folder that is a container, also of a broken one.
pub fn stored_container(path: &FileName) -> Option<&'static str> {
    let files = MAGICS[..NOT_IDENTIFIED].iter().map(|(name, _, _)| *name);
    let mut files = files.chain(["zstd", "arrow-stream", "tfrecord"]);
    stored_format(path).filter(|found| files.all(|name| name != *found))
}

/// The first bytes of a file; none if it cannot be read, or is a pipe.
fn head(path: &FileName) -> Vec<u8> {
    let mut head = Vec::new();
    if std::fs::metadata(path).is_ok_and(|about| about.is_file())
        && let Ok(file) = std::fs::File::open(path)
    {
        // an error comes again when the file is read
        let _ = file.take(files::PEEK as u64).read_to_end(&mut head);
    }
    head
}

fn format_of_bytes(head: &[u8], magics: &[(&'static str, usize, &[u8])]) -> Option<&'static str> {
    let shows =
        |at: usize, magic: &[u8]| head.get(at..).is_some_and(|tail| tail.starts_with(magic));
    let found = magics.iter().find(|(_, at, magic)| shows(*at, magic));
    if let Some((name, _, _)) = found {
        return Some(name);
    }
    if is_arrow_stream(head) == Some(true) {
        return Some("arrow-stream");
    }
    is_tfrecord(head).then_some("tfrecord")
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// A schema message of Arrow's IPC format, after the continuation marker and its length. Only the
/// beginning may be there, which no verifier of flat buffers accepts, so the kind of the message is
/// read by hand.
fn is_arrow_stream(head: &[u8]) -> Option<bool> {
    const SCHEMA: u8 = 1;
    let length = number(head, 4)?;
    if number(head, 0)? != u32::MAX || length == 0 || length % 8 != 0 {
        return Some(false);
    }
    let message = &head[8..];
    let message = &message[..message.len().min(length as usize)];
    let table = number(message, 0)? as usize;
    let list = usize::try_from(table as i64 - i64::from(number(message, table)? as i32)).ok()?;
    let kind = (number(message, list.checked_add(4)?)? >> 16) as usize; // the second of two offsets of 2 bytes
    Some(kind > 0 && message.get(table + kind).copied()? == SCHEMA)
}

/// The length of the first record, and its masked CRC-32C.
fn is_tfrecord(head: &[u8]) -> bool {
    number(head, 8).is_some_and(|crc| crate::bag::records::masked_crc32c(&head[..8]) == crc)
}

/// A chunk has no magic string. A file is one if the folder is that of a sparse frame.
fn is_chunk_of_frame(path: &FileName) -> bool {
    let folder = path.path().parent();
    let folder = folder.map(|folder| match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    });
    path.ends_with(".chunk")
        && folder.is_some_and(|folder| {
            let known = holdall::identify(folder).map(|(format, _)| is_frame(format));
            known.unwrap_or_else(|_| holdall::kind_of_broken(folder).is_some())
        })
}
