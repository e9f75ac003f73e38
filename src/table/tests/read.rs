//! Tests of reads of rows and points of columns.

use super::{ROWS, base, content, opened, row};
use crate::error::Status;
use crate::format::Format;
use crate::superchunk::bloscpack::Mode;

#[test]
fn rows_and_points_are_those_of_the_columns() {
    for format in super::FORMATS {
        let t = opened(&base(ROWS, format).folder(), Mode::Read).unwrap();
        for (i, column) in t.columns().iter().enumerate() {
            assert_eq!(t.find_column(&column.name), Some(i));
            let (all, size) = (content(&column.array).unwrap(), row(&column.array) as usize);
            let expected = |rows: &[u64]| -> Vec<u8> {
                let cell = |r: &u64| all[*r as usize * size..][..size].to_vec();
                rows.iter().flat_map(cell).collect()
            };
            for (start, count, step) in [
                (0, ROWS, 1),
                (3, 4, 20),
                (89, 1, u64::MAX),
                (7, 0, 1),
                (90, 0, 5),
            ] {
                let mut dst = vec![0xee; count as usize * size];
                assert!(!t.read_rows(i, (start, count, step), &mut dst).unwrap());
                let rows: Vec<u64> = (0..count).map(|k| start + k * step).collect();
                assert!(dst == expected(&rows), "{start} {count} {step}");
            }
            for rows in [&[][..], &[89, 0, 45, 45, 1], &[17; 200]] {
                let mut dst = vec![0xee; rows.len() * size];
                assert!(!t.read_points(i, rows, &mut dst).unwrap());
                assert!(dst == expected(rows), "{rows:?}");
            }
        }
        assert_eq!(t.find_column("x"), None);
    }
}

#[test]
fn invalid_requests_are_refused() {
    let t = opened(&base(ROWS, Format::Bcolz).folder(), Mode::Read).unwrap();
    let mut dst = [0; 40];
    let mut rows = |start, count, step, n: usize| {
        let e = t.read_rows(0, (start, count, step), &mut dst[..n]);
        let e = e.unwrap_err();
        assert!(e.message.contains("column \"a\""), "{e}");
        e.status
    };
    assert_eq!(rows(ROWS, 1, 1, 40), Status::Range);
    assert_eq!(rows(0, 2, ROWS, 40), Status::Range);
    assert_eq!(rows(0, 2, u64::MAX, 40), Status::Range);
    assert_eq!(rows(0, 1, 0, 40), Status::Argument);
    assert_eq!(rows(0, 10, 1, 39), Status::Buffer);
    let e = t.read_points(0, &[1, 2, ROWS], &mut dst).unwrap_err();
    assert_eq!((e.status, e.position), (Status::Range, 2));
    let e = t.read_points(0, &[1, 2], &mut dst[..7]).unwrap_err();
    assert_eq!(e.status, Status::Buffer);
    let e = t.read_rows(3, (0, 1, 1), &mut dst).unwrap_err();
    assert_eq!(e.status, Status::Range);
    assert_eq!(t.column_index("x").unwrap_err().status, Status::Argument);
}
