//! Commits in parts: every kind of container, and what is refused.

mod disk;

use super::*;
use crate::array::Array;
use crate::bag::{Bag, Mode as BagMode, Writer};
use crate::blosc::filter::truncate_in_place;
use crate::dataset::any;
use crate::dataset::create::ArraySpec;
use crate::dataset::open;
use crate::dtype::Dtype;
use crate::format::Format;
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use crate::table::Table;

/// A folder that is removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("holdall-parts-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> OsString {
        self.0.join(name).into_os_string()
    }

    /// Returns all names in the folder, except those of locks.
    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with("-lock"))
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn none() -> Options {
    Options::new()
}

/// Writes a part of a bag and returns its token.
fn bag_part(spec: &OsStr, records: &[&[u8]], options: &Options) -> Vec<u8> {
    let mut part = Part::of_bag(spec, options).unwrap();
    let mut writer = Writer::open(part.path(), BagMode::Append, options).unwrap();
    records.iter().for_each(|r| writer.append(r).unwrap());
    writer.commit().unwrap();
    drop(writer);
    part.finish().unwrap()
}

fn records(spec: &OsStr, options: &Options) -> Vec<Vec<u8>> {
    let bag = Bag::open(spec, options).unwrap();
    (0..bag.size()).map(|i| bag.read(i).unwrap()).collect()
}

fn commit_all(target: &OsStr, tokens: &[Vec<u8>], options: &Options) -> Result<()> {
    let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    commit(target, &tokens, options)
}

#[test]
fn records_of_parts_are_appended_in_the_order_of_the_tokens() {
    for (name, limits) in [("x.bagz", 0), ("x.bag", 0), ("x.bagz", 1), ("x.bag", 1)] {
        let folder = Folder::new("bag");
        let path = folder.path(name);
        let options = none().with(Opt::BagLimits, limits).unwrap();
        let part = |records: &[&[u8]]| bag_part(&path, records, &options);
        let (a, b) = (part(&[b"a1", b""]), part(&[b"b1"]));
        assert_eq!(list(&path).unwrap().len(), 2);
        commit_all(&path, &[b, a], &options).unwrap();
        assert_eq!(records(&path, &options), [&b"b1"[..], b"a1", b""]);

        let more = [part(&[&b"c"[..]; 100]), part(&[])];
        commit_all(&path, &more, &options).unwrap();
        assert_eq!(records(&path, &options).len(), 103);
        let e = commit_all(&path, &more, &options).unwrap_err();
        assert_eq!(e.status, Status::Missing, "{e}");
        assert!(folder.names().iter().all(|n| !n.contains("holdall")));
    }
}

#[test]
fn parts_become_the_shards_of_a_new_set() {
    for (name, limits) in [
        ("x@*.bagz", 0),
        ("x@2.bag", 0),
        ("x@*.bag", 1),
        ("x@2.bagz", 1),
    ] {
        let folder = Folder::new("set");
        let path = folder.path(name);
        let options = none().with(Opt::BagLimits, limits).unwrap();
        // the remains of an earlier writer, with limits of their own
        std::fs::write(folder.path("x-00001-of-00002.bagz"), b"x").unwrap();
        std::fs::write(folder.path("limits.x-00001-of-00002.bag"), b"12345678").unwrap();
        let part = |records: &[&[u8]]| bag_part(&path, records, &options);
        let tokens = [part(&[b"a", b"b"]), part(&[b"c"])];
        commit_all(&path, &tokens, &options).unwrap();
        let two = folder.path(&name.replace('*', "2"));
        assert_eq!(records(&two, &options), [b"a", b"b", b"c"]);
        assert!(folder.names().iter().all(|n| !n.contains("holdall")));

        let again = [part(&[b"x"]), part(&[b"y"])];
        let e = commit_all(&two, &again, &options).unwrap_err();
        assert_eq!(e.status, Status::Exists, "{e}");
        let three = [&again[..], &[part(&[b"z"])]].concat();
        let e = commit_all(&two, &three, &options).unwrap_err();
        assert_eq!(e.status, Status::Argument, "{e}");
        if name.contains('*') {
            let e = commit_all(&path, &three, &options).unwrap_err();
            assert_eq!(e.status, Status::Exists, "{e}");
        }
        let all: Vec<&[u8]> = three.iter().map(Vec::as_slice).collect();
        discard(&two, &all).unwrap();
        assert!(folder.names().iter().all(|n| !n.contains("holdall")));
    }
}

fn create(path: &OsStr, format: Format, shape: &[u64], chunks: &[u64]) {
    let new = ArraySpec {
        dtype: "<i4",
        shape,
        chunks: Some(chunks),
        format,
    };
    any::create(path, Mode::New, &new, None, &none())
        .and_then(|mut array| array.commit())
        .unwrap();
}

fn bytes(items: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let items = items.into_iter();
    items.flat_map(|i| (i as i32 + 1).to_le_bytes()).collect()
}

fn content(path: &OsStr) -> (Vec<u64>, Vec<u8>) {
    let array = open::open(path, Mode::Read, &none()).unwrap();
    let mut all = vec![0; array.nbytes() as usize];
    let (shape, start) = (array.shape().to_vec(), vec![0; array.shape().len()]);
    array.read(&start, &shape, None, &mut all, None).unwrap();
    (shape, all)
}

/// Finishes a part of an array that `write` changes.
fn array_part(
    path: &OsStr,
    of_box: Option<[&[u64]; 2]>,
    write: impl FnOnce(&mut Array) -> Result<()>,
) -> Vec<u8> {
    let mut part = Part::of_array(path, of_box, &none()).unwrap();
    let mut array = open::open(part.path(), Mode::Append, &none()).unwrap();
    write(&mut array).and_then(|()| array.commit()).unwrap();
    drop(array);
    part.finish().unwrap()
}

const FORMATS: [Format; 6] = [
    Format::B2nd,
    Format::Caterva,
    Format::Bloscpack,
    Format::Bcolz,
    Format::Blz,
    Format::BlzRfc,
];

#[test]
fn boxes_of_parts_are_written() {
    // boxes along chunks, also to the end, and others
    let boxes: [&[[[u64; 2]; 2]]; 2] = [
        &[[[0, 0], [4, 5]], [[4, 0], [4, 5]], [[8, 0], [2, 5]]],
        &[[[0, 0], [3, 2]], [[0, 2], [3, 3]], [[3, 0], [7, 5]]],
    ];
    for format in FORMATS {
        for boxes in boxes {
            let folder = Folder::new("box");
            let path = folder.path("x");
            create(&path, format, &[10, 5], &[4, 5]);
            let tokens: Vec<Vec<u8>> = boxes
                .iter()
                .map(|[start, shape]| {
                    array_part(&path, Some([start, shape]), |array| {
                        let row =
                            |r: u64| (0..shape[1]).map(move |c| (start[0] + r) * 5 + start[1] + c);
                        let items = bytes((0..shape[0]).flat_map(row));
                        array.write(&[0, 0], shape, None, &items, None)
                    })
                })
                .collect();
            assert_eq!(content(&path).1, vec![0; 200], "nothing is visible before");
            commit_all(&path, &tokens, &none()).unwrap();
            assert_eq!(content(&path), (vec![10, 5], bytes(0..50)), "{format:?}");
            assert_eq!(folder.names(), ["x"]);
        }
    }
}

#[test]
fn rows_of_parts_are_appended() {
    for (format, rows) in FORMATS
        .into_iter()
        .flat_map(|f| [[4, 8, 3], [1, 5, 0]].map(|r| (f, r)))
    {
        let folder = Folder::new("rows");
        let path = folder.path("x");
        create(&path, format, &[0, 5], &[4, 5]);
        let mut first = 0;
        let tokens = rows.map(|n| {
            let token = array_part(&path, None, |array| {
                array.append(0, n, &bytes(first * 5..(first + n) * 5))
            });
            first += n;
            token
        });
        commit_all(&path, &tokens, &none()).unwrap();
        assert_eq!(
            content(&path),
            (vec![first, 5], bytes(0..first * 5)),
            "{format:?}"
        );
    }
}

#[test]
fn chunks_of_frames_are_copied_as_they_are_stored() {
    let folder = Folder::new("stored");
    let path = folder.path("x.b2nd");
    create(&path, Format::B2nd, &[8, 500], &[4, 500]);
    let options = none().with(Opt::Codec, 5).unwrap(); // zlib: the array has LZ4
    let mut part = Part::of_array(&path, Some([&[4, 0], &[4, 500]]), &options).unwrap();
    let mut array = open::open(part.path(), Mode::Append, &none()).unwrap();
    let items = bytes((0..2000).map(|i| i * i % 977));
    array.write(&[0, 0], &[4, 500], None, &items, None).unwrap();
    array.commit().unwrap();
    let stored = std::fs::read(part.path()).unwrap();
    let token = part.finish().unwrap();
    commit_all(&path, &[token], &none()).unwrap();
    let all = std::fs::read(&path).unwrap();
    let middle = &stored[stored.len() / 2..][..64];
    assert!(all.windows(64).any(|bytes| bytes == middle));
    assert_eq!(content(&path).1[8000..], items);
}

fn table(path: &OsStr, format: Format) {
    let columns = ["<i4", "<f8"].map(|dtype| Dtype::parse_argument(dtype).unwrap());
    let columns = [("a", columns[0].clone()), ("b", columns[1].clone())];
    let mut table = Table::create(path, Mode::New, format, &columns, &none()).unwrap();
    table.append(1, &[&[1; 4], &[2; 8]]).unwrap();
    table.attr_set("note", Some(b"1")).unwrap();
    table.commit().unwrap();
}

fn table_part(path: &OsStr, rows: u64, value: u8) -> Vec<u8> {
    let mut part = Part::of_table(path, &none()).unwrap();
    let mut table = Table::open(part.path(), Mode::Append, &none()).unwrap();
    let [a, b] = [4, 8].map(|size| vec![value; rows as usize * size]);
    table.append(rows, &[&a, &b]).unwrap();
    table.commit().unwrap();
    drop(table);
    part.finish().unwrap()
}

#[test]
fn rows_of_tables_are_appended() {
    for format in [Format::Bcolz, Format::Blz, Format::BlzRfc] {
        let folder = Folder::new("table");
        let path = folder.path("x");
        table(&path, format);
        let tokens = [
            table_part(&path, 3, 7),
            table_part(&path, 0, 8),
            table_part(&path, 1, 9),
        ];
        commit_all(&path, &tokens, &none()).unwrap();
        let all = Table::open(&path, Mode::Read, &none()).unwrap();
        let mut a = [0; 20];
        all.read_rows(0, (0, 5, 1), &mut a).unwrap();
        assert_eq!(
            a.chunks(4).map(|c| c[0]).collect::<Vec<_>>(),
            [1, 7, 7, 7, 9]
        );
        assert_eq!(folder.names(), ["x"]);
    }
}

/// The encoded chunks of a run of chunks of 16 items, which is in a folder of files with one chunk,
/// or with two.
fn stored_chunks(data: std::path::PathBuf, format: Format, n: u64) -> Vec<Vec<u8>> {
    let chunk = |i: u64| match format {
        Format::BlzRfc => {
            let path = data.join(format!("__{}__.bin", i / 2 + 1));
            let file = Bloscpack::open(path.as_os_str(), Mode::Read, &none()).unwrap();
            file.with_raw(i % 2, |raw| Ok(raw.to_vec())).unwrap()
        }
        _ => std::fs::read(data.join(format!("__{i}.blp"))).unwrap(),
    };
    (0..n).map(chunk).collect()
}

/// First items and numbers of items of parts: complete superchunks, one that is not complete, the rest
/// of it, a part of a chunk, and one after it.
const RUNS: [[u64; 2]; 6] = [
    [100, 32],
    [200, 48],
    [300, 48],
    [400, 16],
    [500, 40],
    [600, 16],
];

/// Number of chunks of these parts that are copied. A part of a chunk is encoded, and with it the
/// chunk before it in the same superchunk.
fn copied(format: Format) -> u64 {
    if format == Format::BlzRfc { 10 } else { 11 }
}

/// Options of a new container with chunks of 16 items, two in a superchunk.
fn small_chunks(format: Format) -> Options {
    let mut options = none().with(Opt::ChunkBytes, 64).unwrap();
    if format == Format::BlzRfc {
        options.set(Opt::SuperchunkChunks, 2).unwrap();
    }
    options
}

/// A container of one column: what differs between an array and a table.
struct Column {
    part: fn(&OsStr, &Options) -> Result<Part>,
    append: fn(&OsStr, &[u8]) -> Result<()>,
    read: fn(&OsStr) -> Vec<u8>,
    data: fn(&OsStr, Format) -> std::path::PathBuf,
}

/// Commits parts with another codec, and compares their chunks with those of the container, which
/// has 32 items.
fn check_stored_chunks(path: &OsStr, format: Format, of: &Column) {
    let part = |items: &[u8], options: &Options| {
        let mut part = (of.part)(path, options).unwrap();
        (of.append)(part.path(), items).unwrap();
        let data = (of.data)(part.path(), format);
        (part.finish().unwrap(), data)
    };
    let (mut tokens, mut all, mut stored) = (Vec::new(), bytes(0..32), Vec::new());
    for [first, n] in RUNS {
        let items = bytes(first..first + n);
        let options = small_chunks(format).with(Opt::Codec, 5).unwrap();
        let (token, data) = part(&items, &options);
        stored.extend(stored_chunks(data, format, n / 16));
        all.extend(items);
        tokens.push(token);
    }
    commit_all(path, &tokens, &none()).unwrap();
    assert_eq!((of.read)(path), all, "{format:?}");
    let chunks = stored_chunks((of.data)(path, format), format, 2 + copied(format));
    assert!(chunks[2..] == stored[..chunks.len() - 2], "{format:?}");

    // a corrupt chunk of a part is named, and nothing is committed; without options, a part has the
    // chunks of the container
    let (token, data) = part(&bytes(0..32), &none());
    let name = list(path).unwrap().remove(0);
    damage(data, format);
    let e = commit_all(path, &[token], &none()).unwrap_err();
    assert!(e.status.is_corruption() && e.message.contains(&name), "{e}");
    assert_eq!((of.read)(path), all, "{format:?}");
}

const DATASETS: [Format; 3] = [Format::Bcolz, Format::Blz, Format::BlzRfc];

#[test]
fn chunks_of_datasets_are_copied_as_they_are_stored() {
    for format in DATASETS {
        let folder = Folder::new("runs");
        let path = folder.path("x");
        let new = ArraySpec {
            dtype: "<i4",
            shape: &[0],
            chunks: None,
            format,
        };
        let options = small_chunks(format);
        let mut array = any::create(&path, Mode::New, &new, None, &options).unwrap();
        array.append(0, 32, &bytes(0..32)).unwrap();
        array.commit().unwrap();
        drop(array);
        let of = Column {
            part: |path, options| Part::of_array(path, None, options),
            append: |path, items| {
                let mut array = open::open(path, Mode::Append, &none())?;
                array.append(0, items.len() as u64 / 4, items)?;
                array.commit()
            },
            read: |path| content(path).1,
            data: |path, _| std::path::Path::new(path).join("data"),
        };
        check_stored_chunks(&path, format, &of);
    }
}

#[test]
fn chunks_of_tables_are_copied_as_they_are_stored() {
    for format in DATASETS {
        let folder = Folder::new("chunks");
        let path = folder.path("x");
        let columns = [("a", Dtype::parse_argument("<i4").unwrap())];
        let options = small_chunks(format);
        let mut new = Table::create(&path, Mode::New, format, &columns, &options).unwrap();
        new.append(32, &[&bytes(0..32)]).unwrap();
        new.commit().unwrap();
        drop(new);
        let of = Column {
            part: Part::of_table,
            append: |path, items| {
                let mut table = Table::open(path, Mode::Append, &none())?;
                table.append(items.len() as u64 / 4, &[items])?;
                table.commit()
            },
            read: |path| {
                let table = Table::open(path, Mode::Read, &none()).unwrap();
                let mut items = vec![0; table.rows() as usize * 4];
                table
                    .read_rows(0, (0, table.rows(), 1), &mut items)
                    .unwrap();
                items
            },
            data: |path, format| {
                let path = std::path::Path::new(path);
                path.join(if format == Format::BlzRfc {
                    "data/a"
                } else {
                    "a/data"
                })
            },
        };
        check_stored_chunks(&path, format, &of);
    }
}

#[test]
fn rows_of_less_precision_are_truncated() {
    let folder = Folder::new("precision");
    let path = folder.path("x");
    let options = small_chunks(Format::BlzRfc)
        .with(Opt::Precision, 4)
        .unwrap();
    let new = ArraySpec {
        dtype: "<f4",
        shape: &[0],
        chunks: None,
        format: Format::BlzRfc,
    };
    let mut array = any::create(&path, Mode::New, &new, None, &options).unwrap();
    array.commit().unwrap();
    drop(array);
    let items: Vec<u8> = (0..40)
        .flat_map(|i| (1.0 + i as f32 / 77.0).to_le_bytes())
        .collect();
    let mut expected = items.clone();
    truncate_in_place(4, 4, &mut expected).unwrap();
    assert_ne!(items, expected);
    let token = array_part(&path, None, |array| array.append(0, 40, &items));
    commit_all(&path, &[token], &none()).unwrap();
    assert_eq!(content(&path).1, expected);
}

/// Changes a byte of the second chunk.
fn damage(data: std::path::PathBuf, format: Format) {
    let chunks = stored_chunks(data.clone(), format, 2);
    let file = data.join(match format {
        Format::BlzRfc => "__1__.bin",
        _ => "__1.blp",
    });
    let mut bytes = std::fs::read(&file).unwrap();
    let n = chunks[1].len();
    let at = bytes.windows(n).rposition(|now| now == chunks[1]).unwrap();
    bytes[at + n / 2] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

#[test]
fn parts_that_are_not_finished_are_removed() {
    let folder = Folder::new("unfinished");
    let path = folder.path("x.bagz");
    let part = Part::of_bag(&path, &none()).unwrap();
    assert_eq!(list(&path).unwrap().len(), 1);
    drop(part);
    assert_eq!(folder.names(), [""; 0]);

    let token = bag_part(&path, &[b"a"], &none());
    let mut open = Part::of_bag(&path, &none()).unwrap();
    let writer = Writer::open(open.path(), BagMode::Append, &none()).unwrap();
    assert_eq!(
        remove_all(&path).unwrap().len(),
        1,
        "not the one that is written"
    );
    drop(writer);
    open.finish().unwrap();
    assert!(open.finish().is_err());
    let e = commit_all(&path, &[token], &none()).unwrap_err();
    assert_eq!(e.status, Status::Missing, "{e}");
    assert_eq!(remove_all(&path).unwrap().len(), 1);
}

#[test]
fn a_commit_with_a_wrong_token_changes_nothing() {
    let folder = Folder::new("wrong");
    let path = folder.path("x.bagz");
    let good = bag_part(&path, &[b"a"], &none());
    let other = Token {
        id: PartId::random(),
        ..Token::parse(&good).unwrap()
    };
    let more = Token {
        items: 2,
        ..Token::parse(&good).unwrap()
    };
    let kind = Token {
        kind: Kind::Table,
        ..Token::parse(&other.to_bytes()).unwrap()
    };
    for (tokens, status) in [
        (
            vec![good.clone(), other.to_bytes().to_vec()],
            Status::Missing,
        ),
        (vec![more.to_bytes().to_vec()], Status::State),
        (vec![good.clone(), good.clone()], Status::Argument),
        (
            vec![good.clone(), kind.to_bytes().to_vec()],
            Status::Argument,
        ),
        (vec![good.clone(), b"hpt".to_vec()], Status::Format),
    ] {
        let e = commit_all(&path, &tokens, &none()).unwrap_err();
        assert_eq!(e.status, status, "{e}");
        assert!(!std::path::Path::new(&path).exists());
    }
    commit_all(&path, &[good], &none()).unwrap();
    assert_eq!(records(&path, &none()), [b"a"]);
}

#[test]
fn an_interrupted_commit_is_not_repeated() {
    let folder = Folder::new("twice");
    let path = folder.path("x.bagz");
    let token = bag_part(&path, &[b"a", b"b"], &none());
    let id = Token::parse(&token).unwrap().id;
    let parts = bag::Target::of(&path).unwrap().parts().unwrap();
    let record = |before, after| Record {
        state: State::Begun,
        before,
        after,
        parts: vec![id],
    };
    // interrupted after the commit: the parts are only removed
    let mut writer = Writer::open(&path, BagMode::New, &none()).unwrap();
    writer.append(b"old").unwrap();
    writer.commit().unwrap();
    for record in [b"a", b"b"] {
        writer.append(record).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    parts.set_record(&record(1, 3)).unwrap();
    commit_all(&path, std::slice::from_ref(&token), &none()).unwrap();
    assert_eq!(records(&path, &none()), [&b"old"[..], b"a", b"b"]);
    assert_eq!(list(&path).unwrap(), [""; 0]);

    // the container has another length than before and after, or other records
    let token = bag_part(&path, &[b"c", b"d"], &none());
    let id = Token::parse(&token).unwrap().id;
    let record = |before, after| Record {
        parts: vec![id],
        ..record(before, after)
    };
    for (before, after) in [(5, 7), (1, 3)] {
        parts.set_record(&record(before, after)).unwrap();
        let e = commit_all(&path, std::slice::from_ref(&token), &none()).unwrap_err();
        assert!(
            e.status == Status::State && e.message.contains("interrupted"),
            "{e}"
        );
        assert_eq!(list(&path).unwrap().len(), 1);
    }
    // interrupted before the commit
    parts.set_record(&record(3, 5)).unwrap();
    commit_all(&path, &[token], &none()).unwrap();
    assert_eq!(
        records(&path, &none()),
        [&b"old"[..], b"a", b"b", b"c", b"d"]
    );
    assert_eq!(folder.names(), ["x.bagz"]);
}
