//! Repair of datasets in the papers' form, be they arrays or tables: superchunks, of all fields.
//!
//! First the small files are made whole; then chunks that are damaged are cut off at the end, or
//! become the default value, with one commit. A copy of what was damaged stays beside it.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::attrs::FILES;
use super::chunks::{How, has_superchunks, is_damage};
use super::commit::{Site, Writer, tidy};
use super::folder::Place;
use super::meta::{Meta, SIZES, STORAGE, parse, sizes};
use super::repair::{Ready, Wish, damaged_attrs, keep};
use super::superchunks;
use super::text_checksum::{self, sealed};
use crate::array::store::Store;
use crate::error::{Result, Status, fail};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::sync::Arc;

/// Chunks, and files of attributes, that stay, and that are lost.
type Done = (u64, u64);

/// Repairs such a dataset; nothing where this is none.
pub fn repair(
    place: &Place,
    wish: &Wish,
    options: &Options,
    site: &Arc<Site>,
) -> Result<Option<Done>> {
    let limit = options.memory_limit();
    let own = place.trusted(wish.trust);
    let Some(text) = place.trusted(true).read(STORAGE, limit)? else {
        return Ok(None);
    };
    let Ok(meta) = parse(&text).and_then(Meta::of_storage) else {
        return Ok(None);
    };
    if !is_of_papers(place, &meta, options)?
        || (text_checksum::check(&text).is_err() && !wish.trust)
    {
        // what the other words are for
        return Ok(None);
    }
    for below in ["", "data", "meta"] {
        tidy(place, below)?;
    }
    let lost = small_files(&own, &text, &meta, wish, options)?;
    let (kept, dropped) = chunks(&own, wish, options, site)?;
    Ok(Some((kept, dropped + lost)))
}

/// The options for files that are read: of those for a repair, the memory limit.
fn limited(options: &Options) -> Result<Options> {
    Options::new().with(
        Opt::MemoryLimit,
        i64::try_from(options.memory_limit()).unwrap_or(i64::MAX),
    )
}

fn is_of_papers(place: &Place, meta: &Meta, options: &Options) -> Result<bool> {
    let mut empty = meta.clone();
    empty.array.shape = vec![0];
    let how = How::new(&limited(options)?, place);
    Ok(meta.superchunk.is_some()
        || has_superchunks(&place.down("data")?, || Ok(false))?
        || ArrayFile::fields(place, &empty, &how)?.is_some())
}

/// Makes `meta/sizes` and attributes whole, and `meta/storage` match its checksum. How many files
/// of attributes are lost.
fn small_files(
    place: &Place,
    storage: &[u8],
    meta: &Meta,
    wish: &Wish,
    options: &Options,
) -> Result<u64> {
    let limit = options.memory_limit();
    let (mut damaged, _) = damaged_attrs(place, limit, meta.is_sealed())?;
    let lost = damaged.len() as u64;
    let mut texts: Vec<(&'static str, String)> = damaged
        .iter()
        .map(|name| (*name, "{}\n".to_owned()))
        .collect();
    if !FILES
        .iter()
        .map(|f| place.has(f))
        .collect::<Result<Vec<_>>>()?
        .contains(&true)
    {
        texts.push((FILES[1], "{}\n".to_owned()));
    }
    if text_checksum::check(storage).is_err() {
        texts.push((STORAGE, meta.storage.to_string()));
    }
    match Meta::read(place, limit, wish.trust) {
        Err(e) if is_damage(e.status) => {
            let rows = rows_there(place, meta, options)?;
            if place.has(SIZES)? {
                damaged.push(SIZES);
            }
            texts.push((
                SIZES,
                sizes(
                    &[rows],
                    rows.saturating_mul(meta.array.dtype.item.size as u64),
                    0,
                ),
            ));
        }
        read => read.map(|_| ())?,
    }
    for name in &damaged {
        keep(place, name, options.get(Opt::Durability, 1) == 1)?;
    }
    if meta.is_sealed() {
        texts
            .iter_mut()
            .for_each(|(_, text)| *text = sealed(std::mem::take(text)));
    }
    let mut ready = Ready::default();
    ready.texts(place, &texts, &damaged, wish)?;
    ready.commit(place, wish)?;
    Ok(lost)
}

/// As many rows as all fields have in their files.
fn rows_there(place: &Place, meta: &Meta, options: &Options) -> Result<u64> {
    let mut empty = meta.clone();
    empty.array.shape = vec![0];
    let how = How::new(&limited(options)?.with(Opt::SkipDamaged, 1)?, place);
    let file = ArrayFile::open(place, empty, &how)?;
    let mut rows = u64::MAX;
    for ((way, _), row) in file.ways().iter().zip(file.row_bytes()) {
        let open = |n: u64| {
            Bloscpack::open_in(
                way.folder(),
                &way.name(&superchunks::name(n)),
                Mode::Read,
                &how.options,
            )
        };
        let mut last = 0;
        while last < u64::from(u32::MAX) && way.has(&superchunks::name(last + 1))? {
            last += 1;
        }
        let chunk = meta.chunklen.saturating_mul(row).max(1);
        let there = match last {
            0 => 0,
            _ => {
                let each = meta
                    .superchunk
                    .map_or_else(|| open(1).map(|f| f.chunks() as u64), Ok)?;
                let content = open(last)?.nbytes();
                if content > chunk.saturating_mul(each) || !content.is_multiple_of(row.max(1)) {
                    let words = "the shape of a row is lost, and its files do not tell it";
                    return Err(fail!(Format, "{}: {words}", place.show(SIZES)));
                }
                (last - 1)
                    .saturating_mul(each)
                    .saturating_mul(meta.chunklen)
                    .saturating_add(content / row.max(1))
            }
        };
        rows = rows.min(there);
    }
    Ok(if rows == u64::MAX { 0 } else { rows })
}

/// Cuts off, or fills, what is damaged. How many chunks stay, and how many are lost.
fn chunks(place: &Place, wish: &Wish, options: &Options, site: &Arc<Site>) -> Result<Done> {
    let limit = options.memory_limit();
    let meta = Meta::read(place, limit, wish.trust)?;
    let strict = ArrayFile::open(place, meta.clone(), &How::new(&limited(options)?, place))?;
    let bad = strict.damaged()?;
    let (all, lost) = (
        strict.chunks(),
        bad.iter().flatten().map(|r| r.end - r.start).sum::<u64>(),
    );
    if lost == 0 {
        return Ok((all, 0));
    }
    let name = place.show("");
    if lost == all {
        return Err(fail!(
            Format,
            "{name}: none of its {all} chunks is sound: there is nothing to keep"
        ));
    }
    let each = all / bad.len().max(1) as u64;
    let mut first = each;
    for run in bad.iter().filter(|_| !wish.skip) {
        let Some(at) = run.first().map(|r| r.start) else {
            continue;
        };
        if !matches!(&run[..], [one] if one.end == each) {
            let words = "is damaged, and others behind it are not; HOLDALL_OPT_SKIP_DAMAGED lets it be the default value, else nothing is changed";
            return Err(fail!(Format, "{name}: chunk {at} {words}").at(at));
        }
        first = first.min(at);
    }
    drop(strict);
    let how = How::new(&limited(options)?.with(Opt::SkipDamaged, 1)?, place);
    let rows = if wish.skip {
        meta.rows()
    } else {
        first.saturating_mul(meta.chunklen).min(meta.rows())
    };
    let shape = [&[rows], meta.row()].concat();
    let bytes = meta
        .row_items()?
        .saturating_mul(meta.array.dtype.item.size as u64)
        .saturating_mul(rows);
    let writer = Writer::new(place, Mode::Append, options, site)?;
    let mut file = ArrayFile::open_for_writing(place, meta, &how, &limited(options)?, writer)?;
    if !wish.skip {
        file.truncate(bytes)?;
        file.set_shape(&shape)?;
    }
    for (run, bad) in bad.iter().enumerate() {
        // what is behind the last row is not to be found in its file any more
        let last = first
            .checked_sub(1)
            .filter(|_| !wish.skip && !bad.is_empty());
        file.write_anew(
            run,
            bad.iter()
                .cloned()
                .flatten()
                .filter(|_| wish.skip)
                .chain(last),
            &|way, name| match keep(way, name, wish.is_durable()) {
                Err(e) if e.status == Status::Missing => Ok(()),
                done => done,
            },
        )?;
    }
    file.commit()?;
    let kept = if wish.skip {
        all - lost
    } else {
        first * bad.len() as u64
    };
    Ok((kept, all - kept))
}
