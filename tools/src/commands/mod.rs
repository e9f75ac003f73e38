//! The commands, a module each.

pub mod append;
pub mod attr;
pub mod boxes;
pub mod cat;
pub mod chart;
pub mod convert;
pub mod diff;
pub mod excerpt;
pub mod generate;
pub mod identify;
pub mod info;
pub mod ls;
pub mod merge;
pub mod numbers;
pub mod overview;
pub mod pack;
pub mod repair;
pub mod stats;
pub mod sum;
pub mod table;
pub mod tree;
pub mod trim;
pub mod tune;
pub mod unpack;
pub mod verify;
pub mod view;
