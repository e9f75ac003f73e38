//! Any bytes as a BloscLZ stream, and as data to compress: no panic; the result does not depend on
//! the size and the old content of the buffer; compressed data are decompressed unchanged. The
//! first byte chooses the level, the second one the buffer.
use holdall::blosc::blosclz::{compress, decompress};

fn decoded(stream: &[u8], room: usize, fill: u8) -> Option<Vec<u8>> {
    let mut dst = vec![fill; room];
    let n = decompress(stream, &mut dst)?;
    assert!(n <= room);
    dst.truncate(n);
    Some(dst)
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let &[level, room, ref bytes @ ..] = data else {
        return;
    };
    let room = usize::from(room) * usize::from(room);
    let out = decoded(bytes, room, 0);
    assert_eq!(out, decoded(bytes, room, 255));
    if let Some(out) = &out {
        assert_eq!(decoded(bytes, out.len(), 1).as_ref(), Some(out));
        assert_eq!(decoded(bytes, out.len() - 1, 1), None);
    }
    // small inputs have few repetitions: the content of a stream is compressed, too
    for data in [bytes, out.as_deref().unwrap_or_default()] {
        let mut stream = vec![0; data.len()];
        match compress(level % 10, data, &mut stream) {
            0 => {}
            n => assert!(
                n < data.len() && decoded(&stream[..n], data.len(), 2).as_deref() == Some(data)
            ),
        }
    }
}
