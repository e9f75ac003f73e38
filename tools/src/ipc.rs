//! Files and streams of Arrow's IPC format.

use crate::failure;
use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use std::io::{self, Write};

/// Encoded batches in memory. A failed allocation is an error, other than in a vector.
#[derive(Default)]
struct Encoded(Vec<u8>);

impl Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes into memory, which goes to the output after each batch.
enum Ipc {
    File(FileWriter<Encoded>),
    Stream(StreamWriter<Encoded>),
}

pub struct IpcWriter<'a> {
    /// The source of the batches, for messages.
    path: &'a FileName,
    ipc: Ipc,
}

/// The failure of Arrow to represent what is at a path.
pub fn failed(path: &FileName) -> impl Fn(ArrowError) -> Failure {
    move |error| failure!("{path}: {error}")
}

impl<'a> IpcWriter<'a> {
    pub fn new(path: &'a FileName, schema: &Schema, is_file: bool) -> Result<IpcWriter<'a>> {
        let ipc = match is_file {
            true => FileWriter::try_new(Encoded::default(), schema).map(Ipc::File),
            false => StreamWriter::try_new(Encoded::default(), schema).map(Ipc::Stream),
        };
        let ipc = ipc.map_err(failed(path))?;
        Ok(IpcWriter { path, ipc })
    }

    pub fn write(&mut self, batch: &RecordBatch, output: &mut Output) -> Result {
        let written = match &mut self.ipc {
            Ipc::File(file) => file.write(batch),
            Ipc::Stream(stream) => stream.write(batch),
        };
        written.map_err(failed(self.path))?;
        self.pass_on(output)
    }

    /// Writes the end.
    pub fn finish(mut self, output: &mut Output) -> Result {
        let finished = match &mut self.ipc {
            Ipc::File(file) => file.finish(),
            Ipc::Stream(stream) => stream.finish(),
        };
        finished.map_err(failed(self.path))?;
        self.pass_on(output)
    }

    fn pass_on(&mut self, output: &mut Output) -> Result {
        let bytes = match &mut self.ipc {
            Ipc::File(file) => file.get_mut(),
            Ipc::Stream(stream) => stream.get_mut(),
        };
        output.bytes(&bytes.0)?;
        bytes.0.clear();
        Ok(())
    }
}
