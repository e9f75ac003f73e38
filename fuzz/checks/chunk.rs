//! Any bytes as a Blosc chunk: the complete chunk, parts and blocks give the same content, or the
//! same error; the content is read back from a chunk that holdall writes.

use holdall::blosc::{
    BlockDecoder, Content, DecodeContext, Filter, Header, Params, Target, decode, decode_range,
    encode, sections,
};

/// Longer content would only be slower.
const MOST: usize = 1 << 16;

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Ok(header) = Header::parse(data) else {
        return;
    };
    if header.nbytes > MOST {
        return;
    }
    let mut content = vec![0; header.nbytes];
    let whole = decode(data, &mut content, 1);
    parts(data, &content, whole.is_ok());
    blocks(&header, data, &content, whole.is_ok());
    if whole.is_ok() {
        again(&header, data, &content);
    }
}

fn parts(data: &[u8], content: &[u8], intact: bool) {
    let mut all = true;
    let cut = data.iter().fold(7, |sum: usize, b| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*b))
    }) % (content.len() + 1);
    for (from, to) in [(0, cut), (cut, content.len())] {
        let mut part = vec![1; to - from];
        match decode_range(data, from, &mut part, 1) {
            Ok(()) if intact => assert!(part == content[from..to], "{from}..{to} differs"),
            Ok(()) => {}
            Err(_) => all = false,
        }
    }
    assert!(
        all || !intact,
        "the complete chunk is intact, its parts are not"
    );
}

fn blocks(header: &Header, data: &[u8], content: &[u8], intact: bool) {
    let has_blocks = header.content() == Ok(Content::Blocks) && header.variable_blocks.is_none();
    if !has_blocks || data.len() < header.cbytes {
        return;
    }
    let Ok((starts, dictionary)) = sections(header, data) else {
        return;
    };
    let Ok(one) = BlockDecoder::new(header, dictionary) else {
        return;
    };
    for (i, start) in starts.chunks_exact(4).enumerate() {
        let start = u32::from_le_bytes(start.try_into().unwrap()) as usize;
        let Some(stored) = data[..header.cbytes].get(start..) else {
            continue;
        };
        let mut block = vec![1; header.block_len(i)];
        let first = &content[..header.block_len(0)];
        let context = &mut DecodeContext::take();
        let result = one.decode(context, i, stored, Some(first), &mut block);
        if intact {
            result.unwrap();
            assert!(
                block == content[i * header.blocksize..][..block.len()],
                "block {i} differs"
            );
            few(&one, i, stored, &block);
        }
    }
}

/// Bytes at random positions of a block.
fn few(one: &BlockDecoder, i: usize, stored: &[u8], block: &[u8]) {
    for (k, n) in [1, 8, 24].into_iter().enumerate() {
        let from = block.len() / 4 * (k + 1);
        let mut part = vec![1; n.min(block.len() - from)];
        if one.decode_part(i, from, &mut part, &stored).unwrap() {
            assert!(
                part == block[from..][..part.len()],
                "block {i}: {n} bytes from {from} on differ"
            );
        }
    }
}

/// Into a chunk with the same parameters, if it can be written, and back.
fn again(header: &Header, data: &[u8], content: &[u8]) {
    let (Ok(codec), Ok(filters)) = (header.codec(), header.pipeline()) else {
        return;
    };
    let target = if header.extended() {
        Target::Blosc2
    } else {
        Target::Blosc1
    };
    let level = data.len() as u8 % 5;
    let p = Params {
        filters,
        blocksize: Some(header.blocksize),
        // training takes a thousand times as long as the rest
        dictionary: header.extended() && codec.uses_dictionaries() && data.len() % 32 == 7,
        ..Params::new(target, codec, level, header.typesize)
    };
    let mut chunk = Vec::new();
    // truncation would change it, and holdall cannot write every kind of chunk
    if filters.iter().any(|f| matches!(f, Filter::Truncate { .. }))
        || encode(&p, content, &mut chunk, 1).is_err()
    {
        return;
    }
    let mut back = vec![1; content.len()];
    decode(&chunk, &mut back, 1).unwrap();
    assert!(back == content, "ours differs");
}
