//! The metadata of a Bloscpack file: the user's JSON, as v3 and as the older layout store it.
//!
//! v3 has a section: 32 bytes of head, the JSON (as it is, or in zlib's format), room to grow, and
//! a digest of the stored bytes behind that room. The older layout has nothing but the JSON, or its
//! zlib form. The JSON is text to this module; it is not looked into.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::checksum::Sum;
use crate::error::{Result, fail};
use crate::io::File;
use crate::json::Value;
use crate::zlib::{self, CompressionLvl, DecompressionError};

/// Metadata stand behind a header of this size, always.
const AT: u64 = 32;
/// Bytes of a section's head.
const HEAD: usize = 32;
const MAGIC: &[u8; 8] = b"JSON\0\0\0\0";
/// As the documentation of the format has it; its own tool writes the other one.
const MAGIC_WITH_SPACES: &[u8; 8] = b"JSON    ";
const CODEC_NONE: u8 = 0;
const CODEC_ZLIB: u8 = 1;
/// What zlib's format begins with, and JSON cannot.
const ZLIB: u8 = 0x78;
/// The room that v3 keeps where nobody says otherwise, in sizes of the JSON.
const ROOM: usize = 10;
/// zlib's format packs 1032 bytes into one at best.
const BEST_RATIO: u64 = 1032;
/// The level that Bloscpack uses.
pub const DEFAULT_LEVEL: u8 = 6;
/// The checksum that Bloscpack uses.
pub const DEFAULT_SUM: Sum = Sum::Adler32;

/// Where the metadata is, and how it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaPlace {
    /// Bytes kept for the stored form.
    pub room: u32,
    /// Bytes in use.
    pub stored: u32,
    /// Layout.
    pub form: Form,
}

/// Layout of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// That of the papers: nothing but the JSON.
    Rfc {
        /// In zlib's format.
        packed: bool,
    },
    /// That of v3.
    Section(Section),
}

/// The fields of a v3 section that are not sizes of stored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Options, all without a meaning.
    pub options: u8,
    /// The digest's kind.
    pub sum: Sum,
    /// How the JSON is stored: 0 as it is, 1 in zlib's format.
    pub codec: u8,
    /// Level of compression; 0 for none.
    pub level: u8,
    /// Bytes of the JSON.
    pub size: u32,
    /// The user's.
    pub user_codec: [u8; 8],
}

impl Section {
    /// Does a v3 section begin here? Nothing else can look like one: JSON cannot begin with its
    /// magic.
    pub fn is_here(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_WITH_SPACES)
    }
}

impl MetaPlace {
    /// From the head of a v3 section.
    pub fn of_section(head: &[u8; HEAD]) -> Result<MetaPlace> {
        let [
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            options,
            checksum,
            codec,
            level,
            sizes @ ..,
        ] = *head;
        let [
            a0,
            a1,
            a2,
            a3,
            b0,
            b1,
            b2,
            b3,
            c0,
            c1,
            c2,
            c3,
            user_codec @ ..,
        ] = sizes;
        let (room, stored) = (
            u32::from_le_bytes([b0, b1, b2, b3]),
            u32::from_le_bytes([c0, c1, c2, c3]),
        );
        if stored > room {
            return Err(fail!(
                Format,
                "metadata: {stored} bytes are stored in {room} (meta-comp-size, max-meta-size)"
            ));
        }
        let size = u32::from_le_bytes([a0, a1, a2, a3]);
        let section = Section {
            options,
            sum: sum(checksum)?,
            codec,
            level,
            size,
            user_codec,
        };
        Ok(MetaPlace {
            room,
            stored,
            form: Form::Section(section),
        })
    }

    /// From the header's last field in the older layout; `rest` is what comes behind the header.
    ///
    /// A damaged section of v3 comes here as well, so that nothing is taken for metadata that
    /// cannot be.
    pub fn of_rfc(last_field: [u8; 8], packed: bool, rest: &[u8]) -> Result<MetaPlace> {
        let [s0, s1, s2, s3, reserved @ ..] = last_field;
        let size = i32::from_le_bytes([s0, s1, s2, s3]);
        match u32::try_from(size) {
            Ok(size) if size > 0 && reserved == [0; 4] && begins(rest, packed) => Ok(MetaPlace {
                room: size,
                stored: size,
                form: Form::Rfc { packed },
            }),
            _ => Err(fail!(
                Format,
                "metadata were expected behind the header: neither a section that begins with JSON nor {size} bytes of JSON are there"
            )),
        }
    }

    /// Bytes that the metadata take in the file, all in all.
    pub fn size(&self) -> u64 {
        u64::from(self.room)
            + match &self.form {
                Form::Rfc { .. } => 0,
                Form::Section(s) => (HEAD + s.sum.size()) as u64,
            }
    }

    /// Where the stored bytes begin.
    pub fn stored_at(&self) -> u64 {
        match &self.form {
            Form::Rfc { .. } => AT,
            Form::Section(_) => AT + HEAD as u64,
        }
    }

    /// The JSON, from `file`; memory for at most `limit` bytes.
    pub fn read(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        self.load(file, limit).map_err(|e| e.within(file.name()))
    }

    fn load(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        let stored = self.stored_bytes(file, limit)?;
        let json = match &self.form {
            Form::Rfc { packed: false } => stored,
            Form::Rfc { packed: true } => unpack(&stored, limit)?,
            Form::Section(section) => section.open(stored, limit)?,
        };
        match std::str::from_utf8(&json) {
            Ok(_) => Ok(json),
            Err(e) => Err(fail!(
                Format,
                "metadata: JSON was expected, this is no text: {e}"
            )),
        }
    }

    /// What is stored, its digest checked.
    fn stored_bytes(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        let mut stored = alloc::zeroed(alloc::allow(self.stored.into(), limit, "metadata")?)?;
        file.read_exact_at(self.stored_at(), &mut stored)?;
        if let Form::Section(section) = &self.form {
            self.check(file, section, &stored)?;
        }
        Ok(stored)
    }

    fn check(&self, file: &dyn File, section: &Section, stored: &[u8]) -> Result<()> {
        let mut digest = [0; 64];
        let (digest, _) = digest
            .split_at_mut_checked(section.sum.size())
            .unwrap_or_default();
        file.read_exact_at(self.stored_at() + u64::from(self.room), digest)?;
        if section.sum.of(stored) == digest {
            return Ok(());
        }
        Err(fail!(
            Checksum,
            "metadata: the {} of the {} stored bytes is another one than stored",
            section.sum,
            stored.len()
        ))
    }

    /// The bytes of new metadata at the same place, with the same room, digest and codec; `None`
    /// where they do not fit in.
    pub fn rewrite(&self, json: &[u8]) -> Result<Option<(MetaPlace, Vec<u8>)>> {
        match &self.form {
            Form::Section(s) => encode_section(json, self.room, s),
            Form::Rfc { packed: true } => {
                let (place, bytes) = encode_rfc(json, true)?;
                Ok((place.room == self.room).then_some((place, bytes)))
            }
            Form::Rfc { packed: false } if json.len() > self.room as usize => Ok(None),
            Form::Rfc { packed: false } => {
                let mut bytes = json.to_vec();
                // JSON may end in spaces
                bytes.resize(self.room as usize, b' ');
                Ok(Some((self.clone(), bytes)))
            }
        }
    }
}

impl Section {
    /// A section as Bloscpack writes it: digest and level are said, all else is as usual.
    pub fn new(sum: Sum, level: u8) -> Section {
        Section {
            options: 0,
            sum,
            codec: CODEC_ZLIB,
            level,
            size: 0,
            user_codec: [0; 8],
        }
    }

    /// The JSON in the stored bytes.
    fn open(&self, stored: Vec<u8>, limit: u64) -> Result<Vec<u8>> {
        let wrong = |n: usize| {
            fail!(
                Format,
                "metadata: {} bytes of JSON were expected, there are {n}",
                self.size
            )
        };
        match self.codec {
            CODEC_NONE if stored.len() as u64 == u64::from(self.size) => Ok(stored),
            CODEC_NONE => Err(wrong(stored.len())),
            CODEC_ZLIB => {
                let most = (stored.len() as u64).saturating_mul(BEST_RATIO);
                if u64::from(self.size) > most {
                    return Err(fail!(
                        Format,
                        "metadata: {} bytes cannot come from {} packed ones",
                        self.size,
                        stored.len()
                    ));
                }
                let mut json = alloc::zeroed(alloc::allow(self.size.into(), limit, "metadata")?)?;
                match zlib::decompressor().zlib_decompress(&stored, &mut json) {
                    Ok(n) if n == json.len() => Ok(json),
                    Ok(n) => Err(wrong(n)),
                    Err(e) => Err(damaged(e)),
                }
            }
            id => Err(fail!(
                Codec,
                "metadata: codec {id}: 0 (none) and 1 (zlib) are known"
            )),
        }
    }

    /// The head, for `stored` bytes in `room`.
    fn head(&self, room: u32, stored: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD);
        out.extend(MAGIC);
        out.extend([self.options, self.sum as u8, self.codec, self.level]);
        out.extend(
            [self.size, room, stored]
                .into_iter()
                .flat_map(u32::to_le_bytes),
        );
        out.extend(self.user_codec);
        out
    }
}

/// Can metadata of the older layout begin like this?
pub(super) fn begins(bytes: &[u8], packed: bool) -> bool {
    match bytes.first() {
        Some(&ZLIB) => packed,
        Some(b) => {
            !packed && (b.is_ascii_whitespace() || b.is_ascii_digit() || b"{[\"-tfnNI".contains(b))
        }
        None => false,
    }
}

/// The head that a damaged one was, if its room and its digest take so many bytes: the digest fits,
/// and what is stored is JSON.
pub(super) fn other_head(
    file: &dyn File,
    damaged: &[u8; HEAD],
    bytes: u32,
    limit: u64,
) -> Option<[u8; HEAD]> {
    let [
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        options,
        _,
        _,
        level,
        n0,
        n1,
        n2,
        n3,
        r0,
        r1,
        r2,
        r3,
        s0,
        s1,
        s2,
        s3,
        user_codec @ ..,
    ] = *damaged;
    let [size, said, stored] =
        [[n0, n1, n2, n3], [r0, r1, r2, r3], [s0, s1, s2, s3]].map(u32::from_le_bytes);
    for sum in (1..=8).chain([0]).filter_map(|n| Sum::from_number(n).ok()) {
        let Some(room) = bytes.checked_sub(sum.size() as u32) else {
            continue;
        };
        // without a digest nothing else tells how long the room is
        for stored in [stored, size]
            .into_iter()
            .filter(|n| *n <= room && (sum.size() > 0 || room == said))
        {
            let mut section = Section {
                options,
                sum,
                codec: CODEC_NONE,
                level,
                size: stored,
                user_codec,
            };
            let place = MetaPlace {
                room,
                stored,
                form: Form::Section(section.clone()),
            };
            let Ok(mut json) = place.stored_bytes(file, limit) else {
                continue;
            };
            if json.first() == Some(&ZLIB) {
                let Ok(unpacked) = unpack(&json, limit) else {
                    continue;
                };
                (json, section.codec, section.size) = (unpacked, CODEC_ZLIB, 0);
                section.size = u32::try_from(json.len()).ok()?;
            }
            if Value::parse(&json).is_ok() {
                return section.head(room, stored).first_chunk().copied();
            }
        }
    }
    None
}

/// The head of a section that holds nothing in so many bytes.
pub(super) fn empty_head(bytes: u32) -> Option<[u8; HEAD]> {
    Section {
        codec: CODEC_NONE,
        ..Section::new(Sum::None, 0)
    }
    .head(bytes, 0)
    .first_chunk()
    .copied()
}

/// The whole section for v3: head, JSON, room to grow (10 times the JSON, unless it is said),
/// digest.
pub fn section(json: &[u8], room: Option<u32>, form: &Section) -> Result<(MetaPlace, Vec<u8>)> {
    let usual = || u32::try_from(json.len().saturating_mul(ROOM)).unwrap_or(u32::MAX);
    let room = room.unwrap_or_else(usual);
    encode_section(json, room, form)?.ok_or_else(|| {
        fail!(
            Argument,
            "metadata: {} bytes of JSON do not fit into the {room} that are to be kept for them",
            json.len()
        )
    })
}

fn encode_section(json: &[u8], room: u32, form: &Section) -> Result<Option<(MetaPlace, Vec<u8>)>> {
    let size = u32::try_from(json.len()).map_err(|_| too_long(json))?;
    let packed = match form.level {
        0 if size <= room => None,
        0 => Some(pack(json, DEFAULT_LEVEL)?),
        // whoever wrote it
        level => Some(pack(json, level.min(9))?),
    };
    let packed = packed.filter(|p| p.len() < json.len());
    let codec = if packed.is_some() {
        CODEC_ZLIB
    } else {
        CODEC_NONE
    };
    let bytes = packed.as_deref().unwrap_or(json);
    let stored = u32::try_from(bytes.len()).map_err(|_| too_long(json))?;
    if stored > room {
        return Ok(None);
    }
    let section = Section {
        codec,
        size,
        ..form.clone()
    };
    let digest = section.sum.of(bytes);
    let mut out = section.head(room, stored);
    alloc::reserve(&mut out, room as usize + digest.len())?;
    out.extend(bytes);
    out.resize(HEAD + room as usize, 0);
    out.extend(digest);
    Ok(Some((
        MetaPlace {
            room,
            stored,
            form: Form::Section(section),
        },
        out,
    )))
}

/// The metadata of the older layout.
pub fn encode_rfc(json: &[u8], packed: bool) -> Result<(MetaPlace, Vec<u8>)> {
    let bytes = if packed {
        pack(json, DEFAULT_LEVEL)?
    } else {
        json.to_vec()
    };
    let room = i32::try_from(bytes.len())
        .map_err(|_| too_long(json))?
        .unsigned_abs();
    if room == 0 {
        return Err(fail!(Argument, "metadata: JSON has one byte at least"));
    }
    Ok((
        MetaPlace {
            room,
            stored: room,
            form: Form::Rfc { packed },
        },
        bytes,
    ))
}

/// The checksum of this number in the format.
pub(super) fn sum(number: u8) -> Result<Sum> {
    Sum::from_number(number.into())
        .map_err(|_| fail!(Unsupported, "checksum {number}: 0 to 8 are known"))
}

fn too_long(json: &[u8]) -> crate::error::Error {
    fail!(
        Argument,
        "metadata: {} bytes of JSON are more than the format can hold",
        json.len()
    )
}

fn damaged(e: DecompressionError) -> crate::error::Error {
    fail!(
        Format,
        "metadata: not in zlib's format, or of another length than stored ({e})"
    )
}

fn pack(json: &[u8], level: u8) -> Result<Vec<u8>> {
    let level = CompressionLvl::new(level.into())
        .map_err(|_| fail!(Argument, "metadata: level {level}: 0 to 9 are known"))?;
    let mut compressor = zlib::compressor(level);
    let mut out = alloc::zeroed(compressor.zlib_compress_bound(json.len()))?;
    let n = compressor
        .zlib_compress(json, &mut out)
        .map_err(|e| fail!(Memory, "metadata: zlib: {e}"))?;
    out.truncate(n);
    Ok(out)
}

/// Bytes in zlib's format whose unpacked size nobody stored.
fn unpack(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let most = (stored.len() as u64).saturating_mul(BEST_RATIO);
    let mut room = (stored.len() as u64).saturating_mul(8);
    loop {
        let mut out = alloc::zeroed(alloc::allow(room, limit, "metadata")?)?;
        match zlib::decompressor().zlib_decompress(stored, &mut out) {
            Ok(n) => {
                out.truncate(n);
                return Ok(out);
            }
            Err(DecompressionError::InsufficientSpace) if room < most => {
                room = room.saturating_mul(8).min(most);
            }
            Err(e) => return Err(damaged(e)),
        }
    }
}
