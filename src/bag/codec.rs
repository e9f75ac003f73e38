//! Records to bytes and back: none, or zstd frames, with contexts that are kept and used again.
#![forbid(unsafe_code)]

use super::frame::{self, Survey};
use crate::alloc;
use crate::error::{Result, fail};
use std::cell::RefCell;
use std::sync::Arc;
use zstd_safe::{CCtx, CParameter, DCtx, DDict};

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    None,
    /// As zstd frames.
    Zstd,
}

/// The number of `HOLDALL_CODEC_NONE`.
pub const CODEC_NONE: i64 = 0;
/// The number of `HOLDALL_CODEC_ZSTD`.
pub const CODEC_ZSTD: i64 = 6;
/// The number of `HOLDALL_CODEC_BY_NAME`.
pub const CODEC_BY_NAME: i64 = 255;

impl Codec {
    /// The codec that an option asks for, for a file of this name: `.bagz` is zstd.
    pub fn choose(option: i64, name: &[u8]) -> Result<Codec> {
        match option {
            CODEC_NONE => Ok(Codec::None),
            CODEC_ZSTD => Ok(Codec::Zstd),
            CODEC_BY_NAME if name.ends_with(b".bagz") => Ok(Codec::Zstd),
            CODEC_BY_NAME => Ok(Codec::None),
            n => Err(fail!(
                Argument,
                "HOLDALL_OPT_CODEC: codec {n} does not exist in bags; HOLDALL_CODEC_NONE, _ZSTD and _BY_NAME do"
            )),
        }
    }
}

/// Does the name leave open whether records are frames? `.bag` are not; other names, and storage
/// without one, tell nothing.
pub fn is_unsaid(option: i64, name: &[u8]) -> bool {
    option == CODEC_BY_NAME && !name.ends_with(b".bagz") && !name.ends_with(b".bag")
}

fn zstd_words(code: usize) -> String {
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

/// What decodes the records of one bag.
pub struct Decoder {
    codec: Codec,
    dictionary: Option<DDict<'static>>,
}

impl Decoder {
    /// For this codec, perhaps with a dictionary.
    pub fn new(codec: Codec, dictionary: Option<&Arc<[u8]>>) -> Result<Decoder> {
        let dictionary = match dictionary.filter(|d| !d.is_empty()) {
            Some(d) => Some(DDict::try_create(d).ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_DICTIONARY: zstd refuses these {} bytes",
                    d.len()
                )
            })?),
            None => None,
        };
        Ok(Decoder { codec, dictionary })
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// What a stored record holds, as far as its headers tell.
    pub fn survey(&self, stored: &[u8]) -> Result<Survey> {
        match self.codec {
            Codec::None => Ok(Survey {
                data_frames: 0,
                content: Some(stored.len() as u64),
                most: stored.len() as u64,
                checksum: false,
            }),
            Codec::Zstd => frame::survey(stored),
        }
    }

    /// Decodes into a buffer of exactly the size that the survey gave.
    pub fn decode(&self, stored: &[u8], dst: &mut [u8]) -> Result<()> {
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
        let want = dst.len();
        let n = self.frames(stored, dst)?;
        if n == want {
            Ok(())
        } else {
            Err(fail!(Format, "its frames claim {want} bytes and hold {n}"))
        }
    }

    /// Decodes a record whose headers do not tell how much it holds.
    pub fn decode_unknown(&self, stored: &[u8], s: &Survey, limit: u64) -> Result<Vec<u8>> {
        let mut out = alloc::zeroed(alloc::allow(
            s.most,
            limit,
            "a record without a content size",
        )?)?;
        let n = self.frames(stored, &mut out)?;
        out.truncate(n);
        // what the bound had in excess goes back: many such records may be held together
        out.shrink_to_fit();
        Ok(out)
    }

    fn frames(&self, stored: &[u8], dst: &mut [u8]) -> Result<usize> {
        with_decoder(|d| {
            match &self.dictionary {
                Some(dict) => d.decompress_using_ddict(dst, stored, dict),
                None => d.decompress(dst, stored),
            }
            .map_err(|code| {
                let words = zstd_words(code);
                if words.contains("checksum") {
                    fail!(
                        Checksum,
                        "the checksum in its zstd frame does not match its content"
                    )
                } else {
                    fail!(Format, "zstd cannot decode it: {words}")
                }
            })
        })
    }
}

// ---- encoding

/// What a writer's records are encoded with.
#[derive(Clone)]
pub struct Encoding {
    /// The codec.
    pub codec: Codec,
    /// zstd's level; 0 is its default, 3.
    pub level: i32,
    /// A checksum in each frame.
    pub checksum: bool,
    /// A dictionary.
    pub dictionary: Option<Arc<[u8]>>,
}

impl Encoding {
    /// A zstd context that encodes like this.
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
                zstd_words(code)
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
    /// The stored form of a record. An empty record takes no byte; with checksums it is an empty
    /// frame, so that a limit that was damaged can never make two records out of one or none
    /// out of two.
    pub fn encode<'a>(&'a mut self, record: &'a [u8]) -> Result<&'a [u8]> {
        if record.is_empty() && !self.empty_is_a_frame {
            return Ok(record);
        }
        let most = zstd_safe::compress_bound(record.len());
        if self.scratch.len() < most {
            // somewhat more, as the next one may be somewhat longer; the old one goes before
            self.scratch = Vec::new();
            self.scratch = alloc::zeroed(most + most / 8)?;
        }
        let n = self
            .context
            .compress2(self.scratch.as_mut_slice(), record)
            .map_err(|code| fail!(Codec, "zstd cannot encode the record: {}", zstd_words(code)))?;
        self.scratch
            .get(..n)
            .ok_or_else(|| fail!(Codec, "zstd wrote past its buffer"))
    }
}
