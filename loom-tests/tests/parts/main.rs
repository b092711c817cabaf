//! Models of the parts, each protocol by itself. The modules below are the shipped source files, mounted here so that the
//! models reach what the crate keeps to itself.
#![cfg(loom)]
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub)]

#[path = "../../../src/arena/mod.rs"]
mod arena;
#[path = "../../../src/bits.rs"]
mod bits;
#[path = "../../../src/cache/mod.rs"]
mod cache;
#[path = "../../../src/class.rs"]
mod class;
#[path = "../../../src/depot/mod.rs"]
mod depot;
#[path = "../../../src/error.rs"]
mod error;
#[path = "../../../src/event/mod.rs"]
mod event;
#[path = "../../../src/header/mod.rs"]
mod header;
#[path = "../../../src/heap.rs"]
mod heap;
#[path = "../../../src/mbuf/mod.rs"]
mod mbuf;
#[path = "../../../src/pool/mod.rs"]
mod pool;
#[path = "../../../src/pressure/mod.rs"]
mod pressure;
#[path = "../../../src/registry.rs"]
mod registry;
#[path = "../../../src/slab/mod.rs"]
mod slab;
#[path = "../../../src/sync.rs"]
mod sync;
#[path = "../../../src/test_parts.rs"]
mod test_parts;

pub use error::{AllocError, BuildError, LenError};
pub use mbuf::{Mbuf, free_bulk};
pub use pool::{Pool, PoolBuilder};

mod cache_models;
#[cfg(feature = "capi")]
mod check_models;
mod depot_models;
#[cfg(feature = "capi")]
mod kept_models;
mod registry_models;
mod slab_models;
