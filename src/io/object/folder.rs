//! A bucket, or a key prefix in it, as a folder.
#![forbid(unsafe_code)]

use super::file;
use super::name::{self, Name, Scheme};
use super::opened;
use super::store::Store;
use super::upload::Upload;
use crate::error::{Error, Result, fail};
use crate::io::{Access, File, Folder, file::Located, lock::Lock, read_only};
use futures_util::stream::StreamExt;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

struct ObjectFolder {
    store: Arc<Store>,
    /// Prefix of all keys: "", or a path that ends with a slash.
    prefix: String,
}

/// Returns folder and name of an object. The text starts with this scheme.
pub fn locate(scheme: &str, text: &OsStr) -> Result<Located> {
    let name = name::parse(scheme, text)?;
    let (prefix, own) = name.parts();
    if own.is_empty() {
        return Err(fail!(
            Argument,
            "{}/{prefix}: the name of an object is missing",
            name.shown
        ));
    }
    let folder: Arc<dyn Folder> = Arc::new(ObjectFolder {
        store: Store::of(&name)?,
        prefix: prefix.into(),
    });
    Ok(Located {
        folder,
        name: own.into(),
        given: own.into(),
    })
}

/// Returns the folder of this name.
pub fn folder(scheme: &str, text: &OsStr) -> Result<Arc<dyn Folder>> {
    let Name { key, .. } = &name::parse(scheme, text)?;
    let slash = if key.is_empty() || key.ends_with('/') {
        ""
    } else {
        "/"
    };
    Ok(Arc::new(ObjectFolder {
        store: Store::of(&name::parse(scheme, text)?)?,
        prefix: format!("{key}{slash}"),
    }))
}

/// Returns whether the name is a folder: no object has it, but it is the prefix of object names.
/// For web servers, which cannot list, it is a folder if no such object exists.
pub fn is_folder(scheme: &str, text: &OsStr) -> bool {
    let Ok(name) = name::parse(scheme, text) else {
        return false;
    };
    if name.key.ends_with('/') {
        return true;
    }
    let asked = || {
        let store = Store::of(&name)?;
        if opened::exists(&store, &name.key)? {
            return Ok::<_, Error>(false);
        }
        let prefix = store.path(&name.key)?;
        let first = async { store.inner().list(Some(&prefix)).next().await.transpose() };
        Ok(name.scheme == Scheme::Http || store.wait(store.step(&name.key, first))?.is_some())
    };
    asked().unwrap_or(false)
}

impl ObjectFolder {
    fn key(&self, name: &OsStr) -> Result<String> {
        let name = name.to_str().ok_or_else(|| {
            fail!(
                Argument,
                "{}: the name of an object must be UTF-8",
                self.show(name)
            )
        })?;
        Ok(format!("{}{name}", self.prefix))
    }

    fn immutable(&self, name: &OsStr) -> Error {
        fail!(
            Unsupported,
            "{}: objects cannot be changed in place (HOLDALL_APPEND), and only bags can be written to object stores; rewrite the bag, or add a shard",
            self.show(name)
        )
    }

    /// Lists keys in a folder of the store after `after`, as long as `is_requested` accepts them.
    fn keys(
        &self,
        below: &str,
        after: &str,
        is_requested: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        if self.store.scheme() == Scheme::Http {
            return Err(fail!(
                Unsupported,
                "{}: web servers cannot list objects; specify the number of shards (@N)",
                self.store.show(after)
            ));
        }
        let (inner, folder) = (
            self.store.inner(),
            Path::parse(below).map_err(|e| self.store.failure(below, &e.into()))?,
        );
        let folder = Some(folder).filter(|f| !f.as_ref().is_empty());
        let all = async {
            let mut keys = Vec::new();
            let mut found =
                inner.list_with_offset(folder.as_ref(), &Path::parse(after).unwrap_or_default());
            while let Some(next) = self
                .store
                .step(below, async { found.next().await.transpose() })
                .await?
            {
                if !is_requested(next.location.as_ref()) {
                    break;
                }
                keys.push(next.location.to_string());
            }
            Ok(keys)
        };
        self.store.wait(all)
    }
}

impl Folder for ObjectFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        match access {
            Access::Read | Access::Map => {
                let object = opened::open(&self.store, &self.key(name)?)?;
                Ok(object)
            }
            Access::Write | Access::WriteBeside | Access::Create => Err(self.immutable(name)),
        }
    }

    fn rename(&self, from: &OsStr, _: &OsStr) -> Result<()> {
        Err(self.immutable(from))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        let key = self.key(name)?;
        let path = self.store.path(&key)?;
        self.store
            .wait(self.store.step(&key, self.store.inner().delete(&path)))
    }

    fn sync(&self) -> Result<()> {
        Ok(()) // what a store has taken in it keeps
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        let key = self.key(name)?;
        if let Some(object) = opened::known(&self.store, &key) {
            return Ok(object.map(|object| object.identity()));
        }
        Ok(self.store.head(&key)?.map(|meta| file::identity(&meta)))
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Ok(Lock::none())
    }

    fn show(&self, name: &OsStr) -> String {
        self.store
            .show(&format!("{}{}", self.prefix, name.display()))
    }

    fn is_store(&self) -> bool {
        true
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        Err(self.immutable(name))
    }

    fn upload(&self, name: &OsStr, only_new: bool) -> Result<Arc<dyn File>> {
        Ok(Arc::new(Upload::new(
            &self.store,
            &self.key(name)?,
            only_new,
        )?))
    }

    fn writable(&self) -> Result<()> {
        if self.store.scheme() == Scheme::Http {
            Err(read_only(&self.show(OsStr::new(""))))
        } else {
            Ok(())
        }
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        let below = self.key(name)?;
        let below = if below.is_empty() || below.ends_with('/') {
            below
        } else {
            format!("{below}/")
        };
        let keys = self.keys(below.trim_end_matches('/'), &below, |_| true)?;
        let own = |key: &String| Some(OsString::from(key.strip_prefix(&below)?.split('/').next()?));
        let mut names: Vec<OsString> = keys.iter().filter_map(own).collect();
        names.dedup();
        Ok(names)
    }

    fn files(&self) -> Result<Vec<OsString>> {
        let keys = self.keys(self.prefix.trim_end_matches('/'), &self.prefix, |_| true)?;
        let own = keys.iter().filter_map(|key| key.strip_prefix(&self.prefix));
        Ok(own.map(OsString::from).collect())
    }

    fn list_beginning(&self, start: &OsStr) -> Result<Vec<OsString>> {
        let start = self.key(start)?;
        let keys = self.keys(self.prefix.trim_end_matches('/'), &start, |key| {
            key.starts_with(&start)
        })?;
        let own = keys
            .iter()
            .filter_map(|key| key.strip_prefix(&self.prefix))
            .filter(|name| !name.contains('/'));
        Ok(own.map(OsString::from).collect())
    }
}
