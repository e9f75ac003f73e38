//! Columns of every type survive export and import. Streams of other producers are imported exactly
//! or rejected.
use super::append::{Piece, StreamRows, TargetColumn};
use super::batch_source::Source;
use super::data::{Buffer, Data};
use super::export::{ExportOptions, RowContext, export_lists, field};
use super::ffi::{ArrowArrayStream, Stream};
use super::format::{Field, Format, OffsetLayout};
use super::time_units::Unit;
use crate::dtype::Dtype;
use crate::error::{Error, Result, Status};
use crate::table::{Cells, Rows};

/// A source of prepared batches.
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
    let mut stream =
        ArrowArrayStream::of(Box::new(Ready(Field::of("", Format::Struct, fields), all)));
    let taken = Stream::take(&mut stream);
    assert!(stream.release.is_none());
    taken
}

fn context() -> RowContext<'static> {
    RowContext {
        rows: Rows::range(0, 0),
        per_row: 1,
        options: ExportOptions::default(),
    }
}

fn items<'a>(column: &'a Cells) -> &'a [u8] {
    match column {
        Cells::Items(items) => items,
        Cells::Texts(_) => panic!("values of any length"),
    }
}

/// Returns the bytes of a stream of one column, imported as a dtype.
fn import(stream: Stream, dtype: &str, lists: &[usize]) -> Result<Vec<u8>> {
    let dtype = Dtype::parse(dtype)?;
    let mut rows = StreamRows::new(
        stream,
        &[TargetColumn {
            name: "x",
            item: &dtype.item,
            lists: lists.to_vec(),
            nulls: None,
            variable: None,
        }],
    )?;
    let mut all = Vec::new();
    while let Some(piece) = rows.next_piece()? {
        assert!(piece.rows > 0);
        all.extend_from_slice(items(&piece.columns[0]));
    }
    Ok(all)
}

/// Exports the bytes of a column in batches of `batch` rows and imports them again.
fn round_trip(dtype: &str, lists: &[usize], bytes: &[u8], batch: usize) -> Result<Vec<u8>> {
    let item = Dtype::parse(dtype)?.item;
    let size = item.size * lists.iter().product::<usize>();
    let mut batches = Vec::new();
    for part in bytes.chunks(size * batch) {
        let mut buffer = Buffer::zeroed(part.len())?;
        buffer.get_mut().copy_from_slice(part);
        batches.push(vec![export_lists(
            &item,
            lists,
            part.len() / size,
            buffer,
            context(),
        )?]);
    }
    import(
        stream(
            vec![field("x", &item, lists, ExportOptions::default())?],
            batches,
        ),
        dtype,
        lists,
    )
}

#[test]
fn columns_of_every_type_survive_a_round_trip() {
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
                    round_trip(dtype, lists, bytes, batch).unwrap(),
                    bytes,
                    "{dtype} {lists:?} {batch}"
                );
            }
        }
    }
    let bits: Vec<u8> = (0..1000).map(|i| u8::from(i % 3 == 0)).collect();
    assert_eq!(round_trip("b1", &[], &bits, 17).unwrap(), bits);
    assert_eq!(round_trip("b1", &[8], &bits, 9).unwrap(), bits);
    let mut text = *b"ab\0\0\0\0a\0zyxw\xc3\xa9\0\0\0\0\0\0zyxwvut\0";
    assert_eq!(round_trip("S4", &[], &text, 2).unwrap(), text);
    text[14..].rotate_left(6);
    assert_eq!(round_trip("S7", &[2], &text, 1).unwrap(), text);
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
        assert_eq!(round_trip(dtype, &[], &wide, 3).unwrap(), wide, "{dtype}");
    }
}

#[test]
fn times_survive_a_round_trip() {
    let all = [0i64, -3, 86_400 * 365, i64::MIN, 17];
    for unit in [
        "", "[Y]", "[M]", "[W]", "[D]", "[h]", "[m]", "[s]", "[25s]", "[ms]", "[us]", "[ns]",
        "[7D]",
    ] {
        for letter in ["<M8", ">M8", "<m8", ">m8"] {
            let values = if ["[Y]", "[M]"].contains(&unit) {
                [0i64, -3, 400, i64::MIN, 17]
            } else {
                all
            };
            let bytes: Vec<u8> = values
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
                // 31,536,000 weeks in days fit into 32 bits
                assert_eq!(
                    round_trip(&dtype, &[], &bytes, 2).unwrap(),
                    bytes,
                    "{dtype}"
                );
            } else if !letter.contains('M') && months {
                assert_eq!(
                    round_trip(&dtype, &[], &bytes, 2).unwrap(),
                    bytes,
                    "{dtype}"
                );
            } else {
                assert_eq!(
                    round_trip(&dtype, &[], &bytes, 3).unwrap(),
                    bytes,
                    "{dtype}"
                );
            }
        }
    }
    let fine = |n: i64| round_trip("<M8[ps]", &[], &n.to_le_bytes(), 1);
    assert_eq!(fine(5000).unwrap(), 5000i64.to_le_bytes());
    let e = fine(5001).unwrap_err();
    assert!(
        e.status == Status::Type && e.message.contains("row 0: 5001 in the unit \"ps\""),
        "{e}"
    );
    let e = round_trip("<M8[D]", &[], &(1i64 << 40).to_le_bytes(), 1).unwrap_err();
    assert!(e.message.contains("row 0"), "{e}");
}

#[test]
fn structures_survive_a_round_trip() {
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
        assert_eq!(round_trip(dtype, &[], &bytes, batch).unwrap(), bytes);
        assert_eq!(round_trip(dtype, &[4], &bytes, batch).unwrap(), bytes);
    }
}

#[test]
fn invalid_text_is_an_error_with_its_row() {
    let e = round_trip("S2", &[], b"ab\xff\xfe", 9).unwrap_err();
    assert!(
        e.status == Status::Type
            && e.position == 1
            && e.message.contains("row 1: \"\\xff\\xfe\" is not UTF-8"),
        "{e}"
    );
    let wide: Vec<u8> = [97u32, 98, 99, 0xd800]
        .iter()
        .flat_map(|c| c.to_le_bytes())
        .collect();
    let e = round_trip("<U2", &[], &wide, 9).unwrap_err();
    assert!(
        e.status == Status::Format && e.position == 1 && e.message.contains("0xd800"),
        "{e}"
    );
    let e = round_trip("<U1", &[2], &wide, 9).unwrap_err();
    assert_eq!(e.position, 1);
    assert_eq!(
        field(
            "x",
            &Dtype::parse("S2").unwrap().item,
            &[],
            ExportOptions {
                binary: true,
                nulls: false
            }
        )
        .unwrap()
        .format
        .format_string(),
        "z"
    );
    assert!(
        field(
            "x\0",
            &Dtype::parse("S2").unwrap().item,
            &[],
            ExportOptions {
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

fn strings(texts: &[&str]) -> Data {
    let offsets: Vec<i32> = (0..=texts.len())
        .map(|n| texts[..n].iter().map(|t| t.len() as i32).sum())
        .collect();
    Data::variable(
        texts.len(),
        buffer(&offsets, i32::to_ne_bytes),
        Buffer::bytes(texts.concat().into_bytes()),
    )
}

const TEXT: Format = Format::Variable {
    text: true,
    layout: OffsetLayout::Offsets32,
};

#[test]
fn numbers_are_converted_exactly_or_rejected() {
    let to = |dtype: &str, values: &[i64]| import(one(int(), ints(values)), dtype, &[]);
    assert_eq!(to("i1", &[-128, 127]).unwrap(), [0x80, 0x7f]);
    assert_eq!(to(">u2", &[1, 65535]).unwrap(), [0, 1, 255, 255]);
    assert_eq!(to("<f8", &[-5]).unwrap(), (-5f64).to_le_bytes());
    for (dtype, invalid) in [
        ("i1", 128),
        ("u1", -1),
        ("<u8", -1),
        ("<f4", 16_777_217),
        ("<f8", (1 << 53) + 1),
        ("<f8", i64::MAX),
    ] {
        let e = to(dtype, &[7, 7, invalid]).unwrap_err();
        assert!(
            e.status == Status::Type
                && e.position == 2
                && e.message.starts_with("column \"x\": row 2: "),
            "{dtype}: {e}"
        );
        assert!(e.message.contains(&invalid.to_string()), "{e}");
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
            e.status == Status::Type && e.message.contains("\"l\" cannot be converted to"),
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
    let expected: Vec<u8> = [
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
    assert_eq!(import(floats(2, halves), "<f4", &[]).unwrap(), expected);
    assert_eq!(
        import(floats(4, 1.5f32.to_ne_bytes().to_vec()), ">f8", &[]).unwrap(),
        1.5f64.to_be_bytes()
    );
    assert!(import(floats(8, vec![0; 8]), "<f4", &[]).is_err());
    assert!(import(floats(8, vec![0; 8]), "<i8", &[]).is_err());
}

#[test]
fn nulls_become_nan_or_nat_or_are_rejected() {
    let with_null = || ints(&[1, 2, 3]).with_nulls(&[false, true, false]).unwrap();
    let got = import(one(int(), with_null()), "<f8", &[]).unwrap();
    let got: Vec<f64> = got
        .as_chunks::<8>()
        .0
        .iter()
        .map(|b| f64::from_le_bytes(*b))
        .collect();
    assert!(got[0] == 1.0 && got[1].is_nan() && got[2] == 3.0);
    let got = import(
        one(Format::Timestamp(Unit::Us, "UTC".into()), with_null()),
        ">M8[ns]",
        &[],
    )
    .unwrap();
    assert_eq!(
        got,
        [1000i64, i64::MIN, 3000].map(i64::to_be_bytes).concat()
    );
    let e = import(one(int(), with_null()), "<i8", &[]).unwrap_err();
    assert!(
        e.message
            .contains("row 1: a null, which '<i8' cannot represent"),
        "{e}"
    );
    let e = import(
        one(
            TEXT,
            strings(&["a", "b"]).with_nulls(&[true, false]).unwrap(),
        ),
        "S1",
        &[],
    )
    .unwrap_err();
    assert_eq!(e.position, 0);
    let nulls = || {
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
        import(nulls(), "<m8[s]", &[]).unwrap(),
        [i64::MIN; 2].map(i64::to_le_bytes).concat()
    );
    assert!(import(nulls(), "<i8", &[]).is_err());
    // the items of a null list are null
    let list = Data::of(2, vec![ints(&[1, 2, 3, 4])])
        .with_nulls(&[true, false])
        .unwrap();
    let lists = || Field::of("x", Format::List(2), vec![Field::new("item", int())]);
    let got = import(stream(vec![lists()], vec![vec![list]]), "<m8", &[2]).unwrap();
    assert_eq!(
        got,
        [i64::MIN, i64::MIN, 3, 4].map(i64::to_le_bytes).concat()
    );
    assert!(import(stream(vec![lists()], vec![]), "<m8", &[3]).is_err());
}

#[test]
fn nan_is_exported_as_null_on_request() {
    let of = |dtype: &str, bytes: &[u8], options| {
        let item = Dtype::parse(dtype).unwrap().item;
        let mut buffer = Buffer::zeroed(bytes.len()).unwrap();
        buffer.get_mut().copy_from_slice(bytes);
        let data = export_lists(
            &item,
            &[],
            bytes.len() / item.size,
            buffer,
            RowContext {
                options,
                ..context()
            },
        )
        .unwrap();
        let nullable = field("x", &item, &[], options).unwrap().nullable;
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
            of(dtype, &bytes, ExportOptions::default()),
            (false, 0, None),
            "{dtype}"
        );
        assert_eq!(
            of(
                dtype,
                &bytes,
                ExportOptions {
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
            ExportOptions {
                nulls: true,
                binary: false
            }
        ),
        (true, 0, None)
    );
}

#[test]
fn text_fits_or_is_rejected() {
    let to = |dtype: &str, texts: &[&str]| import(one(TEXT, strings(texts)), dtype, &[]);
    assert_eq!(to("S3", &["é", "", "abc"]).unwrap(), b"\xc3\xa9\0\0\0\0abc");
    assert_eq!(to("<U1", &["é", ""]).unwrap(), [0xe9, 0, 0, 0, 0, 0, 0, 0]);
    for (dtype, invalid) in [
        ("S1", "é"),
        ("S1", "ab"),
        ("<U1", "ab"),
        ("S3", "a\0"),
        ("<U3", "\0"),
    ] {
        let e = to(dtype, &["", invalid]).unwrap_err();
        assert!(
            e.status == Status::Type && e.position == 1,
            "{dtype} {invalid:?}: {e}"
        );
    }
    let e = to("V1", &["a"]).unwrap_err();
    assert!(e.message.contains("\"u\" cannot be converted to"), "{e}");
    let binary = |layout| Format::Variable {
        text: false,
        layout,
    };
    let wide = Data::variable(
        2,
        buffer(&[0i64, 1, 3], i64::to_ne_bytes),
        Buffer::bytes(b"abc".to_vec()),
    );
    assert_eq!(
        import(one(binary(OffsetLayout::Offsets64), wide), "S2", &[]).unwrap(),
        b"a\0bc"
    );
    let e = import(
        one(binary(OffsetLayout::Offsets32), strings(&["ab", "a"])),
        "V2",
        &[],
    )
    .unwrap_err();
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
    let got = import(
        one(
            Format::Variable {
                text: true,
                layout: OffsetLayout::View,
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
    let targets = |names: &[&'static str]| -> Vec<TargetColumn<'_>> {
        names
            .iter()
            .map(|name| TargetColumn {
                name,
                item: if *name == "a" { &a } else { &b },
                lists: vec![],
                nulls: None,
                variable: None,
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
    let mut rows = StreamRows::new(named(&["bb", "a"]), &targets(&["a", "bb"])).unwrap();
    let Piece {
        rows: n, columns, ..
    } = rows.next_piece().unwrap().unwrap();
    assert_eq!(
        (n, items(&columns[0]), items(&columns[1])[0]),
        (2, &[1u8, 9][..], 2)
    );
    assert!(rows.next_piece().unwrap().is_none());
    let rejected = |found: &[&str], names: &[&'static str]| {
        StreamRows::new(named(found), &targets(names))
            .err()
            .unwrap()
            .message
    };
    assert!(rejected(&["a"], &["a", "bb"]).contains("column \"bb\": not in the Arrow stream"));
    assert!(rejected(&["a", "c"], &["a"]).contains("Arrow stream: column \"c\""));
    assert!(rejected(&["a", "a"], &["a"]).contains("more than one in the Arrow stream"));
    let plain = ArrowArrayStream::of(Box::new(Ready(Field::new("", int()), vec![])));
    assert!(StreamRows::new(Stream::take(&mut { plain }), &[]).is_err());
}

#[test]
fn batches_of_any_size_are_joined_or_split() {
    let batches: Vec<Vec<Data>> = (0..500i64)
        .map(|i| vec![ints(&(i * 10..i * 10 + i % 4).collect::<Vec<_>>())])
        .collect();
    let expected: Vec<u8> = (0..500i64)
        .flat_map(|i| i * 10..i * 10 + i % 4)
        .flat_map(i64::to_le_bytes)
        .collect();
    assert_eq!(
        import(stream(vec![Field::new("x", int())], batches), "<i8", &[]).unwrap(),
        expected
    );
    // long batches are split
    let long: Vec<i64> = (0..5_000_000).collect();
    let got = import(one(int(), ints(&long)), "<i4", &[]).unwrap();
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
fn errors_of_a_stream_keep_their_message() {
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
    let mut stream = ArrowArrayStream::of(Box::new(Failing(Field::of(
        "",
        Format::Struct,
        vec![Field::new("x", int())],
    ))));
    let e = import(Stream::take(&mut stream), "<i8", &[]).unwrap_err();
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
    let mut stream = Stream::take(&mut ArrowArrayStream::of(Box::new(Panicking(Field::of(
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
