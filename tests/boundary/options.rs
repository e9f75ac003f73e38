//! Options: values that are refused, and the lines in the header that say which calls use an option.

use crate::kinds::{Container, KINDS, containers, open_as};
use crate::{TempFolder, answer, array_spec, done, made, options, refused};
use holdall::capi::{
    array::*, bag::*, container::*, guard::*, index::*, options::*, schunk::*, stream::*, table::*,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr::{null, null_mut};

#[test]
fn options_are_set_and_freed() {
    unsafe extern "C" fn on(ctx: *mut std::ffi::c_void, _: u64, _: u64) -> std::ffi::c_int {
        ctx.is_null().into()
    }
    let o = options(&[(HOLDALL_OPT_MEMORY_LIMIT, 1 << 20)]);
    // SAFETY: the options exist until they are freed.
    unsafe {
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set(o, HOLDALL_OPT_LEVEL, i64::MIN, err)
        });
        done(|err| {
            holdall_options_set_bytes(o, HOLDALL_OPT_FILL_VALUE, [1u8, 2].as_ptr().cast(), 2, err)
        });
        done(|err| holdall_options_set_bytes(o, HOLDALL_OPT_FILL_VALUE, null(), 0, err));
        holdall_options_set_progress(o, Some(on), null_mut());
        holdall_options_free(o);
    }
}

/// What the header says of an option in a call: it is used, ignored, or an error.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Used,
    Ignored,
    Refused,
    /// Used by calls for superchunks, an error in others.
    Superchunks,
    /// Used by calls for tables, an error in others.
    Tables,
}

/// The calls in the documentation of `holdall_options`, and their letters here.
const CALLS: [(&str, &str); 9] = [
    ("read", "R"),
    ("write", "AC"),
    ("create", "C"),
    ("bag", "B"),
    ("writer", "W"),
    ("index", "I"),
    ("stream", "S"),
    ("verify", "V"),
    ("repair", "P"),
];
const COLUMNS: [char; 9] = ['R', 'A', 'C', 'B', 'W', 'I', 'S', 'V', 'P'];

/// The rules of an option, by the letter of the call.
type Rules = BTreeMap<char, Rule>;

/// The rules of all options, from the line `Used by:` in their documentation.
fn rules() -> BTreeMap<String, Rules> {
    let source = include_str!("../../src/capi/options.rs");
    let (mut all, mut used) = (BTreeMap::new(), None);
    for line in source.lines() {
        if let Some(list) = line.strip_prefix("/// Used by: ") {
            used = Some(list.strip_suffix('.').unwrap());
        } else if let Some(rest) = line.strip_prefix("pub const HOLDALL_OPT_") {
            let name = rest.split(':').next().unwrap();
            all.insert(name.to_string(), rules_of(used.take().unwrap()));
        }
    }
    all
}

/// The rules of an option that these calls use.
fn rules_of(used: &str) -> Rules {
    if let Some(but) = used.strip_prefix("all") {
        let ignoring = but.strip_prefix(" but ").map_or("", letters);
        let rule = |c: char| match ignoring.contains(c) {
            true => (c, Rule::Ignored),
            false => (c, Rule::Used),
        };
        return COLUMNS.map(rule).into();
    }
    let (used, rule) = match used.strip_suffix(" (tables)") {
        Some(used) => (used, Rule::Tables),
        None => (used, Rule::Used),
    };
    let mut rules = Rules::new();
    for call in used.split(", ") {
        let (call, rule) = match call.split_once(' ') {
            Some((call, "(superchunks)")) => (call, Rule::Superchunks),
            Some((call, "(frames)")) => (call, Rule::Used),
            _ => (call, rule),
        };
        rules.extend(letters(call).chars().map(|c| (c, rule)));
    }
    let some = |group: &str| group.chars().any(|c| rules.get(&c) == Some(&Rule::Used));
    let (chunks, bags) = (some("AC"), some("BWIS"));
    for c in COLUMNS {
        let ignored = chunks && "RA".contains(c) || bags && "BWIS".contains(c);
        let otherwise = if ignored {
            Rule::Ignored
        } else {
            Rule::Refused
        };
        rules.entry(c).or_insert(otherwise);
    }
    rules
}

/// The letters of a call.
fn letters(call: &str) -> &'static str {
    let found = CALLS.iter().find(|(name, _)| *name == call);
    found.unwrap_or_else(|| panic!("{call}")).1
}

/// Every option with a valid value other than the default.
const VALUES: [(&str, i32, i64); 39] = [
    ("THREADS", HOLDALL_OPT_THREADS, 1),
    ("MEMORY_LIMIT", HOLDALL_OPT_MEMORY_LIMIT, 1 << 30),
    ("IO", HOLDALL_OPT_IO, HOLDALL_IO_MAP as i64),
    ("VERIFY", HOLDALL_OPT_VERIFY, 2),
    ("SKIP_DAMAGED", HOLDALL_OPT_SKIP_DAMAGED, 1),
    ("DURABILITY", HOLDALL_OPT_DURABILITY, 0),
    ("LOCK", HOLDALL_OPT_LOCK, 0),
    ("CODEC", HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD as i64),
    ("LEVEL", HOLDALL_OPT_LEVEL, 3),
    ("CHUNK_BYTES", HOLDALL_OPT_CHUNK_BYTES, 4096),
    ("BLOCK_BYTES", HOLDALL_OPT_BLOCK_BYTES, 1024),
    (
        "CHECKSUM",
        HOLDALL_OPT_CHECKSUM,
        HOLDALL_CHECKSUM_NONE as i64,
    ),
    ("EXPECTED_ROWS", HOLDALL_OPT_EXPECTED_ROWS, 1000),
    ("SPARSE", HOLDALL_OPT_SPARSE, 1),
    ("SUPERCHUNK_CHUNKS", HOLDALL_OPT_SUPERCHUNK_CHUNKS, 2),
    ("OFFSETS", HOLDALL_OPT_OFFSETS, 0),
    ("SPARE_CHUNKS", HOLDALL_OPT_SPARE_CHUNKS, 9),
    ("SPARE_BYTES", HOLDALL_OPT_SPARE_BYTES, 16),
    ("FORMAT_VERSION", HOLDALL_OPT_FORMAT_VERSION, 3),
    (
        "BAG_LIMITS",
        HOLDALL_OPT_BAG_LIMITS,
        HOLDALL_BAG_LIMITS_SEPARATE as i64,
    ),
    ("BAG_LIMITS_CACHE", HOLDALL_OPT_BAG_LIMITS_CACHE, 1),
    (
        "BAG_SHARDS",
        HOLDALL_OPT_BAG_SHARDS,
        HOLDALL_BAG_SHARDS_INTERLEAVED as i64,
    ),
    ("BAG_READ_AHEAD", HOLDALL_OPT_BAG_READ_AHEAD, 4),
    ("ARROW_BINARY", HOLDALL_OPT_ARROW_BINARY, 1),
    ("ARROW_NULLS", HOLDALL_OPT_ARROW_NULLS, 1),
    ("FRAME_OFFSET", HOLDALL_OPT_FRAME_OFFSET, 7),
    ("BOTH_METALAYERS", HOLDALL_OPT_BOTH_METALAYERS, 1),
    (
        "BAG_READ_AHEAD_BYTES",
        HOLDALL_OPT_BAG_READ_AHEAD_BYTES,
        1 << 20,
    ),
    ("CLOUD_TIMEOUT", HOLDALL_OPT_CLOUD_TIMEOUT, 1000),
    ("CLOUD_RETRIES", HOLDALL_OPT_CLOUD_RETRIES, 1),
    ("CLOUD_REQUESTS", HOLDALL_OPT_CLOUD_REQUESTS, 2),
    ("DRY_RUN", HOLDALL_OPT_DRY_RUN, 1),
    ("ORDER", HOLDALL_OPT_ORDER, 1),
    ("YAML", HOLDALL_OPT_YAML, 1),
    ("FOLLOW_LINKS", HOLDALL_OPT_FOLLOW_LINKS, 1),
    ("PRECISION", HOLDALL_OPT_PRECISION, 10),
    (
        "BAG_DICTIONARY",
        HOLDALL_OPT_BAG_DICTIONARY,
        HOLDALL_BAG_DICTIONARY_AUTO as i64,
    ),
    ("CACHE_BYTES", HOLDALL_OPT_CACHE_BYTES, 1 << 20),
    ("CHUNK_DICTIONARY", HOLDALL_OPT_CHUNK_DICTIONARY, 1),
];
const BYTES: [(&str, i32, &[u8]); 3] = [
    (
        "FILTERS",
        HOLDALL_OPT_FILTERS,
        &[HOLDALL_FILTER_SHUFFLE as u8],
    ),
    (
        "DICTIONARY",
        HOLDALL_OPT_DICTIONARY,
        b"some text that is repeated",
    ),
    ("FILL_VALUE", HOLDALL_OPT_FILL_VALUE, &[1, 0, 0, 0]),
];

/// Every option, set in options of its own.
fn each_option() -> Vec<(&'static str, *mut holdall_options)> {
    let numbers = VALUES.map(|(name, option, value)| {
        let o = holdall_options_new();
        // SAFETY: the options exist.
        done(|err| unsafe { holdall_options_set(o, option, value, err) });
        (name, o)
    });
    let bytes = BYTES.map(|(name, option, value)| {
        let o = holdall_options_new();
        // SAFETY: options and bytes exist.
        done(|err| unsafe {
            holdall_options_set_bytes(o, option, value.as_ptr().cast(), value.len(), err)
        });
        (name, o)
    });
    [&numbers[..], &bytes].concat()
}

/// The calls of a letter.
struct Calls<'a> {
    folder: &'a TempFolder,
    containers: &'a [Container],
    created: Cell<u32>,
}

/// Status and message of a call that opens or creates this kind, with a container.
type Answer<'a> = (i32, &'a Container, (holdall_status, String));

impl<'a> Calls<'a> {
    /// A path where nothing exists.
    fn new_path(&self, extension: &str) -> CString {
        self.created.set(self.created.get() + 1);
        self.folder
            .file(&format!("new-{}{extension}", self.created.get()))
    }

    fn of_kind(&self, kind: i32) -> impl Iterator<Item = &'a Container> {
        self.containers
            .iter()
            .filter(move |c| c.kinds.contains(&kind))
    }

    /// Answers of all calls of this letter with these options.
    fn answers(&self, column: char, o: *const holdall_options) -> Vec<Answer<'a>> {
        let bags = || self.of_kind(HOLDALL_KIND_BAG);
        let open = |kind, mode| {
            let answer = move |c: &'a Container| (kind, c, open_as(kind, &c.path, mode, o));
            self.of_kind(kind).map(answer)
        };
        match column {
            'R' | 'A' => {
                let mode = if column == 'R' {
                    HOLDALL_READ
                } else {
                    HOLDALL_APPEND
                };
                let kinds = KINDS.into_iter().filter(|kind| *kind != HOLDALL_KIND_BAG);
                kinds.flat_map(|kind| open(kind, mode)).collect()
            }
            'C' => self
                .containers
                .iter()
                .flat_map(|c| self.create(c, o))
                .collect(),
            'B' => open(HOLDALL_KIND_BAG, HOLDALL_READ).collect(),
            'W' => {
                let create = |c| {
                    let path = self.new_path(".bagz");
                    let answer = open_as(HOLDALL_KIND_BAG, &path, HOLDALL_CREATE, o);
                    (HOLDALL_KIND_BAG, c, answer)
                };
                bags()
                    .map(create)
                    .chain(open(HOLDALL_KIND_BAG, HOLDALL_APPEND))
                    .collect()
            }
            'I' | 'S' => bags().flat_map(|c| self.with_bag(column, c, o)).collect(),
            'V' => self
                .containers
                .iter()
                .map(|c| (0, c, verify(c, o)))
                .collect(),
            _ => self
                .containers
                .iter()
                .map(|c| (0, c, repair(c, o)))
                .collect(),
        }
    }

    /// Creates and copies containers as the given one.
    fn create(&self, c: &'a Container, o: *const holdall_options) -> Vec<Answer<'a>> {
        let path = [self.new_path(""), self.new_path("")];
        let (new, mode, format) = (
            path.each_ref().map(|p| p.as_ptr()),
            HOLDALL_CREATE,
            c.format,
        );
        let (array, columns) = (array_spec(format, c"<i4", &[300]), crate::tables::columns());
        let table = crate::tables::spec(format, &columns);
        // SAFETY: handles that are open until they are closed; paths and structures exist.
        let (kind, found) = unsafe {
            if c.kinds.contains(&HOLDALL_KIND_TABLE) {
                let from = made(|out, err| {
                    holdall_table_open(c.path.as_ptr(), HOLDALL_READ, null(), out, err)
                });
                let copied = answer(|err| holdall_table_copy(from, new[0], mode, format, o, err));
                holdall_table_close(from);
                let created = answer(|err| {
                    let mut out = null_mut();
                    let status = holdall_table_create(new[1], mode, &table, o, &mut out, err);
                    holdall_table_close(out);
                    status
                });
                (HOLDALL_KIND_TABLE, vec![copied, created])
            } else if [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME].contains(&format)
                && c.path.to_bytes().windows(5).all(|w| w != b"array")
            {
                let from = made(|out, err| {
                    holdall_schunk_open(c.path.as_ptr(), HOLDALL_READ, null(), out, err)
                });
                let copied = answer(|err| holdall_schunk_copy(from, new[0], mode, format, o, err));
                holdall_schunk_close(from);
                let created = answer(|err| {
                    let mut out = null_mut();
                    let status = holdall_schunk_create(new[1], mode, format, 4, o, &mut out, err);
                    holdall_schunk_close(out);
                    status
                });
                (HOLDALL_KIND_SCHUNK, vec![copied, created])
            } else if c.kinds.contains(&HOLDALL_KIND_ARRAY) {
                let from = made(|out, err| {
                    holdall_array_open(c.path.as_ptr(), HOLDALL_READ, null(), out, err)
                });
                let spec = holdall_array_spec {
                    dtype: null(),
                    shape: null(),
                    ndim: 0,
                    ..array
                };
                let copied = answer(|err| holdall_array_copy(from, new[0], mode, &spec, o, err));
                holdall_array_close(from);
                let created = answer(|err| {
                    let mut out = null_mut();
                    let status = holdall_array_create(new[1], mode, &array, o, &mut out, err);
                    holdall_array_close(out);
                    status
                });
                (HOLDALL_KIND_ARRAY, vec![copied, created])
            } else {
                (HOLDALL_KIND_BAG, Vec::new())
            }
        };
        found.into_iter().map(|answer| (kind, c, answer)).collect()
    }

    /// Builds, creates and opens an index of a bag (column I), or opens a stream of it.
    fn with_bag(
        &self,
        column: char,
        c: &'a Container,
        o: *const holdall_options,
    ) -> Vec<Answer<'a>> {
        let (path, existing) = (self.new_path(".index"), self.new_path(".index"));
        // SAFETY: handles that are open until they are closed.
        unsafe {
            let bag = made(|out, err| holdall_bag_open(c.path.as_ptr(), null(), out, err));
            let index = |call: &dyn Fn(*mut *mut holdall_bag_index, *mut holdall_error) -> i32| {
                answer(|err| {
                    let mut out = null_mut();
                    let status = call(&mut out, err);
                    holdall_bag_index_close(out);
                    status
                })
            };
            let found = if column == 'I' {
                let (path, existing) = (path.as_ptr(), existing.as_ptr());
                let create = |path, o, out, err| {
                    holdall_bag_index_create(path, HOLDALL_CREATE, bag, o, out, err)
                };
                index(&|out, err| create(existing, null(), out, err));
                vec![
                    index(&|out, err| holdall_bag_index_build(bag, o, out, err)),
                    index(&|out, err| create(path, o, out, err)),
                    index(&|out, err| holdall_bag_index_open(existing, bag, o, out, err)),
                ]
            } else {
                vec![answer(|err| {
                    let mut out = null_mut();
                    let status = holdall_bag_stream_open(bag, None, null_mut(), o, &mut out, err);
                    holdall_bag_stream_close(out);
                    status
                })]
            };
            holdall_bag_close(bag);
            found
                .into_iter()
                .map(|answer| (HOLDALL_KIND_BAG, c, answer))
                .collect()
        }
    }
}

fn verify(c: &Container, o: *const holdall_options) -> (holdall_status, String) {
    // SAFETY: path and options exist.
    answer(|err| unsafe { holdall_verify(c.path.as_ptr(), o, None, null_mut(), null_mut(), err) })
}

fn repair(c: &Container, o: *const holdall_options) -> (holdall_status, String) {
    // SAFETY: path and options exist.
    answer(|err| unsafe { holdall_repair(c.path.as_ptr(), o, null_mut(), err) })
}

/// Whether a call refuses an option because the option does not apply to it.
fn is_refused(name: &str, (status, message): &(holdall_status, String)) -> bool {
    *status == HOLDALL_E_ARGUMENT
        && message.contains(&format!(
            "HOLDALL_OPT_{name}: the option does not apply to "
        ))
}

/// The rule for a call that opens or creates a kind.
fn rule_of(rule: Rule, kind: i32) -> Rule {
    match rule {
        Rule::Superchunks if kind == HOLDALL_KIND_SCHUNK => Rule::Used,
        Rule::Tables if kind == HOLDALL_KIND_TABLE => Rule::Used,
        Rule::Superchunks | Rule::Tables => Rule::Refused,
        _ => rule,
    }
}

/// Every option in every call. If the header says that a call uses an option, a format may not have
/// it, but at least one has it.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn calls_use_ignore_and_refuse_options_as_the_header_says() {
    let folder = TempFolder::new("options");
    let containers = containers(&folder);
    let calls = Calls {
        folder: &folder,
        containers: &containers,
        created: Cell::new(0),
    };
    let (mut all, mut wrong) = (rules(), Vec::new());
    for (name, o) in each_option() {
        let rules = all.remove(name).unwrap();
        for column in COLUMNS {
            // the frame is at this offset, or it is not a frame
            if name == "FRAME_OFFSET" && "RACVP".contains(column) {
                continue;
            }
            let answers = calls.answers(column, o);
            for (kind, c, answer) in &answers {
                let (status, message) = answer;
                let rule = rule_of(rules[&column], *kind);
                let is_right = match rule {
                    // the others refuse what the format does not have
                    Rule::Used if "CVP".contains(column) => true,
                    Rule::Used => !is_refused(name, answer),
                    Rule::Refused => is_refused(name, answer),
                    _ => *status == HOLDALL_OK,
                };
                if !is_right {
                    wrong.push(format!(
                        "{column} {name} {rule:?}: {:?}: {status}: {message}",
                        c.path
                    ));
                }
            }
            // the bags have their limits at the end
            if name == "BAG_LIMITS" {
                continue;
            }
            let is_done = |(.., (status, _)): &Answer| *status == HOLDALL_OK;
            if rules[&column] == Rule::Used && !answers.iter().any(is_done) {
                wrong.push(format!("{column} {name}: {:?}", answers[0].2));
            }
        }
        // SAFETY: the options exist.
        unsafe { holdall_options_free(o) };
    }
    assert!(all.is_empty(), "options that were not tried: {all:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Options that have their defaults are not refused.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn defaults_apply_to_every_call() {
    let folder = TempFolder::new("defaults");
    let containers = containers(&folder);
    let o = options(&[
        (HOLDALL_OPT_IO, HOLDALL_IO_READ.into()),
        (HOLDALL_OPT_VERIFY, 1),
        (HOLDALL_OPT_SKIP_DAMAGED, 0),
        (HOLDALL_OPT_DURABILITY, 1),
        (HOLDALL_OPT_LOCK, 1),
        (HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_CRC32.into()),
        (HOLDALL_OPT_SPARSE, 0),
        (HOLDALL_OPT_OFFSETS, 1),
        (HOLDALL_OPT_SPARE_BYTES, 0),
        (HOLDALL_OPT_FORMAT_VERSION, 0),
        (HOLDALL_OPT_BAG_LIMITS_CACHE, 0),
        (HOLDALL_OPT_ARROW_BINARY, 0),
        (HOLDALL_OPT_ARROW_NULLS, 0),
        (HOLDALL_OPT_FRAME_OFFSET, 0),
        (HOLDALL_OPT_BOTH_METALAYERS, 0),
        (HOLDALL_OPT_DRY_RUN, 0),
        (HOLDALL_OPT_ORDER, 0),
        (HOLDALL_OPT_YAML, 0),
        (HOLDALL_OPT_PRECISION, 0),
        (
            HOLDALL_OPT_BAG_DICTIONARY,
            HOLDALL_BAG_DICTIONARY_SEPARATE.into(),
        ),
    ]);
    for option in [HOLDALL_OPT_DICTIONARY, HOLDALL_OPT_FILL_VALUE] {
        // SAFETY: the options exist.
        done(|err| unsafe { holdall_options_set_bytes(o, option, null(), 0, err) });
    }
    let calls = Calls {
        folder: &folder,
        containers: &containers,
        created: Cell::new(0),
    };
    for column in COLUMNS {
        for (_, c, (status, message)) in calls.answers(column, o) {
            assert_eq!(status, HOLDALL_OK, "{column}: {:?}: {message}", c.path);
        }
    }
    // SAFETY: the options exist.
    unsafe { holdall_options_free(o) };
}

/// One set of options serves the repair of a path of any kind.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn repairs_of_all_kinds_may_skip_corruption() {
    let folder = TempFolder::new("skip");
    let o = options(&[(HOLDALL_OPT_SKIP_DAMAGED, 1)]);
    for c in &containers(&folder) {
        assert_eq!(repair(c, o).0, HOLDALL_OK, "{:?}", c.path);
    }
    // SAFETY: the options exist.
    unsafe { holdall_options_free(o) };
}

/// A frame in a larger file, which is read-only.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn frames_are_read_at_an_offset() {
    let folder = TempFolder::new("offset");
    let containers = containers(&folder);
    let at = |offset| {
        let o = holdall_options_new();
        // SAFETY: the options exist.
        done(|err| unsafe { holdall_options_set(o, HOLDALL_OPT_FRAME_OFFSET, offset, err) });
        o
    };
    let [zero, seven] = [at(0), at(7)];
    for (name, kind) in [
        ("plain.b2frame", HOLDALL_KIND_SCHUNK),
        ("array.b2nd", HOLDALL_KIND_ARRAY),
        ("array.cat", HOLDALL_KIND_ARRAY),
    ] {
        let frame = std::fs::read(folder.0.join(name)).unwrap();
        let path = folder.file("larger");
        std::fs::write(
            folder.0.join("larger"),
            [b"before ", &frame[..], b" after"].concat(),
        )
        .unwrap();
        for (file, o) in [(&path, seven), (&folder.file(name), zero)] {
            let (status, message) = open_as(kind, file, HOLDALL_READ, o);
            assert_eq!((status, message.as_str()), (HOLDALL_OK, ""));
        }
        let larger = Container {
            path,
            format: HOLDALL_FORMAT_B2FRAME,
            kinds: &[],
        };
        assert_eq!(verify(&larger, seven).0, HOLDALL_OK);
        assert_eq!(
            open_as(kind, &larger.path, HOLDALL_APPEND, seven).0,
            HOLDALL_E_UNSUPPORTED
        );
        assert_eq!(
            open_as(kind, &larger.path, HOLDALL_READ, zero).0,
            HOLDALL_E_FORMAT
        );
    }
    for c in containers
        .iter()
        .filter(|c| !c.path.to_bytes().windows(3).any(|w| w == b"b2f"))
    {
        let answer = repair(c, seven);
        assert!(
            is_refused("FRAME_OFFSET", &answer),
            "{:?}: {answer:?}",
            c.path
        );
    }
    // SAFETY: the options exist.
    unsafe {
        holdall_options_free(zero);
        holdall_options_free(seven);
    }
}
