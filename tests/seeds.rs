//! What fuzzing found to be different from each other (`fuzz/seeds`, made smaller by `cargo fuzz cmin`, and
//! kept in bags, an input a record), run through the same checks as the fuzzers run (`fuzz/checks`), and cut and flipped a little.

// each of the checks stands alone in a fuzzer, with what it uses
#![allow(clippy::duplicate_mod)]

#[path = "../fuzz/checks/array.rs"]
mod array;
#[path = "../fuzz/checks/bag.rs"]
mod bag;
#[path = "../fuzz/checks/chunk.rs"]
mod chunk;
#[path = "../fuzz/checks/dataset.rs"]
mod dataset;
#[path = "../fuzz/checks/folder.rs"]
mod folder;

use holdall::bag::Bag;
use holdall::options::Options;
use std::path::Path;

fn each(name: &str, run: impl Fn(&[u8])) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz/seeds/{name}.bagz"));
    let seeds = Bag::open(path.as_os_str(), &Options::new()).unwrap();
    let mut runs = 0;
    for i in 0..seeds.size() {
        let seed = seeds.read(i).unwrap();
        run(&seed);
        for i in 0..seed.len().min(40) {
            let at = i * seed.len() / seed.len().min(40);
            let mut near = seed.clone();
            near[at] ^= 1 << (i % 8);
            run(&near);
            run(&seed[..at]);
            runs += 2;
        }
    }
    println!("{name}: {runs} inputs");
    assert!(runs > 1000, "{name}: only {runs} inputs");
}

#[test]
fn bags() {
    each("bag", bag::run);
}

#[test]
fn folders() {
    each("folder", folder::run);
}

#[test]
fn chunks() {
    each("chunk", chunk::run);
}

#[test]
fn arrays() {
    each("array", array::run);
}

#[test]
fn datasets() {
    each("dataset", dataset::run);
}
