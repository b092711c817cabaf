//! Allocation: the calls of [`Pool`] and [`LocalPool`] that hand out mbufs.

use super::Mbuf;
use crate::arena::Offset;
use crate::cache::{Cache, MAGAZINE_MAX};
use crate::class::{Class, MAX_DATA};
use crate::error::AllocError;
use crate::header::flags;
use crate::pool::{Core, LocalPool, Pool};
use crate::slab::Purpose;

impl Mbuf {
    /// # Safety
    /// `block` is free (H4), of the pool, large enough for `size` bytes, and the caller's.
    #[inline(always)]
    pub(super) unsafe fn activate(core: Core, block: Offset, size: usize, kind: u16) -> Self {
        // SAFETY: the caller's to activate and then to own.
        unsafe {
            core.header(block).activate(block, size as u64, kind);
            Self::from_block(core, block)
        }
    }

    /// Touches every page of the data area, so that using it meets no page fault.
    fn touch(&mut self) {
        let (data, capacity) = (self.data_ptr(), self.capacity());
        for at in (0..capacity).step_by(4096).chain(capacity.checked_sub(1)) {
            // SAFETY: inside the data area, which is exclusively ours: a fresh mbuf's. No valid data is there yet (M4).
            unsafe { data.add(at).write_volatile(0) };
        }
    }
}

#[inline(always)]
fn alloc(
    core: Core,
    size: usize,
    take: impl FnOnce(Class) -> Result<Offset, AllocError>,
) -> Result<Mbuf, AllocError> {
    alloc_in(core, size, size, take)
}

/// A new mbuf of `size` bytes on a block, or a span, with room for `room`, no less.
#[inline(always)]
pub(super) fn alloc_in(
    core: Core,
    size: usize,
    room: usize,
    take: impl FnOnce(Class) -> Result<Offset, AllocError>,
) -> Result<Mbuf, AllocError> {
    if !core.has_class_for(room) {
        return alloc_span(core, size, room, Purpose::Ordinary);
    }
    let block = take(Class::of(room))?;
    // SAFETY: a free block of the class for `room`, ours.
    Ok(unsafe { Mbuf::activate(core, block, size, 0) })
}

/// A new mbuf of `core`'s pool, for who has no handle on it.
#[inline(always)]
pub(crate) fn from_core(core: Core, size: usize) -> Result<Mbuf, AllocError> {
    alloc(core, size, |class| core.take(class))
}

/// A new mbuf of `size` bytes on a span with room for `room`, no less.
#[cold]
#[inline(never)]
pub(super) fn alloc_span(
    core: Core,
    size: usize,
    room: usize,
    purpose: Purpose,
) -> Result<Mbuf, AllocError> {
    if size as u64 > MAX_DATA {
        return Err(AllocError::TooLarge);
    }
    let block = core.take_span(room as u64, purpose)?;
    // SAFETY: a span for more than `size` bytes, ours.
    Ok(unsafe { Mbuf::activate(core, block, size, flags::SPAN) })
}

fn zeroed(mbuf: Result<Mbuf, AllocError>) -> Result<Mbuf, AllocError> {
    let mut mbuf = mbuf?;
    let capacity = mbuf.capacity();
    // A fresh mbuf is neither shared nor too small.
    let _ = mbuf.set_len(capacity);
    Ok(mbuf)
}

/// Makes `n` mbufs of `size` bytes ready: see [`Pool::reserve`].
pub(crate) fn reserve(core: Core, size: usize, n: usize) -> Result<(), AllocError> {
    let mut mbufs = Vec::new();
    let one = || from_core(core, size);
    bulk(core, size, n, &mut mbufs, || core.cache(), one)?;
    mbufs.iter_mut().for_each(Mbuf::touch);
    super::free_bulk(mbufs);
    if core.has_class_for(size) {
        core.share_cached(Class::of(size));
    }
    Ok(())
}

/// Appends `n` new mbufs to `out`, or none: from what `cache`, the calling thread's if it has one, has loaded, and `one`
/// when that is empty, which fills it.
fn bulk<'a>(
    core: Core,
    size: usize,
    n: usize,
    out: &mut Vec<Mbuf>,
    cache: impl Fn() -> Option<&'a Cache>,
    one: impl Fn() -> Result<Mbuf, AllocError>,
) -> Result<(), AllocError> {
    if size as u64 > MAX_DATA {
        return Err(AllocError::TooLarge);
    }
    if n > MAGAZINE_MAX {
        core.could_hold(size, n)?;
    }
    out.try_reserve(n).map_err(|_| AllocError::OutOfMemory)?;
    let before = out.len();
    let filled = fill(core, size, n, cache, one, out);
    if filled.is_err() {
        out.truncate(before);
    }
    filled
}

/// Extends `out` by `n` new mbufs, or by fewer and fails: from what `cache` has loaded, and `one` when that is empty, which fills it.
/// What the whole pool could not hold fails before there is a `one`.
#[inline(always)]
pub(super) fn fill<'a>(
    core: Core,
    size: usize,
    n: usize,
    cache: impl Fn() -> Option<&'a Cache>,
    one: impl Fn() -> Result<Mbuf, AllocError>,
    out: &mut impl Extend<Mbuf>,
) -> Result<(), AllocError> {
    let mut missing = n;
    let mut is_possible = false;
    while missing > 0 {
        if let Some(cache) = cache()
            && core.has_class_for(size)
        {
            // SAFETY: C1: the calling thread's. Free blocks of the class for `size`, ours; making mbufs of them pushes none.
            unsafe {
                let blocks = cache.pop_many(Class::of(size), missing);
                missing -= blocks.len();
                out.extend(blocks.map(|block| Mbuf::activate(core, block, size, 0)));
            }
        }
        if missing > 0 {
            if !is_possible {
                core.could_hold(size, n)?;
                is_possible = true;
            }
            out.extend([one()?]);
            missing -= 1;
        }
    }
    Ok(())
}

/// Allocation.
impl Pool {
    /// A new mbuf for `size` bytes of data: data length 0, user area all zero, alone in its chain.
    ///
    /// `size` may be from 0 to 4 GiB; [`capacity`](Mbuf::capacity) will say exactly `size`.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`] over 4 GiB; [`AllocError::Exhausted`] when the pool has no memory for it left, neither
    /// free nor with another size. Both in bounded time; [`alloc_timeout`](Self::alloc_timeout) and
    /// [`alloc_async`](Self::alloc_async) wait for memory instead.
    ///
    /// # Cost
    /// A few nanoseconds: a thread-local lookup, a pop from the thread's loaded magazine, and the first cache line of the
    /// header. Nothing is shared with other threads. Once in a magazine's worth of calls blocks are exchanged with the
    /// pool, without locks. Over the largest size class (1 MiB, less in pools under 424 MiB) a run of slabs is searched for.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let packet = pool.alloc(1500)?;
    /// assert_eq!((packet.len(), packet.capacity()), (0, 1500));
    /// assert_eq!(pool.alloc((4 << 30) + 1).unwrap_err(), mbuf::AllocError::TooLarge);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<Mbuf, AllocError> {
        let core = self.core();
        alloc(core, size, |class| core.take(class))
    }

    /// A new mbuf whose data is `size` zero bytes, all valid.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    ///
    /// # Cost
    /// That of [`alloc`](Self::alloc), and of writing `size` bytes.
    pub fn alloc_zeroed(&self, size: usize) -> Result<Mbuf, AllocError> {
        zeroed(self.alloc(size))
    }

    /// Appends `n` new mbufs of `size` bytes to `out`, or none.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and [`AllocError::OutOfMemory`] when `out` cannot grow; `out` is then as it was.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut burst = Vec::new();
    /// pool.alloc_bulk(2048, 32, &mut burst)?;
    /// assert_eq!(burst.len(), 32);
    /// mbuf::free_bulk(burst.drain(..));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alloc_bulk(&self, size: usize, n: usize, out: &mut Vec<Mbuf>) -> Result<(), AllocError> {
        let core = self.core();
        bulk(core, size, n, out, || core.cache(), || self.alloc(size))
    }
}

/// Allocation. As on [`Pool`], less the lookup of the thread's cache.
impl LocalPool {
    /// A new mbuf: see [`Pool::alloc`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<Mbuf, AllocError> {
        alloc(self.pool().core(), size, |class| self.take(class))
    }

    /// A new mbuf of zeros: see [`Pool::alloc_zeroed`].
    ///
    /// # Errors
    /// As there.
    pub fn alloc_zeroed(&self, size: usize) -> Result<Mbuf, AllocError> {
        zeroed(self.alloc(size))
    }

    /// Several mbufs or none: see [`Pool::alloc_bulk`].
    ///
    /// # Errors
    /// As there.
    pub fn alloc_bulk(&self, size: usize, n: usize, out: &mut Vec<Mbuf>) -> Result<(), AllocError> {
        let core = self.pool().core();
        bulk(core, size, n, out, || self.cache(), || self.alloc(size))
    }

    /// Frees `mbuf` as dropping it does, into this thread's cache without looking for it. An mbuf of another pool goes to
    /// its own.
    #[inline]
    pub fn free(&self, mbuf: Mbuf) {
        mbuf.free_to(self);
    }
}
