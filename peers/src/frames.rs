//! Frames, both ways, with metalayers: c-blosc2 writes and holdall reads, holdall writes and c-blosc2
//! reads, and changes what c-blosc2 wrote.

use crate::chunks::{self, same};
use crate::{Tally, blosc2, content};
use fastrand::Rng;
use holdall::blosc::{self, Params, Target};
use holdall::{Checksum, Codec, Filter, Format, Location, MemoryStorage, Options, Schunk};
use std::fs;

/// A frame as both libraries are to see it.
struct Frame {
    params: Params,
    chunk_bytes: usize,
    block_bytes: Option<usize>,
    content: Vec<u8>,
    attributes: Vec<(String, Vec<u8>)>,
}

/// Runs the case of a seed.
pub fn case(seed: u64) -> Result<Tally, String> {
    let rng = &mut Rng::with_seed(seed);
    let frame = Frame::new(rng);
    let about = |why: String| {
        format!(
            "{} bytes, chunks of {}, blocks of {:?}, {:?}: {why}",
            frame.content.len(),
            frame.chunk_bytes,
            frame.block_bytes,
            frame.params
        )
    };
    let ours = frame.written_by_us(rng).map_err(|e| about(e.to_string()))?;
    frame
        .read_by_them(&ours)
        .map_err(|e| about(format!("ours: {e}")))?;
    // files take most of the time, and differ from memory only where blocks are read
    if frame.block_bytes.is_some() || rng.u8(..20) == 0 {
        frame
            .read_from_file_by_them(&ours)
            .map_err(|e| about(format!("ours in a file: {e}")))?;
    }
    let theirs = frame
        .written_by_them()
        .map_err(|e| about(format!("they do not write: {e}")))?;
    frame
        .read_by_them(&theirs)
        .map_err(|e| about(format!("theirs: {e}")))?;
    frame
        .read_by_us(theirs.clone())
        .map_err(|e| about(format!("theirs: {e}")))?;
    let (changed, bytes) = frame
        .changed_by_us(rng, theirs)
        .map_err(|e| about(e.to_string()))?;
    changed
        .read_by_them(&bytes)
        .map_err(|e| about(format!("theirs, changed: {e}")))?;
    Ok(Tally {
        compared: 4,
        refused: 0,
    })
}

impl Frame {
    fn new(rng: &mut Rng) -> Frame {
        let mut params = chunks::params(rng, Target::Blosc2);
        params.typesize = params.typesize.min(255);
        // c-blosc2 loses the last bytes of its own blocks that end within an item, with delta
        let is_delta = params.filters.iter().any(|f| f == blosc::Filter::Delta);
        params.blocksize = params
            .blocksize
            .filter(|n| !is_delta || *n >= params.typesize);
        let (mut chunk_bytes, mut block_bytes) = (params.typesize * rng.usize(1..1000), None);
        let mut size = content::size(rng).min(40 * chunk_bytes);
        // long chunks have checksums of their blocks, which are more than a short block
        if rng.u8(..100) == 0 {
            chunk_bytes = params.typesize * rng.usize(200_000 / params.typesize..300_000);
            chunk_bytes = chunk_bytes.min(600_000) / params.typesize * params.typesize;
            block_bytes = Some(params.typesize * rng.usize(1..64) * 8);
            size = rng.usize(100_000..500_000);
        }
        let items = size / params.typesize;
        let content = content::bytes(rng, items * params.typesize, params.typesize);
        let attributes = (0..rng.usize(..4))
            .map(|i| {
                let n = content::size(rng).min(3000) + 1;
                let mut value = content::bytes(rng, n, 1);
                // c-blosc2 does not read its own value of 33 zeros
                value[0] |= 1;
                (format!("name {i}"), value)
            })
            .collect();
        Frame {
            params,
            chunk_bytes,
            block_bytes,
            content,
            attributes,
        }
    }

    fn options(&self, rng: &mut Rng) -> Options {
        let checksum = if rng.bool() {
            Checksum::Crc32
        } else {
            Checksum::None
        };
        let codec = match self.params.codec {
            blosc::Codec::BloscLz => Codec::BloscLz,
            blosc::Codec::Lz4 => Codec::Lz4,
            blosc::Codec::Lz4Hc => Codec::Lz4Hc,
            blosc::Codec::Snappy => unreachable!("frames do not have it"),
            blosc::Codec::Zlib => Codec::Zlib,
            blosc::Codec::Zstd => Codec::Zstd,
        };
        let filters = self.params.filters.iter().map(|filter| match filter {
            blosc::Filter::Bitshuffle => Filter::Bitshuffle,
            blosc::Filter::Delta => Filter::Delta,
            _ => Filter::Shuffle,
        });
        let options = match self.block_bytes {
            Some(bytes) => Options::new().block_bytes(bytes as u64),
            None => Options::new(),
        };
        options
            .threads(1)
            .codec(codec)
            .filters(&filters.collect::<Vec<_>>())
            .level(i32::from(self.params.level))
            .chunk_bytes(self.chunk_bytes as u64)
            .checksum(checksum)
    }

    fn written_by_us(&self, rng: &mut Rng) -> holdall::Result<Vec<u8>> {
        let memory = MemoryStorage::new();
        let options = self.options(rng);
        let mut schunk = Schunk::create(&memory, Format::B2Frame, self.params.typesize, &options)?;
        let (first, rest) = self.content.split_at(rng.usize(..=self.content.len()));
        schunk.append(first)?;
        if rng.bool() {
            schunk.commit()?;
        }
        schunk.append(rest)?;
        for (name, value) in &self.attributes {
            schunk.set_attribute(name, value)?;
        }
        schunk.commit()?;
        Ok(memory.bytes("")?.to_vec())
    }

    fn written_by_them(&self) -> blosc2::Result<Vec<u8>> {
        let mut schunk = blosc2::Schunk::new(&chunks::theirs(&self.params))?;
        schunk.set_meta("fixed", &[7; 30])?;
        for chunk in self.content.chunks(self.chunk_bytes) {
            schunk.append(chunk)?;
        }
        for (name, value) in &self.attributes {
            schunk.set_vlmeta(name, value)?;
        }
        schunk.frame()
    }

    fn read_by_them(&self, bytes: &[u8]) -> Result<(), String> {
        let schunk = blosc2::Schunk::from_frame(bytes).map_err(|_| "they do not open it")?;
        self.equals(&schunk)
    }

    fn read_from_file_by_them(&self, bytes: &[u8]) -> Result<(), String> {
        let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
        fs::write(file.path(), bytes).map_err(|e| e.to_string())?;
        let schunk = blosc2::Schunk::open(file.path()).map_err(|_| "they do not open it")?;
        self.equals(&schunk)
    }

    fn equals(&self, schunk: &blosc2::Schunk) -> Result<(), String> {
        let (n, nbytes) = schunk.size();
        let mut content = Vec::new();
        for i in 0..n {
            let chunk = schunk.chunk(i, self.chunk_bytes);
            content.extend(chunk.map_err(|e| format!("they, chunk {i}: {e}"))?);
        }
        same("they read", &content, &self.content)?;
        if nbytes != content.len() as u64 {
            return Err(format!("they say that it has {nbytes} bytes"));
        }
        for (name, value) in &self.attributes {
            let found = schunk
                .vlmeta(name)
                .map_err(|e| format!("they, {name}: {e}"))?;
            same(name, &found, value)?;
        }
        Ok(())
    }

    fn read_by_us(&self, bytes: Vec<u8>) -> Result<(), String> {
        let schunk = Schunk::open(Location::memory(bytes)).map_err(|e| e.to_string())?;
        let mut content = vec![0xaa; schunk.len() as usize];
        schunk.read(0, &mut content).map_err(|e| e.to_string())?;
        same("we read", &content, &self.content)?;
        for (name, value) in &self.attributes {
            let found = schunk.attribute(name).map_err(|e| e.to_string())?;
            same(name, found.ok_or("an attribute is missing")?, value)?;
        }
        let fixed = schunk.attribute("fixed").map_err(|e| e.to_string())?;
        same("fixed", fixed.unwrap_or_default(), &[7; 30])
    }

    /// Some bytes of it are written, some appended, an attribute set.
    fn changed_by_us(&self, rng: &mut Rng, bytes: Vec<u8>) -> holdall::Result<(Frame, Vec<u8>)> {
        let memory = MemoryStorage::new();
        memory.put("", bytes);
        let mut schunk = Schunk::open_for_writing(&memory, &Options::new().threads(1))?;
        let (mut content, mut attributes) = (self.content.clone(), self.attributes.clone());
        let at = rng.usize(..=content.len());
        let n = rng.usize(..=content.len() - at);
        content[at..at + n].fill(3);
        schunk.write(at as u64, &content[at..at + n])?;
        let n = self.params.typesize * rng.usize(..50);
        let more = content::bytes(rng, n, self.params.typesize);
        // a frame without chunks has no chunk length yet
        if !content.is_empty() {
            schunk.append(&more)?;
            content.extend(more);
        }
        attributes.push(("new".into(), vec![1; 40]));
        schunk.set_attribute("new", &[1; 40])?;
        schunk.commit()?;
        let frame = Frame {
            params: self.params.clone(),
            content,
            attributes,
            ..*self
        };
        Ok((frame, memory.bytes("")?.to_vec()))
    }
}
