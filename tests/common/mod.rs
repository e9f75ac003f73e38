//! The files that other programs wrote, for all tests that read them.
#![allow(dead_code, reason = "no test needs all of it")]

pub mod heap;
pub mod memory;

use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files in the source tree.
pub fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// All files, if there are more.
pub fn fixtures() -> PathBuf {
    std::env::var_os("HOLDALL_FIXTURES").map_or_else(own, PathBuf::from)
}

/// The manifest of a folder; values in Python's spelling become null.
pub fn manifest(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    serde_json::from_str(
        &text
            .replace(": Infinity", ": null")
            .replace(": NaN", ": null"),
    )
    .unwrap()
}

/// A folder of files, which is removed at the end of the test if they were extracted for it.
pub struct Files {
    folder: PathBuf,
    unpacked: bool,
}

impl Files {
    /// The files of a folder; an archive is extracted into the build folder.
    pub fn of(from: PathBuf) -> Files {
        let archive = from.join("files.tar.gz");
        if !archive.exists() {
            return Files {
                folder: from,
                unpacked: false,
            };
        }
        // tests run at the same time, in one process or in several
        static UNPACKED: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "files-{}-{}",
            std::process::id(),
            UNPACKED.fetch_add(1, Ordering::Relaxed)
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(from.join("manifest.json"), folder.join("manifest.json")).unwrap();
        let tar = std::process::Command::new("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(&folder)
            .status()
            .unwrap();
        assert!(tar.success(), "tar xzf {}", archive.display());
        Files {
            folder,
            unpacked: true,
        }
    }
}

impl Deref for Files {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.unpacked {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
