//! Networks through mbufs: a TCP proxy and a file server on tokio, and two smoltcp stacks back to back.
//!
//! Every payload byte lies in mbufs from the call that reads it to the call that writes it. `docs/adapters.md` says what of the
//! crate this rests on.

pub mod args;
mod counts;
pub mod files;
mod memory;
pub mod proxy;
mod sending;
mod serving;
pub mod stack;

pub use counts::{Counts, Summary};
pub use memory::Memory;

/// Bytes of a segment: with its header half of the smallest slab, so that even pools of a mebibyte waste nothing.
pub const SEGMENT: usize = (32 << 10) - 192;
