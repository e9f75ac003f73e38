//! An object that is being written, from its beginning to its end: nobody sees it before it is
//! published, and an upload that is dropped leaves nothing.
//!
//! A small one waits here and is put at once. A large one goes in parts, of which some are under
//! way while others come. An upload in parts has no "only where nothing is" that all stores know:
//! one that wants it has a name of its own until it is whole (`NAME.holdall-new`), is then copied
//! by the store to where nothing may be, and removed.
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

/// Bytes of a part, and the most parts that a store takes.
const PART: usize = 8 << 20;
const MOST_PARTS: u64 = 10_000;
/// Parts under way.
const UNDER_WAY: usize = 4;

/// An upload.
pub struct Upload {
    store: Arc<Store>,
    key: String,
    path: Path,
    shown: String,
    only_new: bool,
    state: Mutex<State>,
    process: u32,
}

#[derive(Default)]
struct State {
    /// Bytes that are no part yet.
    buffer: Vec<u8>,
    written: u64,
    parts: Option<Parts>,
    /// What went wrong, or that all is done.
    over: Option<Error>,
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    /// Where they go.
    path: Path,
    running: JoinSet<object_store::Result<()>>,
}

impl Upload {
    /// To this key; `only_new`: where nothing may be.
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

    fn state(&self) -> Result<MutexGuard<'_, State>> {
        runtime::same_process(self.process, &self.shown)?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.over.clone().map_or(Ok(state), Err)
    }

    async fn begin(&self) -> Result<Parts> {
        let path = if self.only_new {
            self.store.path(&format!("{}{NEW}", self.key))?
        } else {
            self.path.clone()
        };
        let begun = self
            .store
            .inner()
            .put_multipart_opts(&path, PutMultipartOptions::default());
        Ok(Parts {
            upload: self.store.step(&self.key, begun).await?,
            path,
            running: JoinSet::new(),
        })
    }

    /// Waits until only so many parts are under way.
    async fn settle(&self, parts: &mut Parts, most: usize) -> Result<()> {
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

    /// Sends what waits, as one part.
    async fn send(&self, state: &mut State) -> Result<()> {
        if state.written > MOST_PARTS * PART as u64 {
            return Err(fail!(
                Limit,
                "{}: stores here take objects of {} bytes; write more shards",
                self.shown,
                MOST_PARTS * PART as u64
            ));
        }
        if state.parts.is_none() {
            state.parts = Some(self.begin().await?);
        }
        let Some(parts) = &mut state.parts else {
            return Ok(());
        };
        self.settle(parts, UNDER_WAY - 1).await?;
        let part = parts
            .upload
            .put_part(std::mem::take(&mut state.buffer).into());
        parts.running.spawn(part);
        Ok(())
    }

    async fn write(&self, state: &mut State, mut src: &[u8]) -> Result<()> {
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

    async fn finish(&self, state: &mut State) -> Result<()> {
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
        self.settle(parts, 0).await?;
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

    /// Lets the store forget what it has of it.
    async fn abort(&self, state: &mut State) {
        if let Some(mut parts) = state.parts.take() {
            parts.running.abort_all();
            let _ = self.store.step(&self.key, parts.upload.abort()).await;
        }
    }

    /// Ends it with a failure, if that is what came.
    fn end_if_failed(&self, state: &mut State, done: Result<()>) -> Result<()> {
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
                "{}: an upload is written in order: at {}, not at {at}",
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
                "{}: an upload has the {written} bytes that were written",
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
        state.over = Some(fail!(State, "{}: this upload is over", self.shown));
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
