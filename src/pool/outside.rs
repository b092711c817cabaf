//! Pools and mbufs as they are named from outside, by numbers and addresses that may be wrong: what the C interface asks.

use super::state::{Core, State};
use super::{Pool, PoolBuilder, thread};
use crate::arena::GRANULE;
use crate::error::BuildError;
use crate::header::{Header, flags};
use crate::registry::{PoolId, registry};
use crate::slab::Found;
use crate::sync::Ordering;
use std::ptr;

/// Whoever has a pool's number has the right to destroy the pool: its one handle is kept for that in its state.
impl PoolBuilder {
    /// Makes a pool that is known by its number, until [`Core::destroy`].
    pub(crate) fn build_by_number(self) -> Result<PoolId, BuildError> {
        let pool = Box::new(self.build_to(true)?);
        pool.keep();
        let core = pool.core;
        // Relaxed: handed on with the number.
        core.state()
            .pool
            .store(Box::into_raw(pool), Ordering::Relaxed);
        Ok(core.id())
    }
}

impl State {
    fn take_pool(&self) -> Option<Box<Pool>> {
        // Relaxed: the taker was handed the number after the pointer was stored; of two, one gets it.
        let pool = self.pool.load(Ordering::Relaxed);
        let taken =
            self.pool
                .compare_exchange(pool, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
        if pool.is_null() || taken.is_err() {
            return None;
        }
        // SAFETY: `build_by_number` stored it, and the exchange gives it to us alone.
        Some(unsafe { Box::from_raw(pool) })
    }
}

impl Core {
    /// The pool with a number, while it has handles. Its arena stays readable for ever.
    #[inline]
    pub(crate) fn numbered(id: PoolId) -> Option<Self> {
        let arena = registry().kept(id, false)?;
        // SAFETY: a kept arena is readable for ever, and its pool was built.
        Some(unsafe { Self::new(arena) })
    }

    /// As [`numbered`](Self::numbered), while it has handles or mbufs.
    pub(crate) fn numbered_or_closed(id: PoolId) -> Option<Self> {
        let arena = registry().kept(id, true)?;
        // SAFETY: as above.
        Some(unsafe { Self::new(arena) })
    }

    /// The kept pool whose arena `address` lies in: at first the one that this thread used last.
    pub(crate) fn around(address: usize) -> Option<Self> {
        let latest = thread::latest().and_then(|id| registry().kept(id, false));
        let arena = match latest.filter(|arena| {
            // SAFETY: a kept arena is readable for ever, and its pool was built.
            let core = unsafe { Self::new(*arena) };
            (address.wrapping_sub(core.base()) as u64) < core.state().reserved
        }) {
            Some(arena) => arena,
            None => registry().kept_at(address)?,
        };
        // SAFETY: as above.
        Some(unsafe { Self::new(arena) })
    }

    /// The pool's number.
    pub(crate) fn number(self) -> PoolId {
        self.id()
    }

    /// Whether handles to the pool are left.
    pub(crate) fn is_open(self) -> bool {
        registry().kept(self.id(), false).is_some()
    }

    fn base(self) -> usize {
        self.arena().base().addr().get()
    }

    /// The header at `address` of a block that is free or not, if one begins there: the address is checked, then the table of
    /// headers. The header is not read.
    ///
    /// # Safety
    /// The arena is readable: the pool is pinned or kept.
    #[inline(always)]
    pub(crate) unsafe fn block_at<'a>(self, address: usize) -> Option<(&'a Header, Found<'a>)> {
        let state = self.state();
        let base = self.arena().base();
        let inside = address.wrapping_sub(base.addr().get());
        if !inside.is_multiple_of(GRANULE) {
            return None;
        }
        let granules = inside / GRANULE;
        let found = state.slabs.block_at(self.arena(), granules)?;
        // SAFETY: a block begins there, and blocks have headers from their carving on.
        Some((unsafe { base.byte_add(inside).cast().as_ref() }, found))
    }

    /// The live header at `address`, if there is one.
    ///
    /// # Safety
    /// As [`block_at`](Self::block_at).
    #[inline(always)]
    pub(crate) unsafe fn live_at<'a>(self, address: usize) -> Option<&'a Header> {
        // SAFETY: the caller's promise.
        let (header, found) = unsafe { self.block_at(address) }?;
        let is_live = header.flags() & flags::LIVE != 0 && found.was_a_block();
        is_live.then_some(header)
    }

    /// The address `granules` from the arena's base, or past its end.
    pub(crate) fn address_of(self, granules: u32) -> usize {
        self.base().wrapping_add(granules as usize * GRANULE)
    }

    /// Gives up the handle of a pool that is known by its number, and says how many blocks are in use. `None` if somebody
    /// else has done it.
    pub(crate) fn destroy(self) -> Option<u64> {
        let pool = self.state().take_pool()?;
        Some(pool.close())
    }
}
