//! See `checks/blosclz.rs`.
#![no_main]

#[path = "../checks/blosclz.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
