//! Commits of parts under power failures: readers see the last commit or the next one, and the same
//! call, repeated, commits everything exactly once.

use super::super::array::commit_to;
use super::super::bag::{append, commit_set};
use super::super::table::commit_to as commit_table_to;
use super::super::token::Beside;
use super::*;
use crate::array::NewTiled;
use crate::bag::ShardPath;
use crate::bag::spec::Set;
use crate::dataset::create::create_in;
use crate::io::sim::{self, Scenario, SimDisk, StateCounts};
use crate::io::{Access, Folder};
use std::sync::Arc;

const NAME: &str = "x.bagz";

/// Writes finished parts to a disk and returns their tokens.
fn bags(disk: &SimDisk, parts: &Parts, options: &Options) -> Vec<Token> {
    let limits = options.get(Opt::BagLimits, 0) == 1;
    let token = |i: u8| {
        let id = PartId([i; 16]);
        let name = parts.name_of("", id);
        let mut writer = Writer::open_in(&disk.folder(), &name, BagMode::New, options).unwrap();
        let records = usize::from(i) * 40;
        (0..records).for_each(|n| writer.append(format!("{i} {n}").as_bytes()).unwrap());
        writer.commit().unwrap();
        Token {
            kind: Kind::Bag,
            id,
            items: records as u64,
            beside: Beside {
                limits,
                checksums: false,
            },
            start: None,
        }
    };
    [2, 1].map(token).to_vec()
}

fn all(folder: Arc<dyn Folder>, names: &[OsString], options: &Options) -> Result<Vec<Vec<u8>>> {
    let paths: Vec<ShardPath> = names
        .iter()
        .map(|name| ShardPath::new(folder.clone(), name.clone()))
        .collect();
    let bag = Bag::open_in(&paths, options)?;
    (0..bag.size()).map(|i| bag.read(i)).collect()
}

/// Commits again, as a program does after a crash, and requires that everything is there once.
fn again(
    folder: Arc<dyn Folder>,
    act: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    read: &dyn Fn(Arc<dyn Folder>) -> Result<Vec<Vec<u8>>>,
    expected: &[Vec<u8>],
) -> Result<()> {
    match act(folder.clone()) {
        // it was committed, and the parts are removed
        Err(e) if [Status::Missing, Status::Exists].contains(&e.status) => {}
        done => done?,
    }
    if read(folder)? == expected {
        return Ok(());
    }
    Err(fail!(Internal, "not exactly once"))
}

#[test]
fn a_power_failure_leaves_a_bag_without_or_with_all_parts() {
    let mut counts = StateCounts::of("parts of bags");
    for (limits, old) in [(0, 0), (0, 3), (1, 3)] {
        let options = none().with(Opt::BagLimits, limits).unwrap();
        let disk = SimDisk::default();
        let parts = Parts::beside(&disk.folder(), OsStr::new(NAME), ".bagz");
        let tokens = bags(&disk, &parts, &none());
        if old > 0 {
            let mut writer =
                Writer::open_in(&disk.folder(), OsStr::new(NAME), BagMode::New, &options).unwrap();
            (0..old).for_each(|_| writer.append(b"old").unwrap());
            writer.commit().unwrap();
        }
        disk.make_durable();
        let act = |folder: Arc<dyn Folder>| {
            let parts = Parts::beside(&folder, OsStr::new(NAME), ".bagz");
            append(&folder, OsStr::new(NAME), &parts, &tokens, &options)
        };
        let read = |folder| all(folder, &[NAME.into()], &options);
        check(
            &mut counts,
            format!("append {limits} {old}"),
            disk,
            &act,
            &read,
        );
    }
    counts.assert_complete(10);
}

fn check(
    counts: &mut StateCounts,
    name: String,
    disk: SimDisk,
    act: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    read: &dyn Fn(Arc<dyn Folder>) -> Result<Vec<Vec<u8>>>,
) {
    let whole = disk.copy();
    act(whole.folder()).unwrap();
    let expected = read(whole.folder()).unwrap();
    let next_commit = |folder| again(folder, act, read, &expected);
    let scenario = Scenario {
        name,
        disk,
        act,
        read,
        next_commit: &next_commit,
    };
    counts.add("commit of parts", sim::check(&scenario, 20, None));
}

#[test]
fn a_power_failure_leaves_no_set_or_a_complete_one() {
    let mut counts = StateCounts::of("parts of sets");
    let set = Set::of(OsStr::new("x-00000-of-00002.bagz")).remove(0);
    for limits in [0, 1] {
        let options = none().with(Opt::BagLimits, limits).unwrap();
        let disk = SimDisk::default();
        let beside =
            |folder: &Arc<dyn Folder>| Parts::beside(folder, OsStr::new("x@.bagz"), ".bagz");
        let tokens = bags(&disk, &beside(&disk.folder()), &options);
        disk.make_durable();
        let act = |folder: Arc<dyn Folder>| {
            commit_set(&folder, &set, &beside(&folder), &tokens, &options)
        };
        let read = |folder| all(folder, &[set.name(0), set.name(1)], &options);
        check(&mut counts, format!("set {limits}"), disk, &act, &read);
    }
    counts.assert_complete(10);
}

#[test]
fn a_power_failure_leaves_an_array_without_or_with_all_parts() {
    let mut counts = StateCounts::of("parts of arrays");
    for appends in [false, true] {
        let disk = SimDisk::default();
        let name = OsStr::new("x.b2nd");
        let frame = |name: &OsStr, rows, value| {
            let new = NewTiled {
                dtype: "<u1",
                shape: &[rows, 5],
                chunks: Some(&[4, 5]),
                blocks: None,
                caterva: false,
            };
            let folder = disk.folder();
            let array = Array::create_frame_in(&folder, name, Mode::New, &new, &none());
            let mut array = array.unwrap();
            let items = vec![value; rows as usize * 5];
            array
                .write(&[0, 0], &[rows, 5], None, &items, None)
                .unwrap();
            array.commit().unwrap();
        };
        frame(name, 8, 0);
        let parts = Parts::beside(&disk.folder(), name, "");
        let token = |i: u8| {
            frame(&parts.name_of("", PartId([i; 16])), 4, i);
            Token {
                kind: Kind::Array,
                id: PartId([i; 16]),
                items: 4,
                beside: Beside::default(),
                start: (!appends).then(|| vec![u64::from(i - 1) * 4, 0]),
            }
        };
        let tokens = [1, 2].map(token);
        disk.make_durable();
        let act = |folder: Arc<dyn Folder>| {
            let parts = Parts::beside(&folder, name, "");
            let open = |token: &Token| {
                let name = parts.name_of("", token.id);
                Array::open_in(&folder, &name, Mode::Read, &none())
            };
            let array = Array::open_in(&folder, name, Mode::Append, &none())?;
            commit_to(array, &parts, &tokens, &open)
        };
        let read = |folder: Arc<dyn Folder>| {
            let array = Array::open_in(&folder, name, Mode::Read, &none())?;
            let mut all = vec![0; array.nbytes() as usize];
            array.read(&[0, 0], array.shape(), None, &mut all, None)?;
            let mut rows: Vec<Vec<u8>> = all.chunks(5).map(<[u8]>::to_vec).collect();
            // a commit that is repeated writes only to rows that were zeros
            while rows.pop_if(|row| row.iter().all(|b| *b == 0)).is_some() {}
            Ok(rows)
        };
        check(&mut counts, format!("array {appends}"), disk, &act, &read);
    }
    counts.assert_complete(10);
}

/// Creates a disk with a dataset of rows of this value.
fn dataset(format: Format, rows: u64, value: u8) -> SimDisk {
    let disk = SimDisk::default();
    let new = ArraySpec {
        dtype: "<u1",
        shape: &[0, 5],
        chunks: Some(&[4, 5]),
        format,
    };
    let mut options = none();
    if format == Format::BlzRfc {
        options.set(Opt::SuperchunkChunks, 2).unwrap();
    }
    let mut array = create_in(&disk.folder(), Mode::New, &new, &options).unwrap();
    let items = vec![value; rows as usize * 5];
    array.append(0, rows, &items).unwrap();
    array.commit().unwrap();
    disk
}

/// Creates a file that stands for a part, whose chunks are on a disk that does not fail. Returns
/// its token.
fn stand_in(disk: &SimDisk, parts: &Parts, name: &OsStr, kind: Kind, i: u8, items: u64) -> Token {
    let id = PartId([i; 16]);
    let file = disk.folder().create(&parts.name_of("", id), name).unwrap();
    file.write_at(0, &[i]).unwrap();
    Token {
        kind,
        id,
        items,
        beside: Beside::default(),
        start: None,
    }
}

/// Returns the folder that a stand-in stands for, which must be there.
fn stood_for(
    folder: &Arc<dyn Folder>,
    parts: &Parts,
    token: &Token,
    contents: &[SimDisk],
) -> Result<Arc<dyn Folder>> {
    folder.open(&parts.name_of("", token.id), Access::Read)?;
    Ok(contents[usize::from(token.id.0[0])].folder())
}

#[test]
fn a_power_failure_leaves_a_dataset_without_or_with_all_parts() {
    let mut counts = StateCounts::of("parts of datasets");
    // the superchunks of the last commit are complete, or not
    for (format, old) in [
        (Format::Bcolz, 8),
        (Format::BlzRfc, 8),
        (Format::BlzRfc, 12),
    ] {
        let disk = dataset(format, old, 0);
        let name = OsStr::new("x");
        let contents = [12, 10, 16].map(|rows| dataset(format, rows, rows as u8));
        let parts = Parts::beside(&disk.folder(), name, "");
        let tokens = [(0, 12), (1, 10), (2, 16)]
            .map(|(i, rows)| stand_in(&disk, &parts, name, Kind::Array, i, rows));
        disk.make_durable();
        let act = |folder: Arc<dyn Folder>| {
            let parts = Parts::beside(&folder, name, "");
            let open = |token: &Token| {
                let part = stood_for(&folder, &parts, token, &contents)?;
                open::open_in(&part, Mode::Read, &none())
            };
            let array = open::open_in(&folder, Mode::Append, &none())?;
            commit_to(array, &parts, &tokens, &open)
        };
        let read = |folder: Arc<dyn Folder>| {
            let array = open::open_in(&folder, Mode::Read, &none())?;
            let mut all = vec![0; array.nbytes() as usize];
            array.read(&[0, 0], array.shape(), None, &mut all, None)?;
            Ok(all.chunks(5).map(<[u8]>::to_vec).collect())
        };
        check(&mut counts, format!("{format:?} {old}"), disk, &act, &read);
    }
    counts.assert_complete(10);
}

/// Creates a disk with a table of rows of this value.
fn table(format: Format, rows: u64, value: u8) -> SimDisk {
    let disk = SimDisk::default();
    let columns = [("a", "<i2"), ("b", "|S3")].map(|(n, d)| (n, Dtype::parse(d).unwrap()));
    let mut options = none().with(Opt::ChunkBytes, 12).unwrap();
    if format == Format::BlzRfc {
        options.set(Opt::SuperchunkChunks, 2).unwrap();
    }
    let mut table =
        Table::create_in(&disk.folder(), Mode::New, format, &columns, &options).unwrap();
    let items = vec![value; rows as usize * 3];
    table
        .append(rows, &[&items[..rows as usize * 2], &items])
        .unwrap();
    table.commit().unwrap();
    disk
}

#[test]
fn a_power_failure_leaves_a_table_without_or_with_all_parts() {
    let mut counts = StateCounts::of("parts of tables");
    for format in [Format::Bcolz, Format::BlzRfc] {
        let disk = table(format, 7, 1);
        let name = OsStr::new("x");
        let contents = [5, 8].map(|rows| table(format, rows, rows as u8));
        let parts = Parts::beside(&disk.folder(), name, "");
        let tokens =
            [(0, 5), (1, 8)].map(|(i, rows)| stand_in(&disk, &parts, name, Kind::Table, i, rows));
        disk.make_durable();
        let act = |folder: Arc<dyn Folder>| {
            let parts = Parts::beside(&folder, name, "");
            let open = |token: &Token| {
                let part = stood_for(&folder, &parts, token, &contents)?;
                Table::open_in(&part, Mode::Read, &none())
            };
            let table = Table::open_in(&folder, Mode::Append, &none())?;
            commit_table_to(table, &parts, &tokens, &open)
        };
        let read = |folder: Arc<dyn Folder>| {
            let table = Table::open_in(&folder, Mode::Read, &none())?;
            let mut rows = vec![Vec::new(); table.rows() as usize];
            for column in table.columns() {
                let mut all = vec![0; column.array.nbytes() as usize];
                let shape = column.array.shape();
                column.array.read(&[0], shape, None, &mut all, None)?;
                let items = all.chunks(column.array.itemsize());
                rows.iter_mut()
                    .zip(items)
                    .for_each(|(row, item)| row.extend(item));
            }
            Ok(rows)
        };
        check(&mut counts, format!("{format:?}"), disk, &act, &read);
    }
    counts.assert_complete(10);
}
