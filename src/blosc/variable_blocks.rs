//! Chunks whose blocks have lengths of their own (version 6 of the chunk format, c-blosc2 3).
//!
//! Source: README_CHUNK_FORMAT.rst of c-blosc2 3.3.2. The header has the number of blocks in the field
//! for their size. The offsets of the blocks ascend; a block ends where the next one begins, and the
//! last one at the end of the chunk. A block is one stream, without the forms for runs. The four bytes
//! before it are the length of its content, not of the stream.
//!
//! To readers of content, such a chunk is one block, which is all of it.
#![forbid(unsafe_code)]

use super::chunk_dictionary::{Training, sample_step};
use super::codec::EncoderDictionary;
use super::decode::{StoredStream, Workspace, stream_label};
use super::{BlockDecoder, BlockEncoder, DecodeContext, Header, Params, Pipeline, Split, Target};
use crate::alloc;
use crate::error::{Result, fail};
use crate::slice::{SliceExt, take_mut};
use std::ops::Range;

/// Size of the length before a stream.
const LENGTH: usize = 4;

/// Encodes a chunk with a block for each of these pieces of content, which are not empty. Filters are
/// not applied: blocks of variable length are serialized values, not items.
pub fn encode_variable(params: &Params, blocks: &[&[u8]]) -> Result<Vec<u8>> {
    let nbytes = blocks.iter().map(|block| block.len()).sum();
    let own = Params {
        target: Target::Blosc2,
        filters: Pipeline::default(),
        split: Split::Never,
        blocksize: None,
        ..params.clone()
    };
    let mut encoder = BlockEncoder::make(&own, nbytes)?;
    if let Some(trained) = train(&own, nbytes, blocks)? {
        encoder.try_dictionary(trained, |encoder| sampled_size(encoder, blocks))?;
    }
    let mut header = encoder.variable_header(blocks.len());
    let table = header.len() + 4 * blocks.len();
    let mut chunk = alloc::zeroed(table)?;
    encoder.append_dictionary(&mut chunk);
    for (i, block) in blocks.iter().enumerate() {
        let (start, at) = (chunk.len() as u32, header.len() + 4 * i);
        chunk
            .at_mut(at..at + 4)?
            .copy_from_slice(&start.to_le_bytes());
        encoder.push_variable(block, &mut chunk)?;
    }
    header.cbytes = chunk.len();
    let (bytes, n) = header.write()?;
    chunk.at_mut(..n)?.copy_from_slice(bytes.at(..n)?);
    Ok(chunk)
}

/// Trains a dictionary for these blocks, if their chunk has one.
fn train(params: &Params, nbytes: usize, blocks: &[&[u8]]) -> Result<Option<EncoderDictionary>> {
    let Some(mut training) = Training::new(params, nbytes, blocks.len()) else {
        return Ok(None);
    };
    for block in blocks {
        training.push(block)?;
    }
    training.finish(params)
}

/// Returns about how many bytes the encoded blocks have, from some of them.
fn sampled_size(encoder: &BlockEncoder, blocks: &[&[u8]]) -> Result<usize> {
    let (step, mut encoded) = (sample_step(blocks.len()), Vec::new());
    for block in blocks.iter().step_by(step) {
        encoder.push_variable(block, &mut encoded)?;
    }
    Ok(encoded.len() * step)
}

/// Where the blocks are stored.
pub(super) struct VariableBlocks {
    /// Byte ranges from the start of the first block on.
    spans: Vec<Range<usize>>,
}

impl VariableBlocks {
    /// Parses the table of block offsets. No block begins before `earliest`.
    pub(super) fn parse(header: &Header, table: &[u8], earliest: usize) -> Result<VariableBlocks> {
        let table = table.as_chunks::<4>().0;
        let mut spans = alloc::with_capacity(table.len())?;
        let mut entries = table.iter().enumerate().peekable();
        let mut first = None;
        while let Some((i, entry)) = entries.next() {
            let start = header.block_start(i, *entry, earliest)?;
            let end = match entries.peek() {
                Some((i, next)) => header.block_start(*i, **next, earliest)?,
                None => header.cbytes,
            };
            if end <= start.saturating_add(LENGTH) {
                return Err(fail!(
                    Format,
                    "block {i} is stored at {start} and ends at {end}: too short for a block"
                ));
            }
            let first = *first.get_or_insert(start);
            spans.push(start - first..end - first);
        }
        Ok(VariableBlocks { spans })
    }

    /// Returns the bytes of a block, from the start of the first block on.
    pub(super) fn span(&self, block: usize) -> Option<Range<usize>> {
        self.spans.get(block).cloned()
    }

    /// Returns where each block begins in the content of the chunk, and where the last one ends.
    /// `stored` begins at the first block; the content has `nbytes` bytes.
    pub(super) fn offsets(&self, stored: &[u8], nbytes: usize) -> Result<Vec<usize>> {
        let mut offsets = alloc::with_capacity(self.spans.len() + 1)?;
        let mut end = 0;
        offsets.push(end);
        for (i, span) in self.spans.iter().enumerate() {
            end += VariableBlock::parse(i, stored.get(span.clone()), nbytes - end)?.len;
            offsets.push(end);
        }
        check_rest(nbytes - end)?;
        Ok(offsets)
    }
}

/// A stored block.
struct VariableBlock<'a> {
    /// Bytes of its content.
    len: usize,
    stream: StoredStream<'a>,
}

impl VariableBlock<'_> {
    /// Parses block `i`, which has at most `most` bytes of content.
    fn parse(i: usize, stored: Option<&[u8]>, most: usize) -> Result<VariableBlock<'_>> {
        let Some((length, stream)) = stored.and_then(<[u8]>::split_first_chunk) else {
            return Err(fail!(Format, "block {i} is cut short"));
        };
        let len = u32::from_le_bytes(*length) as usize;
        if len == 0 || len > most {
            return Err(fail!(
                Format,
                "block {i} states a length of {len} (expected 1 to {most})"
            ));
        }
        let stream = match stream.len() == len {
            true => StoredStream::Copied(stream),
            false => StoredStream::Compressed(stream),
        };
        Ok(VariableBlock { len, stream })
    }
}

/// Fails if the blocks of a chunk have `rest` bytes less than its content.
fn check_rest(rest: usize) -> Result<()> {
    if rest == 0 {
        return Ok(());
    }
    Err(fail!(
        Format,
        "the blocks of the chunk have {rest} bytes less than its header states"
    ))
}

impl BlockDecoder {
    /// Decodes all blocks of a chunk into `dst`. `stored` begins at the first block.
    pub(super) fn decode_variable(
        &self,
        workspace: &mut Workspace,
        blocks: &VariableBlocks,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        let mut rest = dst;
        for (i, span) in blocks.spans.iter().enumerate() {
            let block = VariableBlock::parse(i, stored.get(span.clone()), rest.len())?;
            let to = take_mut(&mut rest, block.len)?;
            self.decode_variable_block(workspace, i, &block, to)?;
        }
        check_rest(rest.len())
    }

    fn decode_variable_block(
        &self,
        workspace: &mut Workspace,
        i: usize,
        block: &VariableBlock<'_>,
        dst: &mut [u8],
    ) -> Result<()> {
        self.decode_through_filters(workspace, None, dst, &mut |codecs, to| {
            self.decode_stream(codecs, &block.stream, to, block.len)
                .map_err(|e| e.within(stream_label(i, 0)))
        })
    }

    /// Decodes block `i` from its stored bytes into `dst`, which must have its length.
    pub(super) fn decode_variable_alone(
        &self,
        context: &mut DecodeContext,
        i: usize,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        let block = VariableBlock::parse(i, Some(stored), self.header.nbytes)?;
        if block.len != dst.len() {
            let (len, n) = (block.len, dst.len());
            return Err(fail!(
                Argument,
                "block {i} has {len} bytes (the buffer has {n})"
            ));
        }
        self.decode_variable_block(&mut context.0, i, &block, dst)
    }
}

/// Returns the length of the content of block `i`, at most `most`, from its stored bytes.
pub(super) fn variable_len(i: usize, stored: &[u8], most: usize) -> Result<usize> {
    VariableBlock::parse(i, Some(stored), most).map(|block| block.len)
}

#[cfg(test)]
mod tests {
    use super::encode_variable;
    use crate::blosc::stored::StoredChunk;
    use crate::blosc::{BlockDecoder, DecodeContext, decode, decode_range, encode, sections};
    use crate::blosc::{Codec, Content, Filter, Header, Params, Pipeline, Split, Target};
    use crate::error::Status;

    /// Encodes blocks of these lengths as c-blosc2 3 does; returns the content and the chunk.
    fn chunk(lengths: &[usize], codec: Codec, filters: Pipeline) -> (Vec<u8>, Vec<u8>) {
        let typesize = if lengths.iter().all(|n| n.is_multiple_of(4)) {
            4
        } else {
            1
        };
        let (mut content, mut streams, mut head) = (Vec::new(), Vec::new(), Vec::new());
        for n in lengths {
            let block: Vec<u8> = (0..*n).map(|i| (i / 50 * n) as u8).collect();
            let params = Params {
                filters,
                blocksize: Some(*n),
                split: Split::Never,
                ..Params::new(Target::Blosc2, codec, 5, typesize)
            };
            let mut one = Vec::new();
            encode(&params, &block, &mut one, 1).unwrap();
            let h = Header::parse(&one).unwrap();
            let stream = match h.content().unwrap() {
                Content::Blocks => {
                    head = one[..32].to_vec();
                    let start = sections(&h, &one).unwrap().0.to_vec();
                    let start = u32::from_le_bytes(start.try_into().unwrap()) as usize;
                    one[start + 4..].to_vec()
                }
                _ => panic!("a block of {n} bytes is not compressed"),
            };
            streams.push((block.len() as u32, stream));
            content.extend(block);
        }
        let mut at = 32 + 4 * lengths.len();
        let (mut table, mut body) = (Vec::new(), Vec::new());
        for (n, stream) in streams {
            table.extend((at as u32).to_le_bytes());
            body.extend(n.to_le_bytes());
            body.extend(&stream);
            at += 4 + stream.len();
        }
        head[0] = 6;
        head[4..8].copy_from_slice(&(content.len() as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(lengths.len() as u32).to_le_bytes());
        head[12..16].copy_from_slice(&(at as u32).to_le_bytes());
        head[30] = 1;
        (content, [head, table, body].concat())
    }

    fn chunks() -> Vec<(Vec<u8>, Vec<u8>)> {
        let bitshuffle = Pipeline::single(Filter::Bitshuffle);
        let shuffle = Pipeline::single(Filter::Shuffle { group: 0 });
        let lengths = [&[300][..], &[64, 1000, 128], &[500; 9], &[203, 90, 777]];
        let codecs = [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd];
        let mut all = Vec::new();
        for lengths in lengths {
            for codec in codecs {
                for filters in [Pipeline::default(), shuffle, bitshuffle] {
                    all.push(chunk(lengths, codec, filters));
                }
            }
        }
        all
    }

    #[test]
    fn what_is_written_is_read() {
        let text: Vec<u8> = (0..90_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let noise: Vec<u8> = (0..3000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let zeros = [0; 500];
        for codec in Codec::FOR_BLOSC2 {
            for (level, typesize) in [(0, 1), (1, 4), (5, 1), (5, 9), (9, 300)] {
                let params = Params {
                    dictionary: codec.uses_dictionaries(),
                    ..Params::new(Target::Blosc2, codec, level, typesize)
                };
                let lines: Vec<&[u8]> = text.chunks(500).collect();
                for blocks in [
                    &[&text[..]][..],
                    &lines,
                    &[&text[..10], &noise[..], &zeros[..], &text[..], &b"\x90"[..]],
                    &[&b"x"[..]],
                ] {
                    let chunk = encode_variable(&params, blocks).unwrap();
                    let content = blocks.concat();
                    let mut found = vec![0; content.len()];
                    decode(&chunk, &mut found, 2).unwrap();
                    assert!(found == content, "{codec:?} {level} {typesize}");
                    let header = Header::parse(&chunk).unwrap();
                    assert_eq!(header.variable_blocks, Some(blocks.len()));
                    assert_eq!(header.cbytes, chunk.len());
                    let stored = 32 + 8 * blocks.len() + content.len();
                    assert!(chunk.len() <= stored, "{codec:?} {level}");
                }
            }
        }
    }

    #[test]
    fn a_dictionary_makes_short_values_smaller() {
        let line = |i| {
            format!(
                "user {i} of the city of Osaka, and what is said of him: {}",
                i * i
            )
        };
        let lines: Vec<String> = (0u64..2000).map(line).collect();
        let blocks: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        for codec in [Codec::Lz4, Codec::Lz4Hc, Codec::Zstd] {
            let sizes = [false, true].map(|dictionary| {
                let params = Params {
                    dictionary,
                    ..Params::new(Target::Blosc2, codec, 5, 1)
                };
                let chunk = encode_variable(&params, &blocks).unwrap();
                assert_eq!(Header::parse(&chunk).unwrap().has_dictionary(), dictionary);
                let mut found = vec![0; blocks.concat().len()];
                decode(&chunk, &mut found, 1).unwrap();
                assert_eq!(found, blocks.concat());
                chunk.len()
            });
            assert!(sizes[1] * 10 < sizes[0] * 8, "{codec:?}: {sizes:?}");
        }
    }

    #[test]
    fn all_parts_are_read() {
        for (content, chunk) in chunks() {
            let mut found = vec![0; content.len()];
            decode(&chunk, &mut found, 2).unwrap();
            assert_eq!(found, content);
            let source = &&chunk[..];
            let (stored, _) = StoredChunk::open(source, chunk.len() as u64, 32, 1 << 20).unwrap();
            assert_eq!(
                (stored.header().blocks(), stored.has_free_blocks()),
                (1, false)
            );
            for from in (0..content.len()).step_by(13) {
                for n in [1, 70, content.len() - from] {
                    let n = n.min(content.len() - from);
                    let (mut a, mut b) = (vec![0; n], vec![0; n]);
                    decode_range(&chunk, from, &mut a, 1).unwrap();
                    stored.read(source, from, &mut b, None).unwrap();
                    assert!(
                        a == content[from..from + n] && b == a,
                        "{n} bytes from {from}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_decoder_without_the_table_decodes_nothing() {
        for (content, chunk) in chunks() {
            let h = Header::parse(&chunk).unwrap();
            let one = BlockDecoder::new(&h, None).unwrap();
            let (context, n) = (&mut DecodeContext::take(), content.len());
            let stored = &chunk[h.len()..];
            let whole = one.decode(context, 0, stored, None, &mut vec![0; n]);
            assert_eq!(whole.unwrap_err().status, Status::Unsupported);
            let range = one.decode_range(context, 0, stored, None, 0..n).err();
            assert_eq!(range.unwrap().status, Status::Unsupported);
            let part = one.decode_part(0, 0, &mut [0; 8], &stored);
            assert_eq!(part, Ok(false));
        }
    }

    #[test]
    fn corrupt_chunks_are_errors_or_have_other_content() {
        for (content, chunk) in chunks().into_iter().step_by(5) {
            let mut found = vec![0; content.len()];
            for n in 0..chunk.len() {
                assert!(decode(&chunk[..n], &mut found, 1).is_err(), "{n} bytes");
            }
            for i in 0..chunk.len() {
                for bit in [1, 0x80] {
                    let mut other = chunk.clone();
                    other[i] ^= bit;
                    _ = decode(&other, &mut found, 1);
                }
            }
        }
        let (content, chunk) = chunks().remove(14);
        let with = |changes: &[(usize, &[u8])]| {
            let mut other = chunk.clone();
            for (at, bytes) in changes {
                other[*at..*at + bytes.len()].copy_from_slice(bytes);
            }
            let e = decode(&other, &mut vec![0; content.len()], 1).unwrap_err();
            (e.status, e.message)
        };
        let start = u32::from_le_bytes(chunk[36..40].try_into().unwrap());
        for (changes, text) in [
            (&[(8, &[0u8; 4][..])][..], "no blocks"),
            (&[(8, &[0xff; 3])], "do not fit"),
            // blocks that are not in order, that overlap, or that are elsewhere
            (
                &[(36, &start.to_le_bytes()), (40, &start.to_le_bytes())],
                "too short",
            ),
            (&[(32, &(start + 9).to_le_bytes())], "too short"),
            (&[(32, &[3, 0, 0, 0])], "begins outside"),
            (&[(40, &[0xff; 4])], "begins outside"),
            // lengths that are not those of the content
            (&[(start as usize, &[0; 4])], "length of 0"),
            (&[(start as usize, &[0xff; 4])], "length of 4294967295"),
        ] {
            let (status, message) = with(changes);
            assert_eq!(status, Status::Format, "{message}");
            assert!(message.contains(text), "{message}");
        }
        let delta = with(&[(16, &[3])]);
        assert_eq!(delta.0, Status::Unsupported, "{}", delta.1);
    }

    #[test]
    fn short_chunks_have_their_codec() {
        for codec in Codec::FOR_BLOSC2 {
            for (n, level) in (1..70).flat_map(|n| [(n, 0), (n, 1), (n, 9)]) {
                let params = Params::new(Target::Blosc2, codec, level, 8);
                let block = vec![7; n];
                let chunk = encode_variable(&params, &[&block]).unwrap();
                let mut content = vec![0; n];
                decode(&chunk, &mut content, 1).unwrap();
                assert_eq!(content, block, "{codec:?}");
            }
        }
    }
}
