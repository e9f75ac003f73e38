//! Error messages for failed requests: which object, what happened, what to do. Secrets are
//! redacted.
#![forbid(unsafe_code)]

use super::name::Scheme;
use crate::error::{Error, Result, Status, fail};
use std::error::Error as _;

const EACCES: i32 = 13;
/// Messages of servers are truncated to this length.
const MAX_LENGTH: usize = 240;

/// Returns the error of a failed request about one object.
pub fn failure(scheme: Scheme, shown: &str, e: &object_store::Error) -> Error {
    use object_store::Error as E;
    match e {
        E::NotFound { .. } => fail!(Missing, "{shown}: no such object"),
        E::Precondition { .. } | E::NotModified { .. } => changed(shown, "it was overwritten"),
        E::AlreadyExists { .. } => fail!(Exists, "{shown}: the object exists already"),
        E::InvalidPath { source } => fail!(
            Argument,
            "{shown}: this name is invalid in object stores: {source}"
        ),
        _ if is_range_refused(e) => changed(shown, "it was cut short"),
        E::NotSupported { .. } if scheme == Scheme::Http => fail!(
            Unsupported,
            "{shown}: this server does not support HTTP range requests"
        ),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            let message = format!(
                "{shown}: the store refused access: {}{}",
                describe(e),
                credentials(scheme)
            );
            Error {
                status: Status::Io,
                os_code: EACCES,
                position: -1,
                message,
            }
        }
        _ => fail!(Io, "{shown}: {}{}", describe(e), credentials(scheme)),
    }
}

/// Returns whether the server refused a range because the object is shorter. Only the source errors
/// are inspected: the message itself contains the URL, which may contain any number.
pub fn is_range_refused(e: &object_store::Error) -> bool {
    sources(e).any(|e| {
        e.to_string()
            .starts_with("Server returned non-2xx status code: 416")
    })
}

/// Returns whether the server sent the whole object instead of a range.
pub fn is_full_response(e: &object_store::Error) -> bool {
    sources(e).any(|e| e.to_string().starts_with("Received non-partial response"))
}

fn sources(e: &object_store::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let mut next = e.source();
    std::iter::from_fn(move || {
        let e = next?;
        next = e.source();
        Some(e)
    })
}

/// Returns the error of an object that changed since it was opened.
pub fn changed(shown: &str, how: &str) -> Error {
    fail!(State, "{shown}: {how} while it was open; open it again")
}

/// Returns the error of a request that timed out.
pub fn timed_out(scheme: Scheme, shown: &str, waited: std::time::Duration) -> Error {
    fail!(
        Io,
        "{shown}: no response for {} ms (HOLDALL_OPT_CLOUD_TIMEOUT){}",
        waited.as_millis(),
        credentials(scheme)
    )
}

/// Converts the error of creating a store.
pub fn refused<T>(shown: &str, built: object_store::Result<T>) -> Result<T> {
    built.map_err(|e| {
        fail!(
            Argument,
            "{shown}: invalid configuration of this store in the environment: {}",
            describe(&e)
        )
    })
}

/// Returns a hint if the environment contains no credentials.
fn credentials(scheme: Scheme) -> &'static str {
    let none = |names: &[&str]| names.iter().all(|n| std::env::var_os(n).is_none());
    match scheme {
        Scheme::Gs
            if none(&[
                "GOOGLE_SERVICE_ACCOUNT",
                "GOOGLE_SERVICE_ACCOUNT_PATH",
                "GOOGLE_SERVICE_ACCOUNT_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GOOGLE_SKIP_SIGNATURE",
                "SERVICE_ACCOUNT",
            ]) =>
        {
            "; the environment names no credentials: see GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for what is public"
        }
        Scheme::S3
            if none(&[
                "AWS_ACCESS_KEY_ID",
                "AWS_SKIP_SIGNATURE",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
            ]) =>
        {
            "; the environment names no credentials: see AWS_ACCESS_KEY_ID, or AWS_SKIP_SIGNATURE=true for what is public"
        }
        Scheme::Azure
            if none(&[
                "AZURE_STORAGE_ACCOUNT_KEY",
                "AZURE_STORAGE_SAS_KEY",
                "AZURE_CLIENT_ID",
                "AZURE_SKIP_SIGNATURE",
            ]) =>
        {
            "; the environment names no credentials: see AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for what is public"
        }
        _ => "",
    }
}

/// Returns the message of an error and its sources, redacted.
fn describe(e: &object_store::Error) -> String {
    let mut text = e.to_string();
    for more in sources(e).map(|e| e.to_string()) {
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
    }
    redact(&text)
}

/// Removes possible secrets: queries and users of URLs, response bodies except for their error
/// codes, and values of environment variables that are keys.
fn redact(text: &str) -> String {
    let code = between(text, "<Code>", "</Code>")
        .filter(|c| c.len() < 64)
        .map(|c| format!(" ({c})"))
        .unwrap_or_default();
    let status = text
        .find("status code: ")
        .and_then(|at| Some(at + text.get(at + 13..)?.find(": ")? + 13));
    let mut text = text
        .get(..status.unwrap_or(text.len()))
        .unwrap_or_default()
        .to_owned()
        + &code;
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let ours = ["GOOGLE_", "AWS_", "AZURE_", "SERVICE_ACCOUNT"]
            .iter()
            .any(|p| name.starts_with(p));
        if ours
            && value.len() >= 6
            && ["KEY", "SECRET", "TOKEN", "SAS", "CREDENTIAL", "PASSWORD"]
                .iter()
                .any(|w| name.contains(w))
        {
            text = text.replace(&*value, "***");
        }
    }
    let redacted: Vec<String> = text.split_whitespace().map(url).collect();
    let mut text = redacted.join(" ");
    let end = text
        .char_indices()
        .nth(MAX_LENGTH)
        .map_or(text.len(), |(i, _)| i);
    text.truncate(end);
    text
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = text.get(text.find(from)? + from.len()..)?;
    rest.get(..rest.find(to)?)
}

/// Removes user and query if the word is a URL.
fn url(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.into();
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    let host = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(host).unwrap_or((rest, ""));
    format!(
        "{scheme}://{}{path}",
        host.rsplit_once('@').map_or(host, |(_, host)| host)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_contain_no_secrets() {
        let text = "Error performing GET https://me:pass@h/x?X-Sig=abc in 1ms - Server returned non-2xx status code: 403 Forbidden: \
                    <?xml?><Error><Code>SignatureDoesNotMatch</Code><CanonicalRequest>x-amz-security-token:hush</CanonicalRequest></Error>";
        let message = redact(text);
        assert!(
            message.ends_with("403 Forbidden (SignatureDoesNotMatch)")
                && message.contains("GET https://h/x in"),
            "{message}"
        );
        assert!(
            !["abc", "pass", "hush"].iter().any(|s| message.contains(s)),
            "{message}"
        );
        assert!(redact(&"é".repeat(1000)).len() <= 2 * MAX_LENGTH);
    }
}
