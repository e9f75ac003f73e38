//! See `checks/index.rs`.
#![no_main]

#[path = "../checks/index.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
