//! Systems without processor affinity: only the scheduler decides where threads run.
#![forbid(unsafe_code)]

/// See `affinity.rs`.
pub type Thread = i32;

pub fn this_thread() -> Thread {
    0
}

pub fn this_processor() -> Option<usize> {
    None
}

pub enum ProcessorExclusion {}

impl ProcessorExclusion {
    pub fn new(_: usize, _: Thread) -> Option<ProcessorExclusion> {
        None
    }
}
