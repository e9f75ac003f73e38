//! Tests of arrays in all formats: the encoding that a handle reports, and copies.

use super::options;
use crate::array::{Array, NewLocation};
use crate::blosc::{Codec, StoredCodec};
use crate::checksum::Checksum;
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::SimDisk;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::sync::Arc;

const FORMATS: [Format; 6] = [
    Format::Bloscpack,
    Format::Bcolz,
    Format::Blz,
    Format::BlzRfc,
    Format::B2nd,
    Format::Caterva,
];
const SHAPE: [u64; 2] = [60, 50];

fn with(all: &[(Opt, i64)]) -> Options {
    all.iter()
        .fold(options(), |o, (opt, n)| o.with(*opt, *n).unwrap())
}

fn content() -> Vec<u8> {
    (0..3000i32).flat_map(|i| (i / 7).to_le_bytes()).collect()
}

fn created(folder: &Arc<dyn Folder>, format: Format, options: &Options) -> Result<Array> {
    let new = ArraySpec {
        dtype: "<i4",
        shape: &SHAPE,
        chunks: None,
        format,
    };
    any::create_in(folder, Mode::New, &new, None, options)
}

fn stored(format: Format, options: &Options) -> SimDisk {
    let disk = SimDisk::default();
    let mut a = created(&disk.folder(), format, options).unwrap();
    a.write(&[0, 0], &SHAPE, None, &content(), None).unwrap();
    a.commit().unwrap();
    disk
}

fn opened(disk: &SimDisk) -> Array {
    open::open_in(&disk.folder(), Mode::Read, &options()).unwrap()
}

fn all(a: &Array) -> Vec<u8> {
    let mut items = vec![0xee; a.nbytes() as usize];
    assert!(!a.read(&[0, 0], a.shape(), None, &mut items, None).unwrap());
    items
}

#[test]
fn the_encoding_is_reported_in_every_format() {
    for format in FORMATS {
        let mut options = with(&[(Opt::Codec, 5), (Opt::Level, 3), (Opt::Checksum, 2)]);
        options.set_bytes(Opt::Filters, &[1]).unwrap();
        let disk = stored(format, &options);
        let new = created(&SimDisk::default().folder(), format, &options).unwrap();
        for a in [new, opened(&disk)] {
            let (encoding, is_file) = (a.encoding(), format == Format::Bloscpack);
            assert_eq!(a.format(), format);
            assert_eq!(a.checksum(), Checksum::Crc32, "{format:?}");
            assert_eq!(encoding.codec, StoredCodec::One(Codec::Zlib), "{format:?}");
            assert_eq!(encoding.level, (!is_file).then_some(3), "{format:?}");
            assert_eq!(encoding.filters, [1], "{format:?}");
        }
        let plain = with(&[(Opt::Codec, 0), (Opt::Checksum, 0)]);
        let a = opened(&stored(format, &plain));
        assert_eq!(a.encoding().codec, StoredCodec::None, "{format:?}");
        assert_eq!(a.checksum(), Checksum::None, "{format:?}");
    }
}

#[test]
fn the_filters_of_a_frame_are_in_order() {
    let mut options = with(&[(Opt::Codec, 6)]);
    options.set_bytes(Opt::Filters, &[3, 2]).unwrap();
    let a = opened(&stored(Format::B2nd, &options));
    assert_eq!(a.encoding().filters, [3, 2]);
    assert_eq!(a.encoding().codec, StoredCodec::One(Codec::Zstd));
    let both = with(&[(Opt::BothMetalayers, 1)]);
    assert_eq!(
        opened(&stored(Format::Caterva, &both)).format(),
        Format::B2nd
    );
}

#[test]
fn arrays_are_copied_to_storage_of_the_caller_in_all_formats() {
    for from in FORMATS {
        let disk = stored(from, &options());
        let source = opened(&disk);
        for to in FORMATS {
            let other = SimDisk::default();
            let folder = other.folder();
            let to_there = NewLocation::Storage(&folder);
            let copied = any::copy(&source, to_there, Mode::New, to, [None; 2], &options());
            assert!(!copied.unwrap(), "{from:?} to {to:?}");
            let new = opened(&other);
            assert_eq!((new.format(), new.shape()), (to, &SHAPE[..]));
            assert!(all(&new) == content(), "{from:?} to {to:?}");
            let again = any::copy(&source, to_there, Mode::New, to, [None; 2], &options());
            assert_eq!(again.unwrap_err().status, Status::Exists, "{to:?}");
        }
    }
}

#[test]
fn a_file_is_not_replaced_by_its_own_copy() {
    for format in [Format::Bloscpack, Format::B2nd] {
        let disk = stored(format, &options());
        let (source, folder) = (opened(&disk), disk.folder());
        let itself = NewLocation::Storage(&folder);
        let copied = any::copy(
            &source,
            itself,
            Mode::Replace,
            format,
            [None; 2],
            &options(),
        );
        assert_eq!(copied.unwrap_err().status, Status::Argument, "{format:?}");
        assert!(all(&opened(&disk)) == content());
    }
}
