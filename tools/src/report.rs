//! Messages on standard error: errors, one line each after `holdall: `, and notes.
//!
//! Control characters are escaped: an error stays one line, and a file name cannot control the
//! terminal.

use crate::file_name::FileName;
use crate::progress;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Characters of a line: room for two paths and the reason.
const LINE: usize = 8192;

/// Escapes control characters.
pub fn printable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(escaped, "\\x{:02x}", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Shortens a text in its middle to at most `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let half = (most - 3) / 2;
    let (head, tail): (String, String) =
        (text.chars().take(half).collect(), text.chars().skip(count - half).collect());
    head + "..." + &tail
}

fn line(prefix: &str, text: &str) {
    progress::suspend(|| {
        // nothing is left to report to if standard error fails
        let _ = writeln!(io::stderr().lock(), "{prefix}{}", printable(&shortened(text, LINE)));
    });
}

/// Prints an error.
pub fn error(text: &str) {
    line("holdall: ", text);
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes and progress from now on if `quiet` is true.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a line that is no error, unless `--quiet` suppresses it.
pub fn note(text: &str) {
    if !is_quiet() {
        line("", text);
    }
}

/// The plural suffix for a number.
pub fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// A number of bytes, with its size in larger units: `80000 (78.1 KiB)`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => bytes.to_string(),
        _ => {
            let unit = bytes.ilog2() / 10;
            let rounded = bytes as f64 / (1u64 << (10 * unit)) as f64;
            let prefix = "KMGTPE".chars().nth(unit as usize - 1).unwrap_or_default();
            format!("{bytes} ({rounded:.1} {prefix}iB)")
        }
    }
}

/// The bytes on disk of so much content, with the compression ratio: `1000 (ratio 80.0)`.
pub fn stored_size(bytes: u64, content: u64) -> String {
    if bytes == 0 || content == 0 {
        return size(bytes);
    }
    let ratio = content as f64 / bytes as f64;
    match size(bytes).strip_suffix(')') {
        Some(size) => format!("{size}, ratio {ratio:.1})"),
        None => format!("{bytes} (ratio {ratio:.1})"),
    }
}

/// The message of an error of the system, without the number of the error.
pub fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Names of the library, and what the command line calls them. Longer names precede their prefixes.
const TRANSLATIONS: &[(&str, &str)] = &[
    ("HOLDALL_OPT_BAG_LIMITS_CACHE", "--limits-storage"),
    ("HOLDALL_OPT_BAG_LIMITS 1", "--limits separate"),
    ("HOLDALL_OPT_BAG_LIMITS", "--limits"),
    ("HOLDALL_OPT_BAG_SHARDS = HOLDALL_BAG_SHARDS_INTERLEAVED", "--shard-order interleaved"),
    ("HOLDALL_OPT_BAG_SHARDS", "--shard-order"),
    ("HOLDALL_OPT_MEMORY_LIMIT", "--memory-limit"),
    ("HOLDALL_OPT_VERIFY 0", "--unchecked"),
    ("HOLDALL_OPT_SKIP_DAMAGED", "--skip-damaged"),
    ("HOLDALL_OPT_CHUNK_BYTES", "--chunk-size"),
    ("HOLDALL_OPT_FORMAT_VERSION", "--format-version"),
    ("HOLDALL_OPT_IO", "--map"),
    ("HOLDALL_OPT_FILTERS", "--filters"),
    ("HOLDALL_OPT_OFFSETS", "--no-offsets"),
    ("HOLDALL_OPT_CODEC", "--codec"),
    ("HOLDALL_OPT_LEVEL", "--level"),
    ("HOLDALL_BAG_DICTIONARY_AUTO", "--train-dictionary"),
    ("HOLDALL_OPT_BAG_DICTIONARY", "--store-dictionary"),
    ("HOLDALL_OPT_DICTIONARY", "--dictionary"),
    ("HOLDALL_OPT_CHUNK_DICTIONARY", "--chunk-dictionary"),
    ("HOLDALL_OPT_CHECKSUM", "--checksum"),
    ("HOLDALL_OPT_THREADS", "--threads"),
    ("HOLDALL_OPT_LOCK", "--no-lock"),
    ("HOLDALL_OPT_ORDER", "--fortran"),
    ("HOLDALL_OPT_FOLLOW_LINKS", "--follow-links"),
    ("HOLDALL_OPT_YAML", "--yaml"),
    ("HOLDALL_OPT_PRECISION 0", "--filters shuffle"),
    ("HOLDALL_OPT_PRECISION", "--filters trunc_prec"),
    ("HOLDALL_FILTER_SHUFFLE or _BITSHUFFLE", "shuffle or bitshuffle"),
    ("HOLDALL_CHECKSUM_CRC32 or _NONE", "crc32 or none"),
    ("HOLDALL_REPLACE and HOLDALL_APPEND accept it", "--force replaces it"),
    ("HOLDALL_REPLACE", "--force"),
    ("HOLDALL_APPEND", "--append"),
];

/// Translates the names of options in a message of the library.
pub fn translated(message: &str) -> String {
    TRANSLATIONS
        .iter()
        .fold(message.to_owned(), |text, (library, tool)| text.replace(library, tool))
}

/// The name of a container in memory in messages of the library.
const IN_MEMORY: &str = "(memory)";

/// The message of the library, with the path if it does not name it.
pub fn library_message(path: &FileName, error: &holdall::Error) -> String {
    let mut message = error.to_string();
    let named = if path.is_standard() {
        message = message.replace(IN_MEMORY, "-");
        message.contains("-: ")
    } else {
        path.is_empty() || message.contains(&*path.text())
    };
    let prefix = if named { String::new() } else { format!("{path}: ") };
    prefix + &translated(&message)
}
