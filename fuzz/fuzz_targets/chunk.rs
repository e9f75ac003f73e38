//! See `checks/chunk.rs`.
#![no_main]

#[path = "../checks/chunk.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
