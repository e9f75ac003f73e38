//! Encoding of chunks, for the readers of either family. The encoded block depends only on its
//! content, so any number of threads writes the same chunk.
#![forbid(unsafe_code)]

use super::chunk_dictionary::{Training, gains, sample_step};
use super::codec::{EncoderDictionary, Encoders};
use super::header::{
    BITSHUFFLED, COPIED, EXTENDED_HEADER_LEN, Header, NOT_SPLIT, SHUFFLED, VERSION_2,
    VERSION_VARIABLE, WITH_DICTIONARY,
};
use super::{Content, Filter, Params, Target, filter, release_if_large, scratch_slice};
use crate::error::{Error, Result};
use crate::progress::{Step, advance};
use crate::slice::SliceExt;
use crate::{alloc, parallel};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Minimum number of bytes per thread that makes it worth using another thread.
const MIN_BYTES_PER_THREAD: usize = 64 << 10;

/// Appends `src` as one chunk to `dst`.
pub fn encode(params: &Params, src: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
    let begin = dst.len();
    let result = Encoder::new(params, src)
        .and_then(|e| e.append(dst, threads))
        .and_then(|()| advance(Step::Encode, src.len()));
    if result.is_err() {
        dst.truncate(begin);
    }
    result
}

/// Returns the header of a Blosc 2 chunk with `n` bytes of uncompressed content, which follow it.
pub fn copied_header(params: &Params, n: usize) -> Result<[u8; EXTENDED_HEADER_LEN]> {
    let params = Params {
        level: 0,
        ..params.clone()
    };
    let encoder = BlockEncoder::make(&params, n)?;
    let header = Header {
        cbytes: encoder.max_len,
        ..encoder.header
    };
    Ok(header.write()?.0)
}

/// Returns a chunk of `n` bytes of content with equal items, or zeros without `item`. Returns
/// `None` if the header cannot represent the item, or if the content ends within an item: c-blosc2
/// refuses such a chunk.
pub fn encode_filled(params: &Params, item: Option<&[u8]>, n: usize) -> Result<Option<Vec<u8>>> {
    let mut header = BlockEncoder::make(params, n)?.header;
    if item.is_some_and(|item| item.len() != header.typesize) || !header.has_whole_items() {
        return Ok(None);
    }
    header.flags &= !COPIED;
    header.more_flags = if item.is_some() { 3 << 4 } else { 1 << 4 };
    header.cbytes = header.len() + item.map_or(0, <[u8]>::len);
    let mut chunk = alloc::zeroed(header.len())?;
    write_header(&mut chunk, 0, &header)?;
    chunk.extend_from_slice(item.unwrap_or_default());
    Ok(Some(chunk))
}

// ---- the chunk

/// The encoding of one chunk in progress.
struct Encoder<'a> {
    encoder: BlockEncoder,
    src: &'a [u8],
}

impl<'a> Encoder<'a> {
    fn new(params: &Params, src: &'a [u8]) -> Result<Self> {
        let mut encoder = BlockEncoder::make(params, src.len())?;
        let (header, params) = (&encoder.header, &encoder.params);
        let mut first = Vec::new();
        if encoder.has_delta() {
            let typesize = header.typesize;
            let block = src.at(..header.block_len(0))?;
            first = alloc::zeroed(block.len())?;
            match params.filters.truncation() {
                Some(bits) => filter::truncate(bits, typesize, block, &mut first)?,
                None => first.copy_from_slice(block),
            }
        }
        encoder.first = first;
        if let Some(trained) = encoder.train(src)? {
            encoder.try_dictionary(trained, |encoder| encoder.sampled_size(src))?;
        }
        Ok(Encoder { encoder, src })
    }

    fn append(&self, dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        let encoder = &self.encoder;
        let begin = dst.len();
        let mut header = encoder.header;
        if encoder.has_blocks() {
            alloc::grow(dst, encoder.blocks_begin(), begin + encoder.max_len)?;
            dst.resize(begin + encoder.header_and_table_len(), 0);
            encoder.append_dictionary(dst);
            if self.blocks(begin, dst, threads)? {
                return encoder.finish(dst, begin);
            }
            dst.truncate(begin);
        }
        header.flags |= COPIED;
        header.cbytes = encoder.max_len;
        alloc::reserve_exact(dst, encoder.max_len)?;
        dst.resize(begin + header.len(), 0);
        write_header(dst, begin, &header)?;
        let at = dst.len();
        dst.extend_from_slice(self.src);
        // unlike c-blosc2: the items must not depend on whether the chunk can be compressed
        match encoder.params.filters.truncation() {
            Some(bits) => filter::truncate_in_place(bits, header.typesize, dst.at_mut(at..)?),
            None => Ok(()),
        }
    }

    /// Appends the blocks and writes their offsets. Returns false if the chunk becomes too long.
    fn blocks(&self, begin: usize, dst: &mut Vec<u8>, threads: usize) -> Result<bool> {
        let (encoder, blocksize) = (&self.encoder, self.encoder.header.blocksize);
        let share = MIN_BYTES_PER_THREAD
            .max(self.src.len() / threads.max(1) / 4)
            .next_multiple_of(blocksize);
        if threads > 1 && self.src.len() > share {
            return self.encode_blocks_parallel(begin, dst, threads, share);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            for (index, block) in self.src.chunks(blocksize).enumerate() {
                encoder.write_block_offset(dst, begin, index)?;
                if !encoder.append(scratch, index, block, dst, begin + encoder.max_len)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn encode_blocks_parallel(
        &self,
        begin: usize,
        dst: &mut Vec<u8>,
        threads: usize,
        share: usize,
    ) -> Result<bool> {
        struct Part<'s> {
            first: usize,
            src: &'s [u8],
            stored: Vec<u8>,
            lengths: Vec<usize>,
        }
        let (encoder, blocksize) = (&self.encoder, self.encoder.header.blocksize);
        let new = |(i, src)| Part {
            first: i * (share / blocksize),
            src,
            stored: Vec::new(),
            lengths: Vec::new(),
        };
        let mut parts: Vec<Part> = self.src.chunks(share).enumerate().map(new).collect();
        let total = AtomicUsize::new(dst.len() - begin);
        let too_long = AtomicBool::new(false);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let work = |part: &mut Part| {
            // the uncompressed content, and a length before each stream
            let streams = part.src.len().div_ceil(blocksize) * encoder.header.streams(part.first);
            let most = encoder.max_len.min(part.src.len() + 4 * streams);
            SCRATCH.with_borrow_mut(|scratch| {
                for (i, block) in part.src.chunks(blocksize).enumerate() {
                    let start = part.stored.len();
                    let fits =
                        encoder.append(scratch, part.first + i, block, &mut part.stored, most)?;
                    let length = part.stored.len() - start;
                    part.lengths.push(length);
                    if !fits
                        || total.fetch_add(length, Ordering::Relaxed) + length > encoder.max_len
                    {
                        too_long.store(true, Ordering::Relaxed);
                    }
                    if too_long.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Ok(())
            })
        };
        parallel::for_each(threads, parts.iter_mut().collect(), |part: &mut Part| {
            if let Err(e) = work(part) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            }
        });
        if let Some(e) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        if too_long.into_inner() {
            return Ok(false);
        }
        alloc::reserve_exact(dst, parts.iter().map(|p| p.stored.len()).sum())?;
        for part in &parts {
            let mut start = dst.len() - begin;
            for (i, n) in part.lengths.iter().enumerate() {
                write_block_offset(
                    dst,
                    begin + encoder.header.len() + 4 * (part.first + i),
                    start,
                )?;
                start += n;
            }
            dst.extend_from_slice(&part.stored);
        }
        Ok(true)
    }
}

/// Returns the bytes of a dictionary in a chunk.
fn dictionary_len(dictionary: &EncoderDictionary) -> usize {
    4 + dictionary.bytes().len()
}

/// Writes the header into the space that was reserved for it.
fn write_header(dst: &mut [u8], at: usize, header: &Header) -> Result<()> {
    let (bytes, n) = header.write()?;
    dst.at_mut(at..at + n)?.copy_from_slice(bytes.at(..n)?);
    Ok(())
}

fn write_block_offset(dst: &mut [u8], at: usize, start: usize) -> Result<()> {
    // chunks are not longer than i32::MAX
    let start = (start as u32).to_le_bytes();
    dst.at_mut(at..at + 4)?.copy_from_slice(&start);
    Ok(())
}

// ---- one block

/// Buffers and codec contexts that a thread reuses.
#[derive(Default)]
struct Scratch {
    codecs: Encoders,
    filtered: [Vec<u8>; 2],
    stored: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// An encoder of the blocks of one chunk, each from its own content.
pub struct BlockEncoder {
    params: Params,
    header: Header,
    /// Reference of the delta filter: the first block, as decoding will return it.
    first: Vec<u8>,
    dictionary: Option<EncoderDictionary>,
    /// Maximum length of the chunk. A longer one is stored uncompressed.
    max_len: usize,
}

impl BlockEncoder {
    /// Creates an encoder for a chunk with `n` bytes of content. Returns `None` if the chunk cannot
    /// be encoded block by block.
    pub fn new(params: &Params, n: usize) -> Result<Option<BlockEncoder>> {
        // a dictionary is trained from all blocks
        Ok(Some(BlockEncoder::make(params, n)?)
            .filter(|encoder| encoder.has_blocks() && !encoder.has_delta() && !params.dictionary))
    }

    /// Creates an encoder for new blocks of an existing chunk, whose other blocks stay as they are
    /// stored. Returns `None` under the conditions of [`BlockEncoder::new`], and if the chunk has a
    /// dictionary.
    pub fn for_header(header: &Header, level: u8) -> Result<Option<BlockEncoder>> {
        if header.content()? != Content::Blocks
            || header.has_dictionary()
            || header.version != VERSION_2
            || !header.extended()
            || level == 0
        {
            return Ok(None);
        }
        let (codec, filters) = (header.codec()?, header.pipeline()?);
        let params = Params {
            filters,
            ..Params::new(Target::Blosc2, codec, level, header.typesize)
        };
        if params.check(header.nbytes).is_err() {
            return Ok(None);
        }
        let encoder = BlockEncoder {
            params,
            header: *header,
            first: Vec::new(),
            dictionary: None,
            max_len: header.nbytes + header.len(),
        };
        Ok(Some(encoder).filter(|encoder| encoder.has_blocks() && !encoder.has_delta()))
    }

    pub(super) fn make(params: &Params, n: usize) -> Result<BlockEncoder> {
        params.check(n)?;
        let params = params.with_explicit_settings()?;
        let header = params.header(n);
        Ok(BlockEncoder {
            params,
            header,
            first: Vec::new(),
            dictionary: None,
            max_len: n + header.len(),
        })
    }

    /// Returns the header of the chunk, except its length.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Appends a block of variable length to a chunk: the length of its content, and its one stream,
    /// to which no filter was applied.
    pub(super) fn push_variable(&self, block: &[u8], chunk: &mut Vec<u8>) -> Result<()> {
        alloc::reserve(chunk, 4 + block.len())?;
        // chunks are not longer than i32::MAX
        chunk.extend((block.len() as u32).to_le_bytes());
        let begin = chunk.len();
        chunk.extend_from_slice(block);
        if self.params.level == 0 {
            return Ok(());
        }
        let to = chunk.at_mut(begin..)?;
        let n = SCRATCH.with_borrow_mut(|scratch| self.compress(&mut scratch.codecs, block, to))?;
        match n {
            Some(n) => chunk.truncate(begin + n),
            None => to.copy_from_slice(block),
        }
        Ok(())
    }

    /// Returns the header of a chunk with `blocks` blocks of variable length, except its length.
    pub(super) fn variable_header(&self, blocks: usize) -> Header {
        Header {
            more_flags: self.dictionary_flag(),
            version: VERSION_VARIABLE,
            // not those of the header, which has no codec if the chunk is short
            flags: SHUFFLED | BITSHUFFLED | NOT_SPLIT | self.params.codec.format() << 5,
            variable_blocks: Some(blocks),
            ..self.header
        }
    }

    /// Returns the setting of the truncation filter, if there is one.
    pub fn truncation(&self) -> Option<i8> {
        self.params.filters.truncation()
    }

    fn has_delta(&self) -> bool {
        self.params.filters.iter().any(|f| f == Filter::Delta)
    }

    fn has_blocks(&self) -> bool {
        self.header.flags & COPIED == 0 && self.header_and_table_len() <= self.max_len
    }

    fn header_and_table_len(&self) -> usize {
        self.header.len() + 4 * self.header.blocks()
    }

    /// Returns the offset in the chunk where the first block begins.
    fn blocks_begin(&self) -> usize {
        self.header_and_table_len() + self.dictionary.as_ref().map_or(0, dictionary_len)
    }

    fn dictionary_flag(&self) -> u8 {
        match self.dictionary {
            Some(_) => WITH_DICTIONARY,
            None => 0,
        }
    }

    /// Appends the dictionary, after its length, if there is one. There must be room for it.
    pub(super) fn append_dictionary(&self, dst: &mut Vec<u8>) {
        if let Some(bytes) = self.dictionary.as_ref().map(EncoderDictionary::bytes) {
            // dictionaries are at most 32 KiB
            dst.extend((bytes.len() as u32).to_le_bytes());
            dst.extend_from_slice(bytes);
        }
    }

    /// Uses a dictionary, if it gains. `size` returns about how many bytes the encoded blocks have.
    pub(super) fn try_dictionary(
        &mut self,
        trained: EncoderDictionary,
        size: impl Fn(&BlockEncoder) -> Result<usize>,
    ) -> Result<()> {
        let (plain, cost) = (size(self)?, dictionary_len(&trained));
        self.dictionary = Some(trained);
        if !gains(plain, size(self)? + cost) {
            self.dictionary = None;
        }
        Ok(())
    }

    /// Trains a dictionary for this content, if the chunk has one.
    fn train(&self, src: &[u8]) -> Result<Option<EncoderDictionary>> {
        let begin = self.header_and_table_len();
        let training = Training::new(&self.params, src.len(), self.header.all_streams());
        let Some(mut training) = training.filter(|_| self.has_blocks()) else {
            return Ok(None);
        };
        SCRATCH.with_borrow_mut(|scratch| {
            let [a, b] = &mut scratch.filtered;
            for (i, block) in src.chunks(self.header.blocksize).enumerate() {
                let filtered = self.filter(a, b, i, block)?;
                for stream in self.streams(i, filtered) {
                    if self.run(stream).is_none() {
                        training.push(stream)?;
                    }
                }
            }
            Ok::<_, Error>(())
        })?;
        let trained = training.finish(&self.params)?;
        Ok(trained.filter(|d| begin + dictionary_len(d) <= self.max_len))
    }

    /// Returns about how many bytes the encoded blocks have, from some of them.
    fn sampled_size(&self, src: &[u8]) -> Result<usize> {
        let (blocks, mut encoded) = (src.chunks(self.header.blocksize), Vec::new());
        let step = sample_step(blocks.len());
        for (index, block) in blocks.enumerate().step_by(step) {
            self.block(index, block, &mut encoded)?;
        }
        Ok(encoded.len() * step)
    }

    /// Appends the encoded block `index` with this content to `out`.
    pub fn block(&self, index: usize, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let most = out.len() + content.len() + 4 * self.header.streams(index);
        SCRATCH
            .with_borrow_mut(|scratch| self.append(scratch, index, content, out, most))
            .map(|_| ())
    }

    /// Begins a chunk. Its blocks must be appended in order.
    pub fn begin(&self, chunk: &mut Vec<u8>) -> Result<()> {
        chunk.clear();
        alloc::grow(chunk, self.header_and_table_len(), self.max_len)?;
        chunk.resize(self.header_and_table_len(), 0);
        Ok(())
    }

    /// Encodes and appends a block. Returns false if the chunk would be longer than its
    /// uncompressed form.
    pub fn push(&self, index: usize, content: &[u8], chunk: &mut Vec<u8>) -> Result<bool> {
        self.write_block_offset(chunk, 0, index)?;
        SCRATCH.with_borrow_mut(|scratch| self.append(scratch, index, content, chunk, self.max_len))
    }

    /// Like [`BlockEncoder::push`], for an encoded block.
    pub fn push_encoded(&self, index: usize, stored: &[u8], chunk: &mut Vec<u8>) -> Result<bool> {
        self.write_block_offset(chunk, 0, index)?;
        let fits = chunk.len() + stored.len() <= self.max_len;
        if fits {
            alloc::grow(chunk, stored.len(), self.max_len)?;
            chunk.extend_from_slice(stored);
        }
        Ok(fits)
    }

    /// Completes a chunk that has all of its blocks.
    pub fn end(&self, chunk: &mut Vec<u8>) -> Result<()> {
        self.finish(chunk, 0)?;
        advance(Step::Encode, self.header.nbytes)
    }

    /// Writes the current end of `dst` as the offset of block `index`. `begin`: offset of the chunk
    /// in `dst`.
    fn write_block_offset(&self, dst: &mut [u8], begin: usize, index: usize) -> Result<()> {
        let start = dst.len() - begin;
        write_block_offset(dst, begin + self.header.len() + 4 * index, start)
    }

    /// Returns the chunk of these encoded blocks, which must be complete and in order. Returns
    /// `None` if the chunk would be longer than its uncompressed form.
    pub fn chunk<'b>(
        &self,
        blocks: impl Iterator<Item = &'b [u8]> + Clone,
    ) -> Result<Option<Vec<u8>>> {
        let n = blocks.clone().fold(self.header_and_table_len(), |n, b| {
            n.saturating_add(b.len())
        });
        if n > self.max_len {
            return Ok(None);
        }
        let mut chunk = alloc::with_capacity(n)?;
        chunk.resize(self.header_and_table_len(), 0);
        for (i, block) in blocks.enumerate() {
            let start = chunk.len();
            write_block_offset(&mut chunk, self.header.len() + 4 * i, start)?;
            chunk.extend_from_slice(block);
        }
        self.end(&mut chunk)?;
        Ok(Some(chunk))
    }

    /// Writes the header of a chunk that has all of its blocks.
    fn finish(&self, dst: &mut Vec<u8>, begin: usize) -> Result<()> {
        let mut header = self.header;
        header.cbytes = dst.len() - begin;
        header.more_flags |= self.dictionary_flag();
        // only runs of zeros take four bytes
        let is_zeros = header.cbytes == self.blocks_begin() + 4 * header.all_streams();
        if is_zeros && header.extended() && header.has_whole_items() {
            header.more_flags = 1 << 4;
            header.cbytes = header.len();
            dst.truncate(begin + header.len());
        }
        write_header(dst, begin, &header)
    }

    /// Appends an encoded block: its streams, each after its length. Returns false if `out` would
    /// become longer than `most`.
    fn append(
        &self,
        scratch: &mut Scratch,
        index: usize,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool> {
        let [a, b] = &mut scratch.filtered;
        let filtered = self.filter(a, b, index, src)?;
        let mut fits = true;
        for stream in self.streams(index, filtered) {
            fits =
                fits && self.stream(&mut scratch.codecs, &mut scratch.stored, stream, out, most)?;
        }
        release_if_large(a);
        release_if_large(b);
        release_if_large(&mut scratch.stored);
        Ok(fits)
    }

    /// Returns the streams of block `index`, to which the filters were applied.
    fn streams<'b>(&self, index: usize, filtered: &'b [u8]) -> std::slice::Chunks<'b, u8> {
        filtered.chunks((filtered.len() / self.header.streams(index)).max(1))
    }

    /// Applies the filters to a block.
    fn filter<'w>(
        &self,
        a: &'w mut Vec<u8>,
        b: &'w mut Vec<u8>,
        index: usize,
        src: &'w [u8],
    ) -> Result<&'w [u8]> {
        let (typesize, n) = (self.header.typesize, src.len());
        let skips_bitshuffle =
            self.params.target == Target::Blosc1 && !filter::bitshuffle::applies_v1(typesize, n);
        let group = |own: u8| if own == 0 { typesize } else { usize::from(own) };
        // shuffle does not change items of one byte
        let works = |f: &Filter| match *f {
            Filter::Shuffle { group: g } => group(g) > 1,
            Filter::Bitshuffle => !skips_bitshuffle,
            _ => true,
        };
        let steps = || self.params.filters.iter().filter(works);
        let mut now = if steps().next().is_some() {
            scratch_slice(a, n)?
        } else {
            return Ok(src);
        };
        let mut out = if steps().nth(1).is_some() {
            scratch_slice(b, n)?
        } else {
            &mut []
        };
        for (i, f) in steps().enumerate() {
            if i > 0 {
                std::mem::swap(&mut now, &mut out);
            }
            let from = if i == 0 { src } else { &*out };
            match f {
                Filter::Shuffle { group: g } => filter::shuffle(group(g), from, now),
                Filter::Bitshuffle => filter::bitshuffle(typesize, from, now),
                Filter::Delta if index == 0 => {
                    filter::delta_encode(from, true, typesize, from, now)
                }
                Filter::Delta => filter::delta_encode(&self.first, false, typesize, from, now),
                Filter::Truncate { bits } => filter::truncate(bits, typesize, from, now)?,
                Filter::ByteDelta { runs } => filter::bytedelta_encode(group(runs), from, now),
            }
        }
        Ok(now)
    }

    /// Appends a length and the encoded stream.
    fn stream(
        &self,
        codecs: &mut Encoders,
        scratch: &mut Vec<u8>,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool> {
        let (length, stored) = match self.run(src) {
            Some(0) => (0, &[][..]),
            // the token marks a run
            Some(byte) => (-i32::from(byte), &[1][..]),
            None if out.len() + 4 + src.len() <= most => {
                return self
                    .encode_stream_in_place(codecs, src, out, most)
                    .map(|()| true);
            }
            None => {
                let to = scratch_slice(scratch, src.len())?;
                let stored = match self.compress(codecs, src, to)? {
                    Some(n) => to.at(..n)?,
                    None => src,
                };
                // blocks are not longer than i32::MAX
                (stored.len() as i32, stored)
            }
        };
        if out.len() + 4 + stored.len() > most {
            return Ok(false);
        }
        alloc::grow(out, 4 + stored.len(), most)?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(stored);
        Ok(true)
    }

    /// Like [`BlockEncoder::stream`], if `out` may grow by the uncompressed stream: encodes without
    /// a copy.
    fn encode_stream_in_place(
        &self,
        codecs: &mut Encoders,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<()> {
        let begin = out.len();
        alloc::grow(out, 4 + src.len(), most)?;
        out.resize(begin + 4 + src.len(), 0);
        let (length, to) = out.at_mut(begin..)?.cut_mut(4)?;
        let n = match self.compress(codecs, src, to)? {
            Some(n) => n,
            None => {
                to.copy_from_slice(src);
                src.len()
            }
        };
        // blocks are not longer than i32::MAX
        length.copy_from_slice(&(n as i32).to_le_bytes());
        out.truncate(begin + 4 + n);
        Ok(())
    }

    /// Compresses a stream. Returns none if it does not become shorter than `dst`.
    fn compress(&self, codecs: &mut Encoders, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>> {
        let Params { codec, level, .. } = self.params;
        codecs.encode(codec, level, self.dictionary.as_ref(), src, dst)
    }

    /// Returns the byte of which the stream is a run, if the chunk can represent runs.
    fn run(&self, stream: &[u8]) -> Option<u8> {
        let ((first, tail), (_, init)) = (stream.split_first()?, stream.split_last()?);
        (self.header.extended() && tail == init).then_some(*first)
    }
}
