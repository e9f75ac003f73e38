//! See `checks/blpk.rs`.
#![no_main]

#[path = "../checks/blpk.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
