//! See `checks/array.rs`.
#![no_main]

#[path = "../checks/array.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
