//! Tests of arrays on the simulated disk.

mod block_cache;
mod damage;
mod disk;
mod disk_frame;
mod precision;
mod read_ahead;

use super::Array;
