//! See `checks/folder.rs`.
#![no_main]

#[path = "../checks/folder.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
