//! What of a pool lies outside its arena, in the process's own memory: who waits for memory, and who is told how much of it is
//! left. The registry keeps it beside the pool's base, so that whoever has pinned a pool finds it.

mod told;
mod waiters;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use told::Told;
pub(crate) use waiters::{Ticket, Waiters};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) waiters: Waiters,
    pub(crate) told: Told,
}

impl Outside {
    pub(crate) fn new(told: Told) -> Self {
        Self {
            waiters: Waiters::new(),
            told,
        }
    }
}

/// Calls somebody else's code in the middle of an alloc or free. A panic of it ends here: further out it would lose a block, or a
/// waiter behind it.
fn call(code: impl FnOnce()) {
    if cfg!(loom) {
        // Where a panic is a model that has failed.
        return code();
    }
    let _ = catch_unwind(AssertUnwindSafe(code));
}
