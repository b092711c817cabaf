//! Memory for peers that bring none of their own.

use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// Memory for one or many buffers, written once and on transparent huge pages if it is large.
pub(crate) struct Block {
    address: NonNull<u8>,
    layout: Option<Layout>,
}

// SAFETY: owned memory.
unsafe impl Send for Block {}
// SAFETY: shared, it only says where it is. Who writes there is settled by who has it from its pool.
unsafe impl Sync for Block {}

/// None yet: pools that make their objects by default fill it in later.
impl Default for Block {
    fn default() -> Self {
        Self {
            address: NonNull::dangling(),
            layout: None,
        }
    }
}

impl Block {
    pub(super) fn new(bytes: usize) -> Self {
        const HUGE: usize = 2 << 20;
        const MADV_HUGEPAGE: c_int = 14;
        unsafe extern "C" {
            fn madvise(address: *mut c_void, bytes: usize, advice: c_int) -> c_int;
        }
        if bytes == 0 {
            return Self::default();
        }
        let align = if bytes >= HUGE { HUGE } else { 64 };
        let layout = Layout::from_size_align(bytes, align).expect("no buffer is that large");
        // SAFETY: the layout has a size.
        let address = NonNull::new(unsafe { System.alloc(layout) });
        let address = address.unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the memory just allocated; the advice changes no content.
        unsafe {
            if bytes >= HUGE {
                madvise(address.as_ptr().cast(), bytes, MADV_HUGEPAGE);
            }
            address.write_bytes(0, bytes);
        }
        Self {
            address,
            layout: Some(layout),
        }
    }

    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.layout.is_none()
    }

    #[inline(always)]
    pub(super) fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// The parts of `size` bytes.
    pub(super) fn parts(&self, size: usize) -> impl Iterator<Item = NonNull<u8>> {
        let bytes = self.layout.map_or(0, |layout| layout.size());
        // SAFETY: inside the block.
        (0..bytes / size).map(move |part| unsafe { self.address.add(part * size) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: allocated with this layout.
            unsafe { System.dealloc(self.address.as_ptr(), layout) };
        }
    }
}

/// A buffer of a pool that has to be told where it goes back to.
pub(crate) struct Part {
    pub(super) address: NonNull<u8>,
    pub(super) class: usize,
}

// SAFETY: who has it owns the memory there.
unsafe impl Send for Part {}
