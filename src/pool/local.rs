//! A thread's own handle on a pool.

use super::{Core, Pool};
use crate::arena::Offset;
use crate::cache::Cache;
use crate::class::Class;
use crate::error::AllocError;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A handle for one thread: [`Pool::local`]. It knows the thread's cache, so it allocates and frees a little faster than
/// [`Pool`], which looks it up each time.
///
/// It cannot be sent to another thread:
/// ```compile_fail
/// let local = mbuf::Pool::global().unwrap().local();
/// std::thread::spawn(move || local.alloc(64));
/// ```
/// where a pool can:
/// ```
/// let pool = mbuf::Pool::global().unwrap().clone();
/// std::thread::spawn(move || pool.local().alloc(64));
/// ```
///
/// # Example
/// ```
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let local = pool.local();
/// for _ in 0..1000 {
///     let packet = local.alloc(2048)?;
///     local.free(packet);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LocalPool {
    /// The calling thread's; `None` for a thread that is ending or found all caches taken.
    cache: Option<NonNull<Cache>>,
    pool: Pool,
    _of_this_thread: PhantomData<*const ()>,
}

impl LocalPool {
    pub(super) fn new(pool: Pool) -> Self {
        let cache = pool.core().attach();
        if let Some(cache) = cache {
            // SAFETY: C1: `attach` finds the calling thread's.
            unsafe { cache.use_locally(true) };
        }
        Self {
            cache: cache.map(NonNull::from),
            pool,
            _of_this_thread: PhantomData,
        }
    }

    /// The pool.
    #[inline]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    #[inline(always)]
    pub(crate) fn cache(&self) -> Option<&Cache> {
        // SAFETY: caches stay laid out while the pool is mapped, which the handle sees to.
        self.cache.map(|cache| unsafe { cache.as_ref() })
    }

    #[inline(always)]
    pub(crate) fn take(&self, class: Class) -> Result<Offset, AllocError> {
        let Some(cache) = self.cache() else {
            return self.pool.core().take(class);
        };
        // SAFETY: C1: this thread's, and while a local handle exists the cache is not returned, even if the thread ends.
        unsafe {
            match cache.pop(class) {
                Some(block) => Ok(block),
                None => self.pool.core().take_with(cache, class),
            }
        }
    }

    /// Whether a block of `core`'s may be given to this handle: it is of this pool, and nobody waits for it.
    #[inline(always)]
    pub(crate) fn may_keep(&self, core: Core) -> bool {
        // The key is looked at where this handle's pool is: where the header says would be known later, and is the same place.
        let own = self.pool.core();
        core == own && own.has_key(own.id().raw())
    }

    /// Takes a block back into this thread's cache, of this pool.
    #[inline(always)]
    pub(crate) fn give(&self, class: Class, block: Offset) {
        let Some(cache) = self.cache() else {
            return self.pool.core().give(class, block);
        };
        // SAFETY: as in `take`.
        unsafe {
            if !cache.push(class, block) {
                self.pool.core().give_with(cache, class, block);
            }
        }
    }
}

impl Clone for LocalPool {
    fn clone(&self) -> Self {
        if let Some(cache) = self.cache() {
            // SAFETY: C1: this thread's, since the handle is not `Send`.
            unsafe { cache.use_locally(true) };
        }
        Self {
            cache: self.cache,
            pool: self.pool.clone(),
            _of_this_thread: PhantomData,
        }
    }
}

impl Drop for LocalPool {
    fn drop(&mut self) {
        let Some(cache) = self.cache() else { return };
        // SAFETY: C1: this thread's. When the thread's list is gone and this was the last local handle, nobody uses it any
        // more.
        unsafe {
            if cache.use_locally(false) {
                let pin = &self.pool.handle.pin;
                self.pool.core().return_cache(cache, pin);
            }
        }
    }
}

impl fmt::Debug for LocalPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPool")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}
