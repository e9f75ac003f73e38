//! Tests of copies of tables.

use super::{
    COLUMNS, ROWS, act, add, base, base_with_note, content, files, new, noise, opened, options,
    row, shown,
};
use crate::array::NewLocation;
use crate::blosc::{Codec, StoredCodec};
use crate::checksum::Checksum;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::sim::SimDisk;
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use crate::table::Table;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

const FORMATS: [Format; 3] = [Format::Bcolz, Format::Blz, Format::BlzRfc];

/// Copies the table `from` to storage, with chunks of 64 bytes.
pub(super) fn copy(
    from: &Table,
    folder: &Arc<dyn Folder>,
    mode: Mode,
    format: Format,
) -> Result<bool> {
    let options = options().with(Opt::ChunkBytes, 64)?;
    from.copy(NewLocation::Storage(folder), mode, format, &options)
}

fn attrs(t: &Table) -> Vec<(String, Vec<u8>)> {
    let names = t.attrs().names().into_iter();
    names
        .map(|n| (n.to_owned(), t.attrs().get(n).unwrap().unwrap().to_vec()))
        .collect()
}

fn with(all: &[(Opt, i64)]) -> Options {
    all.iter()
        .fold(options(), |o, (opt, n)| o.with(*opt, *n).unwrap())
}

#[test]
fn rows_and_attributes_are_copied_between_all_formats() {
    for from in FORMATS {
        let disk = base(ROWS, from);
        let source = opened(&disk.folder(), Mode::Read).unwrap();
        for to in FORMATS {
            let other = SimDisk::default();
            assert!(!copy(&source, &other.folder(), Mode::New, to).unwrap());
            let new = opened(&other.folder(), Mode::Read).unwrap();
            assert!(shown(&new) == shown(&source), "{from:?} to {to:?}");
            assert_eq!((new.format(), attrs(&new)), (to, attrs(&source)));
            for (a, b) in source.columns().iter().zip(new.columns()) {
                assert_eq!(a.array.dtype().item, b.array.dtype().item);
            }
        }
    }
}

#[test]
fn columns_keep_their_attributes_encoding_and_fill_value() {
    let disk = base(ROWS, Format::Bcolz);
    let zlib = with(&[
        (Opt::Codec, 5),
        (Opt::Level, 3),
        (Opt::Checksum, Checksum::Md5 as i64),
    ]);
    let mut t = Table::create_in(
        &disk.folder(),
        Mode::Replace,
        Format::Bcolz,
        &super::dtypes(&[("a", "<i4")]),
        &zlib,
    )
    .unwrap();
    t.append(3, &[&noise(1, 12)]).unwrap();
    t.commit().unwrap();
    drop(t);
    let mut other = with(&[(Opt::Codec, 2), (Opt::Level, 9)]);
    other.set_bytes(Opt::Filters, &[]).unwrap();
    other.set_bytes(Opt::Fill, &7i16.to_le_bytes()).unwrap();
    // a handle for writing does not take a fill value, so that it is set on the column
    let fill = other.take_bytes(Opt::Fill).unwrap();
    let mut t = Table::open_in(&disk.folder(), Mode::Append, &other).unwrap();
    add(&mut t, 1, "b", "<i2").unwrap();
    t.columns_mut().nth(1).unwrap().fill_set(&fill).unwrap();
    t.column_attr_set(0, "unit", Some(b"\"m\"")).unwrap();
    t.commit().unwrap();
    drop(t);

    let source = opened(&disk.folder(), Mode::Read).unwrap();
    let copied = |format, options: &Options| {
        let disk = SimDisk::default();
        let to = disk.folder();
        source.copy(NewLocation::Storage(&to), Mode::New, format, options)?;
        opened(&disk.folder(), Mode::Read)
    };
    let encoding = |t: &Table, i: usize| {
        let (encoding, checksum) = (
            t.columns()[i].array.encoding(),
            t.columns()[i].array.checksum(),
        );
        (encoding.codec, encoding.level, encoding.filters, checksum)
    };
    for format in [Format::Bcolz, Format::Blz] {
        let new = copied(format, &options()).unwrap();
        assert!(shown(&new) == shown(&source), "{format:?}");
        let (a, b) = (StoredCodec::One(Codec::Zlib), StoredCodec::One(Codec::Lz4));
        if format == Format::Bcolz {
            assert_eq!(encoding(&new, 0), (a, Some(3), vec![1], Checksum::Md5));
            assert_eq!(encoding(&new, 1), (b, Some(9), vec![], Checksum::Md5));
        } else {
            // the few items are not compressed, and BLZ records no codec
            assert_eq!(encoding(&new, 0).1, Some(3));
        }
        let b = &new.columns()[1].array;
        assert_eq!(b.store().fill().unwrap(), Some(&fill[..]), "{format:?}");
        let unit = new.columns()[0].array.store().attr("unit").unwrap();
        assert_eq!(unit, Some(&b"\"m\""[..]));
    }
    // what the options say goes first
    let zstd = with(&[(Opt::Codec, 6), (Opt::Checksum, 0)]);
    let new = copied(Format::Bcolz, &zstd).unwrap();
    let zstd = StoredCodec::One(Codec::Zstd);
    assert_eq!(encoding(&new, 0), (zstd, Some(3), vec![1], Checksum::None));
    assert_eq!(encoding(&new, 1), (zstd, Some(9), vec![], Checksum::None));
    // a format without column attributes
    let e = copied(Format::BlzRfc, &options()).err().unwrap();
    assert_eq!(e.status, Status::Unsupported);
}

#[test]
fn a_codec_that_the_format_lacks_is_refused_unless_another_one_is_requested() {
    let disk = SimDisk::default();
    let zstd = with(&[(Opt::Codec, 6)]);
    let columns = super::dtypes(&[("a", "<i4")]);
    let mut t =
        Table::create_in(&disk.folder(), Mode::New, Format::Bcolz, &columns, &zstd).unwrap();
    t.append(40, &[&[0; 160]]).unwrap();
    t.commit().unwrap();
    let other = SimDisk::default();
    let to = other.folder();
    let copy = |o: &Options| t.copy(NewLocation::Storage(&to), Mode::New, Format::Blz, o);
    assert_eq!(copy(&options()).unwrap_err().status, Status::Unsupported);
    assert!(other.contents().is_empty(), "{:?}", other.contents());
    assert!(!copy(&with(&[(Opt::Codec, 2)])).unwrap());
    let new = opened(&to, Mode::Read).unwrap();
    let codec = new.columns()[0].array.encoding().codec;
    assert_eq!(codec, StoredCodec::One(Codec::Lz4));
}

#[test]
fn a_table_can_replace_itself() {
    for (from, to) in FORMATS
        .into_iter()
        .zip([Format::Blz, Format::Bcolz, Format::BlzRfc])
    {
        let disk = base(ROWS, from);
        let source = opened(&disk.folder(), Mode::Read).unwrap();
        let was = shown(&source);
        assert_eq!(
            copy(&source, &disk.folder(), Mode::New, to)
                .unwrap_err()
                .status,
            Status::Exists
        );
        assert!(!copy(&source, &disk.folder(), Mode::Replace, to).unwrap());
        drop(source);
        let new = opened(&disk.folder(), Mode::Read).unwrap();
        assert!(
            shown(&new) == was && new.format() == to,
            "{from:?} to {to:?}"
        );
    }
}

#[test]
fn uncommitted_changes_are_copied() {
    let disk = base(ROWS, Format::Bcolz);
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    super::append(&mut t, 4, 7).unwrap();
    t.column_remove("b").unwrap();
    t.attr_set("x", Some(b"[]")).unwrap();
    let other = SimDisk::default();
    assert!(!copy(&t, &other.folder(), Mode::New, Format::BlzRfc).unwrap());
    let new = opened(&other.folder(), Mode::Read).unwrap();
    assert!(shown(&new) == shown(&t) && attrs(&new) == attrs(&t));
}

#[test]
fn a_small_memory_limit_suffices() {
    let disk = base(ROWS, Format::Bcolz);
    let source = opened(&disk.folder(), Mode::Read).unwrap();
    let other = SimDisk::default();
    let small = with(&[(Opt::MemoryLimit, 4096), (Opt::ChunkBytes, 64)]);
    let to = other.folder();
    let to = NewLocation::Storage(&to);
    assert!(!source.copy(to, Mode::New, Format::Bcolz, &small).unwrap());
    let new = opened(&other.folder(), Mode::Read).unwrap();
    assert!(shown(&new) == shown(&source));
}

#[test]
fn progress_is_in_bytes_and_can_stop_the_copy() {
    let disk = base(ROWS, Format::Bcolz);
    let source = opened(&disk.folder(), Mode::Read).unwrap();
    let all: u64 = source.columns().iter().map(|c| c.array.nbytes()).sum();
    for last in [u64::MAX, 400] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let calls = seen.clone();
        let mut options = options();
        options.on_progress(Some(Arc::new(move |done, total| {
            calls.lock().unwrap().push((done, total));
            done < last
        })));
        let other = SimDisk::default();
        let to = other.folder();
        let to = NewLocation::Storage(&to);
        let copied = source.copy(to, Mode::New, Format::Bcolz, &options);
        let seen = seen.lock().unwrap();
        assert!(seen.iter().all(|(_, total)| *total == all), "{seen:?}");
        assert!(seen.is_sorted() && !seen.is_empty(), "{seen:?}");
        if last == u64::MAX {
            assert!(!copied.unwrap());
            assert_eq!(seen.last(), Some(&(all, all)));
        } else {
            assert_eq!(copied.unwrap_err().status, Status::Cancelled);
            assert!(other.contents().is_empty(), "{:?}", other.contents());
        }
    }
}

#[test]
fn corrupt_rows_are_an_error_or_become_zeros() {
    for format in FORMATS {
        let disk = base(ROWS, format);
        let (name, at) = match format {
            Format::BlzRfc => ("data/a/__2__.bin", 60),
            _ => ("a/data/__2.blp", 50),
        };
        let file = disk.folder().open(OsStr::new(name), Access::Write).unwrap();
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        file.write_at(at, &[byte[0] ^ 0xff]).unwrap();
        drop(file);
        let other = SimDisk::default();
        let source = opened(&disk.folder(), Mode::Read).unwrap();
        let e = copy(&source, &other.folder(), Mode::New, Format::Bcolz).unwrap_err();
        assert!(e.status.is_corruption(), "{e}");
        assert!(e.message.contains("column \"a\""), "{e}");
        assert!(other.contents().is_empty(), "{:?}", other.contents());
        let skipping = with(&[(Opt::SkipDamaged, 1)]);
        let source = Table::open_in(&disk.folder(), Mode::Read, &skipping).unwrap();
        assert!(copy(&source, &other.folder(), Mode::New, Format::Bcolz).unwrap());
        let new = opened(&other.folder(), Mode::Read).unwrap();
        assert_eq!(new.rows(), ROWS);
        let (a, was) = (&new.columns()[0].array, noise(1, ROWS * 4));
        let content = content(a).unwrap();
        let lost = 32 * row(a) as usize..48 * row(a) as usize;
        assert!(content[..lost.start] == was[..lost.start], "{format:?}");
        assert!(content[lost.clone()].iter().all(|b| *b == 0), "{format:?}");
        assert!(content[80 * 4..] == was[80 * 4..], "{format:?}");
    }
}

#[test]
fn corrupt_attributes_are_an_error_or_missing() {
    let disk = base(ROWS, Format::Bcolz);
    act(&disk.folder(), |t| {
        t.column_attr_set(1, "unit", Some(b"1")).map(|_| ())
    })
    .unwrap();
    for name in ["__attrs__", "b/__attrs__"] {
        let disk = disk.copy();
        let file = disk.folder().open(OsStr::new(name), Access::Write).unwrap();
        file.write_at(0, b"#").unwrap();
        drop(file);
        let other = SimDisk::default();
        let source = opened(&disk.folder(), Mode::Read).unwrap();
        let e = copy(&source, &other.folder(), Mode::New, Format::Bcolz).unwrap_err();
        assert!(e.status.is_corruption(), "{name}: {e}");
        assert!(other.contents().is_empty(), "{:?}", other.contents());
        let skipping = with(&[(Opt::SkipDamaged, 1)]);
        let source = Table::open_in(&disk.folder(), Mode::Read, &skipping).unwrap();
        assert!(copy(&source, &other.folder(), Mode::New, Format::Bcolz).unwrap());
        let new = opened(&other.folder(), Mode::Read).unwrap();
        assert_eq!(shown(&new).0, ROWS, "{name}");
    }
}

#[test]
fn metadata_files_of_a_table_are_copied_or_refused() {
    let disk = base_with_note();
    let mut source = opened(&disk.folder(), Mode::Append).unwrap();
    source.meta_file_set("b", Some(&[0, 255])).unwrap();
    let all = [
        ("b".to_owned(), vec![0, 255]),
        ("note".to_owned(), b"first".to_vec()),
    ];
    // a copy is one of the current state
    let view = source.slice(3, 20, 1, None).unwrap();
    for (table, expected) in [(&source, &all[..]), (&view, &all[1..])] {
        let other = base(5, Format::BlzRfc);
        let mut t = opened(&other.folder(), Mode::Append).unwrap();
        t.meta_file_set("old", Some(b"")).unwrap();
        t.commit().unwrap();
        drop(t);
        copy(table, &other.folder(), Mode::Replace, Format::BlzRfc).unwrap();
        let copied = opened(&other.folder(), Mode::Read).unwrap();
        assert_eq!(files(&copied).unwrap(), expected);

        for to in [Format::Bcolz, Format::Blz] {
            let other = SimDisk::default();
            let e = copy(table, &other.folder(), Mode::New, to).err().unwrap();
            assert_eq!(e.status, Status::Unsupported);
            assert!(e.message.contains("meta/note"), "{e}");
            assert!(other.contents().is_empty());
        }
    }
}

#[test]
fn metadata_files_of_a_table_are_read_written_and_replaced() {
    let disk = base_with_note();
    let read = |disk: &SimDisk| files(&opened(&disk.folder(), Mode::Read).unwrap()).unwrap();
    let note = [("note".to_owned(), b"first".to_vec())];
    let status = |r: Result<()>| r.err().map(|e| e.status);
    let mut t = new(&disk.folder(), Mode::Replace, COLUMNS, Format::BlzRfc).unwrap();
    assert_eq!(files(&t).unwrap(), []);
    assert_eq!(t.meta_file("note").unwrap(), None);
    t.meta_file_set("new", Some(b"2")).unwrap();
    assert_eq!(
        status(t.meta_file_set("sizes", Some(b""))),
        Some(Status::Argument)
    );
    assert_eq!(read(&disk), note);
    t.commit().unwrap();
    let new = [("new".to_owned(), b"2".to_vec())];
    assert_eq!(
        (read(&disk), files(&t).unwrap()),
        (new.to_vec(), new.to_vec())
    );
    // changes that are not committed are discarded
    t.meta_file_set("new", None).unwrap();
    drop(t);
    assert_eq!(read(&disk), new);

    let mut reader = opened(&disk.folder(), Mode::Read).unwrap();
    assert_eq!(
        status(reader.meta_file_set("x", Some(b""))),
        Some(Status::State)
    );
    let disk = base(ROWS, Format::Bcolz);
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    assert_eq!(
        status(t.meta_file_set("x", Some(b""))),
        Some(Status::Unsupported)
    );
    assert_eq!(
        (files(&t).unwrap(), t.meta_file("x").unwrap()),
        (vec![], None)
    );
    assert_eq!(
        status(t.meta_file("..").map(|_| ())),
        Some(Status::Argument)
    );
}

#[test]
fn columns_keep_their_metadata_files() {
    for from in [Format::Bcolz, Format::Blz] {
        let mut files = base(ROWS, from).contents();
        let name = opened(&SimDisk::with_files(&files).folder(), Mode::Read).unwrap();
        let name = name.columns()[0].name.clone();
        files.insert(format!("{name}/meta/note").into(), b"of a column".to_vec());
        let disk = SimDisk::with_files(&files);
        let source = opened(&disk.folder(), Mode::Read).unwrap();
        for to in [Format::Bcolz, Format::Blz] {
            let other = SimDisk::default();
            copy(&source, &other.folder(), Mode::New, to).unwrap();
            let new = opened(&other.folder(), Mode::Read).unwrap();
            let store = new.columns()[0].array.as_ref().store();
            assert_eq!(store.meta_file("note").unwrap().unwrap(), b"of a column");
        }
        let other = SimDisk::default();
        let refused = copy(&source, &other.folder(), Mode::New, Format::BlzRfc);
        assert_eq!(refused.err().map(|e| e.status), Some(Status::Unsupported));

        // the files of a removed column are removed as well
        let mut table = opened(&disk.folder(), Mode::Append).unwrap();
        table.column_remove(&name).unwrap();
        table.commit().unwrap();
        let note = std::ffi::OsString::from(format!("{name}/meta/note"));
        assert!(!disk.contents().keys().any(|file| note == *file));
    }
}
