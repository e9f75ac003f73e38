//! Runs the distinct inputs that fuzzing found (`fuzz/seeds`, minimized by `cargo fuzz cmin`, and
//! stored in bags, one input per record) through the checks of the fuzzers (`fuzz/checks`), also
//! with small truncations and flips.

// in a fuzzer, each of the checks is compiled alone with its helpers
#![allow(clippy::duplicate_mod)]

#[path = "../fuzz/checks/array.rs"]
mod array;
#[path = "../fuzz/checks/bag.rs"]
mod bag;
#[path = "../fuzz/checks/blosclz.rs"]
mod blosclz;
#[path = "../fuzz/checks/blpk.rs"]
mod blpk;
#[path = "../fuzz/checks/chunk.rs"]
mod chunk;
#[path = "../fuzz/checks/ctable.rs"]
mod ctable;
#[path = "../fuzz/checks/dataset.rs"]
mod dataset;
#[path = "../fuzz/checks/folder.rs"]
mod folder;
#[path = "../fuzz/checks/frame.rs"]
mod frame;
#[path = "../fuzz/checks/index.rs"]
mod index;
#[path = "../fuzz/checks/meta.rs"]
mod meta;
#[path = "../fuzz/checks/part.rs"]
mod part;
#[path = "../fuzz/checks/predicate.rs"]
mod predicate;
#[path = "../fuzz/checks/store.rs"]
mod store;
#[path = "../fuzz/checks/values.rs"]
mod values;
#[path = "../fuzz/checks/yaml.rs"]
mod yaml;

use holdall::bag::Bag;
use holdall::options::Options;
use std::path::Path;

/// `near`: number of positions at which each input is truncated and flipped.
fn each(name: &str, near: usize, run: impl Fn(&[u8])) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz/seeds/{name}.bagz"));
    let seeds = Bag::open(path.as_os_str(), &Options::new()).unwrap();
    let mut runs = 0;
    for i in 0..seeds.size() {
        let seed = seeds.read(i).unwrap();
        run(&seed);
        for i in 0..seed.len().min(near) {
            let at = i * seed.len() / seed.len().min(near);
            let mut flipped = seed.clone();
            flipped[at] ^= 1 << (i % 8);
            run(&flipped);
            run(&seed[..at]);
            runs += 2;
        }
    }
    println!("{name}: {runs} inputs");
    assert!(runs > 1000, "{name}: only {runs} inputs");
}

#[test]
fn bags() {
    each("bag", 40, bag::run);
}

#[test]
fn indexes() {
    each("index", 40, index::run);
}

#[test]
fn folders() {
    each("folder", 40, folder::run);
}

#[test]
fn chunks() {
    each("chunk", 40, chunk::run);
}

#[test]
fn streams_of_blosclz() {
    each("blosclz", 40, blosclz::run);
}

#[test]
fn superchunks() {
    each("blpk", 4, blpk::run);
}

#[test]
fn frames() {
    each("frame", 4, frame::run);
}

#[test]
fn arrays() {
    each("array", 40, array::run);
}

#[test]
fn datasets() {
    each("dataset", 40, dataset::run);
}

#[test]
fn small_files_of_datasets() {
    each("meta", 2, meta::run);
}

#[test]
fn values_of_stores() {
    each("values", 40, values::run);
}

#[test]
fn predicates() {
    each("predicate", 60, predicate::run);
}

#[test]
fn yaml_texts() {
    each("yaml", 40, yaml::run);
}

#[test]
fn parts() {
    each("part", 40, part::run);
}

#[test]
fn ctables() {
    each("ctable", 40, ctable::run);
}

#[test]
fn stores() {
    each("store", 100, store::run);
}
