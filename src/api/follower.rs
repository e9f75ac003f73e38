//! Readers that follow a writer.
#![forbid(unsafe_code)]

use super::{Error, Location, Result};
use crate::options::Options;
use crate::watch::{Reopen, Watch, reopened};
use std::ffi::OsStr;
use std::sync::Arc;

/// The generation of a container, and what opens it again at a later commit.
#[derive(Clone, Default)]
pub(super) struct Follower {
    pub(super) generation: u64,
    /// `None`: opened for changes, or part of another container.
    source: Option<Arc<Reopen>>,
}

impl Follower {
    /// Begins to follow a location. To be called before it is opened.
    pub fn new(location: &Location, options: &Options, watch: fn(&OsStr) -> Watch) -> Follower {
        Follower {
            generation: 0,
            source: Some(Arc::new((location.source(watch), options.clone()))),
        }
    }

    /// Opens the container again. Returns `None` if there certainly is no newer commit.
    pub fn refreshed<T>(
        &self,
        open: impl FnOnce(&Location, &Options) -> Result<T>,
    ) -> Result<Option<(T, Follower)>> {
        let Some((source, options)) = reopened(self.source.as_deref()).map_err(Error)? else {
            return Ok(None);
        };
        let opened = open(&Location::of(&source), &options)?;
        let follower = Follower {
            generation: self.generation + 1,
            source: Some(Arc::new((source, options))),
        };
        Ok(Some((opened, follower)))
    }
}
