//! The error of all calls.
#![forbid(unsafe_code)]

use crate::error::{Error as EngineError, Status};
use std::fmt;

/// An error: a [`Status`] for programs, and a message for people.
///
/// The message names the file, what was expected and what was found. Options are named as in the C
/// API: [`Options::codec`](crate::Options::codec) is `HOLDALL_OPT_CODEC`.
///
/// ```
/// use holdall::{Array, Status};
///
/// let error = Array::open("no/such/array.b2nd").err().unwrap();
/// assert_eq!(error.status(), Status::Missing);
/// assert!(error.to_string().contains("no/such/array.b2nd"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(super) EngineError);

/// The result of all calls that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the kind of the error.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// Returns the message, in English.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the index of the record, chunk or row that the error is about, if it is about one.
    pub fn position(&self) -> Option<u64> {
        u64::try_from(self.0.position).ok()
    }

    /// Returns the error code of the operating system, if a system call failed.
    pub fn os_code(&self) -> Option<i32> {
        (self.0.os_code != 0).then_some(self.0.os_code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}
