//! Proxies of python-blosc2: frames whose content is that of another container. Their chunks cache
//! parts of it.
//!
//! Source: `proxy.py` of python-blosc2 4.14.1. The metalayer `proxy-source` is a MessagePack map:
//! `source_kind` is "local" (absent before 4.13, and nil for objects without a file), and
//! `local_abspath` is the path that the source was opened with, which may be relative to the working
//! directory.
//!
//! The path leads out of the file, so it is followed only if `HOLDALL_OPT_FOLLOW_LINKS` permits it;
//! python-blosc2 asks for the same permission. The source is read instead of the cache, of which only
//! python-blosc2 knows what it contains.
#![forbid(unsafe_code)]

use super::detect::{header_at, header_in};
use super::header::Header;
use super::metalayers::PROXY_SOURCE;
use crate::error::{Result, fail};
use crate::io::Folder;
use crate::msgpack::{self, Token};
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Metalayers that have the shape and the dtype of an array.
const SHAPES: [&str; 2] = ["b2nd", "caterva"];

/// A proxy whose source is a local file.
pub struct Proxy {
    header: Header,
    source: String,
    name: String,
}

impl Proxy {
    /// Returns the proxy `name` in `folder`; none if this is no proxy, or the options do not permit
    /// to follow it.
    pub fn find(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        options: &Options,
    ) -> Result<Option<Proxy>> {
        if !options.follows_links() {
            return Ok(None);
        }
        // opening reports why a header cannot be read
        let Ok(Some(header)) = header_in(folder, name, options) else {
            return Ok(None);
        };
        let Some(value) = header.meta(PROXY_SOURCE) else {
            return Ok(None);
        };
        let name = name.display().to_string();
        let source = local_source(value).ok_or_else(|| {
            fail!(
                Unsupported,
                "{name}: a proxy whose source is not a local file; copy the source instead"
            )
        })?;
        Ok(Some(Proxy {
            header,
            source,
            name,
        }))
    }

    /// Opens the source, which must have the items that it had when the proxy was created, and must
    /// not be a proxy itself.
    pub fn open<T>(
        &self,
        options: &Options,
        open: impl FnOnce(&OsStr, &Options) -> Result<T>,
    ) -> Result<T> {
        let mut options = options.clone();
        options.take(Opt::FollowLinks);
        options.take(Opt::At);
        let path = OsString::from(&self.source);
        let header = header_at(&path, &options);
        header
            .and_then(|header| self.check(header.as_ref()))
            .and_then(|()| open(&path, &options))
            .map_err(|e| e.within(format_args!("{}: the source {:?}", self.name, self.source)))
    }

    fn check(&self, source: Option<&Header>) -> Result<()> {
        let proxy = &self.header;
        let same = source.is_some_and(|source| {
            let is_equal = |name| source.meta(name) == proxy.meta(name);
            (source.nbytes, source.typesize) == (proxy.nbytes, proxy.typesize)
                && SHAPES.into_iter().all(is_equal)
        });
        if same {
            return Ok(());
        }
        Err(fail!(
            State,
            "not found, or with other items than when the proxy was created: another size, shape, dtype or chunk shape"
        ))
    }
}

/// Returns the path of a local source.
fn local_source(mut value: &[u8]) -> Option<String> {
    let Some(Token::Map(n)) = msgpack::next(&mut value) else {
        return None;
    };
    let mut path = None;
    for _ in 0..n {
        let key = msgpack::next(&mut value)?;
        let mut content = msgpack::value(&mut value)?;
        match (key, msgpack::next(&mut content)?) {
            (Token::Text(b"source_kind"), Token::Nil | Token::Text(b"local")) => {}
            (Token::Text(b"source_kind"), _) => return None,
            (Token::Text(b"local_abspath"), Token::Text(text)) => path = Some(text),
            _ => {}
        }
    }
    let path = String::from_utf8(path?.to_vec()).ok()?;
    // an object store; older caches have it here
    (!path.contains("://")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::local_source;

    #[test]
    fn only_local_sources_are_followed() {
        let found = |bytes: &[u8]| local_source(bytes);
        let own = b"\x82\xabsource_kind\xa5local\xadlocal_abspath\xa6a.b2nd";
        assert_eq!(found(own).as_deref(), Some("a.b2nd"));
        // before source_kind was recorded
        assert_eq!(
            found(b"\x82\xadlocal_abspath\xa6a.b2nd\xa7urlpath\xc0").as_deref(),
            Some("a.b2nd")
        );
        for other in [
            &b"\x82\xabsource_kind\xa6fsspec\xadlocal_abspath\xa6a.b2nd"[..],
            b"\x81\xadlocal_abspath\xa8s3://b/a",
            b"\x81\xadlocal_abspath\xc0",
            b"\x81\xadlocal_abspath\xa2\xff\xfe",
            b"\x90",
            b"",
        ] {
            assert_eq!(found(other), None, "{other:?}");
        }
        for n in 0..own.len() {
            assert_eq!(found(&own[..n]), None, "{n} bytes");
        }
    }
}
