//! The codec, level and filters of the chunks of an array, by name.

use super::dataset::Dataset;
use crate::detect;
use holdall::Array;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Offsets in the header of a frame, and its length as far as it is read.
const CODEC_AT: usize = 0x1b;
const FILTERS_AT: usize = 0x47;
const OTHER_CODEC_AT: usize = 0x4d;
const PARAMETERS_AT: usize = 0x4f;
const HEADER: usize = 0x57;

const CODECS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
/// Those from 32 on.
const OTHER_CODECS: [&str; 4] = ["ndlz", "zfp_acc", "zfp_prec", "zfp_rate"];
const FILTERS: [(u8, &str); 9] = [
    (1, "shuffle"),
    (2, "bitshuffle"),
    (3, "delta"),
    (4, "trunc_prec"),
    (32, "ndcell"),
    (33, "ndmean"),
    (34, "bytedelta_buggy"),
    (35, "bytedelta"),
    (36, "int_trunc"),
];

#[derive(Default)]
pub struct Coding {
    /// None: unknown.
    pub codec: Option<String>,
    pub level: Option<u8>,
    pub filters: Vec<String>,
}

impl Coding {
    /// Takes a frame's from its header, which also names codecs and filters that the library does
    /// not have.
    pub fn of(dataset: &Dataset, array: &Array) -> Coding {
        if detect::is_frame(dataset.format) {
            let at = dataset.at.unwrap_or(0);
            return header(&dataset.path, at).map_or_else(Coding::default, |h| of_frame(&h));
        }
        let encoding = array.encoding();
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let filters = encoding.filters.iter();
        Coding {
            codec: encoding.codec.map(|codec| name(&codec)),
            level: encoding.level,
            filters: filters
                .map(|filter| filter.map_or("unknown".to_owned(), |filter| name(&filter)))
                .collect(),
        }
    }
}

fn header(path: &str, at: u64) -> Option<[u8; HEADER]> {
    let path = Path::new(path);
    let mut header = [0; HEADER];
    let file =
        if path.is_dir() { File::open(path.join("chunks.b2frame")) } else { File::open(path) };
    file.ok()?.read_exact_at(&mut header, at).ok()?;
    Some(header)
}

fn of_frame(header: &[u8; HEADER]) -> Coding {
    let (codec, other) = (header[CODEC_AT] & 15, header[OTHER_CODEC_AT]);
    let known = CODECS.get(usize::from(codec));
    let known = known.or_else(|| OTHER_CODECS.get(usize::from(other.checked_sub(32)?)));
    let filters = header[FILTERS_AT..].iter().zip(&header[PARAMETERS_AT..]);
    Coding {
        codec: Some(known.map_or_else(|| format!("codec {other}"), ToString::to_string)),
        level: Some(header[CODEC_AT] >> 4),
        filters: filters
            .take(6)
            .filter(|(filter, _)| **filter != 0)
            .map(|(filter, parameter)| filter_name(*filter, *parameter))
            .collect(),
    }
}

/// The name of a filter, `trunc_prec:10` with its parameter.
fn filter_name(filter: u8, parameter: u8) -> String {
    let known = FILTERS.iter().find(|(number, _)| *number == filter);
    match known {
        Some((4 | 36, name)) => format!("{name}:{}", parameter as i8),
        Some((_, name)) => name.to_string(),
        None => format!("filter {filter}"),
    }
}
