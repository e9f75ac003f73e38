//! See `checks/bag.rs`.
#![no_main]

#[path = "../checks/bag.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
