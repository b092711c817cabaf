//! Allocators for everything, each called directly: none is the program's own.

use crate::contender::{Contender, Need, Source, chain_through_data};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Once;
use tikv_jemallocator::Jemalloc as JemallocCrate;

/// `malloc` and `free` by whatever names.
pub(crate) trait Malloc: Sync + 'static {
    /// What it wants to know of the size when memory is freed: `()` for nothing.
    type Size: Copy + Send;

    fn size(size: usize) -> Self::Size;

    fn alloc(size: usize) -> *mut u8;

    /// # Safety
    /// Allocated with this size, and given up.
    unsafe fn free(address: *mut u8, size: Self::Size);

    /// The thread begins to use it, or did so before.
    fn enter() {}

    /// The thread ends.
    fn leave() {}
}

pub(crate) struct General<M>(PhantomData<fn() -> M>);

pub(crate) struct Memory<S> {
    address: NonNull<u8>,
    size: S,
}

// SAFETY: owned memory.
unsafe impl<S: Send> Send for Memory<S> {}

impl<M: Malloc> Source for General<M> {
    type Buffer = Memory<M::Size>;

    #[inline(always)]
    fn alloc(&self, size: usize) -> Self::Buffer {
        Memory {
            address: NonNull::new(M::alloc(size)).expect("memory"),
            size: M::size(size),
        }
    }

    #[inline(always)]
    fn free(&self, buffer: Self::Buffer) {
        // SAFETY: its own, given up here.
        unsafe { M::free(buffer.address.as_ptr(), buffer.size) };
    }
}

impl<M: Malloc> Contender for General<M> {
    type Buffer = Memory<M::Size>;
    type Thread<'a> = &'a Self;

    fn new(need: Need) -> Result<Self, String> {
        M::enter();
        let warm = Self(PhantomData);
        for &size in need.sizes {
            let buffers: Vec<_> = (0..need.count)
                .map(|_| {
                    let buffer = warm.alloc(size);
                    for page in (0..size).step_by(4096) {
                        // SAFETY: inside the buffer.
                        unsafe { buffer.address.add(page).write(0) };
                    }
                    buffer
                })
                .collect();
            buffers.into_iter().for_each(|buffer| warm.free(buffer));
        }
        Ok(warm)
    }

    fn thread(&self) -> &Self {
        M::enter();
        self
    }

    fn leave(&self) {
        M::leave();
    }

    #[inline(always)]
    fn data(buffer: &Self::Buffer) -> *mut u8 {
        buffer.address.as_ptr()
    }
}

chain_through_data!([M: Malloc] General<M>);

#[inline(always)]
fn layout(size: usize) -> Layout {
    // SAFETY: a power of two, and sizes far below the limit.
    unsafe { Layout::from_size_align_unchecked(size, 16) }
}

pub(crate) struct Snmalloc;

impl Malloc for Snmalloc {
    type Size = usize;

    #[inline(always)]
    fn size(size: usize) -> usize {
        size
    }

    #[inline(always)]
    fn alloc(size: usize) -> *mut u8 {
        // SAFETY: not of size 0.
        unsafe { snmalloc_rs::SnMalloc.alloc(layout(size)) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut u8, size: usize) {
        // SAFETY: the caller's.
        unsafe { snmalloc_rs::SnMalloc.dealloc(address, layout(size)) };
    }
}

pub(crate) struct Jemalloc;

/// A thread keeps 512 buffers of each size. By default it keeps 20 of 2,048 bytes, which is no fair comparison.
const OPTIONS: &[u8] =
    b"tcache_nslots_small_min:512,tcache_nslots_small_max:1024,tcache_nslots_large:512,thp:always\0";

/// jemalloc reads its options from a symbol of this name, which it declares to be replaced, before anything is allocated.
#[unsafe(export_name = "_rjem_malloc_conf")]
static JEMALLOC_OPTIONS: Option<&'static c_char> =
    // SAFETY: the first character of a string that ends with 0, as jemalloc expects it.
    Some(unsafe { &*OPTIONS.as_ptr().cast() });

impl Malloc for Jemalloc {
    type Size = usize;

    #[inline(always)]
    fn size(size: usize) -> usize {
        size
    }

    #[inline(always)]
    fn alloc(size: usize) -> *mut u8 {
        // SAFETY: not of size 0.
        unsafe { JemallocCrate.alloc(layout(size)) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut u8, size: usize) {
        // SAFETY: the caller's.
        unsafe { JemallocCrate.dealloc(address, layout(size)) };
    }
}

pub(crate) struct Mimalloc;

/// By its plain functions: those for a given alignment are slower, and 16 is what these give anyway.
impl Malloc for Mimalloc {
    type Size = ();

    fn size(_: usize) {}

    #[inline(always)]
    fn alloc(size: usize) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe { libmimalloc_sys::mi_malloc(size).cast() }
    }

    #[inline(always)]
    unsafe fn free(address: *mut u8, (): ()) {
        // SAFETY: the caller's.
        unsafe { libmimalloc_sys::mi_free(address.cast()) };
    }
}

pub(crate) struct Rpmalloc;

impl Malloc for Rpmalloc {
    type Size = ();

    fn size(_: usize) {}

    #[inline(always)]
    fn alloc(size: usize) -> *mut u8 {
        // SAFETY: any size will do; the thread has entered.
        unsafe { rpmalloc_sys::rpmalloc(size).cast() }
    }

    #[inline(always)]
    unsafe fn free(address: *mut u8, (): ()) {
        // SAFETY: the caller's.
        unsafe { rpmalloc_sys::rpfree(address.cast()) };
    }

    fn enter() {
        static STARTING: Once = Once::new();
        STARTING.call_once(|| {
            // SAFETY: the first call of all.
            unsafe { rpmalloc_sys::rpmalloc_initialize() };
        });
        // SAFETY: it has been started. A thread that has its heap keeps it.
        unsafe { rpmalloc_sys::rpmalloc_thread_initialize() };
    }

    fn leave() {
        // SAFETY: the thread allocates no more. Without this its heap would be lost.
        unsafe { rpmalloc_sys::rpmalloc_thread_finalize() };
    }
}

pub(crate) struct Glibc;

impl Malloc for Glibc {
    type Size = ();

    fn size(_: usize) {}

    #[inline(always)]
    fn alloc(size: usize) -> *mut u8 {
        // SAFETY: not of size 0.
        unsafe { System.alloc(layout(size)) }
    }

    #[inline(always)]
    unsafe fn free(address: *mut u8, (): ()) {
        // SAFETY: the caller's; for this alignment it is `free`, which does not look at the layout.
        unsafe { System.dealloc(address, layout(1)) };
    }
}
