//! `holdall dictionary`: trains a zstd dictionary for records, and shows or writes the one of a bag.

use super::records::{Batch, Sink};
use super::{Access, parser, reader::Reader};
use crate::cli::{Dictionary, DictionaryAction, DictionaryTraining};
use crate::detect;
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::output::{self, Output};
use crate::report::{self, plural, size};
use crate::{failure, signals};
use holdall::{Bag, Format};
use serde_json::json;

/// Bytes of records per byte of the dictionary: more do not make it better.
const SAMPLE: usize = 100;

pub fn run(dictionary: &Dictionary) -> Result<Exit> {
    match &dictionary.action {
        DictionaryAction::Train(training) => train(training),
        DictionaryAction::Show { source, json, bag } => {
            show(&Access::of(source)?.open(bag)?, bag, *json)
        }
        DictionaryAction::Export { source, force, bag, out } => {
            let dictionary = of_bag(&Access::of(source)?.open(bag)?, bag)?;
            write(&dictionary.ok_or_else(|| none(bag))?, out, *force)
        }
    }
}

/// The first records, until there are enough.
struct Samples {
    records: Vec<Vec<u8>>,
    bytes: usize,
    most: usize,
}

impl Sink for Samples {
    fn take(&mut self, batch: Batch) -> Result {
        for record in batch.iter().filter(|record| !record.is_empty()) {
            if self.bytes >= self.most {
                return Err(Failure::Stopped);
            }
            self.bytes += record.len();
            self.records.push(record.to_vec());
        }
        Ok(())
    }
}

fn train(training: &DictionaryTraining) -> Result<Exit> {
    let (input, out) = (&training.input, &training.out);
    output::refuse_terminal(Some(out), "bytes")?;
    signals::catch();
    let most = (training.size as usize).saturating_mul(SAMPLE);
    let mut samples = Samples { records: Vec::new(), bytes: 0, most };
    let read = match detect::format(input, None) {
        Some(Format::Bagz) => {
            let access = Access::of(&training.source)?;
            Reader::open(input, &access, false)?.each(&mut samples)
        }
        _ => parser::each_line(&mut Input::open(input, Some(out))?, &mut samples),
    };
    match read {
        Err(Failure::Stopped) if !signals::stopped() => {}
        read => read?,
    }
    let trained = holdall::train_dictionary(&samples.records, training.size as usize);
    let dictionary = trained.map_err(library(input))?;
    let (records, bytes) = (samples.records.len() as u64, samples.bytes as u64);
    report::note(&format!(
        "{out}: {} bytes trained from {records} record{} of {bytes} byte{}",
        dictionary.len(),
        plural(records),
        plural(bytes)
    ));
    write(&dictionary, out, training.force)
}

fn of_bag(bag: &Bag, path: &FileName) -> Result<Option<Vec<u8>>> {
    bag.dictionary().map_err(library(path))
}

fn none(path: &FileName) -> Failure {
    failure!("{path}: it stores no dictionary, or its files store different ones")
}

fn show(bag: &Bag, path: &FileName, as_json: bool) -> Result<Exit> {
    let dictionary = of_bag(bag, path)?;
    let mut output = Output::standard();
    let id = dictionary.as_deref().and_then(id);
    let bytes = dictionary.as_ref().map(|d| d.len() as u64);
    if as_json {
        output.line(json!({ "path": path.to_string(), "id": id, "bytes": bytes }))?;
        return output.finish(Exit::Done);
    }
    let bytes = bytes.ok_or_else(|| none(path))?;
    let stored = bag.stored_bytes();
    if let Some(id) = id {
        output.line(format_args!("{:12}  {id}", "ID"))?;
    }
    output.line(format_args!("{:12}  {}", "bytes", size(bytes)))?;
    output.line(format_args!("{:12}  {}", "bag", size(stored)))?;
    output.finish(Exit::Done)
}

/// Returns the ID of a dictionary. One that is raw content, given with `--dictionary`, has none.
fn id(dictionary: &[u8]) -> Option<u32> {
    let after_magic = dictionary.strip_prefix(b"\x37\xa4\x30\xec")?;
    Some(u32::from_le_bytes(after_magic.get(..4)?.try_into().ok()?))
}

fn write(dictionary: &[u8], out: &FileName, force: bool) -> Result<Exit> {
    let mut file = OutputFile::create(out, force)?;
    file.put(dictionary)?;
    file.complete()?;
    Ok(Exit::Done)
}
