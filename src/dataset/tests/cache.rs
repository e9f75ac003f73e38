//! Tests that the caches of a handle never return outdated data.

use super::create::{self, ArraySpec};
use super::open;
use crate::array::Array;
use crate::dataset::chunks::file_name;
use crate::error::Status;
use crate::format::Format;
use crate::io::sim::{Counting, Rng, SimDisk};
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::sync::{Arc, Mutex};

/// Rows per chunk, and total rows.
const CHUNK: u64 = 4000;
const ROWS: u64 = 30_000;

/// Returns numbers that differ little, so that some of their streams are compressed and others are
/// not.
fn numbers(seed: u64, n: u64) -> Vec<u8> {
    let (mut rng, mut walk) = (Rng(seed * 2 + 1), 100.0);
    let next = || {
        walk += (rng.draw() >> 40) as f64 / f64::from(1 << 24) - 0.5;
        walk.to_le_bytes()
    };
    std::iter::repeat_with(next)
        .take(n as usize)
        .flatten()
        .collect()
}

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

fn new(folder: &Arc<dyn Folder>, format: Format, options: &Options, content: &[u8]) -> Array {
    let mut a = create::create_in(
        folder,
        Mode::New,
        &ArraySpec {
            dtype: "<f8",
            shape: &[0],
            chunks: Some(&[CHUNK]),
            format,
        },
        options,
    )
    .unwrap();
    a.append(0, content.len() as u64 / 8, content).unwrap();
    a.commit().unwrap();
    a
}

fn some(a: &Array, at: u64, n: u64) -> crate::error::Result<Vec<u8>> {
    let mut rows = vec![0xee; n as usize * 8];
    assert!(!a.read(&[at], &[n], None, &mut rows, None)?);
    Ok(rows)
}

/// Reads in a pattern that fills the caches of blocks and files: some rows, the rows after them,
/// other rows of the same chunk, rows of other chunks.
fn check_reads(a: &Array, content: &[u8], rng: &mut Rng) {
    let rows = content.len() as u64 / 8;
    for _ in 0..4 {
        let n = 1 + rng.below(40) as u64;
        let Some(most) = rows.checked_sub(10 * n).filter(|most| *most > 0) else {
            return;
        };
        let at = rng.below(most as usize) as u64;
        for i in [0, 1, 2, 7, 3, 9, 0, 5] {
            let (at, n) = (at + i * n, n);
            assert!(
                some(a, at, n).unwrap() == content[at as usize * 8..][..n as usize * 8],
                "{n} rows at {at} of {rows}"
            );
        }
    }
}

#[test]
fn changes_are_visible_at_once() {
    for (format, codec) in [
        (Format::Bcolz, 2),
        (Format::Bcolz, 1),
        (Format::Bcolz, 6),
        (Format::BlzRfc, 2),
    ] {
        let disk = SimDisk::default();
        let folder = disk.folder();
        let mut content = numbers(1, ROWS);
        let mut a = new(
            &folder,
            format,
            &options().with(Opt::Codec, codec).unwrap(),
            &content,
        );
        let mut rng = Rng(77);
        for round in 0..60 {
            check_reads(&a, &content, &mut rng);
            let rows = content.len() / 8;
            let (n, at) = (1 + rng.below(6000), rng.below(rows.max(1)));
            match rng.below(7) {
                0 | 1 => {
                    let more = numbers(round, n as u64);
                    a.append(0, n as u64, &more).unwrap();
                    content.extend(more);
                }
                2 | 3 => {
                    let n = n.min(rows - at);
                    let over = numbers(round, n as u64);
                    a.write(&[at as u64], &[n as u64], None, &over, None)
                        .unwrap();
                    content[at * 8..][..n * 8].copy_from_slice(&over);
                }
                4 => {
                    let n = n.min(rows - at);
                    a.remove(0, at as u64, n as u64).unwrap();
                    content.drain(at * 8..(at + n) * 8);
                }
                5 => {
                    let len = (rows + n) / 2 + 100;
                    a.resize(&[len as u64]).unwrap();
                    content.resize(len * 8, 0);
                }
                _ => a.commit().unwrap(),
            }
            check_reads(&a, &content, &mut rng);
        }
        a.commit().unwrap();
        check_reads(&a, &content, &mut rng);
        check_reads(
            &open::open_in(&folder, Mode::Read, &options()).unwrap(),
            &content,
            &mut rng,
        );
    }
}

#[test]
fn a_reader_continues_while_rows_are_appended() {
    let disk = SimDisk::default();
    let folder = disk.folder();
    let content = numbers(1, ROWS);
    let mut writer = new(&folder, Format::Bcolz, &options(), &content);
    let reader = open::open_in(&folder, Mode::Read, &options()).unwrap();
    let mut rng = Rng(3);
    for i in 0..20 {
        check_reads(&reader, &content, &mut rng);
        writer.append(0, 700, &numbers(i, 700)).unwrap();
        writer.commit().unwrap();
        assert!(some(&reader, ROWS - 9, 9).unwrap() == content[content.len() - 72..]);
    }
}

/// Overwrites a file as other tools do: truncates it and writes the content.
fn overwrite(folder: &Arc<dyn Folder>, chunk: u64, bytes: &[u8]) {
    let file = folder
        .open(format!("data/{}", file_name(chunk)).as_ref(), Access::Write)
        .unwrap();
    file.set_size(0).unwrap();
    file.write_at(0, bytes).unwrap();
}

fn stored(folder: &Arc<dyn Folder>, chunk: u64) -> Vec<u8> {
    let file = folder
        .open(format!("data/{}", file_name(chunk)).as_ref(), Access::Read)
        .unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_file_that_another_tool_overwrites_is_read_again() {
    let content = numbers(1, ROWS);
    let local = std::env::temp_dir().join(format!("holdall-cached-{}", std::process::id()));
    std::fs::create_dir_all(&local).unwrap();
    let (disk, local_folder) = (
        SimDisk::default(),
        crate::io::file::folder(local.as_os_str(), false).unwrap(),
    );
    for (folder, is_local) in [(disk.folder(), false), (local_folder, true)] {
        for sum in [0, 2] {
            drop(new(
                &folder,
                Format::Bcolz,
                &options().with(Opt::Checksum, sum).unwrap(),
                &content,
            ));
            let a = if is_local {
                open::open(local.as_os_str(), Mode::Read, &options())
            } else {
                open::open_in(&folder, Mode::Read, &options())
            };
            let a = a.unwrap();
            let rows = |chunk: u64, n: u64| {
                content[(chunk * CHUNK + 50) as usize * 8..][..n as usize * 8].to_vec()
            };
            let now = |n: u64| some(&a, 2 * CHUNK + 50, n);
            for n in [10, 10, 10, 3000, 10] {
                assert!(now(n).unwrap() == rows(2, n));
            }
            let (second, third) = (stored(&folder, 2), stored(&folder, 3));
            overwrite(&folder, 2, &third);
            for n in [10, 10, 3000, 10] {
                assert!(now(n).unwrap() == rows(3, n), "{n} rows");
            }
            // a chunk with a checksum never returns bytes that do not match it
            let mut damaged = second.clone();
            *damaged.iter_mut().nth_back(9).unwrap() ^= 4;
            overwrite(&folder, 2, &damaged);
            for n in [10, 10, 3000] {
                assert!(
                    sum == 0 || now(n).unwrap_err().status == Status::Checksum,
                    "{n} rows"
                );
            }
            overwrite(&folder, 2, &second[..second.len() / 2]);
            assert_eq!(now(10).unwrap_err().status, Status::Format);
            overwrite(&folder, 2, &second);
            assert!(now(10).unwrap() == rows(2, 10));
            for name in ["data/", "meta/", ""] {
                for file in folder.list(name.trim_end_matches('/').as_ref()).unwrap() {
                    let _ = folder.remove_if_there(format!("{name}{}", file.display()).as_ref());
                }
            }
        }
    }
    std::fs::remove_dir_all(&local).unwrap();
}

#[test]
fn many_threads_read_the_same_content() {
    let content = numbers(5, ROWS);
    for sum in [0, 2] {
        let disk = SimDisk::default();
        drop(new(
            &disk.folder(),
            Format::Bcolz,
            &options().with(Opt::Checksum, sum).unwrap(),
            &content,
        ));
        let a = open::open_in(&disk.folder(), Mode::Read, &options()).unwrap();
        std::thread::scope(|s| {
            for i in 0..8 {
                let (a, content) = (&a, &content);
                s.spawn(move || {
                    let mut rng = Rng(i * 2 + 1);
                    (0..20).for_each(|_| check_reads(a, content, &mut rng));
                });
            }
        });
    }
}

#[test]
fn the_blocks_of_a_chunk_are_verified_one_by_one() {
    let content = numbers(5, ROWS);
    for format in [Format::Bcolz, Format::Blz, Format::BlzRfc] {
        let disk = SimDisk::default();
        let options = options().with(Opt::BlockBytes, 4 << 10).unwrap();
        drop(new(&disk.folder(), format, &options, &content));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let folder: Arc<dyn Folder> = Arc::new(Counting(disk.folder(), calls.clone()));
        let a = open::open_in(&folder, Mode::Read, &options).unwrap();
        // the first read of a handle also reads what all chunks share
        some(&a, 0, 1).unwrap();
        for block in [0, 3, 4] {
            calls.lock().unwrap().clear();
            let row = CHUNK + block * 512 + 7;
            assert_eq!(some(&a, row, 2).unwrap(), content[row as usize * 8..][..16]);
            let read: usize = calls.lock().unwrap().iter().sum();
            assert!(read < 8_000, "{format:?}, block {block}: {read} bytes");
        }
        let files = disk.contents();
        let mark = |file: &[u8]| file.windows(8).position(|bytes| bytes == b"hldblock");
        let (name, mark) = files
            .iter()
            .find_map(|(name, file)| Some((name, mark(file)?)))
            .unwrap();
        for (at, corrupt) in [(mark + 10, 0..1), (mark - 5, 0..8), (mark - 9, 0..8)] {
            let mut files = files.clone();
            files.get_mut(name).unwrap()[at] ^= 16;
            let a = open::open_in(&SimDisk::with_files(&files).folder(), Mode::Read, &options);
            let failed = (0..8).filter(|block| {
                let mut rows = [0; 16];
                a.as_ref()
                    .unwrap()
                    .read(&[block * 512 + 7], &[2], None, &mut rows, None)
                    .is_err_and(|e| e.status == Status::Checksum)
            });
            assert!(failed.eq(corrupt), "{format:?}, {at}");
        }
    }
}
