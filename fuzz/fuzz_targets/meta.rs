//! See `checks/meta.rs`.
#![no_main]

#[path = "../checks/meta.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
