//! Records become a file or a stream of Arrow's IPC format, with one binary column, `record`.

use super::records::{Batch, Sink};
use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use crate::ipc::{IpcWriter, failed};
use crate::output::Output;
use arrow_array::{BinaryArray, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

pub struct ArrowWriter<'a, 'o> {
    /// The source of the records, for messages.
    path: &'a FileName,
    output: &'a mut Output<'o>,
    ipc: IpcWriter<'a>,
    schema: SchemaRef,
    done: u64,
}

impl<'a, 'o> ArrowWriter<'a, 'o> {
    pub fn new(path: &'a FileName, output: &'a mut Output<'o>, is_file: bool) -> Result<Self> {
        let field = Field::new("record", DataType::Binary, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let ipc = IpcWriter::new(path, &schema, is_file)?;
        Ok(ArrowWriter { path, output, ipc, schema, done: 0 })
    }

    fn write(&mut self, offsets: Vec<i32>, bytes: &[u8], nulls: Option<NullBuffer>) -> Result {
        self.done += offsets.len() as u64 - 1;
        let offsets = OffsetBuffer::new(offsets.into());
        let batch = BinaryArray::try_new(offsets, Buffer::from(bytes), nulls)
            .and_then(|array| RecordBatch::try_new(self.schema.clone(), vec![Arc::new(array)]));
        self.ipc.write(&batch.map_err(failed(self.path))?, self.output)
    }

    /// Writes the end.
    pub fn finish(self) -> Result {
        self.ipc.finish(self.output)
    }
}

impl Sink for ArrowWriter<'_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        let first = batch.offsets.first().copied().unwrap_or(0);
        let offsets = batch.offsets.iter().map(|offset| i32::try_from(offset - first));
        let offsets = offsets.collect::<Result<Vec<_>, _>>().map_err(|_| {
            let (path, n) = (self.path, self.done);
            failure!("{path}: record {n} is too long for Arrow's 32-bit offsets (--to lengths64)")
        })?;
        self.write(offsets, batch.bytes(), None)
    }

    /// A record that is skipped is null.
    fn skip(&mut self) -> Result {
        self.write(vec![0, 0], &[], Some(NullBuffer::new_null(1)))
    }
}
