//! The one error type of the library: a kind that programs test, words that people act on,
//! the place (chunk, record or row) and the operating system's code.
//!
//! Words name the file, the chunk or record, what was expected and what was there.
#![forbid(unsafe_code)]

use crate::os;
use std::fmt;

/// What kind of failure it is. The numbers are those of the C API and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Status {
    /// An argument is missing, out of range or does not fit the others.
    Argument = -1,
    /// A bug in the library.
    Panic = -2,
    /// The memory could not be had.
    Memory = -3,
    /// The caller's buffer is too small.
    Buffer = -4,
    /// The operating system, or the caller's function, refused.
    Io = -5,
    /// A file is not there.
    Missing = -6,
    /// A file is there that must not be.
    Exists = -7,
    /// Stored bytes break the format.
    Format = -8,
    /// A stored checksum does not match.
    Checksum = -9,
    /// A format version that the library does not know.
    Version = -10,
    /// A codec or filter that the library does not have.
    Codec = -11,
    /// A type that does not fit.
    Type = -12,
    /// An index beyond the end.
    Range = -13,
    /// The call does not fit the state of the handle or of the file.
    State = -14,
    /// A limit set by the caller would be passed.
    Limit = -15,
    /// The caller's progress function stopped the call.
    Cancelled = -16,
    /// A caller's function failed.
    Callback = -17,
    /// Somebody else is writing.
    Busy = -18,
    /// Well-formed, and not supported.
    Unsupported = -19,
}

/// A failure, with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind.
    pub status: Status,
    /// `errno`, or 0.
    pub os_code: i32,
    /// Chunk, record or row, or -1.
    pub position: i64,
    /// The words, in English.
    pub message: String,
}

/// Shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure that belongs to no position and no system call.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Error {
            status,
            os_code: 0,
            position: -1,
            message: message.into(),
        }
    }

    /// A failed system call on `what`.
    pub fn os(what: impl fmt::Display, e: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let status = match e.kind() {
            ErrorKind::NotFound => Status::Missing,
            ErrorKind::AlreadyExists => Status::Exists,
            ErrorKind::OutOfMemory => Status::Memory,
            _ => Status::Io,
        };
        let message = match e.raw_os_error() {
            // files that need not be there are looked for whenever something is opened: asking the
            // C library for its words, in the language of the place, would take longer
            // than the system takes to say no
            Some(code) if status == Status::Missing => {
                format!("{what}: No such file or directory (os error {code})")
            }
            _ => format!("{what}: {e}"),
        };
        Error {
            status,
            os_code: e.raw_os_error().unwrap_or(0),
            position: -1,
            message,
        }
    }

    /// Did the system, or the caller's storage, fail to say what is there? Other errors say that it
    /// is not what was asked for; so does a name that no file can have.
    pub fn is_of_system(&self) -> bool {
        matches!(self.status, Status::Io | Status::Callback | Status::Memory)
            && !os::NO_NAME.contains(&self.os_code)
    }

    /// Is this about what this library does not know or have, and not about corruption?
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self.status,
            Status::Version | Status::Codec | Status::Unsupported
        )
    }

    /// The same failure, because a writer came in between: what was read says nothing of what is
    /// there.
    pub fn because_changed(self) -> Self {
        Error {
            status: Status::Busy,
            ..self
        }
    }

    /// The same failure, at a position (kept where there is one already).
    pub fn at(mut self, position: u64) -> Self {
        if self.position < 0 {
            self.position = i64::try_from(position).unwrap_or(i64::MAX);
        }
        self
    }

    /// The same failure with `prefix: ` before its words.
    pub fn within(mut self, prefix: impl fmt::Display) -> Self {
        self.message = format!("{prefix}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

macro_rules! fail {
    ($status:ident, $($words:tt)*) => {
        $crate::error::Error::new($crate::error::Status::$status, format!($($words)*))
    };
}
pub(crate) use fail;
