//! Random operations, compared with vectors of bytes.

use super::*;
use crate::blosc::Decoded;
use crate::superchunk::chunks::{BlockChange, Chunks, Sink, Source};

/// A frame, its writer, and its readers.
struct Run {
    rng: Rng,
    form: Form,
    disk: SimDisk,
    folder: Arc<dyn Folder>,
    writer: Option<Frame>,
    now: State,
    committed: Option<State>,
    readers: Vec<(Frame, State)>,
    variable: bool,
}

fn any_form(rng: &mut Rng) -> Form {
    (0..9).for_each(|_| _ = rng.draw());
    let typesize = [1, 2, 3, 4, 8, 16, 255, 300][rng.below(8)];
    let items = [1, 2, 10, 97, 700, 5_000][rng.below(if typesize > 100 { 4 } else { 6 })];
    let chunk = typesize * items;
    Form {
        sparse: rng.below(3) == 0,
        sum: [2, 2, 0][rng.below(3)],
        chunk,
        block: (chunk / [1, 2, 3, 7][rng.below(4)] / typesize * typesize).max(typesize),
        typesize,
        codec: Codec::FOR_BLOSC2[rng.below(5)],
        level: [0, 1, 5, 5, 5][rng.below(5)],
        filter: [
            None,
            Some(Filter::Shuffle { group: 0 }),
            Some(Filter::Bitshuffle),
            Some(Filter::Delta),
            Some(Filter::Shuffle { group: 0 }),
        ][rng.below(5)],
        meta: [0, 20, 700][rng.below(3)],
        threads: 1 + rng.below(3) as i64,
    }
}

/// New content for a chunk: the old content, changed in blocks.
struct Blocks<'a>(&'a [u8], &'a [BlockChange], usize);

impl Source for Blocks<'_> {
    fn change(&self, block: usize) -> BlockChange {
        self.1[block]
    }
    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        let own = &self.0[block * self.2..][..content.len()];
        match self.1[block] {
            BlockChange::Partial => content[..own.len() / 2].copy_from_slice(&own[..own.len() / 2]),
            _ => content.copy_from_slice(own),
        }
        Ok(())
    }
}

struct Got(Vec<(usize, Vec<u8>)>);

impl Sink for Got {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }
    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        self.0
            .push((block, content.bytes(&mut Vec::new())?.to_vec()));
        Ok(())
    }
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let form = any_form(&mut rng);
        let disk = SimDisk::default();
        let folder = disk.folder();
        let mut run = Run {
            rng,
            form,
            folder,
            disk,
            writer: None,
            now: State::default(),
            committed: None,
            readers: Vec::new(),
            variable: false,
        };
        run.create(Mode::New);
        run
    }

    fn writer(&mut self) -> &mut Frame {
        self.writer.as_mut().unwrap()
    }

    fn create(&mut self, mode: Mode) {
        self.writer = None;
        self.writer = Some(self.form.create(&self.folder, mode).unwrap());
        self.now = State {
            chunks: Vec::new(),
            metas: vec![("fixed".into(), vec![7; self.form.meta])],
        };
        self.variable = false;
    }

    fn length(&mut self) -> usize {
        let c = self.form.chunk;
        let most = [0, 9, c, c + 1, c * 4][self.rng.below(5)];
        let n = self.rng.below(most + 1);
        if self.rng.below(4) == 0 { most } else { n }
    }

    fn data(&mut self, len: usize) -> Vec<u8> {
        bytes(self.rng.draw(), len)
    }

    fn nbytes(&self) -> usize {
        self.now.chunks.iter().map(Vec::len).sum()
    }

    fn step(&mut self) {
        let step = self.rng.below(22);
        match step {
            0..4 => {
                let n = self.length();
                let src = self.data(n);
                self.append(&src);
            }
            4..8 => {
                let (have, n) = (self.nbytes(), self.length());
                let at = self.rng.below(have + 1);
                let src = self.data(n.min(have - at));
                for (b, new) in self.now.chunks.iter_mut().flatten().skip(at).zip(&src) {
                    *b = *new;
                }
                self.writer().write(at as u64, &src).unwrap();
            }
            8 => {
                let n = if self.rng.below(4) == 0 {
                    self.length().max(1)
                } else {
                    self.form.chunk
                };
                let (i, src) = (self.rng.below(self.now.chunks.len() + 1), self.data(n));
                self.writer().insert(i as u64, &src).unwrap();
                self.now.chunks.insert(i, src);
                self.variable |= self.writer().header().variable_chunks;
            }
            9 if !self.now.chunks.is_empty() => {
                let i = self.rng.below(self.now.chunks.len());
                self.writer().remove(i as u64).unwrap();
                self.now.chunks.remove(i);
            }
            10 => {
                let have = self.nbytes();
                let n = [self.rng.below(have + 1), have - have.min(3), have][self.rng.below(3)];
                let mut left = n;
                for c in &mut self.now.chunks {
                    c.truncate(left);
                    left -= c.len();
                }
                while self.now.chunks.last().is_some_and(Vec::is_empty) {
                    self.now.chunks.pop();
                }
                self.writer().truncate(n as u64).unwrap();
            }
            11 => self.metas(),
            12..14 => self.blocks(),
            14 => self.rearrange(),
            15..19 => self.commit(),
            19 => {
                if let Some(s) = &self.committed {
                    self.now = s.clone();
                    self.writer = None;
                    self.writer = Some(self.form.append(&self.folder).unwrap());
                    self.variable = self.writer().header().variable_chunks;
                }
            }
            _ if self.rng.below(6) == 0 => self.create(Mode::Replace),
            _ => {}
        }
        let (sees, now) = (
            State::of(self.writer.as_ref().unwrap()).unwrap(),
            &mut self.now,
        );
        now.metas.sort();
        // while content is pending, empty chunks of the model may be missing
        assert!(
            sees.content() == now.content() && sees.metas == now.metas,
            "{:?} {step}",
            self.form
        );
    }

    fn append(&mut self, src: &[u8]) {
        self.writer().append(src).unwrap();
        if src.is_empty() {
            return;
        }
        if self.variable {
            self.now.chunks.push(src.to_vec());
            return;
        }
        let mut tail = self
            .now
            .chunks
            .pop_if(|c| c.len() < self.form.chunk)
            .unwrap_or_default();
        tail.extend_from_slice(src);
        self.now
            .chunks
            .extend(tail.chunks(self.form.chunk).map(<[u8]>::to_vec));
    }

    fn metas(&mut self) {
        let n = [0, 3, 500][self.rng.below(3)];
        let value = self.data(n);
        let name = ["a", "b", "fixed", "other"][self.rng.below(4)];
        let fixed = name == "fixed" || name == "other";
        if !fixed && self.rng.below(3) == 0 {
            let there = self.now.metas.iter().any(|(n, _)| n == name);
            assert_eq!(self.writer().meta_remove(name).is_ok(), there);
            self.now.metas.retain(|(n, _)| n != name);
            return;
        }
        if fixed {
            self.writer().meta_set(name, &value).unwrap()
        } else {
            self.writer().vlmeta_set(name, &value).unwrap()
        }
        self.now.metas.retain(|(n, _)| n != name);
        self.now.metas.push((name.into(), value));
    }

    /// Do all chunks have equal length, as arrays require?
    fn is_even(&self) -> bool {
        !self.variable && self.now.chunks.iter().all(|c| c.len() == self.form.chunk)
    }

    fn blocks(&mut self) {
        if !self.is_even() {
            return;
        }
        let i = self.rng.below(self.now.chunks.len() + 1);
        let src = self.data(self.form.chunk);
        let size = Chunks::block_bytes(self.writer());
        let touch: Vec<BlockChange> = (0..self.form.chunk.div_ceil(size))
            .map(|_| {
                [
                    BlockChange::Unchanged,
                    BlockChange::Partial,
                    BlockChange::Full,
                ][self.rng.below(3)]
            })
            .collect();
        let mut expected = self
            .now
            .chunks
            .get(i)
            .cloned()
            .unwrap_or_else(|| vec![0; self.form.chunk]);
        for (b, (now, new)) in expected.chunks_mut(size).zip(src.chunks(size)).enumerate() {
            match touch[b] {
                BlockChange::Unchanged => {}
                BlockChange::Partial => now[..new.len() / 2].copy_from_slice(&new[..new.len() / 2]),
                BlockChange::Full => now.copy_from_slice(new),
            }
        }
        let source = Blocks(&src, &touch, size);
        let w = self.writer.as_mut().unwrap();
        let new = Chunks::encode(w, i as u64, &source, 1 + i % 2).unwrap();
        Chunks::put(w, i as u64, new).unwrap();
        self.now
            .chunks
            .splice(i..(i + 1).min(self.now.chunks.len()), [expected]);
    }

    fn rearrange(&mut self) {
        if !self.is_even() {
            return;
        }
        let n = self.rng.below(self.now.chunks.len() + 3);
        let mut free: Vec<usize> = (0..self.now.chunks.len()).collect();
        let from: Vec<Option<u64>> = (0..n)
            .map(|_| {
                (!free.is_empty() && self.rng.below(4) > 0)
                    .then(|| free.swap_remove(self.rng.below(free.len())) as u64)
            })
            .collect();
        self.writer()
            .rearrange(n as u64, &|i| from[i as usize])
            .unwrap();
        let zeros = vec![0; self.form.chunk];
        self.now.chunks = from
            .iter()
            .map(|k| k.map_or(zeros.clone(), |k| self.now.chunks[k as usize].clone()))
            .collect();
    }

    fn commit(&mut self) {
        self.writer().commit().unwrap();
        self.now.metas.sort();
        self.committed = Some(self.now.clone());
        let files = self.disk.contents();
        let stray = files
            .keys()
            .filter(|n| n.to_str().unwrap().contains("holdall"));
        assert_eq!(stray.count(), 0, "{:?}", files.keys());
        let r = reader(&self.folder).unwrap();
        assert!(State::of(&r).unwrap() == self.now, "{:?}", self.form);
        let v = r.verify(|e| panic!("{e}")).unwrap();
        assert_eq!(
            (v.intact + v.unchecked, v.corrupt),
            (self.now.chunks.len() as u64, 0)
        );
        assert_eq!(
            v.unchecked == 0,
            self.form.sum == 2 || self.now.chunks.is_empty()
        );
        if self.form.sparse {
            let chunks = files
                .keys()
                .filter(|n| n.to_str().unwrap().ends_with(".chunk"))
                .count();
            assert!(chunks <= self.now.chunks.len(), "{:?}", files.keys());
        }
        self.range(&r);
        self.readers.truncate(3);
        self.readers.insert(0, (r, self.now.clone()));
        for (reader, saw) in &self.readers {
            match State::of(reader) {
                Ok(s) => assert!(s == *saw),
                Err(e) => assert_eq!(e.status, Status::State),
            }
        }
    }

    fn range(&mut self, r: &Frame) {
        let content = self.now.content();
        for _ in 0..3 {
            let from = self.rng.below(content.len() + 1);
            let to = from + self.rng.below(content.len() - from + 1);
            let mut got = vec![0xee; to - from];
            r.read(from as u64, &mut got).unwrap();
            assert!(got == content[from..to]);
        }
        if !self.is_even() || self.now.chunks.is_empty() {
            return;
        }
        let (i, size) = (
            self.rng.below(self.now.chunks.len()),
            Chunks::block_bytes(r),
        );
        let chunk = &self.now.chunks[i];
        let requested: Vec<usize> = (0..chunk.len().div_ceil(size))
            .filter(|_| self.rng.below(2) == 0)
            .collect();
        let mut got = Got(Vec::new());
        r.read_blocks(i as u64, &requested, &mut got).unwrap();
        got.0.sort();
        let expected: Vec<_> = requested
            .iter()
            .map(|b| (*b, chunk.chunks(size).nth(*b).unwrap().to_vec()))
            .collect();
        assert!(got.0 == expected);
    }
}

#[test]
fn random_operations_match_the_model() {
    for seed in 0..300 {
        let run = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            (0..60).for_each(|_| run.step());
        });
        assert!(run.is_ok(), "seed {seed}");
    }
}
