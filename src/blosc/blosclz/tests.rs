use super::*;
use proptest::prelude::*;

/// A byte-by-byte decoder of the format.
fn plain(src: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut bytes = src.iter().map(|&b| usize::from(b));
    let mut out = Vec::new();
    let mut control = bytes.next()? & 31;
    loop {
        if control < 32 {
            for _ in 0..=control {
                out.push(bytes.next()? as u8);
            }
        } else {
            let mut length = (control >> 5) + 2;
            let mut more = if length == 9 { 255 } else { 0 };
            while more == 255 {
                more = bytes.next()?;
                length += more;
            }
            let mut back = (control & 31) * 256 + bytes.next()?;
            if back == 8191 {
                back += bytes.next()? * 256 + bytes.next()?;
            }
            for _ in 0..length.min(limit + 1) {
                out.push(*out.get(out.len().checked_sub(back + 1)?)?);
            }
        }
        if out.len() > limit {
            return None;
        }
        match bytes.next() {
            Some(next) => control = next,
            None => return (control < 32).then_some(out),
        }
    }
}

fn decoded(src: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut dst = vec![0xA5; room];
    let n = decompress(src, &mut dst)?;
    dst.truncate(n);
    Some(dst)
}

fn encoded(level: u8, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; src.len()];
    let n = compress(level, src, &mut dst);
    dst.truncate(n);
    dst
}

/// A random number generator that is easy to reproduce in other languages.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn bytes(seed: u64, n: usize) -> Vec<u8> {
        let mut noise = Noise(seed);
        (0..n).map(|_| (noise.next() >> 56) as u8).collect()
    }
}

fn shuffled(data: &[u8]) -> Vec<u8> {
    (0..8)
        .flat_map(|i| data.iter().skip(i).step_by(8).copied())
        .collect()
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

/// Streams of c-blosc 1.21 and of c-blosc2 3.3, level 9.
#[test]
fn streams_of_the_references() {
    let noise = Noise::bytes(1, 40);
    let far = [
        &noise[..],
        &[0; 9000],
        &noise,
        &[1; 30],
        &noise[..13],
        &[2; 9000],
        &noise[20..30],
        &[3; 40],
    ]
    .concat();
    let text =
        b"She sells sea shells on the sea shore; the shells she sells are sea shells, I am sure.";
    let ramp = "3f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\
        1f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f1f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f";
    let ramp_data = [&(0..128).collect::<Vec<u8>>()[..], &[0; 384]].concat();
    let far_start =
        "3f6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a308528c8a3fcc2f044e00";
    let run = format!("e0{}", "ff".repeat(35));
    let (a, b) = (
        format!("{run}4100ff1fff03500001e01400e004450002{run}4100ff01ff26b70003e01c00010303"),
        format!(
            "{run}40000000ff1eff0350014e01e013000001e0034501c802{run}40000002ff00ff26b701e303e01b0002030303"
        ),
    );
    for (stream, data) in [
        ("2300000000e0ffff4b03010000", &[0; 600][..]),
        ("2300000000e0ffff4a0302000000", &[0; 600]),
        ("25616263616263e0ff1c05016263", &b"abc".repeat(100)),
        ("25616263616263e0ff1b0502616263", &b"abc".repeat(100)),
        (
            "3a5368652073656c6c7320736561207368656c6c73206f6e20746865801108686f72653b20746865a01c0d207368652073656c6c7320617265\
            80231068656c6c732c204920616d20737572652e",
            text,
        ),
        (&format!("{ramp}0000e0ff7500010000"), &ramp_data),
        (&format!("{ramp}0000e0ff740002000000"), &ramp_data),
        (&(far_start.to_owned() + &a), &far),
        (&(far_start.to_owned() + &b), &far),
    ] {
        assert_eq!(
            decoded(&hex(stream), data.len()).as_deref(),
            Some(data),
            "{stream}"
        );
        assert_eq!(decoded(&hex(stream), data.len() - 1), None);
    }
}

/// Compressed sizes do not exceed those of c-blosc 1.21 (level 5, pieces of 16 KiB), which are at
/// most those of c-blosc2 3.3.
#[test]
fn sizes_of_the_references() {
    let make = |next: &dyn Fn(&mut Noise, &mut i64) -> [u8; 8]| {
        let (mut noise, mut state) = (Noise(1), 0);
        (0..16384)
            .flat_map(|_| next(&mut noise, &mut state))
            .collect::<Vec<u8>>()
    };
    let walk = make(&|noise, cents| {
        *cents += noise.below(61) as i64 - 30;
        ((*cents + 10000) as f64 / 100.0).to_le_bytes()
    });
    let times = make(&|noise, time| {
        *time += 5 * noise.below(40) as i64;
        (*time + 1_700_000_000_000).to_le_bytes()
    });
    let sparse = make(&|noise, _| {
        let full = |noise: &mut Noise| (noise.below(200) as f64 - 100.0) / 10.0;
        if noise.below(20) == 0 {
            full(noise).to_le_bytes()
        } else {
            [0; 8]
        }
    });
    let counts = make(&|noise, _| {
        let most = noise.below(300);
        let most = noise.below(1 + most);
        noise.below(1 + most).to_le_bytes()
    });
    let ramp = make(&|_, i| (std::mem::replace(i, *i + 1)).to_le_bytes());
    // the bit planes of a counter
    let planes = (3..16)
        .flat_map(|bit| (0..8192).map(move |i| if (8 * i) >> bit & 1 == 1 { 255 } else { 0 }))
        .collect();
    for (name, data, crc, size) in [
        ("walk", shuffled(&walk), 2896980999, 100041),
        ("times", shuffled(&times), 1748620805, 25661),
        ("sparse", shuffled(&sparse), 4018104445, 24058),
        ("counts", shuffled(&counts), 33487232, 16970),
        ("ramp", shuffled(&ramp), 1417151256, 1180),
        ("planes", planes, 2622654163, 668),
    ] {
        assert_eq!(
            crate::checksum::crc32(&data),
            crc,
            "{name}: not the data that were measured"
        );
        let sizes = data
            .chunks(16384)
            .map(|piece| match encoded(5, piece).len() {
                0 => piece.len(),
                n => n,
            });
        let ours: usize = sizes.sum();
        assert!(ours <= size, "{name}: {ours} bytes, {size} by c-blosc");
    }
}

#[test]
fn data_that_are_not_compressed() {
    assert_eq!(compress(5, &[], &mut []), 0);
    assert_eq!(compress(5, &[0; 15], &mut [0; 15]), 0);
    assert_eq!(compress(0, &[0; 1000], &mut [0; 1000]), 0);
    assert_eq!(compress(10, &[0; 1000], &mut [0; 1000]), 0);
    assert_ne!(compress(1, &[0; 1000], &mut [0; 1000]), 0);
    assert_eq!(
        compress(9, &Noise::bytes(1, 100_000), &mut vec![0; 200_000]),
        0
    );
    // compressible only at three quarters: the stream is longer than the data, or does not fit
    let data = [
        Noise::bytes(1, 150_000),
        vec![0; 4096],
        Noise::bytes(2, 45_904),
    ]
    .concat();
    assert_eq!(compress(9, &data, &mut vec![0; 400_000]), 0);
    let data = [Noise::bytes(1, 75_000), vec![0; 25_000]].concat();
    assert_eq!(compress(1, &data, &mut vec![0; 77_000]), 0);
    assert_ne!(compress(1, &data, &mut vec![0; 78_000]), 0);
}

#[test]
fn corrupt_streams() {
    for stream in [
        "",
        "20",
        "2161",
        "2061e0",
        "2061e0ff",
        "2061e0ff00",
        "2061ff00ff",
        "2061ff00ffff",
        "2061ff00ffff01",
    ] {
        assert_eq!(decoded(&hex(stream), 1000), None, "{stream}");
    }
    // a match at the end; a match before the start of the data; a match beyond the output
    assert_eq!(decoded(&hex("20612000"), 1000), None);
    assert_eq!(decoded(&hex("206120010062"), 1000), None);
    assert_eq!(decoded(&hex("206120000062"), 4), None);
    assert_eq!(decoded(&hex("206120000062"), 5), Some(b"aaaab".to_vec()));
}

/// Repeats at a longer distance than a match can have: each candidate must be dropped at once, not
/// after a long comparison.
#[test]
fn repeats_at_too_long_distances() {
    let mut data = Noise::bytes(1, MAX_DISTANCE + 1).repeat(20);
    data.extend([0; 500_000]);
    let stream = encoded(9, &data);
    assert!(stream.len() > 20 * MAX_DISTANCE);
    assert_eq!(decoded(&stream, data.len()), Some(data));
}

#[derive(Clone, Debug)]
enum Piece {
    Noise(u64, usize),
    Few(u64, usize),
    Run(u8, usize),
    Copy(usize, usize),
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    let length = || prop_oneof![4 => 0..40usize, 2 => 0..700usize, 1 => 0..9000usize];
    let distance = prop_oneof![
        1..40usize,
        1..9000usize,
        8150..8250usize,
        73600..73800usize,
        1..100_000usize
    ];
    let piece = prop_oneof![
        (any::<u64>(), length()).prop_map(|(seed, n)| Piece::Noise(seed, n)),
        (any::<u64>(), length()).prop_map(|(seed, n)| Piece::Few(seed, n)),
        (any::<u8>(), length()).prop_map(|(byte, n)| Piece::Run(byte, n)),
        (distance, length()).prop_map(|(distance, n)| Piece::Copy(distance, n)),
    ];
    let start = prop_oneof![4 => Just(0), 1 => 0..80_000usize];
    (start, prop::collection::vec(piece, 0..40)).prop_map(|(zeros, pieces)| {
        let mut data = vec![0; zeros];
        for piece in pieces {
            match piece {
                Piece::Noise(seed, n) => data.extend(Noise::bytes(seed, n)),
                Piece::Few(seed, n) => data.extend(Noise::bytes(seed, n).iter().map(|b| b & 3)),
                Piece::Run(byte, n) => data.extend(std::iter::repeat_n(byte, n)),
                Piece::Copy(distance, n) => {
                    let distance = distance.min(data.len());
                    for _ in 0..if distance == 0 { 0 } else { n } {
                        data.push(data[data.len() - distance]);
                    }
                }
            }
        }
        data
    })
}

proptest! {
    #[test]
    fn round_trips(data in data(), level in 0..10u8) {
        let stream = encoded(level, &data);
        prop_assert!(stream.is_empty() || stream.len() < data.len());
        if !stream.is_empty() {
            prop_assert_eq!(decoded(&stream, data.len()).unwrap(), &data[..]);
            prop_assert_eq!(decoded(&stream, data.len() + 100).unwrap(), &data[..]);
            prop_assert_eq!(decoded(&stream, data.len() - 1), None);
            let mut exact = vec![0; stream.len()];
            prop_assert_eq!(compress(level, &data, &mut exact), stream.len());
            prop_assert_eq!(&exact, &stream);
            exact.pop();
            prop_assert_eq!(compress(level, &data, &mut exact), 0);
        }
    }

    #[test]
    fn any_bytes_decode_like_the_definition(stream in prop::collection::vec(prop_oneof![any::<u8>(), 0..4u8, Just(255)], 0..300), room in 0..5000usize) {
        prop_assert_eq!(decoded(&stream, room), plain(&stream, room));
    }

    #[test]
    fn mutated_streams_decode_like_the_definition(data in data(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in 0..5usize) {
        let mut stream = encoded(9, &data);
        if !stream.is_empty() {
            for (i, byte) in changes {
                *i.get_mut(&mut stream) = byte;
            }
            stream.truncate(stream.len() - cut.min(stream.len()));
            prop_assert_eq!(decoded(&stream, data.len()), plain(&stream, data.len()));
        }
    }
}
