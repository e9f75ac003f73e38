//! `holdall sum`: a digest of the content, the same however it is stored: of records after their lengths, as
//! `cat --lengths` prints them, otherwise of what `cat --to raw` prints.

use crate::array::selection::each_piece;
use crate::bag::Access;
use crate::cli::Sum;
use crate::cli::slice::Picks;
use crate::cli::usage::Usage;
use crate::content::{Content, has_objects, in_c_order};
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::rows::frame::{Batch, Stored, Takes};
use crate::superchunk::cat::give;
use crate::superchunk::source::{Damage, Source};
use crate::{failure, options, progress, report, signals};
use holdall::{Checksum, Format, Options, Schunk, Table};

/// Bytes of rows that are hashed at once.
const ROWS: usize = 1 << 16;

struct Summing<'a> {
    args: &'a Sum,
    slice: Option<&'a Picks>,
    options: Options,
    checksum: Checksum,
}

impl Summing<'_> {
    /// Returns the digest of the bytes that `give` passes on.
    fn hash(
        &self,
        give: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result) -> Result,
    ) -> Result<Vec<u8>> {
        let mut hasher = self.checksum.hasher();
        give(&mut |bytes| {
            hasher.update(bytes);
            if signals::stopped() { Err(Failure::Stopped) } else { Ok(()) }
        })?;
        Ok(hasher.finish())
    }

    fn bag(&self, path: &FileName) -> Result<Vec<u8>> {
        let bag = Access::of(&self.args.source)?.sliced(self.slice)?.open(path)?;
        bag.checksum(self.checksum).map(|(digest, _)| digest).map_err(library(path))
    }

    fn superchunk(&self, path: &FileName) -> Result<Vec<u8>> {
        let (source, mut damage) = Source::open(path, &self.options, false)?;
        if self.slice.is_none() {
            return self.stored(path);
        }
        Picks::plain(self.slice, "a superchunk")?;
        self.hash(|take| give(&source, self.slice, &mut damage, take))
    }

    /// All of the content as it is stored.
    fn stored(&self, path: &FileName) -> Result<Vec<u8>> {
        let schunk = Schunk::open_with(path, &self.options).map_err(library(path))?;
        schunk.checksum(self.checksum).map(|(digest, _)| digest).map_err(library(path))
    }

    /// The rows as `cat --to raw` prints them: the items of each row end to end.
    fn rows(&self, path: &FileName, table: &Table) -> Result<Vec<u8>> {
        let stored = Stored::of_table(path, table, None, None, Takes::Nothing)?;
        let mut rows = Vec::new();
        self.hash(|take| {
            stored.each(&mut Damage::new(path), |batch: &Batch| {
                for i in 0..batch.rows {
                    batch.put_row(&stored.frame, i, &mut rows);
                    if rows.len() >= ROWS || i + 1 == batch.rows {
                        take(&rows)?;
                        rows.clear();
                    }
                }
                Ok(())
            })
        })
    }

    fn dataset(&self, path: &FileName) -> Result<Vec<u8>> {
        let content = Content::dataset(path, self.args.source.frame.at, &self.options)?;
        let (content, _) = content.select(path, self.slice, None)?;
        match &content {
            Content::Table(table) => self.rows(path, table),
            Content::Array(array) if has_objects(array) => {
                Err(failure!("{path}: objects of Python have no digest"))
            }
            Content::Array(array)
                if array.format() == Format::Bloscpack
                    && self.slice.is_none()
                    && in_c_order(array) =>
            {
                self.stored(path)
            }
            Content::Array(array) => self
                .hash(|take| each_piece(array, None, false, (path, &mut Damage::new(path)), take)),
            _ => self.stored(path),
        }
    }

    fn digest(&self, path: &FileName) -> Result<String> {
        progress::begin("sum");
        let digest = match detect::container(path, self.args.source.frame.at) {
            Container::Bag => self.bag(path),
            Container::Superchunk => self.superchunk(path),
            Container::Dataset => self.dataset(path),
            Container::Store => Err(detect::refuse_store(path)),
        };
        progress::end();
        let mut digest = digest?;
        // numbers are printed as other tools do
        if matches!(self.checksum, Checksum::Crc32 | Checksum::Adler32) {
            digest.reverse();
        }
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

pub fn run(args: &Sum, usage: &Usage) -> Result<Exit> {
    usage.fit_paths(&args.paths, args.source.frame.at)?;
    signals::catch();
    let summing = Summing {
        args,
        slice: args.slice.as_ref(),
        options: options::source(&args.source)?,
        checksum: args.checksum,
    };
    let (mut output, mut has_failed) = (Output::standard(), false);
    for path in &args.paths {
        match summing.digest(path) {
            Ok(digest) if args.json => output.line(serde_json::json!({
                "path": path,
                "checksum": format!("{:?}", args.checksum).to_lowercase(),
                "digest": digest,
            }))?,
            Ok(digest) => output.line(format_args!("{digest}  {path}"))?,
            Err(Failure::Message(text)) => {
                has_failed = true;
                report::error(&text);
            }
            Err(failure) => return Err(failure),
        }
    }
    output.finish(Exit::damaged(has_failed))
}
