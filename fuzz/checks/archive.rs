//! Any bytes as a zip archive: members that are stored as they are lie in it, one after the other.
use super::refused::refused;
use holdall::io::zip::ZipFolder;
use holdall::io::{Access, Folder};
use std::ffi::OsStr;
use std::sync::Arc;

/// `folder` holds these bytes.
pub fn members(folder: &Arc<dyn Folder>, bytes: &[u8]) {
    let Ok(zip) = ZipFolder::open(folder, OsStr::new("")).inspect_err(refused) else {
        return;
    };
    let mut ranges = Vec::new();
    for name in zip.names() {
        assert!(
            !name.split('/').any(|step| ["", ".", ".."].contains(&step)),
            "{name:?}"
        );
        let Ok(file) = zip
            .open(OsStr::new(name), Access::Read)
            .inspect_err(refused)
        else {
            continue;
        };
        let content = file.bytes().unwrap();
        let from = content.as_ptr() as usize - bytes.as_ptr() as usize;
        ranges.push(from..from + content.len());
        let _ = zip.verify(name).inspect_err(refused);
        assert!(zip.exists(OsStr::new(name)).unwrap());
    }
    ranges.sort_by_key(|range| range.start);
    let mut at = 0;
    for range in ranges {
        assert!(
            at <= range.start && range.end <= bytes.len(),
            "{at} {range:?}"
        );
        at = range.end;
    }
}
