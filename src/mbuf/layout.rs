//! Allocation with more to say than a size.

use super::Mbuf;
use super::alloc::{alloc_in, alloc_span};
use crate::arena::GRANULE;
use crate::class::{Class, MAX_DATA};
use crate::error::AllocError;
use crate::header::flags;
use crate::pool::{Core, Pool};
use crate::slab::Purpose;

/// What a new mbuf's data is to be like: [`Pool::alloc_with`].
///
/// # Example
/// ```
/// use mbuf::{Layout, Pool};
///
/// let pool = Pool::builder().capacity(16 << 20).build()?;
/// let page = pool.alloc_with(Layout::new(8192).align(4096))?;
/// assert_eq!((page.data().as_ptr().addr() % 4096, page.capacity()), (0, 8192));
///
/// let mut packet = pool.alloc_with(Layout::new(1500).headroom(64))?;
/// packet.extend_from_slice(b"payload")?;
/// packet.prepend_slice(b"header ")?;
/// assert_eq!(packet.data(), b"header payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    size: usize,
    headroom: usize,
    alignment: usize,
    is_urgent: bool,
}

impl Layout {
    /// The largest alignment that can be had: a page.
    pub const MAX_ALIGNMENT: usize = 4096;

    /// `size` bytes, aligned to 64 and without headroom, as by [`Pool::alloc`].
    pub const fn new(size: usize) -> Self {
        Self {
            size,
            headroom: 0,
            alignment: GRANULE,
            is_urgent: false,
        }
    }

    /// There is to be room for `headroom` bytes at least in front of the data, beside its size: see [`Mbuf::prepend`].
    #[must_use]
    pub const fn headroom(self, headroom: usize) -> Self {
        Self { headroom, ..self }
    }

    /// The data is to begin at a multiple of `alignment`, a power of two from 1 to 4096.
    #[must_use]
    pub const fn align(self, alignment: usize) -> Self {
        Self { alignment, ..self }
    }

    /// May use the pool's [reserve](crate::PoolBuilder::urgent_reserve), when there is no other memory left.
    ///
    /// # Example
    /// ```
    /// use mbuf::{AllocError, Layout, Pool};
    ///
    /// let pool = Pool::builder().capacity(16 << 20).urgent_reserve(1 << 20).build()?;
    /// let mut held = Vec::new();
    /// while let Ok(mbuf) = pool.alloc(2048) {
    ///     held.push(mbuf);
    /// }
    /// assert_eq!(pool.alloc(64).unwrap_err(), AllocError::Exhausted);
    /// let farewell = pool.alloc_with(Layout::new(64).urgent())?;
    /// # drop(farewell);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn urgent(self) -> Self {
        Self {
            is_urgent: true,
            ..self
        }
    }

    /// How far the data may have to be shifted for its alignment, blocks being aligned to granules, if such an mbuf can be had
    /// from some pool.
    pub(crate) fn slack(self) -> Result<usize, AllocError> {
        if !self.alignment.is_power_of_two() || self.alignment > Self::MAX_ALIGNMENT {
            return Err(AllocError::Alignment);
        }
        match self.size.checked_add(self.headroom) {
            Some(size) if size as u64 <= MAX_DATA => {}
            _ => return Err(AllocError::TooLarge),
        }
        // Whatever the headroom is, a step of the alignment leads from it to where the data can begin.
        let step = if self.headroom.is_multiple_of(GRANULE) {
            GRANULE
        } else {
            1
        };
        Ok(self.alignment.saturating_sub(step))
    }
}

pub(crate) fn alloc_with(core: Core, layout: Layout) -> Result<Mbuf, AllocError> {
    let slack = layout.slack()?;
    let room = layout.size + layout.headroom + slack;
    let mbuf = if layout.is_urgent {
        alloc_urgently(core, layout.size, room)?
    } else {
        alloc_in(core, layout.size, room, |class| core.take(class))?
    };
    let earliest = mbuf.data_ptr().addr() + layout.headroom;
    let offset = layout.headroom + (earliest.wrapping_neg() & (layout.alignment - 1));
    if offset > 0 {
        debug_assert!(offset <= layout.headroom + slack);
        // SAFETY: H3: ours alone, just activated, and with so many bytes more than its size.
        unsafe { mbuf.header().set_view(offset, layout.size) };
    }
    Ok(mbuf)
}

/// As [`alloc_in`], out of the reserve if need be.
fn alloc_urgently(core: Core, size: usize, room: usize) -> Result<Mbuf, AllocError> {
    if !core.has_class_for(room) {
        return alloc_span(core, size, room, Purpose::Urgent);
    }
    let (block, of_reserve) = core.take_urgently(Class::of(room))?;
    let kind = if of_reserve { flags::RESERVE } else { 0 };
    // SAFETY: a free block of the class for `room`, ours.
    Ok(unsafe { Mbuf::activate(core, block, size, kind) })
}

/// Allocation.
impl Pool {
    /// A new mbuf, as by [`alloc`](Self::alloc), with data as `layout` says.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and [`AllocError::Alignment`] for one that is no power of two or over 4096.
    ///
    /// # Cost
    /// That of [`alloc`](Self::alloc); a larger alignment than 64 takes a block that much larger. An [urgent](Layout::urgent) one
    /// costs a search of the whole pool when it comes to the reserve.
    pub fn alloc_with(&self, layout: Layout) -> Result<Mbuf, AllocError> {
        alloc_with(self.core(), layout)
    }
}
