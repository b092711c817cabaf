//! What every contender is behind: hands out buffers of a size, and takes them back on any thread.
//!
//! Workloads are generic functions over these traits, so that inside a measured loop nothing is dispatched dynamically.
//! What a contender can do beyond alloc and free (bulk, sharing, chains) is a trait of its own: one that lacks it cannot
//! be entered for the workload at all.

use std::ptr;

/// Bytes that workloads write to a buffer and read from it, and the length of a chain's segment.
pub(crate) const WRITTEN: usize = 64;

/// Bytes of the user's own that a copy-ref copies.
pub(crate) const USER_AREA: usize = 96;

/// The sizes that workloads ask for. Peers with pools of one size have one for each.
pub(crate) const SIZES: [usize; 4] = [64, 256, 2048, 16384];

/// Which of [`SIZES`] a buffer of `size` bytes comes from. Folds where the size is known.
#[inline(always)]
pub(crate) fn class_of(size: usize) -> usize {
    match size {
        0..=64 => 0,
        65..=256 => 1,
        257..=2048 => 2,
        _ => 3,
    }
}

/// Headers for copies that any workload has out at most, and some that are in other threads' caches.
pub(crate) const COPIES: usize = 8192;

/// What a workload has out at most: pools of fixed size are made for it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(crate) sizes: &'static [usize],
    /// Buffers of each size.
    pub(crate) count: usize,
}

impl Need {
    /// For each of [`SIZES`], what `make` makes of the size and the number of buffers: 0 where none are needed.
    pub(crate) fn pools<T>(self, mut make: impl FnMut(usize, usize) -> T) -> [T; SIZES.len()] {
        SIZES.map(|size| {
            let needed = self.sizes.contains(&size);
            make(size, if needed { self.count } else { 0 })
        })
    }
}

/// Gives buffers out and takes them back: a contender's handle for one thread.
pub(crate) trait Source {
    type Buffer;

    fn alloc(&self, size: usize) -> Self::Buffer;

    fn free(&self, buffer: Self::Buffer);
}

impl<S: Source> Source for &S {
    type Buffer = S::Buffer;

    #[inline(always)]
    fn alloc(&self, size: usize) -> S::Buffer {
        (**self).alloc(size)
    }

    #[inline(always)]
    fn free(&self, buffer: S::Buffer) {
        (**self).free(buffer);
    }
}

pub(crate) trait Contender: Sync + Sized {
    /// All are back before the contender is dropped.
    type Buffer: Send;
    type Thread<'a>: Source<Buffer = Self::Buffer>
    where
        Self: 'a;

    /// A contender warm for what is needed, or why there is none.
    fn new(need: Need) -> Result<Self, String>;

    /// The calling thread's handle.
    fn thread(&self) -> Self::Thread<'_>;

    /// The calling thread, not the main one, has no handle any more and ends: for peers that cannot notice it themselves.
    fn leave(&self) {}

    /// The first of at least [`WRITTEN`] bytes that may be written by who has the buffer.
    fn data(buffer: &Self::Buffer) -> *mut u8;

    #[inline(always)]
    fn write(buffer: &mut Self::Buffer, bytes: &[u8; WRITTEN]) {
        // SAFETY: the buffer's own bytes, as many as `data` promises, elsewhere than `bytes`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), Self::data(buffer), WRITTEN) };
    }

    /// The sum of what was written.
    #[inline(always)]
    fn read(buffer: &Self::Buffer) -> u64 {
        // SAFETY: `write` initialised them.
        unsafe { sum(Self::data(buffer)) }
    }
}

/// Several buffers in one call.
pub(crate) trait Bulk: Contender {
    fn alloc_bulk(
        thread: &Self::Thread<'_>,
        size: usize,
        count: usize,
        out: &mut Vec<Self::Buffer>,
    );

    /// Frees all of them.
    fn free_bulk(thread: &Self::Thread<'_>, buffers: &mut Vec<Self::Buffer>);
}

/// References that are counted, each with a user area of its own.
pub(crate) trait Sharing: Contender {
    type Shared: Send;

    /// Makes a buffer one that can be copied, with this user area.
    fn share(buffer: Self::Buffer, user: &[u8; USER_AREA]) -> Self::Shared;

    fn copy(thread: &Self::Thread<'_>, original: &Self::Shared) -> Self::Shared;

    fn free_shared(thread: &Self::Thread<'_>, shared: Self::Shared);

    /// The sum of what was written before sharing.
    fn read_shared(shared: &Self::Shared) -> u64;

    fn user(shared: &Self::Shared) -> [u8; USER_AREA];
}

/// Messages of several buffers, each with [`WRITTEN`] as its length.
pub(crate) trait Chaining: Contender {
    type Chain;

    fn start(buffer: Self::Buffer) -> Self::Chain;

    fn append(chain: &mut Self::Chain, buffer: Self::Buffer);

    /// Walks all segments.
    fn total_len(chain: &Self::Chain) -> usize;

    fn free_chain(thread: &Self::Thread<'_>, chain: Self::Chain);
}

/// The sum of [`WRITTEN`] bytes.
///
/// # Safety
/// They are there and initialised.
#[inline(always)]
pub(crate) unsafe fn sum(bytes: *const u8) -> u64 {
    // SAFETY: the caller's.
    let bytes = unsafe { &*bytes.cast::<[u8; WRITTEN]>() };
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// A chain through the buffers' own data, for contenders that have none: what one writes who uses them.
pub(crate) struct Linked<B> {
    head: B,
    /// The last segment's data.
    tail: *mut u8,
}

/// At the front of a segment's data.
struct Link<B> {
    next: Option<B>,
    len: usize,
}

impl<B> Linked<B> {
    /// # Safety
    /// `data` is that of `head`, with room for a link, and stays where it is.
    #[inline(always)]
    pub(crate) unsafe fn start(head: B, data: *mut u8) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::write_link(data) };
        Self { head, tail: data }
    }

    /// # Safety
    /// As for `start`.
    #[inline(always)]
    pub(crate) unsafe fn append(&mut self, buffer: B, data: *mut u8) {
        // SAFETY: the caller's; the tail's link was written when it was appended. It lies somewhere in memory that a
        // peer may not have aligned.
        unsafe {
            Self::write_link(data);
            let next = &raw mut (*self.tail.cast::<Link<B>>()).next;
            next.write_unaligned(Some(buffer));
        }
        self.tail = data;
    }

    #[inline(always)]
    unsafe fn write_link(data: *mut u8) {
        const { assert!(size_of::<Link<B>>() <= WRITTEN) };
        let link = Link::<B> {
            next: None,
            len: WRITTEN,
        };
        // SAFETY: the caller's.
        unsafe { data.cast::<Link<B>>().write_unaligned(link) };
    }

    /// Walks the links from the head's data on.
    #[inline(always)]
    pub(crate) fn total_len(&self, data_of: impl Fn(&B) -> *mut u8) -> usize {
        let mut total = 0;
        let mut data = data_of(&self.head);
        loop {
            // SAFETY: each segment's link was written when it was appended. Only lengths are copied out; the next buffer
            // stays owned where it is.
            let link =
                unsafe { std::mem::ManuallyDrop::new(data.cast::<Link<B>>().read_unaligned()) };
            total += link.len;
            match &link.next {
                Some(next) => data = data_of(next),
                None => return total,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn free(self, data_of: impl Fn(&B) -> *mut u8, free: impl Fn(B)) {
        let mut next = Some(self.head);
        while let Some(buffer) = next {
            // SAFETY: as in `total_len`; the buffer behind is taken over, and this one's link is gone with it.
            next = unsafe { data_of(&buffer).cast::<Link<B>>().read_unaligned() }.next;
            free(buffer);
        }
    }
}

/// Lets a contender's buffers be chained through their own data.
macro_rules! chain_through_data {
    ([$($generics:tt)*] $contender:ty) => {
        impl<$($generics)*> $crate::contender::Chaining for $contender {
            type Chain = $crate::contender::Linked<<Self as $crate::contender::Contender>::Buffer>;

            #[inline(always)]
            fn start(buffer: Self::Buffer) -> Self::Chain {
                let data = Self::data(&buffer);
                // SAFETY: the buffer's data is its owner's to write, and does not move with the handle.
                unsafe { $crate::contender::Linked::start(buffer, data) }
            }

            #[inline(always)]
            fn append(chain: &mut Self::Chain, buffer: Self::Buffer) {
                let data = Self::data(&buffer);
                // SAFETY: as in `start`.
                unsafe { chain.append(buffer, data) }
            }

            #[inline(always)]
            fn total_len(chain: &Self::Chain) -> usize {
                chain.total_len(Self::data)
            }

            #[inline(always)]
            fn free_chain(thread: &Self::Thread<'_>, chain: Self::Chain) {
                chain.free(Self::data, |buffer| $crate::contender::Source::free(thread, buffer));
            }
        }
    };
}
pub(crate) use chain_through_data;
