//! Verification, reads of everything and reads of single items agree on every changed byte of a
//! container: each reports an error, or all give the same content. Verification alone may report
//! more: corrupt bytes that are not part of the content, such as padding. Unreported changes do not
//! change the content, except in the bytes that each test names, which no checksum covers.

mod common;

use holdall::array::{Array, NewTiled};
use holdall::dataset::create::{ArraySpec, create};
use holdall::dataset::open::open;
use holdall::error::Result;
use holdall::format::Format;
use holdall::options::{Opt, Options};
use holdall::superchunk::any::{Superchunk, SuperchunkFormat};
use holdall::superchunk::bloscpack::Mode;
use holdall::verify::verify;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of bytes that are read: a length may be corrupt.
const MOST: u64 = 1 << 20;

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        fs::read_dir(from)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .for_each(|name| copy(&from.join(&name), &to.join(&name)));
    } else {
        fs::write(to, fs::read(from).unwrap()).unwrap();
    }
}

/// The files of a folder and of its subfolders.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() {
            list(&path, files)
        } else {
            files.push(path)
        }
    }
}

/// The container that is read: an array, or a superchunk of items of 4 bytes.
enum Content {
    Array(Box<Array>),
    Superchunk(Superchunk),
}

impl Content {
    fn open(path: &Path) -> Result<Content> {
        let options = Options::new().with(Opt::Threads, 1)?;
        if path.extension().is_some_and(|e| e == "blp") {
            return Superchunk::open(path.as_os_str(), Mode::Read, &options)
                .map(Content::Superchunk);
        }
        open(path.as_os_str(), Mode::Read, &options).map(|array| Content::Array(Box::new(array)))
    }

    fn nbytes(&self) -> Option<usize> {
        let nbytes = match self {
            Content::Array(a) => a.nbytes(),
            Content::Superchunk(s) => s.nbytes(),
        };
        (nbytes <= MOST).then_some(nbytes as usize)
    }

    /// What is not part of the bytes.
    fn shape(&self) -> String {
        match self {
            Content::Array(a) => format!("{} {:?}", a.dtype().spelling, a.shape()),
            Content::Superchunk(s) => s.nbytes().to_string(),
        }
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
                    let mut at: Vec<u64> = a
                        .shape()
                        .iter()
                        .rev()
                        .map(|n| (rest % n, rest /= n).0)
                        .collect();
                    at.reverse();
                    if i % 2 == 0 {
                        a.read(&at, &vec![1; at.len()], None, &mut dst, None)
                    } else {
                        a.read_points(&at, 1, &mut dst)
                    }
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
    let found = verify(
        path.as_os_str(),
        &Options::new().with(Opt::Threads, 1).unwrap(),
        &mut |_, _| {
            faults += 1;
            true
        },
    );
    faults == 0 && found.is_ok_and(|[_, corrupt, _]| corrupt == 0)
}

/// Of a file: only some of its structure can be checked.
const NO_CHECKSUM: Silent = Some(("there is no checksum", 0..usize::MAX));

/// Bytes whose changes are not reported although they change content: the reason, and their
/// positions in the file.
type Silent<'a> = Option<(&'a str, Range<usize>)>;

/// Changes every byte of `file` in three of several ways.
fn agree(path: &Path, file: &Path, silent: Silent) {
    let good = fs::read(file).unwrap();
    let opened = Content::open(path).unwrap();
    let (shape, content) = (opened.shape(), opened.read_all().unwrap());
    drop(opened);
    assert!(is_intact(path) && content.len() > 100, "{}", path.display());
    let (mut unreported, mut wrong) = (0, Vec::new());
    let ways = [1, 2, 3, 7, 0x10, 0x80, 0xff];
    for at in 0..good.len() {
        for by in [0, 1, 2].map(|i| ways[(3 * at + i) % ways.len()]) {
            let mut corrupt = good.clone();
            corrupt[at] ^= by;
            fs::write(file, &corrupt).unwrap();
            let reads = [Content::read_all, Content::read_each].map(|read| {
                Content::open(path)
                    .ok()
                    .and_then(|c| Some((c.shape(), read(&c)?)))
            });
            let (intact, [whole, single]) = (is_intact(path), &reads);
            let same = whole
                .as_ref()
                .is_none_or(|(s, c)| *s == shape && *c == content);
            // corruption may be outside of the content, such as in padding
            let agree = whole == single && if intact { whole.is_some() } else { same };
            let known = silent
                .as_ref()
                .is_some_and(|(_, bytes)| bytes.contains(&at));
            unreported += usize::from(agree && known && !same);
            if !agree || !(same || known) {
                let found = reads.each_ref().map(Option::is_some);
                wrong.push(format!("byte {at} by {by:#x}: intact: {intact}, read at once and by items: {found:?}, as before: {same}"));
            }
        }
    }
    fs::write(file, good).unwrap();
    assert!(
        wrong.is_empty(),
        "{}: {} do not agree: {:#?}",
        file.display(),
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
    if let Some((why, bytes)) = silent {
        assert!(
            unreported > 0,
            "{}: each change of {bytes:?} is reported, and {why:?} is not true",
            file.display()
        );
    }
}

/// A path that no other test uses.
fn new_path(name: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("agree-{}-{number}-{name}", std::process::id()))
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap()
    } else {
        fs::remove_file(path).unwrap()
    }
}

/// The same for one file of a fixture. `None`: the fixture is a file.
fn agree_on(from: &Path, file: Option<&str>, silent: Silent) {
    let path = new_path(&from.file_name().unwrap().to_string_lossy());
    copy(from, &path);
    agree(
        &path,
        &file.map_or(path.clone(), |name| path.join(name)),
        silent,
    );
    remove(&path);
}

#[test]
fn on_frames() {
    let own = common::own();
    agree_on(
        &own.join("caterva/c2d_full4_sparse.cat"),
        Some("00000006.chunk"),
        NO_CHECKSUM,
    );
    agree_on(
        &own.join("caterva/c2d_longblocks_sparse.cat"),
        Some("00000001.chunk"),
        NO_CHECKSUM,
    );
    // files as a whole: with special chunks, and with items that chunk headers have no number for
    agree_on(&own.join("b2nd/s_mixed.b2nd"), None, NO_CHECKSUM);
    agree_on(
        &own.join("b2nd/t_S300_typesize_gt255.b2nd"),
        None,
        NO_CHECKSUM,
    );
}

#[test]
fn on_bloscpack_files() {
    let all = [
        ("none", 0, 1, NO_CHECKSUM),
        ("blosclz", 0, 0, NO_CHECKSUM),
        ("adler", 1, 1, None),
        ("crc", 2, 1, None),
    ];
    for (name, checksum, codec, silent) in all {
        let path = new_path(&format!("{name}.blp"));
        let mut options = Options::new()
            .with(Opt::ChunkBytes, 96)
            .unwrap()
            .with(Opt::BlockBytes, 32)
            .unwrap();
        options = options
            .with(Opt::Checksum, checksum)
            .unwrap()
            .with(Opt::Codec, codec)
            .unwrap();
        let mut s = Superchunk::create(
            path.as_os_str(),
            Mode::New,
            SuperchunkFormat::Bloscpack,
            4,
            &options,
        )
        .unwrap();
        let content: Vec<u8> = (0..200u32)
            .map(|i| {
                if i < 96 {
                    (i / 40) as u8
                } else {
                    ((i * i * 7) >> 3) as u8
                }
            })
            .collect();
        s.append(&content).unwrap();
        s.commit().unwrap();
        drop(s);
        agree(&path, &path, silent);
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
        files
            .iter()
            .for_each(|file| agree_on(&all.join(name), Some(file), NO_CHECKSUM));
    }
}

/// The text files as well.
#[test]
fn on_metadata_of_datasets() {
    let all = common::Files::of(common::own().join("datasets"));
    for name in ["bcolz/bcolz121_dflt/dflt_S", "blz/blz062_nd/nd_S"] {
        ["meta/sizes", "meta/storage"]
            .iter()
            .for_each(|file| agree_on(&all.join(name), Some(file), None));
    }
    for (name, format, checksum) in [
        ("bcolz", Format::Bcolz, 2),
        ("blz_rfc", Format::BlzRfc, 2),
        ("none", Format::Bcolz, 0),
    ] {
        let path = new_path(name);
        let options = Options::new().with(Opt::Checksum, checksum).unwrap();
        let new = ArraySpec {
            dtype: "<u2",
            shape: &[20, 5],
            chunks: Some(&[8, 5]),
            format,
        };
        let mut array = create(path.as_os_str(), Mode::New, &new, &options).unwrap();
        let content: Vec<u8> = (0..200u32).map(|i| ((i * i * 7) >> 5) as u8).collect();
        array
            .write(&[0, 0], &[20, 5], None, &content, None)
            .unwrap();
        array.commit().unwrap();
        drop(array);
        if checksum == 0 {
            ["meta/sizes", "meta/storage"]
                .iter()
                .for_each(|file| agree(&path, &path.join(file), None));
        } else {
            let mut files = Vec::new();
            list(&path, &mut files);
            assert!(files.len() > 3, "{files:?}");
            files.iter().for_each(|file| agree(&path, file, None));
        }
        remove(&path);
    }
}

/// One chunk of an array in a frame.
fn agree_in_array(
    name: &str,
    (chunk, new): (usize, &NewTiled),
    options: Options,
    silent: Silent,
    content: impl Fn(usize) -> Vec<u8>,
) {
    let path = new_path(name);
    let options = options.with(Opt::Sparse, 1).unwrap();
    let mut array = Array::create_frame(path.as_os_str(), Mode::New, new, &options).unwrap();
    let content = content(array.nbytes() as usize);
    if !content.is_empty() {
        array
            .write(&[0, 0], new.shape, None, &content, None)
            .unwrap();
    }
    array.commit().unwrap();
    drop(array);
    agree(&path, &path.join(format!("{chunk:08}.chunk")), silent);
    remove(&path);
}

/// Streams that say at their end only, after the last item, that they are corrupt.
#[test]
fn on_blocks_that_end_with_padding() {
    let content = |n| {
        (0..n as u32)
            .flat_map(|i| {
                (if i % 30 < 17 {
                    i / 50
                } else {
                    (i * i * 7) >> 3
                })
                .to_le_bytes()
            })
            .take(n)
            .collect()
    };
    for (name, codec, filters) in [
        ("lz4", 1, &[1][..]),
        ("lz4-plain", 1, &[]),
        ("blosclz", 0, &[1]),
        ("blosclz-plain", 0, &[]),
        ("zstd", 5, &[1]),
    ] {
        let mut options = Options::new().with(Opt::Codec, codec).unwrap();
        options.set_bytes(Opt::Filters, filters).unwrap();
        let new = NewTiled {
            dtype: "<u4",
            shape: &[13, 6],
            chunks: Some(&[8, 6]),
            blocks: Some(&[8, 4]),
            caterva: false,
        };
        for (checksum, silent) in [(0, NO_CHECKSUM), (2, None)]
            .into_iter()
            .take(if name == "lz4" { 2 } else { 1 })
        {
            agree_in_array(
                name,
                (1, &new),
                options.clone().with(Opt::Checksum, checksum).unwrap(),
                silent,
                content,
            );
        }
    }

    let value: Vec<u8> = (0..300u32).map(|i| (i * 7 + 1) as u8).collect();
    let mut options = Options::new();
    options.set_bytes(Opt::Fill, &value).unwrap();
    let new = NewTiled {
        dtype: "|S300",
        shape: &[5, 3],
        chunks: Some(&[2, 3]),
        blocks: Some(&[2, 2]),
        caterva: false,
    };
    agree_in_array(
        "fill",
        (1, &new),
        options.with(Opt::Checksum, 0).unwrap(),
        NO_CHECKSUM,
        |_| Vec::new(),
    );
}
