//! Writes a bag: one file, several shards, or one of them.
//!
//! Nothing is visible before the commit: after a failure or a signal before it, what exists is as
//! it was.

use super::advice;
use super::records::{Batch, Sink};
use crate::cli::groups::{BagCodec, BagOutput, BagTarget, Encoding, Sync};
use crate::failure::{Failure, Result, library};
use crate::file_name::FileName;
use crate::report::{self, plural};
use crate::{failure, options, progress, signals, standard, usage};
use holdall::{Bag, BagDictionary, BagLimits, BagShards, BagWriter, Checksum, Options};

impl BagTarget {
    /// The target of `pack` and `convert`.
    pub fn of(encoding: &Encoding, output: &BagOutput) -> BagTarget {
        let (codec, dictionary) = (encoding.codecs.codec, output.dictionary.clone());
        let codec = BagCodec { codec, dictionary };
        BagTarget { codec, level: encoding.codecs.level, checksum: encoding.checksum }
    }
}

/// What happens to a bag that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Create,
    Replace,
    Append,
}

impl Mode {
    pub fn of(append: bool, force: bool) -> Result<Mode> {
        match (append, force) {
            (true, true) => Err(usage!("--append and --force exclude each other")),
            (true, false) => Ok(Mode::Append),
            (false, true) => Ok(Mode::Replace),
            (false, false) => Ok(Mode::Create),
        }
    }
}

/// How a bag is written.
pub struct Plan {
    /// The name of the file, or of the set.
    pub path: FileName,
    pub mode: Mode,
    options: Options,
    /// Those to open it when it is written.
    reading: Options,
}

impl Plan {
    /// Checks the options that are about writing a bag, and reads the dictionary. Nothing else is
    /// opened.
    pub fn new(
        out: &FileName,
        mode: Mode,
        output: &BagOutput,
        target: &BagTarget,
        threads: Option<usize>,
        sync: &Sync,
    ) -> Result<Plan> {
        check_shards(out, output)?;
        let given = options::given(Options::new(), threads, Options::threads);
        let mut reading = options::bag_codec(given, target.codec.codec)?;
        if output.separate {
            reading = reading.bag_limits(BagLimits::Separate);
        }
        let mut options = options::sync(reading.clone(), sync);
        options = options::given(options, target.level, Options::level);
        match target.checksum {
            None => {}
            Some(Checksum::None) => options = options.checksum(Checksum::None),
            Some(_) => {
                return Err(usage!("--checksum takes none for bags, or the default is written"));
            }
        }
        options = options::dictionary(options, target.codec.dictionary.as_ref())?;
        match (output.store_dictionary, output.train_dictionary) {
            (true, _) => options = options.bag_dictionary(BagDictionary::Stored),
            (_, true) => options = options.bag_dictionary(BagDictionary::Auto),
            _ => {}
        }
        Ok(Plan { path: path_of(out, output), mode, options, reading })
    }

    /// Appends to a set that does not say that it was written in turns.
    pub fn interleaved(mut self) -> Plan {
        self.options = self.options.bag_shards(BagShards::Interleaved);
        self
    }

    pub fn open(&self) -> Result<Writer<'_>> {
        let (path, options) = (&self.path, &self.options);
        let writer = match self.mode {
            Mode::Create => BagWriter::create(standard::output(path), options),
            Mode::Replace => BagWriter::replace(standard::output(path), options),
            Mode::Append => BagWriter::open(standard::output(path), options),
        };
        Ok(Writer {
            plan: self,
            writer: writer.map_err(|error| opening(path, &error))?,
            refused_frames: None,
            records: 0,
            bytes: 0,
        })
    }
}

/// The failure to open a bag to write it. Reading and writing name the order of a set in different
/// ways.
fn opening(path: &FileName, error: &holdall::Error) -> Failure {
    match library(path)(error.clone()) {
        Failure::Message(text) => {
            Failure::Message(text.replace("--shard-order interleaved", "--interleaved"))
        }
        other => other,
    }
}

fn check_shards(out: &FileName, output: &BagOutput) -> Result {
    if output.shards.is_some() {
        standard::refuse_files(out, "a bag with --shards", "omit --shards")?;
    }
    if output.separate {
        standard::refuse_files(out, "a bag with --separate", "omit --separate")?;
    }
    let mut after_at = out.split().1.iter().skip_while(|byte| **byte != b'@').skip(1);
    let is_set = after_at.next().is_some_and(|byte| *byte == b'*' || byte.is_ascii_digit());
    if output.shards.is_some() && is_set {
        return Err(usage!("'{out}' says how many files there are, and so does --shards"));
    }
    match (output.shard, output.shards) {
        (Some(_), None) => Err(usage!("--shard wants to know of how many, --shards N")),
        (Some(shard), Some(count)) if shard >= count => {
            Err(usage!("--shard takes 0 to {} with --shards {count}, not {shard}", count - 1))
        }
        _ => Ok(()),
    }
}

/// Returns the path, or spec, of the bag that is written: with 8 shards it is OUT@8.bagz for
/// OUT.bagz, and the fourth of them alone OUT-00003-of-00008.bagz.
fn path_of(out: &FileName, output: &BagOutput) -> FileName {
    let Some(count) = output.shards else {
        return out.clone();
    };
    let (folder, name) = out.split();
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0);
    let (stem, end) = name.split_at(dot.unwrap_or(name.len()));
    let shards = match output.shard {
        Some(shard) => format!("-{shard:05}-of-{count:05}"),
        None => format!("@{count}"),
    };
    [&escaped(folder)[..], &escaped(stem), shards.as_bytes(), &escaped(end)].concat().into()
}

/// A name as a spec has it: with a backslash before a character that would mean something there.
pub fn escaped(name: &[u8]) -> Vec<u8> {
    let mut spec = Vec::new();
    for byte in name {
        if matches!(byte, b'@' | b',' | b'\\') {
            spec.push(b'\\');
        }
        spec.push(*byte);
    }
    spec
}

/// An open bag. It counts the records that were appended, and their bytes.
pub struct Writer<'a> {
    plan: &'a Plan,
    writer: BagWriter,
    /// The bag whose first record with bytes must be no zstd frame: it would be compressed again.
    pub refused_frames: Option<FileName>,
    records: u64,
    bytes: u64,
}

impl Writer<'_> {
    /// Makes the records visible, and prints a note that says with `done` what was done.
    pub fn commit(mut self, done: Option<&str>) -> Result {
        let path = &self.plan.path;
        if signals::stopped() {
            return Err(Failure::Stopped);
        }
        self.writer.commit().map_err(library(path))?;
        progress::end();
        let Some(done) = done.filter(|_| !report::is_quiet()) else {
            return Ok(());
        };
        let (records, bytes, size) = (self.records, self.bytes, self.writer.len());
        // a failure to find that out is no failure to write
        let stored = Bag::open_with(standard::output(path), &self.plan.reading);
        let advice = match &stored {
            Ok(bag) if self.plan.mode != Mode::Append => advice::on_size(bag, bytes),
            _ => Ok(None),
        };
        let stored = stored.map_or(0, |bag| bag.stored_bytes());
        report::note(&format!(
            "{path}: {records} record{} of {bytes} byte{} {done}; now {size} record{} in {stored} bytes",
            plural(records),
            plural(bytes),
            plural(size),
        ));
        if let Ok(Some(advice)) = advice {
            report::note(&format!("{path}: {advice}"));
        }
        Ok(())
    }

    pub fn append(&mut self, record: &[u8]) -> Result {
        self.take(Batch { data: record, offsets: &[0, record.len() as u64] })
    }

    fn refuse_frames(&mut self, batch: Batch) -> Result {
        let first = batch.iter().find(|record| !record.is_empty());
        match (&self.refused_frames, first) {
            (Some(input), Some([0x28, 0xb5, 0x2f, 0xfd, ..])) => Err(failure!(
                "{input}: its records are zstd frames, and its name does not end in .bagz: a link to it with such a \
                 name is read decompressed; --from bagz takes the frames as the records"
            )),
            (_, Some(_)) => {
                self.refused_frames = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Sink for Writer<'_> {
    fn copy(&mut self, bag: &Bag) -> Result<u64> {
        // the first record with bytes decides
        if self.refused_frames.is_some() {
            return Ok(0);
        }
        let before = self.writer.len();
        let appended = self.writer.append_from(bag);
        let n = self.writer.len() - before;
        self.records += n;
        self.bytes += match appended {
            Ok((bytes, _)) => bytes,
            // the caller reads the next record, which names the cause
            Err(_) => {
                let length = |i| bag.record_len(i).map(|length| length as u64);
                let lengths = (0..n).map(length).sum::<holdall::Result<u64>>();
                lengths.map_err(library(&self.plan.path))?
            }
        };
        if signals::stopped() { Err(Failure::Stopped) } else { Ok(n) }
    }

    fn take(&mut self, batch: Batch) -> Result {
        if self.refused_frames.is_some() {
            self.refuse_frames(batch)?;
        }
        let appended = self.writer.append_concatenated(batch.data, batch.offsets);
        appended.map_err(library(&self.plan.path))?;
        self.records += batch.len() as u64;
        self.bytes += batch.bytes().len() as u64;
        if signals::stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }
}
