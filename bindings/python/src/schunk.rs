//! Superchunks: a sequence of bytes in compressed chunks.

use crate::buffers::{Bytes, bytes};
use crate::container::{
    Made, Opened, Parts, Stored, Target, Version, add_attribute, format, replaces,
};
use crate::contiguous::Destination;
use crate::errors::{failure, warn_damaged};
use crate::options::{CHECKSUMS, CODECS, FORMATS, name_of, named};
use holdall::{Integrity, Kind, Status};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// The native part of `holdall.Schunk`.
#[pyclass(frozen, subclass, module = "holdall._native")]
pub struct Schunk {
    open: Opened<holdall::Schunk>,
}

impl Schunk {
    fn change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut holdall::Schunk) -> holdall::Result<()> + Send,
    ) -> PyResult<()> {
        self.open.change(py, f)
    }

    /// Returns `n` bytes that `read` fills without the GIL.
    fn filled<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        read: impl FnOnce(&mut [u8]) -> holdall::Result<Integrity> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut integrity = Integrity::Intact;
        let bytes = PyBytes::new_with(py, n, |dst| {
            integrity = self.open.callbacks.call(py, || read(dst))?;
            Ok(())
        })?;
        warn_damaged(py, integrity)?;
        Ok(bytes)
    }
}

#[pymethods]
impl Schunk {
    #[new]
    #[pyo3(signature = (name, mode = "r", **options))]
    fn open(
        name: &Bound<'_, PyAny>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Schunk> {
        if let Ok(made) = name.cast::<Made>() {
            return match made.get().take()? {
                Parts::Schunk(schunk) => Ok(schunk),
                _ => Err(PyTypeError::new_err("expected a superchunk")),
            };
        }
        let (read, append) = (
            holdall::Schunk::open_with,
            holdall::Schunk::open_for_writing,
        );
        let open = Target::new(name, options)?.open(mode, Kind::Schunk, read, append)?;
        Ok(Schunk { open })
    }

    /// Creates a superchunk, for the Python class.
    #[staticmethod]
    fn _create(
        name: &Bound<'_, PyAny>,
        mode: &str,
        typesize: usize,
        format_name: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Made> {
        let py = name.py();
        let (replaces, format) = (replaces(py, mode)?, format(format_name)?);
        let Target {
            location,
            options,
            callbacks,
            ..
        } = Target::new(name, options)?;
        let schunk = callbacks.call(py, || match replaces {
            false => holdall::Schunk::create(location, format, typesize, &options),
            true => holdall::Schunk::replace(location, format, typesize, &options),
        })?;
        let open = Opened::created(schunk, callbacks);
        Ok(Made::new(Parts::Schunk(Schunk { open })))
    }

    fn _copy(
        &self,
        name: &Bound<'_, PyAny>,
        mode: &str,
        format_name: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = name.py();
        let (replaces, format) = (replaces(py, mode)?, format(format_name)?);
        let Target {
            location,
            options,
            mut callbacks,
            ..
        } = Target::new(name, options)?;
        callbacks.extend(&self.open.callbacks);
        let copied = self.open.read(py, |schunk| {
            callbacks.call(py, || match replaces {
                false => schunk.copy_to(location, format, &options),
                true => schunk.copy_replacing(location, format, &options),
            })
        })?;
        warn_damaged(py, copied)
    }

    // ---- properties

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.open
            .read(py, |schunk| Ok(usize::try_from(schunk.len())?))
    }

    /// Number of chunks.
    #[getter]
    fn chunk_count(&self, py: Python<'_>) -> PyResult<u64> {
        self.open.read(py, |schunk| Ok(schunk.chunks()))
    }

    /// The number of commits through this object, and of refreshes that may have found one.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        self.open.read(py, |schunk| Ok(schunk.generation()))
    }

    /// The fields of a SchunkInfo, for the Python class.
    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.open.read(py, |schunk| {
            let stored_bytes = self.open.callbacks.call(py, || schunk.stored_bytes())?;
            let stored = Stored::new(&schunk.encoding());
            let names = schunk.attribute_names();
            let fixed = names
                .iter()
                .filter(|name| schunk.is_attribute_fixed(name))
                .count();
            let kind = (
                name_of(FORMATS, schunk.format()),
                schunk.version(),
                schunk.type_size(),
            );
            let sizes = (
                schunk.chunk_size(),
                schunk.chunks(),
                schunk.len(),
                stored_bytes,
            );
            let encoding = (
                stored.codec,
                stored.level,
                stored.checksum,
                schunk.is_sparse(),
            );
            let filters = PyTuple::new(py, stored.filters)?;
            let rest = (
                filters,
                names.len(),
                schunk.generation(),
                stored.precision,
                fixed,
            );
            let parts = [
                kind.into_pyobject(py)?,
                sizes.into_pyobject(py)?,
                encoding.into_pyobject(py)?,
                rest.into_pyobject(py)?,
            ];
            parts
                .into_iter()
                .try_fold(PyTuple::empty(py).into_any(), |all, some| all.add(some))
        })
    }

    /// The fields of a ChunkInfo, for the Python class.
    fn _chunk_info<'py>(&self, py: Python<'py>, chunk: u64) -> PyResult<Bound<'py, PyTuple>> {
        self.open.read(py, |schunk| {
            let info = self.open.callbacks.call(py, || schunk.chunk_info(chunk))?;
            let codec = info.codec.and_then(|codec| name_of(CODECS, codec));
            (
                info.content_bytes,
                info.stored_bytes,
                codec,
                info.is_pending,
            )
                .into_pyobject(py)
        })
    }

    #[getter]
    fn _recipe<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        self.open.recipe(py)
    }

    #[getter]
    fn _version(&self) -> Option<Version> {
        self.open.version()
    }

    /// The name of the format.
    #[getter]
    fn _format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.open
            .read(py, |schunk| Ok(name_of(FORMATS, schunk.format())))
    }

    #[getter]
    fn _is_open(&self) -> bool {
        self.open.handle.is_open()
    }

    // ---- content

    /// Returns content from offset `start` on.
    ///
    /// size: the number of bytes; None: all from `start` on. Raises RangeError past the end,
    /// ChecksumError or FormatError for a corrupt chunk.
    ///
    ///     >>> holdall.Schunk("data.blp").read(0, 4)
    ///     b'head'
    #[pyo3(signature = (start = 0, size = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        size: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.open.read(py, |schunk| {
            let rest = schunk.len().saturating_sub(start);
            let size = size.map_or_else(|| usize::try_from(rest), Ok)?;
            if size as u64 > rest {
                let message = format!("{size} bytes at {start}: past the end ({})", schunk.len());
                return Err(failure(py, Status::Range, &message));
            }
            self.filled(py, size, |dst| schunk.read(start, dst))
        })
    }

    /// Reads content at offset `start` into a writable buffer, and fills it.
    ///
    /// Raises RangeError past the end. No other thread may use the buffer during the call.
    ///
    ///     >>> buffer = bytearray(100)
    ///     >>> schunk.read_into(0, buffer)
    fn read_into(&self, start: u64, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, mut destination) = (buffer.py(), Destination::of(buffer)?);
        let integrity = self.open.read(py, |schunk| {
            self.open
                .callbacks
                .call(py, || schunk.read(start, destination.bytes()))
        })?;
        warn_damaged(py, integrity)
    }

    /// Returns the content of a chunk.
    ///
    ///     >>> first = schunk.read_chunk(0)
    fn read_chunk<'py>(&self, py: Python<'py>, chunk: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.open.read(py, |schunk| {
            let n = self.open.callbacks.call(py, || schunk.chunk_len(chunk))?;
            self.filled(py, n, |dst| schunk.read_chunk(chunk, dst))
        })
    }

    /// Returns the content of the blocks of a chunk, a list of bytes.
    ///
    ///     >>> schunk.read_blocks(0)
    ///     [b'one', b'and another']
    fn read_blocks<'py>(&self, py: Python<'py>, chunk: u64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (offsets, content) = self.open.read(py, |schunk| {
            let offsets = self
                .open
                .callbacks
                .call(py, || schunk.block_offsets(chunk))?;
            let n = offsets.last().copied().unwrap_or(0);
            let content = self.filled(py, n, |dst| schunk.read_chunk(chunk, dst))?;
            Ok((offsets, content))
        })?;
        let content = content.as_bytes();
        let blocks = offsets.windows(2).filter_map(|ends| match ends {
            [begin, end] => content.get(*begin..*end),
            _ => None,
        });
        Ok(blocks.map(|block| PyBytes::new(py, block)).collect())
    }

    /// Returns the content of one block of a chunk, without decoding the others.
    ///
    /// Raises RangeError if there is no such chunk or block.
    ///
    ///     >>> schunk.read_block(0, 1)
    ///     b'and another'
    fn read_block<'py>(
        &self,
        py: Python<'py>,
        chunk: u64,
        block: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let read = |schunk: &holdall::Schunk| {
            let read = || schunk.read_block(chunk, block);
            self.open.callbacks.call(py, read)
        };
        let (block, integrity) = self.open.read(py, read)?;
        warn_damaged(py, integrity)?;
        Ok(PyBytes::new(py, &block))
    }

    /// Returns a chunk as it is stored.
    ///
    ///     >>> other.append_raw(schunk.read_raw(0))
    fn read_raw<'py>(&self, py: Python<'py>, chunk: u64) -> PyResult<Bound<'py, PyBytes>> {
        let raw =
            |schunk: &holdall::Schunk| self.open.callbacks.call(py, || schunk.read_raw(chunk));
        Ok(PyBytes::new(py, &self.open.read(py, raw)?))
    }

    /// Returns a checksum of all content, as bytes.
    ///
    /// kind: the name of the checksum.
    ///
    ///     >>> schunk.compute_checksum("crc32").hex()
    ///     '3e57863b'
    #[pyo3(signature = (kind = None))]
    fn compute_checksum<'py>(
        &self,
        py: Python<'py>,
        kind: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let kind = match kind {
            None => holdall::Checksum::Sha256,
            Some(kind) => named("kind", CHECKSUMS, kind)?,
        };
        let (value, integrity) = self.open.read(py, |schunk| {
            self.open.callbacks.call(py, || schunk.checksum(kind))
        })?;
        warn_damaged(py, integrity)?;
        Ok(PyBytes::new(py, &value))
    }

    /// Appends content: bytes, or an object with a buffer. Fills up the last chunk first, or adds
    /// one chunk to a frame of chunks of any length.
    ///
    ///     >>> schunk.append(b"more")
    fn append(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes(data)?;
        self.change(data.py(), |schunk| schunk.append(bytes.as_ref()))
    }

    /// Appends one encoded chunk without checksum, unchanged.
    ///
    /// Raises FormatError if it is not one complete chunk.
    ///
    ///     >>> schunk.append_raw(other.read_raw(0))
    fn append_raw(&self, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes(chunk)?;
        self.change(chunk.py(), |schunk| schunk.append_raw(bytes.as_ref()))
    }

    /// Overwrites content at offset `start`. Raises RangeError past the end.
    ///
    ///     >>> schunk.write(0, b"HEAD")
    fn write(&self, start: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes(data)?;
        self.change(data.py(), |schunk| schunk.write(start, bytes.as_ref()))
    }

    /// Inserts data as one chunk before a chunk, or at the end for the number of chunks.
    ///
    /// Raises RangeError if `chunk` exceeds the number of chunks.
    ///
    ///     >>> schunk.insert(0, b"a new first chunk")
    fn insert(&self, chunk: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes(data)?;
        self.change(data.py(), |schunk| {
            schunk.insert_chunk(chunk, bytes.as_ref())
        })
    }

    /// Inserts one chunk of blocks before a chunk, or at the end for the number of chunks.
    ///
    /// blocks: bytes, or objects with a buffer, of any length but 0. A frame without content
    /// becomes one of such blocks (readable from c-blosc2 3 on), as a BatchArray of python-blosc2
    /// is. Then insert() and append() add a chunk of one block; write() and truncate() retain where
    /// blocks begin. Raises StateError for a frame with content in blocks of one length,
    /// UnsupportedError for a Bloscpack file.
    ///
    ///     >>> with holdall.Schunk.create("texts.b2frame", format="b2frame") as schunk:
    ///     ...     schunk.insert_blocks(0, [b"one", b"and another"])
    ///     ...     schunk.commit()
    fn insert_blocks(&self, chunk: u64, blocks: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = blocks.try_iter()?.map(|block| bytes(&block?));
        let given = given.collect::<PyResult<Vec<Bytes>>>()?;
        let pieces: Vec<&[u8]> = given.iter().map(Bytes::as_ref).collect();
        self.change(blocks.py(), |schunk| schunk.insert_blocks(chunk, &pieces))
    }

    /// Removes a chunk with its content. Raises RangeError if there is no such chunk.
    ///
    ///     >>> schunk.remove(0)
    fn remove(&self, py: Python<'_>, chunk: u64) -> PyResult<()> {
        self.change(py, |schunk| schunk.remove_chunk(chunk))
    }

    /// Truncates the content to nbytes bytes. Raises RangeError if it is shorter.
    ///
    ///     >>> schunk.truncate(1000)
    fn truncate(&self, py: Python<'_>, nbytes: u64) -> PyResult<()> {
        self.change(py, |schunk| schunk.truncate(nbytes))
    }

    // ---- attributes

    /// The attributes as stored, a dict of bytes.
    ///
    ///     >>> schunk.raw_attrs
    ///     {'': b'{"unit": "K"}'}
    #[getter]
    fn raw_attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.open.read(py, |schunk| {
            let attributes = PyDict::new(py);
            for name in schunk.attribute_names() {
                let value = self.open.callbacks.call(py, || schunk.attribute(name))?;
                add_attribute(py, &attributes, name, value)?;
            }
            Ok(attributes)
        })
    }

    fn _set_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        value: Option<&Bound<'_, PyBytes>>,
        is_fixed: bool,
    ) -> PyResult<()> {
        let value = value.map(|value| value.as_bytes());
        self.change(py, |schunk| match (value, is_fixed) {
            (Some(value), false) => schunk.set_attribute(name, value),
            (Some(value), true) => schunk.set_fixed_attribute(name, value),
            (None, _) => schunk.remove_attribute(name),
        })
    }

    // ---- the handle

    /// Makes all changes durable and visible, all or none.
    ///
    ///     >>> with holdall.Schunk("data.blp", "a") as schunk:
    ///     ...     schunk.append(b"more")
    ///     ...     schunk.commit()
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.open.commit(py, holdall::Schunk::commit)
    }

    /// Moves an object that was opened for reading to the newest commit.
    ///
    /// Content and attributes are those of the new commit. Without a newer commit, it takes about
    /// one system call per file.
    ///
    /// Waits for calls in progress in other threads; their later calls wait for it. After an error
    /// the object is unchanged.
    ///
    /// Raises StateError if the object was opened for changes or in a callback of a call of the same
    /// object, and the errors of opening.
    ///
    ///     >>> schunk.refresh()
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.open.refresh(py, holdall::Schunk::refresh)
    }

    /// Closes the object. Changes since the last commit() are dropped.
    ///
    /// Calls in progress complete normally. Closing a closed object has no effect.
    ///
    ///     >>> schunk.close()
    fn close(&self, py: Python<'_>) {
        self.open.handle.close(py);
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (raised, *_rest))]
    fn __exit__(&self, raised: &Bound<'_, PyAny>, _rest: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.open.exit(raised.py(), raised)
    }
}
