//! Option names of earlier versions, which go on working with a note.

use std::ffi::OsString;

/// (commands, old option, new option with its value if it has none of its own)
const OPTIONS: &[(&[&str], &str, &[&str])] = &[
    (&["cat"], "--shuffle", &["--seed"]),
    (&["cat"], "--format", &["--to"]),
    (&["pack", "append", "convert"], "--shuffle", &["--filters"]),
    (&["sum"], "--sum", &["--checksum"]),
    (&["pack", "convert"], "--no-checksum", &["--checksum", "none"]),
    (
        &["info", "cat", "pack", "convert", "index", "verify", "repair", "sum"],
        "--compression",
        &["--codec"],
    ),
    (&["pack", "unpack", "convert", "index"], "--replace", &["--force"]),
    (
        &["info", "cat", "index", "verify", "sum", "convert"],
        "--interleaved",
        &["--shard-order", "interleaved"],
    ),
];

/// Options whose value says which of two meanings of an old name it has: (commands, old name,
/// values, new name).
type ByValue =
    (&'static [&'static str], &'static str, &'static [&'static str], &'static [&'static str]);
const BY_VALUE: &[ByValue] = &[
    (
        &["info", "cat", "index", "verify", "sum"],
        "--shards",
        &["concatenated", "interleaved"],
        &["--shard-order"],
    ),
    (&["pack"], "--limits", &["separate"], &["--separate"]),
    (&["pack"], "--limits", &["tail"], &[]),
];

/// Replaces old names in the arguments after the name of the program, and returns the notes about
/// them.
pub fn replaced(arguments: Vec<OsString>) -> (Vec<OsString>, Vec<String>) {
    let command = arguments
        .iter()
        .find_map(|a| a.to_str().filter(|a| !a.starts_with('-')))
        .unwrap_or("")
        .to_owned();
    let (mut new, mut notes) = (Vec::new(), Vec::new());
    let mut old = arguments.into_iter();
    while let Some(argument) = old.next() {
        if argument == "--" {
            new.push(argument);
            new.extend(old);
            break;
        }
        let text = argument.to_str().unwrap_or("");
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if let Some((_, _, names)) =
            OPTIONS.iter().find(|(c, n, _)| *n == name && c.contains(&command.as_str()))
        {
            notes.push(format!("{command}: {name} is now {}", names.join(" ")));
            new.extend(names.iter().map(OsString::from));
            if let Some(value) = value {
                new.push(value.into());
            }
            continue;
        }
        let by_value: Vec<_> = BY_VALUE
            .iter()
            .filter(|(c, n, _, _)| *n == name && c.contains(&command.as_str()))
            .collect();
        if by_value.is_empty() {
            new.push(argument);
            continue;
        }
        let next = value.map(OsString::from).or_else(|| old.next());
        let given = next.as_ref().and_then(|next| next.to_str()).unwrap_or("").to_owned();
        match by_value.iter().find(|(_, _, values, _)| values.contains(&given.as_str())) {
            Some((_, _, values, names)) => {
                notes.push(format!(
                    "{command}: {name} {given} is now {}",
                    if names.is_empty() { "the default" } else { names[0] }
                ));
                new.extend(names.iter().map(OsString::from));
                if values.len() > 1 {
                    new.extend(next);
                }
            }
            None => {
                new.push(name.into());
                new.extend(next);
            }
        }
    }
    (new, notes)
}
