//! Option names of earlier versions, which go on working with a note.

use std::ffi::OsString;

/// (commands, old option, new one), each option with its value if only that one is meant.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("cat", "--shuffle", "--seed"),
    ("cat", "--format", "--to"),
    ("pack append convert", "--shuffle", "--filters"),
    ("sum", "--sum", "--checksum"),
    ("pack convert", "--no-checksum", "--checksum none"),
    ("info cat pack convert index verify repair sum", "--compression", "--codec"),
    ("pack unpack convert index", "--replace", "--force"),
    ("info cat index verify sum convert", "--interleaved", "--shard-order interleaved"),
    ("info cat index verify sum", "--shards concatenated", "--shard-order concatenated"),
    ("info cat index verify sum", "--shards interleaved", "--shard-order interleaved"),
    ("pack", "--limits separate", "--separate"),
    ("pack", "--limits tail", ""),
];

/// Replaces old names in the arguments after the name of the program, and returns the notes about
/// them.
pub fn replaced(arguments: Vec<OsString>) -> (Vec<OsString>, Vec<String>) {
    let texts = arguments.iter().filter_map(|argument| argument.to_str());
    let command = texts.clone().find(|text| !text.starts_with('-')).unwrap_or("").to_owned();
    let (mut new, mut notes) = (Vec::new(), Vec::new());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next_if(|argument| argument != "--") {
        let text = argument.to_str().unwrap_or("");
        let (name, attached) = text.split_once('=').map_or((text, None), |(a, b)| (a, Some(b)));
        let value = attached.or(rest.peek().and_then(|next| next.to_str()));
        let found = OPTIONS.iter().find(|(commands, old, _)| {
            let is_old = match old.split_once(' ') {
                Some((old, of)) => (old, Some(of)) == (name, value),
                None => *old == name,
            };
            is_old && commands.split(' ').any(|one| one == command)
        });
        let Some((_, old, by)) = found else {
            new.push(argument);
            continue;
        };
        let shown = if by.is_empty() { "the default" } else { by };
        notes.push(format!("{command}: {old} is now {shown}"));
        new.extend(by.split_whitespace().map(OsString::from));
        match (old.contains(' '), attached) {
            (true, None) => drop(rest.next()),
            (false, Some(value)) => new.push(value.into()),
            _ => {}
        }
    }
    new.extend(rest);
    (new, notes)
}
