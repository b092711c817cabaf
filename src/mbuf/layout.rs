//! Allocation with more to say than a size.

use super::Mbuf;
use super::alloc::alloc_in;
use crate::arena::GRANULE;
use crate::class::MAX_DATA;
use crate::error::AllocError;
use crate::pool::{Core, Pool};

/// What a new mbuf's data is to be like: [`Pool::alloc_with`].
///
/// # Example
/// ```
/// use mbuf::{Layout, Pool};
///
/// let pool = Pool::builder().capacity(16 << 20).build()?;
/// let page = pool.alloc_with(Layout::new(8192).align(4096))?;
/// assert_eq!((page.data().as_ptr().addr() % 4096, page.capacity()), (0, 8192));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    size: usize,
    alignment: usize,
}

impl Layout {
    /// The largest alignment that can be had: a page.
    pub const MAX_ALIGNMENT: usize = 4096;

    /// `size` bytes, aligned to 64, as by [`Pool::alloc`].
    pub const fn new(size: usize) -> Self {
        Self {
            size,
            alignment: GRANULE,
        }
    }

    /// The data is to begin at a multiple of `alignment`, a power of two from 1 to 4096.
    #[must_use]
    pub const fn align(self, alignment: usize) -> Self {
        Self { alignment, ..self }
    }

    /// How far the data may have to be shifted for its alignment, blocks being aligned to granules, if such an mbuf can be had
    /// from some pool.
    pub(crate) fn slack(self) -> Result<usize, AllocError> {
        if !self.alignment.is_power_of_two() || self.alignment > Self::MAX_ALIGNMENT {
            return Err(AllocError::Alignment);
        }
        if self.size as u64 > MAX_DATA {
            return Err(AllocError::TooLarge);
        }
        Ok(self.alignment.saturating_sub(GRANULE))
    }
}

pub(crate) fn alloc_with(core: Core, layout: Layout) -> Result<Mbuf, AllocError> {
    let slack = layout.slack()?;
    let room = layout.size + slack;
    let mbuf = alloc_in(core, layout.size, room, |class| core.take(class))?;
    let offset = mbuf.data_ptr().addr().wrapping_neg() & (layout.alignment - 1);
    if offset > 0 {
        debug_assert!(offset <= slack);
        // SAFETY: H3: ours alone, just activated, and with `slack` bytes more than its size.
        unsafe { mbuf.header().shift(offset) };
    }
    Ok(mbuf)
}

/// Allocation.
impl Pool {
    /// A new mbuf, as by [`alloc`](Self::alloc), with data as `layout` says.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and [`AllocError::Alignment`] for one that is no power of two or over 4096.
    ///
    /// # Cost
    /// That of [`alloc`](Self::alloc); a larger alignment than 64 takes a block that much larger.
    pub fn alloc_with(&self, layout: Layout) -> Result<Mbuf, AllocError> {
        alloc_with(self.core(), layout)
    }
}
