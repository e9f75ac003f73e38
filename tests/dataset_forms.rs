//! Datasets in the form of a tool are, byte for byte, what the tool writes, if nothing depends on
//! the versions of its libraries. Datasets in the BLZ RFC layout, which others wrote, are changed
//! and stay in that layout.

mod common;

use holdall::array::{Array, NewLocation};
use holdall::blosc::Header;
use holdall::dataset::{create, open};
use holdall::format::Format;
use holdall::identify;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn opened(path: &Path, mode: Mode) -> Array {
    open::open(path.as_os_str(), mode, &Options::new())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn whole(array: &Array) -> Vec<u8> {
    let mut all = vec![0xaa; array.nbytes() as usize];
    assert!(
        !array
            .read(
                &vec![0; array.shape().len()],
                array.shape(),
                None,
                &mut all,
                None
            )
            .unwrap()
    );
    all
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text.replace(": Infinity", ": null")).unwrap()
}

/// Folders of arrays that this tool wrote, alone or as columns of a table, except those of objects.
fn arrays(below: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(below)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir())
    {
        if !entry.join("meta/storage").exists() {
            all.extend(arrays(&entry));
        } else if json(&entry.join("meta/storage"))["dtype"] != "object" {
            all.push(entry);
        }
    }
    all
}

fn data(path: &Path, rows: u64, chunk: u64) -> Vec<Vec<u8>> {
    // trims leave files after the last chunk that is part of the array
    (0..rows.div_ceil(chunk))
        .map(|i| std::fs::read(path.join(format!("data/__{i}.blp"))).unwrap())
        .collect()
}

/// A copy in the layout of BLZ, with the parameters of a dataset of BLZ.
fn copy_as_blz(from: &Array, storage: &Value, to: &Path, chunks: &[Vec<u8>]) {
    let codec = chunks.first().map_or(1, |c| {
        i64::from(Header::parse(&c[16..]).unwrap().codec().unwrap().number()) + 1
    });
    let bparams = &storage["bparams"];
    let mut options = [
        (Opt::Codec, codec),
        (Opt::Level, bparams["clevel"].as_i64().unwrap()),
        (Opt::Checksum, 0),
        (Opt::ExpectedRows, storage["expectedlen"].as_i64().unwrap()),
    ]
    .into_iter()
    .fold(Options::new(), |o, (opt, n)| o.with(opt, n).unwrap());
    options
        .set_bytes(Opt::Filters, &[u8::from(bparams["shuffle"] == true)])
        .unwrap();
    let chunk = [&[storage["chunklen"].as_u64().unwrap()], &from.shape()[1..]].concat();
    create::copy(
        from,
        NewLocation::Path(to.as_os_str()),
        Mode::Replace,
        Format::Blz,
        Some(&chunk),
        &options,
    )
    .unwrap();
}

#[test]
fn blz_is_written_as_blz_writes_it() {
    let files = common::Files::of(common::fixtures().join("blpk"));
    let files = if files.join("blz").exists() {
        files
    } else {
        common::Files::of(common::own().join("datasets"))
    };
    let all = arrays(&files.join("blz"));
    assert!(all.len() >= 9, "{all:?}");
    for path in &all {
        let (id, copy) = (path.display(), files.join("copy"));
        let (array, storage) = (opened(path, Mode::Read), json(&path.join("meta/storage")));
        let rows = array.shape()[0];
        let chunk = storage["chunklen"].as_u64().unwrap();
        let theirs = data(path, rows, chunk);
        copy_as_blz(&array, &storage, &copy, &theirs);
        let text = |of: &Path, name: &str| std::fs::read_to_string(of.join(name)).unwrap();
        assert_eq!(
            text(&copy, "meta/storage"),
            text(path, "meta/storage"),
            "{id}"
        );
        // the size on disk is an estimate of the tool
        let sizes = |of: &Path| {
            text(of, "meta/sizes")
                .split_once("\"cbytes\": ")
                .map(|(known, _)| known.to_owned())
                .unwrap()
        };
        assert_eq!(sizes(&copy), sizes(path), "{id}");
        assert_eq!(
            json(&copy.join("__attrs__")),
            json(&path.join("__attrs__")),
            "{id}"
        );
        for (own, their) in data(&copy, rows, chunk).iter().zip(&theirs) {
            assert_eq!(own[..16], their[..16], "{id}");
            let header = |b: &[u8]| Header::parse(&b[16..]).unwrap();
            let (o, t) = (header(own), header(their));
            assert_eq!(
                (o.version, o.codec_version, o.typesize, o.nbytes),
                (t.version, t.codec_version, t.typesize, t.nbytes),
                "{id}"
            );
            // the codec, and shuffle; the rest is the result
            assert_eq!(o.flags & 0xe1, t.flags & 0xe1, "{id}");
            assert_eq!(own.len(), 16 + o.cbytes, "{id}");
        }
        let mut names: Vec<_> = std::fs::read_dir(&copy)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["__attrs__", "data", "meta"], "{id}");
        assert_eq!(
            std::fs::read_dir(copy.join("data")).unwrap().count(),
            theirs.len(),
            "{id}"
        );
        assert_eq!(
            identify::identify(copy.as_os_str()).unwrap().0,
            Format::Blz,
            "{id}"
        );
        assert_eq!(whole(&opened(&copy, Mode::Read)), whole(&array), "{id}");
    }
    println!("{} arrays of BLZ's", all.len());
}

#[test]
fn fields_that_stand_apart_are_changed() {
    use holdall::dtype::Dtype;
    use holdall::table::Table;
    let files = common::Files::of(common::own().join("datasets"));
    let path = files.join("rfc/dataset/nested");
    let table = |mode| Table::open(path.as_os_str(), mode, &Options::new()).unwrap();
    let mut want = whole(&opened(&path, Mode::Read));
    let item = 18;
    let new: Vec<u8> = (0..500 * item).map(|i| (i * 7 % 251) as u8).collect();
    // as one array
    let mut a = opened(&path, Mode::Append);
    a.append(0, 500, &new).unwrap();
    a.write(&[333], &[200], None, &new[..200 * item], None)
        .unwrap();
    a.insert(0, 41, 7, &new[..7 * item]).unwrap();
    a.remove(0, 1001, 300).unwrap();
    a.attr_set("round", b"1").unwrap();
    a.commit().unwrap();
    drop(a);
    want.extend(&new);
    want[333 * item..533 * item].copy_from_slice(&new[..200 * item]);
    want.splice(41 * item..41 * item, new[..7 * item].iter().copied());
    want.drain(1001 * item..1301 * item);
    assert!(whole(&opened(&path, Mode::Read)) == want);
    // as a table
    let columns = |from: usize, n: usize| -> Vec<Vec<u8>> {
        [0..4, 4..12, 12..18]
            .map(|f| {
                new[from * item..(from + n) * item]
                    .chunks(item)
                    .flat_map(|i| i[f.clone()].to_vec())
                    .collect()
            })
            .to_vec()
    };
    for n in [1, 1, 399] {
        let mut t = table(Mode::Append);
        t.append(
            n as u64,
            &columns(7, n).iter().map(Vec::as_slice).collect::<Vec<_>>(),
        )
        .unwrap();
        t.commit().unwrap();
        want.extend(&new[7 * item..(7 + n) * item]);
        assert!(whole(&opened(&path, Mode::Read)) == want, "{n}");
    }
    let mut t = table(Mode::Append);
    t.truncate(900).unwrap();
    t.attr_set("scale", None).unwrap();
    t.column_remove("col2").unwrap();
    t.column_add(
        0,
        "m",
        &Dtype::parse("('<i2', (3,))").unwrap(),
        Some(&new[..900 * 6]),
    )
    .unwrap();
    t.commit().unwrap();
    drop(t);
    let t = table(Mode::Read);
    assert_eq!(
        t.columns()
            .iter()
            .map(|c| c.name.as_str())
            .collect::<Vec<_>>(),
        ["m", "col1", "col3"]
    );
    assert_eq!(
        (t.rows(), t.columns()[0].array.shape()),
        (900, &[900, 3][..])
    );
    assert!(whole(&t.columns()[0].array) == new[..900 * 6]);
    let col3: Vec<u8> = want
        .chunks(item)
        .take(900)
        .flat_map(|i| i[12..].to_vec())
        .collect();
    assert!(whole(&t.columns()[2].array) == col3);
    let has = |name| t.attrs().get(name).unwrap().is_some();
    assert_eq!(["scale", "coords", "round"].map(has), [false, true, true]);
    assert!(!path.join("data/col2").exists() && !path.join("__attrs__").exists());
    let v =
        holdall::table::verify(path.as_os_str(), &Options::new(), |_, e| panic!("{e}")).unwrap();
    assert_eq!(v.corrupt, 0);
}

#[test]
fn datasets_in_the_blz_rfc_layout_are_changed_and_stay_in_it() {
    let files = common::Files::of(common::own().join("datasets"));
    for name in [
        "one_superchunk",
        "one_chunk_each",
        "nooffsets_nochk",
        "empty",
    ] {
        let path = files.join("rfc/dataset").join(name);
        let storage = std::fs::read(path.join("meta/storage")).unwrap();
        let mut want = whole(&opened(&path, Mode::Read));
        let new: Vec<u8> = (0..2345u32)
            .flat_map(|i| f64::from(i * i % 1000).to_le_bytes())
            .collect();
        for round in 0..4 {
            let mut a = opened(&path, Mode::Append);
            a.append(0, 2345, &new).unwrap();
            want.extend(&new);
            a.write(&[700 * round], &[100], None, &new[..800], None)
                .unwrap();
            want[5600 * round as usize..][..800].copy_from_slice(&new[..800]);
            a.insert(0, 41, 7, &new[80..136]).unwrap();
            want.splice(41 * 8..41 * 8, new[80..136].iter().copied());
            a.remove(0, 1001, 1000).unwrap();
            want.drain(1001 * 8..2001 * 8);
            a.attr_set("round", round.to_string().as_bytes()).unwrap();
            assert!(whole(&a) == want, "{name} {round}");
            a.commit().unwrap();
            assert!(whole(&a) == want, "{name} {round}");
            drop(a);
            let a = opened(&path, Mode::Read);
            assert!(whole(&a) == want, "{name} {round}");
            assert_eq!(
                a.store().attr("round").unwrap().unwrap(),
                round.to_string().as_bytes()
            );
            assert!(a.store().attr("scale").unwrap().is_some(), "{name}");
        }
        assert_eq!(
            identify::identify(path.as_os_str()).unwrap().0,
            Format::BlzRfc,
            "{name}"
        );
        assert!(
            !path.join("__attrs__").exists()
                && std::fs::read(path.join("meta/storage")).unwrap() == storage,
            "{name}"
        );
        let v = holdall::table::verify(path.as_os_str(), &Options::new(), |_, e| {
            panic!("{name}: {e}")
        })
        .unwrap();
        assert_eq!(
            (v.corrupt, v.intact + v.unchecked),
            (0, (want.len() as u64).div_ceil(4000)),
            "{name}"
        );
    }
}

/// A writer that dies in its first commit leaves a journal and files that do not have their names
/// yet.
#[test]
fn a_first_commit_under_way_is_a_dataset() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a first commit");
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    assert!(!open::is_local(path.as_os_str()));
    std::fs::write(path.join("dataset.holdall-journal"), b"").unwrap();
    assert!(open::is_local(path.as_os_str()));
}
