//! Views: headers of their own on part of another's data, and cuts at a byte offset.

use super::copy::copy_segment;
use super::{Mbuf, Segment};
use crate::class::Class;
use crate::error::AllocError;
use crate::header::{HEADER, flags};
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// Why there is no such part of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ViewError {
    /// The range ends behind the chain's data, or before it begins.
    OutOfRange,
    /// There is no header for it.
    Alloc(AllocError),
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange => f.write_str("the range is not within the data"),
            Self::Alloc(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ViewError {}

impl From<AllocError> for ViewError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

/// The bytes of `range` as start and length, if they are within `len`.
pub(super) fn within(range: impl RangeBounds<usize>, len: usize) -> Option<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1)?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    (end <= len).then_some(())?;
    Some((start, end.checked_sub(start)?))
}

/// Views.
impl Mbuf {
    /// An mbuf on part of the data from this segment to the end of the chain: a header of its own for each segment that the range
    /// touches, chained like them. The data is shared, as by [`copy_ref`](Self::copy_ref); user area and timestamp are copied.
    ///
    /// A view's capacity is its length: it never reaches bytes that it was not given.
    ///
    /// # Errors
    /// [`ViewError::OutOfRange`] for what is not within [`total_len`](Self::total_len), [`ViewError::Alloc`] when the pool has no headers
    /// left; nothing is half made then.
    ///
    /// # Cost
    /// Walks the chain up to the range's end; for each segment in it what `copy_ref` costs. No data is touched.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc(64)?;
    /// packet.extend_from_slice(b"header|payload")?;
    /// let payload = packet.slice(7..)?;
    /// assert_eq!(payload.data(), b"payload");
    /// assert_eq!(payload.data().as_ptr(), packet.data()[7..].as_ptr());
    /// assert_eq!(packet.slice(7..15).unwrap_err(), mbuf::ViewError::OutOfRange);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self, ViewError> {
        let (mut skip, mut left) = within(range, self.total_len()).ok_or(ViewError::OutOfRange)?;
        let mut view: Option<Self> = None;
        for segment in self.segments() {
            let len = segment.len();
            // An empty view is on the segment in which it lies or at whose end.
            if skip > len || (skip == len && left > 0) {
                skip -= len;
                continue;
            }
            let part = left.min(len - skip);
            let next = segment.view(skip, part, part)?;
            match &mut view {
                None => view = Some(next),
                Some(view) => view.append_fitting(next),
            }
            left -= part;
            skip = 0;
            if left == 0 {
                break;
            }
        }
        view.ok_or(ViewError::OutOfRange)
    }

    /// A header of its own on `len` bytes of this segment's data, from `start`, with room for `capacity`.
    fn view(&self, start: usize, len: usize, capacity: usize) -> Result<Self, AllocError> {
        let core = self.core();
        let block = copy_segment(core, self.header())?;
        // SAFETY: the copy is a live header of ours; the part is within the data, and the capacity within the original's.
        unsafe {
            let view = Self::from_block(core, block);
            view.header().set_view(self.headroom() + start, capacity);
            view.header().set_data_len(len);
            Ok(view)
        }
    }

    /// Cuts the chain at a byte offset: this mbuf keeps the first `at` bytes, and what is returned has the rest. The segment that the
    /// cut goes through gets a second header; no data is copied. The rest has the user area and timestamp of that segment.
    ///
    /// A cut between two segments goes through none: the rest is what is behind it. At the chain's start or end it goes through the
    /// first or last segment, so that both parts have one.
    ///
    /// # Errors
    /// [`ViewError::OutOfRange`] over [`total_len`](Self::total_len), [`ViewError::Alloc`] when the pool has no header left; nothing is
    /// changed then.
    ///
    /// # Cost
    /// Walks the chain up to the cut, and what `copy_ref` of one segment costs.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut packet = pool.alloc(64)?;
    /// packet.extend_from_slice(b"header|payload")?;
    /// let payload = packet.split_off_bytes(7)?;
    /// assert_eq!((packet.data(), payload.data()), (&b"header|"[..], &b"payload"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_off_bytes(&mut self, at: usize) -> Result<Self, ViewError> {
        let mut left = at;
        let mut cut = None;
        for (index, segment) in self.segments().enumerate() {
            if left <= segment.len() {
                cut = Some((index, segment));
                break;
            }
            left -= segment.len();
        }
        let (index, segment) = cut.ok_or(ViewError::OutOfRange)?;
        if left == segment.len() && index + 1 < self.segment_count() {
            return self.split_off(index + 1).ok_or(ViewError::OutOfRange);
        }
        let mut rest = segment.view(left, segment.len() - left, segment.capacity() - left)?;
        if let Some(behind) = self.split_off(index + 1) {
            rest.append_fitting(behind);
        }
        self.last_mut().shorten(left);
        Ok(rest)
    }

    /// As [`split_off_bytes`](Self::split_off_bytes) the other way round: the first `at` bytes are returned, and this mbuf keeps the
    /// rest.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut stream = pool.alloc(64)?;
    /// stream.extend_from_slice(b"one two")?;
    /// let frame = stream.split_to(4)?;
    /// assert_eq!((frame.data(), stream.data()), (&b"one "[..], &b"two"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_to(&mut self, at: usize) -> Result<Self, ViewError> {
        let rest = self.split_off_bytes(at)?;
        Ok(std::mem::replace(self, rest))
    }

    /// Bytes that this chain keeps from being used otherwise, however little of them its views show: blocks with their headers, and
    /// foreign memory. What segments share is counted for each of them.
    ///
    /// # Cost
    /// Walks the chain, and looks at the header of the owner of each segment's data.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut small = pool.alloc_zeroed(32 << 10)?.slice(0..10)?;
    /// assert!(small.retained() > 32 << 10);
    /// small.compact()?;
    /// assert!(small.retained() < 1 << 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retained(&self) -> u64 {
        self.segments().map(|segment| segment.retained_here()).sum()
    }

    fn retained_here(&self) -> u64 {
        let core = self.core();
        let owner = self.owner();
        let own = if self.header().flags() & flags::COPY != 0 {
            core.block_bytes(Class::HEADER, self.header().offset())
        } else {
            0
        };
        let foreign = if self.is_foreign() {
            self.foreign_total()
        } else {
            0
        };
        own + foreign + core.block_bytes(owner.class(), owner.offset())
    }

    /// Copies each segment that [keeps](Self::retained) more than a block of its data's size would, and a header more, into such a block,
    /// and lets go of the large one, or of the foreign memory. User areas and timestamps stay.
    ///
    /// # Errors
    /// As [`Pool::alloc`](crate::Pool::alloc); nothing is changed then.
    ///
    /// # Cost
    /// For each such segment an allocation and a copy of its valid data.
    pub fn compact(&mut self) -> Result<(), AllocError> {
        self.replace_segments(|segment| segment.compacted())
    }
}

impl Segment<'_> {
    /// A copy of its data in a block of that size, if that is smaller than what it keeps.
    fn compacted(&self) -> Result<Option<Mbuf>, AllocError> {
        if self.retained_here() <= self.core().bytes_for(self.len()) + HEADER as u64 {
            return Ok(None);
        }
        self.duplicate(self.len()).map(Some)
    }
}
