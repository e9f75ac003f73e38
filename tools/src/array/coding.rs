//! The codec, level and filters of the chunks of an array, by name.

use crate::file_name::FileName;
use crate::{detect, standard};
use holdall::{Array, Filter};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Offsets in the header of a frame, and its length as far as it is read.
const FILTERS_AT: usize = 0x47;
const CODEC_AT: usize = 0x4d;
const PARAMETERS_AT: usize = 0x4f;
const HEADER: usize = 0x57;

/// Codecs and filters of Blosc2 that the library does not have.
const CODECS: [(u8, &str); 4] = [(32, "ndlz"), (33, "zfp_acc"), (34, "zfp_prec"), (35, "zfp_rate")];
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

pub struct Coding {
    /// None: unknown.
    pub codec: Option<String>,
    pub level: Option<u8>,
    pub filters: Vec<String>,
}

fn named(all: &[(u8, &str)], kind: &str, number: u8) -> String {
    let known = all.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("{kind} {number}"), |(_, name)| name.to_string())
}

impl Coding {
    /// The header of a frame, which is at an offset, names what the library does not have.
    pub fn of(path: &FileName, at: Option<u64>, array: &Array) -> Coding {
        let encoding = array.encoding();
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let filters = encoding.filters.iter();
        let mut coding = Coding {
            codec: encoding.codec.map(|codec| name(&codec)),
            level: encoding.level,
            filters: filters
                .map(|filter| match (filter, encoding.precision) {
                    (Some(Filter::TruncPrec), Some(bits)) => format!("trunc_prec:{bits}"),
                    (Some(Filter::TruncPrec), None) => "trunc_prec".to_owned(),
                    (Some(filter), _) => name(&filter),
                    (None, _) => "unknown".to_owned(),
                })
                .collect(),
        };
        if detect::is_frame(array.format())
            && let Some(header) = header(path, at.unwrap_or(0))
        {
            coding.codec.get_or_insert_with(|| named(&CODECS, "codec", header[CODEC_AT]));
            let parameters = &header[PARAMETERS_AT..];
            let filters = header[FILTERS_AT..].iter().zip(parameters).take(6);
            let text = |(filter, parameter): (&u8, &u8)| match filter {
                0 => None,
                4 | 36 => Some(format!("{}:{}", named(&FILTERS, "", *filter), *parameter as i8)),
                _ => Some(named(&FILTERS, "filter", *filter)),
            };
            coding.filters = filters.filter_map(text).collect();
        }
        coding
    }
}

fn header(path: &FileName, at: u64) -> Option<[u8; HEADER]> {
    let mut header = [0; HEADER];
    if let Some(bytes) = standard::input().filter(|_| path.is_standard()) {
        header.copy_from_slice(bytes.get(usize::try_from(at).ok()?..)?.get(..HEADER)?);
        return Some(header);
    }
    let path = path.path();
    let path = if path.is_dir() { path.join("chunks.b2frame") } else { path.to_owned() };
    File::open(path).ok()?.read_exact_at(&mut header, at).ok()?;
    Some(header)
}
