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
    /// Its data does not begin where the block's does.
    pub(crate) const SHIFTED: u16 = 1 << 6;
    /// It is about to be freed with others: no two of them may be the same.
    #[cfg(feature = "capi")]
    pub(crate) const CONDEMNED: u16 = 1 << 7;
    /// It shows when it is free (H5). No other bit, and never set, where nobody would look.
    pub(crate) const WATCHED: u16 = if cfg!(feature = "capi") { 1 << 8 } else { 0 };
    /// Its block is of the reserve, to which it goes back past the caches. Not in pools that watch: they have no reserve.
    pub(crate) const RESERVE: u16 = 1 << 9;
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

    /// Lets the data of a block just activated begin `offset` bytes later than the block's.
    #[inline]
    pub(crate) unsafe fn shift(&self, offset: usize) {
        // SAFETY: H3: exclusive. The flag keeps the header from being taken for a plain one when it is freed.
        unsafe {
            self.data_offset.set(offset as u64);
            self.set_flags(flags::SHIFTED, 0);
        }
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
            let kept = original.flags() & flags::KEPT;
            if (kept | left) & flags::USER_WRITTEN != 0 {
                self.user.set(original.user.get());
            }
            self.flags
                .set(flags::LIVE | flags::COPY | kept | left & flags::WATCHED);
        }
    }

    /// Ends the handle of a watched header: what is left is free but for its refcount. A handle check fails from here on.
    #[inline(always)]
    pub(crate) unsafe fn deactivate(&self) {
        self.flags
            .set(self.flags() & (flags::KEPT | flags::WATCHED));
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
        // SAFETY: H3: at least shared.
        unsafe { self.is_just(flags::LIVE) }
    }

    /// The same of a watched header.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) unsafe fn is_plain_and_watched(&self) -> bool {
        // SAFETY: H3: at least shared.
        unsafe { self.is_just(flags::LIVE | flags::WATCHED) }
    }

    #[inline(always)]
    unsafe fn is_just(&self, expected: u16) -> bool {
        let unexpected = (self.flags() & !flags::KEPT) ^ expected;
        // SAFETY: H3: at least shared.
        let next = unsafe { self.next.get() };
        // One comparison for both: it is on the way of every free.
        u32::from(unexpected) | next == 0
    }

    /// Whether the header shows when it is free (H5).
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.flags() & flags::WATCHED != 0
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
mod tests {
    use super::*;
    use memoffset::{offset_of, span_of};

    /// The tables of `docs/layout.md`.
    #[test]
    fn the_layout_is_what_the_documentation_says() {
        assert_eq!(size_of::<Header>(), 192);
        assert_eq!(align_of::<Header>(), 64);
        assert_eq!(span_of!(Header, refcount), 0..4);
        assert_eq!(span_of!(Header, self_offset), 4..8);
        assert_eq!(span_of!(Header, owner), 8..12);
        assert_eq!(span_of!(Header, next), 12..16);
        assert_eq!(span_of!(Header, tail), 16..20);
        assert_eq!(span_of!(Header, class), 20..21);
        assert_eq!(span_of!(Header, segments), 21..22);
        assert_eq!(span_of!(Header, flags), 22..24);
        assert_eq!(span_of!(Header, data_len), 24..32);
        assert_eq!(span_of!(Header, data_offset), 32..40);
        assert_eq!(span_of!(Header, capacity), 40..48);
        assert_eq!(span_of!(Header, generation), 48..52);
        assert_eq!(span_of!(Header, holder), 52..56);
        assert_eq!(span_of!(Header, timestamp), 56..64);
        assert_eq!(span_of!(Header, user), 64..160);
        assert_eq!(span_of!(Header, external), 160..184);
        assert_eq!(span_of!(Header, track), 184..192);
        assert_eq!(offset_of!(Header, data), 192);
        assert_eq!(size_of::<Witness>(), 0);
        let bits = [
            flags::LIVE,
            flags::MEMBER,
            flags::SPAN,
            flags::COPY,
            flags::USER_WRITTEN,
            flags::STAMPED,
        ];
        assert_eq!(bits, [1, 2, 4, 8, 16, 32]);
    }

    const OWN: u32 = 5;

    fn carved(born: u16) -> Header {
        Header::carved(OWN, Class::HEADER, 9, born)
    }

    fn activate(header: &Header, capacity: u64) {
        // SAFETY: the header is the test's alone.
        unsafe { header.activate(header.offset(), capacity, 0) }
    }

    /// Asserts that the header is one of an mbuf just allocated.
    fn assert_fresh(header: &Header, capacity: usize, watched: u16) {
        assert_eq!(header.offset().raw(), OWN);
        assert_eq!(header.class(), Class::HEADER);
        assert_eq!(header.flags(), flags::LIVE | watched);
        // SAFETY: the header is the test's alone.
        unsafe {
            assert_eq!(header.owner().raw(), OWN);
            assert_eq!(header.tail().raw(), OWN);
            assert_eq!(header.segments(), 1);
            assert_eq!(header.next(), None);
            assert_eq!(header.data_len(), 0);
            assert_eq!(header.data_offset(), 0);
            assert_eq!(header.capacity(), capacity);
            assert_eq!(*header.user_ptr(), [0; USER_AREA]);
            assert_eq!(header.timestamp(), 0);
        }
        assert_eq!(
            header.refcount.load(crate::sync::Ordering::Relaxed),
            1,
            "one handle"
        );
    }

    #[test]
    fn a_carved_header_is_free() {
        let header = carved(0);
        assert_eq!(header.flags(), 0);
        assert_eq!(header.generation(), 9);
        activate(&header, 7);
        assert_fresh(&header, 7, 0);
    }

    #[test]
    fn whatever_its_last_user_left_an_allocated_header_is_fresh() {
        let header = carved(0);
        activate(&header, 100);
        // SAFETY: the header is this test's alone.
        unsafe {
            assert!(header.is_plain());
            (*header.user_ptr())[95] = 1;
            header.set_flags(flags::USER_WRITTEN, 0);
            header.set_timestamp(4);
            assert!(header.is_plain());
            header.set_data_len(3);
            header.shift(2);
            assert!(!header.is_plain());
            header.set_flags(0, flags::SHIFTED);
            header.set_next(Offset::from_raw(7));
            header.set_tail(Offset::from_raw(7).unwrap());
            header.set_segments(2);
            header.set_flags(flags::MEMBER | flags::SHIFTED, 0);
            assert!(!header.is_plain());
        }
        activate(&header, 1);
        assert_fresh(&header, 1, 0);
    }

    #[test]
    fn a_copys_header_is_fresh_when_it_is_allocated_again() {
        let (header, original) = (carved(0), Header::carved(6, Class::HEADER, 1, 0));
        // SAFETY: the headers are this test's alone.
        unsafe {
            original.activate(original.offset(), 100, 0);
            (*original.user_ptr())[0] = 1;
            original.set_flags(flags::USER_WRITTEN, 0);
            original.set_data_len(50);
            header.set_next(Offset::from_raw(7));
            header.set_flags(flags::MEMBER, 0);
            header.activate_copy(header.offset(), &original);
            assert_eq!((header.owner().raw(), header.offset().raw()), (6, OWN));
            assert_eq!((header.data_len(), header.capacity()), (50, 100));
            assert_eq!((header.next(), header.segments()), (None, 1));
            assert_eq!((*header.user_ptr())[0], 1);
        }
        activate(&header, 1);
        assert_fresh(&header, 1, 0);
    }

    #[cfg(feature = "capi")]
    #[test]
    fn a_watched_header_shows_that_it_is_free() {
        let header = carved(flags::WATCHED);
        activate(&header, 100);
        assert_fresh(&header, 100, flags::WATCHED);
        // SAFETY: the header is this test's alone.
        unsafe {
            assert!(header.is_plain_and_watched() && !header.is_plain());
            header.set_timestamp(4);
            header.set_next(Offset::from_raw(7));
            header.unchain(header.offset());
            header.deactivate();
            assert_eq!(header.flags(), flags::STAMPED | flags::WATCHED);
            assert_eq!(header.generation(), 10);
        }
        activate(&header, 1);
        assert_fresh(&header, 1, flags::WATCHED);
    }

    #[test]
    fn a_timestamp_alone_does_not_outlive_its_mbuf() {
        let header = carved(0);
        activate(&header, 100);
        // SAFETY: the header is this test's alone.
        unsafe { header.set_timestamp(4) };
        activate(&header, 1);
        assert_fresh(&header, 1, 0);
    }
}
