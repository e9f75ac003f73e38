//! Random content of the kinds that codecs and filters treat differently.

use fastrand::Rng;

/// Returns a size: often small, seldom several blocks of the default size.
pub fn size(rng: &mut Rng) -> usize {
    let most = match rng.u8(..100) {
        0..45 => 300,
        45..90 => 5_000,
        90..99 => 40_000,
        _ => 400_000,
    };
    rng.usize(..most)
}

/// Returns `n` bytes of items of `typesize` bytes: one kind of content, or a different one from some
/// position on.
pub fn bytes(rng: &mut Rng, n: usize, typesize: usize) -> Vec<u8> {
    let mut bytes = vec![0; n];
    let cut = if rng.u8(..4) == 0 { rng.usize(..=n) } else { n };
    let (first, rest) = bytes.split_at_mut(cut);
    fill(rng, first, typesize);
    fill(rng, rest, typesize);
    bytes
}

fn fill(rng: &mut Rng, bytes: &mut [u8], typesize: usize) {
    match rng.u8(..8) {
        0 => {}
        1 => rng.fill(bytes),
        2 => {
            let mut item = vec![0; typesize];
            rng.fill(&mut item);
            put_items(bytes, typesize, |_, out| {
                out.copy_from_slice(&item[..out.len()])
            });
        }
        3 => put_items(bytes, typesize, |_, out| put(out, &f64::NAN.to_le_bytes())),
        4 => {
            let (from, step) = (rng.u64(..), rng.u64(..1000));
            put_items(bytes, typesize, |i, out| {
                put(out, &from.wrapping_add(step * i as u64).to_le_bytes());
            });
        }
        5 => {
            let most = rng.u8(1..8);
            bytes.iter_mut().for_each(|byte| *byte = rng.u8(..=most));
        }
        6 => {
            let mut level = rng.f64() * 1000.0;
            put_items(bytes, typesize, |_, out| {
                level += rng.f64() - 0.5;
                match out.len() {
                    4 => put(out, &(level as f32).to_le_bytes()),
                    _ => put(out, &level.to_le_bytes()),
                }
            });
        }
        _ => {
            let period = rng.usize(1..200);
            let (head, rest) = bytes.split_at_mut(period.min(bytes.len()));
            rng.fill(head);
            for (i, byte) in rest.iter_mut().enumerate() {
                *byte = head[i % period];
            }
        }
    }
}

fn put_items(bytes: &mut [u8], typesize: usize, mut each: impl FnMut(usize, &mut [u8])) {
    bytes
        .chunks_mut(typesize)
        .enumerate()
        .for_each(|(i, item)| each(i, item));
}

fn put(out: &mut [u8], value: &[u8]) {
    let n = out.len().min(value.len());
    out[..n].copy_from_slice(&value[..n]);
}
