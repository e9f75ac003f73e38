//! Arrays that python-blosc2, c-blosc2 and Caterva wrote: all facts beside them are found in them.

mod common;

use common::fixtures;
use holdall::array::Array;
use holdall::error::{Result, Status};
use holdall::format::{Format, Kind};
use holdall::identify::identify;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// An array, and the facts beside it.
struct Fixture {
    path: PathBuf,
    facts: Value,
}

impl Fixture {
    fn name(&self) -> &str {
        self.path.file_stem().unwrap().to_str().unwrap()
    }

    fn numbers(&self, key: &str) -> Vec<u64> {
        self.facts[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect()
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.path.with_extension("expected.bin")).unwrap()
    }

    fn open(&self, threads: i64) -> Result<Array> {
        Array::open(
            self.path.as_os_str(),
            Mode::Read,
            &Options::new().with(Opt::Threads, threads).unwrap(),
        )
    }
}

fn all(folder: &str, extension: &str) -> Vec<Fixture> {
    let paths = fs::read_dir(fixtures().join(folder))
        .unwrap()
        .map(|e| e.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|p| p.extension() == Some(extension.as_ref()))
        .collect();
    paths.sort();
    let facts = |p: &Path| {
        fs::read(p.with_extension("json"))
            .ok()
            .map(|text| serde_json::from_slice(&text).unwrap())
    };
    paths
        .into_iter()
        .filter_map(|path| facts(&path).map(|facts| Fixture { path, facts }))
        .collect()
}

/// The codec or filter that a fixture needs and that holdall does not have.
fn plugin(name: &str) -> Option<&str> {
    [("k_ndcell", "filter 32"), ("k_zfp", "codec 35")]
        .iter()
        .find(|(of, _)| name.starts_with(of))
        .map(|(_, message)| *message)
}

fn read_all(a: &Array) -> Result<Vec<u8>> {
    let mut content = vec![0xee; a.nbytes() as usize];
    a.read(
        &vec![0; a.shape().len()],
        a.shape(),
        None,
        &mut content,
        None,
    )?;
    Ok(content)
}

/// The items of a box of the content, in C order.
fn cut(
    content: &[u8],
    shape: &[u64],
    item: usize,
    start: &[u64],
    count: &[u64],
    step: &[u64],
) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..count.iter().product::<u64>() {
        let (mut rest, mut at, mut stride) = (i, 0, 1);
        for d in (0..shape.len()).rev() {
            at += (start[d] + rest % count[d] * step[d]) * stride;
            (rest, stride) = (rest / count[d], stride * shape[d]);
        }
        out.extend(&content[at as usize * item..(at as usize + 1) * item]);
    }
    out
}

/// Reads boxes with steps, and compares them with the content.
fn boxes(a: &Array, content: &[u8], name: &str) {
    let (shape, item) = (a.shape().to_vec(), a.itemsize());
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..20 {
        let start: Vec<u64> = shape.iter().map(|n| random(*n)).collect();
        let step: Vec<u64> = shape.iter().map(|_| 1 + random(4)).collect();
        let count: Vec<u64> = shape
            .iter()
            .zip(&start)
            .zip(&step)
            .map(|((n, s), by)| 1 + random((n - s).div_ceil(*by)))
            .collect();
        let mut got = vec![0xee; count.iter().product::<u64>() as usize * item];
        a.read(&start, &count, Some(&step), &mut got, None).unwrap();
        assert!(
            got == cut(content, &shape, item, &start, &count, &step),
            "{name}: {start:?} {count:?} {step:?}"
        );
    }
}

fn check(fixture: &Fixture, dtype: Option<&str>, threads: i64) {
    let name = fixture.name();
    let a = fixture
        .open(threads)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let shapes = [a.shape(), a.chunkshape(), a.blockshape()];
    assert_eq!(
        shapes,
        [
            &fixture.numbers("shape")[..],
            &fixture.numbers("chunkshape"),
            &fixture.numbers("blockshape")
        ],
        "{name}"
    );
    match dtype {
        Some(dtype) => assert_eq!(a.dtype().spelling, dtype, "{name}"),
        None => assert_eq!(
            a.dtype().spelling,
            format!("|V{}", fixture.facts["itemsize"]),
            "{name}"
        ),
    }
    if let Some(message) = plugin(name) {
        let Err(e) = read_all(&a) else {
            panic!("{name} was read")
        };
        assert_eq!(e.status, Status::Codec, "{name}: {e}");
        assert!(e.message.contains(message), "{name}: {e}");
        return;
    }
    let got = read_all(&a).unwrap_or_else(|e| panic!("{name}: {e}"));
    if name.starts_with("s_uninit") {
        return;
    }
    let content = fixture.content();
    assert!(got == content, "{name}: other content");
    if !content.is_empty() {
        boxes(&a, &content, name);
    }
}

#[test]
fn arrays_of_python_blosc2_are_what_they_were() {
    let arrays = all("b2nd", "b2nd");
    assert!(arrays.len() > 20, "{}", arrays.len());
    for fixture in &arrays {
        let layer = &fixture.facts["metalayers"]["b2nd"];
        // files of the C API have no facts of their metalayers, except of the dtype
        let dtype = layer[6]
            .as_str()
            .or(fixture.facts["dtype"].as_str())
            .unwrap();
        for threads in [1, 2] {
            check(fixture, Some(dtype), threads);
        }
        assert_eq!(
            identify(fixture.path.as_os_str()).unwrap(),
            (Format::B2nd, Kind::Array),
            "{}",
            fixture.name()
        );
    }
}

#[test]
fn arrays_of_caterva_stay_arrays_of_caterva() {
    let arrays = all("caterva", "cat");
    assert!(arrays.len() > 2);
    for fixture in &arrays {
        for threads in [1, 2] {
            check(fixture, None, threads);
        }
        assert_eq!(
            identify(fixture.path.as_os_str()).unwrap(),
            (Format::Caterva, Kind::Array),
            "{}",
            fixture.name()
        );
        let a = fixture.open(1).unwrap();
        let metas = fixture.facts["user_meta_hex"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        assert_eq!(
            a.store().attr_names(),
            metas.keys().collect::<Vec<_>>(),
            "{}",
            fixture.name()
        );
        for (name, value) in metas {
            let hex: String = a
                .store()
                .attr(&name)
                .unwrap()
                .unwrap()
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(hex, value.as_str().unwrap());
        }
    }
}

#[test]
fn named_values_are_those_of_the_tool() {
    let all = all("b2nd", "b2nd");
    let fixture = all.iter().find(|f| f.name() == "m_meta_vlmeta").unwrap();
    let a = fixture.open(1).unwrap();
    let mut names = a.store().attr_names();
    names.sort_unstable();
    let keys = |of: &str| {
        fixture.facts[of]
            .as_object()
            .unwrap()
            .keys()
            .filter(|k| *k != "b2nd")
            .cloned()
            .collect::<Vec<_>>()
    };
    let mut found = [keys("metalayers"), keys("vlmeta")].concat();
    found.sort_unstable();
    assert_eq!(names, found);
    let attr = |name: &str| a.store().attr(name).unwrap().unwrap().to_vec();
    // as MessagePack has them
    assert_eq!(attr("beta"), b"\xa4text");
    assert_eq!(attr("alpha"), b"\xc4\x08\x00\x01binary");
    assert_eq!(attr("v_int"), [7]);
    assert_eq!(attr("v_str"), b"\xa6h\xc3\xa9llo");
    assert_eq!(attr("v_bytes").len(), 3 + 256);
    assert_eq!(a.store().attr("nothing").unwrap(), None);
}

#[test]
fn frames_without_a_shape_are_runs_of_items() {
    let mut seen = 0;
    for fixture in all("b2nd", "b2frame")
        .iter()
        .filter(|f| f.path.with_extension("expected.bin").exists())
    {
        let (a, content) = (fixture.open(2).unwrap(), fixture.content());
        assert_eq!(
            a.shape(),
            [content.len() as u64 / a.itemsize() as u64],
            "{}",
            fixture.name()
        );
        assert!(read_all(&a).unwrap() == content, "{}", fixture.name());
        boxes(&a, &content, fixture.name());
        assert_eq!(
            identify(fixture.path.as_os_str()).unwrap(),
            (Format::B2Frame, Kind::Schunk),
            "{}",
            fixture.name()
        );
        seen += 1;
    }
    assert!(seen >= 1);
}
