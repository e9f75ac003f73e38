//! Rows of a table in Arrow's IPC format.

use super::frame::Stored;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::ipc::{IpcWriter, failed};
use crate::output::Output;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{RecordBatch, StructArray};
use arrow_schema::Schema;
use holdall::{ArrowArray, ArrowSchema, Table};

/// Moves a schema of the library to the crate `arrow-schema`, whose type has the same layout.
fn schema(mut schema: ArrowSchema) -> FFI_ArrowSchema {
    // SAFETY: the pointer is to a valid structure of C, which is released in its old location
    unsafe { FFI_ArrowSchema::from_raw(schema.as_mut_ptr().cast()) }
}

/// Moves a batch of the library to the crate `arrow-array`.
fn batch(mut array: ArrowArray, schema: &FFI_ArrowSchema, path: &FileName) -> Result<RecordBatch> {
    // SAFETY: as for the schema, which is that of the array
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_mut_ptr().cast()), schema) };
    Ok(StructArray::from(data.map_err(failed(path))?).into())
}

/// Prints the columns of a frame, as a file or a stream.
pub fn table(stored: &Stored, table: &Table, is_file: bool, output: &mut Output) -> Result {
    let path = stored.path;
    let columns: Vec<&str> = stored.frame.columns.iter().map(|column| &*column.name).collect();
    let reader = match stored.list {
        Some(rows) => table.points_to_arrow(&columns, rows, 0),
        None => table.columns_to_arrow(&columns, .., 0),
    };
    let reader = reader.map_err(library(path))?;
    let fields = schema(reader.schema().map_err(library(path))?);
    let schema = Schema::try_from(&fields).map_err(failed(path))?;
    let mut writer = IpcWriter::new(path, &schema, is_file)?;
    for array in reader {
        writer.write(&batch(array.map_err(library(path))?, &fields, path)?, output)?;
    }
    writer.finish(output)
}
