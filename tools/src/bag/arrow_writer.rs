//! Records become a file or a stream of Arrow's IPC format, with one binary column, `record`.

use super::records::{Batch, Sink};
use crate::failure;
use crate::failure::Result;
use crate::ipc::{IpcWriter, failed};
use crate::output::Output;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

pub struct ArrowWriter<'a, 'o> {
    /// The source of the records, for messages.
    path: &'a str,
    output: &'a mut Output<'o>,
    ipc: IpcWriter<'a>,
    schema: SchemaRef,
    pub done: u64,
}

impl<'a, 'o> ArrowWriter<'a, 'o> {
    pub fn new(path: &'a str, output: &'a mut Output<'o>, is_file: bool) -> Result<Self> {
        let field = Field::new("record", DataType::Binary, true);
        let schema = Arc::new(Schema::new(vec![field]));
        Ok(ArrowWriter {
            path,
            output,
            ipc: IpcWriter::new(path, &schema, is_file)?,
            schema,
            done: 0,
        })
    }

    fn write(&mut self, array: BinaryArray) -> Result {
        let column: ArrayRef = Arc::new(array);
        let batch = RecordBatch::try_new(self.schema.clone(), vec![column]);
        self.ipc.write(&batch.map_err(failed(self.path))?, self.output)
    }

    /// Writes the end. Returns the number of records.
    pub fn finish(self) -> Result<u64> {
        self.ipc.finish(self.output)?;
        Ok(self.done)
    }
}

impl Sink for ArrowWriter<'_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        let bytes = batch.bytes();
        let first = batch.offsets.first().copied().unwrap_or(0);
        let offsets: Vec<i32> = batch
            .offsets
            .iter()
            .map(|offset| i32::try_from(offset - first))
            .collect::<Result<_, _>>()
            .map_err(|_| {
                let (path, n) = (self.path, self.done);
                failure!(
                    "{path}: record {n} is too long for Arrow's 32-bit offsets (--to lengths64)"
                )
            })?;
        let offsets = OffsetBuffer::new(offsets.into());
        let array = BinaryArray::try_new(offsets, Buffer::from(bytes), None);
        self.write(array.map_err(failed(self.path))?)?;
        self.done += batch.len() as u64;
        Ok(())
    }

    /// A record that is skipped is null.
    fn skip(&mut self) -> Result {
        let nulls = Some(NullBuffer::new_null(1));
        let array = BinaryArray::try_new(OffsetBuffer::new_zeroed(1), Buffer::from(&[]), nulls);
        self.write(array.map_err(failed(self.path))?)?;
        self.done += 1;
        Ok(())
    }
}
