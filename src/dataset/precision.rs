//! Truncated precision in the BLZ RFC layout: the filter `truncate` of `compression.filters`.
//!
//! The RFC names the filter ("filters: [shuffle, truncate]") without the number of bits, and chunks
//! of Blosc 1 do not have it. It concerns writers only: items are truncated before they are stored,
//! wherever the list has the filter. This library stores the number as `compression.truncate`, which
//! other readers ignore: bits of the mantissa that are retained, or, if negative, cleared, as in
//! Blosc2.
#![forbid(unsafe_code)]

use crate::blosc::filter::truncate_in_place;
use crate::dtype::Dtype;
use crate::error::{Error, Result, fail};
use crate::json::Value;
use crate::options::{Opt, Options};

/// The name of the filter, and of the number of bits.
pub const TRUNCATE: &str = "truncate";

/// Returns the number of bits that the contents of `meta/storage` state: the outer `None` if the
/// filter is not listed, the inner one if there is no number.
pub fn stated(storage: &Value) -> Option<Option<&Value>> {
    let compression = storage.get("compression")?;
    let Some(Value::Array(filters)) = compression.get("filters") else {
        return None;
    };
    let is_listed = filters.iter().any(|name| name.as_str() == Some(TRUNCATE));
    is_listed.then(|| compression.get(TRUNCATE))
}

/// Returns the stated number of bits, as far as it is one.
pub fn stated_bits(storage: &Value) -> Option<i8> {
    match stated(storage)?? {
        Value::Int(n) => i8::try_from(*n).ok().filter(|bits| *bits != 0),
        _ => None,
    }
}

/// Returns the precision of the items that a writer with these options stores; `None`: exact.
pub fn of_writer(storage: &Value, dtype: &Dtype, options: &Options) -> Result<Option<i8>> {
    let (stated, name) = (stated(storage), Opt::Precision.name());
    let requested = options.given(Opt::Precision);
    let is_exact =
        requested == Some(0) || requested.is_none() && options.given_bytes(Opt::Filters).is_some();
    let Some(stated) = stated.filter(|_| !is_exact) else {
        return match requested.filter(|n| *n != 0) {
            None => Ok(None),
            Some(n) => Err(fail!(
                Unsupported,
                "{name}: the precision of an existing array cannot be changed (expected 0, found {n}); copy it"
            )),
        };
    };
    let number = match (stated, requested) {
        (None, None) => {
            return Err(fail!(
                Unsupported,
                "compression.filters: \"{TRUNCATE}\" is listed without the number of bits; set {name} to it, or to 0 to write exact items"
            ));
        }
        (None, Some(n)) => i128::from(n),
        (Some(Value::Int(n)), Some(other)) if *n != other.into() => {
            return Err(fail!(
                Unsupported,
                "{name}: the precision of an existing array cannot be changed (expected {n} or 0, found {other}); copy it"
            ));
        }
        (Some(Value::Int(n)), _) => *n,
        (Some(other), _) => return Err(invalid(other)),
    };
    let bits = i8::try_from(number).map_err(|_| invalid(&number))?;
    // the message explains how to write the array to a caller who did not choose the number
    check(bits, dtype).map_err(|e| match requested {
        Some(_) => e,
        None => fail!(
            Unsupported,
            "compression.{TRUNCATE}: {}; set {name} to 0 to write exact items",
            e.message
        ),
    })?;
    Ok(Some(bits))
}

fn invalid(number: &dyn std::fmt::Display) -> Error {
    fail!(
        Unsupported,
        "compression.{TRUNCATE}: invalid number of bits (expected 1 to 52 or -1 to -51, found {number}); set {} to 0 to write exact items",
        Opt::Precision.name()
    )
}

/// Returns an error unless the items can be truncated to `bits`.
pub fn check(bits: i8, dtype: &Dtype) -> Result<()> {
    let name = Opt::Precision.name();
    dtype.check_precision(name)?;
    truncate_in_place(bits, dtype.item.size, &mut []).map_err(|e| e.within(name))
}
