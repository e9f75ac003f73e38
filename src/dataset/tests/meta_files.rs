//! Further files in `meta/`.

use super::*;
use crate::array::NewLocation;
use crate::dataset::any;

fn files(a: &Array) -> Vec<(String, Vec<u8>)> {
    let names = a.store().meta_file_names().unwrap();
    let read = |name: String| {
        let bytes = a.store().meta_file(&name).unwrap().unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn pair(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    (name.to_owned(), bytes.to_vec())
}

#[test]
fn metadata_files_are_listed_read_and_written() {
    for &format in FORMATS {
        let disk = base(40, format);
        let mut a = opened(&disk.folder(), Mode::Append).unwrap();
        assert_eq!(files(&a), [pair("note", b"first")]);
        set_file(&mut a, "a b.json", Some(b"{}")).unwrap();
        set_file(&mut a, "\u{e9}", Some(&[0, 255])).unwrap();
        set_file(&mut a, "gone", Some(b"x")).unwrap();
        set_file(&mut a, "gone", None).unwrap();
        set_file(&mut a, "none", None).unwrap();
        let all = [
            pair("a b.json", b"{}"),
            pair("note", b"first"),
            pair("\u{e9}", &[0, 255]),
        ];
        assert_eq!(files(&a), all);
        // readers see the last commit
        let reader = opened(&disk.folder(), Mode::Read).unwrap();
        assert_eq!(files(&reader), [pair("note", b"first")]);
        a.commit().unwrap();
        assert_eq!(files(&a), all);
        assert_eq!(files(&opened(&disk.folder(), Mode::Read).unwrap()), all);
        assert_eq!(a.store().meta_file("none").unwrap(), None);
        drop(a);
        // changes that are not committed are discarded
        let mut a = opened(&disk.folder(), Mode::Append).unwrap();
        set_file(&mut a, "note", None).unwrap();
        drop(a);
        assert_eq!(files(&opened(&disk.folder(), Mode::Read).unwrap()), all);
        let status = |r: Result<()>| r.err().map(|e| e.status);
        let mut reader = opened(&disk.folder(), Mode::Read).unwrap();
        assert_eq!(
            status(set_file(&mut reader, "x", Some(b""))),
            Some(Status::State)
        );
    }
}

#[test]
fn names_cannot_lead_out_of_the_folder() {
    let disk = base(40, Format::BlzRfc);
    let mut a = opened(&disk.folder(), Mode::Append).unwrap();
    let long = "x".repeat(201);
    for name in [
        "",
        ".",
        "..",
        "../x",
        "x/y",
        "/x",
        "x/",
        "sizes",
        "storage",
        "attributes",
        "Sizes",
        ".hidden",
        "x.holdall-new",
        "a\0b",
        &long,
    ] {
        let set = set_file(&mut a, name, Some(b"x")).err().map(|e| e.status);
        let get = a.store().meta_file(name).err().map(|e| e.status);
        assert_eq!((set, get), (Some(Status::Argument), Some(Status::Argument)));
    }
    assert_eq!(files(&a), [pair("note", b"first")]);
}

#[test]
fn a_metadata_file_beyond_the_memory_limit_is_an_error() {
    let disk = base(40, Format::BlzRfc);
    let mut a = opened(&disk.folder(), Mode::Append).unwrap();
    set_file(&mut a, "big", Some(&noise(1, 60_000))).unwrap();
    a.commit().unwrap();
    let options = options().with(Opt::MemoryLimit, 50_000).unwrap();
    let a = open::open_in(&disk.folder(), Mode::Read, &options).unwrap();
    assert_eq!(a.store().meta_file("note").unwrap().unwrap(), b"first");
    let e = a.store().meta_file("big").err().unwrap();
    assert_eq!(e.status, Status::Limit);
}

#[test]
fn a_replaced_array_takes_its_metadata_files_along() {
    for &format in FORMATS {
        let disk = base(40, format);
        let mut a = new(&disk.folder(), Mode::Replace, &[0, 5], format).unwrap();
        assert_eq!(files(&a), []);
        set_file(&mut a, "new", Some(b"2")).unwrap();
        let reader = opened(&disk.folder(), Mode::Read).unwrap();
        assert_eq!(files(&reader), [pair("note", b"first")]);
        a.commit().unwrap();
        let reader = opened(&disk.folder(), Mode::Read).unwrap();
        assert_eq!(files(&reader), [pair("new", b"2")]);
    }
}

#[test]
fn copies_have_the_metadata_files_or_fail() {
    for &format in FORMATS {
        let disk = base(40, format);
        let a = opened(&disk.folder(), Mode::Read).unwrap();
        let view = a.slice(&[3, 0], &[20, 5], None).unwrap();
        let copy = |a: &Array, format| {
            let to = SimDisk::default();
            let folder = to.folder();
            let location = NewLocation::Storage(&folder);
            let copied = any::copy(a, location, Mode::New, format, [None; 2], &options());
            copied.map(|_| to)
        };
        for a in [&a, &view] {
            for &other in FORMATS {
                let to = copy(a, other).unwrap();
                let copied = opened(&to.folder(), Mode::Read).unwrap();
                assert_eq!(files(&copied), [pair("note", b"first")]);
            }
            for other in [Format::B2nd, Format::Caterva, Format::Bloscpack] {
                let e = copy(a, other).err().unwrap();
                assert_eq!(e.status, Status::Unsupported);
                assert!(e.message.contains("meta/note"), "{e}");
            }
        }
    }
}
