//! From options of the command line to those of the library.

use crate::cli::Convert;
use crate::cli::groups::{
    BagCodec, BagInput, BagRead, Changing, Codecs, Encoding, FrameInput, Reading, Source, Sync,
};
use crate::cli::values::{CodecChoice, FilterChoice};
use crate::failure::Result;
use crate::file_name::FileName;
use crate::files;
use crate::usage;
use holdall::{Codec, FileAccess, Options, Order, Verify};

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
    options = options.follow_links(reading.follow_links);
    if reading.unchecked { options.verify(Verify::Never) } else { options }
}

/// Adds those of a frame inside a file.
pub fn frame(options: Options, frame: &FrameInput) -> Options {
    given(options, frame.at, Options::frame_offset)
}

/// Adds those of how a bag is stored.
pub fn bag_read(options: Options, bag: &BagRead) -> Options {
    let options = given(options, bag.limits, Options::bag_limits);
    let options = given(options, bag.limits_storage, Options::load_limits);
    given(options, bag.shard_order, Options::bag_shards)
}

/// Adds a dictionary, which is the content of a file.
pub fn dictionary(options: Options, path: Option<&FileName>) -> Result<Options> {
    Ok(match path {
        Some(path) => options.dictionary(&files::read_all(path)?),
        None => options,
    })
}

/// Adds the codec of a bag.
pub fn bag_codec(options: Options, codec: Option<CodecChoice>) -> Result<Options> {
    match codec.flatten() {
        None => Ok(options),
        Some(codec @ (Codec::None | Codec::Zstd)) => Ok(options.codec(codec)),
        Some(_) => Err(usage!("--codec takes auto, none or zstd for bags")),
    }
}

/// Adds the codec and the dictionary of a bag.
pub fn compression(options: Options, codec: &BagCodec) -> Result<Options> {
    dictionary(bag_codec(options, codec.codec)?, codec.dictionary.as_ref())
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

/// The options for changing a container in place.
pub fn changing(given: &Changing) -> Options {
    let options = self::given(Options::new(), given.threads, Options::threads);
    let options = self::given(options, given.memory_limit, Options::memory_limit);
    sync(options.follow_links(given.follow_links), &given.sync)
}

/// Adds how chunks are compressed. The level is one of chunks, 0 to 9.
pub fn codecs(options: Options, codecs: &Codecs) -> Result<Options> {
    if let Some(level) = codecs.level.filter(|level| !(0..=9).contains(level)) {
        return Err(usage!("--level takes a whole number from 0 to 9 for chunks, not {level}"));
    }
    let options = given(options, codecs.codec.flatten(), Options::codec);
    let options = given(options, codecs.level, Options::level);
    let dictionary = codecs.chunk_dictionary.then_some(true);
    let options = given(options, dictionary, Options::chunk_dictionary);
    let Some(chosen) = &codecs.filters else {
        return Ok(options);
    };
    let (precision, rest) = match chosen.as_slice() {
        [FilterChoice::Precision(bits), rest @ ..] => (Some(*bits), rest),
        all => (None, all),
    };
    let filter = |choice: &FilterChoice| match choice {
        FilterChoice::Filter(filter) => Some(*filter),
        _ => None,
    };
    let filters = match rest {
        [FilterChoice::None] => Some(Vec::new()),
        filters => filters.iter().map(filter).collect::<Option<Vec<_>>>(),
    };
    match filters.filter(|_| chosen.len() <= 6) {
        Some(filters) => Ok(given(options.filters(&filters), precision, Options::precision)),
        None => Err(usage!(
            "--filters takes up to 6 of shuffle, bitshuffle, delta and bytedelta, after \
             trunc_prec:N if it is given, or none alone"
        )),
    }
}

/// Adds how the chunks of a new container are made.
pub fn encoding(options: Options, encoding: &Encoding) -> Result<Options> {
    let options = codecs(options, &encoding.codecs)?;
    let options = given(options, encoding.chunk_size, Options::chunk_bytes);
    let options = given(options, encoding.checksum, Options::checksum);
    let options = given(options, encoding.format_version, Options::bloscpack_version);
    Ok(if encoding.no_offsets { options.offsets(false) } else { options })
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
    if args.layout.fortran {
        options = options.order(Order::Fortran);
    }
    if args.layout.yaml {
        options = options.yaml(true);
    }
    Ok(if args.layout.both { options.both_metalayers(true) } else { options })
}
