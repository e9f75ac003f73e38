//! Uploads: an object is written sequentially. It becomes visible when it is published, and a
//! dropped upload leaves nothing.
//!
//! A small object is buffered and written by one request. A large one is uploaded in parts, several
//! of them at once. Multipart uploads have no portable "only if absent" condition. An upload that
//! requires it uses a temporary name (`NAME.holdall-new`). The store then copies the complete
//! object to the final name, on the condition that it is absent, and removes the temporary object.
#![forbid(unsafe_code)]

use super::runtime;
use super::store::Store;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::io::journal::NEW;
use crate::os;
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, MultipartUpload, ObjectStoreExt, PutMode, PutMultipartOptions,
    PutOptions,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;

/// Size of a part in bytes, and the maximum number of parts of an object.
const PART: usize = 8 << 20;
const MAX_PARTS: u64 = 10_000;
/// Number of concurrent part uploads.
const MAX_RUNNING: usize = 4;

/// An upload.
pub struct Upload {
    store: Arc<Store>,
    key: String,
    path: Path,
    shown: String,
    only_new: bool,
    state: Mutex<UploadState>,
    process: u32,
}

#[derive(Default)]
struct UploadState {
    /// Bytes not sent yet.
    buffer: Vec<u8>,
    written: u64,
    parts: Option<MultipartState>,
    /// The error that ended the upload, or the error for calls after its end.
    over: Option<Error>,
}

struct MultipartState {
    upload: Box<dyn MultipartUpload>,
    /// Path of the upload.
    path: Path,
    running: JoinSet<object_store::Result<()>>,
}

impl Upload {
    /// Creates an upload to this key. With `only_new`, publishing fails if the object exists.
    pub fn new(store: &Arc<Store>, key: &str, only_new: bool) -> Result<Upload> {
        let (path, shown) = (store.path(key)?, store.show(key));
        Ok(Upload {
            store: store.clone(),
            key: key.into(),
            path,
            shown,
            only_new,
            state: Mutex::default(),
            process: os::process(),
        })
    }

    fn state(&self) -> Result<MutexGuard<'_, UploadState>> {
        runtime::same_process(self.process, &self.shown)?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.over.clone().map_or(Ok(state), Err)
    }

    async fn begin(&self) -> Result<MultipartState> {
        let path = if self.only_new {
            self.store.path(&format!("{}{NEW}", self.key))?
        } else {
            self.path.clone()
        };
        let begun = self
            .store
            .inner()
            .put_multipart_opts(&path, PutMultipartOptions::default());
        Ok(MultipartState {
            upload: self.store.step(&self.key, begun).await?,
            path,
            running: JoinSet::new(),
        })
    }

    /// Waits until at most `most` parts are in progress.
    async fn wait_until_running(&self, parts: &mut MultipartState, most: usize) -> Result<()> {
        while parts.running.len() > most {
            let done = async {
                parts
                    .running
                    .join_next()
                    .await
                    .map_or(Ok(Ok(())), |r| r.map_err(object_store::Error::from))
                    .and_then(|r| r)
            };
            self.store.step(&self.key, done).await?;
        }
        Ok(())
    }

    /// Sends the buffer as one part.
    async fn send(&self, state: &mut UploadState) -> Result<()> {
        if state.written > MAX_PARTS * PART as u64 {
            return Err(fail!(
                Limit,
                "{}: the object is too long (expected at most {} bytes); write more shards",
                self.shown,
                MAX_PARTS * PART as u64
            ));
        }
        if state.parts.is_none() {
            state.parts = Some(self.begin().await?);
        }
        let Some(parts) = &mut state.parts else {
            return Ok(());
        };
        self.wait_until_running(parts, MAX_RUNNING - 1).await?;
        let part = parts
            .upload
            .put_part(std::mem::take(&mut state.buffer).into());
        parts.running.spawn(part);
        Ok(())
    }

    async fn write(&self, state: &mut UploadState, mut src: &[u8]) -> Result<()> {
        while !src.is_empty() {
            if state.buffer.len() == PART {
                self.send(state).await?;
            }
            let (now, later) = src
                .split_at_checked(PART - state.buffer.len())
                .unwrap_or((src, &[]));
            alloc::reserve(&mut state.buffer, now.len())?;
            state.buffer.extend_from_slice(now);
            state.written += now.len() as u64;
            src = later;
        }
        Ok(())
    }

    async fn finish(&self, state: &mut UploadState) -> Result<()> {
        let (store, key) = (&self.store, self.key.as_str());
        if state.parts.is_none() {
            let mode = if self.only_new {
                PutMode::Create
            } else {
                PutMode::Overwrite
            };
            let put = store.inner().put_opts(
                &self.path,
                std::mem::take(&mut state.buffer).into(),
                PutOptions::from(mode),
            );
            return store.step(key, put).await.map(drop);
        }
        self.send(state).await?;
        let Some(parts) = &mut state.parts else {
            return Ok(());
        };
        self.wait_until_running(parts, 0).await?;
        store.step(key, parts.upload.complete()).await?;
        if !self.only_new {
            return Ok(());
        }
        let whole = parts.path.clone();
        let copied = store.inner().copy_opts(
            &whole,
            &self.path,
            CopyOptions::new().with_mode(CopyMode::Create),
        );
        let copied = store.step(key, copied).await;
        let removed = store.step(key, store.inner().delete(&whole)).await;
        copied.and(removed)
    }

    /// Aborts the multipart upload in the store.
    async fn abort(&self, state: &mut UploadState) {
        if let Some(mut parts) = state.parts.take() {
            parts.running.abort_all();
            let _ = self.store.step(&self.key, parts.upload.abort()).await;
        }
    }

    /// Ends the upload if `done` is an error.
    fn end_if_failed(&self, state: &mut UploadState, done: Result<()>) -> Result<()> {
        if let Err(e) = &done {
            state.over = Some(e.clone());
            state.buffer = Vec::new();
            let _ = runtime::wait(self.abort(state));
        }
        done
    }
}

impl File for Upload {
    fn size(&self) -> Result<u64> {
        Ok(self.state()?.written)
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<usize> {
        Err(fail!(State, "{}: an upload cannot be read", self.shown))
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        let mut state = self.state()?;
        if at != state.written {
            return Err(fail!(
                State,
                "{}: an upload must be written in order (expected offset {}, found {at})",
                self.shown,
                state.written
            ));
        }
        let done = self.store.wait(self.write(&mut state, src));
        self.end_if_failed(&mut state, done)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        let written = self.state()?.written;
        if size == written {
            Ok(())
        } else {
            Err(fail!(
                State,
                "{}: the length of an upload cannot be changed (expected {written}, found {size})",
                self.shown
            ))
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        &self.shown
    }

    fn publish(&self) -> Result<()> {
        let mut state = self.state()?;
        let done = self.store.wait(self.finish(&mut state));
        self.end_if_failed(&mut state, done)?;
        state.parts = None;
        state.over = Some(fail!(State, "{}: this upload has ended", self.shown));
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state() {
            let _ = runtime::wait(self.abort(&mut state));
        }
    }
}
