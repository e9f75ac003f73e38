//! The dictionary of a writer: given, trained from the first records, or that of the records that
//! exist or are copied.
#![forbid(unsafe_code)]

use super::{Writer, encoders};
use crate::bag::Bag;
use crate::bag::dictionary::{self, Dictionary};
use crate::bag::train;
use crate::error::{Result, fail};
use crate::offsets::span;
use std::sync::Arc;

/// Records that are held back to train a dictionary: their bytes, and their number.
const MAX_SAMPLE: usize = 4 << 20;
const MAX_SAMPLES: usize = 1 << 17;
/// A copy retains the dictionary of its source if there are this many bytes of records per byte of it.
const MIN_BYTES_PER_BYTE: u64 = 8;

impl Writer {
    /// Stores the dictionary of the encoding in files that have no records.
    pub(super) fn store_dictionary(&mut self) -> Result<()> {
        let dictionary = self.encoding.dictionary.as_ref();
        if let Some(dictionary) = dictionary.filter(|_| self.encoding.is_stored) {
            let frame = dictionary::to_frame(dictionary)?;
            let shards = self.shards.iter_mut();
            shards.for_each(|s| s.set_dictionary(frame.clone()));
        }
        Ok(())
    }

    /// Continues with the dictionary that the files with records store, or without one.
    pub(super) fn continue_dictionary(
        &mut self,
        found: &[(String, Option<Arc<Dictionary>>)],
    ) -> Result<()> {
        let Some(((shown, first), others)) = found.split_first() else {
            return Ok(());
        };
        self.is_choosing = false;
        let given = self.encoding.dictionary.as_ref();
        let bytes = |d: &Option<Arc<Dictionary>>| d.as_ref().map(|d| d.bytes.clone());
        if let Some((other, _)) = others.iter().find(|(_, d)| bytes(d) != bytes(first)) {
            return Err(fail!(
                Unsupported,
                "{other}: it stores another dictionary than {shown}; append to the shards one by one"
            ));
        }
        match first {
            Some(d) if !d.is_intact => Err(fail!(
                Checksum,
                "{shown}: the dictionary that it stores is corrupt, so that no record can be appended; copy the readable records to a new bag"
            )),
            Some(d) if given.is_some_and(|given| *given != d.bytes) => Err(fail!(
                Argument,
                "HOLDALL_OPT_DICTIONARY: {shown} stores another dictionary (ID {}), which appended records use, too",
                d.id
            )),
            Some(d) => self.set_stored_dictionary(Some(d.bytes.clone())),
            None if self.encoding.is_stored => Err(fail!(
                State,
                "{shown}: it has records and stores no dictionary; copy it to a new bag to add one"
            )),
            None => Ok(()),
        }
    }

    /// Before the first record, continues with the dictionary that the source of a copy stores, if it
    /// is short beside the records, which have about so many bytes.
    pub fn adopt_dictionary(&mut self, source: &Bag, bytes: u64) -> Result<()> {
        if !self.adopts_dictionary || self.encoders.is_none() || self.size() > 0 {
            return Ok(());
        }
        let worth = |d: &Arc<[u8]>| d.len() as u64 <= bytes / MIN_BYTES_PER_BYTE;
        if let Some(dictionary) = source.stored_dictionary()?.filter(worth) {
            self.set_stored_dictionary(Some(dictionary))?;
        }
        Ok(())
    }

    fn set_stored_dictionary(&mut self, dictionary: Option<Arc<[u8]>>) -> Result<()> {
        self.encoding.is_stored = dictionary.is_some();
        self.encoding.dictionary = dictionary;
        self.store_dictionary()?;
        self.encoders = encoders(&self.encoding)?;
        Ok(())
    }

    /// Chooses a dictionary from the records held back and the first of `data`.
    pub(super) fn choose_dictionary(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        let (mut more, all) = (offsets.windows(2), &mut self.unencoded);
        let held_back = all.count();
        while let Some(w) = more.next().filter(|_| all.data.len() < MAX_SAMPLE) {
            all.push(span(data, w))?;
        }
        let chosen = train::choose(&all.data, &all.offsets, &self.encoding, self.threads);
        all.truncate(held_back);
        self.set_stored_dictionary(chosen?)?;
        self.is_choosing = false;
        Ok(())
    }

    /// Returns whether records are held back for the choice of a dictionary: these, too.
    pub(super) fn holds_back(&self, records: usize, bytes: usize) -> bool {
        let (held, held_bytes) = (self.unencoded.count() as usize, self.unencoded.data.len());
        self.is_choosing && held + records <= MAX_SAMPLES && held_bytes + bytes <= MAX_SAMPLE
    }
}
