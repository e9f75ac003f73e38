//! See `checks/frame.rs`.
#![no_main]

#[path = "../checks/frame.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
