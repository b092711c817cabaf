//! Message buffers for latency-critical pipelines.
//!
//! A [`Pool`] hands out [`Mbuf`]s: owned buffers with a data area of any size up to 4 GiB, 96 bytes of the user's own, and a link to
//! the next segment of a message. Copies share the data ([`Mbuf::copy_ref`]), messages are chained ([`Mbuf::append`]), and both
//! may be sent to and freed on any thread. Alloc and free cost a few nanoseconds, without a lock, an atomic read-modify-write
//! or a system call once the pool is warm ([`Pool::reserve`]).
//!
//! ```
//! use mbuf::Pool;
//!
//! let pool = Pool::builder().capacity(64 << 20).build()?;
//! let mut packet = pool.alloc(2048)?;
//! packet.extend_from_slice(b"payload")?;
//! packet.user_mut()[0] = 7;
//!
//! let copy = packet.copy_ref()?;
//! std::thread::spawn(move || {
//!     assert_eq!(copy.data(), b"payload");
//!     assert_eq!(copy.user()[0], 7);
//! })
//! .join()
//! .unwrap();
//! assert!(!packet.is_shared());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which handle
//!
//! [`Pool`] may be cloned, shared and sent. [`Pool::local`] gives a handle for one thread that skips a lookup.
//! [`Pool::global`] is the process's own.
//!
//! # What a running pool shows
//!
//! [`Pool::stats`] tells what a pool holds and has done, [`Stats::figures`] the same as named numbers. The feature `metrics` adds
//! `Pool::publish_metrics`, which hands them to the `metrics` facade, and the feature `tracing` events of slow steps. Both are off
//! by default, and alloc and free pay nothing for any of it but when they take a slow path, where events come from.
//!
//! # Under the model checker
//!
//! Built with `--cfg loom` the crate takes its atomics from loom, and its pools are small enough to explore: magazines of two
//! blocks and slabs of a few. Whoever proves a pipeline of his own with loom can let its mbufs take part in the model.
//!
//! # Where to read on
//!
//! `docs/architecture.md` in the repository describes the parts and their invariants, `docs/layout.md` the header byte by byte.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("mbuf is for 64-bit machines");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

#[cfg(all(doctest, feature = "metrics"))]
#[doc = include_str!("../docs/telemetry.md")]
struct TelemetryExamples;

mod adapters;
mod arena;
mod bits;
mod cache;
#[cfg(all(feature = "capi", not(any(loom, shuttle))))]
mod capi;
mod class;
mod depot;
mod error;
mod event;
mod header;
mod heap;
mod mbuf;
mod pool;
mod pressure;
mod registry;
mod slab;
mod sync;
#[cfg(all(test, not(loom)))]
mod test_parts;

#[cfg(feature = "serde")]
pub use adapters::Content;
pub use adapters::{Cursor, WriteError, Writer};
pub use arena::HugePages;
#[cfg(loom)]
pub use class::LOOM_SLAB;
pub use error::{AllocError, BuildError, LenError, SystemError};
pub use header::USER_AREA;
pub use mbuf::{
    AllocFuture, AppendError, AppendErrorKind, ChainBytes, Layout, MAX_CHAIN, Mbuf, Segment,
    SegmentMut, Segments, SegmentsMut, ViewError, WrapError, free_bulk,
};
pub use pool::{ClassStats, Figure, FigureKind, FigurePart, LocalPool, Pool, PoolBuilder, Stats};
#[cfg(any(loom, shuttle))]
pub use sync::live_arenas;
