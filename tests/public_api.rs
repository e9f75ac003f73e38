//! The public interface of the crate, compared with `tests/public_api.txt`: a change of it must be
//! visible in a review. HOLDALL_BLESS=1 rewrites that file.
//!
//! The list comes from the sources as rustfmt formats them: the public items of `src/api/`, and the
//! enums of the engine that it re-exports, each with its signature on one line.

use std::collections::BTreeSet;
use std::{env, fs, path::Path};

/// Re-exported types of the engine, and where they are.
const RE_EXPORTED: &[(&str, &str)] = &[
    ("Format", "src/format.rs"),
    ("Kind", "src/format.rs"),
    // ItemType, its ItemKind and its fields
    ("Type", "src/dtype/mod.rs"),
    ("Kind", "src/dtype/mod.rs"),
    ("Field", "src/dtype/mod.rs"),
    ("Status", "src/error.rs"),
];

/// Returns the code of a file without comments and tests: one item, field or method per line, with
/// its indentation.
fn lines_of_code(source: &str) -> Vec<String> {
    let code = source.split("\n#[cfg(test)]").next().unwrap();
    let (mut all, mut depth) = (Vec::<String>::new(), 0);
    for line in code.lines() {
        let is_comment = line.trim_start().starts_with("//");
        if is_comment || line.trim().is_empty() {
            continue;
        }
        match all.last_mut().filter(|_| depth > 0) {
            Some(item) => *item = format!("{item} {}", line.trim()),
            None => all.push(line.to_owned()),
        }
        let is_use = all.last().unwrap().starts_with("pub use");
        let brackets = |pair: [char; 2], c: char| i32::from(c == pair[0]) - i32::from(c == pair[1]);
        depth += ["'('", "')'", "'['", "']'"]
            .iter()
            .fold(line.to_owned(), |line, literal| line.replace(literal, ""))
            .chars()
            .map(|c| {
                brackets(['(', ')'], c)
                    + brackets(['[', ']'], c)
                    + i32::from(is_use) * brackets(['{', '}'], c)
            })
            .sum::<i32>();
    }
    // as on one line, and without `mut` of arguments
    let packed = |item: String| {
        item.replace("( ", "(")
            .replace(", )", ")")
            .replace("{ ", "{")
            .replace(", }", "}")
            .replace("(mut ", "(")
            .replace(", mut ", ", ")
    };
    all.into_iter().map(packed).collect()
}

/// Returns the public items of a file, each after the type or trait that it belongs to.
fn public_items(source: &str) -> Vec<String> {
    const ATTRIBUTES: [&str; 3] = ["#[derive", "#[must_use", "#[non_exhaustive"];
    const PUBLIC_THROUGHOUT: [&str; 3] = ["pub enum", "pub trait", "element!"];
    let starts = |text: &str, all: &[&str]| all.iter().any(|start| text.starts_with(start));
    let (mut found, mut owner, mut attributes) = (Vec::new(), String::new(), String::new());
    for line in lines_of_code(source) {
        let indentation = line.len() - line.trim_start().len();
        let text = line.trim().trim_end_matches([' ', '{', ';', ',']);
        if starts(text, &ATTRIBUTES) {
            attributes += &format!("{text} ");
        } else if text.starts_with('#') || text.starts_with('}') {
            continue;
        } else if indentation == 0 {
            let has_private_fields = text.starts_with("pub struct") && text.contains('(');
            owner = text
                .split(if has_private_fields { "(" } else { "\n" })
                .next()
                .unwrap()
                .to_owned();
            let is_impl = text.starts_with("impl") && text.contains(" for ");
            if is_impl || starts(text, &["pub ", "debug!"]) {
                found.push(format!("{attributes}{owner}"));
            }
            attributes.clear();
        } else if indentation == 4
            && !owner.starts_with("mod ")
            && (text.starts_with("pub ") || starts(&owner, &PUBLIC_THROUGHOUT))
        {
            found.push(format!("{owner}: {text}"));
        }
    }
    found
}

/// Returns the name of the type that an item belongs to, or that it declares.
fn type_of(item: &str) -> Option<&str> {
    let name = match item.strip_prefix("impl") {
        Some(head) if head.contains(" for ") => head.rsplit(" for ").next()?,
        Some(head) => head.trim_start(),
        None => {
            ["struct ", "enum "]
                .iter()
                .find_map(|before| item.split_once(before))?
                .1
        }
    };
    name.trim_start_matches('&').split(['<', ' ', ':']).next()
}

fn interface(root: &Path) -> String {
    let read = |path: &Path| public_items(&fs::read_to_string(path).unwrap());
    let mut items = Vec::new();
    for file in fs::read_dir(root.join("src/api")).unwrap() {
        items.extend(read(&file.unwrap().path()));
    }
    for (name, file) in RE_EXPORTED {
        items.extend(
            read(&root.join(file))
                .into_iter()
                .filter(|item| type_of(item) == Some(name)),
        );
    }
    let declared = items
        .iter()
        .filter(|item| item.contains("pub struct ") || item.contains("pub enum "));
    let public: BTreeSet<String> = declared
        .filter_map(|item| type_of(item))
        .map(str::to_owned)
        .collect();
    items.retain(|item| {
        !item.starts_with("impl") || type_of(item).is_some_and(|name| public.contains(name))
    });
    items.sort();
    items.join("\n") + "\n"
}

#[test]
fn the_public_interface_is_the_recorded_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (found, file) = (interface(root), root.join("tests/public_api.txt"));
    if env::var_os("HOLDALL_BLESS").is_some_and(|v| v == "1") {
        return fs::write(file, found).unwrap();
    }
    let recorded = fs::read_to_string(file).unwrap();
    let only_in = |a: &str, b: &str| {
        let b: BTreeSet<&str> = b.lines().collect();
        let lines = a.lines().filter(|line| !b.contains(line));
        lines
            .map(|line| format!("\n    {line}"))
            .collect::<String>()
    };
    assert!(
        found == recorded,
        "the public interface is not that of tests/public_api.txt (HOLDALL_BLESS=1 rewrites it)\n\
         added:{}\nremoved:{}",
        only_in(&found, &recorded),
        only_in(&recorded, &found)
    );
}
