use super::*;
use crate::error::Status;

fn assert_parsed(text: &str, json: &str) {
    let value = parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
    let expected = Value::parse(json.as_bytes()).unwrap();
    assert_eq!(value.to_string(), expected.to_string(), "{text}");
}

#[test]
fn the_examples_of_the_rfc_are_parsed() {
    let text = "dtype: \n  col1: int8\n  col2: '>f4'\nchunkshape: (30, 20)\nsuperchunksize: 10  # max. number of chunks\n\
                endianness: big\n\n# more\ncompression:\n  library: blosclz\n  filters: [shuffle, [1, \"a, b\"]]\nshape: (5000000000,)\nlast:\n";
    let expected = r#"{"dtype":{"col1":"int8","col2":">f4"},"chunkshape":[30,20],"superchunksize":10,"endianness":"big",
        "compression":{"library":"blosclz","filters":["shuffle",[1,"a, b"]]},"shape":[5000000000],"last":null}"#;
    assert_parsed(text, expected);
}

/// What PyYAML 6.0 writes for the same value in block style, in mixed style and in flow style.
#[test]
fn what_pyyaml_writes_is_parsed() {
    let json = r#"{"chunkshape":[30,20],"dash":"- a","date":"2012-08-19","dtype":"[('a', '<i4'), ('bbbbbbbbbbbbbbbbb', '|S5')]",
        "e":[],"em":{},"et":[],"f":1e-05,"i":-Infinity,"n":NaN,"nl":"a\n\nb ","nul":null,"q":"it's: # \" no",
        "t":[[1,2],[3,[4]],{"a":1,"b":[1,2]}],"u":"h\u00e9\ud83d\ude00","yes":"yes","z":true,"010":"010"}"#;
    let scalars = "dash: '- a'\ndate: '2012-08-19'\ndtype: '[(''a'', ''<i4''), (''bbbbbbbbbbbbbbbbb'',\n  ''|S5'')]'\n\
        e: []\nem: {}\net: !!python/tuple []\nf: 1.0e-05\ni: -.inf\nn: .nan\nnl: 'a\n\n\n  b '\nnul: null\nq: 'it''s: # \" no'\n";
    let last = "u: \"h\\xE9\\U0001F600\"\n'yes': 'yes'\nz: true\n'010': '010'\n";
    let block = "chunkshape: !!python/tuple\n- 30\n- 20\n";
    let list = "t:\n- !!python/tuple\n  - 1\n  - 2\n- - 3\n  - - 4\n- a: 1\n  b:\n  - 1\n  - 2\n";
    assert_parsed(&[block, scalars, list, last].concat(), json);
    let mixed = "chunkshape: !!python/tuple [30, 20]\n";
    let list = "t:\n- !!python/tuple [1, 2]\n- - 3\n  - [4]\n- a: 1\n  b: [1, 2]\n";
    let all = [mixed, scalars, list, last].concat();
    assert_parsed(&all, json);
    let marked = format!("---\n{all}...\n");
    assert_parsed(&marked, json);
    assert_parsed(&marked.replace('\n', "\r\n"), json);
    assert_parsed(
        "{chunkshape: !!python/tuple [30,\n    20], s: 'a\n    b', t: [!!python/tuple [\n      1, 2], {a: 1, b: [-1.5]}], 'yes': 'no'}\n",
        r#"{"chunkshape":[30,20],"s":"a b","t":[[1,2],{"a":1,"b":[-1.5]}],"yes":"no"}"#,
    );
}

#[test]
fn scalars_are_resolved_as_pyyaml_resolves_them() {
    for (text, json) in [
        ("~", "null"),
        ("yes", "true"),
        ("Off", "false"),
        ("+5", "5"),
        ("-5", "-5"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("1e3", "1000.0"),
        ("NaN", "\"NaN\""),
        ("2012-08-19", "\"2012-08-19\""),
        ("1.2.3", "\"1.2.3\""),
        ("12 bytes", "\"12 bytes\""),
        ("(1, -2,)", "[1,-2]"),
        ("()", "[]"),
        ("(see the manual)", "\"(see the manual)\""),
        ("a#b", "\"a#b\""),
        ("a # b", "\"a\""),
        ("http://x/y", "\"http://x/y\""),
        ("long\n  text\n\n  here", "\"long text\\nhere\""),
        (
            "\"a\\tb\\\n    c\\ud83d\\ude00\"",
            "\"a\\tbc\\ud83d\\ude00\"",
        ),
        ("'a\n\n   b'", "\"a\\nb\""),
        ("\n  text", "\"text\""),
        ("\n- 1\n-\n  - 2", "[1,[2]]"),
        ("[(1, 2), ('a', b)]", "[[1,2],[\"a\",\"b\"]]"),
        ("{a: , b, \"c\":1}", "{\"a\":null,\"b\":null,\"c\":1}"),
    ] {
        assert_parsed(&format!("a: {text}\n"), &format!("{{\"a\":{json}}}"));
    }
}

#[test]
fn invalid_text_is_refused() {
    let deep = |open: &str| format!("a: {}", open.repeat(100_000));
    let nested: String = (0..1000)
        .map(|i| format!("{}a:\n", " ".repeat(i)))
        .collect();
    for text in [
        "",
        "# only a comment",
        "a",
        "\"a\" 1",
        "a: [1, 2",
        "a: 1\n  b: 2",
        "a: 1\n\tb: 2",
        "  a: 1\nb: 2",
        "a:1",
        ": 1",
        "a: 'b",
        "a: \"b",
        "a: \"\\q\"",
        "a: \"\\ud83d\"",
        "a: 'b' c",
        "a: {b",
        "a: [[1]",
        "a: [1]]",
        "a: [1,, 2]",
        "a: [b: 1]",
        "a: - 1",
        "a: b: c",
        "a: 1\na: 2",
        "a: {b: 1, b: 2}",
        "a: 1\n---\nb: 2",
        "a: 1\n...\nb: 2",
        "%YAML 1.1\n---\na: 1",
        "? a\n: 1",
        "a:\n- 1\n  - 2",
        "a: -",
        "a: 1e999",
        "a: b\n\n  \u{b}\n  c",
        &deep("["),
        &deep("{b: "),
        &format!("a:\n{}", "- ".repeat(100_000)),
        &nested,
    ] {
        let e = parse(text.as_bytes()).expect_err(text);
        assert_eq!(e.status, Status::Format, "{text:.40}");
    }
    assert!(parse(&[b'a', b':', b' ', 0xff]).is_err());
}

#[test]
fn an_error_names_the_line_the_key_and_the_value() {
    for (text, message) in [
        (
            "a: 1\nb:\n  c: &x [1]\n",
            "line 3: b.c: anchors are not supported (found \"&x [1]\")",
        ),
        (
            "a: *x\n",
            "line 1: a: aliases are not supported (found \"*x\")",
        ),
        (
            "a: [1, !!int 2]\n",
            "line 1: a: the tag is not supported (expected !!python/tuple) (found \"!!int 2]\")",
        ),
        (
            "a: !!python/tuple 1\n",
            "line 1: a: !!python/tuple applies to lists only (found \"!!python/tuple 1\")",
        ),
        (
            "a:\n- 010\n",
            "line 2: a: YAML versions read this number differently; write it in decimal notation, or put text in quotes (found \"010\")",
        ),
        (
            "a: |\n  b\n",
            "line 1: a: block scalars are not supported (found \"|\")",
        ),
    ] {
        let e = parse(text.as_bytes()).unwrap_err();
        assert_eq!(e.message, format!("invalid YAML: {message}"));
    }
    for text in [
        "a: 0x10",
        "a: 0o17",
        "a: 1_000",
        "a: 12:30:45",
        "a: (1, 010)",
    ] {
        let e = parse(text.as_bytes()).unwrap_err();
        assert!(e.message.contains("read this number differently"), "{e}");
    }
}

/// White space of Unicode is text: the parser does not skip it.
#[test]
fn other_white_space_is_text() {
    assert_parsed("a: b\n  \u{a0}\n  c", "{\"a\": \"b \u{a0} c\"}");
}

#[test]
fn a_long_line_takes_linear_time() {
    let text = format!("a: [{}]\n", "b, ".repeat(200_000));
    let value = parse(text.as_bytes()).unwrap();
    assert!(matches!(value.get("a"), Some(Value::Array(all)) if all.len() == 200_000));
    assert!(may_be_yaml(text.as_bytes()));
    assert!(!may_be_yaml(b" {\"a\": 1}") && !may_be_yaml(b"{}") && !may_be_yaml(b" \n"));
    assert!(may_be_yaml(b"{a: 1}"));
}

#[test]
fn what_is_written_is_read_as_the_same_value() {
    let json = r#"{"dtype":{"col1":"int8","b":">f4"},"chunkshape":[30,20],"n":NaN,"i":[-Infinity,Infinity],"x":[1e-05,1e+20,-2.5,0.0],
        "yes":"no","y":"null","t":"a\"b\\c\n\t\u00e9\ud83d\ude00\u0001","e":[{},[],"",{"a":1,"b b":[null,true]}],"m":{},"2":"010","max":18446744073709551615}"#;
    let value = Value::parse(json.as_bytes()).unwrap();
    let text = to_yaml(&value);
    assert_parsed(&text, &value.to_string());
    assert!(text.is_ascii());
    let first = "dtype:\n  col1: int8\n  b: \">f4\"\nchunkshape: [30, 20]\n\"n\": .nan\ni: [-.inf, .inf]\nx: [1.0e-5, 1.0e+20, -2.5, 0.0]\n\"yes\": \"no\"\n";
    assert!(text.starts_with(first), "{text}");
}
