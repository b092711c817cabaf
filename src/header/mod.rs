//! The mbuf header: 192 bytes in front of every data area, laid out alike for Rust, C and other processes.
//!
//! `docs/layout.md` states the layout, a test below asserts it. Who may touch what:
//!
//! * **H1** `self_offset` and `class` are written when the block is carved and never again while its slab stays with
//!   its class.
//! * **H2** The refcount of a block that owns data is changed by any holder of a header that refers to it. It counts
//!   those headers; 0 means free.
//! * **H3** All other fields belong to the mbuf's handle: written by who has it exclusively (`&mut`, or as the last
//!   owner), read by who shares it (`&`). `flags` and `generation` are published as well, for handle checks.
//! * **H4** A free block belongs to the magazine or bitmap that holds it. Freeing writes to few headers, for one that is written
//!   travels from core to core with its buffer: the flags that the last user left tell the next what there is to be restored.
//!   `owner` and `tail` are the block itself, `next` and `data_offset` are 0, `segments` is 1, the user area and the timestamp are
//!   zero, but for: a `COPY`'s owner and data offset, a `SHIFTED` header's data offset, a `MEMBER`'s next, tail and segments, the
//!   user area if it is `USER_WRITTEN`, and the timestamp if it is `STAMPED`.
//! * **H5** The headers of a pool whose blocks are known outside by addresses that may be wrong are born `WATCHED`. A free block of
//!   such a pool shows that it is free: its refcount is 0, and it has no flags but `WATCHED`, `USER_WRITTEN` and `STAMPED`.

use crate::arena::{Arena, InArena, Offset};
use crate::class::Class;
use crate::sync::{AtomicU32, Field, Published16, Published32, Witness};

/// Bytes of the user area.
pub const USER_AREA: usize = 96;

/// Bytes from a block's start to its data: 192, more under the model checker.
pub(crate) const HEADER: usize = size_of::<Header>();

/// What a header is at the moment, as bits.
pub(crate) mod flags {
    /// A handle to it exists.
    pub(crate) const LIVE: u16 = 1 << 0;
    /// It follows another header in a chain.
    pub(crate) const MEMBER: u16 = 1 << 1;
    /// It heads a span of whole slabs.
    pub(crate) const SPAN: u16 = 1 << 2;
    /// It refers to another block's data.
    pub(crate) const COPY: u16 = 1 << 3;
    /// The user area may differ from zero.
    pub(crate) const USER_WRITTEN: u16 = 1 << 4;
    /// The timestamp may differ from zero.
    pub(crate) const STAMPED: u16 = 1 << 5;
    /// Its own data does not begin where the block's does.
    pub(crate) const SHIFTED: u16 = 1 << 6;
    /// It is about to be freed with others: no two of them may be the same.
    #[cfg(feature = "capi")]
    pub(crate) const CONDEMNED: u16 = 1 << 7;
    /// It shows when it is free (H5). No bit, and never set, where nobody would look.
    pub(crate) const WATCHED: u16 = if cfg!(feature = "capi") { 1 << 8 } else { 0 };
    /// Its data lies outside the arena, at `external`.
    pub(crate) const EXTERNAL: u16 = 1 << 9;
    /// Its data may never be written.
    pub(crate) const READ_ONLY: u16 = 1 << 10;
    /// Its block is of the reserve, to which it goes back past the caches. Not in pools that watch: they have no reserve.
    pub(crate) const RESERVE: u16 = 1 << 11;
    /// What a free block keeps, for its next user to see what there is to be zeroed.
    pub(crate) const KEPT: u16 = USER_WRITTEN | STAMPED;
}

/// See the module's documentation and `docs/layout.md`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Header {
    pub(crate) refcount: AtomicU32,
    self_offset: Published32,
    owner: Field<u32>,
    next: Field<u32>,
    tail: Field<u32>,
    class: u8,
    segments: Field<u8>,
    flags: Published16,
    data_len: Field<u64>,
    data_offset: Field<u64>,
    capacity: Field<u64>,
    generation: Published32,
    /// Which process holds the mbuf, once pools can be shared.
    holder: Field<u32>,
    timestamp: Field<u64>,
    user: Field<[u8; USER_AREA]>,
    /// Address, callback and argument of data outside the arena.
    external: Field<[u64; 3]>,
    /// Where the mbuf was allocated, when that is tracked.
    track: Field<u64>,
    /// Announces accesses to the data area to the model checker.
    pub(crate) data: Witness,
}

// SAFETY: integers and cells of integers, for which zero bytes are a value.
unsafe impl InArena for Header {
    fn fresh() -> Self {
        Self::carved(0, Class::HEADER, 0, 0)
    }
}

impl Header {
    fn carved(self_offset: u32, class: Class, generation: u32, born: u16) -> Self {
        Self {
            refcount: AtomicU32::new(0),
            self_offset: Published32::new(self_offset),
            owner: Field::new(self_offset),
            next: Field::new(0),
            tail: Field::new(self_offset),
            class: class.raw(),
            segments: Field::new(1),
            flags: Published16::new(born),
            data_len: Field::new(0),
            data_offset: Field::new(0),
            capacity: Field::new(0),
            generation: Published32::new(generation),
            holder: Field::new(0),
            timestamp: Field::new(0),
            user: Field::new([0; USER_AREA]),
            external: Field::new([0; 3]),
            track: Field::new(0),
            data: Witness::new(),
        }
    }

    /// Writes the header of a block that was just carved: free, as H4 and H5 say. `born` is `WATCHED` or nothing.
    ///
    /// # Safety
    /// The block lies at `offset` in `arena` and belongs to the caller alone.
    pub(crate) unsafe fn carve(
        arena: Arena,
        offset: Offset,
        class: Class,
        generation: u32,
        born: u16,
    ) {
        let header = Self::carved(offset.raw(), class, generation, born);
        // SAFETY: blocks are granule-aligned and longer than a header, and this one is the caller's.
        unsafe { arena.at::<Self>(offset).write(header) };
    }

    /// The block's own place.
    #[inline(always)]
    pub(crate) fn offset(&self) -> Offset {
        // SAFETY: H1: written at carving with the block's offset, which is not 0.
        unsafe { Offset::from_raw_unchecked(self.self_offset.get()) }
    }

    /// The class of the block this header heads.
    #[inline(always)]
    pub(crate) fn class(&self) -> Class {
        // SAFETY: H1: written at carving with a class's number.
        unsafe { Class::from_raw_unchecked(self.class) }
    }

    #[inline(always)]
    pub(crate) fn flags(&self) -> u16 {
        self.flags.get()
    }

    #[inline(always)]
    pub(crate) fn generation(&self) -> u32 {
        self.generation.get()
    }
}

/// Accessors under H3. Each is unsafe for the one reason that H3 names: the caller holds the handle, exclusively for
/// `set_` and at least shared for the rest.
///
/// # Safety
/// H3, for every function here.
#[allow(clippy::missing_safety_doc)]
impl Header {
    /// Makes the free block `own` a live mbuf on its own data, alone, with `capacity` bytes.
    #[inline(always)]
    pub(crate) unsafe fn activate(&self, own: Offset, capacity: u64, kind: u16) {
        let left = self.flags();
        // SAFETY: H4: the block was free and is the caller's.
        unsafe {
            if left & !(flags::LIVE | flags::WATCHED) != 0 {
                self.restore(own, left);
            }
            self.data_len.set(0);
            self.capacity.set(capacity);
        }
        self.flags.set(flags::LIVE | kind | left & flags::WATCHED);
        // Relaxed: the handle is handed to other threads by means of its own (H2 starts with this 1).
        self.refcount.store(1, crate::sync::Ordering::Relaxed);
    }

    /// Restores what an earlier user of the free block changed, by the flags that he left (H4).
    #[inline(always)]
    unsafe fn restore(&self, own: Offset, left: u16) {
        // SAFETY: H4: the block was free and is the caller's.
        unsafe {
            if left & flags::KEPT != 0 {
                self.timestamp.set(0);
                if left & flags::USER_WRITTEN != 0 {
                    self.user.set([0; USER_AREA]);
                }
            }
            if left & flags::MEMBER != 0 {
                self.unchain(own);
            }
            if left & (flags::COPY | flags::SHIFTED) != 0 {
                self.disown(own);
            }
        }
    }

    /// Lets the view begin `offset` bytes into the data area, and end `capacity` bytes later.
    #[inline]
    pub(crate) unsafe fn set_view(&self, offset: usize, capacity: usize) {
        // SAFETY: H3: exclusive. The flag tells the block's next user (H4).
        unsafe {
            self.data_offset.set(offset as u64);
            self.capacity.set(capacity as u64);
            self.set_flags(flags::SHIFTED, 0);
        }
    }

    /// Where data outside the arena lies, and who is told when nobody refers to it any more. Set once, before the mbuf is handed out.
    #[inline]
    pub(crate) unsafe fn external(&self) -> [u64; 3] {
        // SAFETY: H3.
        unsafe { self.external.get() }
    }

    #[inline]
    pub(crate) unsafe fn set_external(&self, external: [u64; 3]) {
        // SAFETY: H3: exclusive.
        unsafe { self.external.set(external) };
    }

    /// Makes the free block `own` a live copy of `original`, alone, on the same data. The caller has counted the reference.
    #[inline(always)]
    pub(crate) unsafe fn activate_copy(&self, own: Offset, original: &Self) {
        // SAFETY: H4 for `self`; `original` is at least shared.
        unsafe {
            let left = self.flags();
            if left & flags::MEMBER != 0 {
                self.unchain(own);
            }
            self.owner.set(original.owner.get());
            self.data_len.set(original.data_len.get());
            self.data_offset.set(original.data_offset.get());
            self.capacity.set(original.capacity.get());
            self.timestamp.set(original.timestamp.get());
            let kept = original.flags() & (flags::KEPT | flags::EXTERNAL | flags::READ_ONLY);
            if (kept | left) & flags::USER_WRITTEN != 0 {
                self.user.set(original.user.get());
            }
            if kept & flags::EXTERNAL != 0 {
                self.external.set(original.external.get());
            }
            self.flags
                .set(flags::LIVE | flags::COPY | kept | left & flags::WATCHED);
        }
    }

    /// Ends the handle of a watched header: what is left is free but for its refcount, and for the flag in `left`. A handle check
    /// fails from here on.
    #[inline(always)]
    pub(crate) unsafe fn deactivate(&self, left: u16) {
        self.flags
            .set(self.flags() & (flags::KEPT | flags::WATCHED | left));
        self.generation.set(self.generation().wrapping_add(1));
    }

    /// Takes the header out of its chain (H4).
    #[inline(always)]
    pub(crate) unsafe fn unchain(&self, own: Offset) {
        // SAFETY: H3: exclusive.
        unsafe {
            self.next.set(0);
            self.tail.set(own.raw());
            self.segments.set(1);
        }
    }

    /// Lets the view start where the data does (H4).
    #[inline(always)]
    pub(crate) unsafe fn show_from_start(&self) {
        // SAFETY: H3: exclusive.
        unsafe { self.data_offset.set(0) };
    }

    /// Ends a copy: the header is on its own block's data again (H4).
    #[inline(always)]
    pub(crate) unsafe fn disown(&self, own: Offset) {
        // SAFETY: H3: exclusive.
        unsafe {
            self.owner.set(own.raw());
            self.show_from_start();
        }
    }

    /// Whether dropping the handle concerns this block alone, and nobody watches: a lone mbuf on data of its own class.
    #[inline(always)]
    pub(crate) unsafe fn is_plain(&self) -> bool {
        // A shifted one is restored when it is allocated again.
        // SAFETY: H3: at least shared.
        unsafe { self.is_just(flags::LIVE, flags::KEPT | flags::SHIFTED) }
    }

    /// The same of a watched header.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) unsafe fn is_plain_and_watched(&self) -> bool {
        // SAFETY: H3: at least shared.
        unsafe { self.is_just(flags::LIVE | flags::WATCHED, flags::KEPT) }
    }

    #[inline(always)]
    unsafe fn is_just(&self, expected: u16, possible: u16) -> bool {
        let unexpected = (self.flags() & !possible) ^ expected;
        // SAFETY: H3: at least shared.
        let next = unsafe { self.next.get() };
        // One comparison for both: it is on the way of every free.
        u32::from(unexpected) | next == 0
    }

    /// Whether the header shows when it is free (H5).
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        // Compared with 0 it would be no question where the bit is none.
        cfg!(feature = "capi") && self.flags() | flags::WATCHED == self.flags()
    }

    #[inline(always)]
    pub(crate) unsafe fn owner(&self) -> Offset {
        // SAFETY: H3 for the read; an owner is a block's offset, never 0.
        unsafe { Offset::from_raw_unchecked(self.owner.get()) }
    }

    #[inline(always)]
    pub(crate) unsafe fn next(&self) -> Option<Offset> {
        // SAFETY: H3.
        Offset::from_raw(unsafe { self.next.get() })
    }

    #[inline]
    pub(crate) unsafe fn set_next(&self, next: Option<Offset>) {
        // SAFETY: H3: exclusive.
        unsafe { self.next.set(next.map_or(0, Offset::raw)) };
    }

    #[inline]
    pub(crate) unsafe fn tail(&self) -> Offset {
        // SAFETY: H3 for the read; a tail is a block's offset, never 0.
        unsafe { Offset::from_raw_unchecked(self.tail.get()) }
    }

    #[inline]
    pub(crate) unsafe fn set_tail(&self, tail: Offset) {
        // SAFETY: H3: exclusive.
        unsafe { self.tail.set(tail.raw()) };
    }

    #[inline]
    pub(crate) unsafe fn segments(&self) -> u8 {
        // SAFETY: H3.
        unsafe { self.segments.get() }
    }

    #[inline]
    pub(crate) unsafe fn set_segments(&self, segments: u8) {
        // SAFETY: H3: exclusive.
        unsafe { self.segments.set(segments) };
    }

    #[inline]
    pub(crate) unsafe fn set_flags(&self, set: u16, clear: u16) {
        self.flags.set(self.flags() & !clear | set);
    }

    #[inline(always)]
    pub(crate) unsafe fn data_len(&self) -> usize {
        // SAFETY: H3. Lengths never exceed 4 GiB, and addresses are 64-bit.
        unsafe { self.data_len.get() as usize }
    }

    #[inline(always)]
    pub(crate) unsafe fn set_data_len(&self, len: usize) {
        // SAFETY: H3: exclusive.
        unsafe { self.data_len.set(len as u64) };
    }

    #[inline(always)]
    pub(crate) unsafe fn data_offset(&self) -> usize {
        // SAFETY: H3.
        unsafe { self.data_offset.get() as usize }
    }

    #[inline(always)]
    pub(crate) unsafe fn capacity(&self) -> usize {
        // SAFETY: H3.
        unsafe { self.capacity.get() as usize }
    }

    #[inline]
    pub(crate) unsafe fn timestamp(&self) -> u64 {
        // SAFETY: H3.
        unsafe { self.timestamp.get() }
    }

    #[inline]
    pub(crate) unsafe fn set_timestamp(&self, timestamp: u64) {
        // SAFETY: H3: exclusive. The header's next user is told that it may differ from zero.
        unsafe {
            self.timestamp.set(timestamp);
            self.set_flags(flags::STAMPED, 0);
        }
    }

    #[inline]
    pub(crate) fn user_ptr(&self) -> *mut [u8; USER_AREA] {
        self.user.as_ptr()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
