//! Repair of arrays and tables in the BLZ RFC layout: the superchunks of all fields.
//!
//! The repair first fixes the metadata files. Then one commit cuts off corrupt chunks at the end or
//! replaces them by the default value. A copy of each corrupt file stays beside it.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::attrs::FILES;
use super::chunks::{ReadConfig, has_superchunks, is_corrupt_or_missing};
use super::commit::{Writer, tidy};
use super::folder::DatasetDir;
use super::meta::{Meta, SIZES, STORAGE, parse, sizes};
use super::repair::{PreparedFiles, RepairSettings, back_up, damaged_attrs};
use super::superchunks;
use super::text_checksum::{self, with_checksum};
use super::yaml::may_be_yaml;
use crate::array::store::Store;
use crate::error::{Result, Status, fail};
use crate::io::journal::Session;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::sync::Arc;

/// Chunks that are retained, and chunks and attribute files that are lost.
type Counts = (u64, u64);

/// Repairs a dataset in the BLZ RFC layout. Returns `None` if `dir` is not such a dataset.
pub fn repair(
    dir: &DatasetDir,
    settings: &RepairSettings,
    options: &Options,
    session: &Arc<Session>,
) -> Result<Option<Counts>> {
    let limit = options.memory_limit();
    let own = dir.trusted(settings.trust);
    let Some(text) = dir.trusted(true).read(STORAGE, limit)? else {
        return Ok(None);
    };
    let Ok(mut meta) = parse(&text).and_then(Meta::of_storage) else {
        return Ok(None);
    };
    meta.is_yaml = may_be_yaml(&text);
    if !is_blz_rfc(dir, &meta, options)?
        || (text_checksum::check(&text).is_err() && !settings.trust)
    {
        // the general repair reports it
        return Ok(None);
    }
    for below in ["", "data", "meta"] {
        tidy(dir, below)?;
    }
    let lost = small_files(&own, &text, &meta, settings, options, session)?;
    let (retained, dropped) = chunks(&own, settings, options, session)?;
    Ok(Some((retained, dropped + lost)))
}

/// Returns the options for reading files during a repair: only the memory limit.
fn limited(options: &Options) -> Result<Options> {
    Options::new().with(
        Opt::MemoryLimit,
        i64::try_from(options.memory_limit()).unwrap_or(i64::MAX),
    )
}

fn is_blz_rfc(dir: &DatasetDir, meta: &Meta, options: &Options) -> Result<bool> {
    let mut empty = meta.clone();
    empty.array.shape = vec![0];
    let config = ReadConfig::new(&limited(options)?, dir);
    Ok(meta.superchunk.is_some()
        || has_superchunks(&dir.subdir("data")?, || Ok(false))?
        || ArrayFile::fields(dir, &empty, &config)?.is_some())
}

/// Fixes `meta/sizes`, the attributes and the checksum of `meta/storage`. Returns the number of
/// attribute files that are lost.
fn small_files(
    dir: &DatasetDir,
    storage: &[u8],
    meta: &Meta,
    settings: &RepairSettings,
    options: &Options,
    session: &Session,
) -> Result<u64> {
    let limit = options.memory_limit();
    let (mut damaged, _) = damaged_attrs(dir, limit, meta.has_checksum())?;
    let lost = damaged.len() as u64;
    let mut texts: Vec<(&'static str, String)> = damaged
        .iter()
        .map(|name| (*name, "{}\n".to_owned()))
        .collect();
    if !FILES
        .iter()
        .map(|f| dir.has(f))
        .collect::<Result<Vec<_>>>()?
        .contains(&true)
    {
        texts.push((FILES[1], "{}\n".to_owned()));
    }
    if text_checksum::check(storage).is_err() {
        texts.push((STORAGE, meta.storage_text()));
    }
    match Meta::read(dir, limit, settings.trust) {
        Err(e) if is_corrupt_or_missing(e.status) => {
            let rows = stored_rows(dir, meta, options)?;
            if dir.has(SIZES)? {
                damaged.push(SIZES);
            }
            texts.push((
                SIZES,
                sizes(
                    &[rows],
                    rows.saturating_mul(meta.array.dtype.item.size as u64),
                    0,
                    meta.is_yaml,
                ),
            ));
        }
        read => read.map(|_| ())?,
    }
    for name in &damaged {
        back_up(dir, name, options.get(Opt::Durability, 1) == 1)?;
    }
    if meta.has_checksum() {
        texts
            .iter_mut()
            .for_each(|(_, text)| *text = with_checksum(std::mem::take(text)));
    }
    let mut prepared = PreparedFiles::default();
    prepared.texts(dir, &texts, &damaged, settings)?;
    prepared.commit(session)?;
    Ok(lost)
}

/// Returns the number of rows that the files of all fields have.
fn stored_rows(dir: &DatasetDir, meta: &Meta, options: &Options) -> Result<u64> {
    let mut empty = meta.clone();
    empty.array.shape = vec![0];
    let config = ReadConfig::new(&limited(options)?.with(Opt::SkipDamaged, 1)?, dir);
    empty.chunked.take_if(|chunk| chunk.shape.len() == 1);
    if empty.chunked.is_some() {
        return Err(fail!(
            Format,
            "{}: the shape is lost, and the data files do not determine it",
            dir.show(SIZES)
        ));
    }
    let file = ArrayFile::open(dir, empty, &config)?;
    let mut rows = u64::MAX;
    for ((chunk_dir, _), row) in file.chunk_dirs().iter().zip(file.row_bytes()) {
        let open = |n: u64| {
            Bloscpack::open_in(
                chunk_dir.folder(),
                &chunk_dir.name(&superchunks::name(n)),
                Mode::Read,
                &config.options,
            )
        };
        let mut last = 0;
        while last < u64::from(u32::MAX) && chunk_dir.has(&superchunks::name(last + 1))? {
            last += 1;
        }
        let chunk = meta.chunklen.saturating_mul(row).max(1);
        let field_rows = match last {
            0 => 0,
            _ => {
                let each = meta
                    .superchunk
                    .map_or_else(|| open(1).map(|f| f.chunks() as u64), Ok)?;
                let content = open(last)?.nbytes();
                if content > chunk.saturating_mul(each) || !content.is_multiple_of(row.max(1)) {
                    let message =
                        "the shape of a row is lost, and the data files do not determine it";
                    return Err(fail!(Format, "{}: {message}", dir.show(SIZES)));
                }
                (last - 1)
                    .saturating_mul(each)
                    .saturating_mul(meta.chunklen)
                    .saturating_add(content / row.max(1))
            }
        };
        rows = rows.min(field_rows);
    }
    Ok(if rows == u64::MAX { 0 } else { rows })
}

/// Cuts off or replaces corrupt chunks. Returns how many are retained and how many are lost.
fn chunks(
    dir: &DatasetDir,
    settings: &RepairSettings,
    options: &Options,
    session: &Arc<Session>,
) -> Result<Counts> {
    let limit = options.memory_limit();
    let meta = Meta::read(dir, limit, settings.trust)?;
    let strict = ArrayFile::open(dir, meta.clone(), &ReadConfig::new(&limited(options)?, dir))?;
    let corrupt = strict.damaged()?;
    let (all, lost) = (
        strict.chunks(),
        corrupt
            .iter()
            .flatten()
            .map(|r| r.end - r.start)
            .sum::<u64>(),
    );
    if lost == 0 {
        return Ok((all, 0));
    }
    let name = dir.show("");
    if lost == all {
        return Err(fail!(
            Format,
            "{name}: none of its {all} chunks is intact, so nothing can be repaired"
        ));
    }
    if meta.chunked.is_some() && !settings.skip {
        let message = "of the chunks are corrupt, and an array in chunks along every dimension cannot be cut off; nothing was changed; use HOLDALL_OPT_SKIP_DAMAGED to replace them by the default value";
        return Err(fail!(Format, "{name}: {lost} {message}"));
    }
    let per_run = all / corrupt.len().max(1) as u64;
    let mut first = per_run;
    for run in corrupt.iter().filter(|_| !settings.skip) {
        let Some(at) = run.first().map(|r| r.start) else {
            continue;
        };
        if !matches!(&run[..], [one] if one.end == per_run) {
            let message = "is corrupt, and later ones are intact; nothing was changed; use HOLDALL_OPT_SKIP_DAMAGED to replace it by the default value";
            return Err(fail!(Format, "{name}: chunk {at} {message}").at(at));
        }
        first = first.min(at);
    }
    drop(strict);
    let config = ReadConfig::new(&limited(options)?.with(Opt::SkipDamaged, 1)?, dir);
    let rows = if settings.skip {
        meta.rows()
    } else {
        first.saturating_mul(meta.chunklen).min(meta.rows())
    };
    let shape = [&[rows], meta.row()].concat();
    let bytes = meta
        .row_items()?
        .saturating_mul(meta.array.dtype.item.size as u64)
        .saturating_mul(rows);
    let writer = Writer::new(dir, Mode::Append, options, session)?;
    let mut file = ArrayFile::open_for_writing(dir, meta, &config, &limited(options)?, writer)?;
    if !settings.skip {
        file.truncate(bytes)?;
        file.set_shape(&shape)?;
    }
    for (run, corrupt) in corrupt.iter().enumerate() {
        // the file does not contain the bytes after the last row any more
        let last = first
            .checked_sub(1)
            .filter(|_| !settings.skip && !corrupt.is_empty());
        file.rewrite(
            run,
            corrupt
                .iter()
                .cloned()
                .flatten()
                .filter(|_| settings.skip)
                .chain(last),
            &|chunk_dir, name| match back_up(chunk_dir, name, settings.is_durable()) {
                Err(e) if e.status == Status::Missing => Ok(()),
                done => done,
            },
        )?;
    }
    file.commit()?;
    let retained = if settings.skip {
        all - lost
    } else {
        first * corrupt.len() as u64
    };
    Ok((retained, all - retained))
}
