//! What a scan of a table reads.
#![forbid(unsafe_code)]

use std::ops::{Bound, RangeBounds};

/// What [`Table::scan`](crate::Table::scan) reads: all columns of all rows, unless it is limited.
///
/// ```
/// use holdall::{Format, Options, Scan, Table, Values};
/// # let name = format!("holdall-doc-scan-{}.bcolz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let _ = std::fs::remove_dir_all(&path);
///
/// let columns = [("delay", "<i4"), ("origin", "|S3")];
/// let mut table = Table::create(&path, Format::Bcolz, &columns, &Options::new())?;
/// table.append(3, &[Values::from(&[5, 90, 61][..]), Values::bytes(b"EWRJFKLGA")])?;
/// table.commit()?;
///
/// let late = Scan::new().columns(&["origin"]).filter("delay > 60").limit(10);
/// let mut rows = 0;
/// for batch in table.scan(&late)? {
///     rows += batch?.len();
/// }
/// assert_eq!(rows, 2);
/// # drop(table);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Scan {
    pub(super) columns: Option<Vec<String>>,
    pub(super) predicate: Option<String>,
    pub(super) rows: (Bound<u64>, Bound<u64>),
    pub(super) limit: u64,
    pub(super) batch: u64,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan::new()
    }
}

impl Scan {
    /// Returns a scan of all columns of all rows.
    pub fn new() -> Scan {
        Scan {
            columns: None,
            predicate: None,
            rows: (Bound::Unbounded, Bound::Unbounded),
            limit: u64::MAX,
            batch: 0,
        }
    }

    /// Reads only these columns, in this order.
    pub fn columns(mut self, names: &[&str]) -> Scan {
        self.columns = Some(names.iter().map(ToString::to_string).collect());
        self
    }

    /// Reads only rows for which a predicate is true, as [`Table::rows_where`](crate::Table::rows_where).
    pub fn filter(mut self, predicate: &str) -> Scan {
        self.predicate = Some(predicate.to_owned());
        self
    }

    /// Reads only rows of this range.
    pub fn rows(mut self, rows: impl RangeBounds<u64>) -> Scan {
        self.rows = (rows.start_bound().cloned(), rows.end_bound().cloned());
        self
    }

    /// Reads at most `n` rows, the first ones.
    pub fn limit(mut self, n: u64) -> Scan {
        self.limit = n;
        self
    }

    /// Returns at most `rows` rows per batch; 0, the default: about 16 MB.
    pub fn batch(mut self, rows: u64) -> Scan {
        self.batch = rows;
        self
    }
}
