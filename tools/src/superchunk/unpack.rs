//! `holdall unpack`: the content of a superchunk becomes a file again.

use super::source::{Damage, Source};
use crate::cli::Unpack;
use crate::failure::{Exit, Failure, Result};
use crate::files::{self, OutputFile};
use crate::output::Output;
use crate::report::{self, plural};
use crate::{options, progress, signals};

fn unpack_to_file(source: &Source, damage: &mut Damage, args: &Unpack, out: &str) -> Result {
    signals::catch();
    let (mut file, mut done) = (OutputFile::create(out, args.output.force)?, 0);
    let total = source.schunk.len();
    progress::begin("unpack");
    let written = source.stream(0..total, damage, |bytes| {
        done += bytes.len() as u64;
        progress::report(done, total);
        file.put(bytes)
    });
    progress::end();
    written?;
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    file.complete()?;
    report::note(&format!("{out}: {total} byte{} unpacked", plural(total)));
    Ok(())
}

pub fn run(args: &Unpack, input: &str, out: &str) -> Result<Exit> {
    let options = options::reading(&args.reading);
    let (source, mut damage) = Source::open(input, &options, args.skip_damaged)?;
    if !files::is_standard(out) {
        files::refuse_same(input, out)?;
        unpack_to_file(&source, &mut damage, args, out)?;
        return Ok(Exit::damaged(damage.found));
    }
    let mut output = Output::standard();
    source.stream(0..source.schunk.len(), &mut damage, |bytes| output.bytes(bytes))?;
    output.finish(Exit::damaged(damage.found))
}
