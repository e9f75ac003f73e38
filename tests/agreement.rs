//! Verification, reads of everything and reads of single items agree on every changed byte of a chunk: each reports an error, or all
//! give the same content. Verification alone may report more: corrupt bytes that are no part of the content, as padding.

mod common;

use holdall::Result;
use holdall::array::Array;
use holdall::dataset::open::open;
use holdall::options::{Opt, Options};
use holdall::superchunk::any::{Form, Superchunk};
use holdall::superchunk::bloscpack::Mode;
use holdall::verify::verify;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that are read at most: a length may be corrupt.
const MOST: u64 = 1 << 20;

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        fs::read_dir(from).unwrap().map(|e| e.unwrap().file_name()).for_each(|name| copy(&from.join(&name), &to.join(&name)));
    } else {
        fs::write(to, fs::read(from).unwrap()).unwrap();
    }
}

/// What is read: an array, or a superchunk of items of 4 bytes.
enum Content {
    Array(Array),
    Superchunk(Superchunk),
}

impl Content {
    fn open(path: &Path) -> Result<Content> {
        let options = Options::new().with(Opt::Threads, 1)?;
        if path.extension().is_some_and(|e| e == "blp") {
            return Superchunk::open(path.as_os_str(), Mode::Read, &options).map(Content::Superchunk);
        }
        open(path.as_os_str(), Mode::Read, &options).map(Content::Array)
    }

    fn nbytes(&self) -> Option<usize> {
        let nbytes = match self {
            Content::Array(a) => a.nbytes(),
            Content::Superchunk(s) => s.nbytes(),
        };
        (nbytes <= MOST).then_some(nbytes as usize)
    }

    fn read_all(&self) -> Option<Vec<u8>> {
        let mut dst = vec![0xee; self.nbytes()?];
        let read = match self {
            Content::Array(a) => a.read(&vec![0; a.shape().len()], a.shape(), None, &mut dst, None),
            Content::Superchunk(s) => s.read(0, &mut dst),
        };
        read.ok().map(|_| dst)
    }

    fn read_each(&self) -> Option<Vec<u8>> {
        let item = match self {
            Content::Array(a) => a.itemsize(),
            Content::Superchunk(_) => 4,
        };
        let items = (self.nbytes()? / item.max(1)) as u64;
        let mut all = Some(Vec::new());
        // also after an error
        for i in 0..items {
            let mut dst = vec![0xee; item];
            let read = match self {
                Content::Array(a) => {
                    let mut rest = i;
                    let mut at: Vec<u64> = a.shape().iter().rev().map(|n| (rest % n, rest /= n).0).collect();
                    at.reverse();
                    a.read(&at, &vec![1; at.len()], None, &mut dst, None)
                }
                Content::Superchunk(s) => s.read(i * 4, &mut dst),
            };
            all = all.filter(|_| read.is_ok()).map(|all| [all, dst].concat());
        }
        all
    }
}

/// Does verification find nothing?
fn is_intact(path: &Path) -> bool {
    let mut faults = 0;
    let found = verify(path.as_os_str(), &Options::new().with(Opt::Threads, 1).unwrap(), &mut |_, _| {
        faults += 1;
        true
    });
    faults == 0 && found.is_ok_and(|[_, bad, _]| bad == 0)
}

/// Changes every byte of `file` in several ways; how many changes there were that nothing reports.
fn agree(path: &Path, file: &Path) -> usize {
    let good = fs::read(file).unwrap();
    let content = Content::open(path).unwrap().read_all().unwrap();
    assert!(is_intact(path) && content.len() > 100, "{}", path.display());
    let (mut silent, mut wrong) = (0, Vec::new());
    for at in 0..good.len() {
        for by in [1, 2, 3, 7, 0x10, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= by;
            fs::write(file, &bad).unwrap();
            let reads = [Content::read_all, Content::read_each].map(|read| Content::open(path).ok().and_then(|c| read(&c)));
            let (intact, [whole, single]) = (is_intact(path), &reads);
            silent += usize::from(intact);
            // what is corrupt may be outside of the content, in padding, say
            let agree = whole == single && if intact { whole.is_some() } else { whole.as_ref().is_none_or(|c| *c == content) };
            let found = reads.each_ref().map(Option::is_some);
            if !agree {
                wrong.push(format!("byte {at} by {by:#x}: intact: {intact}, read at once and by items: {found:?}"));
            }
        }
    }
    fs::write(file, good).unwrap();
    assert!(wrong.is_empty(), "{}: {} do not agree: {:#?}", file.display(), wrong.len(), &wrong[..wrong.len().min(5)]);
    silent
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("agree-{}-{name}", std::process::id()))
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// The same for one file of a fixture. `None`: the fixture is a file.
fn agree_on(from: &Path, file: Option<&str>) {
    let path = place(&from.file_name().unwrap().to_string_lossy());
    copy(from, &path);
    let silent = agree(&path, &file.map_or(path.clone(), |name| path.join(name)));
    println!("{}: {silent} changes are not reported", path.display());
    remove(&path);
}

#[test]
fn on_frames() {
    let own = common::own();
    agree_on(&own.join("caterva/c2d_full4_sparse.cat"), Some("00000006.chunk"));
    agree_on(&own.join("caterva/c2d_longblocks_sparse.cat"), Some("00000001.chunk"));
}

#[test]
fn on_bloscpack_files() {
    for (name, checksum, codec) in [("none", 0, 1), ("adler", 1, 1), ("blosclz", 0, 0)] {
        let path = place(&format!("{name}.blp"));
        let mut options = Options::new().with(Opt::ChunkBytes, 96).unwrap().with(Opt::BlockBytes, 32).unwrap();
        options = options.with(Opt::Checksum, checksum).unwrap().with(Opt::Codec, codec).unwrap();
        let mut s = Superchunk::create(path.as_os_str(), Mode::New, Form::Bloscpack, 4, &options).unwrap();
        let content: Vec<u8> = (0..200u32).map(|i| if i < 96 { (i / 40) as u8 } else { ((i * i * 7) >> 3) as u8 }).collect();
        s.append(&content).unwrap();
        s.commit().unwrap();
        drop(s);
        let silent = agree(&path, &path);
        println!("{name}: {silent} changes are not reported");
        remove(&path);
    }
}

#[test]
fn on_datasets() {
    let all = common::Files::of(common::own().join("datasets"));
    let files = ["data/__0.blp", "data/__1.blp"];
    for (name, files) in [
        ("bcolz/bcolz121_chunks/leftover", &files[..]),
        ("bcolz/bcolz121_dflt/dflt_S", &files[1..]),
        ("blz/blz062_chunks/leftover", &files[..]),
        ("blz/blz062_nd/nd_S", &files[..1]),
    ] {
        files.iter().for_each(|file| agree_on(&all.join(name), Some(file)));
    }
}
