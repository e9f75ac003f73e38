//! Records become a plain file.

use super::records::{Batch, Sink, masked_crc32c};
use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use crate::output::Output;

pub struct Printer<'a, 'o> {
    pub format: DataFormat,
    /// The source of the records, for messages.
    pub path: &'a FileName,
    pub output: &'a mut Output<'o>,
    /// Records printed so far.
    pub done: u64,
}

impl Printer<'_, '_> {
    fn refuse(&self, why: &str) -> Result {
        Err(failure!("{}: record {} {why}", self.path, self.done))
    }

    fn print(&mut self, record: &[u8]) -> Result {
        let length = (record.len() as u64).to_le_bytes();
        match self.format {
            DataFormat::Lengths32 if record.len() > u32::MAX as usize => {
                return self.refuse("is too long for a length of 4 bytes (--to lengths64)");
            }
            DataFormat::Lengths32 => self.output.bytes(&length[..4])?,
            DataFormat::Lengths64 => self.output.bytes(&length)?,
            DataFormat::TfRecord => {
                self.output.bytes(&length)?;
                self.output.bytes(&masked_crc32c(&length).to_le_bytes())?;
                self.output.bytes(record)?;
                return self.output.bytes(&masked_crc32c(record).to_le_bytes());
            }
            _ => {
                if memchr::memchr(b'\n', record).is_some() {
                    return self.refuse(
                        "has a newline in it, and is no line (convert --to lengths64 takes any)",
                    );
                }
                self.output.bytes(record)?;
                return self.output.bytes(b"\n");
            }
        }
        self.output.bytes(record)
    }
}

impl Sink for Printer<'_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        for record in batch.iter() {
            self.print(record)?;
            self.done += 1;
        }
        Ok(())
    }
}
