//! Names of objects: `gs://bucket/key` (also `gs:bucket/key` and `/gs:bucket/key`, as in Bagz), the
//! same with `s3` and `az`, and `http(s)://host/path`.
//!
//! A key is used literally. The path of a URL may contain percent escapes and a query, which may be
//! a signature: it is sent but never shown.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use std::ffi::OsStr;

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Google Cloud Storage.
    Gs,
    /// S3 and compatible stores.
    S3,
    /// Azure Blob Storage.
    Azure,
    /// A read-only web server.
    Http,
}

/// The parsed name of an object or of a folder of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The kind of the store.
    pub scheme: Scheme,
    /// The part before the key, for messages: `gs://bucket`, `https://host`.
    pub shown: String,
    /// Bucket or container; for a URL scheme, user and host.
    pub base: String,
    /// The key of the object.
    pub key: String,
    /// The part of a URL after `?`.
    pub query: String,
}

/// Parses the name of an object with this scheme (see [`super::super::locate::scheme`]).
pub fn parse(scheme: &str, path: &OsStr) -> Result<Name> {
    let Some(text) = path.to_str() else {
        return Err(fail!(
            Argument,
            "{}: the name of an object must be UTF-8",
            path.display()
        ));
    };
    let plain = text.strip_prefix('/').unwrap_or(text);
    let Some((_, rest)) = plain.split_once(':') else {
        return Err(Error::internal(format_args!("{plain:?} has no scheme")));
    };
    let bucket = |of, word| bucket(of, word, rest.trim_start_matches('/'));
    match scheme {
        "gs" => bucket(Scheme::Gs, "gs"),
        "s3" => bucket(Scheme::S3, "s3"),
        "az" => bucket(Scheme::Azure, "az"),
        _ => url(plain),
    }
}

fn bucket(scheme: Scheme, word: &str, text: &str) -> Result<Name> {
    let (bucket, key) = text.split_once('/').unwrap_or((text, ""));
    if bucket.is_empty() {
        return Err(fail!(
            Argument,
            "{word}://{text}: a bucket is missing, as in {word}://bucket/name"
        ));
    }
    Ok(Name {
        scheme,
        shown: format!("{word}://{bucket}"),
        base: bucket.into(),
        key: key.into(),
        query: String::new(),
    })
}

fn url(text: &str) -> Result<Name> {
    let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    // messages never show the user of a URL
    let shown = format!(
        "{scheme}://{}",
        host.rsplit_once('@').map_or(host, |(_, host)| host)
    );
    if host.is_empty() {
        return Err(fail!(Argument, "{shown}: a host is missing"));
    }
    let Some(key) = decode(path) else {
        return Err(fail!(
            Argument,
            "{shown}/{path}: the percent escapes of this URL are not UTF-8"
        ));
    };
    Ok(Name {
        scheme: Scheme::Http,
        shown,
        base: format!("{scheme}://{host}"),
        key,
        query: query.into(),
    })
}

/// Decodes percent escapes. Invalid ones are left unchanged.
fn decode(path: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), path.as_bytes());
    while let [first, after @ ..] = rest {
        let digit = |b: &u8| char::from(*b).to_digit(16);
        if let (b'%', [high, low, after @ ..]) = (first, after)
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            out.push((high * 16 + low) as u8);
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8(out).ok()
}

impl Name {
    /// Splits the key into its folder, with a trailing slash unless it is empty, and the name in
    /// it.
    pub fn parts(&self) -> (&str, &str) {
        let at = self.key.rfind('/').map_or(0, |i| i + 1);
        self.key.split_at_checked(at).unwrap_or(("", &self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_name(text: &str) -> Result<Name> {
        let text = OsStr::new(text);
        parse(crate::io::locate::scheme(text).unwrap(), text)
    }

    fn name(text: &str) -> Name {
        try_name(text).unwrap()
    }

    #[test]
    fn names_of_objects() {
        for same in [
            "gs://b/d/x.bag",
            "gs:b/d/x.bag",
            "/gs:b/d/x.bag",
            "/gs:/b/d/x.bag",
            "gs:/b/d/x.bag",
        ] {
            let n = name(same);
            assert_eq!(
                (n.shown.as_str(), n.base.as_str(), n.parts()),
                ("gs://b", "b", ("d/", "x.bag")),
                "{same}"
            );
        }
        assert_eq!(name("s3://b/x[1]*%20?.bag").key, "x[1]*%20?.bag");
        assert_eq!(name("az://c/x").shown, "az://c");
        for invalid in ["gs:", "s3://", "http:///x", "http:x"] {
            assert!(try_name(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        let n = name("https://me:secret@host:8080/d/a%20b%2.bagz?Signature=secret");
        assert_eq!(
            (n.shown.as_str(), n.key.as_str()),
            ("https://host:8080", "d/a b%2.bagz")
        );
        assert_eq!(
            (n.base.as_str(), n.query.as_str()),
            ("https://me:secret@host:8080", "Signature=secret")
        );
    }
}
