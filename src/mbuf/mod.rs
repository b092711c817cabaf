//! The owned handle: data, length, user area, copy-ref and chain.
//!
//! Invariants, beside the header's (H1 to H4):
//!
//! * **M1** An [`Mbuf`] owns the header it points to, and with it every header that follows in its chain. A chain's
//!   headers are blocks of one pool. The head's `segments` counts them and its `tail` names the last; in members both are
//!   stale.
//! * **M2** While an `Mbuf` exists its arena is mapped.
//! * **M3** Data is shared by as many headers as the owner's refcount says. While it says 1, `&mut Mbuf` gives the data
//!   exclusively. While it says more, nobody writes.
//! * **M4** The first `data_len` bytes of the data are initialised; what follows may hold another mbuf's old bytes, and is
//!   only ever lent as `MaybeUninit` or overwritten.

mod alloc;
#[cfg(feature = "capi")]
mod batch;
mod chain;
mod contents;
mod copy;
mod data;
mod foreign;
mod free;
mod layout;
#[cfg(feature = "capi")]
mod outside;
mod room;
mod segment;
mod traits;
mod view;
mod wait;

pub(crate) use alloc::{from_core, reserve};
pub use chain::{AppendError, AppendErrorKind, MAX_CHAIN};
pub use contents::ChainBytes;
pub use foreign::WrapError;
pub use free::free_bulk;
pub use layout::Layout;
pub use segment::{Segment, SegmentMut, Segments, SegmentsMut};
pub use view::ViewError;
pub use wait::AllocFuture;
#[cfg(feature = "capi")]
pub(crate) use {
    batch::Batch,
    foreign::wrap_raw,
    layout::alloc_with,
    outside::{all_at_hand, at_hand, free_at_hand},
};

use crate::arena::Offset;
use crate::header::{Header, USER_AREA, flags};
use crate::pool::Core;
use crate::sync::Ordering;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A message buffer: an owned handle on a header, its data, and what is chained behind it.
///
/// Made by [`Pool::alloc`](crate::Pool::alloc) and its siblings. Dropping it frees the whole chain that it heads; each data
/// area goes when the last mbuf that refers to it does. It may be sent to and dropped on any thread, before or after its
/// pool's last handle.
///
/// A handle is the address of the header, 8 bytes, and so is `Option<Mbuf>`.
///
/// # Example
/// ```
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut packet = pool.alloc(2048)?;
/// packet.extend_from_slice(b"payload")?;
/// packet.user_mut()[0] = 7;
///
/// let copy = packet.copy_ref()?;
/// assert!(packet.is_shared());
/// assert_eq!(copy.data(), b"payload");
/// assert_eq!(copy.user()[0], 7);
///
/// drop(packet);
/// assert!(!copy.is_shared());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct Mbuf {
    header: NonNull<Header>,
}

// SAFETY: H2 and H3: what shared handles do is read or atomic, and who has a handle exclusively may use it on any thread.
unsafe impl Send for Mbuf {}
// SAFETY: as above; `copy_ref`, the one change through a shared handle, is an atomic increment.
unsafe impl Sync for Mbuf {}

impl Mbuf {
    /// Gives the mbuf up for its address, for C or for a place that holds pointers: the same that C code has for it. Whoever has the
    /// address owns the mbuf; [`from_raw`](Self::from_raw) makes it one again.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let address = pool.alloc(64)?.into_raw();
    /// // SAFETY: the address was given up for the mbuf just now, and is used once.
    /// let packet = unsafe { mbuf::Mbuf::from_raw(address) };
    /// assert_eq!(packet.capacity(), 64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).header.cast()
    }

    /// The mbuf at an address.
    ///
    /// # Safety
    /// The address came from [`into_raw`](Self::into_raw), or from a C call that handed out an mbuf, and whoever has it gives it up:
    /// each is made an mbuf again once, and not freed by C.
    #[inline]
    pub unsafe fn from_raw(address: NonNull<c_void>) -> Self {
        Self {
            header: address.cast(),
        }
    }

    /// # Safety
    /// The caller owns the live header at `block` and what is chained behind it (M1).
    #[inline(always)]
    unsafe fn from_block(core: Core, block: Offset) -> Self {
        Self {
            header: core.arena().at(block),
        }
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: M1 and M2: the header is laid out and stays mapped.
        unsafe { self.header.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn core(&self) -> Core {
        // SAFETY: M2.
        unsafe { Core::of(self.header) }
    }

    /// Whether the data is this block's own and begins where the block's does. Most is: asked by branching, it keeps the header, which
    /// may be in another core's cache, from being waited for before the data is.
    #[inline(always)]
    fn has_plain_data(&self) -> bool {
        self.header().flags() & (flags::COPY | flags::SHIFTED | flags::EXTERNAL) == 0
    }

    /// The header of the block whose data this mbuf refers to.
    #[inline(always)]
    fn owner(&self) -> &Header {
        let header = self.header();
        if header.flags() & flags::COPY == 0 {
            return header;
        }
        // SAFETY: H3 for the read. An owner is a block of the same arena: its header lies as far off as the offsets say.
        unsafe {
            let distance = header.owner().bytes() as isize - header.offset().bytes() as isize;
            self.header.byte_offset(distance).as_ref()
        }
    }

    /// The first byte of the data.
    #[inline(always)]
    fn data_ptr(&self) -> *mut u8 {
        let base = self.header.as_ptr().cast::<u8>();
        if self.has_plain_data() {
            return base.wrapping_add(size_of::<Header>());
        }
        // SAFETY: H3 for the read.
        let start = unsafe { self.header().data_offset() };
        if self.is_foreign() {
            return self.foreign_start().wrapping_add(start);
        }
        // The owner's data area follows its header, and the view starts inside it.
        let owner = NonNull::from(self.owner()).as_ptr().addr();
        base.wrapping_add(owner.wrapping_sub(base.addr()))
            .wrapping_add(size_of::<Header>() + start)
    }

    /// Bytes of valid data in this segment.
    ///
    /// # Cost
    /// One load.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: H3: the handle is shared at least.
        unsafe { self.header().data_len() }
    }

    /// Whether this segment has no valid data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most data this segment can hold, in bytes: what was asked for at alloc. It grows by what is [prepended](Self::prepend), and
    /// shrinks by what is [cut off](Self::advance) in front; a view's is its length at first.
    #[inline]
    pub fn capacity(&self) -> usize {
        // SAFETY: H3.
        unsafe { self.header().capacity() }
    }

    /// Whether another mbuf refers to the same data.
    ///
    /// Once false, only [`copy_ref`](Self::copy_ref) of this mbuf makes it true again. While true, it may become false at any
    /// time.
    ///
    /// # Cost
    /// One atomic load, of the header of the data's owner.
    #[inline]
    pub fn is_shared(&self) -> bool {
        // Relaxed: for information. Who goes on to write asks `data_mut`, which acquires.
        self.owner().refcount.load(Ordering::Relaxed) != 1
    }

    /// The user area: 96 bytes for the user's own, zero on a fresh mbuf, copied by [`copy_ref`](Self::copy_ref).
    #[inline]
    pub fn user(&self) -> &[u8; USER_AREA] {
        // SAFETY: H3: shared, and the area is initialised from the carving on.
        unsafe { &*self.header().user_ptr() }
    }

    /// The user area, to be written.
    #[inline]
    pub fn user_mut(&mut self) -> &mut [u8; USER_AREA] {
        // SAFETY: H3: exclusive. The next user of the header is told that the area may differ from zero.
        unsafe {
            self.header().set_flags(flags::USER_WRITTEN, 0);
            &mut *self.header().user_ptr()
        }
    }

    /// The user's timestamp, in whatever unit; 0 on a fresh mbuf, copied by [`copy_ref`](Self::copy_ref).
    #[inline]
    pub fn timestamp(&self) -> u64 {
        // SAFETY: H3.
        unsafe { self.header().timestamp() }
    }

    /// Sets the timestamp.
    #[inline]
    pub fn set_timestamp(&mut self, timestamp: u64) {
        // SAFETY: H3: exclusive.
        unsafe { self.header().set_timestamp(timestamp) };
    }
}

const _: () = {
    #[allow(dead_code)]
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Mbuf>();
    assert!(size_of::<Mbuf>() == 8);
    assert!(size_of::<Option<Mbuf>>() == 8);
};
