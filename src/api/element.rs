//! The numbers that can be items of an array, and their bytes.

use super::{Error, Result};
use crate::dtype::{Dtype, Kind, Type};
use crate::error::fail;

/// A number of Rust that can be an item of an array: sealed, implemented for the integers of 8 to 64
/// bits, `f32`, `f64`, and `[f32; 2]` and `[f64; 2]` for complex numbers.
///
/// Typed reads and writes check that the dtype of the array is the same number in the byte order of
/// the machine, and fail with [`Status::Type`](crate::Status::Type) otherwise. `u8` also is the
/// type of booleans (`|b1`), `i64` of dates and durations (`<M8[ns]`, `<m8[ns]`).
///
/// ```
/// use holdall::Element;
///
/// # if cfg!(target_endian = "little") {
/// assert_eq!(f64::DTYPE, "<f8");
/// # }
/// assert_eq!(u8::DTYPE, "|u1");
/// ```
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The dtype, as NumPy spells it.
    const DTYPE: &'static str;
}

mod sealed {
    use crate::dtype::Type;

    /// Implementors are numbers, or arrays of numbers, without padding, and every pattern of bits
    /// is a value: [`super::bytes`] relies on this.
    pub trait Sealed: Sized {
        /// Returns whether items of this dtype are values of the type.
        fn is_type_of(item: &Type) -> bool;
    }
}

macro_rules! element {
    ($($number:ty, $code:literal, $kind:pat,)*) => {$(
        impl Element for $number {
            const DTYPE: &'static str = match size_of::<$number>() {
                1 => concat!("|", $code),
                _ if cfg!(target_endian = "big") => concat!(">", $code),
                _ => concat!("<", $code),
            };
        }

        impl sealed::Sealed for $number {
            fn is_type_of(item: &Type) -> bool {
                let big_endian = cfg!(target_endian = "big") && item.size > 1;
                matches!(item.kind, $kind)
                    && item.size == size_of::<$number>()
                    && item.big_endian == big_endian
            }
        }
    )*};
}

element! {
    i8, "i1", Kind::Int,
    i16, "i2", Kind::Int,
    i32, "i4", Kind::Int,
    i64, "i8", Kind::Int | Kind::Datetime(_) | Kind::Timedelta(_),
    u8, "u1", Kind::Uint | Kind::Bool,
    u16, "u2", Kind::Uint,
    u32, "u4", Kind::Uint,
    u64, "u8", Kind::Uint,
    f32, "f4", Kind::Float,
    f64, "f8", Kind::Float,
    [f32; 2], "c8", Kind::Complex,
    [f64; 2], "c16", Kind::Complex,
}

/// Returns an error if items of this dtype are not values of type `T`.
pub(super) fn check<T: Element>(dtype: &Dtype) -> Result<()> {
    if T::is_type_of(&dtype.item) {
        return Ok(());
    }
    Err(Error(fail!(
        Type,
        "dtype: the items are not of type {} (expected {:?}, found {:?}); use their bytes",
        std::any::type_name::<T>(),
        T::DTYPE,
        dtype.spelling
    )))
}

/// Returns the bytes of numbers.
pub(super) fn bytes<T: Element>(numbers: &[T]) -> &[u8] {
    // SAFETY: the same memory; the numbers have no padding, so all bytes are initialized.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Returns the bytes of numbers for writing.
pub(super) fn bytes_mut<T: Element>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: the same memory, borrowed exclusively; the numbers have no padding, and every pattern
    // of bits is a value, so any bytes may be written.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits<T: Element>(dtype: &str) -> bool {
        check::<T>(&Dtype::parse(dtype).unwrap()).is_ok()
    }

    #[test]
    fn a_number_is_the_type_of_its_dtype_in_native_byte_order_only() {
        let (native, foreign) = if cfg!(target_endian = "big") {
            ('>', '<')
        } else {
            ('<', '>')
        };
        assert!(fits::<f64>(f64::DTYPE) && fits::<[f32; 2]>(<[f32; 2]>::DTYPE));
        assert!(fits::<u8>("|b1") && fits::<i8>("|i1"));
        assert!(fits::<i64>(&format!("{native}M8[ns]")));
        assert!(!fits::<f64>(&format!("{foreign}f8")) && !fits::<i16>(&format!("{foreign}i2")));
        assert!(!fits::<f64>("<i8") && !fits::<i32>("<i8") && !fits::<u64>("|S8"));
        assert!(!fits::<f64>("('<f8', (2,))"));
    }

    #[test]
    fn bytes_are_those_of_the_numbers() {
        let mut numbers = [1i16, -1];
        assert_eq!(bytes(&numbers), [1i16.to_ne_bytes(), [255, 255]].concat());
        bytes_mut(&mut numbers).fill(255);
        assert_eq!(numbers, [-1, -1]);
    }
}
