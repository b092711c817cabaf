//! Waiting for memory: how waiters and frees do not miss each other.
//!
//! While somebody waits the pool's key is not its identity, so no thread finds its cache on the fast path: each free and alloc
//! goes the slow way. There a free gives its block home, with all that its thread has cached, where every waiter finds it,
//! and wakes. When the last waiter has gone the key is what it was. So who does not wait, and frees while nobody does, pays
//! nothing.
//!
//! The waiter: enlists; announces himself in the key; fence; searches; sleeps.
//! Who makes memory reachable: puts it there; fence; looks at the key; takes the list of waiters.
//!
//! Of the two fences, which are sequentially consistent, one is first. If it is the waiter's, the other looks at the key after
//! the announcement and at the list after the enlisting, and wakes him. If it is the other's, the waiter's search sees the
//! memory. So "no waiter was seen" and "no memory was seen" exclude each other.
//!
//! A search that gives up on memory that is on the move (`slab::transit`) is no exception: the mover is one who makes memory
//! reachable, and comes here when it has.
//!
//! What remains is a free, on the fast path, that read the key before it changed and puts its block into its thread's loaded
//! magazine afterwards. It counts as one that happened before the wait began: its thread's loaded magazine is out of everybody's
//! reach (`docs/architecture.md`), as it would be if the thread had been a little faster. No fence changes that, not an
//! asymmetric one either: with the key looked at after the push, and `membarrier` on the waiter's side, the free that is before
//! the barrier remains. The next thing that its thread does in the pool, or its end, brings the block home.

use super::Pool;
use super::state::{Core, WAITED};
use crate::pressure::{Outside, Ticket};
use crate::registry::{Pin, registry};
use crate::sync::{Ordering, fence};
use std::task::Waker;

/// Whether this key is that of a pool somebody waits for.
fn is_waited(key: u64) -> bool {
    (WAITED + 1..u64::MAX).contains(&key)
}

impl Core {
    /// Whether somebody waited for memory at a glance.
    pub(super) fn is_waited_for(self) -> bool {
        // Relaxed: who must not miss a waiter fences.
        is_waited(self.state().key.load(Ordering::Relaxed))
    }

    /// The caller has put memory where other threads reach it: wakes who waits. Called where the arena is mapped, with the pin that
    /// sees to it, if there is one at hand.
    pub(super) fn made_reachable(self, pin: Option<&Pin>) {
        // Pairs with the fence in `Wait::begin`: see the module's documentation.
        fence(Ordering::SeqCst);
        if self.is_waited_for() {
            self.with_outside(pin, |outside| outside.waiters.wake_all());
        }
    }

    /// Does something with what of the pool lies outside its arena, unless its handles are gone.
    #[cold]
    #[inline(never)]
    pub(super) fn with_outside(self, pin: Option<&Pin>, act: impl FnOnce(&Outside)) {
        let own = match pin {
            Some(_) => None,
            None => registry().pin(self.id()),
        };
        if let Some(pin) = pin.or(own.as_ref())
            && !pin.is_closed()
            && let Some(outside) = pin.outside()
        {
            act(outside);
        }
    }

    /// Notes one waiter more.
    fn join(self) {
        let id = self.id().raw();
        // Relaxed: ordered by the fence that follows.
        let relaxed = Ordering::Relaxed;
        let _ = self.state().key.fetch_update(relaxed, relaxed, |key| {
            Some(if key == id { WAITED + 1 } else { key + 1 })
        });
    }

    /// Notes one waiter less; says whether he was the last.
    fn leave(self) -> bool {
        let id = self.id().raw();
        // Relaxed: who sees the key late takes the slow path, and finds fewer waiters or none.
        let relaxed = Ordering::Relaxed;
        let before = self.state().key.fetch_update(relaxed, relaxed, |key| {
            Some(if key == WAITED + 1 { id } else { key - 1 })
        });
        before == Ok(WAITED + 1)
    }
}

/// One waiter, who waits at times: gone from the pool when this is dropped. The handle keeps the pool open meanwhile.
#[derive(Debug)]
pub(crate) struct Wait {
    pool: Pool,
    ticket: Option<Ticket>,
}

impl Wait {
    pub(crate) fn new(pool: Pool) -> Self {
        Self { pool, ticket: None }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whether the waiter has begun to wait and not ended.
    pub(crate) fn is_on(&self) -> bool {
        self.ticket.is_some()
    }

    fn outside(&self) -> Option<&Outside> {
        self.pool.handle.pin.outside()
    }

    /// From now on, until the [end](Self::end), memory that comes free wakes `waker`, once. What was freed before is to be
    /// looked for after this.
    pub(crate) fn begin(&mut self, waker: &Waker) {
        let was_on = self.is_on();
        let mut ticket = self.ticket.take();
        if let Some(outside) = self.outside() {
            outside.waiters.enlist(&mut ticket, waker);
            self.ticket = ticket;
            if !was_on {
                self.pool.core.join();
            }
        }
        // Pairs with the fence in `made_reachable`.
        fence(Ordering::SeqCst);
    }

    /// The waiter does not wait any more.
    pub(crate) fn end(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let was_last = self.pool.core.leave();
        if let Some(outside) = self.outside() {
            outside.waiters.give_up(ticket);
            if was_last {
                // Clears the list of who gave up. Who came meanwhile looks once more, in vain.
                outside.waiters.wake_all();
            }
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.end();
    }
}
