//! Events: what a pool tells a `tracing` subscriber, with the feature of that name. Without it all of this is empty, and no code.
//! `docs/telemetry.md` lists them.
//!
//! A subscriber runs in the middle of somebody's alloc or free, and may use the same pool on the same thread. So:
//!
//! * **E1** An event is told when its step is complete: the block that was asked for is out of the cache, counted, and the caller's, and
//!   nothing of the thread's is borrowed. What happens on the way there is noted in [`Notes`], which the end of the step tells.
//! * **E2** While a thread tells an event it tells no other: a subscriber whose own alloc finds the pool exhausted is not told that,
//!   and so on without end.
//! * **E3** A thread that has returned its caches because it ends tells nothing any more: the subscriber's own thread-locals
//!   may be gone.
//! * **E4** A subscriber's panic ends here. Further out it would lose the block that the caller is about to get.

#[cfg(not(feature = "tracing"))]
mod silent;
#[cfg(feature = "tracing")]
mod told;

#[cfg(not(feature = "tracing"))]
pub(crate) use silent::*;
#[cfg(feature = "tracing")]
pub(crate) use told::*;
