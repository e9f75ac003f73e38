//! Bloscpack files that the original tools wrote, of all versions since the first: header,
//! metadata, offsets and chunk table agree with the manifest.

mod common;

use common::Files;
use holdall::checksum::Checksum;
use holdall::dtype::Dtype;
use holdall::dtype::numpy_meta::{self, ArrayMeta};
use holdall::error::Status;
use holdall::io::{Access, File, Folder, memory::MemoryFolder};
use holdall::superchunk::bloscpack::chunk_table::ChunkTable;
use holdall::superchunk::bloscpack::header::{Dialect, Header};
use holdall::superchunk::bloscpack::located_chunk::LocatedChunk;
use holdall::superchunk::bloscpack::metadata::{MetaLayout, MetaLocation};
use holdall::superchunk::bloscpack::offsets;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::sync::Arc;

const LIMIT: u64 = 64 << 20;

fn memory(bytes: Vec<u8>) -> Arc<dyn File> {
    MemoryFolder::new(bytes)
        .open(OsStr::new(""), Access::Read)
        .unwrap()
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|x| format!("{x:02x}")).collect()
}

fn size_or_unknown(n: Option<u32>) -> Value {
    n.map_or(json!(-1), |n| json!(n))
}

/// The header in the form of the manifest.
fn header_json(h: &Header) -> Value {
    let nchunks = h.nchunks.map_or(json!(-1), |n| json!(n));
    let names = [
        "None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
    ];
    let mut v = match h.dialect {
        Dialect::V0 => return json!({"version": 0, "nchunks": nchunks}),
        Dialect::V1 => return json!({"version": 1, "nchunks": nchunks, "reserved": "000000"}),
        _ => json!({
            "version": h.version, "options": h.encode()[5], "checksum": h.checksum as u8,
            "checksum_name": names[h.checksum as usize], "typesize": h.typesize, "nchunks": nchunks,
            "chunk_size": size_or_unknown(h.chunk_size), "last_chunk": size_or_unknown(h.last_chunk),
        }),
    };
    match h.dialect {
        Dialect::V3 => v["max_app_chunks"] = json!(h.max_app_chunks),
        Dialect::V2 => v["reserved"] = json!(0),
        _ => {
            v["reserved"] = json!(0);
            v["meta_size"] = json!(h.meta.as_ref().unwrap().stored);
        }
    }
    v
}

fn section_json(m: &Option<MetaLocation>) -> Value {
    match m {
        Some(MetaLocation {
            room,
            stored,
            layout: MetaLayout::Section(s),
        }) => json!({
            "magic_format": "JSON", "options": s.options, "checksum": s.sum as u8, "codec": s.codec, "level": s.level,
            "meta_size": s.size, "max_meta_size": room, "meta_comp_size": stored, "user_codec": hex(&s.user_codec),
        }),
        _ => Value::Null,
    }
}

fn dialect_name(h: &Header) -> &'static str {
    match (h.dialect, &h.meta) {
        (Dialect::V0, _) => "v0",
        (Dialect::V1, _) => "v1",
        (Dialect::V2, _) => "v2",
        (Dialect::V3, _) => "v3",
        (
            Dialect::Rfc,
            Some(MetaLocation {
                layout: MetaLayout::Rfc { packed: true },
                ..
            }),
        ) => "rfc-zlib",
        (Dialect::Rfc, _) => "rfc",
    }
}

/// A chunk in the form of the manifest.
fn chunk_json(c: &LocatedChunk, sum: Checksum, bytes: &[u8]) -> Value {
    let codec = ["blosclz", "lz4", "snappy", "zlib", "zstd"][usize::from(c.flags >> 5)];
    let shuffle = if c.flags & 4 != 0 { 2 } else { c.flags & 1 };
    let (at, end) = (c.at as usize, (c.at + u64::from(c.cbytes)) as usize);
    let digest = &bytes[end..end + sum.size()];
    assert_eq!(digest, sum.of(&bytes[at..end]));
    json!([
        c.at,
        c.cbytes,
        c.nbytes,
        c.typesize,
        codec,
        shuffle,
        c.flags & 2 != 0,
        hex(digest)
    ])
}

/// The same JSON at the same offset gives the same bytes, except the details of zlib's format.
fn written_again(location: &MetaLocation, json: &[u8], stored: &[u8]) {
    let (again, bytes) = location.rewrite(json).unwrap().unwrap();
    assert_eq!(bytes.len(), stored.len());
    assert_eq!((again.room, again.size()), (location.room, location.size()));
    if again.stored == json.len() as u32 && again == *location && !stored.starts_with(b"JSON ") {
        assert_eq!(bytes, stored);
    }
    let file = memory([&[0; 32], &bytes[..]].concat());
    assert_eq!(again.read(&*file, LIMIT).unwrap(), json);
}

/// The array that the metadata describe, if there is one.
fn check_array(entry: &Value, json: &[u8]) {
    let (id, content) = (&entry["id"], &entry["content"]);
    let Some(array) = ArrayMeta::read(json).unwrap() else {
        assert_eq!(entry["container"], Value::Null, "{id}");
        return;
    };
    assert_eq!(
        (&json!("numpy"), &json!(array.shape)),
        (&entry["container"], &content["shape"]),
        "{id}"
    );
    assert_eq!(
        array.dtype.item,
        Dtype::from_json(
            &holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap()
        )
        .unwrap()
        .item,
        "{id}"
    );
    assert_eq!(
        (array.dtype.item.size, array.nbytes()),
        (
            content["itemsize"].as_u64().unwrap() as usize,
            content["nbytes"].as_u64()
        ),
        "{id}"
    );
    if entry["group"] == "numpy" {
        assert_eq!(array.to_json().as_bytes(), json, "{id}");
    }
    assert_eq!(
        numpy_meta::with_shape(json, &array.shape)
            .unwrap()
            .replace(' ', ""),
        String::from_utf8_lossy(json).replace(' ', ""),
        "{id}"
    );
}

/// The types of bcolz and BLZ, which write them as Python's `str` does.
fn check_columns(entry: &Value) {
    let content = &entry["content"];
    for (name, column) in entry["storage"].as_object().into_iter().flatten() {
        let Some(dtype) = column["storage"].get("dtype") else {
            continue;
        };
        let dtype =
            Dtype::from_json(&holdall::json::Value::parse(dtype.to_string().as_bytes()).unwrap())
                .unwrap();
        if name.is_empty() {
            assert_eq!(
                dtype.item,
                Dtype::from_json(
                    &holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap()
                )
                .unwrap()
                .item,
                "{}",
                entry["id"]
            );
            assert!(
                content["itemsize"]
                    .as_u64()
                    .is_none_or(|n| n == dtype.item.size as u64),
                "{}",
                entry["id"]
            );
        }
    }
}

fn check(entry: &Value, bytes: Vec<u8>) {
    let (id, layout) = (&entry["id"], &entry["layout"]);
    let file = memory(bytes.clone());
    let header = Header::read(&*file).unwrap();
    assert_eq!(dialect_name(&header), layout["dialect"], "{id}");
    assert_eq!(header_json(&header), layout["header"], "{id}");
    assert_eq!(section_json(&header.meta), layout["meta_header"], "{id}");
    assert_eq!(header.encode(), bytes[..header.size() as usize], "{id}");
    assert_eq!(header.chunks_at(), layout["data_pos"], "{id}");

    let meta = header.meta.as_ref().map(|m| m.read(&*file, LIMIT).unwrap());
    let meta = meta.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap());
    assert_eq!(meta, entry["metadata"], "{id}");
    if let Some(location) = &header.meta {
        let json = location.read(&*file, LIMIT).unwrap();
        written_again(location, &json, &bytes[32..header.offsets_at() as usize]);
        check_array(entry, &json);
    } else {
        assert_eq!(entry["container"], Value::Null);
    }

    if header.has_offsets {
        assert_eq!(header.offsets_at(), layout["offsets_pos"], "{id}");
        assert_eq!(header.offset_entries(), layout["offsets_entries"], "{id}");
        let of_chunks = layout["offsets"]
            .as_array()
            .unwrap()
            .iter()
            .take(header.nchunks.unwrap() as usize)
            .cloned();
        assert_eq!(
            json!(offsets::read(&*file, &header, LIMIT).unwrap()),
            Value::from_iter(of_chunks),
            "{id}"
        );
    }

    let table = ChunkTable::read(&*file, &header, LIMIT).unwrap();
    let chunks: Vec<Value> = table
        .chunks
        .iter()
        .map(|c| chunk_json(c, header.checksum, &bytes))
        .collect();
    assert_eq!(json!(chunks), layout["chunks"], "{id}");
    assert_eq!(table.suspected, None, "{id}");
    let damaged = entry["expect"] == "damaged";
    assert_eq!(table.damage.is_some(), damaged, "{id}: {:?}", table.damage);
    if let Some(damage) = table.damage {
        assert_eq!(
            (damage.status, damage.position),
            (Status::Format, chunks.len() as i64),
            "{id}"
        );
    }
    let gaps = ["reordered.blp", "gap_nometa", "rfc_padded"]
        .iter()
        .any(|name| id.as_str().unwrap().contains(name));
    assert_eq!((table.in_order, table.as_header), (!gaps, true), "{id}");
    let all_there = !layout["offsets"]
        .as_array()
        .is_none_or(|o| o.contains(&json!(-1)));
    assert_eq!(table.by_offsets, all_there, "{id}");
    if !id.as_str().unwrap().ends_with("reordered.blp") {
        assert_eq!(bytes.len() as u64 - table.end, layout["trailing"], "{id}");
    }
}

#[test]
fn files_of_the_real_tools_are_read() {
    let folder = Files::of(common::fixtures().join("blpk"));
    let manifest = common::manifest(&folder);
    let (entries, others): (Vec<&Value>, Vec<&Value>) = manifest["fixtures"]
        .as_array()
        .unwrap()
        .iter()
        .partition(|e| e["kind"] == "bloscpack");
    assert_eq!(entries.len() as u64, manifest["counts"]["bloscpack"]);
    for entry in entries {
        check(
            entry,
            std::fs::read(folder.join(entry["path"].as_str().unwrap())).unwrap(),
        );
    }
    others.into_iter().for_each(check_columns);
}

/// JSON, and the chunks' bytes.
type Content = (Option<Vec<u8>>, Vec<Vec<u8>>);

/// The result of reading a file; nothing if an error is reported.
fn content(file: &dyn File, bytes: &[u8], limit: u64) -> Option<Content> {
    let header = Header::read(file).ok()?;
    let meta = header.meta.as_ref().map(|m| m.read(file, limit));
    let table = ChunkTable::read(file, &header, limit).ok()?;
    assert!(
        table.chunks.len() <= bytes.len() / 8,
        "more chunks than the file has room for"
    );
    if table.damage.is_some() || table.suspected.is_some() || !table.as_header {
        return None;
    }
    let mut chunks = Vec::new();
    for c in &table.chunks {
        let (at, end) = (c.at as usize, (c.at + u64::from(c.cbytes)) as usize);
        let chunk = &bytes[at..end];
        (header.checksum.of(chunk) == bytes[end..end + header.checksum.size()]).then_some(())?;
        if c.nbytes > 0 {
            chunks.push(chunk.to_vec());
        }
    }
    Some((meta.transpose().ok()?, chunks))
}

/// Small files, one of each kind.
const SMALL: &[&str] = &[
    "hist_v0/v0_8200.blp",
    "hist_v1/v1_8200.blp",
    "hist_v2/v2_crc32_nooff.blp",
    "hist_v2/v2_md5_off.blp",
    "matrix/m_md5_nooff_nometa_zlib.blp",
    "rfc_meta/rfc_zmeta.blp",
    "synthetic/rfc_padded_chk1_v3.blp",
    "synthetic/reordered.blp",
    "synthetic/meta_magic_spaces.blp",
    "synthetic/offsets_all_minus1.blp",
    "empty/empty_sha512_off_meta.blp",
    "numpy/sh_0d.blp",
    "aborted/aborted_meta_crc32.blp",
];

fn small() -> impl Iterator<Item = (String, Vec<u8>)> {
    let own = common::own().join("blpk");
    SMALL
        .iter()
        .map(move |name| (name.to_string(), std::fs::read(own.join(name)).unwrap()))
}

#[test]
fn a_flipped_byte_is_noticed_or_harmless() {
    for (name, bytes) in small() {
        let file = memory(bytes.clone());
        let want = content(&*file, &bytes, LIMIT);
        let header = Header::read(&*file).unwrap();
        let table = ChunkTable::read(&*file, &header, LIMIT).unwrap();
        // no checksum covers the JSON of the older layout, nor chunks without one
        let bare = header
            .meta
            .as_ref()
            .is_some_and(|m| m.layout == MetaLayout::Rfc { packed: false });
        let head = (0..32).chain(if bare { header.offsets_at() } else { 32 }..header.chunks_at());
        let chunks = table
            .chunks
            .iter()
            .filter(|_| header.checksum != Checksum::None)
            .flat_map(|c| c.at..c.at + 16);
        for at in head.filter(|at| *at < header.chunks_at()).chain(chunks) {
            for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut corrupt = bytes.clone();
                corrupt[at as usize] ^= flip;
                let got = content(&*memory(corrupt.clone()), &corrupt, 1 << 20);
                assert!(got.is_none() || got == want, "{name}: byte {at} ^ {flip}");
            }
        }
    }
}

#[test]
fn any_flips_are_survived() {
    for (_, bytes) in small() {
        for at in 0..bytes.len() {
            for flip in [1, 0x7f, 0x80, 0xff] {
                let mut corrupt = bytes.clone();
                corrupt[at] ^= flip;
                content(&*memory(corrupt.clone()), &corrupt, 1 << 20);
            }
        }
    }
}

#[test]
fn a_truncated_file_is_detected_and_its_complete_chunks_are_read() {
    for (name, bytes) in small() {
        let header = Header::read(&*memory(bytes.clone())).unwrap();
        let whole = ChunkTable::read(&*memory(bytes.clone()), &header, LIMIT).unwrap();
        for n in 0..bytes.len() {
            let cut = memory(bytes[..n].to_vec());
            let Ok(header) = Header::read(&*cut) else {
                continue;
            };
            let table = ChunkTable::read(&*cut, &header, 1 << 20).unwrap();
            assert!(
                table.damage.is_some() || n as u64 >= whole.end,
                "{name}, {n} bytes"
            );
            let retained = whole
                .chunks
                .iter()
                .filter(|c| c.end(header.checksum) <= n as u64);
            assert!(
                retained.eq(table.chunks.iter().filter(|c| !c.is_lost())),
                "{name}, {n} bytes"
            );
        }
    }
}
