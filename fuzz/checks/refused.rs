//! What a refusal of any bytes says.
use holdall::error::{Error, Status};

/// Fails unless the error says something, and is one of the bytes.
pub fn refused(e: &Error) {
    assert!(
        !e.message.is_empty() && !matches!(e.status, Status::Internal | Status::Argument),
        "{e:?}"
    );
}
