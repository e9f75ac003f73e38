//! The chunks of a frame whose index is lost: each says in its header how long it is, so that the
//! next one is behind it. Where one is damaged itself, the next is where a header is that fits the
//! frame.
#![forbid(unsafe_code)]

use super::header::Header;
use super::index::{LOST, Slot};
use super::storage::Site;
use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Result, Status};
use crate::io::{Access, File, read_buffer};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

/// What is searched at once.
const PIECE: usize = 64 << 10;

/// A chunk that is there: its place, and its bytes stored and of content.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub place: u64,
    cbytes: u32,
    pub nbytes: u32,
}

/// What the header of a chunk must say.
struct Wanted<'a> {
    header: &'a Header,
    /// How long chunks are that have checksums.
    lengths: HashSet<u32>,
}

impl Wanted<'_> {
    fn seen(&self, place: u64, bytes: &[u8], room: u64) -> Option<Seen> {
        let own = blosc::Header::parse(bytes)
            .ok()
            .filter(|h| h.extended() && h.cbytes as u64 <= room)?;
        let (nbytes, cbytes) = (
            u32::try_from(own.nbytes).ok()?,
            u32::try_from(own.cbytes).ok()?,
        );
        let fits = match self.header.chunksize {
            0 => self.lengths.is_empty() || self.lengths.contains(&cbytes),
            size => nbytes == size || (nbytes < size && nbytes > 0 && !self.is_index(&own)),
        };
        fits.then_some(Seen {
            place,
            cbytes,
            nbytes,
        })
    }

    fn is_index(&self, own: &blosc::Header) -> bool {
        own.typesize == 8 && self.header.typesize != 8
    }

    /// Can a chunk begin with these bytes, wherever they are?
    fn begins(&self, bytes: &[u8]) -> bool {
        let [3..=5, _, flags, _, n0, n1, n2, n3, ..] = *bytes else {
            return false;
        };
        let nbytes = u32::from_le_bytes([n0, n1, n2, n3]);
        flags & 5 == 5 && (nbytes == self.header.chunksize || self.header.chunksize == 0)
    }
}

/// A part of a file that is looked at byte by byte.
struct Window<'a> {
    file: &'a dyn File,
    at: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// Bytes from a place on: as many as a header has, or more, where they are there.
    fn from(&mut self, at: u64, end: u64) -> Result<&[u8]> {
        let ends = self.at.saturating_add(self.bytes.len() as u64);
        if at < self.at || at.saturating_add(blosc::LONG as u64) > ends {
            let n = file_piece(end.saturating_sub(at));
            self.bytes = alloc::zeroed(n)?;
            let n = self.file.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(n);
            self.at = at;
        }
        Ok(usize::try_from(at - self.at)
            .ok()
            .and_then(|skip| self.bytes.get(skip..))
            .unwrap_or_default())
    }
}

fn file_piece(left: u64) -> usize {
    usize::try_from(left).unwrap_or(PIECE).min(PIECE)
}

/// The chunks of a frame in one file, in the order in which they stand there. Places count from
/// `range.start` on.
pub fn in_file(
    file: &dyn File,
    range: Range<u64>,
    header: &Header,
    sums: &[[u32; 2]],
) -> Result<Vec<Seen>> {
    let wanted = Wanted {
        header,
        lengths: sums.iter().map(|[n, _]| *n).filter(|n| *n > 0).collect(),
    };
    let (mut found, mut at) = (Vec::new(), range.start);
    let mut window = Window {
        file,
        at,
        bytes: Vec::new(),
    };
    while at.saturating_add(blosc::LONG as u64) <= range.end {
        let bytes = window.from(at, range.end)?;
        let Some(behind) = bytes.len().checked_sub(blosc::LONG - 1).filter(|n| *n > 0) else {
            break;
        };
        // behind the one before, or wherever one can be
        let hit = bytes
            .windows(blosc::LONG)
            .zip(at..)
            .find_map(|(bytes, here)| {
                let may = here == at || wanted.begins(bytes);
                if may {
                    wanted.seen(here - range.start, bytes, range.end - here)
                } else {
                    None
                }
            });
        at = match hit {
            Some(seen) => {
                alloc::reserve(&mut found, 1)?;
                found.push(seen);
                range
                    .start
                    .saturating_add(seen.place)
                    .saturating_add(seen.cbytes.into())
            }
            None => at.saturating_add(behind as u64),
        };
    }
    Ok(found)
}

/// The chunks of a frame that is a folder, by the numbers of their files.
pub fn in_folder(site: &Site, header: &Header, limit: u64) -> Result<Vec<Seen>> {
    let (mut numbers, wanted) = (
        site.chunks()?,
        Wanted {
            header,
            lengths: HashSet::new(),
        },
    );
    numbers.sort_unstable();
    let mut found = alloc::with_room(numbers.len())?;
    for number in numbers {
        let file = site.folder.open(&site.chunk(number), Access::Read)?;
        let (size, n) = (file.size()?, blosc::LONG);
        match read_buffer::with_range(&*file, 0, n, limit, |bytes| {
            Ok(wanted.seen(number, bytes, size))
        }) {
            Ok(seen) => found.extend(seen.filter(|s| u64::from(s.cbytes) == size)),
            Err(e) if e.status == Status::Format => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Which of these is which chunk, as the checksums of all chunks tell. What has none takes no room,
/// or is not known.
pub fn by_sums(
    seen: &[Seen],
    sums: &[[u32; 2]],
    mut sum_of: impl FnMut(&Seen) -> Result<u32>,
) -> Result<Vec<Slot>> {
    let mut there: HashMap<[u32; 2], (usize, VecDeque<u64>)> = HashMap::new();
    let mut lengths = HashSet::new();
    for sum in sums {
        there.entry(*sum).or_default().0 += 1;
        lengths.insert(sum[0]);
    }
    for chunk in seen.iter().filter(|s| lengths.contains(&s.cbytes)) {
        if let Some((uses, places)) = there.get_mut(&[chunk.cbytes, sum_of(chunk)?]) {
            places.push_back(chunk.place);
            // of more that are the same, those that were written first count no more
            if places.len() > *uses {
                places.pop_front();
            }
        }
    }
    let mut slots = alloc::with_room(sums.len())?;
    slots.extend(sums.iter().map(|sum| {
        match there
            .get_mut(sum)
            .and_then(|(_, places)| places.pop_front())
        {
            _ if *sum == [0, 0] => Slot::Zeros,
            Some(place) => Slot::At(place),
            None => Slot::Unknown(LOST),
        }
    }));
    Ok(slots)
}

/// The CRC-32 of one of them.
pub fn sum_of(site: &Site, file: &dyn File, base: u64, chunk: &Seen, limit: u64) -> Result<u32> {
    let sum = |bytes: &[u8]| Ok(crc32(bytes));
    if site.sparse {
        let own = site.folder.open(&site.chunk(chunk.place), Access::Read)?;
        return read_buffer::with_range(&*own, 0, chunk.cbytes as usize, limit, sum);
    }
    read_buffer::with_range(
        file,
        base.saturating_add(chunk.place),
        chunk.cbytes as usize,
        limit,
        sum,
    )
}
