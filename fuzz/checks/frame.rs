//! Any bytes as a frame of c-blosc2: header, index and trailer. What is read is written again as the same bytes, and
//! what is sealed tells that it was changed: the first two bytes say where and how.
use holdall::error::{Error, Status};
use holdall::superchunk::frame::header::Header;
use holdall::superchunk::frame::seal::{self, Writer};
use holdall::superchunk::frame::{index, trailer::Trailer};

const LIMIT: u64 = 1 << 18;

fn refused(e: &Error) {
    assert!(!e.message.is_empty() && !matches!(e.status, Status::Panic | Status::Argument), "{e:?}");
}

/// The header, and what is behind it.
fn header(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let len = Header::prefix_len(bytes).inspect_err(refused).ok()? as usize;
    let (own, rest) = bytes.split_at_checked(len)?;
    let header = Header::parse(own).inspect_err(refused).ok()?;
    assert!(header.encode().unwrap() == own, "another header");
    let _ = header.params().inspect_err(refused);
    Some((header, own, rest))
}

/// The trailer, and what is before it.
fn trailer(bytes: &[u8]) -> Option<(Trailer, &[u8], &[u8])> {
    let len = Trailer::length(bytes).inspect_err(refused).ok()? as usize;
    let (before, own) = bytes.split_at_checked(bytes.len().checked_sub(len)?)?;
    let trailer = Trailer::parse(own).inspect_err(refused).ok()?;
    assert!(trailer.encode().unwrap() == own, "another trailer");
    Some((trailer, own, before))
}

/// The index of so many chunks.
fn read_index(bytes: &[u8], chunks: u64) {
    let Ok(slots) = index::decode(bytes, chunks, LIMIT).inspect_err(refused) else { return };
    assert_eq!(slots.len() as u64, chunks);
    let again = index::encode(&slots).unwrap();
    assert!(index::decode(&again, chunks, LIMIT) == Ok(slots), "another index");
}

/// A byte of the parts is changed: the seal tells.
fn sealed(mut header: Header, index: &[u8], mut trailer: Trailer, at: u8, bits: u8) {
    let Ok((mut head, mut tail)) = seal::seal(&mut header, index, &mut trailer) else { return };
    assert_eq!(seal::check(&head, index, &tail), Ok(Writer::We));
    let from_end = tail.len() - 1 - usize::from(at).min(tail.len() - 1);
    tail[from_end] ^= bits;
    assert!(bits == 0 || seal::check(&head, index, &tail) != Ok(Writer::We), "a trailer that is damaged");
    tail[from_end] ^= bits;
    let at = usize::from(at).min(head.len() - 1);
    head[at] ^= bits;
    assert!(bits == 0 || seal::check(&head, index, &tail) != Ok(Writer::We), "a header that is damaged");
}

/// Panics where something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[at, bits], bytes)) = data.split_first_chunk::<2>() else { return };
    let (head, tail) = (header(bytes), trailer(bytes));
    if let Some((_, own, _)) = &tail {
        let _ = seal::check(bytes, own, own);
    }
    let Some((header, head, behind)) = head else { return };
    if let Ok(chunks) = header.chunks() {
        // as if all there is were the index, too
        for from in [0, usize::try_from(header.cbytes).unwrap_or(usize::MAX)] {
            read_index(behind.get(from..).unwrap_or_default(), chunks);
        }
    }
    let Some((trailer, tail, _)) = tail else { return };
    let Ok(place) = header.index_place(tail.len() as u32).inspect_err(refused) else { return };
    let range = place.map_or(0..0, |p| usize::try_from(p.start).unwrap_or(usize::MAX)..usize::try_from(p.end).unwrap_or(usize::MAX));
    let index = bytes.get(range).unwrap_or_default();
    let _ = seal::check(head, index, tail).inspect_err(|e| assert_eq!(e.status, Status::Checksum));
    sealed(header, index, trailer, at, bits);
}
