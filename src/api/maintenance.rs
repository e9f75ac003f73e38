//! Functions for a container of any kind.
#![forbid(unsafe_code)]

use super::{Error, Format, Kind, Location, Options, Result};
use crate::io::overlay::DryRun;
use crate::repair::reading;
use std::ffi::OsStr;

/// The result of [`verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a corrupt container is not an error of the call"]
#[non_exhaustive]
pub struct Verified {
    /// Number of intact records or chunks.
    pub intact: u64,
    /// Number of corrupt or missing records or chunks.
    pub corrupt: u64,
    /// Number of records or chunks without a checksum that applies, or of an unknown codec, filter
    /// or version.
    pub unchecked: u64,
    /// Number of faults, including those of headers and metadata.
    pub faults: u64,
}

impl Verified {
    /// Returns whether there are no faults.
    pub fn is_intact(&self) -> bool {
        self.faults == 0
    }
}

/// Reads everything at a path, verifies all lengths and checksums, and calls `fault` for each fault
/// with the part that it is in (`"record 7"`, `"chunk 3"`, a path) and its error. If `fault` returns
/// `false`, the call stops.
///
/// A container that cannot be opened is an error, which `fault` gets, too. The call fails with
/// [`Status::Busy`](crate::Status::Busy) if writers committed during every attempt.
///
/// ```
/// use holdall::{BagWriter, Options, verify};
/// # let name = format!("holdall-doc-verify-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let mut writer = BagWriter::replace(&path, &Options::new())?;
/// writer.append(b"a record")?;
/// writer.commit()?;
///
/// let verified = verify(&path, &Options::new(), |part, error| {
///     eprintln!("{part}: {error}");
///     true
/// })?;
/// assert!(verified.is_intact() && verified.intact == 1);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    path: impl AsRef<OsStr>,
    options: &Options,
    mut fault: impl FnMut(&str, &Error) -> bool,
) -> Result<Verified> {
    let (path, mut faults) = (path.as_ref(), 0);
    let mut report = |part: &str, error: &crate::error::Error| {
        faults += 1;
        DryRun::outside(|| fault(part, &Error(error.clone())))
    };
    let [intact, corrupt, unchecked] = reading(path, options.get()?.clone(), |options| {
        crate::verify::verify(path, options, &mut report)
    })
    .map_err(Error)?;
    Ok(Verified {
        intact,
        corrupt,
        unchecked,
        faults,
    })
}

/// The result of [`repair`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Number of records or chunks that were retained.
    pub retained: u64,
    /// Number of records or chunks that were lost, including metadata, trailers, commits, names and
    /// columns. 1 may mean an unknown number of records.
    pub dropped: u64,
    /// Whether the metadata of a superchunk were corrupt and are removed.
    pub metadata_lost: bool,
    /// Names of the columns of a table that were removed, because they could not be repaired.
    pub columns_lost: Vec<String>,
    /// Names of parts (see [`Part`](crate::Part)) that were removed, because their tokens were never
    /// committed and no writer has them open.
    pub parts_removed: Vec<String>,
}

/// Repairs the container at a path: completes or rolls back an interrupted change and restores the
/// last consistent state. Intact records and chunks keep their positions.
///
/// Corrupt chunks become zeros. Bags and folders save removed bytes in `*.holdall-damaged`. With
/// [`Options::dry_run`] it changes nothing and returns the same result.
///
/// ```
/// use holdall::{BagWriter, Options, repair};
/// # let name = format!("holdall-doc-repair-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let mut writer = BagWriter::replace(&path, &Options::new())?;
/// writer.append_many(&["one", "two"])?;
/// writer.commit()?;
/// # drop(writer);
///
/// let repaired = repair(&path, &Options::new().dry_run(true))?;
/// assert_eq!((repaired.retained, repaired.dropped), (2, 0));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(path: impl AsRef<OsStr>, options: &Options) -> Result<Repaired> {
    let repaired = crate::repair::repair(path.as_ref(), options.get()?);
    let repaired = repaired.map_err(Error)?;
    Ok(Repaired {
        retained: repaired.retained,
        dropped: repaired.dropped,
        metadata_lost: repaired.metadata_lost,
        columns_lost: repaired.columns_lost,
        parts_removed: repaired.parts_removed,
    })
}

/// Identifies the format and the kind of a container, by content.
///
/// A Bloscpack file is a [`Kind::Schunk`], even if [`Array::open`](crate::Array::open) opens it. A
/// folder in the BLZ RFC layout with separate fields is a [`Kind::Table`] and also opens as an
/// array.
///
/// ```
/// use holdall::{BagWriter, Format, Kind, Options, identify};
/// # let name = format!("holdall-doc-identify-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append(b"a record")?;
/// # writer.commit()?;
/// assert_eq!(identify(&path)?, (Format::Bagz, Kind::Bag));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn identify(location: impl Into<Location>) -> Result<(Format, Kind)> {
    location
        .into()
        .with(crate::identify::identify, crate::identify::identify_in)
}

/// Returns the kind of a container that [`identify`] refuses because it is corrupt or was never
/// committed, or `None` if nothing shows one.
pub fn kind_of_broken(location: impl Into<Location>) -> Option<Kind> {
    let in_folder = |folder: &_| Ok(crate::identify::kind_of_broken_in(folder));
    let kind = location
        .into()
        .with(|path| Ok(crate::identify::kind_of_broken(path)), in_folder);
    kind.ok().flatten()
}

/// Returns the versions of the library and its codecs, such as `0.2.0 zstd/1.5.7`.
///
/// ```
/// assert!(holdall::version().contains(" zstd/"));
/// ```
pub fn version() -> String {
    let zstd = zstd_safe::version_string();
    format!("{} zstd/{zstd}", env!("CARGO_PKG_VERSION"))
}
