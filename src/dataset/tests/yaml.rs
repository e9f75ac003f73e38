//! Datasets whose metadata files are YAML: created, changed, and changed without becoming JSON.

use super::{append, content, noise, opened, options, write};
use crate::dataset::create::{self, ArraySpec};
use crate::dataset::folder::DatasetDir;
use crate::dtype::Dtype;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::sim::{self, Scenario, SimDisk, StateCounts};
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use crate::table::{self, Table};
use std::ffi::OsStr;
use std::sync::Arc;

fn yaml(checksum: i64) -> Options {
    let all = [
        (Opt::Yaml, 1),
        (Opt::SuperchunkChunks, 2),
        (Opt::Checksum, checksum),
    ];
    all.into_iter()
        .fold(options(), |o, (opt, n)| o.with(opt, n).unwrap())
}

fn new(folder: &Arc<dyn Folder>, format: Format, options: &Options) -> Result<crate::array::Array> {
    let new = ArraySpec {
        dtype: "<i4",
        shape: &[0, 5],
        chunks: Some(&[16, 5]),
        format,
    };
    create::create_in(folder, Mode::New, &new, options)
}

fn base(checksum: i64) -> SimDisk {
    let disk = SimDisk::default();
    let mut a = new(&disk.folder(), Format::BlzRfc, &yaml(checksum)).unwrap();
    append(&mut a, 1, 90).unwrap();
    a.attr_set("n", b"{\"a\": [1, NaN]}").unwrap();
    a.commit().unwrap();
    drop(a);
    disk.make_durable();
    disk
}

fn text(disk: &SimDisk, name: &str) -> String {
    String::from_utf8(disk.contents()[OsStr::new(name)].clone()).unwrap()
}

const FILES: [&str; 3] = ["meta/storage", "meta/sizes", "meta/attributes"];

#[test]
fn files_are_written_with_the_names_of_the_rfc_and_stay_yaml() {
    let disk = base(0);
    assert_eq!(
        text(&disk, "meta/sizes").lines().next(),
        Some("shape: [90, 5]")
    );
    assert_eq!(
        text(&disk, "meta/storage"),
        "dtype: int32\nchunkshape: [16, 5]\nsuperchunksize: 2\norder: C\ncompression:\n  library: lz4\n  level: 5\n  \
         filters: [shuffle]\ndflt: 0\nexpectedlen: 0\nchecksum: none\n"
    );
    assert_eq!(text(&disk, "meta/attributes"), "\"n\":\n  a: [1, .nan]\n");
    for checksum in [0, 2] {
        let disk = base(checksum);
        let f = disk.folder();
        let mut a = opened(&f, Mode::Append).unwrap();
        assert_eq!(a.chunkshape(), [16, 5]);
        a.fill_set(&[7, 0, 0, 0]).unwrap();
        a.attr_set("m", b"\"x\"").unwrap();
        assert_eq!(
            a.attr_set("k", b"[1, 18446744073709551616]")
                .unwrap_err()
                .status,
            Status::Unsupported
        );
        append(&mut a, 2, 3).unwrap();
        a.commit().unwrap();
        drop(a);
        for name in FILES {
            let text = text(&disk, name);
            let first = if checksum == 0 { "" } else { "# The last line" };
            assert!(text.starts_with(first) && !text.contains("{\""), "{text}");
        }
        let a = opened(&f, Mode::Read).unwrap();
        assert!(content(&a) == [noise(1, 1800), noise(2, 60)].concat());
        assert_eq!(a.store().attr("n").unwrap(), Some(&b"{\"a\":[1,NaN]}"[..]));
        assert_eq!(a.store().fill().unwrap(), Some(&[7, 0, 0, 0][..]));
        let dir = DatasetDir::of(&f);
        assert_eq!(
            table::verify_at(&dir, &options(), |_, _| true)
                .unwrap()
                .corrupt,
            0
        );
    }
    let only_yaml = options().with(Opt::Yaml, 1).unwrap();
    let empty = ArraySpec {
        dtype: "<i4",
        shape: &[3, 0],
        chunks: None,
        format: Format::BlzRfc,
    };
    let f = SimDisk::default().folder();
    let mut a = create::create_in(&f, Mode::New, &empty, &only_yaml).unwrap();
    a.commit().unwrap();
    drop(a);
    assert_eq!(opened(&f, Mode::Read).unwrap().shape(), [3, 0]);
    let e = new(&SimDisk::default().folder(), Format::Bcolz, &only_yaml)
        .err()
        .unwrap();
    assert!(e.message.contains("HOLDALL_OPT_YAML"), "{e}");
}

/// A changed or truncated file is an error, or means the same.
#[test]
fn corruption_is_detected_and_repaired() {
    let disk = base(2);
    let want = content(&opened(&disk.folder(), Mode::Read).unwrap());
    for name in FILES {
        let bytes = disk.contents()[OsStr::new(name)].clone();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            for changed in [&flipped[..], &bytes[..at]] {
                let disk = disk.copy();
                let f = disk.folder();
                let file = f.create(OsStr::new(name), OsStr::new(name)).unwrap();
                file.write_at(0, changed).unwrap();
                let Ok(a) = opened(&f, Mode::Read) else {
                    continue;
                };
                let attr = a.store().attr("n").map(|n| n.map(<[u8]>::to_vec));
                let is_same = attr.is_err() || attr == Ok(Some(b"{\"a\":[1,NaN]}".to_vec()));
                // a file that is cut to nothing has no attributes
                let is_lost = at == 0 && name == FILES[2];
                assert!(content(&a) == want && (is_same || is_lost), "{name} {at}");
            }
        }
    }
    let f = disk.folder();
    let file = f.open(OsStr::new("meta/sizes"), Access::Write).unwrap();
    file.write_at(50, b"x").unwrap();
    assert!(opened(&f, Mode::Read).is_err());
    assert!(table::repair_at(&DatasetDir::of(&f), &options()).is_err());
}

#[test]
fn a_power_failure_leaves_the_old_rows_or_the_new() {
    let mut state_counts = StateCounts::of("array in the BLZ RFC layout with YAML");
    let act = |folder: &Arc<dyn Folder>, n: u64| {
        let mut a = opened(folder, Mode::Append)?;
        write(&mut a, 3, 20)?;
        append(&mut a, 2, n)?;
        a.attr_set("n", b"[1, 2]")?;
        a.fill_set(&[1, 0, 0, 0])?;
        a.commit()
    };
    let create = |folder: Arc<dyn Folder>| {
        let mut a = new(&folder, Format::BlzRfc, &yaml(2))?;
        append(&mut a, 2, 20)?;
        a.commit()
    };
    let change = |folder: Arc<dyn Folder>| act(&folder, 3);
    type Act<'a> = &'a dyn Fn(Arc<dyn Folder>) -> Result<()>;
    let acts: [(&str, SimDisk, Act); 2] = [
        ("change all", base(2), &change),
        ("create", SimDisk::default(), &create),
    ];
    for (name, disk, act) in acts {
        let scene = Scenario {
            name: name.into(),
            disk,
            act,
            read: &|folder| super::seen(&folder),
            next_commit: &|folder| {
                let mut a = opened(&folder, Mode::Append)?;
                append(&mut a, 9, 1)?;
                a.commit()
            },
        };
        state_counts.add(name, sim::check(&scene, 8, None));
    }
    state_counts.assert_complete(50);
}

/// The RFC lists the filter `truncate` without the number of bits that remain.
#[test]
fn filters_that_cannot_be_applied_are_refused_for_writing() {
    let disk = base(0);
    let f = disk.folder();
    let name = OsStr::new("meta/storage");
    let text = text(&disk, "meta/storage").replace("[shuffle]", "[shuffle, truncate]");
    let file = f.create(name, name).unwrap();
    file.write_at(0, text.as_bytes()).unwrap();
    assert!(content(&opened(&f, Mode::Read).unwrap()) == noise(1, 1800));
    let e = opened(&f, Mode::Append).err().unwrap();
    assert_eq!(e.status, Status::Unsupported);
    assert!(
        e.message
            .contains("meta/storage: compression.filters: \"truncate\""),
        "{e}"
    );
    let mut shuffled = options();
    shuffled.set_bytes(Opt::Filters, &[1]).unwrap();
    let mut a = crate::dataset::open::open_in(&f, Mode::Append, &shuffled).unwrap();
    append(&mut a, 2, 3).unwrap();
    a.commit().unwrap();
    drop(a);
    assert!(content(&opened(&f, Mode::Read).unwrap()) == [noise(1, 1800), noise(2, 60)].concat());
}

#[test]
fn a_table_stays_yaml() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let columns = [("x", "<i4"), ("y", "<f8")];
    let columns = columns.map(|(name, dtype)| (name, Dtype::parse_argument(dtype).unwrap()));
    let mut t = Table::create_in(&f, Mode::New, Format::BlzRfc, &columns, &yaml(2)).unwrap();
    t.append(2, &[&[1; 8], &[2; 16]]).unwrap();
    t.commit().unwrap();
    drop(t);
    let mut t = Table::open_in(&f, Mode::Append, &options()).unwrap();
    t.append(1, &[&[3; 4], &[4; 8]]).unwrap();
    t.commit().unwrap();
    drop(t);
    for name in &FILES[..2] {
        assert!(text(&disk, name).starts_with("# The last line"), "{name}");
    }
    let t = Table::open_in(&f, Mode::Read, &options()).unwrap();
    assert_eq!(t.rows(), 3);
}
