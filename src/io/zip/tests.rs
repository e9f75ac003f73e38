//! Tests of zip archives, which a builder writes field by field.

use super::*;
use crate::checksum::crc32;
use crate::error::Status;
use crate::io::memory::MemoryFolder;

/// A member to be written.
#[derive(Clone)]
struct New {
    name: Vec<u8>,
    content: Vec<u8>,
    method: u16,
    flags: u16,
    /// The name in the local header, if it is another one.
    local_name: Option<Vec<u8>>,
    /// Added to the offset, and to the size, in the directory.
    shift: (u32, u32),
    /// Whether the numbers of the directory are in a zip64 field.
    zip64: bool,
}

impl New {
    fn of(name: &str, content: &[u8]) -> New {
        New {
            name: name.into(),
            content: content.into(),
            method: 0,
            flags: if name.is_ascii() { 0 } else { 1 << 11 },
            local_name: None,
            shift: (0, 0),
            zip64: false,
        }
    }
}

/// How an archive ends.
#[derive(Clone, Default)]
struct Ending {
    comment: Vec<u8>,
    zip64: bool,
    /// Added to the number of members, to the length of the directory and to its offset.
    shift: (u16, u32, u32),
    disk: u16,
}

fn put(out: &mut Vec<u8>, numbers: &[(u64, usize)]) {
    for (number, n) in numbers {
        out.extend_from_slice(&number.to_le_bytes()[..*n]);
    }
}

fn written(members: &[New], ending: &Ending) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for m in members {
        let (at, n, crc) = (out.len() as u64, m.content.len() as u64, crc32(&m.content));
        let name = m.local_name.as_ref().unwrap_or(&m.name);
        out.extend_from_slice(b"PK\x03\x04");
        put(
            &mut out,
            &[(20, 2), (m.flags.into(), 2), (m.method.into(), 2), (0, 4)],
        );
        put(
            &mut out,
            &[
                (crc.into(), 4),
                (n, 4),
                (n, 4),
                (name.len() as u64, 2),
                (3, 2),
            ],
        );
        out.extend_from_slice(name);
        out.extend_from_slice(b"xtr");
        out.extend_from_slice(&m.content);
        let at = at + u64::from(m.shift.0);
        let size = n + u64::from(m.shift.1);
        let mut extra = vec![9, 9, 0, 0];
        let mut fields = [size, size, at];
        if m.zip64 {
            put(
                &mut extra,
                &[(1, 2), (24, 2), (size, 8), (size, 8), (at, 8)],
            );
            fields = [u32::MAX.into(); 3];
        }
        directory.extend_from_slice(b"PK\x01\x02");
        put(
            &mut directory,
            &[(20, 2), (20, 2), (m.flags.into(), 2), (m.method.into(), 2)],
        );
        put(
            &mut directory,
            &[(0, 4), (crc.into(), 4), (fields[0], 4), (fields[1], 4)],
        );
        put(
            &mut directory,
            &[
                (m.name.len() as u64, 2),
                (extra.len() as u64, 2),
                (1, 2),
                (0, 8),
            ],
        );
        put(&mut directory, &[(fields[2], 4)]);
        directory.extend_from_slice(&m.name);
        directory.extend_from_slice(&extra);
        directory.push(b'c');
    }
    let at = out.len() as u64 + u64::from(ending.shift.2);
    let bytes = directory.len() as u64 + u64::from(ending.shift.1);
    let count = members.len() as u64 + u64::from(ending.shift.0);
    out.extend_from_slice(&directory);
    let mut fields = [count, bytes, at];
    if ending.zip64 {
        let end64_at = out.len() as u64;
        out.extend_from_slice(b"PK\x06\x06");
        put(
            &mut out,
            &[(44, 8), (45, 2), (45, 2), (ending.disk.into(), 4), (0, 4)],
        );
        put(&mut out, &[(count, 8), (count, 8), (bytes, 8), (at, 8)]);
        out.extend_from_slice(b"PK\x06\x07");
        put(&mut out, &[(0, 4), (end64_at, 8), (1, 4)]);
        fields = [u16::MAX.into(), u32::MAX.into(), u32::MAX.into()];
    }
    out.extend_from_slice(b"PK\x05\x06");
    put(
        &mut out,
        &[
            (ending.disk.into(), 2),
            (0, 2),
            (fields[0], 2),
            (fields[0], 2),
        ],
    );
    put(
        &mut out,
        &[
            (fields[1], 4),
            (fields[2], 4),
            (ending.comment.len() as u64, 2),
        ],
    );
    out.extend_from_slice(&ending.comment);
    out
}

fn open(bytes: &[u8]) -> Result<ZipFolder> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.to_vec()));
    ZipFolder::open(&folder, OsStr::new(""))
}

fn content(folder: &dyn Folder, name: &str) -> Result<Vec<u8>> {
    let file = folder.open(OsStr::new(name), Access::Read)?;
    let mut all = vec![0; file.size()? as usize];
    file.read_exact_at(0, &mut all)?;
    Ok(all)
}

fn sample() -> Vec<New> {
    vec![
        New::of("b/a", b"first"),
        New::of("a", b""),
        New::of("b/größe", b"second"),
        New::of("b.x", b"third"),
        New::of("empty/", b""),
    ]
}

#[test]
fn members_are_read_in_place() {
    let comment = Ending {
        comment: b"PK\x05\x06 in a comment".to_vec(),
        ..Ending::default()
    };
    let zip64 = Ending {
        zip64: true,
        ..Ending::default()
    };
    let wide: Vec<New> = sample()
        .into_iter()
        .map(|m| New { zip64: true, ..m })
        .collect();
    for (members, ending) in [
        (sample(), Ending::default()),
        (sample(), comment),
        (sample(), zip64.clone()),
        (wide, zip64),
    ] {
        let alone = written(&members, &ending);
        // other content may precede an archive
        for bytes in [alone.clone(), [b"before".to_vec(), alone].concat()] {
            let zip = open(&bytes).unwrap();
            assert_eq!(
                zip.names().collect::<Vec<_>>(),
                ["a", "b.x", "b/a", "b/größe"]
            );
            for member in members.iter().filter(|m| !m.name.ends_with(b"/")) {
                let name = std::str::from_utf8(&member.name).unwrap();
                assert_eq!(content(&zip, name).unwrap(), member.content, "{name}");
                zip.verify(name).unwrap();
            }
            assert_eq!(zip.list(OsStr::new("")).unwrap(), ["a", "b", "b.x"]);
            assert_eq!(zip.list(OsStr::new("b")).unwrap(), ["a", "größe"]);
            assert!(
                !zip.exists(OsStr::new("b")).unwrap() && zip.exists(OsStr::new("b/a")).unwrap()
            );
        }
    }
    let e = content(&open(&written(&sample(), &Ending::default())).unwrap(), "b").unwrap_err();
    assert_eq!(
        (e.status, e.message.contains("(memory)/b:")),
        (Status::Missing, true),
        "{e}"
    );
}

/// The status and the message of opening an archive and reading all its members.
fn refused(members: &[New], ending: &Ending) -> (Status, String) {
    let all = open(&written(members, ending)).and_then(|zip| {
        zip.names()
            .try_for_each(|name| content(&zip, name).map(|_| ()))
    });
    let e = all.expect_err("an error");
    (e.status, e.message)
}

#[test]
fn contradictions_are_refused() {
    let with = |change: &dyn Fn(&mut Vec<New>)| {
        let mut members = sample();
        change(&mut members);
        refused(&members, &Ending::default())
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<New>);
    let cases: [(Status, &str, Change); 13] = [
        (Status::Format, "two members", &|m| {
            m.push(New::of("a", b"again"))
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"../a".to_vec()
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"b/../../a".to_vec()
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"/etc/passwd".to_vec()
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"b\\a".to_vec()
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"b//a".to_vec()
        }),
        (Status::Format, "no path inside", &|m| {
            m[0].name = b"".to_vec()
        }),
        (Status::Format, "not marked as UTF-8", &|m| m[2].flags = 0),
        (Status::Format, "an end before", &|m| m[0].shift.1 = 8),
        (Status::Format, "no member begins", &|m| m[3].shift.0 = 1),
        (Status::Format, "another name", &|m| {
            m[0].local_name = Some(b"b/b".to_vec())
        }),
        (Status::Unsupported, "compressed", &|m| m[0].method = 8),
        (Status::Unsupported, "encrypted", &|m| m[0].flags = 1),
    ];
    for (status, says, change) in cases {
        let (found, message) = with(change);
        assert!(
            found == status && message.contains(says),
            "{says}: {found:?} {message}"
        );
    }
    // one member inside of another
    let mut members = sample();
    members[0].content = written(&[New::of("inner", b"hidden")], &Ending::default());
    members[2].shift.0 = 0u32.wrapping_sub(members[0].content.len() as u32);
    assert_eq!(refused(&members, &Ending::default()).0, Status::Format);
}

#[test]
fn an_end_record_that_lies_is_refused() {
    type Change<'a> = &'a dyn Fn(&mut Ending);
    let cases: [(Status, &str, Change); 6] = [
        (Status::Format, "truncated", &|e| e.shift.0 = 1),
        (Status::Format, "fewer", &|e| e.shift.0 = u16::MAX),
        (Status::Format, "central directory", &|e| {
            e.shift.1 = 1 << 20
        }),
        (Status::Format, "smaller offset", &|e| e.shift.2 = 1),
        (Status::Unsupported, "several parts", &|e| e.disk = 1),
        (Status::Format, "space for", &|e| e.shift.0 = 1000),
    ];
    for (status, says, change) in cases {
        let mut ending = Ending::default();
        change(&mut ending);
        let (found, message) = refused(&sample(), &ending);
        assert!(
            found == status && message.contains(says),
            "{says}: {found:?} {message}"
        );
    }
}

/// Whatever byte is changed, and wherever the file ends: an error, or other names, but no other
/// content under a checksum, no panic and no read outside of the file.
#[test]
fn flips_and_truncations() {
    let zip64 = Ending {
        zip64: true,
        ..Ending::default()
    };
    for bytes in [
        written(&sample(), &Ending::default()),
        written(&sample(), &zip64),
    ] {
        let read = |bytes: &[u8]| -> Result<Vec<Vec<u8>>> {
            let zip = open(bytes)?;
            let all = zip
                .names()
                .map(|name| zip.verify(name).and_then(|()| content(&zip, name)));
            all.collect()
        };
        let right = read(&bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                if let Ok(found) = read(&flipped) {
                    assert!(
                        found.iter().all(|content| right.contains(content)),
                        "byte {at}"
                    );
                }
            }
            assert!(read(&bytes[..at]).is_err(), "{at} bytes");
        }
    }
}

/// What the writer writes is read again, with and without zip64 fields.
#[test]
fn written_archives_are_read() {
    use crate::io::memory_files::MemoryFiles;
    let folder: Arc<dyn Folder> = Arc::new(MemoryFiles::default());
    let contents = [("a.b2nd", 0), ("größe/b.b2f", 70_000), ("z/y/x.b2nd", 9)];
    for limit in [u64::from(u32::MAX), 70_000, 1000, 9, 1] {
        let file = folder.open(OsStr::new("x.zip"), Access::Create).unwrap();
        let mut archive = ZipWriter::new(&*file).with_limit(limit);
        for (name, n) in contents {
            let content: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
            let member = MemoryFolder::new(content);
            let member = member.open(OsStr::new(""), Access::Read).unwrap();
            archive.add(name, &*member).unwrap();
        }
        archive.finish().unwrap();
        let zip = ZipFolder::open(&folder, OsStr::new("x.zip")).unwrap();
        assert_eq!(
            zip.names().collect::<Vec<_>>(),
            contents.map(|(name, _)| name)
        );
        for (name, n) in contents {
            zip.verify(name).unwrap();
            let member = zip.open(OsStr::new(name), Access::Read).unwrap();
            assert_eq!(member.size().unwrap(), n, "{name}, limit {limit}");
        }
    }
}
