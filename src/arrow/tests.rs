//! Columns of every type go out as streams and come back the same; streams of others come in as
//! they should, or not at all.
use super::append::{Rows, Target};
use super::data::{Buffer, Data};
use super::export::{At, Rules, field, listed};
use super::ffi::Stream;
use super::format::{Ends, Field, Format};
use super::stream::Source;
use super::times::Unit;
use crate::array::dtype::Dtype;
use crate::capi::arrow::stream_of;
use crate::error::{Error, Result, Status};

/// Batches that are there.
struct Ready(Field, Vec<Data>);

impl Source for Ready {
    fn schema(&self) -> &Field {
        &self.0
    }
    fn next_batch(&mut self) -> Result<Option<Data>> {
        Ok(if self.1.is_empty() {
            None
        } else {
            Some(self.1.remove(0))
        })
    }
}

fn stream(fields: Vec<Field>, batches: Vec<Vec<Data>>) -> Stream {
    let all = batches
        .into_iter()
        .map(|columns| Data::of(columns.first().map_or(0, |c| c.len), columns))
        .collect();
    let mut stream = stream_of(Box::new(Ready(Field::of("", Format::Struct, fields), all)));
    let taken = Stream::take(&mut stream);
    assert!(stream.release.is_none());
    taken
}

fn at() -> At {
    At {
        first: 0,
        per_row: 1,
        rules: Rules::default(),
    }
}

/// What a stream of one column gives for this dtype.
fn take(stream: Stream, dtype: &str, lists: &[usize]) -> Result<Vec<u8>> {
    let dtype = Dtype::parse(dtype)?;
    let mut rows = Rows::new(
        stream,
        &[Target {
            name: "x",
            item: &dtype.item,
            lists: lists.to_vec(),
        }],
    )?;
    let mut all = Vec::new();
    while let Some((n, columns)) = rows.next_piece()? {
        assert!(n > 0);
        all.extend_from_slice(&columns[0]);
    }
    Ok(all)
}

/// Bytes of a column, there and back in batches of some rows.
fn round(dtype: &str, lists: &[usize], bytes: &[u8], batch: usize) -> Result<Vec<u8>> {
    let item = Dtype::parse(dtype)?.item;
    let size = item.size * lists.iter().product::<usize>();
    let mut batches = Vec::new();
    for part in bytes.chunks(size * batch) {
        let mut buffer = Buffer::zeroed(part.len())?;
        buffer.get_mut().copy_from_slice(part);
        batches.push(vec![listed(&item, lists, part.len() / size, buffer, at())?]);
    }
    take(
        stream(vec![field("x", &item, lists, Rules::default())?], batches),
        dtype,
        lists,
    )
}

#[test]
fn columns_of_every_type_come_back() {
    let numbers: Vec<u8> = (0..960u32).map(|i| (i * 37 % 251) as u8).collect();
    let plain = [
        "i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">u8", "<f2", ">f4", "<f8", ">f8", "<c8",
        ">c16", "V3", "V16", "<f16", "<c32", ">f16",
    ];
    for dtype in plain {
        for lists in [&[][..], &[5], &[2, 3]] {
            for batch in [1, 3, 1000] {
                let row = Dtype::parse(dtype).unwrap().item.size * lists.iter().product::<usize>();
                let bytes = &numbers[..numbers.len() / row * row];
                assert_eq!(
                    round(dtype, lists, bytes, batch).unwrap(),
                    bytes,
                    "{dtype} {lists:?} {batch}"
                );
            }
        }
    }
    let bits: Vec<u8> = (0..1000).map(|i| u8::from(i % 3 == 0)).collect();
    assert_eq!(round("b1", &[], &bits, 17).unwrap(), bits);
    assert_eq!(round("b1", &[8], &bits, 9).unwrap(), bits);
    let mut text = *b"ab\0\0\0\0a\0zyxw\xc3\xa9\0\0\0\0\0\0zyxwvut\0";
    assert_eq!(round("S4", &[], &text, 2).unwrap(), text);
    text[14..].rotate_left(6);
    assert_eq!(round("S7", &[2], &text, 1).unwrap(), text);
    for (dtype, big) in [("<U2", false), (">U2", true)] {
        let characters = ['a', 'é', '\u{1f600}', '\0', '\0', '\0', '\0', 'z'].map(u32::from);
        let wide: Vec<u8> = characters
            .iter()
            .flat_map(|c| {
                if big {
                    c.to_be_bytes()
                } else {
                    c.to_le_bytes()
                }
            })
            .collect();
        assert_eq!(round(dtype, &[], &wide, 3).unwrap(), wide, "{dtype}");
    }
}

#[test]
fn times_come_back() {
    let all = [0i64, -3, 86_400 * 365, i64::MIN, 17];
    for unit in [
        "", "[Y]", "[M]", "[W]", "[D]", "[h]", "[m]", "[s]", "[25s]", "[ms]", "[us]", "[ns]",
        "[7D]",
    ] {
        for letter in ["<M8", ">M8", "<m8", ">m8"] {
            let few = if ["[Y]", "[M]"].contains(&unit) {
                [0i64, -3, 400, i64::MIN, 17]
            } else {
                all
            };
            let bytes: Vec<u8> = few
                .iter()
                .flat_map(|n| {
                    if letter.starts_with('>') {
                        n.to_be_bytes()
                    } else {
                        n.to_le_bytes()
                    }
                })
                .collect();
            let dtype = format!("{letter}{unit}");
            let (months, days) = (
                ["[Y]", "[M]"].contains(&unit),
                ["[W]", "[D]", "[7D]"].contains(&unit),
            );
            if letter.contains('M') && days {
                // 31,536,000 weeks are many days, but 32 bits have them
                assert_eq!(round(&dtype, &[], &bytes, 2).unwrap(), bytes, "{dtype}");
            } else if !letter.contains('M') && months {
                assert_eq!(round(&dtype, &[], &bytes, 2).unwrap(), bytes, "{dtype}");
            } else {
                assert_eq!(round(&dtype, &[], &bytes, 3).unwrap(), bytes, "{dtype}");
            }
        }
    }
    let fine = |n: i64| round("<M8[ps]", &[], &n.to_le_bytes(), 1);
    assert_eq!(fine(5000).unwrap(), 5000i64.to_le_bytes());
    let e = fine(5001).unwrap_err();
    assert!(
        e.status == Status::Type && e.message.contains("row 0: 5001 in the unit \"ps\""),
        "{e}"
    );
    let e = round("<M8[D]", &[], &(1i64 << 40).to_le_bytes(), 1).unwrap_err();
    assert!(e.message.contains("row 0"), "{e}");
}

#[test]
fn structures_come_back() {
    let dtype = "{'names': ['a', 'b', 'c'], 'formats': ['>i2', ('S3', (2,)), [('x', '<f4'), ('y', '|b1')]], 'offsets': [1, 3, 10], 'itemsize': 16}";
    let mut bytes = Vec::new();
    for i in 0..20u8 {
        bytes.extend([0, 0, i]);
        bytes.extend(if i % 2 == 0 {
            *b"abcx\0\0"
        } else {
            *b"\0\0\0y\0\0"
        });
        bytes.push(0);
        bytes.extend(f32::from(i).to_le_bytes());
        bytes.extend([u8::from(i % 3 == 0), 0]);
    }
    for batch in [1, 7, 100] {
        assert_eq!(round(dtype, &[], &bytes, batch).unwrap(), bytes);
        assert_eq!(round(dtype, &[4], &bytes, batch).unwrap(), bytes);
    }
}

#[test]
fn text_that_is_none_is_an_error_with_its_row() {
    let e = round("S2", &[], b"ab\xff\xfe", 9).unwrap_err();
    assert!(
        e.status == Status::Type
            && e.position == 1
            && e.message.contains("row 1: \"\\xff\\xfe\" is no UTF-8"),
        "{e}"
    );
    let wide: Vec<u8> = [97u32, 98, 99, 0xd800]
        .iter()
        .flat_map(|c| c.to_le_bytes())
        .collect();
    let e = round("<U2", &[], &wide, 9).unwrap_err();
    assert!(
        e.status == Status::Format && e.position == 1 && e.message.contains("0xd800"),
        "{e}"
    );
    let e = round("<U1", &[2], &wide, 9).unwrap_err();
    assert_eq!(e.position, 1);
    assert_eq!(
        field(
            "x",
            &Dtype::parse("S2").unwrap().item,
            &[],
            Rules {
                binary: true,
                nulls: false
            }
        )
        .unwrap()
        .format
        .spelling(),
        "z"
    );
    assert!(
        field(
            "x\0",
            &Dtype::parse("S2").unwrap().item,
            &[],
            Rules {
                binary: true,
                nulls: false
            }
        )
        .is_err()
    );
}

fn buffer<const N: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Buffer {
    Buffer::bytes(values.iter().flat_map(|v| bytes(*v)).collect())
}

fn ints(values: &[i64]) -> Data {
    Data::plain(values.len(), buffer(values, i64::to_ne_bytes))
}

fn int() -> Format {
    Format::Int {
        signed: true,
        size: 8,
    }
}

fn one(format: Format, data: Data) -> Stream {
    stream(
        vec![Field {
            nullable: true,
            ..Field::new("x", format)
        }],
        vec![vec![data]],
    )
}

fn words(texts: &[&str]) -> Data {
    let ends: Vec<i32> = (0..=texts.len())
        .map(|n| texts[..n].iter().map(|t| t.len() as i32).sum())
        .collect();
    Data::variable(
        texts.len(),
        buffer(&ends, i32::to_ne_bytes),
        Buffer::bytes(texts.concat().into_bytes()),
    )
}

const TEXT: Format = Format::Variable {
    text: true,
    ends: Ends::Narrow,
};

#[test]
fn numbers_fit_or_are_refused() {
    let to = |dtype: &str, values: &[i64]| take(one(int(), ints(values)), dtype, &[]);
    assert_eq!(to("i1", &[-128, 127]).unwrap(), [0x80, 0x7f]);
    assert_eq!(to(">u2", &[1, 65535]).unwrap(), [0, 1, 255, 255]);
    assert_eq!(to("<f8", &[-5]).unwrap(), (-5f64).to_le_bytes());
    for (dtype, bad) in [
        ("i1", 128),
        ("u1", -1),
        ("<u8", -1),
        ("<f4", 16_777_217),
        ("<f8", (1 << 53) + 1),
        ("<f8", i64::MAX),
    ] {
        let e = to(dtype, &[7, 7, bad]).unwrap_err();
        assert!(
            e.status == Status::Type
                && e.position == 2
                && e.message.starts_with("column \"x\": row 2: "),
            "{dtype}: {e}"
        );
        assert!(e.message.contains(&bad.to_string()), "{e}");
    }
    for dtype in [
        "b1",
        "<f2",
        "S8",
        "<U8",
        "V8",
        "<M8[s]",
        "<c16",
        "[('a', '<i8')]",
        "O",
    ] {
        let e = to(dtype, &[]).unwrap_err();
        assert!(
            e.status == Status::Type && e.message.contains("\"l\" cannot become"),
            "{dtype}: {e}"
        );
    }
    let floats = |size, bytes: Vec<u8>| {
        one(
            Format::Float(size),
            Data::plain(bytes.len() / size, Buffer::bytes(bytes)),
        )
    };
    let halves = [0x3c00u16, 0xc000, 0x0001, 0x7c00, 0xfc00, 0x3555]
        .iter()
        .flat_map(|h| h.to_ne_bytes())
        .collect::<Vec<u8>>();
    let want: Vec<u8> = [
        1.0f32,
        -2.0,
        5.960_464_5e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.333_251_95,
    ]
    .iter()
    .flat_map(|f| f.to_le_bytes())
    .collect();
    assert_eq!(take(floats(2, halves), "<f4", &[]).unwrap(), want);
    assert_eq!(
        take(floats(4, 1.5f32.to_ne_bytes().to_vec()), ">f8", &[]).unwrap(),
        1.5f64.to_be_bytes()
    );
    assert!(take(floats(8, vec![0; 8]), "<f4", &[]).is_err());
    assert!(take(floats(8, vec![0; 8]), "<i8", &[]).is_err());
}

#[test]
fn nulls_are_nan_or_nat_or_refused() {
    let with_null = || ints(&[1, 2, 3]).with_nulls(&[false, true, false]).unwrap();
    let got = take(one(int(), with_null()), "<f8", &[]).unwrap();
    let got: Vec<f64> = got
        .as_chunks::<8>()
        .0
        .iter()
        .map(|b| f64::from_le_bytes(*b))
        .collect();
    assert!(got[0] == 1.0 && got[1].is_nan() && got[2] == 3.0);
    let got = take(
        one(Format::Timestamp(Unit::Us, "UTC".into()), with_null()),
        ">M8[ns]",
        &[],
    )
    .unwrap();
    assert_eq!(
        got,
        [1000i64, i64::MIN, 3000].map(i64::to_be_bytes).concat()
    );
    let e = take(one(int(), with_null()), "<i8", &[]).unwrap_err();
    assert!(
        e.message
            .contains("row 1: a null, and nothing in '<i8' stands for one"),
        "{e}"
    );
    let e = take(
        one(TEXT, words(&["a", "b"]).with_nulls(&[true, false]).unwrap()),
        "S1",
        &[],
    )
    .unwrap_err();
    assert_eq!(e.position, 0);
    let nothing = || {
        one(
            Format::Null,
            Data {
                len: 2,
                nulls: 2,
                ..Data::default()
            },
        )
    };
    assert_eq!(
        take(nothing(), "<m8[s]", &[]).unwrap(),
        [i64::MIN; 2].map(i64::to_le_bytes).concat()
    );
    assert!(take(nothing(), "<i8", &[]).is_err());
    // a list that is null has items that are
    let list = Data::of(2, vec![ints(&[1, 2, 3, 4])])
        .with_nulls(&[true, false])
        .unwrap();
    let lists = || Field::of("x", Format::List(2), vec![Field::new("item", int())]);
    let got = take(stream(vec![lists()], vec![vec![list]]), "<m8", &[2]).unwrap();
    assert_eq!(
        got,
        [i64::MIN, i64::MIN, 3, 4].map(i64::to_le_bytes).concat()
    );
    assert!(take(stream(vec![lists()], vec![]), "<m8", &[3]).is_err());
}

#[test]
fn nan_goes_out_as_null_where_that_is_wished() {
    let of = |dtype: &str, bytes: &[u8], rules| {
        let item = Dtype::parse(dtype).unwrap().item;
        let mut buffer = Buffer::zeroed(bytes.len()).unwrap();
        buffer.get_mut().copy_from_slice(bytes);
        let data = listed(
            &item,
            &[],
            bytes.len() / item.size,
            buffer,
            At { rules, ..at() },
        )
        .unwrap();
        let nullable = field("x", &item, &[], rules).unwrap().nullable;
        (
            nullable,
            data.nulls,
            data.buffers[0].as_ref().map(|b| b.get().to_vec()),
        )
    };
    let halves = [0x7c00u16, 0x7e00, 0xfc00, 0xfc01, 0x3c00]
        .map(u16::to_be_bytes)
        .concat();
    let singles = [1.0f32, f32::NAN, f32::INFINITY, -f32::NAN, 0.0]
        .map(f32::to_le_bytes)
        .concat();
    let doubles = [1.0f64, f64::NAN, f64::INFINITY, -f64::NAN, 0.0]
        .map(f64::to_be_bytes)
        .concat();
    for (dtype, bytes) in [(">f2", halves), ("<f4", singles), (">f8", doubles)] {
        assert_eq!(
            of(dtype, &bytes, Rules::default()),
            (false, 0, None),
            "{dtype}"
        );
        assert_eq!(
            of(
                dtype,
                &bytes,
                Rules {
                    nulls: true,
                    binary: false
                }
            ),
            (true, 2, Some(vec![0b10101])),
            "{dtype}"
        );
    }
    assert_eq!(
        of(
            "<f8",
            &[0; 8],
            Rules {
                nulls: true,
                binary: false
            }
        ),
        (true, 0, None)
    );
}

#[test]
fn text_fits_or_is_refused() {
    let to = |dtype: &str, texts: &[&str]| take(one(TEXT, words(texts)), dtype, &[]);
    assert_eq!(to("S3", &["é", "", "abc"]).unwrap(), b"\xc3\xa9\0\0\0\0abc");
    assert_eq!(to("<U1", &["é", ""]).unwrap(), [0xe9, 0, 0, 0, 0, 0, 0, 0]);
    for (dtype, bad) in [
        ("S1", "é"),
        ("S1", "ab"),
        ("<U1", "ab"),
        ("S3", "a\0"),
        ("<U3", "\0"),
    ] {
        let e = to(dtype, &["", bad]).unwrap_err();
        assert!(
            e.status == Status::Type && e.position == 1,
            "{dtype} {bad:?}: {e}"
        );
    }
    let e = to("V1", &["a"]).unwrap_err();
    assert!(e.message.contains("\"u\" cannot become"), "{e}");
    let binary = |ends| Format::Variable { text: false, ends };
    let wide = Data::variable(
        2,
        buffer(&[0i64, 1, 3], i64::to_ne_bytes),
        Buffer::bytes(b"abc".to_vec()),
    );
    assert_eq!(
        take(one(binary(Ends::Wide), wide), "S2", &[]).unwrap(),
        b"a\0bc"
    );
    let e = take(one(binary(Ends::Narrow), words(&["ab", "a"])), "V2", &[]).unwrap_err();
    assert_eq!(e.position, 1);
    let views: Vec<u8> = [
        [3u32.to_ne_bytes(), *b"abc\0", [0; 4], [0; 4]],
        [13u32.to_ne_bytes(), *b"0123", [0; 4], 1u32.to_ne_bytes()],
    ]
    .concat()
    .concat();
    let data = Data {
        len: 2,
        nulls: 0,
        buffers: vec![
            None,
            Some(Buffer::bytes(views)),
            Some(Buffer::bytes(b"x0123456789abc".to_vec())),
            Some(buffer(&[14i64], i64::to_ne_bytes)),
        ],
        children: vec![],
    };
    let got = take(
        one(
            Format::Variable {
                text: true,
                ends: Ends::View,
            },
            data,
        ),
        "S13",
        &[],
    )
    .unwrap();
    assert_eq!(
        got,
        [*b"abc\0\0\0\0\0\0\0\0\0\0", *b"0123456789abc"].concat()
    );
}

#[test]
fn columns_are_matched_by_name() {
    let (a, b) = (
        Dtype::parse("i1").unwrap().item,
        Dtype::parse("<i8").unwrap().item,
    );
    let targets = |names: &[&'static str]| -> Vec<Target<'_>> {
        names
            .iter()
            .map(|name| Target {
                name,
                item: if *name == "a" { &a } else { &b },
                lists: vec![],
            })
            .collect()
    };
    let named = |names: &[&str]| {
        let fields = names.iter().map(|n| Field::new(*n, int())).collect();
        stream(
            fields,
            vec![names.iter().map(|n| ints(&[n.len() as i64, 9])).collect()],
        )
    };
    let mut rows = Rows::new(named(&["bb", "a"]), &targets(&["a", "bb"])).unwrap();
    let (n, columns) = rows.next_piece().unwrap().unwrap();
    assert_eq!((n, &columns[0][..], columns[1][0]), (2, &[1u8, 9][..], 2));
    assert!(rows.next_piece().unwrap().is_none());
    let refused = |have: &[&str], names: &[&'static str]| {
        Rows::new(named(have), &targets(names))
            .err()
            .unwrap()
            .message
    };
    assert!(refused(&["a"], &["a", "bb"]).contains("column \"bb\": the stream has none"));
    assert!(refused(&["a", "c"], &["a"]).contains("column \"c\" of the stream"));
    assert!(refused(&["a", "a"], &["a"]).contains("two of this name"));
    let plain = stream_of(Box::new(Ready(Field::new("", int()), vec![])));
    assert!(Rows::new(Stream::take(&mut { plain }), &[]).is_err());
}

#[test]
fn batches_of_any_size_are_joined() {
    let batches: Vec<Vec<Data>> = (0..500i64)
        .map(|i| vec![ints(&(i * 10..i * 10 + i % 4).collect::<Vec<_>>())])
        .collect();
    let want: Vec<u8> = (0..500i64)
        .flat_map(|i| i * 10..i * 10 + i % 4)
        .flat_map(i64::to_le_bytes)
        .collect();
    assert_eq!(
        take(stream(vec![Field::new("x", int())], batches), "<i8", &[]).unwrap(),
        want
    );
    // and long ones cut
    let long: Vec<i64> = (0..5_000_000).collect();
    let got = take(one(int(), ints(&long)), "<i4", &[]).unwrap();
    assert!(
        got.as_chunks::<4>()
            .0
            .iter()
            .zip(0i32..)
            .all(|(b, i)| i32::from_le_bytes(*b) == i)
            && got.len() == 20_000_000
    );
}

#[test]
fn failures_of_a_stream_are_told_in_its_words() {
    struct Failing(Field);
    impl Source for Failing {
        fn schema(&self) -> &Field {
            &self.0
        }
        fn next_batch(&mut self) -> Result<Option<Data>> {
            Err(Error {
                os_code: libc::ENOSPC,
                ..Error::new(Status::Io, "row 7 is on the moon")
            })
        }
    }
    let mut stream = stream_of(Box::new(Failing(Field::of(
        "",
        Format::Struct,
        vec![Field::new("x", int())],
    ))));
    let e = take(Stream::take(&mut stream), "<i8", &[]).unwrap_err();
    assert!(
        e.status == Status::Callback
            && e.os_code == libc::ENOSPC
            && e.message.contains("row 7 is on the moon"),
        "{e}"
    );
    assert!(Stream::take(&mut stream).schema().is_err());

    struct Panicking(Field);
    impl Source for Panicking {
        fn schema(&self) -> &Field {
            &self.0
        }
        fn next_batch(&mut self) -> Result<Option<Data>> {
            panic!("planned")
        }
    }
    let mut stream = Stream::take(&mut stream_of(Box::new(Panicking(Field::of(
        "",
        Format::Struct,
        vec![],
    )))));
    stream.schema().unwrap();
    assert!(
        stream
            .next_batch()
            .err()
            .unwrap()
            .message
            .contains("planned")
    );
    assert!(stream.next_batch().err().unwrap().message.contains("bug"));
}
