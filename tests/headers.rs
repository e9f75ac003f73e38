//! The C headers: include/holdall.h and the chapters below include/holdall/ are generated from
//! src/capi/. A test fails where one is out of date, and rewrites it under HOLDALL_BLESS=1.

use std::collections::BTreeSet;
use std::{env, fs, path::Path};

/// A header below include/holdall/, generated from one module of src/capi/.
struct Chapter {
    header: &'static str,
    module: &'static str,
    title: &'static str,
}

const fn chapter(header: &'static str, module: &'static str, title: &'static str) -> Chapter {
    Chapter {
        header,
        module,
        title,
    }
}

/// The chapters, from simple to advanced.
const CHAPTERS: &[Chapter] = &[
    chapter(
        "base",
        "guard",
        "rules for every function, statuses, errors",
    ),
    chapter(
        "container",
        "container",
        "formats and modes; identify, verify, repair",
    ),
    chapter(
        "options",
        "options",
        "options, which every open takes; NULL stands for the defaults",
    ),
    chapter(
        "array",
        "array",
        "arrays: items of one type in N dimensions",
    ),
    chapter("table", "table", "tables: named columns of equal length"),
    chapter(
        "schunk",
        "schunk",
        "superchunks: a byte sequence in compressed chunks",
    ),
    chapter(
        "schunk_stream",
        "schunk_stream",
        "superchunks that are written from front to back",
    ),
    chapter("bag", "bag", "bags: records of any length"),
    chapter(
        "bag_stream",
        "stream",
        "streams with read-ahead; shuffled epochs; batches",
    ),
    chapter(
        "bag_index",
        "index",
        "indexes of bags: from keys to record numbers",
    ),
    chapter(
        "store",
        "store",
        "stores of python-blosc2: trees of arrays and superchunks",
    ),
    chapter(
        "arrow",
        "arrow",
        "Arrow: export and import of tables and bags",
    ),
    chapter(
        "part",
        "part",
        "parts: many processes write one container, with one commit",
    ),
    chapter("checksum", "checksum", "checksums of bytes"),
    chapter(
        "storage",
        "storage",
        "storage: memory or functions in place of local files",
    ),
];

/// The maximum length of a line.
const COLUMNS: usize = 100;

/// The maximum number of words in the comments of all headers, per function.
const WORDS: usize = 58;

/// Types that Arrow specifies, before the functions that use them.
const ARROW: &str = "\
/* https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* A type. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* A batch. */
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* https://arrow.apache.org/docs/format/CStreamInterface.html */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
/* A stream of batches. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

";

/// A declaration with the comment before it.
struct Item {
    name: String,
    text: String,
}

impl Item {
    fn is_type(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("typedef "))
    }

    fn value(&self) -> Option<i64> {
        let define = self.text.lines().last()?.strip_prefix("#define ")?;
        let value = define.split_once(' ')?.1;
        value.trim_matches(['(', ')']).parse().ok()
    }
}

/// The names of the declarations of a module, in its order.
fn names(source: &str) -> Vec<String> {
    let declared = |line: &str| {
        [
            "pub const ",
            "pub type ",
            "pub struct ",
            "pub extern \"C\" fn ",
            "pub unsafe extern \"C\" fn ",
        ]
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .and_then(|rest| {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
        })
        .map(String::from)
    };
    source.lines().filter_map(declared).collect()
}

/// The name that a declaration declares.
fn name_of(text: &str) -> &str {
    let code = text
        .rsplit("*/")
        .next()
        .unwrap()
        .trim()
        .trim_end_matches(';');
    if let Some(define) = code.strip_prefix("#define ") {
        return define.split(' ').next().unwrap();
    }
    if let Some(at) = code.find("(*holdall_") {
        return code[at + 2..].split(')').next().unwrap();
    }
    let declared = if code.ends_with(')') {
        code.split('(').next().unwrap()
    } else {
        code
    };
    declared.rsplit([' ', '*']).next().unwrap()
}

/// The declarations of a module, in its order.
fn items(root: &Path, module: &str) -> Vec<Item> {
    let path = root.join(format!("src/capi/{module}.rs"));
    let order = names(&fs::read_to_string(&path).unwrap());
    let mut c = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        usize_is_size_t: true,
        no_includes: true,
        documentation_style: cbindgen::DocumentationStyle::C,
        line_length: COLUMNS,
        tab_width: 4,
        ..Default::default()
    };
    c.function.prefix = Some("HOLDALL_API".into());
    c.function.must_use = Some("HOLDALL_USE".into());
    // also types that no function of the module uses
    c.export.include = order.clone();
    c.export
        .rename
        .insert("ArrowArrayStream".into(), "struct ArrowArrayStream".into());
    let mut out = Vec::new();
    cbindgen::Builder::new()
        .with_config(c)
        .with_src(path)
        .generate()
        .unwrap()
        .write(&mut out);
    let mut items: Vec<Item> = tidy(&String::from_utf8(out).unwrap())
        .replace("HOLDALL_API\nHOLDALL_USE\n", "HOLDALL_API HOLDALL_USE\n")
        .split("\n\n")
        .map(|text| text.trim_matches('\n').to_string())
        .filter(|text| !text.is_empty())
        .map(|text| Item {
            name: name_of(&text).to_string(),
            text,
        })
        .collect();
    items.sort_by_key(|item| order.iter().position(|name| *name == item.name));
    items
}

/// Comments and declarations as C programmers write them.
fn tidy(generated: &str) -> String {
    let mut out = String::new();
    let mut lines = generated.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "/*" {
            let indent = &line[..line.len() - 2];
            let text: Vec<&str> = std::iter::from_fn(|| lines.next_if(|l| l.trim() != "*/"))
                .map(|line| {
                    let line = line.strip_prefix(indent).unwrap_or(line);
                    let line = line.strip_prefix(" *").unwrap_or(line);
                    line.strip_prefix(' ').unwrap_or(line).trim_end()
                })
                .collect();
            lines.next();
            out += &comment(&text, indent);
        } else if let Some((name, value)) = line
            .strip_prefix("#define ")
            .and_then(|d| d.split_once(" -"))
        {
            out += &format!("#define {name} (-{value})\n");
        } else if line.starts_with("typedef struct") {
            out += &format!("{line}\n");
        } else {
            out += &format!("{}\n", line.replace("struct holdall_", "holdall_"));
        }
    }
    out
}

/// A comment, on one line if it fits, else with a star on each further line.
fn comment(text: &[&str], indent: &str) -> String {
    let lines = filled(text, COLUMNS - indent.len() - "/*  */".len());
    let body = lines.join(&format!("\n{indent} * "));
    format!("{indent}/* {body} */\n").replace(" * \n", " *\n")
}

/// Fills the paragraphs and list items of a text. Indented lines remain as they are; code fences
/// become indentation.
fn filled(text: &[&str], width: usize) -> Vec<String> {
    let (mut lines, mut paragraph, mut fenced) = (Vec::new(), String::new(), false);
    for line in text.iter().copied().chain([""]) {
        let begins = line.is_empty()
            || ["- ", "    ", "Used by: "]
                .iter()
                .any(|start| line.starts_with(start));
        let fence = line.starts_with("```");
        if begins || fence || fenced {
            wrap(&std::mem::take(&mut paragraph), width, &mut lines);
        }
        match line {
            _ if fence => fenced = !fenced,
            "" => lines.push(String::new()),
            _ if fenced => lines.push(format!("    {line}")),
            _ if line.starts_with("    ") => lines.push(line.to_string()),
            _ if paragraph.is_empty() => paragraph = line.to_string(),
            _ => paragraph = format!("{paragraph} {}", line.trim_start()),
        }
    }
    lines.pop();
    lines
}

/// Adds the lines of a paragraph or list item.
fn wrap(paragraph: &str, width: usize, lines: &mut Vec<String>) {
    let hanging = if paragraph.starts_with("- ") {
        "  "
    } else {
        ""
    };
    let mut line = String::new();
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(std::mem::replace(&mut line, format!("{hanging}{word}")));
        } else {
            let space = if line.is_empty() { "" } else { " " };
            line += &format!("{space}{word}");
        }
    }
    lines.extend(Some(line).filter(|line| !line.is_empty()));
}

/// The declarations, with a blank line between those that do not belong together: constants of
/// consecutive values do.
fn joined(items: &[Item]) -> String {
    let mut out = String::new();
    let mut last = None;
    for item in items {
        let value = item.value();
        let together = last
            .zip(value)
            .is_some_and(|(a, b): (i64, i64)| a.abs_diff(b) == 1);
        if !out.is_empty() && !together {
            out.push('\n');
        }
        out += &format!("{}\n", item.text);
        last = value;
    }
    out
}

/// The names in a text, without its comments.
fn words_of_code(text: &str) -> BTreeSet<&str> {
    let code = text
        .split("/*")
        .map(|part| part.rsplit("*/").next().unwrap());
    code.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect()
}

/// Replaces each @NAME@ of a template in src/capi/headers/.
fn template(root: &Path, name: &str, values: &[(&str, &str)]) -> String {
    let text = fs::read_to_string(root.join(format!("src/capi/headers/{name}.h"))).unwrap();
    values.iter().fold(text, |text, (key, value)| {
        text.replace(&format!("@{key}@"), value)
    })
}

/// The headers: path below include/, and text. holdall.h is the first.
fn headers(root: &Path) -> Vec<(String, String)> {
    let declared: Vec<(&Chapter, Vec<Item>)> = CHAPTERS
        .iter()
        .map(|chapter| (chapter, items(root, chapter.module)))
        .collect();
    let headers = declared.iter().map(|(chapter, items)| {
        let arrow = if chapter.header == "arrow" { ARROW } else { "" };
        let text = format!("{arrow}{}", joined(items));
        let used = words_of_code(&text);
        // a header includes those that define its types
        let includes: String = declared
            .iter()
            .filter(|(other, of_other)| {
                let uses = |item: &Item| item.is_type() && used.contains(item.name.as_str());
                other.header == "base"
                    || other.header != chapter.header && of_other.iter().any(uses)
            })
            .map(|(other, _)| format!("#include \"{}.h\"\n", other.header))
            .collect();
        let values = [
            ("NAME", chapter.header),
            ("TITLE", chapter.title),
            (
                "GUARD",
                &format!("HOLDALL_{}_H", chapter.header.to_uppercase()),
            ),
            ("INCLUDES", includes.trim_end()),
            ("ITEMS", text.trim_end()),
        ];
        let name = if chapter.header == "base" {
            "base"
        } else {
            "chapter"
        };
        (
            format!("holdall/{}.h", chapter.header),
            template(root, name, &values),
        )
    });
    std::iter::once(("holdall.h".into(), umbrella(root)))
        .chain(headers)
        .collect()
}

/// holdall.h, which includes all chapters.
fn umbrella(root: &Path) -> String {
    let version: Vec<u32> = env!("CARGO_PKG_VERSION")
        .split('.')
        .map(|n| n.parse().unwrap())
        .collect();
    let number = version.iter().fold(0, |all, n| all * 1000 + n).to_string();
    let contents: Vec<String> = CHAPTERS
        .iter()
        .map(|chapter| {
            format!(
                " *     {:25}{}",
                format!("holdall/{}.h", chapter.header),
                chapter.title
            )
        })
        .collect();
    let includes: Vec<String> = CHAPTERS
        .iter()
        .map(|chapter| format!("#include \"holdall/{}.h\"", chapter.header))
        .collect();
    template(
        root,
        "holdall",
        &[
            ("MAJOR", &version[0].to_string()),
            ("MINOR", &version[1].to_string()),
            ("PATCH", &version[2].to_string()),
            ("NUMBER", &number),
            ("CHAPTERS", &contents.join("\n")),
            ("INCLUDES", &includes.join("\n")),
        ],
    )
}

/// The comments of a header.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.split("/*")
        .skip(1)
        .filter_map(|part| part.split("*/").next())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_headers_are_current() {
    let stale: Vec<String> = headers(root())
        .into_iter()
        .filter(|(name, text)| {
            let path = root().join("include").join(name);
            if env::var_os("HOLDALL_BLESS").is_some() {
                fs::write(&path, text).unwrap();
            }
            fs::read_to_string(&path).unwrap_or_default() != *text
        })
        .map(|(name, _)| name)
        .collect();
    assert!(
        stale.is_empty(),
        "out of date: {stale:?}; run HOLDALL_BLESS=1 cargo test --locked --test headers"
    );
}

#[test]
fn the_headers_are_short() {
    let (mut total, mut functions) = (0, 0);
    for (name, text) in headers(root()) {
        functions += text
            .lines()
            .filter(|line| line.starts_with("HOLDALL_API"))
            .count();
        for (i, line) in text.lines().enumerate() {
            let length = line.chars().count();
            assert!(length <= COLUMNS, "{name}:{}: {length} columns", i + 1);
        }
        let words = comments(&text)
            .flat_map(str::split_whitespace)
            .filter(|word| *word != "*");
        let count = words.count();
        println!("{count:6} {name}");
        total += count;
    }
    println!("{total:6} of {functions} functions");
    assert!(
        total <= WORDS * functions,
        "{total} words of comments of {functions} functions (at most {WORDS} a function)"
    );
}

/// Comments name functions and constants that exist.
#[test]
fn comments_name_existing_items() {
    let headers = headers(root());
    let all: BTreeSet<&str> = headers
        .iter()
        .flat_map(|(_, text)| words_of_code(text))
        .collect();
    // of the environment, of cmake, and of programs that link the static library
    let others = ["HOLDALL_THREADS", "HOLDALL_CLOUD", "HOLDALL_STATIC"];
    let mut unknown = Vec::new();
    for (header, text) in &headers {
        let words =
            comments(text).flat_map(|c| c.split(|c: char| !c.is_alphanumeric() && c != '_'));
        for name in
            words.filter(|word| word.starts_with("holdall_") || word.starts_with("HOLDALL_"))
        {
            let stands_for_several = name.ends_with('_') || name.contains("_X");
            if !stands_for_several && !all.contains(name) && !others.contains(&name) {
                unknown.push(format!("{header}: {name}"));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn the_readme_shows_the_demo() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme
        .split("```c\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert_eq!(
        shown,
        fs::read_to_string(root().join("examples/demo.c")).unwrap()
    );
}
