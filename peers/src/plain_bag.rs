//! A bag read and written as its README says, in as few lines as possible.

/// Returns the records of a bag with its limits at the end. `compressed`: each record is a zstd
/// frame.
pub fn read(bag: &[u8], compressed: bool) -> Option<Vec<Vec<u8>>> {
    let Some((_, last)) = bag.split_last_chunk::<8>() else {
        return bag.is_empty().then(Vec::new);
    };
    let (records, limits) =
        bag.split_at_checked(usize::try_from(u64::from_le_bytes(*last)).ok()?)?;
    let mut start = 0;
    limits
        .chunks_exact(8)
        .map(|limit| {
            let end = usize::try_from(u64::from_le_bytes(limit.try_into().ok()?)).ok()?;
            let stored = records.get(start..end)?;
            start = end;
            if compressed && !stored.is_empty() {
                decoded(stored)
            } else {
                Some(stored.to_vec())
            }
        })
        .collect()
}

fn decoded(frame: &[u8]) -> Option<Vec<u8>> {
    let size = zstd_safe::get_frame_content_size(frame).ok()??;
    let mut record = vec![0; usize::try_from(size).ok()?];
    let n = zstd_safe::decompress(&mut record[..], frame).ok()?;
    (n == record.len()).then_some(record)
}

/// Returns a bag of these records.
pub fn write(records: &[Vec<u8>], compressed: bool) -> Vec<u8> {
    let (mut bag, mut limits) = (Vec::new(), Vec::new());
    for record in records {
        if compressed && !record.is_empty() {
            let mut frame = vec![0; zstd_safe::compress_bound(record.len())];
            let n = zstd_safe::compress(&mut frame[..], record, 3).expect("room for the frame");
            bag.extend(&frame[..n]);
        } else {
            bag.extend(record);
        }
        limits.extend((bag.len() as u64).to_le_bytes());
    }
    bag.extend(limits);
    bag
}
