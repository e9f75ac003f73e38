//! See `checks/values.rs`.
#![no_main]

#[path = "../bounds.rs"]
mod bounds;
#[path = "../checks/values.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bounds::within(data, check::run));
