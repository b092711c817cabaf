//! The segments of a chain, borrowed from its head.

use super::Mbuf;
use crate::arena::Offset;
use crate::error::LenError;
use crate::header::{USER_AREA, flags};
use crate::pool::Core;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;

/// A segment of a chain: read as an [`Mbuf`], whose `&self` methods it has. [`copy_ref`](Mbuf::copy_ref) and
/// [`segments`](Mbuf::segments) go from it to the end of the chain.
///
/// It is borrowed from the chain, which can be neither changed nor freed meanwhile:
/// ```compile_fail,E0505
/// let pool = mbuf::Pool::global().unwrap();
/// let chain = pool.alloc(64).unwrap();
/// let first = chain.segment(0).unwrap();
/// drop(chain);
/// assert_eq!(first.len(), 0);
/// ```
/// where this is fine:
/// ```
/// let pool = mbuf::Pool::global().unwrap();
/// let chain = pool.alloc(64).unwrap();
/// let first = chain.segment(0).unwrap();
/// assert_eq!(first.len(), 0);
/// drop(chain);
/// ```
pub struct Segment<'a> {
    /// Not owned: the chain's head owns it.
    mbuf: ManuallyDrop<Mbuf>,
    _chain: PhantomData<&'a Mbuf>,
}

impl<'a> Segment<'a> {
    /// The valid data, for as long as the chain is borrowed.
    #[inline]
    pub fn into_data(self) -> &'a [u8] {
        let data: *const [u8] = self.data();
        // SAFETY: the chain owns the data and is borrowed for 'a, so nobody writes it and it stays where it is.
        unsafe { &*data }
    }

    /// # Safety
    /// `at` is a live header of a chain that is borrowed for the lifetime.
    unsafe fn new(core: Core, at: Offset) -> Self {
        Self {
            // SAFETY: live for the lifetime, and never dropped from here.
            mbuf: ManuallyDrop::new(unsafe { Mbuf::from_block(core, at) }),
            _chain: PhantomData,
        }
    }
}

impl Deref for Segment<'_> {
    type Target = Mbuf;

    #[inline]
    fn deref(&self) -> &Mbuf {
        &self.mbuf
    }
}

/// A segment of a chain, borrowed exclusively: its own data and fields can be changed, its place in the chain cannot.
///
/// ```
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let mut chain = pool.alloc(4)?;
/// chain.append(pool.alloc(4)?)?;
/// for mut segment in chain.segments_mut() {
///     segment.extend_from_slice(b"data")?;
/// }
/// assert_eq!(chain.total_len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It does not lend out a `&mut Mbuf`, by which a segment could be moved out of its chain:
/// ```compile_fail,E0308
/// let pool = mbuf::Pool::global().unwrap();
/// let mut chain = pool.alloc(64).unwrap();
/// let mut other = pool.alloc(64).unwrap();
/// let mut segment = chain.segments_mut().next().unwrap();
/// std::mem::swap(&mut segment, &mut other);
/// ```
/// where mbufs of one's own can be swapped:
/// ```
/// let pool = mbuf::Pool::global().unwrap();
/// let mut chain = pool.alloc(64).unwrap();
/// let mut other = pool.alloc(64).unwrap();
/// std::mem::swap(&mut chain, &mut other);
/// ```
pub struct SegmentMut<'a> {
    /// Not owned, and never lent as `&mut Mbuf`.
    mbuf: ManuallyDrop<Mbuf>,
    _chain: PhantomData<&'a mut Mbuf>,
}

/// Each as on [`Mbuf`], for this segment.
impl<'a> SegmentMut<'a> {
    /// See [`Mbuf::data_mut`].
    #[inline]
    pub fn data_mut(&mut self) -> Option<&mut [u8]> {
        self.mbuf.data_mut()
    }

    /// As [`data_mut`](Self::data_mut), for as long as the chain is borrowed.
    #[inline]
    pub fn into_data_mut(mut self) -> Option<&'a mut [u8]> {
        let data: *mut [u8] = self.data_mut()?;
        // SAFETY: the chain owns the data and is borrowed exclusively for 'a, and each of its segments is lent once.
        Some(unsafe { &mut *data })
    }

    /// As [`spare_capacity_mut`](Self::spare_capacity_mut), for as long as the chain is borrowed.
    #[inline]
    pub fn into_room(mut self) -> Option<&'a mut [MaybeUninit<u8>]> {
        let room: *mut [MaybeUninit<u8>] = self.spare_capacity_mut()?;
        // SAFETY: as above.
        Some(unsafe { &mut *room })
    }

    /// See [`Mbuf::spare_capacity_mut`].
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> Option<&mut [MaybeUninit<u8>]> {
        self.mbuf.spare_capacity_mut()
    }

    /// See [`Mbuf::set_len`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn set_len(&mut self, len: usize) -> Result<(), LenError> {
        self.mbuf.set_len(len)
    }

    /// See [`Mbuf::set_len_unchecked`].
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn set_len_unchecked(&mut self, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.mbuf.set_len_unchecked(len) };
    }

    /// See [`Mbuf::extend_from_slice`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        self.mbuf.extend_from_slice(bytes)
    }

    #[inline]
    pub(super) fn shorten(&mut self, len: usize) {
        self.mbuf.shorten(len);
    }

    /// See [`Mbuf::clear`].
    #[inline]
    pub fn clear(&mut self) {
        self.mbuf.clear();
    }

    /// See [`Mbuf::user_mut`].
    #[inline]
    pub fn user_mut(&mut self) -> &mut [u8; USER_AREA] {
        self.mbuf.user_mut()
    }

    /// See [`Mbuf::set_timestamp`].
    #[inline]
    pub fn set_timestamp(&mut self, timestamp: u64) {
        self.mbuf.set_timestamp(timestamp);
    }

    /// See [`Mbuf::len`].
    #[inline]
    pub fn len(&self) -> usize {
        self.mbuf.len()
    }

    /// See [`Mbuf::is_empty`].
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mbuf.is_empty()
    }

    /// See [`Mbuf::capacity`].
    #[inline]
    pub fn capacity(&self) -> usize {
        self.mbuf.capacity()
    }

    /// See [`Mbuf::data`].
    #[inline]
    pub fn data(&self) -> &[u8] {
        self.mbuf.data()
    }

    /// See [`Mbuf::user`].
    #[inline]
    pub fn user(&self) -> &[u8; USER_AREA] {
        self.mbuf.user()
    }

    /// See [`Mbuf::timestamp`].
    #[inline]
    pub fn timestamp(&self) -> u64 {
        self.mbuf.timestamp()
    }

    /// See [`Mbuf::is_shared`].
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.mbuf.is_shared()
    }
}

impl fmt::Debug for SegmentMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentMut")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("shared", &self.is_shared())
            .finish()
    }
}

/// Walks a chain's headers.
#[derive(Clone, Debug)]
struct Walk {
    core: Core,
    next: Option<Offset>,
    left: usize,
}

impl Walk {
    fn from(mbuf: &Mbuf) -> Self {
        Self {
            core: mbuf.core(),
            next: Some(mbuf.header().offset()),
            left: mbuf.segment_count(),
        }
    }

    /// # Safety
    /// The chain is borrowed, shared at least, and as it was at the start.
    unsafe fn step(&mut self) -> Option<Offset> {
        let at = self.next?;
        // SAFETY: M1 and H3: the chain's headers are live and nobody changes their links.
        self.next = unsafe { self.core.header(at).next() };
        self.left -= 1;
        Some(at)
    }
}

/// The segments of a chain, first to last: [`Mbuf::segments`].
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    walk: Walk,
    _chain: PhantomData<&'a Mbuf>,
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    #[inline]
    fn next(&mut self) -> Option<Segment<'a>> {
        // SAFETY: the chain is borrowed for 'a.
        unsafe {
            let at = self.walk.step()?;
            Some(Segment::new(self.walk.core, at))
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.left, Some(self.walk.left))
    }
}

impl ExactSizeIterator for Segments<'_> {}
impl FusedIterator for Segments<'_> {}

// SAFETY: a borrow of a chain, which is `Sync`.
unsafe impl Send for Segments<'_> {}
// SAFETY: as above.
unsafe impl Sync for Segments<'_> {}

/// The segments of a chain, borrowed exclusively, first to last: [`Mbuf::segments_mut`].
#[derive(Debug)]
pub struct SegmentsMut<'a> {
    walk: Walk,
    _chain: PhantomData<&'a mut Mbuf>,
}

impl<'a> Iterator for SegmentsMut<'a> {
    type Item = SegmentMut<'a>;

    #[inline]
    fn next(&mut self) -> Option<SegmentMut<'a>> {
        // SAFETY: the chain is borrowed exclusively for 'a, and each of its headers is lent once.
        unsafe {
            let at = self.walk.step()?;
            Some(SegmentMut {
                mbuf: ManuallyDrop::new(Mbuf::from_block(self.walk.core, at)),
                _chain: PhantomData,
            })
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.left, Some(self.walk.left))
    }
}

impl ExactSizeIterator for SegmentsMut<'_> {}
impl FusedIterator for SegmentsMut<'_> {}

/// Segments.
impl Mbuf {
    /// The segments from here to the end of the chain, this one first.
    ///
    /// # Cost
    /// Each step loads the first line of a header.
    #[inline]
    pub fn segments(&self) -> Segments<'_> {
        Segments {
            walk: Walk::from(self),
            _chain: PhantomData,
        }
    }

    /// The segments of the chain, to be changed.
    ///
    /// # Cost
    /// Each step loads the first line of a header.
    #[inline]
    pub fn segments_mut(&mut self) -> SegmentsMut<'_> {
        SegmentsMut {
            walk: Walk::from(self),
            _chain: PhantomData,
        }
    }

    /// The last segment, to be changed.
    ///
    /// # Cost
    /// One load more than for the first.
    #[inline]
    pub fn last_mut(&mut self) -> SegmentMut<'_> {
        // SAFETY: M1: the chain's tail is a live header of ours, borrowed exclusively.
        unsafe {
            let tail = self.header().tail();
            SegmentMut {
                mbuf: ManuallyDrop::new(Self::from_block(self.core(), tail)),
                _chain: PhantomData,
            }
        }
    }

    /// Bytes that can be written to the last segment behind its data.
    pub(crate) fn last_room(&self) -> usize {
        let last = if self.header().flags() & flags::MEMBER == 0 {
            // SAFETY: M1: a head's tail is a live header of its chain, borrowed as that is.
            Some(unsafe { Segment::new(self.core(), self.header().tail()) })
        } else {
            // A member's tail is stale.
            self.segments().last()
        };
        last.filter(|last| last.is_exclusive())
            .map_or(0, |last| last.tailroom())
    }

    /// Segment `index` from here, which is 0; `None` past the end of the chain.
    ///
    /// # Cost
    /// Walks `index` headers.
    pub fn segment(&self, index: usize) -> Option<Segment<'_>> {
        self.segments().nth(index)
    }
}

impl<'a> IntoIterator for &'a Mbuf {
    type Item = Segment<'a>;
    type IntoIter = Segments<'a>;

    fn into_iter(self) -> Segments<'a> {
        self.segments()
    }
}
