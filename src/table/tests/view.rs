//! Tests of slices of tables.

use super::copy::copy;
use super::{FORMATS, ROWS, append, base, content, opened, row, shown};
use crate::error::Status;
use crate::io::sim::SimDisk;
use crate::superchunk::bloscpack::Mode;

#[test]
fn slices_have_the_rows_and_columns_that_were_selected() {
    for format in FORMATS {
        let disk = base(ROWS, format);
        let table = opened(&disk.folder(), Mode::Read).unwrap();
        for (start, count, step, columns) in [
            (0, ROWS, 1, None),
            (3, 10, 1, None),
            (0, 30, 3, Some(&[2, 0][..])),
            (ROWS - 1, ROWS, -1, Some(&[1])),
            (ROWS, 0, 1, None),
        ] {
            let slice = table.slice(start, count, step, columns).unwrap();
            let expected = columns.unwrap_or(&[0, 1, 2]).iter().map(|i| {
                let column = &table.columns()[*i];
                let (items, size) = (content(&column.array).unwrap(), row(&column.array) as usize);
                let rows = (0..count as i64).flat_map(|i| {
                    let at = start.wrapping_add_signed(i * step) as usize * size;
                    items[at..at + size].to_vec()
                });
                (column.name.clone(), rows.collect::<Vec<u8>>())
            });
            let expected = (count, expected.collect::<Vec<_>>());
            assert!(
                shown(&slice) == expected,
                "{format:?} {start} {count} {step}"
            );
            for to in FORMATS {
                let other = SimDisk::default();
                assert!(!copy(&slice, &other.folder(), Mode::New, to).unwrap());
                let new = opened(&other.folder(), Mode::Read).unwrap();
                assert!(shown(&new) == expected, "{format:?} to {to:?}");
                assert_eq!(new.attrs().get("n").unwrap(), Some(&b"1"[..]));
            }
        }
        let of_slice = table.slice(10, 20, 2, None).unwrap();
        let of_slice = of_slice.slice(1, 3, 4, Some(&[0])).unwrap();
        let same = table.slice(12, 3, 8, Some(&[0])).unwrap();
        assert!(shown(&of_slice) == shown(&same));
    }
}

#[test]
fn slices_that_a_table_does_not_have_are_refused() {
    for format in FORMATS {
        let disk = base(ROWS, format);
        let mut table = opened(&disk.folder(), Mode::Append).unwrap();
        for (start, count, step, columns, status) in [
            (0, ROWS + 1, 1, None, Status::Range),
            (0, 2, -1, None, Status::Range),
            (0, 2, 0, None, Status::Argument),
            (0, 2, 1, Some(&[3][..]), Status::Range),
            (0, 2, 1, Some(&[0, 0]), Status::Argument),
            (0, 2, 1, Some(&[]), Status::Argument),
        ] {
            let refused = table.slice(start, count, step, columns).err().unwrap();
            assert_eq!(refused.status, status, "{start} {count} {step} {columns:?}");
        }
        // nothing of the table changes while a slice of one of its columns is open
        let was = shown(&table);
        let mut slice = table.slice(0, 2, 1, Some(&[2])).unwrap();
        assert_eq!(append(&mut table, 1, 5).unwrap_err().status, Status::State);
        assert_eq!(table.truncate(1).unwrap_err().status, Status::State);
        assert_eq!(table.commit().unwrap_err().status, Status::State);
        assert_eq!(append(&mut slice, 1, 5).unwrap_err().status, Status::State);
        assert!(shown(&table) == was);
        drop(slice);
        append(&mut table, 1, 5).unwrap();
        table.commit().unwrap();
    }
}
