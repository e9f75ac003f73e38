//! Random operations on frames with blocks of variable length, compared with lists of blocks, and
//! what such frames refuse.

use super::*;
use crate::superchunk::bloscpack::Destination;

type Blocks = Vec<Vec<u8>>;

/// Returns the blocks of all chunks, after reading each in both ways.
fn chunks(f: &Frame) -> Vec<Blocks> {
    let chunk = |i| {
        let span = f.span(i).unwrap();
        let mut content = vec![1; (span.end - span.start) as usize];
        assert_eq!(f.read_chunk(i, &mut content), Ok(false));
        let offsets = f.block_offsets(i).unwrap();
        let blocks: Blocks = offsets
            .windows(2)
            .map(|w| content[w[0]..w[1]].to_vec())
            .collect();
        assert_eq!((offsets[0], blocks.concat().len()), (0, content.len()));
        for (k, block) in blocks.iter().enumerate() {
            let mut alone = vec![1; f.block_len(i, k).unwrap()];
            assert_eq!(f.read_block(i, k, &mut alone), Ok(false));
            assert!(alone == *block, "block {k} of chunk {i}");
        }
        let none = f.block_len(i, blocks.len()).unwrap_err();
        assert_eq!((none.status, none.position), (Status::Range, i as i64));
        blocks
    };
    (0..f.chunks()).map(chunk).collect()
}

struct Run {
    rng: Rng,
    form: Form,
    disk: SimDisk,
    writer: Frame,
    now: Vec<Blocks>,
    committed: Vec<Blocks>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        (0..9).for_each(|_| _ = rng.draw());
        let form = Form {
            sparse: rng.below(3) == 0,
            sum: [2, 2, 0][rng.below(3)],
            codec: Codec::FOR_BLOSC2[rng.below(5)],
            level: [0, 1, 5][rng.below(3)],
            typesize: [1, 4, 8][rng.below(3)],
            threads: 1 + rng.below(2) as i64,
            ..PLAIN
        };
        let disk = SimDisk::default();
        let mut writer = form.create(&disk.folder(), Mode::New).unwrap();
        writer.set_variable_blocks().unwrap();
        writer.commit().unwrap();
        Run {
            rng,
            form,
            disk,
            writer,
            now: Vec::new(),
            committed: Vec::new(),
        }
    }

    fn block(&mut self) -> Vec<u8> {
        let most = [3, 40, 2000][self.rng.below(3)];
        let n = 1 + self.rng.below(most);
        let of = [1, 4, 256][self.rng.below(3)];
        (0..n).map(|_| self.rng.below(of) as u8).collect()
    }

    fn nbytes(&self) -> usize {
        self.now.iter().flatten().map(Vec::len).sum()
    }

    fn step(&mut self) {
        let i = self.rng.below(self.now.len() + 1);
        match self.rng.below(12) {
            0..3 => {
                let n = 1 + self.rng.below(9);
                let blocks: Blocks = (0..n).map(|_| self.block()).collect();
                let pieces: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
                self.writer.insert_blocks(i as u64, &pieces).unwrap();
                self.now.insert(i, blocks);
            }
            3 => {
                let block = self.block();
                self.writer.append(&block).unwrap();
                self.now.push(vec![block]);
            }
            4 => {
                let block = self.block();
                self.writer.insert(i as u64, &block).unwrap();
                self.now.insert(i, vec![block]);
            }
            5 | 6 => {
                let at = self.rng.below(self.nbytes() + 1);
                let mut new = self.block();
                new.truncate(self.nbytes() - at);
                self.writer.write(at as u64, &new).unwrap();
                let content = self.now.iter_mut().flatten().flatten().skip(at);
                content.zip(&new).for_each(|(to, from)| *to = *from);
            }
            7 => self.truncate(),
            8 if i < self.now.len() => {
                self.writer.remove(i as u64).unwrap();
                self.now.remove(i);
            }
            9 => self.reopen(),
            _ => self.commit(),
        }
        assert!(chunks(&self.writer) == self.now, "{:?}", self.form);
    }

    fn truncate(&mut self) {
        let have = self.nbytes();
        let mut left = [self.rng.below(have + 1), have - have.min(3)][self.rng.below(2)];
        self.writer.truncate(left as u64).unwrap();
        for blocks in &mut self.now {
            for block in blocks.iter_mut() {
                block.truncate(left);
                left -= block.len();
            }
            blocks.retain(|block| !block.is_empty());
        }
        self.now.retain(|blocks| !blocks.is_empty());
    }

    fn reopen(&mut self) {
        // the lock of the writer is free before the next one takes it
        let none = SimDisk::default().folder();
        self.writer = self.form.create(&none, Mode::New).unwrap();
        self.writer = self.form.append(&self.disk.folder()).unwrap();
        self.now = self.committed.clone();
    }

    fn commit(&mut self) {
        self.writer.commit().unwrap();
        self.committed = self.now.clone();
        let reader = reader(&self.disk.folder()).unwrap();
        assert!(chunks(&reader) == self.now, "{:?}", self.form);
        let verified = reader.verify(|e| panic!("{e}")).unwrap();
        assert_eq!(verified.corrupt, 0);
        let there = SimDisk::default().folder();
        let codec = [None, Some(1), Some(6)][self.rng.below(3)];
        let options = codec.map_or(Options::new(), |n| {
            Options::new().with(Opt::Codec, n).unwrap()
        });
        let to = Destination {
            folder: there.clone(),
            name: NAME.into(),
            mode: Mode::New,
            options,
        };
        assert_eq!(reader.copy(to, self.rng.below(2) == 0), Ok(false));
        assert!(chunks(&super::reader(&there).unwrap()) == self.now);
    }
}

#[test]
fn random_operations_retain_the_blocks() {
    for seed in 0..150 {
        let run = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            (0..40).for_each(|_| run.step());
        });
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn blocks_of_one_length_and_of_any_are_not_mixed() {
    let folders = [(); 3].map(|()| SimDisk::default().folder());
    let [mut even, mut any, mut new] = folders
        .each_ref()
        .map(|folder| PLAIN.create(folder, Mode::New).unwrap());
    even.append(&[7; 1300]).unwrap();
    any.insert_blocks(0, &[b"one", b"another"]).unwrap();
    for f in [&mut even, &mut any] {
        f.commit().unwrap();
    }
    let raw = |f: &Frame| f.with_raw(0, |bytes| Ok(bytes.to_vec())).unwrap();
    let status = |done: Result<()>| done.unwrap_err().status;
    assert_eq!(status(even.insert_blocks(0, &[b"x"])), Status::State);
    assert_eq!(status(even.append_raw(&raw(&any))), Status::State);
    assert_eq!(status(any.append_raw(&raw(&even))), Status::Unsupported);
    for blocks in [&[][..], &[&b"a"[..], b""]] {
        assert_eq!(status(any.insert_blocks(0, blocks)), Status::Argument);
        assert_eq!(status(new.insert_blocks(0, blocks)), Status::Argument);
    }
    assert_eq!(status(any.insert_blocks(2, &[b"x"])), Status::Range);
    assert_eq!(status(any.insert(0, b"")), Status::Argument);
    assert!(!even.is_changed() && !any.is_changed());
    // what was refused leaves a frame that can become either
    new.append(&[7; 100]).unwrap();
    new.truncate(0).unwrap();
    new.append_raw(&raw(&any)).unwrap();
    assert_eq!(chunks(&new), [vec![b"one".to_vec(), b"another".to_vec()]]);
    assert_eq!(even.block_offsets(0), Ok(vec![0, 200, 400, 600]));
    assert_eq!(even.block_len(2, 0), Ok(100));
}

#[test]
fn a_corrupt_block_is_an_error() {
    let disk = SimDisk::default();
    let noise: Vec<u8> = (0..900u32).map(|i| ((i * i) >> 3) as u8).collect();
    let mut w = PLAIN.create(&disk.folder(), Mode::New).unwrap();
    w.insert_blocks(0, &[&noise, b"another"]).unwrap();
    w.commit().unwrap();
    drop(w);
    let mut files = disk.contents();
    let file = files.get_mut(OsStr::new(NAME)).unwrap();
    let at = file.windows(9).position(|w| w == &noise[..9]).unwrap();
    file[at] ^= 1;
    let f = reader(&SimDisk::with_files(&files).folder()).unwrap();
    for k in 0..2 {
        let e = f.read_block(0, k, &mut [0; 900]).unwrap_err();
        assert_eq!((e.status, e.position), (Status::Checksum, 0));
    }
}
