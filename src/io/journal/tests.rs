//! Files of a folder of the system, and the journal that a writer has left beside one of them.

use super::change::{mark_both, swaps};
use super::entries::{SWAP, encode};
use super::*;
use crate::checksum::crc32;
use crate::io::{Access, locate};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder that goes when the test is over.
struct Here(PathBuf);

impl Here {
    fn new(name: &str) -> Here {
        let path = env::temp_dir().join(format!("holdall {} {name}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Here(path)
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

impl Drop for Here {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of 100 bytes whose last ten were going to become thirty others, and did; the journal is
/// there.
fn cut_off(here: &Here) {
    fs::write(here.0.join("x"), [1; 100]).unwrap();
    let c = here.container();
    let file = c.folder.open(&c.main, Access::Write).unwrap();
    let new = vec![Piece {
        at: 90,
        bytes: vec![2; 30],
    }];
    let change = Change {
        name: c.main.clone(),
        file: Some(&*file),
        over: vec![90..u64::MAX],
        lengths: 100..=120,
        new,
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

fn settled(here: &Here) {
    settle(&here.container(), false).unwrap();
    assert_eq!(here.read(), [1; 100]);
    assert!(!here.journal().exists());
}

fn refused(here: &Here, content: &[u8]) {
    for _ in 0..2 {
        let e = settle(&here.container(), false).unwrap_err();
        assert_eq!(e.status, Status::Format, "{e}");
        assert!(e.message.contains("x.holdall-journal"), "{e}");
        let read = Snapshot::read(&here.container(), |s| {
            s.open(OsStr::new("x"), Access::Read).map(|_| ())
        });
        assert_eq!(read.unwrap_err().status, Status::Format);
        assert_eq!(here.read(), content);
    }
    // once the journal is gone, the file is what it is
    fs::remove_file(here.journal()).unwrap();
    settle(&here.container(), false).unwrap();
    assert_eq!(here.read(), content);
}

#[test]
fn what_was_cut_off_is_put_back() {
    let here = Here::new("put back");
    cut_off(&here);
    settled(&here);
    // also where it did not come so far
    for (size, written) in [(100, 0), (120, 0), (120, 10), (120, 29), (107, 0)] {
        cut_off(&here);
        let mut bytes = vec![1; 100];
        bytes.resize(size, 0);
        bytes.iter_mut().skip(90).take(written).for_each(|b| *b = 2);
        fs::write(here.0.join("x"), &bytes).unwrap();
        settled(&here);
    }
}

/// As holdall 0.1.0 has left it.
#[test]
fn a_journal_of_version_1_is_settled() {
    let here = Here::new("version 1");
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
    settled(&here);
}

#[test]
fn a_copy_with_its_journal_is_as_good() {
    let (here, there) = (Here::new("original"), Here::new("copy"));
    cut_off(&here);
    for name in ["x", "x.holdall-journal"] {
        copy(&here.0.join(name), &there.0.join(name));
    }
    settled(&there);
    settled(&here);
}

#[test]
fn a_newer_file_is_not_taken_for_what_was_cut_off() {
    for (name, mut bytes) in [
        ("longer", vec![2; 121]),
        ("other bytes", vec![3; 120]),
        ("as long as the old one", vec![3; 100]),
        ("shorter", vec![1; 99]),
    ] {
        bytes.iter_mut().take(90).for_each(|b| *b = 1);
        let here = Here::new(name);
        cut_off(&here);
        fs::write(here.0.join("x"), &bytes).unwrap();
        refused(&here, &bytes);
    }
}

/// Also one with the bytes that the writer was going to write: somebody has made it elsewhere.
#[test]
fn a_file_that_took_its_place_is_another_one() {
    let here = Here::new("moved");
    cut_off(&here);
    let file = fs::File::open(here.0.join("x")).unwrap();
    if file.metadata().unwrap().created().is_err() {
        return; // nothing tells it here
    }
    copy(&here.0.join("x"), &here.0.join("y"));
    fs::rename(here.0.join("y"), here.0.join("x")).unwrap();
    let bytes = here.read();
    refused(&here, &bytes);
}

/// Two files are swapped as one, and one of the names has another file by then.
#[test]
fn a_swap_replaces_the_files_that_it_was_made_for() {
    let prefixes: &[&str] = &["", "limits."];
    for (name, is_there, goes) in [
        ("x", "old", true),
        ("x", "new", true),
        ("x", "newer", false),
        ("limits.x", "newer", false),
    ] {
        let here = Here::new(&format!("swap {name} {is_there}"));
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
            .try_for_each(|e| mark_both(&c, e))
            .unwrap();
        fs::write(here.journal(), encode(SWAP, 1, 0, &entries)).unwrap();
        fs::write(here.0.join(name), is_there).unwrap();
        let done = settle(&c, false);
        assert_eq!(done.is_ok(), goes, "{name} {is_there}");
        let content = fs::read(here.0.join(name)).unwrap();
        assert_eq!(
            content,
            if goes {
                &b"new"[..]
            } else {
                is_there.as_bytes()
            },
            "{name} {is_there}"
        );
        if !goes {
            assert!(done.unwrap_err().message.contains(name));
            for prefix in prefixes {
                assert_eq!(fs::read(here.0.join(c.new_name(prefix))).unwrap(), b"new");
            }
        }
    }
}
