//! Conversion between the constants of the C API and the types of the engine.
//!
//! The constants of different families do not overlap, so that exchanged arguments are refused. The
//! engine has numbers of its own, most of which are stored in files.
#![forbid(unsafe_code)]

use super::array::{HOLDALL_ORDER_C, HOLDALL_ORDER_F};
use super::container::*;
use super::options::*;
use crate::blosc::Codec;
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use crate::format::{Format, Kind};
use crate::options::Opt;
use crate::superchunk::bloscpack::Mode;
use std::ffi::CStr;

const MODES: [(i32, Mode, &CStr); 4] = [
    (HOLDALL_READ, Mode::Read, c"read"),
    (HOLDALL_APPEND, Mode::Append, c"append"),
    (HOLDALL_CREATE, Mode::New, c"create"),
    (HOLDALL_REPLACE, Mode::Replace, c"replace"),
];

const KINDS: [(i32, Kind, &CStr); 5] = [
    (HOLDALL_KIND_SCHUNK, Kind::Schunk, c"schunk"),
    (HOLDALL_KIND_ARRAY, Kind::Array, c"array"),
    (HOLDALL_KIND_TABLE, Kind::Table, c"table"),
    (HOLDALL_KIND_BAG, Kind::Bag, c"bag"),
    (HOLDALL_KIND_STORE, Kind::Store, c"store"),
];

const FORMATS: [(i32, Format, &CStr); 12] = [
    (HOLDALL_FORMAT_BLOSCPACK, Format::Bloscpack, c"bloscpack"),
    (HOLDALL_FORMAT_BCOLZ, Format::Bcolz, c"bcolz"),
    (HOLDALL_FORMAT_BLZ, Format::Blz, c"blz"),
    (HOLDALL_FORMAT_BLZ_RFC, Format::BlzRfc, c"blz_rfc"),
    (HOLDALL_FORMAT_B2FRAME, Format::B2Frame, c"b2frame"),
    (HOLDALL_FORMAT_CATERVA, Format::Caterva, c"caterva"),
    (HOLDALL_FORMAT_B2ND, Format::B2nd, c"b2nd"),
    (HOLDALL_FORMAT_BAGZ, Format::Bagz, c"bagz"),
    (HOLDALL_FORMAT_B2D, Format::B2d, c"b2d"),
    (HOLDALL_FORMAT_B2Z, Format::B2z, c"b2z"),
    (HOLDALL_FORMAT_B2E, Format::B2e, c"b2e"),
    (HOLDALL_FORMAT_CTABLE, Format::CTable, c"ctable"),
];

/// Codecs with their values in [`Opt::Codec`].
const CODECS: [(i32, i64, &CStr); 8] = [
    (HOLDALL_CODEC_NONE, 0, c"none"),
    (HOLDALL_CODEC_BLOSCLZ, 1, c"blosclz"),
    (HOLDALL_CODEC_LZ4, 2, c"lz4"),
    (HOLDALL_CODEC_LZ4HC, 3, c"lz4hc"),
    (HOLDALL_CODEC_SNAPPY, 4, c"snappy"),
    (HOLDALL_CODEC_ZLIB, 5, c"zlib"),
    (HOLDALL_CODEC_ZSTD, 6, c"zstd"),
    (HOLDALL_CODEC_BY_NAME, 255, c"by_name"),
];

const CHECKSUMS: [(i32, Checksum, &CStr); 9] = [
    (HOLDALL_CHECKSUM_NONE, Checksum::None, c"none"),
    (HOLDALL_CHECKSUM_ADLER32, Checksum::Adler32, c"adler32"),
    (HOLDALL_CHECKSUM_CRC32, Checksum::Crc32, c"crc32"),
    (HOLDALL_CHECKSUM_MD5, Checksum::Md5, c"md5"),
    (HOLDALL_CHECKSUM_SHA1, Checksum::Sha1, c"sha1"),
    (HOLDALL_CHECKSUM_SHA224, Checksum::Sha224, c"sha224"),
    (HOLDALL_CHECKSUM_SHA256, Checksum::Sha256, c"sha256"),
    (HOLDALL_CHECKSUM_SHA384, Checksum::Sha384, c"sha384"),
    (HOLDALL_CHECKSUM_SHA512, Checksum::Sha512, c"sha512"),
];

/// Filters with their numbers in chunks.
const FILTERS: [(i32, u8, &CStr); 6] = [
    (HOLDALL_FILTER_NONE, 0, c"none"),
    (HOLDALL_FILTER_SHUFFLE, 1, c"shuffle"),
    (HOLDALL_FILTER_BITSHUFFLE, 2, c"bitshuffle"),
    (HOLDALL_FILTER_DELTA, 3, c"delta"),
    (HOLDALL_FILTER_BYTEDELTA, 35, c"bytedelta"),
    (HOLDALL_FILTER_TRUNC_PREC, 4, c"trunc_prec"),
];

/// Constants that only name a value of an option, or only appear in information.
const OTHERS: [(i32, &CStr); 13] = [
    (HOLDALL_CODEC_MIXED, c"mixed"),
    (HOLDALL_CHECKSUM_ZSTD, c"zstd"),
    (HOLDALL_ORDER_C, c"c"),
    (HOLDALL_ORDER_F, c"f"),
    (HOLDALL_BAG_DICTIONARY_SEPARATE, c"separate"),
    (HOLDALL_BAG_DICTIONARY_STORED, c"stored"),
    (HOLDALL_BAG_DICTIONARY_AUTO, c"auto"),
    (HOLDALL_BAG_LIMITS_TAIL, c"tail"),
    (HOLDALL_BAG_LIMITS_SEPARATE, c"separate"),
    (HOLDALL_BAG_SHARDS_CONCATENATED, c"concatenated"),
    (HOLDALL_BAG_SHARDS_INTERLEAVED, c"interleaved"),
    (HOLDALL_IO_READ, c"read"),
    (HOLDALL_IO_MAP, c"map"),
];

fn find<T: Copy, const N: usize>(table: &[(i32, T, &CStr); N], constant: i32) -> Option<T> {
    let row = table.iter().find(|(number, ..)| *number == constant);
    row.map(|(_, value, _)| *value)
}

/// Returns the constant for a value. Each table lists all values of its type.
fn number<T: PartialEq, const N: usize>(table: &[(i32, T, &CStr); N], value: &T) -> i32 {
    let row = table.iter().find(|(_, known, _)| known == value);
    row.map_or(0, |(number, ..)| *number)
}

/// Returns the name of a constant.
pub(super) fn name(constant: i32) -> Option<&'static CStr> {
    fn names<T, const N: usize>(
        table: &'static [(i32, T, &CStr); N],
    ) -> impl Iterator<Item = (i32, &'static CStr)> {
        table.iter().map(|(number, _, name)| (*number, *name))
    }
    names(&MODES)
        .chain(names(&KINDS))
        .chain(names(&FORMATS))
        .chain(names(&CODECS))
        .chain(names(&CHECKSUMS))
        .chain(names(&FILTERS))
        .chain(OTHERS)
        .find(|(number, _)| *number == constant)
        .map(|(_, name)| name)
}

/// Returns the mode of a constant.
pub(super) fn mode(constant: i32) -> Result<Mode> {
    find(&MODES, constant).ok_or_else(|| {
        fail!(
            Argument,
            "mode: invalid value (expected HOLDALL_READ ({HOLDALL_READ}) to HOLDALL_REPLACE ({HOLDALL_REPLACE}), found {constant})"
        )
    })
}

/// Returns the format of a constant.
pub(super) fn format(constant: i32) -> Result<Format> {
    find(&FORMATS, constant).ok_or_else(|| {
        fail!(
            Argument,
            "format: invalid value (expected HOLDALL_FORMAT_BLOSCPACK ({HOLDALL_FORMAT_BLOSCPACK}) to HOLDALL_FORMAT_BAGZ ({HOLDALL_FORMAT_BAGZ}), found {constant})"
        )
    })
}

/// Returns the checksum algorithm of a constant, if it can be computed on its own.
pub(super) fn checksum(constant: i32) -> Result<Checksum> {
    if constant == HOLDALL_CHECKSUM_ZSTD {
        return Err(fail!(
            Argument,
            "kind: HOLDALL_CHECKSUM_ZSTD exists only inside zstd frames (expected another HOLDALL_CHECKSUM_*)"
        ));
    }
    find(&CHECKSUMS, constant).ok_or_else(|| {
        fail!(
            Argument,
            "kind: unknown checksum {constant} (expected HOLDALL_CHECKSUM_NONE ({HOLDALL_CHECKSUM_NONE}) to HOLDALL_CHECKSUM_SHA512 ({HOLDALL_CHECKSUM_SHA512}))"
        )
    })
}

/// Returns the kind of a constant.
pub(super) fn kind(constant: i32) -> Result<Kind> {
    find(&KINDS, constant).ok_or_else(|| {
        fail!(
            Argument,
            "kind: invalid value (expected HOLDALL_KIND_SCHUNK ({HOLDALL_KIND_SCHUNK}) to HOLDALL_KIND_STORE ({HOLDALL_KIND_STORE}), found {constant})"
        )
    })
}

/// Returns the constant of a kind.
pub(super) fn kind_number(kind: Kind) -> i32 {
    number(&KINDS, &kind)
}

/// Returns the constant of a format.
pub(super) fn format_number(format: Format) -> i32 {
    number(&FORMATS, &format)
}

/// Returns the constant of a checksum algorithm.
pub(super) fn checksum_number(checksum: Checksum) -> i32 {
    number(&CHECKSUMS, &checksum)
}

/// Returns the constant of a codec of chunks.
pub(super) fn codec_number(codec: Codec) -> i32 {
    HOLDALL_CODEC_BLOSCLZ + i32::from(codec.number())
}

/// Returns the constant of a filter of chunks, or 0 if the library does not have it.
pub(super) fn filter_number(filter: u8) -> u8 {
    number(&FILTERS, &filter) as u8
}

/// Returns the constant of an order of items.
pub(super) fn order_number(order: Order) -> i32 {
    match order {
        Order::C => HOLDALL_ORDER_C,
        Order::Fortran => HOLDALL_ORDER_F,
    }
}

/// Returns the value that the engine has for a value of an option in C.
pub(super) fn option_value(opt: Opt, value: i64) -> Result<i64> {
    let constant = i32::try_from(value).unwrap_or(0);
    let (found, expected) = match opt {
        Opt::Codec => (find(&CODECS, constant), "HOLDALL_CODEC_*"),
        Opt::Checksum if constant == HOLDALL_CHECKSUM_ZSTD => (Some(9), ""),
        Opt::Checksum => {
            let found = find(&CHECKSUMS, constant).map(|checksum| checksum as i64);
            (found, "HOLDALL_CHECKSUM_*")
        }
        Opt::Io => {
            let found = [HOLDALL_IO_READ, HOLDALL_IO_MAP];
            (position(found, constant), "HOLDALL_IO_READ or _MAP")
        }
        Opt::BagDictionary => {
            let found = [
                HOLDALL_BAG_DICTIONARY_SEPARATE,
                HOLDALL_BAG_DICTIONARY_STORED,
                HOLDALL_BAG_DICTIONARY_AUTO,
            ];
            (
                position(found, constant),
                "HOLDALL_BAG_DICTIONARY_SEPARATE, _STORED or _AUTO",
            )
        }
        Opt::BagLimits => {
            let found = [HOLDALL_BAG_LIMITS_TAIL, HOLDALL_BAG_LIMITS_SEPARATE];
            (
                position(found, constant),
                "HOLDALL_BAG_LIMITS_TAIL or _SEPARATE",
            )
        }
        Opt::BagShards => {
            let found = [
                HOLDALL_BAG_SHARDS_CONCATENATED,
                HOLDALL_BAG_SHARDS_INTERLEAVED,
            ];
            (
                position(found, constant),
                "HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED",
            )
        }
        _ => return Ok(value),
    };
    found.ok_or_else(|| {
        fail!(
            Argument,
            "{}: unknown value {value} (expected {expected})",
            opt.name()
        )
    })
}

fn position<const N: usize>(constants: [i32; N], constant: i32) -> Option<i64> {
    let position = constants.iter().position(|known| *known == constant);
    position.map(|i| i as i64)
}

/// Returns the numbers of filters in chunks.
pub(super) fn filters(constants: &[u8]) -> Result<Vec<u8>> {
    let filter = |constant: &u8| {
        find(&FILTERS, i32::from(*constant)).ok_or_else(|| {
            fail!(
                Argument,
                "{}: unknown filter {constant} (expected HOLDALL_FILTER_*)",
                Opt::Filters.name()
            )
        })
    };
    constants.iter().map(filter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn constants_of_different_families_do_not_overlap() {
        let families: [Vec<i32>; 8] = [
            (1..=Opt::ChunkDictionary as i32).collect(),
            MODES.iter().map(|row| row.0).collect(),
            KINDS.iter().map(|row| row.0).collect(),
            FORMATS.iter().map(|row| row.0).collect(),
            CODECS.iter().map(|row| row.0).collect(),
            CHECKSUMS.iter().map(|row| row.0).collect(),
            FILTERS.iter().map(|row| row.0).collect(),
            OTHERS.iter().map(|row| row.0).collect(),
        ];
        let all = families.concat();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(!all.contains(&0));
        for number in families.into_iter().skip(1).flatten() {
            assert!(name(number).is_some(), "{number}");
        }
        for option in 1..=Opt::ChunkDictionary as i32 {
            assert_eq!(Opt::from_number(option).unwrap() as i32, option);
        }
    }

    #[test]
    fn every_value_of_the_engine_has_a_constant() {
        for codec in Codec::ALL {
            let constant = codec_number(codec);
            let text = name(constant).unwrap().to_str().unwrap();
            assert_eq!(text, codec.name());
            let option = option_value(Opt::Codec, i64::from(constant)).unwrap();
            assert_eq!(option, i64::from(codec.number()) + 1);
        }
        for algorithm in Checksum::ALL {
            assert_eq!(checksum(checksum_number(algorithm)).unwrap(), algorithm);
        }
        assert!(option_value(Opt::Codec, 6).is_err());
        assert!(option_value(Opt::Checksum, i64::from(HOLDALL_CODEC_ZSTD)).is_err());
        assert_eq!(filters(&[65, 68]).unwrap(), [1, 35]);
        assert!(filters(&[1]).is_err());
    }
}
