//! Message buffers for latency-critical pipelines.
#![doc = ""]

mod arena;
mod bits;
mod cache;
mod class;
mod depot;
mod error;
mod header;
mod mbuf;
mod pool;
mod registry;
mod slab;
mod sync;

pub use arena::HugePages;
#[cfg(loom)]
pub use class::LOOM_SLAB;
pub use error::{AllocError, BuildError, LenError, SystemError};
pub use header::USER_AREA;
pub use mbuf::{
    AppendError, AppendErrorKind, MAX_CHAIN, Mbuf, Segment, SegmentMut, Segments, SegmentsMut,
    free_bulk,
};
pub use pool::{ClassStats, LocalPool, Pool, PoolBuilder, Stats};
