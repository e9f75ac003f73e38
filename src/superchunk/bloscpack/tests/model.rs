//! Tests of random operations against a model of byte vectors.

use super::*;
use crate::blosc::{self, Codec, Params, Target};
use crate::superchunk::bloscpack::chunk_table::ChunkTable;

/// A model of a file in vectors.
#[derive(Clone, Debug, Default)]
struct Model {
    now: State,
    chunk_size: usize,
}

impl Model {
    fn append(&mut self, src: &[u8]) {
        if src.is_empty() {
            return;
        }
        let mut tail = self
            .now
            .chunks
            .pop_if(|c| c.len() < self.chunk_size)
            .unwrap_or_default();
        tail.extend_from_slice(src);
        self.now
            .chunks
            .extend(tail.chunks(self.chunk_size).map(<[u8]>::to_vec));
    }

    fn write(&mut self, at: usize, src: &[u8]) {
        for (b, new) in self.now.chunks.iter_mut().flatten().skip(at).zip(src) {
            *b = *new;
        }
    }

    fn truncate(&mut self, nbytes: usize) {
        let mut have = self.nbytes();
        while have > nbytes {
            let last = self.now.chunks.pop().unwrap();
            have -= last.len();
            // the rest of a chunk longer than the chunk size is split into chunks of that size
            let rest = &last[..nbytes.saturating_sub(have)];
            self.now
                .chunks
                .extend(rest.chunks(self.chunk_size).map(<[u8]>::to_vec));
            have += rest.len();
        }
    }

    fn commit(&mut self) {
        if self.now.chunks.is_empty() {
            self.now.chunks.push(Vec::new());
        }
    }

    fn nbytes(&self) -> usize {
        self.now.chunks.iter().map(Vec::len).sum()
    }
}

/// One file, its writer and its readers.
struct Run {
    rng: Rng,
    form: Form,
    disk: SimDisk,
    folder: Arc<dyn Folder>,
    writer: Option<Bloscpack>,
    model: Model,
    committed: Option<State>,
    committed_chunk: usize,
    /// Readers and the state that they saw.
    readers: Vec<(Bloscpack, State)>,
    /// Number of commits that rewrote the file, and of commits in place.
    commits: [usize; 2],
    refused: usize,
}

fn any_form(rng: &mut Rng) -> Form {
    // the first numbers of the generator are as close to each other as the seeds
    (0..9).for_each(|_| _ = rng.draw());
    let typesize = [1, 2, 3, 4, 8, 16, 17, 255, 300][rng.below(9)];
    let items = [1, 2, 10, 97, 700, 5_000][rng.below(if typesize > 100 { 4 } else { 6 })];
    let version = [1, 2, 3, 3, 103][rng.below(5)];
    Form {
        version,
        offsets: rng.below(2) as i64,
        sum: rng.below(9) as i64,
        chunk: if rng.below(20) == 0 {
            (1 << 20) / typesize * typesize
        } else {
            typesize * items
        },
        typesize,
        codec: [0, 2, 2, 5, 6][rng.below(5)],
        spare_chunks: [None, Some(0), Some(3)][rng.below(if version == 3 { 3 } else { 2 })],
        spare_bytes: [0, 0, 7, 300][rng.below(4)],
        threads: 1 + rng.below(3) as i64,
        foreign: Foreign::No,
    }
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let form = any_form(&mut rng);
        let disk = SimDisk::default();
        let mut run = Run {
            rng,
            form,
            folder: disk.folder(),
            disk,
            writer: None,
            model: Model::default(),
            committed: None,
            committed_chunk: 0,
            readers: Vec::new(),
            commits: [0; 2],
            refused: 0,
        };
        run.create(Mode::New);
        run
    }

    fn writer(&mut self) -> &mut Bloscpack {
        self.writer.as_mut().unwrap()
    }

    fn create(&mut self, mode: Mode) {
        self.writer = None;
        self.writer = Some(self.form.create(&self.folder, mode).unwrap());
        self.model = Model {
            now: State::default(),
            chunk_size: self.form.chunk,
        };
    }

    /// Returns a random length: zero, a few bytes, about a chunk, or several chunks.
    fn length(&mut self) -> usize {
        let c = self.form.chunk;
        let most = [0, 9, c, c + 1, c * 4][self.rng.below(5)];
        let n = self.rng.below(most + 1);
        if self.rng.below(4) == 0 { most } else { n }
    }

    fn data(&mut self, len: usize) -> Vec<u8> {
        bytes(self.rng.draw(), len)
    }

    fn step(&mut self) {
        match self.rng.below(20) {
            0..4 => {
                let n = self.length();
                let src = self.data(n);
                self.model.append(&src);
                self.writer().append(&src).unwrap();
            }
            4 => self.append_raw(),
            5..8 => {
                let (have, n) = (self.model.nbytes(), self.length());
                let at = self.rng.below(have + 1);
                let src = self.data(n.min(have - at));
                self.model.write(at, &src);
                self.writer().write(at as u64, &src).unwrap();
            }
            8 => {
                let n = self.length();
                let (i, src) = (
                    self.rng.below(self.model.now.chunks.len() + 1),
                    self.data(n),
                );
                self.writer().insert(i as u64, &src).unwrap();
                self.model.now.chunks.insert(i, src);
            }
            9 if !self.model.now.chunks.is_empty() => {
                let i = self.rng.below(self.model.now.chunks.len());
                self.writer().remove(i as u64).unwrap();
                self.model.now.chunks.remove(i);
            }
            10 => {
                let have = self.model.nbytes();
                let n = [self.rng.below(have + 1), have - have.min(3), have][self.rng.below(3)];
                self.model.truncate(n);
                self.writer().truncate(n as u64).unwrap();
            }
            11 => self.meta_set(),
            12..17 => self.commit(),
            17 => self.close(),
            18 => self.wrong_arguments(),
            _ if self.rng.below(4) == 0 => self.create(Mode::Replace),
            _ => {}
        }
        self.check_views();
    }

    fn append_raw(&mut self) {
        let n = self.length();
        let src = self.data(n);
        let codec = [Codec::Lz4, Codec::Zlib, Codec::Zstd][self.rng.below(3)];
        let mut chunk = Vec::new();
        blosc::encode(
            &Params::new(
                Target::Blosc1,
                codec,
                self.rng.below(10) as u8,
                self.form.typesize,
            ),
            &src,
            &mut chunk,
            1,
        )
        .unwrap();
        self.writer().append_raw(&chunk).unwrap();
        let i = self.model.now.chunks.len() as u64;
        assert!(self.writer().with_raw(i, |c| Ok(c == chunk)).unwrap());
        self.model.now.chunks.push(src);
    }

    fn meta_set(&mut self) {
        let len = [0, 3, 40, 500][self.rng.below(4)];
        let meta = Some(json(self.rng.draw() >> 40, len)).filter(|_| self.rng.below(4) > 0);
        let set = self.writer().meta_set(meta.as_deref());
        if meta.is_some() && !self.form.has_meta() {
            assert_eq!(set.unwrap_err().status, Status::Unsupported);
            return;
        }
        set.unwrap();
        self.model.now.meta = meta;
    }

    fn commit(&mut self) {
        let before = self.folder.identity(OsStr::new(NAME)).unwrap();
        self.writer().commit().unwrap();
        self.model.commit();
        // the chunk size in the header is at least the size of the last chunk
        self.committed_chunk = self
            .model
            .chunk_size
            .max(self.model.now.chunks.last().map_or(0, Vec::len));
        self.committed = Some(self.model.now.clone());
        let after = self.folder.identity(OsStr::new(NAME)).unwrap();
        self.commits[usize::from(before == after)] += 1;
        assert_eq!(
            self.disk.contents().len(),
            1,
            "{:?}",
            self.disk.contents().keys()
        );
        self.check_file();
        if self.rng.below(3) == 0 {
            self.readers.truncate(3);
            self.readers
                .insert(0, (reader(&self.folder).unwrap(), self.model.now.clone()));
        }
    }

    /// Checks the state that a new reader sees.
    fn check_file(&mut self) {
        let o = Options::new()
            .with(Opt::Threads, 1 + self.rng.below(3) as i64)
            .unwrap();
        let b = Bloscpack::open_in(&self.folder, OsStr::new(NAME), Mode::Read, &o).unwrap();
        let sees = State::of(&b).unwrap();
        let lengths = |s: &State| s.chunks.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(
            (lengths(&sees), &sees.meta),
            (lengths(&self.model.now), &self.model.now.meta)
        );
        assert!(sees == self.model.now);
        let v = b.verify(|e| panic!("{e}")).unwrap();
        let n = self.model.now.chunks.len() as u64;
        assert_eq!((v.intact + v.unchecked, v.corrupt), (n, 0));
        assert_eq!(v.unchecked > 0, b.header().checksum.size() == 0);
        let file = self
            .folder
            .open(OsStr::new(NAME), crate::io::Access::Read)
            .unwrap();
        let table = ChunkTable::read(&*file, b.header(), u64::MAX).unwrap();
        // for readers that walk the chunks, and for readers that use the offsets
        assert!(
            table.in_order
                && table.by_offsets == b.header().has_offsets
                && table.damage.is_none()
                && table.suspected.is_none()
        );
        self.range(&b);
    }

    fn range(&mut self, b: &Bloscpack) {
        let content = self.model.now.content();
        for _ in 0..3 {
            let from = self.rng.below(content.len() + 1);
            let to = from + self.rng.below(content.len() - from + 1);
            let mut got = vec![0xee; to - from];
            assert!(!b.read(from as u64, &mut got).unwrap());
            assert!(got == content[from..to]);
        }
    }

    /// Closes the writer without a commit and opens another one.
    fn close(&mut self) {
        self.writer = None;
        let Some(committed) = self.committed.clone() else {
            assert!(self.disk.contents().is_empty());
            return self.create(Mode::New);
        };
        assert_eq!(self.disk.contents().len(), 1);
        self.form.codec = [0, 2, 5, 6][self.rng.below(4)];
        self.form.spare_bytes = [0, 20][self.rng.below(2)];
        let w = self.form.append(&self.folder).unwrap();
        self.model = Model {
            now: committed,
            chunk_size: w.chunk_size(),
        };
        let alone = self.model.now.chunks.len() == 1
            && self.model.now.chunks[0].len() == self.committed_chunk
            && self.committed_chunk < 16 << 10;
        if self.form.version != 1 && !alone {
            // a longer last chunk increases the chunk size
            assert!((self.form.chunk..=self.committed_chunk).contains(&w.chunk_size()));
        }
        assert!(
            self.form.version == 1
                || self.form.typesize > 255
                || w.typesize() == self.form.typesize
        );
        self.writer = Some(w);
        self.check_file();
    }

    fn wrong_arguments(&mut self) {
        let (nbytes, chunks) = (
            self.model.nbytes() as u64,
            self.model.now.chunks.len() as u64,
        );
        let w = self.writer();
        let refused = [
            w.write(nbytes, b"x").unwrap_err(),
            w.write(u64::MAX, b"x").unwrap_err(),
            w.truncate(nbytes + 1).unwrap_err(),
            w.insert(chunks + 1, b"x").unwrap_err(),
            w.remove(chunks).unwrap_err(),
            w.read(nbytes, &mut [0]).unwrap_err(),
            w.read(u64::MAX, &mut [0]).unwrap_err(),
            w.read_chunk(chunks, &mut []).unwrap_err(),
            w.with_raw(chunks, |_| Ok(())).unwrap_err(),
        ];
        assert!(
            refused.iter().all(|e| e.status == Status::Range),
            "{refused:?}"
        );
        if chunks > 0 {
            let mut longer = vec![0; w.chunk_nbytes(chunks - 1).unwrap() + 1];
            assert_eq!(
                w.read_chunk(chunks - 1, &mut longer).unwrap_err().status,
                Status::Argument
            );
        }
        assert_eq!(w.append_raw(&[2, 1, 3]).unwrap_err().status, Status::Format);
        assert_eq!(
            w.meta_set(Some(b"{")).unwrap_err().status,
            if self.form.has_meta() {
                Status::Argument
            } else {
                Status::Unsupported
            }
        );
    }

    /// Checks that the writer sees its changes, and that readers see the old state or an error.
    fn check_views(&mut self) {
        let w = self.writer.take().unwrap();
        assert_eq!(
            (w.nbytes(), w.chunks()),
            (self.model.nbytes() as u64, self.model.now.chunks.len())
        );
        if self.rng.below(3) == 0 {
            assert!(State::of(&w).unwrap() == self.model.now);
            self.range(&w);
        }
        self.writer = Some(w);
        if let Some(committed) = self.committed.as_ref().filter(|_| self.rng.below(3) == 0) {
            assert!(State::of(&reader(&self.folder).unwrap()).unwrap() == *committed);
        }
        for (reader, saw) in &self.readers {
            match State::of(reader) {
                Ok(sees) => assert!(sees == *saw),
                Err(e) => {
                    assert_eq!(e.status, Status::State, "{e}");
                    self.refused += 1;
                }
            }
        }
    }
}

#[test]
fn every_operation_matches_the_model() {
    let (mut commits, mut refused) = ([0; 2], 0);
    for seed in 0..120 {
        let mut run = Run::new(seed);
        println!("seed {seed}: {:?}", run.form);
        for _ in 0..60 {
            run.step();
        }
        commits = [commits[0] + run.commits[0], commits[1] + run.commits[1]];
        refused += run.refused;
    }
    println!(
        "commits: {} made a new file, {} changed the old one; {refused} reads refused",
        commits[0], commits[1]
    );
    assert!(commits[0] > 200 && commits[1] > 200 && refused > 40);
}
