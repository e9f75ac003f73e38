//! Copies records of a bag, or of a slice of one, to another bag.
#![forbid(unsafe_code)]

use super::batch::BatchConfig;
use super::{Bag, Requested, Writer};
use crate::error::{Result, fail};
use crate::progress::{Scope, Step};

impl Bag {
    /// Appends records as [`Bag::copy_records`] does, and commits.
    pub fn copy(&self, indices: Option<&[u64]>, to: &mut Writer) -> Result<bool> {
        let scope = Scope::open(to.progress(), self.bytes(), Step::Call);
        let damaged = self.copy_records(indices, to)?;
        to.commit()?;
        scope.finish();
        Ok(damaged)
    }

    /// Appends all records, or those at `indices`, in any order, to `to`. Returns true if a record
    /// is corrupt and became empty, as the options of this bag request.
    ///
    /// Every record is decoded, which verifies it. If the writer would store frames of the same form,
    /// and no level was requested, the stored frames are appended as they are.
    pub fn copy_records(&self, indices: Option<&[u64]>, to: &mut Writer) -> Result<bool> {
        if let Some(i) = indices.and_then(|all| all.iter().position(|index| *index >= self.size)) {
            let index = indices.and_then(|all| all.get(i)).copied().unwrap_or(0);
            let message = fail!(Range, "record {index} of {}", self.size);
            return Err(message.at(i as u64));
        }
        let of = indices.map_or(Requested::Range(0, self.size), Requested::Indices);
        Ok(self.append(of, to)?.0)
    }

    /// Appends all records as [`Bag::copy_records`] does. Also returns the size of
    /// their content in bytes.
    pub fn append_to(&self, to: &mut Writer) -> Result<(bool, u64)> {
        self.append(Requested::Range(0, self.size), to)
    }

    fn append(&self, of: Requested, to: &mut Writer) -> Result<(bool, u64)> {
        let scope = Scope::open(to.progress(), self.bytes(), Step::Call);
        let (all, mut damaged, mut done, mut bytes) = (of.count(), false, 0, 0);
        to.adopt_dictionary(self, all.saturating_mul(self.mean_record_size()))?;
        let config = BatchConfig {
            frames: to.form_of_frames(self)?,
            ..self.batch_config()
        };
        self.batches(of, config, &mut |_, records| {
            let records = records?;
            damaged |= !records.damaged.is_empty();
            match config.frames {
                Some(_) => to.append_frames(records)?,
                None => to.append_many(&records.data, &records.offsets)?,
            }
            done += records.len() as u64;
            bytes += records.data.len() as u64;
            scope.at_part(done, all)
        })?;
        Ok((damaged, bytes))
    }
}
