//! Truncated precision in the BLZ RFC layout: the filter `truncate`.

use super::{content, options};
use crate::array::{Array, NewLocation};
use crate::blosc::filter::truncate_in_place;
use crate::dataset::any;
use crate::dataset::create::{self, ArraySpec};
use crate::dataset::open::open_in;
use crate::dtype::Dtype;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{Rng, SimDisk};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use crate::table::Table;
use std::ffi::OsStr;
use std::sync::Arc;

const STORAGE: &str = "meta/storage";

fn precision(bits: i64) -> Options {
    options().with(Opt::Precision, bits).unwrap()
}

fn new(folder: &Arc<dyn Folder>, dtype: &str, chunks: &[u64], o: &Options) -> Result<Array> {
    let spec = ArraySpec {
        dtype,
        shape: &[40, 30],
        chunks: Some(chunks),
        format: Format::BlzRfc,
    };
    create::create_in(folder, Mode::New, &spec, o)
}

fn text(disk: &SimDisk) -> String {
    String::from_utf8(disk.contents()[OsStr::new(STORAGE)].clone()).unwrap()
}

/// Replaces a part of `meta/storage`, which has no checksum.
fn replace(disk: &SimDisk, from: &str, to: &str) {
    let old = text(disk);
    let new = old.replace(from, to);
    assert_ne!(old, new);
    let name = OsStr::new(STORAGE);
    let file = disk.folder().create(name, name).unwrap();
    file.write_at(0, new.as_bytes()).unwrap();
}

/// Returns smooth items (even seeds) or noise.
fn items(size: usize, seed: u64, n: usize) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    let value = |i: usize, rng: &mut Rng| match seed % 2 {
        0 => (i as f64 / 77.0).sin(),
        _ => f64::from_bits(rng.draw()),
    };
    let values = (0..n).map(|i| value(i, &mut rng));
    match size {
        4 => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        _ => values.flat_map(f64::to_le_bytes).collect(),
    }
}

fn truncated(bits: i64, size: usize, mut items: Vec<u8>) -> Vec<u8> {
    truncate_in_place(bits as i8, size, &mut items).unwrap();
    items
}

#[test]
fn written_items_are_truncated() {
    // complete rows, and chunks along every dimension; JSON and YAML; with a filter or none
    for (n, chunks) in [[7, 30], [8, 8]].into_iter().cycle().take(12).enumerate() {
        let (size, bits) = [(4, 10), (8, -30), (4, -22), (8, 1)][n % 4];
        let mut o = precision(bits)
            .with(Opt::Yaml, (n % 3 == 0).into())
            .unwrap();
        o.set_bytes(Opt::Filters, [&[1][..], &[], &[2]][n / 2 % 3])
            .unwrap();
        o.set_bytes(
            Opt::Fill,
            &items(size, 2, 1 + n % 2 * 2)[n % 2 * size * 2..],
        )
        .unwrap();
        let disk = SimDisk::default();
        let f = disk.folder();
        let mut a = new(&f, ["<f4", "<f8"][size / 8], &chunks, &o).unwrap();
        let cut = |all: &[u8]| truncated(bits, size, all.to_vec());
        let fill = cut(&items(size, 2, 3))[n % 2 * size * 2..][..size].to_vec();
        assert!(content(&a) == fill.repeat(1200), "{n}: fill value");
        let first = items(size, n as u64, 1200);
        let mut expected = cut(&first);
        a.write(&[0, 0], &[40, 30], None, &first, None).unwrap();
        assert!(content(&a) == expected, "{n}: before the commit");
        a.commit().unwrap();
        assert!(text(&disk).contains("truncate"));
        drop(a);
        let a = open_in(&f, Mode::Read, &Options::new()).unwrap();
        assert_eq!(a.encoding().precision, Some(bits as i8));
        assert_eq!(a.encoding().filters.first(), Some(&4));
        drop(a);

        let mut a = open_in(&f, Mode::Append, &options()).unwrap();
        assert_eq!(a.encoding().precision, Some(bits as i8));
        let row = 30 * size;
        let more = items(size, 5, 300);
        a.write(&[3, 2], &[1, 9], None, &more[..9 * size], None)
            .unwrap();
        expected[3 * row + 2 * size..][..9 * size].copy_from_slice(&cut(&more[..9 * size]));
        a.insert(0, 5, 2, &more[..2 * row]).unwrap();
        expected.splice(5 * row..5 * row, cut(&more[..2 * row]));
        a.resize(&[43, 30]).unwrap();
        expected.extend(fill.repeat(30));
        a.append(0, 3, &more[row..4 * row]).unwrap();
        expected.extend(cut(&more[row..4 * row]));
        assert!(content(&a) == expected, "{n}: changed");
        a.commit().unwrap();
        drop(a);
        assert!(content(&open_in(&f, Mode::Read, &options()).unwrap()) == expected);

        // a copy is exact
        let a = open_in(&f, Mode::Read, &options()).unwrap();
        let there = SimDisk::default();
        create::copy(
            &a,
            NewLocation::Storage(&there.folder()),
            Mode::New,
            Format::BlzRfc,
            None,
            &options(),
        )
        .unwrap();
        let copy = open_in(&there.folder(), Mode::Read, &options()).unwrap();
        assert!(content(&copy) == expected);
        assert_eq!(copy.encoding().precision, None);
    }
}

#[test]
fn the_number_of_bits_may_be_missing_or_invalid() {
    let base = |o: &Options| {
        let disk = SimDisk::default();
        let o = o.clone().with(Opt::Checksum, 0).unwrap();
        let mut a = new(&disk.folder(), "<f8", &[7, 30], &o).unwrap();
        a.write(&[0, 0], &[40, 30], None, &items(8, 0, 1200), None)
            .unwrap();
        a.commit().unwrap();
        disk
    };
    let row = items(8, 1, 30);
    let appended = |disk: &SimDisk, o: &Options| {
        let mut a = open_in(&disk.folder(), Mode::Append, o)?;
        a.append(0, 1, &row)?;
        a.commit()?;
        drop(a);
        let all = content(&open_in(&disk.folder(), Mode::Read, &Options::new())?);
        Ok::<_, crate::error::Error>(all[all.len() - row.len()..].to_vec())
    };
    let mut shuffle = options();
    shuffle.set_bytes(Opt::Filters, &[1]).unwrap();

    // as the RFC shows it
    let disk = base(&precision(10));
    replace(&disk, ", \"truncate\": 10", "");
    let e = appended(&disk, &options()).unwrap_err();
    assert_eq!(e.status, Status::Unsupported);
    assert!(e.message.contains("without the number of bits"), "{e}");
    let a = open_in(&disk.folder(), Mode::Read, &options()).unwrap();
    assert_eq!(
        (a.encoding().precision, a.encoding().filters),
        (None, vec![4, 1])
    );
    drop(a);
    assert!(appended(&disk, &precision(7)).unwrap() == truncated(7, 8, row.clone()));
    assert!(appended(&disk, &precision(0)).unwrap() == row);
    assert!(appended(&disk, &shuffle).unwrap() == row);
    assert!(appended(&disk, &precision(-51)).unwrap() == truncated(-51, 8, row.clone()));
    assert!(appended(&disk, &precision(52)).unwrap() == row);

    let disk = base(&precision(10));
    for other in [9, -10] {
        let e = appended(&disk, &precision(other)).unwrap_err();
        assert_eq!(e.status, Status::Unsupported);
    }
    assert!(appended(&disk, &precision(10)).unwrap() == truncated(10, 8, row.clone()));
    assert!(appended(&disk, &precision(0)).unwrap() == row);
    let mut last = "10".to_owned();
    for invalid in [
        "0", "200", "-129", "53", "-52", "1e400", "\"10\"", "null", "[10]", "{}", "true",
    ] {
        replace(
            &disk,
            &format!("\"truncate\": {last}"),
            &format!("\"truncate\": {invalid}"),
        );
        last = invalid.to_owned();
        let e = appended(&disk, &options()).unwrap_err();
        assert_eq!(e.status, Status::Unsupported, "{invalid}: {e}");
        assert!(e.message.contains("HOLDALL_OPT_PRECISION to 0"), "{e}");
        assert!(appended(&disk, &precision(0)).unwrap() == row);
    }

    // exact arrays stay exact
    let disk = base(&options());
    let e = appended(&disk, &precision(10)).unwrap_err();
    assert_eq!(e.status, Status::Unsupported);
    assert!(appended(&disk, &precision(0)).unwrap() == row);
}

#[test]
fn other_items_and_formats_are_refused() {
    for (dtype, bits) in [
        ("<i4", 10),
        (">f4", 10),
        ("<f2", 3),
        ("<c8", 3),
        ("<f4", 24),
        ("[('a', '<f4')]", 3),
    ] {
        let e = new(
            &SimDisk::default().folder(),
            dtype,
            &[7, 30],
            &precision(bits),
        )
        .err();
        let e = e.unwrap();
        assert_eq!(e.status, Status::Argument, "{dtype}");
        assert!(e.message.contains("HOLDALL_OPT_PRECISION"), "{e}");
    }
    for format in [Format::Bcolz, Format::Blz, Format::Bloscpack] {
        let spec = ArraySpec {
            dtype: "<f4",
            shape: &[10],
            chunks: None,
            format,
        };
        let f = SimDisk::default().folder();
        let e = any::create_in(&f, Mode::New, &spec, None, &precision(3)).err();
        assert_eq!(e.unwrap().status, Status::Argument, "{format:?}");
    }
    let columns = [("x", Dtype::parse_argument("<f4").unwrap())];
    for format in [Format::BlzRfc, Format::Bcolz] {
        let f = SimDisk::default().folder();
        let e = Table::create_in(&f, Mode::New, format, &columns, &precision(3)).err();
        let e = e.unwrap();
        assert_eq!(e.status, Status::Argument, "{format:?}");
        assert!(e.message.contains("HOLDALL_OPT_PRECISION"), "{e}");
    }
}
