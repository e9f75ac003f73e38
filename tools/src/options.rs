//! From options of the command line to those of the library.

use crate::cli::Convert;
use crate::cli::groups::{
    BagCodec, BagInput, BagRead, Codecs, Encoding, FrameInput, Reading, Source, Sync,
};
use crate::cli::values::{
    Checksum, Codec, Filter, HeaderVersion, Limits, LimitsStorage, ShardOrder,
};
use crate::failure::Result;
use crate::files;
use crate::usage;
use holdall::{
    BagLimits, BagShards, Checksum as LibraryChecksum, Codec as LibraryCodec, FileAccess,
    Filter as LibraryFilter, Options, Verify,
};

/// Applies a value if it was given.
pub fn given<T>(
    options: Options,
    value: Option<T>,
    set: impl FnOnce(Options, T) -> Options,
) -> Options {
    match value {
        Some(value) => set(options, value),
        None => options,
    }
}

/// The options for reading any container, with progress and a stop by signals.
pub fn reading(reading: &Reading) -> Options {
    let mut options = Options::new().progress(crate::progress::report);
    options = given(options, reading.threads, Options::threads);
    options = given(options, reading.memory_limit, Options::memory_limit);
    if reading.map {
        options = options.file_access(FileAccess::Map);
    }
    if reading.unchecked { options.verify(Verify::Never) } else { options }
}

/// Adds those of a frame inside a file.
pub fn frame(options: Options, frame: &FrameInput) -> Options {
    given(options, frame.at, Options::frame_offset)
}

/// Adds those of how a bag is stored.
pub fn bag_read(options: Options, bag: &BagRead) -> Options {
    let options = given(options, bag.limits, |options, limits| {
        options.bag_limits(match limits {
            Limits::Tail => BagLimits::Tail,
            Limits::Separate => BagLimits::Separate,
        })
    });
    let options = given(options, bag.limits_storage, |options, storage| {
        options.load_limits(storage == LimitsStorage::Memory)
    });
    given(options, bag.shard_order, |options, order| {
        options.bag_shards(match order {
            ShardOrder::Concatenated => BagShards::Concatenated,
            ShardOrder::Interleaved => BagShards::Interleaved,
        })
    })
}

/// Adds the codec of a bag. `Auto` is the default of the library: the name decides.
pub fn bag_codec(options: Options, codec: Option<Codec>) -> Options {
    match codec {
        Some(Codec::None) => options.codec(LibraryCodec::None),
        Some(Codec::Zstd) => options.codec(LibraryCodec::Zstd),
        _ => options,
    }
}

/// Adds a dictionary, which is the content of a file.
pub fn dictionary(options: Options, path: Option<&str>) -> Result<Options> {
    Ok(match path {
        Some(path) => options.dictionary(&files::read_all(path)?),
        None => options,
    })
}

/// Adds the codec and the dictionary of a bag.
pub fn compression(options: Options, codec: &BagCodec) -> Result<Options> {
    dictionary(bag_codec(options, codec.codec), codec.dictionary.as_deref())
}

/// Adds all those of a bag that is read.
pub fn bag(options: Options, bag: &BagInput) -> Result<Options> {
    compression(bag_read(options, &bag.read), &bag.codec)
}

/// The options for reading a container of any kind.
pub fn source(source: &Source) -> Result<Options> {
    bag(frame(reading(&source.reading), &source.frame), &source.bag)
}

/// Adds durability and locks.
pub fn sync(mut options: Options, sync: &Sync) -> Options {
    if sync.no_sync {
        options = options.durable(false);
    }
    if sync.no_lock { options.lock(false) } else { options }
}

/// Adds how chunks are compressed. The level is one of chunks, 0 to 9.
pub fn codecs(options: Options, codecs: &Codecs) -> Result<Options> {
    if let Some(level) = codecs.level.filter(|level| !(0..=9).contains(level)) {
        return Err(usage!("--level takes a whole number from 0 to 9 for chunks, not {level}"));
    }
    let options = given(options, codecs.codec.and_then(chunk_codec), Options::codec);
    let options = given(options, codecs.level, Options::level);
    match &codecs.filters {
        None => Ok(options),
        Some(filters) => match chunk_filters(filters) {
            Some(filters) if filters.len() <= 6 => Ok(options.filters(&filters)),
            _ => Err(usage!(
                "--filters takes up to 6 of shuffle, bitshuffle, delta and bytedelta, or none alone"
            )),
        },
    }
}

/// Adds how the chunks of a new container are made.
pub fn encoding(options: Options, encoding: &Encoding) -> Result<Options> {
    let options = codecs(options, &encoding.codecs)?;
    let options = given(options, encoding.chunk_size, Options::chunk_bytes);
    let options = given(options, encoding.checksum, |options, checksum| {
        options.checksum(chunk_checksum(checksum))
    });
    let options = given(options, encoding.format_version, |options, version| {
        options.bloscpack_version(match version {
            HeaderVersion::V1 => 1,
            HeaderVersion::V2 => 2,
            HeaderVersion::V3 => 3,
            HeaderVersion::Rfc => 103,
        })
    });
    Ok(if encoding.no_offsets { options.offsets(false) } else { options })
}

/// The checksum of chunks, or of a digest.
pub fn chunk_checksum(checksum: Checksum) -> LibraryChecksum {
    match checksum {
        Checksum::None => LibraryChecksum::None,
        Checksum::Adler32 => LibraryChecksum::Adler32,
        Checksum::Crc32 => LibraryChecksum::Crc32,
        Checksum::Md5 => LibraryChecksum::Md5,
        Checksum::Sha1 => LibraryChecksum::Sha1,
        Checksum::Sha224 => LibraryChecksum::Sha224,
        Checksum::Sha256 => LibraryChecksum::Sha256,
        Checksum::Sha384 => LibraryChecksum::Sha384,
        Checksum::Sha512 => LibraryChecksum::Sha512,
    }
}

/// The options of the container that convert writes.
pub fn converting(args: &Convert) -> Result<Options> {
    let options = Options::new().progress(crate::progress::report);
    let options = given(options, args.reading.threads, Options::threads);
    let options = given(options, args.reading.memory_limit, Options::memory_limit);
    let mut options = encoding(sync(options, &args.sync), &args.encoding)?;
    if args.layout.sparse {
        options = options.sparse(true);
    }
    Ok(if args.layout.both { options.both_metalayers(true) } else { options })
}

/// The codec of chunks; None for `Auto`, which is for bags.
pub fn chunk_codec(codec: Codec) -> Option<LibraryCodec> {
    Some(match codec {
        Codec::Auto => return None,
        Codec::None => LibraryCodec::None,
        Codec::BloscLz => LibraryCodec::BloscLz,
        Codec::Lz4 => LibraryCodec::Lz4,
        Codec::Lz4Hc => LibraryCodec::Lz4Hc,
        Codec::Snappy => LibraryCodec::Snappy,
        Codec::Zlib => LibraryCodec::Zlib,
        Codec::Zstd => LibraryCodec::Zstd,
    })
}

/// The filters of chunks; None for `none` among others.
pub fn chunk_filters(filters: &[Filter]) -> Option<Vec<LibraryFilter>> {
    if filters == [Filter::None] {
        return Some(Vec::new());
    }
    let library = |filter: &Filter| match filter {
        Filter::None => None,
        Filter::Shuffle => Some(LibraryFilter::Shuffle),
        Filter::Bitshuffle => Some(LibraryFilter::Bitshuffle),
        Filter::Delta => Some(LibraryFilter::Delta),
        Filter::Bytedelta => Some(LibraryFilter::Bytedelta),
    };
    filters.iter().map(library).collect()
}
