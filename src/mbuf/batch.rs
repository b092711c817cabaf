//! Several fresh mbufs, kept without a list of their own: linked through their headers until each is popped.

use super::{Mbuf, alloc};
use crate::arena::Offset;
use crate::error::AllocError;
use crate::pool::Core;

pub(crate) struct Batch {
    core: Core,
    /// The last of the fresh mbufs. Each one's `next` is the one before it.
    last: Option<Offset>,
}

impl Batch {
    /// `count` mbufs of `size` bytes, or none.
    pub(crate) fn alloc(core: Core, size: usize, count: usize) -> Result<Self, AllocError> {
        let mut batch = Self { core, last: None };
        let one = || alloc::from_core(core, size);
        alloc::fill(core, size, count, || core.cache(), one, &mut batch)?;
        Ok(batch)
    }

    fn push(&mut self, mbuf: Mbuf) {
        let header = mbuf.header();
        // SAFETY: H3: fresh, and ours alone.
        unsafe { header.set_next(self.last) };
        self.last = Some(header.offset());
        std::mem::forget(mbuf);
    }

    /// The last of them, alone.
    pub(crate) fn pop(&mut self) -> Option<Mbuf> {
        let block = self.last?;
        let header = self.core.header(block);
        // SAFETY: M1: pushed, so ours.
        unsafe {
            self.last = header.next();
            header.set_next(None);
            Some(Mbuf::from_block(self.core, block))
        }
    }
}

impl Extend<Mbuf> for Batch {
    #[inline]
    fn extend<T: IntoIterator<Item = Mbuf>>(&mut self, mbufs: T) {
        mbufs.into_iter().for_each(|mbuf| self.push(mbuf));
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
