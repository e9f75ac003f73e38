//! See `checks/dataset.rs`.
#![no_main]

#[path = "../checks/dataset.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
