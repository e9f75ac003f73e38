//! Text files: a buffer of some MB that rows are parsed in, from a plain, gzip or zstd file or from
//! standard input.

use crate::failure::{Failure, Result, system};
use crate::file_name::FileName;
use crate::files::Input;
use crate::{failure, signals};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Bytes of a row at most.
const LONGEST: usize = 256 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text file that can be read several times. Standard input is copied to an unnamed temporary
/// file for that.
pub struct TextFile {
    pub path: FileName,
    spooled: Option<File>,
}

impl TextFile {
    /// `out`, which is going to be written, must be another file. `again`: the file is read more than once.
    pub fn open(path: &FileName, out: &FileName, again: bool) -> Result<TextFile> {
        let mut input = Input::open(path, Some(out))?;
        let mut spooled = None;
        if again && path.is_standard() {
            let mut file = tempfile::tempfile().map_err(system("temporary file"))?;
            io::copy(&mut input, &mut file).map_err(reading(&input.name))?;
            spooled = Some(file);
        }
        Ok(TextFile { path: path.clone(), spooled })
    }

    /// Reads the file from its beginning.
    pub fn feed(&self) -> Result<Feed> {
        let Some(file) = &self.spooled else {
            let input = Input::open(&self.path, None)?;
            return Feed::new(input.name.clone(), Tracked(input));
        };
        let rewound = file.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        Feed::new(FileName::from("standard input"), rewound.map_err(system("temporary file"))?)
    }
}

/// An input that reports its progress itself.
struct Tracked(Input);

impl Read for Tracked {
    fn read(&mut self, dst: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(dst)?;
        self.0.progress(self.0.done);
        Ok(n)
    }
}

/// Decompresses a file that begins as gzip or zstd files do: neither beginning is UTF-8.
fn decompressed(mut input: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut magic)?;
    let is = |bytes: &[u8]| magic.starts_with(bytes);
    let (gzip, zstd) = (is(b"\x1f\x8b"), is(b"\x28\xb5\x2f\xfd"));
    let all = Cursor::new(magic).chain(input);
    Ok(if gzip {
        Box::new(flate2::read::MultiGzDecoder::new(all))
    } else if zstd {
        Box::new(zstd::Decoder::new(all)?)
    } else {
        Box::new(all)
    })
}

/// The bytes of a text file, a piece at a time in memory.
pub struct Feed {
    pub name: FileName,
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    /// The bytes of the buffer that are still to be taken.
    at: usize,
    end: usize,
    /// Nothing follows the buffered bytes.
    pub ended: bool,
    /// The number of the line that begins at `at`.
    pub line: u64,
}

impl Feed {
    fn new(name: FileName, input: impl Read + 'static) -> Result<Feed> {
        let input = decompressed(input).map_err(reading(&name))?;
        let mut feed =
            Feed { name, input, buffer: Vec::new(), at: 0, end: 0, ended: false, line: 1 };
        feed.more()?;
        if feed.rest().starts_with(BYTE_ORDER_MARK) {
            feed.at = BYTE_ORDER_MARK.len();
        }
        Ok(feed)
    }

    /// The buffered bytes that were not taken.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Reads more bytes. What was not taken moves to the front of the buffer.
    pub fn more(&mut self) -> Result {
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        if self.end > LONGEST {
            let (name, line) = (&self.name, self.line);
            return Err(failure!("{name}: line {line}: a row of more than 256 MB"));
        }
        if self.buffer.len() - self.end < PIECE {
            self.buffer.resize(2 * self.buffer.len() + 2 * PIECE, 0);
        }
        while self.end < self.buffer.len() && !self.ended {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    self.ended = n == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(&self.name)(error)),
            }
            if signals::stopped() {
                return Err(Failure::Stopped);
            }
        }
        Ok(())
    }

    /// Takes bytes, and returns their position in the buffer.
    pub fn take(&mut self, n: usize, lines: u64) -> usize {
        let from = self.at;
        self.at = (self.at + n).min(self.end);
        self.line += lines;
        from
    }

    /// Bytes that were taken, until more is read.
    pub fn taken(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.at]
    }

    pub fn taken_from(&self, from: usize) -> &[u8] {
        self.buffer.get(from..self.at).unwrap_or_default()
    }
}

fn reading(name: &FileName) -> impl Fn(io::Error) -> Failure {
    move |error| {
        if signals::stopped() { Failure::Stopped } else { system(name)(error) }
    }
}
