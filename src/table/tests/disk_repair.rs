//! Tests the repair of datasets with every known kind of damage on the simulated disk.

use crate::array::Array;
use crate::dataset::create::{ArraySpec, create_in};
use crate::dataset::folder::DatasetDir;
use crate::dataset::open;
use crate::dataset::text_checksum::with_checksum;
use crate::dtype::Dtype;
use crate::error::{Error, Result, Status};
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{self, Fault, RepairScenario, SimDisk, StateCounts, Tally};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use crate::table::{Repaired, Table, repair_at, verify_at};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

/// Rows of 3 items of 4 bytes, in 6 chunks; the last one is not full.
const ROWS: u64 = 50;
const CHUNK: u64 = 9;
const ROW: usize = 12;

type Files = BTreeMap<OsString, Vec<u8>>;

fn options(more: &[(Opt, i64)]) -> Options {
    more.iter().fold(
        Options::new().with(Opt::Threads, 1).unwrap(),
        |o, (opt, n)| o.with(*opt, *n).unwrap(),
    )
}

fn content(rows: u64) -> Vec<u8> {
    (0..rows * ROW as u64)
        .map(|i| (i * 7 % 251) as u8)
        .collect()
}

fn array(sum: i64) -> Files {
    let disk = SimDisk::default();
    let new = ArraySpec {
        dtype: "<i4",
        shape: &[0, 3],
        chunks: Some(&[CHUNK, 3]),
        format: Format::Bcolz,
    };
    let mut a = create_in(
        &disk.folder(),
        Mode::New,
        &new,
        &options(&[(Opt::Checksum, sum)]),
    )
    .unwrap();
    a.append(0, ROWS, &content(ROWS)).unwrap();
    a.attr_set("n", b"[1, 2]").unwrap();
    a.commit().unwrap();
    drop(a);
    disk.contents()
}

fn table() -> Files {
    let disk = SimDisk::default();
    let columns = [("a", "<i4"), ("b", "|S3"), ("c", "<f8")]
        .map(|(name, dtype)| (name, Dtype::parse(dtype).unwrap()));
    let mut t = Table::create_in(
        &disk.folder(),
        Mode::New,
        Format::Bcolz,
        &columns,
        &options(&[(Opt::ChunkBytes, 64)]),
    )
    .unwrap();
    let all = content(ROWS);
    t.append(
        ROWS,
        &[
            &all[..ROWS as usize * 4],
            &all[..ROWS as usize * 3],
            &all[..ROWS as usize * 8],
        ],
    )
    .unwrap();
    t.attr_set("n", Some(b"[1, 2]")).unwrap();
    t.commit().unwrap();
    drop(t);
    disk.contents()
}

fn read(a: &Array) -> Result<Vec<u8>> {
    let mut bytes = vec![0xee; a.nbytes() as usize];
    assert!(!a.read(&vec![0; a.shape().len()], a.shape(), None, &mut bytes, None)?);
    Ok(bytes)
}

/// Returns the attribute and the content of each column; an array has one.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    match Table::open_in(folder, Mode::Read, &options(&[])) {
        Ok(t) => {
            let attr = t.attrs().get("n")?.unwrap_or_default().to_vec();
            std::iter::once(Ok(attr))
                .chain(t.columns().iter().map(|c| read(&c.array)))
                .collect()
        }
        Err(e) if e.status == Status::Type => {
            let a = open::open_in(folder, Mode::Read, &options(&[]))?;
            Ok(vec![
                a.store().attr("n")?.unwrap_or_default().to_vec(),
                read(&a)?,
            ])
        }
        Err(e) => Err(e),
    }
}

fn repaired(disk: &SimDisk, more: &[(Opt, i64)]) -> Result<Repaired> {
    repair_at(&DatasetDir::of(&disk.folder()), &options(more))
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.contents()
        .keys()
        .map(|n| n.to_string_lossy().into_owned())
        .collect()
}

fn set(files: &mut Files, name: &str, bytes: &[u8]) {
    files.insert(name.into(), bytes.to_vec());
}

fn flip(files: &mut Files, name: &str, at: usize) {
    files.get_mut(&OsString::from(name)).unwrap()[at] ^= 4;
}

/// Cuts the power at every operation of the repair, which must end in this state.
fn complete_at_every_cut(files: &Files, more: &[(Opt, i64)], want: &[Vec<u8>]) -> usize {
    let disk = SimDisk::with_files(files);
    let done = repaired(&disk, more).unwrap();
    assert_eq!(seen(&disk.folder()).unwrap(), want);
    assert!(
        names(&disk)
            .iter()
            .all(|n| !n.contains(".holdall-new") && !n.ends_with("journal")),
        "{:?}",
        names(&disk)
    );
    // an intact dataset stays unchanged
    let (before, again) = (disk.contents(), repaired(&disk, more).unwrap());
    assert!(
        before == disk.contents() && again.retained >= done.retained && again.dropped == 0,
        "{done:?} {again:?}"
    );
    let tally = tried(files, more, 6, None);
    assert!(
        tally.violations.is_empty(),
        "{}",
        tally.violations.join("\n")
    );
    tally.states
}

fn tried(files: &Files, more: &[(Opt, i64)], per_cut: usize, wrong: Option<Fault>) -> Tally {
    let name = format!("repair, {more:?}");
    let repair =
        |folder: Arc<dyn Folder>| repair_at(&DatasetDir::of(&folder), &options(more)).map(|_| ());
    sim::check_repair(
        &RepairScenario {
            name,
            disk: SimDisk::with_files(files),
            repair: &repair,
            read: &|folder| seen(&folder),
        },
        per_cut,
        wrong,
    )
}

fn cut_at(rows: u64) -> Vec<Vec<u8>> {
    vec![b"[1, 2]".to_vec(), content(rows)]
}

#[test]
fn an_intact_dataset_stays_unchanged() {
    for files in [array(0), array(2), table()] {
        let disk = SimDisk::with_files(&files);
        let want = seen(&disk.folder()).unwrap();
        let done = repaired(&disk, &[]).unwrap();
        assert!(done.retained > 5 && done.dropped == 0 && disk.contents() == files);
        let mut left = files.clone();
        for name in [
            "data/__9.blp",
            "meta/sizes.holdall-new",
            "__attrs__.holdall-new",
            "a/data/__40.blp",
            "a/data/__1.blp.holdall-new2",
            "a/meta/sizes.holdall-new",
        ] {
            if name.starts_with("a/") == files.contains_key(&OsString::from("__rootdirs__"))
                || !name.contains('/')
            {
                set(&mut left, name, b"leftover");
            }
        }
        let disk = SimDisk::with_files(&left);
        assert_eq!(repaired(&disk, &[]).unwrap(), done);
        assert!(disk.contents() == files, "{:?}", names(&disk));
        assert_eq!(seen(&disk.folder()).unwrap(), want);
    }
}

#[test]
fn sizes_are_rebuilt_from_intact_chunks() {
    let mut states = 0;
    for (sum, torn) in [0, 2].into_iter().flat_map(|sum| {
        [
            &b""[..],
            b"{\"shape\": [50, ",
            b"{\"shape\": [51, 3], \"nbytes\": 600}",
            b"\0\0\0",
        ]
        .map(|t| (sum, t))
    }) {
        let mut files = array(sum);
        set(&mut files, "meta/sizes", torn);
        assert!(seen(&SimDisk::with_files(&files).folder()).is_err());
        states += complete_at_every_cut(&files, &[], &cut_at(ROWS));
        // the last chunk is torn as well
        let last = files.get_mut(&OsString::from("data/__5.blp")).unwrap();
        last.truncate(last.len() - 5);
        states += complete_at_every_cut(&files, &[], &cut_at(5 * CHUNK));
        let disk = SimDisk::with_files(&files);
        assert_eq!(
            repaired(&disk, &[]).unwrap(),
            Repaired {
                retained: 5,
                dropped: 0,
                ..Repaired::default()
            }
        );
        assert!(
            names(&disk).contains(&"data/__5.blp.holdall-damaged".to_owned()),
            "{:?}",
            names(&disk)
        );
    }
    let mut files = array(2);
    files.remove(&OsString::from("meta/sizes"));
    states += complete_at_every_cut(&files, &[], &cut_at(ROWS));
    println!("{states} states");
}

/// bcolz stores the shape of a row only in `meta/sizes`.
#[test]
fn the_shape_of_a_row_is_found() {
    let mut files = array(0);
    let storage = String::from_utf8(files[&OsString::from("meta/storage")].clone()).unwrap();
    let plain = storage
        .replace("\"chunkshape\":[9,3]", "\"extra\":[9]")
        .replace("\"chunkshape\": [9, 3]", "\"extra\": [9]");
    assert_ne!(storage, plain);
    set(&mut files, "meta/storage", plain.as_bytes());
    set(&mut files, "meta/sizes", b"{\"shape\": [50, 3], \"nby");
    complete_at_every_cut(&files, &[], &cut_at(ROWS));
    set(&mut files, "meta/sizes", b"");
    let disk = SimDisk::with_files(&files);
    repaired(&disk, &[]).unwrap();
    let a = open::open_in(&disk.folder(), Mode::Read, &options(&[])).unwrap();
    assert_eq!(
        (a.shape(), read(&a).unwrap()),
        (&[ROWS, 3][..], content(ROWS))
    );
}

#[test]
fn corrupt_chunks_at_the_end_are_cut_off_and_others_replaced_on_request() {
    let skip = [(Opt::SkipDamaged, 1)];
    let with = |chunks: &[u64]| {
        let mut all = content(ROWS);
        for i in chunks {
            let (from, to) = (
                (i * CHUNK) as usize * ROW,
                ((i + 1) * CHUNK).min(ROWS) as usize * ROW,
            );
            all[from..to].fill(0);
        }
        vec![b"[1, 2]".to_vec(), all]
    };
    let damage = |files: &mut Files, i: u64, how: usize| {
        let name = format!("data/__{i}.blp");
        match how {
            0 => _ = files.remove(&OsString::from(name)),
            1 => set(files, &name, b""),
            // the version of the chunk, and its content
            _ => flip(files, &name, if how == 2 { 16 } else { 50 }),
        }
    };
    let mut states = 0;
    for how in 0..4 {
        let mut files = array(2);
        damage(&mut files, 5, how);
        damage(&mut files, 4, how);
        states += complete_at_every_cut(&files, &[], &cut_at(4 * CHUNK));
        states += complete_at_every_cut(&files, &skip, &with(&[4, 5]));
        let mut files = array(2);
        damage(&mut files, 1, how);
        let disk = SimDisk::with_files(&files);
        let e = repaired(&disk, &[]).unwrap_err();
        assert!(
            e.status == Status::Format && e.position == 1 && e.message.contains("__1.blp"),
            "{e}"
        );
        assert!(disk.contents() == files, "changed");
        states += complete_at_every_cut(&files, &skip, &with(&[1]));
        assert_eq!(
            repaired(&disk, &skip).unwrap(),
            Repaired {
                retained: 5,
                dropped: 1,
                ..Repaired::default()
            }
        );
        assert_eq!(
            names(&disk)
                .iter()
                .filter(|n| n.contains("damaged"))
                .count(),
            usize::from(how > 0)
        );
        files = array(2);
        (0..6).for_each(|i| damage(&mut files, i, how));
        for skip in [&[][..], &skip] {
            let disk = SimDisk::with_files(&files);
            assert_eq!(repaired(&disk, skip).unwrap_err().status, Status::Format);
            assert!(disk.contents() == files);
        }
    }
    println!("{states} states");
}

/// The last chunk of bcolz is shorter than `meta/sizes` says.
#[test]
fn rows_of_a_short_last_chunk_are_retained() {
    let mut files = array(0);
    let short = {
        let disk = SimDisk::with_files(&files);
        let mut a = open::open_in(&disk.folder(), Mode::Append, &options(&[])).unwrap();
        a.resize(&[47, 3]).unwrap();
        a.write(&[46, 0], &[1, 3], None, &content(47)[46 * ROW..], None)
            .unwrap();
        a.commit().unwrap();
        disk.contents()[&OsString::from("data/__5.blp")].clone()
    };
    set(&mut files, "data/__5.blp", &short);
    assert!(seen(&SimDisk::with_files(&files).folder()).is_err());
    complete_at_every_cut(&files, &[], &cut_at(47));
}

#[test]
fn corrupt_attributes_are_backed_up() {
    for (bytes, retained) in [
        (&b"{\"n\": [1, 2"[..], true),
        (b"", false),
        (b"{\"n\": 1}\0", true),
    ] {
        let mut files = array(0);
        set(&mut files, "__attrs__", bytes);
        complete_at_every_cut(&files, &[], &[vec![], content(ROWS)]);
        let disk = SimDisk::with_files(&files);
        assert_eq!(
            repaired(&disk, &[]).unwrap(),
            Repaired {
                retained: 6,
                dropped: retained.into(),
                ..Repaired::default()
            }
        );
        assert_eq!(
            disk.contents()
                .get(&OsString::from("__attrs__.holdall-damaged"))
                .map(Vec::as_slice),
            retained.then_some(bytes)
        );
    }
    let mut files = array(2);
    flip(&mut files, "__attrs__", 7);
    complete_at_every_cut(&files, &[], &[vec![], content(ROWS)]);
    // a second copy does not replace the first one
    let disk = SimDisk::with_files(&files);
    repaired(&disk, &[]).unwrap();
    let mut again = disk.contents();
    set(&mut again, "__attrs__", b"{");
    let disk = SimDisk::with_files(&again);
    repaired(&disk, &[]).unwrap();
    assert_eq!(
        disk.contents()[&OsString::from("__attrs__.holdall-damaged-2")],
        b"{"
    );
    assert_eq!(
        disk.contents()[&OsString::from("__attrs__.holdall-damaged")],
        files[&OsString::from("__attrs__")]
    );
}

#[test]
fn a_lost_storage_file_is_reported_and_nothing_is_changed() {
    let mut files = array(2);
    flip(&mut files, "meta/storage", 12);
    let disk = SimDisk::with_files(&files);
    assert_eq!(repaired(&disk, &[]).unwrap_err().status, Status::Checksum);
    assert!(disk.contents() == files);
    for damage in [None, Some(&b"{"[..])] {
        match damage {
            Some(bytes) => set(&mut files, "meta/storage", bytes),
            None => _ = files.remove(&OsString::from("meta/storage")),
        }
        let disk = SimDisk::with_files(&files);
        let e = repaired(&disk, &[]).unwrap_err();
        assert!(
            e.message.contains("meta/storage") && e.message.contains("another array"),
            "{e}"
        );
        assert!(disk.contents() == files);
    }
    // a key that no reader uses
    let mut files = array(2);
    let at = files[&OsString::from("meta/storage")]
        .windows(8)
        .position(|w| w == b"quantize")
        .unwrap();
    flip(&mut files, "meta/storage", at);
    assert!(seen(&SimDisk::with_files(&files).folder()).is_err());
    complete_at_every_cut(&files, &[(Opt::Verify, 0)], &cut_at(ROWS));
}

#[test]
fn repaired_columns_have_equal_length() {
    let files = table();
    let want = seen(&SimDisk::with_files(&files).folder()).unwrap();
    let rows = |n: usize| {
        vec![
            want[0].clone(),
            want[1][..n * 4].to_vec(),
            want[2][..n * 3].to_vec(),
            want[3][..n * 8].to_vec(),
        ]
    };
    let mut torn = files.clone();
    set(&mut torn, "b/meta/sizes", b"{");
    complete_at_every_cut(&torn, &[], &want);
    // chunks of 16, 21 and 8 rows: two chunks of the last column remain, and the other columns are
    // cut
    torn.remove(&OsString::from("c/data/__2.blp"));
    (3..7).for_each(|i| set(&mut torn, &format!("c/data/__{i}.blp"), b""));
    complete_at_every_cut(&torn, &[], &rows(16));
    let disk = SimDisk::with_files(&torn);
    repaired(&disk, &[]).unwrap();
    let t = Table::open_in(&disk.folder(), Mode::Read, &options(&[])).unwrap();
    assert!(t.columns().iter().all(|c| c.stored_rows == 16));
    // intact chunks that were cut off are not lost
    assert!(
        disk.contents()[&OsString::from("a/data/__2.blp.holdall-damaged")]
            == files[&OsString::from("a/data/__2.blp")]
    );
    // the columns get the names of their folders
    for bytes in [&b"{\"names\": [\"a\", \"b\""[..], b"", b"{}"] {
        let mut torn = files.clone();
        set(&mut torn, "__rootdirs__", bytes);
        complete_at_every_cut(&torn, &[], &want);
    }
    let mut lost = files.clone();
    lost.remove(&OsString::from("__rootdirs__"));
    complete_at_every_cut(&lost, &[], &want);
    // arrays that are in one folder but are not a table
    lost.remove(&OsString::from("__attrs__"));
    let disk = SimDisk::with_files(&lost);
    assert_eq!(repaired(&disk, &[]).unwrap_err().status, Status::Format);
    assert!(disk.contents() == lost);
    // a column that cannot be repaired
    let mut lost = files.clone();
    flip(&mut lost, "b/meta/storage", 3);
    let disk = SimDisk::with_files(&lost);
    let e: Error = repaired(&disk, &[]).unwrap_err();
    assert!(
        e.message.contains("column \"b\"") && disk.contents() == lost,
        "{e}"
    );
    assert!(e.message.contains("leave out a column"), "{e}");
    complete_at_every_cut(
        &lost,
        &[(Opt::SkipDamaged, 1)],
        &[want[0].clone(), want[1].clone(), want[3].clone()],
    );
    let disk = SimDisk::with_files(&lost);
    repaired(&disk, &[(Opt::SkipDamaged, 1)]).unwrap();
    assert!(
        disk.contents()[&OsString::from("b/data/__0.blp")]
            == files[&OsString::from("b/data/__0.blp")],
        "the files of the column stay"
    );
    // the option replaces a corrupt chunk, and the column stays
    let mut corrupt = files.clone();
    flip(&mut corrupt, "b/data/__0.blp", 16);
    let e: Error = repaired(&SimDisk::with_files(&corrupt), &[]).unwrap_err();
    assert!(
        e.message.contains("to replace it") && !e.message.contains("leave out"),
        "{e}"
    );
}

/// Datasets in the BLZ RFC layout, with 2 chunks per superchunk: an array and a table.
fn in_blz_rfc() -> [Files; 2] {
    let disk = SimDisk::default();
    let new = ArraySpec {
        dtype: "<i4",
        shape: &[0],
        chunks: Some(&[CHUNK]),
        format: Format::BlzRfc,
    };
    let two = options(&[(Opt::SuperchunkChunks, 2)]);
    let mut a = create_in(&disk.folder(), Mode::New, &new, &two).unwrap();
    a.append(0, ROWS, &content(ROWS)[..ROWS as usize * 4])
        .unwrap();
    a.attr_set("n", b"[1, 2]").unwrap();
    a.commit().unwrap();
    let tables = SimDisk::default();
    let columns = [("a", "<i4"), ("b", "[('p', '|S3'), ('q', '<i8')]")]
        .map(|(name, dtype)| (name, Dtype::parse(dtype).unwrap()));
    let two = two.with(Opt::ChunkBytes, 64).unwrap();
    let mut t =
        Table::create_in(&tables.folder(), Mode::New, Format::BlzRfc, &columns, &two).unwrap();
    let all = content(ROWS);
    t.append(
        ROWS,
        &[&all[..ROWS as usize * 4], &all[..ROWS as usize * 11]],
    )
    .unwrap();
    t.attr_set("n", Some(b"[1, 2]")).unwrap();
    t.commit().unwrap();
    [disk.contents(), tables.contents()]
}

#[test]
fn superchunks_are_repaired() {
    let last = |files: &Files| {
        files
            .keys()
            .filter_map(|n| n.to_str()?.strip_prefix("data/"))
            .map(|n| format!("data/{n}"))
            .next_back()
            .unwrap()
    };
    for files in in_blz_rfc() {
        let intact = seen(&SimDisk::with_files(&files).folder()).unwrap();
        let damage = |name: &str, f: &dyn Fn(&mut Vec<u8>)| {
            let mut files = files.clone();
            f(files.get_mut(&OsString::from(name)).unwrap());
            SimDisk::with_files(&files)
        };
        // nothing to repair
        let disk = SimDisk::with_files(&files);
        let all = repaired(&disk, &[]).unwrap();
        assert!(
            all.dropped == 0 && all.retained > 5 && disk.contents() == files,
            "{all:?}"
        );
        // metadata files
        for name in ["meta/sizes", "meta/attributes"] {
            let disk = damage(name, &|bytes| bytes.truncate(9));
            assert!(seen(&disk.folder()).is_err(), "{name}");
            let done = repaired(&disk, &[]).unwrap();
            assert_eq!(
                done,
                Repaired {
                    retained: all.retained,
                    dropped: u64::from(name.ends_with('s') && name.contains("attr")),
                    ..Repaired::default()
                }
            );
            assert!(seen(&disk.folder()).unwrap()[1..] == intact[1..], "{name}");
            assert!(
                disk.contents()
                    .keys()
                    .any(|n| n.to_string_lossy().contains("holdall-damaged"))
            );
        }
        // at the end: all fields retain what is before the damage
        let end = last(&files);
        let disk = damage(&end, &|bytes| *bytes.last_mut().unwrap() ^= 1);
        assert!(seen(&disk.folder()).is_err());
        let done = repaired(&disk, &[]).unwrap();
        assert!(
            done.retained < all.retained && done.retained + done.dropped == all.retained,
            "{done:?}"
        );
        let now = seen(&disk.folder()).unwrap();
        assert!(
            now.iter()
                .zip(&intact)
                .skip(1)
                .all(|(now, was)| now.len() < was.len()
                    && was.starts_with(now)
                    && now.len() > was.len() / 2)
        );
        assert_eq!(repaired(&disk, &[]).unwrap().dropped, 0);
        // in the middle: only with `SkipDamaged`, and the other chunks stay as they were
        let disk = damage(
            &end.replace("__2__", "__1__").replace("__3__", "__1__"),
            &|bytes| *bytes.last_mut().unwrap() ^= 1,
        );
        let before = disk.contents();
        assert_eq!(repaired(&disk, &[]).unwrap_err().status, Status::Format);
        assert!(disk.contents() == before);
        let skip = [(Opt::SkipDamaged, 1)];
        assert_eq!(
            repaired(&disk, &skip).unwrap(),
            Repaired {
                retained: all.retained - 1,
                dropped: 1,
                ..Repaired::default()
            }
        );
        let now = seen(&disk.folder()).unwrap();
        let differ: usize = now
            .iter()
            .zip(&intact)
            .map(|(a, b)| a.iter().zip(b).filter(|(a, b)| a != b).count())
            .sum();
        assert!(
            now.iter().zip(&intact).all(|(a, b)| a.len() == b.len())
                && 0 < differ
                && differ < intact[1].len().max(intact[intact.len() - 1].len()) / 2
        );
        assert_eq!(repaired(&disk, &skip).unwrap().dropped, 0);
    }
}

/// Returns the kinds of damage for a dataset, and whether the repair must replace chunks by the
/// default value.
fn damaged(files: &Files) -> Vec<(&'static str, Files, bool)> {
    let of = |end: &str| {
        files
            .keys()
            .filter_map(|n| n.to_str())
            .filter(|n| n.ends_with(end))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let hurt = |name: &str, f: &dyn Fn(&mut Vec<u8>)| {
        let mut files = files.clone();
        f(files.get_mut(&OsString::from(name)).unwrap());
        files
    };
    let chunks = if of(".blp").is_empty() {
        of(".bin")
    } else {
        of(".blp")
    };
    let (first, last) = (&chunks[0], &chunks[chunks.len() - 1]);
    let mut all = vec![
        (
            "the last chunk",
            hurt(last, &|b| *b.last_mut().unwrap() ^= 1),
            false,
        ),
        (
            "a chunk, on request",
            hurt(first, &|b| *b.last_mut().unwrap() ^= 1),
            true,
        ),
    ];
    all.extend(
        of("meta/sizes")
            .last()
            .map(|name| ("sizes", hurt(name, &|b| b.truncate(9)), false)),
    );
    all.extend(
        [of("__attrs__"), of("meta/attributes")]
            .concat()
            .last()
            .map(|name| ("attributes", hurt(name, &|b| b.truncate(9)), false)),
    );
    all.extend(
        of("__rootdirs__")
            .last()
            .map(|name| ("names", hurt(name, &|b| b.truncate(9)), false)),
    );
    all.push((
        "sizes, and the last chunk",
        hurt(last, &|b| *b.last_mut().unwrap() ^= 1),
        false,
    ));
    let both = &mut all.last_mut().unwrap().1;
    of("meta/sizes")
        .last()
        .map(|name| both.get_mut(&OsString::from(name)).unwrap().truncate(9))
        .unwrap();
    if first.ends_with(".bin") {
        let mut files = without_superchunksize(files);
        files.remove(&OsString::from(first));
        all.push(("the first superchunk", files, true));
    }
    all
}

/// Returns a dataset in the BLZ RFC layout whose metadata do not state the chunks per superchunk.
fn without_superchunksize(files: &Files) -> Files {
    let mut files = files.clone();
    let storage = files.get_mut(&OsString::from("meta/storage")).unwrap();
    let text = String::from_utf8(storage.clone()).unwrap();
    let key = text
        .replace("\"superchunksize\": 2, ", "")
        .replace(", \"superchunksize\": 2", "");
    assert!(key.len() < text.len(), "{text}");
    *storage = with_checksum(format!("{}\n", key.trim_end())).into_bytes();
    files
}

#[test]
fn a_lost_superchunk_loses_only_its_rows() {
    let dir = |disk: &SimDisk| DatasetDir::of(&disk.folder());
    let opened = |disk: &SimDisk, more: &[(Opt, i64)]| {
        open::open_in(&disk.folder(), Mode::Read, &options(more)).unwrap()
    };
    let skip = [(Opt::SkipDamaged, 1)];
    let per_file = 2 * CHUNK;
    // the last file is full, has a part of a chunk, or less chunks than the others
    for rows in [
        per_file * 2,
        per_file * 2 + 4,
        per_file * 3,
        per_file * 3 + CHUNK + 1,
    ] {
        let disk = SimDisk::default();
        let new = ArraySpec {
            dtype: "<i4",
            shape: &[0],
            chunks: Some(&[CHUNK]),
            format: Format::BlzRfc,
        };
        let two = options(&[(Opt::SuperchunkChunks, 2)]);
        let mut a = create_in(&disk.folder(), Mode::New, &new, &two).unwrap();
        let want = &content(rows)[..rows as usize * 4];
        a.append(0, rows, want).unwrap();
        a.commit().unwrap();
        drop(a);
        let files = without_superchunksize(&disk.contents());
        for lost in 1..=rows.div_ceil(per_file) {
            let mut files = files.clone();
            let name = format!("data/__{lost}__.bin");
            files.remove(&OsString::from(&name)).unwrap();
            let disk = SimDisk::with_files(&files);
            let a = opened(&disk, &[]);
            let gone = (lost - 1) * per_file..(lost * per_file).min(rows);
            let part = |a: &Array, row: u64| {
                let mut item = [0xee; 4];
                a.read(&[row], &[1], None, &mut item, None)
                    .map(|skipped| (item, skipped))
            };
            let filled = opened(&disk, &skip);
            for row in 0..rows {
                let item = &want[row as usize * 4..][..4];
                if !gone.contains(&row) {
                    assert_eq!(part(&a, row).unwrap(), (item.try_into().unwrap(), false));
                    assert_eq!(part(&filled, row), part(&a, row));
                    continue;
                }
                let e = part(&a, row).unwrap_err();
                let named = format!("rows {} to {} are lost", gone.start, gone.end - 1);
                assert_eq!(
                    (e.status, e.position),
                    (Status::Missing, (row / CHUNK) as i64)
                );
                assert!(
                    e.message.contains(&name) && e.message.contains(&named),
                    "{e}"
                );
                assert_eq!(part(&filled, row).unwrap(), ([0; 4], true));
            }
            let mut faults = Vec::new();
            verify_at(&dir(&disk), &options(&[]), |_, e| {
                faults.push(e.clone());
                true
            })
            .unwrap();
            assert!(
                faults.iter().all(|e| e.message.contains(&name)),
                "{faults:?}"
            );
            drop((a, filled));
            repair_at(&dir(&disk), &options(&skip)).unwrap();
            let mut whole = want.to_vec();
            whole[gone.start as usize * 4..gone.end as usize * 4].fill(0);
            assert!(read(&opened(&disk, &[])).unwrap() == whole, "{rows} {lost}");
        }
        // two files are lost: the rest does not show how many chunks a file has
        let mut files = files.clone();
        for lost in [1, 2] {
            files
                .remove(&OsString::from(format!("data/__{lost}__.bin")))
                .unwrap();
        }
        let a = opened(&SimDisk::with_files(&files), &[]);
        let e = a.read(&[rows - 1], &[1], None, &mut [0; 4], None);
        assert!(e.is_ok() || e.unwrap_err().message.contains("superchunksize"));
    }
}

fn forms() -> [(&'static str, Files); 4] {
    let [one, many] = in_blz_rfc();
    [
        ("array in a folder, Bcolz", array(2)),
        ("array in a folder, BlzRfc", one),
        ("table, Bcolz", table()),
        ("table, BlzRfc", many),
    ]
}

fn repair_options(fill: bool) -> Vec<(Opt, i64)> {
    if fill {
        vec![(Opt::SkipDamaged, 1)]
    } else {
        vec![]
    }
}

#[test]
fn a_power_failure_leaves_repairs_complete_or_repeatable() {
    for (format, files) in forms() {
        let mut state_counts = StateCounts::of(format);
        for (what, files, fill) in damaged(&files) {
            state_counts.add(
                &format!("repair: {what}"),
                tried(&files, &repair_options(fill), 20, None),
            );
        }
        state_counts.assert_complete(200);
    }
}

#[test]
fn mutations_of_a_repair_are_detected() {
    for (format, files) in forms() {
        let damage = damaged(&files);
        let checks: Vec<_> = damage
            .iter()
            .map(|(what, files, fill)| {
                (*what, |wrong| {
                    tried(files, &repair_options(*fill), 60, wrong)
                })
            })
            .collect();
        sim::mutations_of_repairs(format, 2, &checks);
    }
}
