//! include/holdall.h is generated from src/capi/: this test fails where it is out of date, and
//! rewrites it under HOLDALL_BLESS=1.

use std::{env, fs, path::Path};

/// The parts of the header, in reading order.
const PARTS: &[(&str, &str)] = &[
    ("guard", "failures"),
    (
        "options",
        "options: every open takes them; NULL stands for the defaults",
    ),
    ("io", "storage: local paths, or functions of the caller"),
    ("common", "identify, verify, repair"),
    (
        "schunk",
        "superchunks: a byte sequence in compressed chunks (Bloscpack, Blosc2)",
    ),
    (
        "array",
        "arrays: items of one type in N dimensions (Bloscpack, bcolz, BLZ, b2nd, Caterva)",
    ),
    (
        "table",
        "tables: named columns of equal length (bcolz, BLZ)",
    ),
    ("bag", "bags: records of any length (Bagz)"),
    (
        "stream",
        "streams with read-ahead; shuffled epochs; batches in memory of the caller",
    ),
    ("index", "indexes of bags: from keys to record numbers"),
    ("arrow", "Arrow: export and import of tables and bags"),
];

fn part(root: &Path, module: &str) -> String {
    let mut c = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        usize_is_size_t: true,
        no_includes: true,
        documentation_style: cbindgen::DocumentationStyle::C,
        line_length: 96,
        tab_width: 4,
        ..Default::default()
    };
    c.function.prefix = Some("HOLDALL_API".into());
    c.function.must_use = Some("HOLDALL_USE".into());
    // no function of their own part uses these
    c.export.include = ["holdall_error", "holdall_status", "holdall_mode"]
        .map(String::from)
        .into();
    c.export
        .rename
        .insert("ArrowArrayStream".into(), "struct ArrowArrayStream".into());
    let mut out = Vec::new();
    let source = root.join(format!("src/capi/{module}.rs"));
    cbindgen::Builder::new()
        .with_config(c)
        .with_src(source)
        .generate()
        .unwrap()
        .write(&mut out);
    tidy(&String::from_utf8(out).unwrap())
}

/// The longest line of a comment, about.
const COLUMNS: usize = 110;

/// Words that do not fit on a line go to the next one, or, behind the end of a sentence, to one of
/// their own.
fn folded(text: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = String::new();
    for line in text {
        let mut line = if rest.is_empty() {
            line.to_string()
        } else {
            format!("{rest} {}", line.trim_start())
        };
        rest.clear();
        let (before, ends) = (out.len(), line.ends_with(['.', ':']));
        while let Some(at) = line
            .get(..COLUMNS)
            .and_then(|l| l.rfind(' '))
            .filter(|_| line.len() > COLUMNS + 10)
        {
            let behind = line.split_off(at);
            out.push(std::mem::replace(
                &mut line,
                behind.trim_start().to_string(),
            ));
        }
        if out.len() > before && !ends {
            rest = line;
        } else {
            out.push(line);
        }
    }
    out.extend(Some(rest).filter(|r| !r.is_empty()));
    out
}

/// Comments as C programmers write them: on one line where they fit, with a star on each other
/// line; constants without blank lines between; negative ones in parentheses.
fn tidy(generated: &str) -> String {
    let mut out = String::new();
    let mut lines = generated.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "/*" {
            let indent = &line[..line.len() - 2];
            let text: Vec<&str> = std::iter::from_fn(|| lines.next_if(|l| l.trim() != "*/"))
                .map(|line| {
                    let line = line.strip_prefix(indent).unwrap_or(line);
                    line.strip_prefix(' ').unwrap_or(line).trim_end()
                })
                .collect();
            lines.next();
            out += &format!(
                "{indent}/* {} */\n",
                folded(&text)
                    .join(&format!("\n{indent} * "))
                    .replace(" * \n", " *\n")
            );
        } else if let Some((name, value)) = line
            .strip_prefix("#define ")
            .and_then(|d| d.split_once(" -"))
        {
            out += &format!("#define {name} (-{value})\n");
        } else if line.is_empty()
            && out
                .lines()
                .last()
                .is_some_and(|l| l.starts_with("#define "))
        {
        } else if line.starts_with("typedef struct") {
            out += &format!("{line}\n");
        } else {
            out += &format!("{}\n", line.replace("struct holdall_", "holdall_"));
        }
    }
    out
}

fn header(root: &Path) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let n: Vec<u32> = version.split('.').map(|p| p.parse().unwrap()).collect();
    let mut h = fs::read_to_string(root.join("src/capi/prelude.h")).unwrap();
    for (name, value) in [
        ("MAJOR", n[0]),
        ("MINOR", n[1]),
        ("PATCH", n[2]),
        ("NUMBER", n[0] * 1_000_000 + n[1] * 1000 + n[2]),
    ] {
        h = h.replace(&format!("@{name}@"), &value.to_string());
    }
    for (module, title) in PARTS {
        h += &format!(
            "\n/* ---- {title} {}*/\n\n",
            "-".repeat(74_usize.saturating_sub(title.len()))
        );
        h += part(root, module).trim();
        h.push('\n');
    }
    h += "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* HOLDALL_H */\n";
    h
}

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let want = header(root);
    let path = root.join("include/holdall.h");
    if env::var_os("HOLDALL_BLESS").is_some() {
        fs::write(&path, &want).unwrap();
    }
    let have = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        have == want,
        "include/holdall.h is out of date; run HOLDALL_BLESS=1 cargo test --test headers"
    );
}

#[test]
fn the_readme_shows_the_demo() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme
        .split("```c\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert_eq!(
        shown,
        fs::read_to_string(root.join("examples/demo.c")).unwrap()
    );
}
