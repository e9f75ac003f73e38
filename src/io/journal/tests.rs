//! Recovery of local files from the journal of an interrupted writer.

use super::change::{add_fingerprints, swaps};
use super::entries::{SWAP, encode};
use super::*;
use crate::checksum::crc32;
use crate::io::{Access, locate};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A temporary folder, removed when dropped.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> TestFolder {
        let path = env::temp_dir().join(format!("holdall {} {name}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        TestFolder(path)
    }
    fn container(&self) -> Container {
        let located = locate::locate(self.0.join("x").as_os_str()).unwrap();
        Container::new(&located.folder, located.name, &[""])
    }
    fn read(&self) -> Vec<u8> {
        fs::read(self.0.join("x")).unwrap()
    }
    fn journal(&self) -> PathBuf {
        self.0.join("x.holdall-journal")
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates a file of 100 bytes and a journal, then replaces its last ten bytes by thirty others,
/// without a commit.
fn interrupted_change(here: &TestFolder) {
    fs::write(here.0.join("x"), [1; 100]).unwrap();
    let c = here.container();
    let file = c.folder.open(&c.main, Access::Write).unwrap();
    let samples = vec![Sample {
        at: 90,
        bytes: vec![2; 30],
    }];
    let change = Change {
        name: c.main.clone(),
        file: Some(&*file),
        overwritten: vec![90..u64::MAX],
        lengths: 100..=120,
        samples,
    };
    let undo = Undo::begin(&c, false, &[change]).unwrap();
    file.set_size(120).unwrap();
    file.write_at(90, &[2; 30]).unwrap();
    drop(undo);
    assert!(here.journal().exists());
}

fn copy(from: &Path, to: &Path) {
    fs::write(to, fs::read(from).unwrap()).unwrap();
}

fn assert_rolled_back(here: &TestFolder) {
    recover(&here.container(), false).unwrap();
    assert_eq!(here.read(), [1; 100]);
    assert!(!here.journal().exists());
}

fn assert_refused(here: &TestFolder, content: &[u8]) {
    for _ in 0..2 {
        let e = recover(&here.container(), false).unwrap_err();
        assert_eq!(e.status, Status::Format, "{e}");
        assert!(e.message.contains("x.holdall-journal"), "{e}");
        let read = Snapshot::read(&here.container(), |s| {
            s.open(OsStr::new("x"), Access::Read).map(|_| ())
        });
        assert_eq!(read.unwrap_err().status, Status::Format);
        assert_eq!(here.read(), content);
    }
    // without the journal, the file is valid as it is
    fs::remove_file(here.journal()).unwrap();
    recover(&here.container(), false).unwrap();
    assert_eq!(here.read(), content);
}

#[test]
fn an_interrupted_change_is_rolled_back() {
    let here = TestFolder::new("put back");
    interrupted_change(&here);
    assert_rolled_back(&here);
    // also if the writer was interrupted earlier
    for (size, written) in [(100, 0), (120, 0), (120, 10), (120, 29), (107, 0)] {
        interrupted_change(&here);
        let mut bytes = vec![1; 100];
        bytes.resize(size, 0);
        bytes.iter_mut().skip(90).take(written).for_each(|b| *b = 2);
        fs::write(here.0.join("x"), &bytes).unwrap();
        assert_rolled_back(&here);
    }
}

/// A journal written by holdall 0.1.0.
#[test]
fn a_journal_of_version_1_is_rolled_back() {
    let here = TestFolder::new("version 1");
    fs::write(here.0.join("x"), [2; 120]).unwrap();
    let mut b = b"holdall journal\n\x01\0\0\0\x01\0\0\0 a nonce\x01\0\0\0\x01\0x".to_vec();
    b.extend(100u64.to_le_bytes());
    b.extend(crc32(&[]).to_le_bytes());
    for v in [0u64, 100, 83] {
        b.extend(v.to_le_bytes());
    }
    b.extend(crc32(&[1; 100]).to_le_bytes());
    b.extend(crc32(&b).to_le_bytes());
    assert_eq!(b.len(), 83);
    b.extend([1; 100]);
    fs::write(here.journal(), b).unwrap();
    assert_rolled_back(&here);
}

#[test]
fn a_copy_with_its_journal_is_rolled_back() {
    let (here, there) = (TestFolder::new("original"), TestFolder::new("copy"));
    interrupted_change(&here);
    for name in ["x", "x.holdall-journal"] {
        copy(&here.0.join(name), &there.0.join(name));
    }
    assert_rolled_back(&there);
    assert_rolled_back(&here);
}

#[test]
fn a_newer_file_is_not_rolled_back() {
    for (name, mut bytes) in [
        ("longer", vec![2; 121]),
        ("other bytes", vec![3; 120]),
        ("as long as the old one", vec![3; 100]),
        ("shorter", vec![1; 99]),
    ] {
        bytes.iter_mut().take(90).for_each(|b| *b = 1);
        let here = TestFolder::new(name);
        interrupted_change(&here);
        fs::write(here.0.join("x"), &bytes).unwrap();
        assert_refused(&here, &bytes);
    }
}

/// Even a file with the bytes that the writer was about to write is another file, created
/// elsewhere.
#[test]
fn a_replaced_file_is_not_rolled_back() {
    let here = TestFolder::new("moved");
    interrupted_change(&here);
    let file = fs::File::open(here.0.join("x")).unwrap();
    if file.metadata().unwrap().created().is_err() {
        return; // no creation time here
    }
    copy(&here.0.join("x"), &here.0.join("y"));
    fs::rename(here.0.join("y"), here.0.join("x")).unwrap();
    let bytes = here.read();
    assert_refused(&here, &bytes);
}

/// Two files are swapped in one commit, but one of the names refers to another file by then.
#[test]
fn a_swap_replaces_only_the_files_in_its_journal() {
    let prefixes: &[&str] = &["", "limits."];
    for (name, current, is_finished) in [
        ("x", "old", true),
        ("x", "new", true),
        ("x", "newer", false),
        ("limits.x", "newer", false),
    ] {
        let here = TestFolder::new(&format!("swap {name} {current}"));
        let c = Container {
            prefixes,
            ..here.container()
        };
        for prefix in prefixes {
            fs::write(here.0.join(c.name(prefix)), "old").unwrap();
            fs::write(here.0.join(c.new_name(prefix)), "new").unwrap();
        }
        let mut entries = swaps(
            &c,
            &prefixes.iter().map(|p| c.name(p)).collect::<Vec<_>>(),
            &[],
        )
        .unwrap();
        entries
            .iter_mut()
            .try_for_each(|e| add_fingerprints(&c, e))
            .unwrap();
        fs::write(here.journal(), encode(SWAP, 1, 0, &entries)).unwrap();
        fs::write(here.0.join(name), current).unwrap();
        let done = recover(&c, false);
        assert_eq!(done.is_ok(), is_finished, "{name} {current}");
        let content = fs::read(here.0.join(name)).unwrap();
        assert_eq!(
            content,
            if is_finished {
                &b"new"[..]
            } else {
                current.as_bytes()
            },
            "{name} {current}"
        );
        if !is_finished {
            assert!(done.unwrap_err().message.contains(name));
            for prefix in prefixes {
                assert_eq!(fs::read(here.0.join(c.new_name(prefix))).unwrap(), b"new");
            }
        }
    }
}

/// A reader that was opened during a swap opens its files when it needs them, also after later
/// commits have begun.
#[test]
fn a_reader_that_outlives_a_swap_reads_no_file_of_an_unfinished_commit() {
    let here = TestFolder::new("after a swap");
    let c = here.container();
    fs::write(here.0.join("x"), "old").unwrap();
    fs::write(here.0.join("x.holdall-new"), "new").unwrap();
    let mut entries = swaps(&c, std::slice::from_ref(&c.main), &[]).unwrap();
    add_fingerprints(&c, &mut entries[0]).unwrap();
    fs::write(here.journal(), encode(SWAP, 1, 0, &entries)).unwrap();
    let folder = Snapshot::read(&c, |s| s.folder()).unwrap();
    let read = || {
        let file = folder.open(&c.main, Access::Read).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(read(), b"new");
    recover(&c, false).unwrap();
    assert_eq!(read(), b"new");
    fs::write(here.0.join("x.holdall-new"), "unfinished").unwrap();
    assert_eq!(read(), b"new");
    assert!(folder.identity(&c.main).unwrap().is_some());
}
