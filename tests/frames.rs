//! Frames of holdall for python-blosc2, and the frames that it changed: see
//! `tests/peer/test_frames.py`.

use holdall::blosc::{Codec, Filter, Params, Pipeline, Target};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::superchunk::frame::{Frame, NewFrame};
use std::fs;
use std::path::{Path, PathBuf};

const CHUNK: usize = 24_000;

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("HOLDALL_FRAMES").unwrap())
}

fn content(kind: usize, n: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64.wrapping_add(kind as u64);
    let bytes = (0..n / 8 + 1).flat_map(|i| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        [i as u64 / 3, x & 0xff00_0000_0000_00ff, x, 0, 42][kind % 5].to_le_bytes()
    });
    bytes.take(n).collect()
}

/// Name and parameters.
fn cases() -> Vec<(String, Params, bool, i64)> {
    let filters: [(&str, &[Filter]); 5] = [
        ("none", &[]),
        ("shuffle", &[Filter::Shuffle { group: 0 }]),
        ("bitshuffle", &[Filter::Bitshuffle]),
        ("delta", &[Filter::Delta, Filter::Shuffle { group: 0 }]),
        (
            "bytedelta",
            &[Filter::Shuffle { group: 0 }, Filter::ByteDelta { runs: 0 }],
        ),
    ];
    let mut all = Vec::new();
    for codec in [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4Hc,
        Codec::Zlib,
        Codec::Zstd,
    ] {
        for (name, filter) in filters {
            for (i, typesize) in [1usize, 3, 4, 8, 16, 300].into_iter().enumerate() {
                for sparse in [false, true] {
                    let sum = if (i + all.len() / 7) % 3 == 0 { 0 } else { 2 };
                    let chunk = CHUNK / typesize * typesize;
                    let params = Params {
                        filters: Pipeline::new(filter).unwrap(),
                        blocksize: Some((chunk / 4 / typesize * typesize).max(typesize)),
                        ..Params::new(Target::Blosc2, codec, [1, 5, 9, 0][all.len() % 4], typesize)
                    };
                    let where_to = if sparse { "sparse" } else { "file" };
                    all.push((
                        format!("{}-{name}-{typesize}-{where_to}-{sum}", codec.name()),
                        params,
                        sparse,
                        sum,
                    ));
                }
            }
        }
    }
    all
}

fn write_all(name: &str, frame: &Frame) {
    let mut all = vec![0; frame.nbytes() as usize];
    frame.read(0, &mut all).unwrap();
    fs::write(folder().join(format!("{name}.bin")), all).unwrap();
}

fn open(path: &Path, mode: Mode) -> Frame {
    Frame::open(path.as_os_str(), mode, &Options::new()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
#[ignore = "run by tests/peer/test_frames.py"]
fn make() {
    for (i, (name, params, sparse, sum)) in cases().into_iter().enumerate() {
        let path = folder().join(&name);
        let chunk = CHUNK / params.typesize * params.typesize;
        // 1 byte or 697, as MessagePack
        let meta = [
            vec![0xc4, 1, 5],
            [vec![0xc5, 2, 0xb9], vec![5; 697]].concat(),
        ][i % 2]
            .clone();
        let new = NewFrame {
            typesize: params.typesize,
            chunk_bytes: chunk,
            params,
            metalayers: &[("ours", meta)],
            sparse,
        };
        let options = Options::new().with(Opt::Checksum, sum).unwrap();
        let mut frame = Frame::create(path.as_os_str(), Mode::New, &new, &options).unwrap();
        for kind in 0..5 {
            frame.append(&content(kind + i, chunk)).unwrap();
        }
        frame.vlmeta_set("vl", b"\xa5value").unwrap();
        frame.commit().unwrap();
        // and once more, so that there is unused space
        frame.write(chunk as u64 / 2, &content(i, chunk)).unwrap();
        frame.append(&content(i + 1, 2 * chunk)).unwrap();
        frame.write(5 * chunk as u64, &vec![9; chunk]).unwrap();
        frame.commit().unwrap();
        write_all(&name, &frame);
    }
}

#[test]
#[ignore = "run by tests/peer/test_frames.py"]
fn go_on() {
    for (i, (name, ..)) in cases().into_iter().enumerate() {
        let path = folder().join(&name);
        let want = fs::read(folder().join(format!("{name}.bin"))).unwrap();
        let frame = open(&path, Mode::Read);
        let mut all = vec![0; want.len()];
        assert_eq!(frame.nbytes(), want.len() as u64, "{name}");
        frame
            .read(0, &mut all)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(all == want, "{name}: other content");
        assert_eq!(
            frame.meta("theirs").unwrap(),
            Some(&b"\xa5other"[..]),
            "{name}"
        );
        assert!(
            frame.meta("ours").unwrap().is_some() && frame.meta("vl").unwrap().is_some(),
            "{name}"
        );
        let verified = frame.verify(|e| panic!("{name}: {e}")).unwrap();
        assert_eq!(verified.corrupt, 0, "{name}");
        drop(frame);
        let mut frame = open(&path, Mode::Append);
        let n = frame.nbytes();
        frame.write(n / 3, &content(i + 2, n as usize / 4)).unwrap();
        frame.remove(0).unwrap();
        frame
            .append(&content(i + 3, 1000 / frame.typesize() * frame.typesize()))
            .unwrap();
        frame.commit().unwrap();
        drop(frame);
        let frame = open(&path, Mode::Read);
        let verified = frame.verify(|e| panic!("{name}: {e}")).unwrap();
        assert!(
            verified.corrupt == 0 && (verified.unchecked == 0 || !frame.has_checksums()),
            "{name}: {verified:?}"
        );
        write_all(&name, &frame);
    }
}

/// Frames that the reference library made are changed, without checksums and, every second one,
/// with them from here on.
#[test]
#[ignore = "run by tests/peer/test_frames.py"]
fn change_theirs() {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_none_or(|e| e != "bin"))
        .collect();
    paths.sort();
    for (i, path) in paths.iter().enumerate() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let options = if i % 2 == 0 {
            Options::new()
        } else {
            Options::new().with(Opt::Checksum, 2).unwrap()
        };
        let mut frame =
            Frame::open(path.as_os_str(), Mode::Append, &options).unwrap_or_else(|e| panic!("{e}"));
        let n = frame.nbytes() as usize;
        let mut want = vec![0; n];
        frame.read(0, &mut want).unwrap_or_else(|e| panic!("{e}"));
        for (from, len, kind) in [(n / 3, n / 5, i), (n / 2, 3, 2), (0, n / 9, 3)] {
            let part = content(kind, len.min(n - from));
            want[from..from + part.len()].copy_from_slice(&part);
            frame
                .write(from as u64, &part)
                .unwrap_or_else(|e| panic!("{e}"));
        }
        frame.vlmeta_set("changed", b"\xa3yes").unwrap();
        frame.commit().unwrap_or_else(|e| panic!("{e}"));
        drop(frame);
        let frame = open(path, Mode::Read);
        let mut got = vec![1; n];
        frame.read(0, &mut got).unwrap_or_else(|e| panic!("{e}"));
        assert!(got == want, "{name}: other content");
        let verified = frame.verify(|e| panic!("{e}")).unwrap();
        assert!(
            verified.corrupt == 0
                && (verified.unchecked == 0) == (i % 2 == 1 || frame.chunks() == 0),
            "{name}: {verified:?}"
        );
        fs::write(folder().join(format!("{name}.bin")), want).unwrap();
    }
}
