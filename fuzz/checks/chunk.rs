//! Any bytes as a Blosc chunk: whole, in parts and by block they give the same, or the same
//! refusal; and what they hold comes back from a chunk of ours.

use holdall::blosc::{
    BlockDecoder, Content, DecodeContext, Filter, Header, Params, Target, decode, decode_range,
    encode, sections,
};

/// Longer content would only make the runs slow.
const MOST: usize = 1 << 16;

/// Panics where something is wrong.
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

fn parts(data: &[u8], content: &[u8], sound: bool) {
    let mut all = true;
    let cut = data.iter().fold(7, |sum: usize, b| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*b))
    }) % (content.len() + 1);
    for (from, to) in [(0, cut), (cut, content.len())] {
        let mut part = vec![1; to - from];
        match decode_range(data, from, &mut part, 1) {
            Ok(()) if sound => assert!(part == content[from..to], "{from}..{to} differs"),
            Ok(()) => {}
            Err(_) => all = false,
        }
    }
    assert!(all || !sound, "whole it is sound, in parts it is not");
}

fn blocks(header: &Header, data: &[u8], content: &[u8], sound: bool) {
    if header.content() != Ok(Content::Blocks) || data.len() < header.cbytes {
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
        if sound {
            result.unwrap();
            assert!(
                block == content[i * header.blocksize..][..block.len()],
                "block {i} differs"
            );
            few(&one, i, stored, &block);
        }
    }
}

/// Some bytes of a block, here and there.
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

/// Into a chunk like it, where that can be written, and back.
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
        ..Params::new(target, codec, level, header.typesize)
    };
    let mut chunk = Vec::new();
    // truncation would change it, and not every chunk is one that we write
    if filters.iter().any(|f| matches!(f, Filter::Truncate { .. }))
        || encode(&p, content, &mut chunk, 1).is_err()
    {
        return;
    }
    let mut back = vec![1; content.len()];
    decode(&chunk, &mut back, 1).unwrap();
    assert!(back == content, "ours differs");
}
