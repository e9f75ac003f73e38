//! Tests of dtypes. The sizes are those of NumPy 2.4.

use super::*;
use crate::error::Status;

fn size(text: &str) -> usize {
    Dtype::parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .item
        .size
}

fn status(text: &str) -> Status {
    Dtype::parse(text)
        .map(|d| panic!("{text}: {d:?}"))
        .unwrap_err()
        .status
}

/// Spellings that Bloscpack writes, which round-trip.
#[rustfmt::skip]
const CANONICAL: &[(&str, usize)] = &[
    ("'<f8'", 8), ("'>f8'", 8), ("'|i1'", 1), ("'|u1'", 1), ("'<u8'", 8), ("'<f2'", 2), ("'<f16'", 16), ("'<c8'", 8),
    ("'<c16'", 16), ("'>c16'", 16), ("'<c32'", 32), ("'|b1'", 1), ("'|S5'", 5), ("'|S0'", 0), ("'<U4'", 16), ("'>U3'", 12),
    ("'|V7'", 7), ("'<M8'", 8), ("'<M8[ns]'", 8), ("'>M8[D]'", 8), ("'<m8[25s]'", 8), ("'<m8[us]'", 8), ("'|O'", 8),
    ("[('a', '<i4'), ('b', '<f8'), ('c', '|S3')]", 15),
    ("[('a', '<i4'), ('b', '<f8', (2, 3))]", 52),
    ("[('a', '<i4', (1,))]", 4),
    ("[('x', [('y', '>i2'), ('z', [('w', '|S1')])]), ('v', '<U1')]", 7),
    ("[(('the title', 'a'), '<i4'), ('b', '|u1')]", 5),
    ("[('a', '|O'), ('b', '<i4')]", 12),
    ("[]", 0),
    ("('<i4', (2, 3))", 24),
    ("[('a', [('b', '<i2')], (2,))]", 4),
    ("[(\"it's\", '<i4'), ('q\"', '<i4'), ('\\xe9', '<i4')]", 12),
    ("[('a', '<M8[D]'), ('b', '<m8[10ms]', (2,))]", 24),
    ("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], 'itemsize': 16}", 16),
    ("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [8, 0], 'itemsize': 16}", 16),
    ("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 4], 'titles': ['T', None], 'itemsize': 20}", 20),
    ("{'names': ['a', 'b'], 'formats': ['<i4', '<i2'], 'offsets': [0, 2], 'itemsize': 4}", 4),
    ("{'names': [], 'formats': [], 'offsets': [], 'itemsize': 10}", 10),
];

/// Other spellings: text, size, canonical spelling.
#[rustfmt::skip]
const NON_CANONICAL: &[(&str, usize, &str)] = &[
    ("<f4", 4, "'<f4'"), ("f8", 8, "'<f8'"), ("=i4", 4, "'<i4'"), ("|i4", 4, "'<i4'"), (">i1", 1, "'|i1'"), ("S3", 3, "'|S3'"), ("a4", 4, "'|S4'"),
    ("U2", 8, "'<U2'"), ("V3", 3, "'|V3'"), ("O", 8, "'|O'"), ("|O8", 8, "'|O'"), ("M8[us]", 8, "'<M8[us]'"), ("?", 1, "'|b1'"),
    ("float64", 8, "'<f8'"), ("float16", 2, "'<f2'"), ("float128", 16, "'<f16'"), ("int8", 1, "'|i1'"), ("int16", 2, "'<i2'"), ("int32", 4, "'<i4'"),
    ("int64", 8, "'<i8'"), ("uint8", 1, "'|u1'"), ("uint64", 8, "'<u8'"), ("complex64", 8, "'<c8'"), ("complex128", 16, "'<c16'"), ("bool", 1, "'|b1'"),
    ("object", 8, "'|O'"), ("datetime64", 8, "'<M8'"), ("datetime64[ns]", 8, "'<M8[ns]'"), ("timedelta64[25s]", 8, "'<m8[25s]'"),
    ("u'<f8'", 8, "'<f8'"), ("b'<f8'", 8, "'<f8'"),
    ("[('a', '<i4', 3)]", 12, "[('a', '<i4', (3,))]"),
    ("[('a', '<i4', 1), ('b', '<i4', ())]", 8, "[('a', '<i4', (1,)), ('b', '<i4')]"),
    ("[('a', 'S', 3), ('b', ('U', 2))]", 11, "[('a', '|S3'), ('b', '<U2')]"),
    ("[('', '<i4'), ('', '<i8')]", 12, "[('f0', '<i4'), ('f1', '<i8')]"),
    ("[(u'a', 'float64'), (b'b', '?')]", 9, "[('a', '<f8'), ('b', '|b1')]"),
    ("[('a', ('<i4', (2,)), (3,))]", 24, "[('a', ('<i4', (2,)), (3,))]"),
    ("{'names': ['a', 'b'], 'formats': ['<i4', '<f8']}", 12, "[('a', '<i4'), ('b', '<f8')]"),
    ("{'names': ['a'], 'formats': [('<i4', (2,))], 'offsets': [4], 'itemsize': 12, 'aligned': True}", 12,
     "{'names': ['a'], 'formats': [('<i4', (2,))], 'offsets': [4], 'itemsize': 12}"),
];

#[test]
fn all_spellings_are_read() {
    for (text, n) in CANONICAL {
        assert_eq!(size(text), *n, "{text}");
        assert_eq!(Dtype::parse(text).unwrap().to_python_literal(), *text);
    }
    for (text, n, literal) in NON_CANONICAL {
        let dtype = Dtype::parse(text).unwrap();
        assert_eq!((dtype.item.size, dtype.spelling.as_str()), (*n, *text));
        assert_eq!(dtype.to_python_literal(), *literal);
        assert_eq!(Dtype::parse(literal).unwrap().item, dtype.item);
    }
}

#[test]
fn json_lists_stand_for_tuples() {
    let same = |json: &str, text: &str| {
        let dtype = Dtype::from_json(&crate::json::Value::parse(json.as_bytes()).unwrap()).unwrap();
        assert_eq!(dtype.item, Dtype::parse(text).unwrap().item, "{json}");
    };
    same(r#""<f8""#, "<f8");
    same(r#""'<f8'""#, "<f8");
    same(r#""[('a', '<i4')]""#, "[('a', '<i4')]");
    same(
        r#"[["a", "<i4"], ["b", "<f8", [2, 3]], ["c", "<i4", 2]]"#,
        "[('a', '<i4'), ('b', '<f8', (2, 3)), ('c', '<i4', (2,))]",
    );
    same(
        r#"[["a", [["b", "<f8"], ["c", "|S1"]]]]"#,
        "[('a', [('b', '<f8'), ('c', '|S1')])]",
    );
    same(r#"[[["title", "a"], "<i4"]]"#, "[(('title', 'a'), '<i4')]");
    same(r#"["<i4", [2, 3]]"#, "('<i4', (2, 3))");
    same(
        r#"{"names": ["a"], "formats": ["<i4"], "offsets": [2], "itemsize": 8}"#,
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2], 'itemsize': 8}",
    );
}

#[test]
fn the_meaning_of_a_type_is_parsed() {
    let item = |text: &str| Dtype::parse(text).unwrap().item;
    assert_eq!(
        item(">f4"),
        Type {
            kind: Kind::Float,
            big_endian: true,
            size: 4
        }
    );
    assert_eq!(
        item("|S4"),
        Type {
            kind: Kind::Bytes,
            big_endian: false,
            size: 4
        }
    );
    assert_eq!(item("datetime64[ns]").kind, Kind::Datetime("ns".into()));
    let Kind::Struct(fields) = item("[(('T', 'a'), '>U2'), ('b', '|i1', (2, 2))]").kind else {
        panic!()
    };
    assert_eq!(
        fields[0],
        Field {
            name: "a".into(),
            title: Some("T".into()),
            offset: 0,
            item: item(">U2")
        }
    );
    assert_eq!(
        (fields[1].offset, &fields[1].item.kind),
        (8, &Kind::Array(Box::new(item("i1")), vec![2, 2]))
    );
    for (text, objects) in [
        ("O", true),
        ("<f8", false),
        ("[('a', [('b', '|O', (2,))])]", true),
        ("[('a', '<i4')]", false),
        ("('O', 3)", true),
    ] {
        assert_eq!(item(text).has_objects(), objects, "{text}");
    }
}

#[test]
fn invalid_types_are_refused() {
    for text in [
        "",
        "f3",
        "i16",
        "b2",
        "c4",
        "M4",
        "M",
        "f",
        "<f8[ns]",
        "float64[ns]",
        "<M8[xs]",
        "<M8[ns",
        "<M8[]",
        "<M8[9999999999s]",
        "f8f8",
        "<<f8",
        "float65",
        "T",
        "i4,f8",
        "5",
        "None",
        "()",
        "[1]",
        "['a']",
        "('a', '<i4')",
        "('<i4',)",
        "('<i4', 2, 3)",
        "('<i4', 'a')",
        "('<i4', -1)",
        "('<i4', (2, -1))",
        "[('a', '<i4', 1, 2)]",
        "[(1, '<i4')]",
        "[('a', '<i4'), ('a', '<i8')]",
        "[(('b', 'a'), '<i4'), ('b', '<i8')]",
        "[('', '<i4'), ('f0', '<i8')]",
        "{'names': ['a']}",
        "{'names': ['a'], 'formats': []}",
        "{'names': 'a', 'formats': ['<i4']}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [-1]}",
        "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 3}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0, 4]}",
    ] {
        assert!(
            matches!(status(text), Status::Type | Status::Format),
            "{text}"
        );
    }
    assert_eq!(
        status("{'names': ['a'], 'formats': ['<i4'], 'aligned': True}"),
        Status::Unsupported
    );
    assert_eq!(status("[('a', __import__('os'))]"), Status::Format);
}

#[test]
fn item_sizes_are_limited() {
    let many = format!("('<f8', ({}))", "1000,".repeat(30));
    let nested = format!("{}'<i4'{}", "(".repeat(20), ", 256)".repeat(20));
    let offset = format!(
        "{{'names': ['a'], 'formats': ['<i4'], 'offsets': [{}]}}",
        i64::MAX
    );
    let dimensions = format!("('<f8', ({}))", "1,".repeat(65));
    let structs = format!(
        "[{}]",
        (0..20)
            .map(|i| format!("('f{i}', '|V2000000000')"))
            .collect::<Vec<_>>()
            .join(",")
    );
    for text in [
        "V2147483648",
        "U536870912",
        "U99999999999999999999999",
        "S18446744073709551616",
        &many,
        &nested,
        &offset,
        &dimensions,
        &structs,
    ] {
        assert_eq!(status(text), Status::Type, "{text}");
    }
    assert_eq!(size("V2147483647"), i32::MAX as usize);
    assert_eq!(status(&"x".repeat(MAX_TEXT + 1)), Status::Limit);
    assert_eq!(
        status(&format!("{}'<i4'", "[('a',".repeat(1000))),
        Status::Limit
    );
}
