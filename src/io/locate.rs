//! Maps the text of a name to its storage.
//!
//! A text that starts with the scheme of an object store is passed on unchanged, and that store
//! parses it. Any other text is a local path, optionally prefixed with `posix:` or `/posix:`. An
//! existing local file of the same name takes precedence over a scheme. A name that continues after
//! that of a zip archive, such as `x.b2z/group/a.b2nd`, is a member of the archive.
#![forbid(unsafe_code)]

use super::file::{self, Located};
use super::zip::ZipFolder;
use super::{A_FOLDER, Folder, object, overlay, read_only};
use crate::error::{Result, fail};
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::path::{Path, is_separator};
use std::sync::Arc;

/// Schemes of storage that is reached over a network.
const SCHEMES: [&str; 5] = ["gs", "s3", "az", "http", "https"];
const LOCAL: &[u8] = b"posix";
/// End of the name of a zip archive whose members have paths.
const ARCHIVE: &[u8] = b".b2z";

/// Splits a name at the first `:`, as Bagz does. A leading `/` is skipped.
fn split(text: &OsStr) -> Option<(&[u8], &[u8])> {
    let bytes = text.as_bytes();
    let plain = bytes.strip_prefix(b"/").unwrap_or(bytes);
    let (before, from) = plain.split_at_checked(plain.iter().position(|&b| b == b':')?)?;
    from.split_first().map(|(_, after)| (before, after))
}

/// Returns the scheme of a text, if any: `gs://b/x`, and the Bagz forms `gs:b/x` and `/gs:b/x`.
pub fn scheme(text: &OsStr) -> Option<&'static str> {
    let (before, _) = split(text)?;
    SCHEMES.into_iter().find(|s| s.as_bytes() == before)
}

/// Returns folder and name of a file.
pub fn locate(text: &OsStr) -> Result<Located> {
    if let Some((archive, member)) = archive_and_member(text) {
        return locate_member(archive, member);
    }
    match scheme(text) {
        Some(s) if !is_local(text) => object::locate(s, text),
        _ => file::locate(local(text)),
    }
    .map(with_overlay)
}

/// Like [`locate`], for callers that open the file next (see [`file::locate_to_open`]).
pub fn locate_to_open(text: &OsStr) -> Result<Located> {
    if let Some((archive, member)) = archive_and_member(text) {
        return locate_member(archive, member);
    }
    match scheme(text) {
        Some(s) if !is_local(text) => object::locate(s, text),
        _ => file::locate_to_open(local(text)),
    }
    .map(with_overlay)
}

/// Like [`locate`], for callers that change the file (see [`file::locate_for_change`]).
pub fn locate_for_change(text: &OsStr) -> Result<Located> {
    if archive_and_member(text).is_some() {
        return Err(read_only(&text.display().to_string()));
    }
    match scheme(text) {
        Some(s) if !is_local(text) => object::locate(s, text),
        _ => file::locate_for_change(local(text)),
    }
    .map(with_overlay)
}

/// Returns the name of a zip archive and the path of a member, if the name continues after that of
/// an archive.
fn archive_and_member(text: &OsStr) -> Option<(&OsStr, &OsStr)> {
    continued(text, &[ARCHIVE]).find(|(archive, _)| match is_local_name(archive) {
        true => Path::new(local(archive)).is_file(),
        false => exists(archive),
    })
}

/// Returns the names in a path that end in one of some extensions, each with what follows it:
/// "x.b2z" and "a" for "x.b2z/a".
pub fn continued<'a>(
    path: &'a OsStr,
    extensions: &'a [&'a [u8]],
) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
    let bytes = path.as_bytes();
    let mut from = 0;
    let dots = std::iter::from_fn(move || {
        let dot = from + bytes.get(from..)?.iter().position(|b| *b == b'.')?;
        from = dot + 1;
        Some(dot)
    });
    dots.filter_map(move |dot| {
        let end = dot
            + bytes
                .get(dot..)?
                .iter()
                .position(|b| is_separator((*b).into()))?;
        let (name, rest) = bytes.split_at_checked(end)?;
        let rest = rest.get(1..).filter(|rest| !rest.is_empty())?;
        let is_named = extensions.contains(&bytes.get(dot..end)?);
        is_named.then_some((OsStr::from_bytes(name), OsStr::from_bytes(rest)))
    })
}

fn locate_member(archive: &OsStr, member: &OsStr) -> Result<Located> {
    let outer = locate(archive)?;
    Ok(Located {
        folder: Arc::new(ZipFolder::open(&outer.folder, &outer.name)?),
        name: member.to_owned(),
        given: member.to_owned(),
    })
}

/// Returns the folder of this name (see [`file::folder`]).
pub fn folder(text: &OsStr) -> Result<Arc<dyn Folder>> {
    folder_with_links(text, false)
}

/// Like [`folder`]. Links that lead out of the folder are followed if `follows_links`.
pub fn folder_with_links(text: &OsStr, follows_links: bool) -> Result<Arc<dyn Folder>> {
    match scheme(text) {
        Some(s) if !is_local(text) => object::folder(s, text),
        _ => file::folder(local(text), follows_links),
    }
    .map(|folder| {
        let kind = if follows_links {
            "folder with links "
        } else {
            "folder "
        };
        overlay::wrap(kind, folder)
    })
}

/// Creates a container in a local folder, which is created if it does not exist: `make` then gets
/// the folder above.
pub fn in_new_folder<T>(
    path: &OsStr,
    make: impl FnOnce(Option<Arc<dyn Folder>>) -> Result<T>,
) -> Result<T> {
    // without a trailing slash
    let it = locate_for_change(Path::new(path).components().as_path().as_os_str())?;
    let is_new = !it.folder.exists(&it.name)?;
    if !is_new && it.folder.obstacle(&it.name)? != Some(A_FOLDER) {
        let message =
            "it is a file, which HOLDALL_REPLACE does not replace by a folder; rename or remove it";
        return Err(fail!(Exists, "{}: {message}", it.folder.show(&it.name)));
    }
    it.folder.make_folder(&it.name)?;
    make(is_new.then(|| it.folder.clone())).inspect_err(|_| {
        if is_new {
            let _ = it.folder.remove_folder(&it.name);
        }
    })
}

/// Returns whether a folder of this name exists.
pub fn is_folder(text: &OsStr) -> bool {
    match scheme(text) {
        Some(s) if !is_local(text) => object::is_folder(s, text),
        _ => Path::new(local(text)).is_dir(),
    }
}

/// Returns whether a file of this name exists. A name that cannot be queried does not exist: a list
/// of many names, for example, exceeds the maximum length of a name.
pub fn exists(text: &OsStr) -> bool {
    locate(text)
        .and_then(|l| l.folder.exists(&l.name))
        .unwrap_or(false)
}

/// Returns the suffixes of all names that start with this text. The text names a file and may end
/// within a name.
pub fn suffixes(text: &OsStr) -> Result<Vec<OsString>> {
    let l = match scheme(text) {
        Some(s) if !is_local(text) => object::locate(s, text),
        _ => file::locate_itself(local(text)),
    }?;
    let names = l.folder.list_beginning(&l.name)?;
    let suffix = |n: &OsString| {
        n.as_bytes()
            .get(l.name.len()..)
            .map(|e| OsStr::from_bytes(e).to_owned())
    };
    Ok(names.iter().filter_map(suffix).collect())
}

/// Wraps the folder in the overlay of the current dry run, if any.
fn with_overlay(l: Located) -> Located {
    Located {
        folder: overlay::wrap("in ", l.folder),
        ..l
    }
}

fn local(text: &OsStr) -> &OsStr {
    match split(text) {
        Some((LOCAL, path)) if !is_local(text) => OsStr::from_bytes(path),
        _ => text,
    }
}

/// Returns whether a text names a local file or folder, which need not exist.
pub fn is_local_name(text: &OsStr) -> bool {
    scheme(text).is_none() || is_local(text)
}

fn is_local(text: &OsStr) -> bool {
    Path::new(text).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        for (text, expected) in [
            ("gs://b/x", Some("gs")),
            ("gs:b/x", Some("gs")),
            ("/gs:b/x", Some("gs")),
            ("s3://b/x", Some("s3")),
            ("https://h/x", Some("https")),
            ("//gs:b/x", None),
            ("gs", None),
            ("co:lon.bag", None),
            ("./gs:b/x", None),
            ("posix:/a", None),
            ("GS://b/x", None),
            (":", None),
            ("", None),
        ] {
            assert_eq!(scheme(OsStr::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn local_names() {
        let dir = std::env::temp_dir().join(format!("holdall-locate-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = |name: &str| dir.join(name).into_os_string();
        std::fs::write(path("s-2"), b"").unwrap();
        std::fs::write(path("t-1"), b"").unwrap();
        std::os::unix::fs::symlink("/", path("s-")).unwrap();
        // a link whose name equals the prefix is not followed
        let mut found = suffixes(&path("s-")).unwrap();
        found.sort();
        assert_eq!(found, ["", "2"]);
        let posix = super::super::beside("posix:", &path("t-1"), "");
        assert!(
            exists(&posix)
                && exists(&path("t-1"))
                && !exists(&path("t-2"))
                && !exists(&path(&"long".repeat(100)))
        );
        let slash = super::super::beside("/posix:", &path("t-1"), "");
        for text in [&posix, &slash] {
            assert_eq!(locate(text).unwrap().name, "t-1");
            assert_eq!(suffixes(text).unwrap(), [""]);
            assert!(
                exists(text) && !is_folder(text) && locate_for_change(text).unwrap().name == "t-1"
            );
        }
        assert!(
            is_folder(&super::super::beside("/posix:", dir.as_os_str(), ""))
                && local(OsStr::new("//posix:/t")) == "//posix:/t"
        );
        assert_eq!(
            ["posix:", "/posix:", "/posix:x"].map(|t| local(OsStr::new(t))),
            ["", "", "x"]
        );
        std::fs::remove_dir_all(&dir).unwrap();
        #[cfg(not(feature = "cloud"))]
        {
            let e = locate(OsStr::new("gs://b/x")).err().unwrap();
            let says = |text: &str| e.message.contains(text);
            assert!(
                e.status == crate::error::Status::Unsupported
                    && says("gs://b/x")
                    && says("-DHOLDALL_CLOUD=ON"),
                "{e}"
            );
        }
    }
}
