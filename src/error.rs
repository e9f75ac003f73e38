//! The error type of the library: a status for programs, a message for people, the position
//! (chunk, record or row) and the error code of the operating system.
//!
//! A message names the file, the chunk or record, what was expected and what was found.
#![forbid(unsafe_code)]

use crate::os;
use std::fmt;

/// The kind of an error. The numbers are those of the C API and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Status {
    /// An argument is missing, out of range or inconsistent with the others.
    Argument = -1,
    /// A bug in the library.
    Internal = -2,
    /// A memory allocation failed.
    Memory = -3,
    /// The caller's buffer is too small.
    Buffer = -4,
    /// An operation of the operating system, or of the caller's storage functions, failed.
    Io = -5,
    /// A file does not exist.
    Missing = -6,
    /// A file exists that must not exist.
    Exists = -7,
    /// Stored bytes violate the format.
    Format = -8,
    /// A stored checksum does not match.
    Checksum = -9,
    /// A format version that the library does not know.
    Version = -10,
    /// A codec or filter that the library does not have.
    Codec = -11,
    /// A type that does not match.
    Type = -12,
    /// An index beyond the end.
    Range = -13,
    /// The state of the handle or of the file does not allow the call.
    State = -14,
    /// The call would exceed a limit set by the caller.
    Limit = -15,
    /// The caller's progress function stopped the call.
    Cancelled = -16,
    /// A callback of the caller failed.
    Callback = -17,
    /// Another writer is active.
    Busy = -18,
    /// Valid, but not supported.
    Unsupported = -19,
}

impl Status {
    /// Returns whether the status means that stored bytes are corrupt, as opposed to a failing disk
    /// or a limit of the caller. Versions, codecs and unsupported features are included: a changed
    /// byte can claim any of them.
    pub fn is_corruption(self) -> bool {
        matches!(
            self,
            Status::Format
                | Status::Checksum
                | Status::Codec
                | Status::Version
                | Status::Unsupported
        )
    }

    /// Returns whether this library lacks a required version, codec or feature. This is not
    /// corruption.
    pub fn is_unsupported(self) -> bool {
        matches!(self, Status::Version | Status::Codec | Status::Unsupported)
    }
}

/// An error with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of the error.
    pub status: Status,
    /// The error code of the operating system (`errno`), or 0.
    pub os_code: i32,
    /// The index of the chunk, record or row, or -1.
    pub position: i64,
    /// The message, in English.
    pub message: String,
}

/// A `Result` with the error type of the library by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error without a position and without a system error code.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Error {
            status,
            os_code: 0,
            position: -1,
            message: message.into(),
        }
    }

    /// Creates an error for a state that is impossible unless the library has a bug.
    pub fn internal(what: impl fmt::Display) -> Self {
        Error::new(
            Status::Internal,
            format!("this is a bug in holdall: {what}"),
        )
    }

    /// Creates an error for a failed system call on `what`.
    pub fn os(what: impl fmt::Display, e: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let status = match e.kind() {
            ErrorKind::NotFound => Status::Missing,
            ErrorKind::AlreadyExists => Status::Exists,
            ErrorKind::OutOfMemory => Status::Memory,
            _ => Status::Io,
        };
        let message = match e.raw_os_error() {
            // Every open probes for optional files. The localized message of the C library
            // would take longer than the failing system call.
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

    /// Returns whether the system, or the caller's storage, failed, so that the content is unknown.
    /// Other errors state that the content is not the requested kind; an invalid file name counts
    /// as one of these.
    pub fn is_system_failure(&self) -> bool {
        matches!(self.status, Status::Io | Status::Callback | Status::Memory)
            && !os::INVALID_NAME_CODES.contains(&self.os_code)
    }

    /// Returns what [`Status::is_unsupported`] does.
    pub fn is_unsupported(&self) -> bool {
        self.status.is_unsupported()
    }

    /// Changes the status to `Busy`: a writer changed the file during the read, so the error says
    /// nothing about the current content.
    pub fn into_busy(self) -> Self {
        Error {
            status: Status::Busy,
            ..self
        }
    }

    /// Sets the position, unless the error already has one.
    pub fn at(mut self, position: u64) -> Self {
        if self.position < 0 {
            self.position = i64::try_from(position).unwrap_or(i64::MAX);
        }
        self
    }

    /// Puts `prefix: ` in front of the message.
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
    ($status:ident, $($message:tt)*) => {
        $crate::error::Error::new($crate::error::Status::$status, format!($($message)*))
    };
}
pub(crate) use fail;
