//! The frame `embed.b2e` of a new store, also the file of a `.b2e` store.
#![forbid(unsafe_code)]

use super::tree;
use crate::array::msgpack_json::from_json;
use crate::blosc::{Codec, Params, Target};
use crate::error::Result;
use crate::format::Format;
use crate::superchunk::frame::{Frame, NewFrame};

/// Content bytes of a chunk of `embed.b2e`, as python-blosc2 has them.
const CHUNK_BYTES: usize = 1 << 13;

/// Returns the properties of `embed.b2e`.
pub fn properties<'a>(metalayers: &'a [(&'a str, Vec<u8>)]) -> NewFrame<'a> {
    NewFrame {
        typesize: 1,
        chunk_bytes: CHUNK_BYTES,
        params: Params::new(Target::Blosc2, Codec::Zstd, 5, 1),
        metalayers,
        sparse: false,
    }
}

/// Creates the frame of a store without nodes, by a function that creates a frame. The caller
/// commits it.
pub fn create(format: Format, create: impl FnOnce(&NewFrame) -> Result<Frame>) -> Result<Frame> {
    let mark = match format {
        Format::B2e => "b2embed",
        _ => "b2tree",
    };
    let metalayers = [(mark, from_json(br#"{"version": 1}"#))];
    let mut embed = create(&properties(&metalayers))?;
    let nodes = br#"{"embed_map": {}, "current_offset": 0}"#;
    embed.vlmeta_set(tree::EMBEDDED, &from_json(nodes))?;
    Ok(embed)
}
