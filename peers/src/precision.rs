//! The filter that truncates the precision of floats, in chunks and frames: c-blosc2 writes and
//! holdall reads and extends, holdall writes and c-blosc2 reads.
//!
//! Both libraries clear the same bits, with two differences: c-blosc2 leaves the items of a chunk as
//! they are that it does not compress, and makes an infinity of a NaN that loses its last bit. The
//! content has no such NaN.

use crate::chunks::{self, same};
use crate::{Tally, blosc2, content};
use fastrand::Rng;
use holdall::blosc::{self, Filter, Params, Pipeline, Target, filter};
use holdall::{Filter as FilterOption, Format, MemoryStorage, Options, Schunk};

struct Case {
    bits: i8,
    params: Params,
    content: Vec<u8>,
}

/// Runs the case of a seed.
pub fn case(seed: u64) -> Result<Tally, String> {
    let rng = &mut Rng::with_seed(seed);
    let case = Case::new(rng);
    let about = |why: String| format!("{} bytes, {:?}: {why}", case.content.len(), case.params);
    case.chunks().map_err(about)?;
    let ours = case.frame_by_us(rng).map_err(|e| about(e.to_string()))?;
    case.read_by_them(&ours, &case.truncated(&case.content))
        .map_err(|e| about(format!("ours: {e}")))?;
    case.frame_by_them(rng)
        .map_err(|e| about(format!("theirs: {e}")))?;
    Ok(Tally {
        compared: 4,
        refused: 0,
    })
}

impl Case {
    fn new(rng: &mut Rng) -> Case {
        let mut params = chunks::params(rng, Target::Blosc2);
        params.typesize = if rng.bool() { 4 } else { 8 };
        params.blocksize = params.blocksize.map(|n| n.max(params.typesize));
        let mantissa: i8 = if params.typesize == 4 { 23 } else { 52 };
        let bits = if rng.bool() {
            rng.i8(1..=mantissa)
        } else {
            -rng.i8(1..mantissa)
        };
        let rest = match rng.u8(..3) {
            0 => None,
            1 => Some(Filter::Bitshuffle),
            _ => Some(Filter::Shuffle { group: 0 }),
        };
        let filters: Vec<_> = [Filter::Truncate { bits }]
            .into_iter()
            .chain(rest)
            .collect();
        params.filters = Pipeline::new(&filters).expect("two filters");
        let items = content::size(rng) / params.typesize + 1;
        let content = floats(rng, items, params.typesize);
        Case {
            bits,
            params,
            content,
        }
    }

    fn truncated(&self, content: &[u8]) -> Vec<u8> {
        let mut content = content.to_vec();
        filter::truncate_in_place(self.bits, self.params.typesize, &mut content).expect("floats");
        content
    }

    /// One chunk, both ways.
    fn chunks(&self) -> Result<(), String> {
        let (n, expected) = (self.content.len(), self.truncated(&self.content));
        let mut chunk = Vec::new();
        blosc::encode(&self.params, &self.content, &mut chunk, 1).map_err(|e| e.message)?;
        let peer = blosc2::Chunk::new(&chunk).map_err(|e| format!("no context: {e}"))?;
        let read = peer.decode(n).map_err(|e| format!("they: {e}"))?;
        same("ours, they read", &read, &expected)?;

        let encoded = blosc2::encode(&chunks::theirs(&self.params), &self.content);
        let theirs = encoded.map_err(|e| format!("they do not encode it: {e}"))?;
        let header = blosc::Header::parse(&theirs).map_err(|e| e.message)?;
        let mut read = vec![0xaa; n];
        blosc::decode(&theirs, &mut read, 1).map_err(|e| e.message)?;
        let is_exact = header.content() != Ok(blosc::Content::Blocks);
        let expected = if is_exact { &self.content } else { &expected };
        same("theirs, we read", &read, expected)
    }

    fn frame_by_us(&self, rng: &mut Rng) -> holdall::Result<Vec<u8>> {
        let filters: &[FilterOption] = match self.params.filters.iter().nth(1) {
            None => &[],
            Some(Filter::Bitshuffle) => &[FilterOption::Bitshuffle],
            Some(_) => &[FilterOption::Shuffle],
        };
        let options = Options::new()
            .threads(1)
            .filters(filters)
            .precision(self.bits)
            .level(i32::from(self.params.level))
            .chunk_bytes(800);
        let memory = MemoryStorage::new();
        let size = self.params.typesize;
        let mut schunk = Schunk::create(&memory, Format::B2Frame, size, &options)?;
        let (first, rest) = self.content.split_at(rng.usize(..=self.content.len()));
        schunk.append(first)?;
        if rng.bool() {
            schunk.commit()?;
        }
        schunk.append(rest)?;
        schunk.commit()?;
        Ok(memory.bytes("")?.to_vec())
    }

    fn read_by_them(&self, frame: &[u8], expected: &[u8]) -> Result<(), String> {
        let schunk = blosc2::Schunk::from_frame(frame).map_err(|_| "they do not open it")?;
        let mut content = Vec::new();
        for i in 0..schunk.size().0 {
            let chunk = schunk.chunk(i, 1600);
            content.extend(chunk.map_err(|e| format!("they, chunk {i}: {e}"))?);
        }
        same("they read", &content, expected)
    }

    /// What c-blosc2 wrote is extended: the last chunk is encoded again with the new items.
    fn frame_by_them(&self, rng: &mut Rng) -> Result<(), String> {
        let told = |e: i32| format!("they: {e}");
        let mut schunk = blosc2::Schunk::new(&chunks::theirs(&self.params)).map_err(told)?;
        for chunk in self.content.chunks(800) {
            schunk.append(chunk).map_err(told)?;
        }
        let memory = MemoryStorage::new();
        memory.put("", schunk.frame().map_err(told)?);
        let more = floats(rng, 150, self.params.typesize);
        let options = Options::new().threads(1);
        let extended = (|| {
            let mut schunk = Schunk::open_for_writing(&memory, &options)?;
            let mut before = vec![0; schunk.len() as usize];
            schunk.read(0, &mut before)?;
            schunk.append(&more)?;
            schunk.commit()?;
            Ok((before, memory.bytes("")?.to_vec()))
        })();
        let (mut expected, bytes) = extended.map_err(|e: holdall::Error| e.to_string())?;
        for (read, content) in expected.chunks(800).zip(self.content.chunks(800)) {
            if read != content {
                same("we read", read, &self.truncated(content))?;
            }
        }
        // the first chunk determines the size of all
        let size = expected.len().min(800);
        let last = expected.split_off(expected.len() / size * size);
        expected.extend(self.truncated(&[&last[..], &more].concat()));
        self.read_by_them(&bytes, &expected)
    }
}

/// Returns floats of which no NaN becomes an infinity.
fn floats(rng: &mut Rng, items: usize, typesize: usize) -> Vec<u8> {
    let mut content = content::bytes(rng, items * typesize, typesize);
    for item in content.chunks_exact_mut(typesize) {
        let is_nan = match item.first_chunk() {
            Some(item) => f64::from_le_bytes(*item).is_nan(),
            None => item
                .first_chunk()
                .is_some_and(|item| f32::from_le_bytes(*item).is_nan()),
        };
        if is_nan {
            item[typesize - 2] |= if typesize == 4 { 0x40 } else { 0x08 };
        }
    }
    content
}
