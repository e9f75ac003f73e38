//! Reads of boxes that are not in the page cache.

use crate::dataset::any::create_in;
use crate::dataset::create::ArraySpec;
use crate::dataset::open::open_in;
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{Counting, Rng, SimDisk, Use};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::sync::{Arc, Mutex};

/// Chunks of 64 KiB in 8 blocks; the first one is not stored, the others are incompressible.
const SHAPE: [u64; 2] = [512, 512];
const CHUNKS: [u64; 2] = [128, 128];

fn written(folder: &Arc<dyn Folder>, checksum: i64) -> Vec<u8> {
    let options = Options::new().with(Opt::Checksum, checksum).unwrap();
    let spec = ArraySpec {
        dtype: "<i4",
        shape: &SHAPE,
        chunks: Some(&CHUNKS),
        format: Format::B2nd,
    };
    let mut rng = Rng(5);
    let mut content: Vec<u8> = (0..512 * 512 * 4)
        .map(|_| (rng.draw() >> 24) as u8)
        .collect();
    for row in content.chunks_mut(512 * 4).take(128) {
        row[..128 * 4].fill(0);
    }
    let mut array = create_in(folder, Mode::New, &spec, Some(&[16, 128]), &options).unwrap();
    array.write(&[0, 0], &SHAPE, None, &content, None).unwrap();
    array.commit().unwrap();
    content
}

/// The reads of a box are announced before the first of them: block tables, then blocks, or whole
/// chunks if they are verified as a whole. A box within a block is not.
#[test]
fn the_reads_of_a_box_are_announced() {
    for (checksum, verify) in [(0, 1), (2, 1), (2, 0)] {
        let folder = SimDisk::default().folder();
        let content = written(&folder, checksum);
        let uses = Arc::new(Mutex::new(Vec::new()));
        let watched: Arc<dyn Folder> = Arc::new(Counting(folder, uses.clone()));
        let options = Options::new().with(Opt::Threads, 1).unwrap();
        let options = options.with(Opt::Verify, verify).unwrap();
        let array = open_in(&watched, Mode::Read, &options).unwrap();
        for (start, count, announced) in [
            ([100, 100], [60, 300], true),
            ([100, 100], [60, 300], true), // the tables are known
            ([0, 0], [512, 512], true),
            ([300, 40], [3, 9], false),
        ] {
            uses.lock().unwrap().clear();
            let mut found = vec![0; (count[0] * count[1] * 4) as usize];
            array.read(&start, &count, None, &mut found, None).unwrap();
            let expected: Vec<u8> = (start[0]..start[0] + count[0])
                .flat_map(|row| {
                    let at = ((row * 512 + start[1]) * 4) as usize;
                    content[at..at + count[1] as usize * 4].to_vec()
                })
                .collect();
            assert!(found == expected);
            let (reads, surprises) = Use::tally(&uses.lock().unwrap());
            let what = format!("{checksum} {verify} {start:?} {count:?}: {reads} reads");
            assert!(reads > 0, "{what}");
            assert_eq!(surprises.is_empty(), announced, "{what}, {surprises:?}");
        }
        let array = open_in(&watched, Mode::Read, &options).unwrap();
        uses.lock().unwrap().clear();
        let points: Vec<u64> = (0..200)
            .flat_map(|i| [i * 37 % 512, i * 91 % 512])
            .collect();
        let mut found = vec![0; 4 * 200];
        array.read_points(&points, 200, &mut found).unwrap();
        for (point, item) in points.chunks(2).zip(found.chunks(4)) {
            let at = (point[0] * 512 + point[1]) as usize * 4;
            assert_eq!(item, &content[at..at + 4]);
        }
        let (reads, surprises) = Use::tally(&uses.lock().unwrap());
        // without checksums, not all of an uncompressed block is read
        let verifies_blocks = checksum > 0 && verify > 0;
        assert!(
            reads > 16 && (surprises.is_empty() || !verifies_blocks),
            "{surprises:?}"
        );
    }
}
