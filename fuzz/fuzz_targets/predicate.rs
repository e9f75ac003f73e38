//! See `checks/predicate.rs`.
#![no_main]

#[path = "../bounds.rs"]
mod bounds;
#[path = "../checks/predicate.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bounds::within(data, check::run));
