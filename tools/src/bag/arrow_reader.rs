//! Reads Arrow's IPC format, a file or a stream: a column of text or bytes becomes records.
//!
//! The crate `arrow-ipc` verifies the metadata, which are flat buffers. Its readers are not used:
//! they hold whole batches, know no memory limit, and panic if a buffer is outside of its message
//! or misaligned in it. Here all lengths are checked, and of a body only the buffers of the column
//! are read: the offsets at once, the values in pieces.
//! <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

use super::arrow_schema::{Column, Values, find_column};
use super::records::{Batch, Sink};
use crate::failure;
use crate::failure::{Failure, Result};
use crate::files::Input;
use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use std::io::Read;

/// Bytes that the metadata of a message may have.
const METADATA_MOST: u64 = 256 << 20;
/// Values, and bytes of them, that are passed on at once.
const VALUES_MOST: usize = 32768;
const BYTES_TARGET: u64 = 4 << 20;
/// The magic string of a file: at its start, and after the length of the footer at its end.
const MARK: &[u8] = b"ARROW1";
const TAIL: u64 = 4 + MARK.len() as u64;
/// A file begins with the magic string and padding.
const LEAD: usize = 8;

/// Passes on the values of a column, a record each; without `name`, of the only column of text or
/// bytes. `most` is the limit in bytes of what is held at once.
pub fn each(input: &mut Input, name: Option<&str>, most: u64, sink: &mut dyn Sink) -> Result {
    let mut reader = Reader {
        input,
        most,
        held: Vec::new(),
        position: 0,
        begin: 0,
        batch: 0,
        rows: 0,
        body: 0,
        offsets: Vec::new(),
        values: Vec::new(),
        sink,
    };
    if !reader.is_file()? {
        return reader.messages(name).map(|_| ());
    }
    if reader.input.total.is_some() {
        return reader.by_footer(name);
    }
    match reader.messages(name)? {
        true => reader.end_mark(),
        false => Err(reader.failure("the file is cut off after it")),
    }
}

struct Reader<'a> {
    input: &'a mut Input,
    most: u64,
    /// Bytes that were read to detect the format.
    held: Vec<u8>,
    /// The offset of the next byte in the file, and of the message that is being read.
    position: u64,
    begin: u64,
    /// The number of the batch, and the values of the batches before it.
    batch: u64,
    rows: u64,
    /// The offset of the next byte in the body of the message.
    body: u64,
    /// The buffers of the batch: offsets or views, and values.
    offsets: Vec<u8>,
    values: Vec<u8>,
    sink: &'a mut dyn Sink,
}

// ---- bytes

impl Reader<'_> {
    fn failure(&self, why: &str) -> Failure {
        let (name, batch, begin) = (&self.input.name, self.batch, self.begin);
        failure!("{name}: batch {batch} at byte {begin}: {why}")
    }

    fn broken(&self) -> Failure {
        self.failure("its metadata are broken")
    }

    fn value_failure(&self, i: u64, why: &str) -> Failure {
        let (name, batch, begin) = (&self.input.name, self.batch, self.begin);
        let record = self.rows + i;
        failure!("{name}: record {record}, in batch {batch} at byte {begin}: {why}")
    }

    /// Appends the next `n` bytes, or fewer at the end. The buffer grows with the bytes that exist.
    fn read(&mut self, to: &mut Vec<u8>, n: u64) -> Result<u64> {
        if n.saturating_add(to.len() as u64) > self.most {
            return Err(self.failure("it takes more memory than --memory-limit"));
        }
        let held = (self.held.len() as u64).min(n) as usize;
        to.extend(self.held.drain(..held));
        let exists = self.input.total.map(|total| total.saturating_sub(self.input.done));
        let known = exists.unwrap_or(0).min(n - held as u64) as usize;
        if to.try_reserve_exact(known).is_err() {
            return Err(self.failure("out of memory for it"));
        }
        let read = (&mut *self.input).take(n - held as u64).read_to_end(to);
        let got = held as u64 + read.map_err(|error| self.input.failure(error))? as u64;
        self.position += got;
        Ok(got)
    }

    fn read_all(&mut self, to: &mut Vec<u8>, n: u64) -> Result {
        match self.read(to, n)? {
            got if got == n => Ok(()),
            _ => Err(self.failure("the file is cut off in it")),
        }
    }

    /// Skips `n` bytes.
    fn pass(&mut self, mut n: u64) -> Result {
        let mut nothing = std::mem::take(&mut self.values);
        while n > 0 {
            nothing.clear();
            self.read_all(&mut nothing, n.min(1 << 16))?;
            n -= nothing.len() as u64;
        }
        self.values = nothing;
        Ok(())
    }

    /// Reads a buffer of the body.
    fn buffer(&mut self, to: &mut Vec<u8>, at: u64, n: u64) -> Result {
        if at < self.body {
            return Err(self.failure(
                "its buffers are not in the order of their offsets, which is not supported",
            ));
        }
        self.pass(at - self.body)?;
        self.body = at;
        self.read_all(to, n)?;
        self.body += n;
        Ok(())
    }

    fn go_to(&mut self, position: u64) -> Result {
        self.held.clear();
        (self.position, self.begin) = (position, position);
        let moved = self.input.seek(position);
        moved.map_err(|_| self.broken_footer())
    }
}

// ---- messages

impl Reader<'_> {
    /// Detects whether the input is a file, of which the lead is read then.
    fn is_file(&mut self) -> Result<bool> {
        let mut lead = Vec::new();
        self.read(&mut lead, LEAD as u64)?;
        self.position = 0;
        for (magic, what) in [(b"PAR1", "Parquet"), (b"FEA1", "the first version of Feather")] {
            if lead.starts_with(magic) {
                let name = &self.input.name;
                return Err(failure!("{name}: it is {what}, not Arrow's IPC format"));
            }
        }
        if lead.len() == LEAD && lead.starts_with(MARK) {
            self.position = LEAD as u64;
            return Ok(true);
        }
        self.held = lead;
        Ok(false)
    }

    /// Returns the metadata of the next message; None at the end mark, and at the end of the input.
    fn message(&mut self) -> Result<Option<Vec<u8>>> {
        self.begin = self.position;
        let mut word = Vec::new();
        match self.read(&mut word, 4)? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(self.failure("the file is cut off in it")),
        }
        // the oldest writers have no such marker
        if word == [0xff; 4] {
            word.clear();
            self.read_all(&mut word, 4)?;
        }
        let n = word.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        if n == 0 {
            return Ok(None);
        }
        if n > METADATA_MOST {
            return Err(self.failure(
                "it does not begin as a message: the file is damaged, or of another kind",
            ));
        }
        let mut metadata = Vec::new();
        self.read_all(&mut metadata, n)?;
        Ok(Some(metadata))
    }

    /// Reads a stream. Returns whether it ended with its mark, not with the input.
    fn messages(&mut self, name: Option<&str>) -> Result<bool> {
        const ODD: &str = "a message that is no batch";
        const NONE: &str = "there is no schema in front: the file is damaged, or of another kind";
        let mut column = None;
        while let Some(metadata) = self.message()? {
            let wrong = if column.is_some() { ODD } else { NONE };
            let message = root_as_message(&metadata).map_err(|_| self.failure(wrong))?;
            let body = u64::try_from(message.bodyLength()).map_err(|_| self.failure(wrong))?;
            match (message.header_type(), &column) {
                (MessageHeader::Schema, None) => {
                    let schema = message.header_as_schema();
                    let schema = schema.ok_or_else(|| self.failure(wrong))?;
                    column = Some(find_column(&schema, name, &self.input.name)?);
                    self.pass(body)?;
                }
                (MessageHeader::DictionaryBatch, Some(_)) => self.pass(body)?,
                (MessageHeader::RecordBatch, Some(column)) => self.batch(&message, column)?,
                _ => return Err(self.failure(wrong)),
            }
            self.input.progress(self.rows);
        }
        if column.is_none() {
            return Err(self.failure("there is no schema"));
        }
        Ok(self.position > self.begin)
    }

    /// A file has its mark at the end, too.
    fn end_mark(&mut self) -> Result {
        let mut end = Vec::new();
        loop {
            let got = self.read(&mut end, 1 << 16)?;
            if got == 0 {
                break;
            }
            end.drain(..end.len().saturating_sub(MARK.len()));
        }
        if end == MARK { Ok(()) } else { Err(self.cut_off()) }
    }

    fn cut_off(&self) -> Failure {
        let name = &self.input.name;
        failure!("{name}: the mark at its end is not there: the file is cut off")
    }

    fn broken_footer(&self) -> Failure {
        failure!("{}: its footer is broken", self.input.name)
    }

    /// Reads the batches that the footer lists, each once.
    fn by_footer(&mut self, name: Option<&str>) -> Result {
        let size = self.input.total.unwrap_or(0);
        if size < MARK.len() as u64 + TAIL {
            return Err(self.cut_off());
        }
        let mut tail = Vec::new();
        self.go_to(size - TAIL)?;
        self.read_all(&mut tail, TAIL)?;
        let [a, b, c, d, mark @ ..] = tail.as_slice() else {
            return Err(self.cut_off());
        };
        if mark != MARK {
            return Err(self.cut_off());
        }
        let n = u64::from(u32::from_le_bytes([*a, *b, *c, *d]));
        let begin = (size - TAIL).checked_sub(n).ok_or_else(|| self.broken_footer())?;
        let mut bytes = Vec::new();
        self.go_to(begin)?;
        self.read_all(&mut bytes, n)?;
        let footer = root_as_footer(&bytes).map_err(|_| self.broken_footer())?;
        let schema = footer.schema().ok_or_else(|| self.broken_footer())?;
        let column = find_column(&schema, name, &self.input.name)?;
        let mut end = MARK.len() as u64;
        for block in footer.recordBatches().into_iter().flatten() {
            let position = u64::try_from(block.offset()).ok().filter(|at| *at >= end);
            self.block(position.ok_or_else(|| self.broken_footer())?, &column)?;
            end = self.position;
        }
        Ok(())
    }

    fn block(&mut self, position: u64, column: &Column) -> Result {
        self.go_to(position)?;
        let metadata = self.message()?.unwrap_or_default();
        let message = root_as_message(&metadata).ok();
        match message.filter(|message| message.header_type() == MessageHeader::RecordBatch) {
            Some(message) => self.batch(&message, column)?,
            None => {
                return Err(
                    self.failure("there is no batch, where the footer says that there is one")
                );
            }
        }
        self.input.progress(self.rows);
        Ok(())
    }
}

// ---- batches

/// The metadata of a batch.
struct Layout<'a> {
    batch: RecordBatch<'a>,
    rows: u64,
    nulls: u64,
    body: u64,
}

impl Layout<'_> {
    /// The offset and the length of a buffer, which is inside of the body.
    fn buffer(&self, i: u64) -> Option<(u64, u64)> {
        let buffers = self.batch.buffers()?;
        let i = usize::try_from(i).ok().filter(|i| *i < buffers.len())?;
        let buffer = buffers.get(i);
        let at = u64::try_from(buffer.offset()).ok()?;
        let n = u64::try_from(buffer.length()).ok()?;
        (at.checked_add(n)? <= self.body).then_some((at, n))
    }

    /// The number of buffers that the i-th column of views refers to.
    fn viewed(&self, i: usize) -> Option<u64> {
        let counts = self.batch.variadicBufferCounts()?;
        let count = (i < counts.len()).then(|| counts.get(i))?;
        let most = self.batch.buffers()?.len() as u64;
        u64::try_from(count).ok().filter(|count| *count <= most)
    }
}

impl Reader<'_> {
    fn layout<'b>(&self, message: &Message<'b>, column: &Column) -> Result<Layout<'b>> {
        let batch = message.header_as_record_batch().ok_or_else(|| self.broken())?;
        if batch.compression().is_some() {
            return Err(self.failure(
                "its buffers are compressed, which is not read: write it without compression",
            ));
        }
        let nodes = batch.nodes().filter(|nodes| column.nodes < nodes.len());
        let Some(nodes) = nodes else {
            return Err(self.failure("it has fewer columns than the schema"));
        };
        let node = nodes.get(column.nodes);
        let number = |n: i64| u64::try_from(n).map_err(|_| self.broken());
        let rows = number(batch.length())?;
        if node.length() != batch.length() || rows > i64::MAX as u64 / 16 - 1 {
            return Err(self.broken());
        }
        Ok(Layout {
            batch,
            rows,
            nulls: number(node.null_count())?,
            body: number(message.bodyLength())?,
        })
    }

    fn batch(&mut self, message: &Message, column: &Column) -> Result {
        let layout = self.layout(message, column)?;
        self.body = 0;
        let broken = self.broken();
        let Some((valid, second)) = (0..column.views)
            .try_fold(column.buffers, |n, i| n.checked_add(layout.viewed(i)?))
            .and_then(|first| Some((layout.buffer(first)?, first + 1)))
        else {
            return Err(broken);
        };
        let (Some(one), rows) = (layout.buffer(second), layout.rows) else {
            return Err(broken);
        };
        let needed = match column.values {
            Values::Offsets(width) => width * (rows + 1),
            Values::Views => 16 * rows,
            Values::Fixed(width) => rows.saturating_mul(width),
        };
        if rows > 0 {
            if one.1 < needed {
                return Err(broken);
            }
            self.refuse_nulls(&layout, valid)?;
            match column.values {
                Values::Fixed(_) => self.runs(rows, column.values, one)?,
                Values::Offsets(_) => {
                    let values = layout.buffer(second + 1).ok_or(broken)?;
                    let mut offsets = std::mem::take(&mut self.offsets);
                    offsets.clear();
                    self.buffer(&mut offsets, one.0, one.1)?;
                    self.offsets = offsets;
                    self.runs(rows, column.values, values)?;
                }
                Values::Views => self.views(&layout, column.views, second, one)?,
            }
        }
        self.pass(layout.body - self.body)?;
        self.batch += 1;
        Ok(())
    }

    /// A null is no record.
    fn refuse_nulls(&mut self, layout: &Layout, valid: (u64, u64)) -> Result {
        if layout.nulls == 0 {
            return Ok(());
        }
        if valid.1 < layout.rows.div_ceil(8) {
            return Err(self.broken());
        }
        let mut bits = Vec::new();
        self.buffer(&mut bits, valid.0, valid.1)?;
        let is_null = |i: &u64| bits[*i as usize / 8] >> (i % 8) & 1 == 0;
        match (0..layout.rows).find(is_null) {
            Some(i) => Err(self.value_failure(i, "it is null, and a bag has no nulls")),
            None => Ok(()),
        }
    }

    /// Returns the offset of value `i`, which ends at the offset of the next one.
    fn limit(&self, i: u64, values: Values) -> u64 {
        let (at, width) = match values {
            Values::Offsets(width) => ((i * width) as usize, width as usize),
            Values::Views => return 0,
            Values::Fixed(width) => return i * width,
        };
        let bytes = self.offsets.get(at..at + width).unwrap_or(&[0xff; 8]);
        bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
    }

    /// Passes on values that are end to end.
    fn runs(&mut self, rows: u64, values: Values, buffer: (u64, u64)) -> Result {
        const BROKEN: &str = "its offsets are broken";
        let mut limits = Vec::with_capacity(VALUES_MOST + 1);
        let mut bytes = std::mem::take(&mut self.values);
        let mut i = 0;
        while i < rows {
            let begin = self.limit(i, values);
            if begin > buffer.1 {
                return Err(self.value_failure(0, BROKEN));
            }
            limits.clear();
            limits.push(0);
            while limits.len() <= VALUES_MOST && i < rows {
                let next = self.limit(i + 1, values);
                let last = begin + limits.last().copied().unwrap_or(0);
                if next < last || next > buffer.1 {
                    return Err(self.value_failure(limits.len() as u64 - 1, BROKEN));
                }
                if limits.len() > 1 && next - begin > BYTES_TARGET {
                    break;
                }
                limits.push(next - begin);
                i += 1;
            }
            bytes.clear();
            let n = limits.last().copied().unwrap_or(0);
            self.buffer(&mut bytes, buffer.0 + begin, n)?;
            self.pass_on(&bytes, &limits)?;
        }
        self.values = bytes;
        Ok(())
    }

    fn pass_on(&mut self, data: &[u8], offsets: &[u64]) -> Result {
        self.rows += offsets.len() as u64 - 1;
        match offsets.len() {
            1 => Ok(()),
            _ => self.sink.take(Batch { data, offsets }),
        }
    }

    /// Passes on views: a length, and either up to 12 bytes, or 4 of them and the location of all
    /// in a buffer.
    fn views(&mut self, layout: &Layout, column: usize, at: u64, views: (u64, u64)) -> Result {
        let count = layout.viewed(column).ok_or_else(|| self.broken())?;
        let (mut heads, mut viewed, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        self.buffer(&mut heads, views.0, views.1)?;
        for i in 0..count {
            let (from, n) = layout.buffer(at + 1 + i).ok_or_else(|| self.broken())?;
            self.buffer(&mut viewed, from, n)?;
            ends.push(viewed.len());
        }
        let (mut bytes, mut limits) = (Vec::new(), vec![0]);
        for head in heads.chunks_exact(16).take(layout.rows as usize) {
            let Some(value) = view(head, &viewed, &ends) else {
                let i = limits.len() as u64 - 1;
                return Err(self.value_failure(i, "what it views is not there"));
            };
            bytes.extend_from_slice(value);
            limits.push(bytes.len() as u64);
            if limits.len() > VALUES_MOST || bytes.len() as u64 >= BYTES_TARGET {
                self.pass_on(&bytes, &limits)?;
                bytes.clear();
                limits.truncate(1);
            }
        }
        self.pass_on(&bytes, &limits)
    }
}

/// Returns the value of a view. Buffer `i` is `viewed[ends[i]..ends[i + 1]]`.
fn view<'a>(head: &'a [u8], viewed: &'a [u8], ends: &[usize]) -> Option<&'a [u8]> {
    let number = |at: usize| {
        let four = head.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    let length = number(0)?;
    if length <= 12 {
        return head.get(4..4 + length);
    }
    let (i, from) = (number(8)?, number(12)?);
    let buffer = viewed.get(*ends.get(i)?..*ends.get(i.checked_add(1)?)?)?;
    buffer.get(from..from.checked_add(length)?)
}
