//! Encodes and decodes records, uncompressed or as zstd frames. Contexts are reused.
#![forbid(unsafe_code)]

use super::dictionary::{Dictionary, Found};
use super::frame::{self, Survey};
use crate::alloc;
use crate::error::{Error, Result, fail};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use zstd_safe::{CCtx, CParameter, DCtx, DDict};

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Uncompressed.
    None,
    /// As zstd frames.
    Zstd,
}

/// The value of [`crate::options::Opt::Codec`] for records that are not compressed.
pub const CODEC_NONE: i64 = 0;
/// The value for zstd.
pub const CODEC_ZSTD: i64 = 6;
/// The value by which the file name determines the codec.
pub const CODEC_BY_NAME: i64 = 255;

impl Codec {
    /// Returns the codec that the option selects for a file of this name: `.bagz` means zstd.
    pub fn choose(option: i64, name: &[u8]) -> Result<Codec> {
        match option {
            CODEC_NONE => Ok(Codec::None),
            CODEC_ZSTD => Ok(Codec::Zstd),
            CODEC_BY_NAME if name.ends_with(b".bagz") => Ok(Codec::Zstd),
            CODEC_BY_NAME => Ok(Codec::None),
            _ => Err(fail!(
                Argument,
                "HOLDALL_OPT_CODEC: this codec is not supported in bags; HOLDALL_CODEC_NONE, _ZSTD and _BY_NAME are"
            )),
        }
    }
}

/// Returns whether neither option nor name determines the codec. `.bagz` means zstd and `.bag`
/// means uncompressed; other names, and storage without a name, determine nothing.
pub fn is_codec_unspecified(option: i64, name: &[u8]) -> bool {
    option == CODEC_BY_NAME && !name.ends_with(b".bagz") && !name.ends_with(b".bag")
}

fn zstd_message(code: usize) -> String {
    zstd_safe::get_error_name(code).to_ascii_lowercase()
}

// ---- decoding

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

fn with_decoder<T>(f: impl FnOnce(&mut DCtx<'static>) -> Result<T>) -> Result<T> {
    DECODER.with(|d| {
        let mut d = d
            .try_borrow_mut()
            .map_err(|_| fail!(State, "the decoder of this thread is in use"))?;
        if d.is_none() {
            *d = DCtx::try_create();
        }
        f(d.as_mut()
            .ok_or_else(|| fail!(Memory, "no memory for a zstd decoder"))?)
    })
}

/// Decodes the records of a bag.
pub struct Decoder {
    codec: Codec,
    /// The dictionary that the caller gave.
    given: Option<DDict<'static>>,
    /// The dictionaries that the files store, usually all the same one.
    stored: Mutex<Vec<Arc<Dictionary>>>,
}

impl Decoder {
    /// Creates a decoder. An empty dictionary is ignored.
    pub fn new(codec: Codec, dictionary: Option<&Arc<[u8]>>) -> Result<Decoder> {
        let given = match dictionary.filter(|d| !d.is_empty()) {
            Some(d) => Some(DDict::try_create(d).ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_DICTIONARY: zstd refuses these {} bytes",
                    d.len()
                )
            })?),
            None => None,
        };
        Ok(Decoder {
            codec,
            given,
            stored: Mutex::default(),
        })
    }

    /// Returns the codec.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Returns whether the caller gave a dictionary. A stored one is not used then.
    pub fn has_given_dictionary(&self) -> bool {
        self.given.is_some()
    }

    /// Prepares a stored dictionary, once for all files that store it. Returns `None` if zstd refuses
    /// it.
    pub fn prepare(&self, found: Found) -> Option<Arc<Dictionary>> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = stored.iter();
        if let Some(same) =
            known.find(|d| d.is_intact == found.is_intact && *d.bytes == found.bytes)
        {
            return Some(same.clone());
        }
        let prepared = Arc::new(Dictionary::new(found)?);
        stored.push(prepared.clone());
        Some(prepared)
    }

    /// Describes the content of a stored record from its frame headers.
    pub fn survey(&self, stored: &[u8]) -> Result<Survey> {
        match self.codec {
            Codec::None => Ok(Survey {
                frames: 0,
                data_frames: 0,
                content: Some(stored.len() as u64),
                max_content: stored.len() as u64,
                checksum: false,
                dictionary: 0,
            }),
            Codec::Zstd => frame::survey(stored),
        }
    }

    /// Decodes a record into a buffer of exactly the size that the survey returned, with a stored
    /// dictionary, if its frames need one.
    pub fn decode(
        &self,
        stored: &[u8],
        dst: &mut [u8],
        dictionary: Option<&Dictionary>,
    ) -> Result<()> {
        if self.codec == Codec::None {
            if dst.len() != stored.len() {
                return Err(fail!(
                    State,
                    "{} bytes do not fit {}",
                    stored.len(),
                    dst.len()
                ));
            }
            dst.copy_from_slice(stored);
            return Ok(());
        }
        let expected = dst.len();
        let n = self.frames(stored, dst, dictionary)?;
        if n == expected {
            Ok(())
        } else {
            Err(fail!(
                Format,
                "its frames declare {expected} bytes and contain {n}"
            ))
        }
    }

    /// Like [`Decoder::decode`], for a record whose headers do not contain the content size.
    pub fn decode_unknown(
        &self,
        stored: &[u8],
        s: &Survey,
        dictionary: Option<&Dictionary>,
        limit: u64,
    ) -> Result<Vec<u8>> {
        let mut out = alloc::zeroed(alloc::allow(
            s.max_content,
            limit,
            "a record without a content size",
        )?)?;
        let n = self.frames(stored, &mut out, dictionary)?;
        out.truncate(n);
        // Returns the excess of the bound, because a batch may hold many such records.
        out.shrink_to_fit();
        Ok(out)
    }

    fn frames(
        &self,
        stored: &[u8],
        dst: &mut [u8],
        dictionary: Option<&Dictionary>,
    ) -> Result<usize> {
        with_decoder(|d| {
            match self.given.as_ref().or(dictionary.map(|d| &d.prepared)) {
                Some(dict) => d.decompress_using_ddict(dst, stored, dict),
                None => d.decompress(dst, stored),
            }
            .map_err(|code| {
                let message = zstd_message(code);
                if message.contains("checksum") {
                    fail!(
                        Checksum,
                        "the checksum in its zstd frame does not match its content"
                    )
                } else if message.contains("dictionary") {
                    self.dictionary_error(stored, &message)
                } else {
                    fail!(Format, "zstd cannot decode it: {message}")
                }
            })
        })
    }
}

impl Decoder {
    /// Returns the error for a frame that names another dictionary.
    fn dictionary_error(&self, stored: &[u8], message: &str) -> Error {
        let Some(needed) = zstd_safe::get_dict_id_from_frame(stored) else {
            return fail!(Format, "zstd cannot decode it: {message}");
        };
        let given = match self.given.as_ref().map(DDict::get_dict_id) {
            None => "no dictionary is given or stored".to_owned(),
            Some(None) => "the dictionary has no ID".to_owned(),
            Some(Some(id)) => format!("the dictionary has ID {id}"),
        };
        fail!(
            Format,
            "{given}, and its zstd frame needs ID {needed} (HOLDALL_OPT_DICTIONARY)"
        )
    }
}

// ---- encoding

/// Encoding parameters of a writer.
#[derive(Clone)]
pub struct Encoding {
    /// The codec.
    pub codec: Codec,
    /// The zstd level. 0 selects zstd's default, 3.
    pub level: i32,
    /// Whether each frame has a checksum.
    pub checksum: bool,
    /// The zstd dictionary.
    pub dictionary: Option<Arc<[u8]>>,
    /// Whether the files store the dictionary.
    pub is_stored: bool,
}

impl Encoding {
    /// Creates a zstd context with these parameters.
    pub fn encoder(&self) -> Result<Encoder> {
        let mut c =
            CCtx::try_create().ok_or_else(|| fail!(Memory, "no memory for a zstd encoder"))?;
        let level = if self.level == 0 { 3 } else { self.level };
        let set = c
            .set_parameter(CParameter::CompressionLevel(level))
            .and_then(|_| c.set_parameter(CParameter::ChecksumFlag(self.checksum)))
            .and_then(
                |_| match self.dictionary.as_deref().filter(|d| !d.is_empty()) {
                    Some(d) => c.load_dictionary(d),
                    None => Ok(0),
                },
            );
        set.map_err(|code| {
            fail!(
                Argument,
                "zstd refuses level {level} or the dictionary: {}",
                zstd_message(code)
            )
        })?;
        Ok(Encoder {
            context: c,
            scratch: Vec::new(),
            empty_is_a_frame: self.checksum,
        })
    }
}

/// Encodes records as zstd frames, one at a time.
pub struct Encoder {
    context: CCtx<'static>,
    scratch: Vec<u8>,
    empty_is_a_frame: bool,
}

impl Encoder {
    /// Returns the stored form of a record. An empty record is stored as 0 bytes, or with checksums
    /// as an empty frame: a damaged limit can then never split a record in two or merge two
    /// records.
    pub fn encode<'a>(&'a mut self, record: &'a [u8]) -> Result<&'a [u8]> {
        if record.is_empty() && !self.empty_is_a_frame {
            return Ok(record);
        }
        let bound = zstd_safe::compress_bound(record.len());
        if self.scratch.len() < bound {
            // Allocates one eighth more for a slightly longer next record. The old buffer is freed
            // first.
            self.scratch = Vec::new();
            self.scratch = alloc::zeroed(bound + bound / 8)?;
        }
        let n = self
            .context
            .compress2(self.scratch.as_mut_slice(), record)
            .map_err(|code| {
                fail!(
                    Codec,
                    "zstd cannot encode the record: {}",
                    zstd_message(code)
                )
            })?;
        self.scratch
            .get(..n)
            .ok_or_else(|| fail!(Codec, "zstd wrote past its buffer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of `abc` whose header names the dictionary with ID 7.
    const FRAME: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 3, 0x19, 0, 0, b'a', b'b', b'c',
    ];

    fn message(dictionary: Option<&[u8]>) -> String {
        let dictionary = dictionary.map(Arc::from);
        let decoder = Decoder::new(Codec::Zstd, dictionary.as_ref()).unwrap();
        let error = decoder.decode(FRAME, &mut [0; 3], None).unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_frame_names_its_dictionary() {
        let none = message(None);
        assert!(none.contains("no dictionary is given or stored, and its zstd frame needs ID 7"));
        let raw = message(Some(b"a dictionary of plain text"));
        assert!(raw.contains("the dictionary has no ID, and its zstd frame needs ID 7"));
    }
}
