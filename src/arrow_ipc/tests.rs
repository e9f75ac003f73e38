//! Streams that pyarrow wrote, and what is left of them after changes.

use super::*;
use crate::array::msgpack_json::to_json;
use crate::error::Status;
use serde_json::Value as Json;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/arrow");
    std::fs::read(folder.join(name)).unwrap()
}

fn list(item: PackedType) -> PackedType {
    PackedType::List(Box::new(item))
}

fn int(size: usize) -> PackedType {
    PackedType::Int { signed: true, size }
}

/// Returns the type with this description.
fn named(of: &str) -> PackedType {
    let all = [
        PackedType::Time("us".into()),
        int(2),
        PackedType::Text,
        PackedType::Bytes,
        PackedType::Bool,
        PackedType::Float(8),
    ];
    let mut all = all.map(list).into_iter();
    all.find(|known| known.to_string() == of).unwrap()
}

fn read(streams: &[u8], of: &PackedType, limit: u64) -> Result<Texts> {
    let mut values = Texts::new(limit);
    read_values(streams, of, limit, &mut values).map(|()| values)
}

fn json(values: &Texts) -> Vec<Json> {
    let one = |i| match values.is_null(i) {
        true => Json::Null,
        false => serde_json::from_str(&to_json(values.get(i).unwrap())).unwrap(),
    };
    (0..values.len()).map(one).collect()
}

#[test]
fn values_are_those_of_pyarrow() {
    let facts: Json = serde_json::from_slice(&fixture("facts.json")).unwrap();
    for (name, facts) in facts.as_object().unwrap() {
        let of = named(facts["of"].as_str().unwrap());
        let stream = fixture(&format!("{name}.arrows"));
        let expected = facts["values"].as_array().unwrap();
        assert_eq!(
            json(&read(&stream, &of, 1000).unwrap()),
            *expected,
            "{name}"
        );
        let twice = read(&stream.repeat(2), &of, 1000).unwrap();
        assert_eq!(json(&twice), [&**expected, expected].concat(), "{name}");
        let wrong = read(&stream, &list(list(int(4))), 1000).err();
        assert!(wrong.is_some() || name == "nulls", "{name}");
    }
}

#[test]
fn what_is_not_read() {
    for (name, of, text) in [
        ("compressed", int(8), "compressed"),
        ("half", PackedType::Float(4), "Arrow type 12"),
        ("dictionary", PackedType::Text, "Arrow type 12"),
        ("seconds", PackedType::Time("us".into()), "time in us"),
        ("seconds", int(8), "int64"),
    ] {
        let e = read(&fixture(&format!("{name}.arrows")), &list(of), 1 << 20).err();
        let e = e.unwrap();
        assert!(
            e.status == Status::Unsupported && e.message.contains(text),
            "{e}"
        );
    }
    let stream = fixture("large.arrows");
    let e = read(&stream, &named("list of text"), 8).err().unwrap();
    assert_eq!(e.status, Status::Limit);
}

/// Every truncation, and every byte changed: an error, or values of the type.
#[test]
fn corrupt_streams() {
    let (mut read_others, mut refused) = (0, 0);
    for name in ["time", "fixed", "large", "bytes", "nulls", "float"] {
        let facts: Json = serde_json::from_slice(&fixture("facts.json")).unwrap();
        let of = named(facts[name]["of"].as_str().unwrap());
        let stream = fixture(&format!("{name}.arrows"));
        let mut check = |bytes: &[u8]| match read(bytes, &of, 1 << 16) {
            Ok(values) => {
                let all = (0..values.len()).filter(|i| !values.is_null(*i));
                all.for_each(|i| of.check(values.get(i).unwrap()).unwrap());
                read_others += 1;
            }
            Err(_) => refused += 1,
        };
        (0..stream.len()).for_each(|n| check(&stream[..n]));
        for i in 0..stream.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut other = stream.clone();
                other[i] ^= value;
                check(&other);
            }
        }
    }
    assert!(
        read_others > 1000 && refused > 1000,
        "{read_others} {refused}"
    );
}
