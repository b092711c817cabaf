//! Pools: handles, life cycle, and what there is to ask of one.

mod builder;
mod figures;
mod local;
mod marks;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "capi")]
mod outside;
mod reclaim;
mod state;
mod stats;
mod thread;
mod wait;

pub use builder::PoolBuilder;
pub use figures::{Figure, FigureKind, FigurePart};
pub use local::LocalPool;
pub(crate) use state::Core;
pub use stats::{ClassStats, Stats};
pub(crate) use wait::Wait;

use crate::error::{AllocError, BuildError};
use crate::registry::Pin;
use crate::sync::{Arc, AtomicPtr, Backoff, Ordering, process_static};
use state::end_if_idle;
use std::fmt;
use std::ptr;

/// A handle on a pool of mbufs.
///
/// Cloning is cheap and gives another handle on the same pool. Mbufs do not need a handle to live: when the last handle
/// goes, the pool goes on until the last mbuf is freed, on whatever thread, and then its memory is unmapped.
///
/// Every method may be called from any thread at any time.
///
/// # Example
/// ```
/// use mbuf::Pool;
///
/// let pool = Pool::builder().capacity(16 << 20).build()?;
/// let mut packet = pool.alloc(1500)?;
/// packet.extend_from_slice(b"header")?;
/// std::thread::spawn(move || assert_eq!(packet.data(), b"header"))
///     .join()
///     .unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    core: Core,
    /// Keeps `core`'s arena mapped.
    #[cfg_attr(not(feature = "capi"), allow(dead_code))]
    handle: Arc<Handle>,
}

/// What all handles of a pool share: dropped with the last of them.
struct Handle {
    pin: Pin,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the pool's arena, mapped while the pin exists.
        let core = unsafe { Core::new(self.pin.arena()) };
        core.retire_key();
        self.pin.close();
        end_if_idle(&self.pin);
    }
}

/// The pool of the process, once it is made.
struct Global(AtomicPtr<Pool>);

process_static! {
    fn global() -> Global = Global(AtomicPtr::new(ptr::null_mut()));
}

/// A static is dropped by the model checker alone, which looks for leaks.
impl Drop for Global {
    fn drop(&mut self) {
        let pool = self.0.load(Ordering::Relaxed);
        if !pool.is_null() {
            // SAFETY: what is stored is a leaked box, and the process's statics are gone.
            drop(unsafe { Box::from_raw(pool) });
        }
    }
}

impl Pool {
    /// Options for a new pool.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    /// The pool that a process shares: made with the default options at the first call, never dropped.
    ///
    /// # Errors
    /// [`BuildError`] when it could not be made. A later call tries again.
    ///
    /// # Cost
    /// After the first call one load.
    ///
    /// # Example
    /// ```
    /// let packet = mbuf::Pool::global()?.alloc(64)?;
    /// assert_eq!(packet.capacity(), 64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn global() -> Result<&'static Self, BuildError> {
        Self::global_from(Self::builder)
    }

    /// The pool that a process shares, made with `options` if nobody has made it before.
    #[inline(always)]
    pub(crate) fn global_from(options: fn() -> PoolBuilder) -> Result<&'static Self, BuildError> {
        match Self::made_global() {
            Some(pool) => Ok(pool),
            None => Self::make_global(options()),
        }
    }

    /// The pool that a process shares, if it is made.
    #[inline(always)]
    pub(crate) fn made_global() -> Option<&'static Self> {
        // Acquire: pairs with the release below: the handle is seen whole.
        // SAFETY: what is stored is a leaked box.
        unsafe { global().0.load(Ordering::Acquire).as_ref() }
    }

    #[cold]
    #[inline(never)]
    fn make_global(options: PoolBuilder) -> Result<&'static Self, BuildError> {
        let built = match options.build_to(cfg!(feature = "capi")) {
            Ok(built) => built,
            // Another thread that is making it may have what this one lacks.
            Err(error) => return Self::global_of_another().ok_or(error),
        };
        let made = Box::into_raw(Box::new(built));
        // Release: pairs with the acquire above.
        let stored = global().0.compare_exchange(
            ptr::null_mut(),
            made,
            Ordering::Release,
            Ordering::Relaxed,
        );
        // SAFETY: what is stored is a leaked box; what is not stored is still this call's alone.
        let made = unsafe {
            match stored {
                Ok(_) => &*made,
                Err(_) => {
                    drop(Box::from_raw(made));
                    return Self::made_global().ok_or(BuildError::TooManyPools);
                }
            }
        };
        #[cfg(feature = "capi")]
        made.keep();
        Ok(made)
    }

    /// The pool that another thread may be about to finish.
    fn global_of_another() -> Option<&'static Self> {
        const PATIENCE: u32 = if cfg!(loom) { 1 } else { 100 };
        let backoff = Backoff::new();
        (0..PATIENCE).find_map(|_| {
            backoff.snooze();
            Self::made_global()
        })
    }

    /// Keeps the pool's addresses after its end. It was built for that.
    #[cfg(feature = "capi")]
    fn keep(&self) {
        self.handle.pin.keep();
    }

    /// # Safety
    /// The pool was built, and `pin` is the one its registration holds.
    unsafe fn from_pin(pin: Pin) -> Self {
        // SAFETY: a built pool's arena; the handle's pin keeps it mapped.
        let core = unsafe { Core::new(pin.arena()) };
        Self {
            core,
            handle: Arc::new(Handle { pin }),
        }
    }

    #[inline(always)]
    pub(crate) fn core(&self) -> Core {
        self.core
    }

    /// This thread's own handle, which finds the thread's cache without looking for it.
    ///
    /// # Cost
    /// A lookup, as in [`alloc`](Self::alloc), and a clone of this handle; make one for a thread's life or a long loop. One that is
    /// forgotten (`mem::forget`) keeps its thread's cache, and what is loaded in it, for the pool's life.
    pub fn local(&self) -> LocalPool {
        LocalPool::new(self.clone())
    }

    /// Makes `n` mbufs of `size` bytes ready: their memory is taken, carved and touched, so that allocating them later, on
    /// any thread, meets neither a page fault nor a system call.
    ///
    /// They are not set aside: other sizes may still use the memory when the pool is short of it.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), when `n` such mbufs cannot be had at once; nothing is lost then.
    pub fn reserve(&self, size: usize, n: usize) -> Result<(), AllocError> {
        crate::mbuf::reserve(self.core, size, n)
    }

    /// Gives back to the system the memory of slabs that no mbuf uses, and returns how many bytes these slabs have. Of a slab
    /// that was not used whole, less than that was memory.
    ///
    /// The calling thread's cache and all threads' spare magazines are emptied. What stays is what is in use, what shares a
    /// slab with it, and what other threads have loaded.
    ///
    /// # Cost
    /// Proportional to the number of free blocks and of slabs, and a system call for each slab; meant for quiet moments.
    /// Other threads go on meanwhile.
    pub fn trim(&self) -> u64 {
        self.core.trim()
    }

    /// What the pool holds and has done; see [`Stats`].
    ///
    /// # Cost
    /// Reads every thread's counters. Alloc and free pay nothing for it.
    pub fn stats(&self) -> Stats {
        Stats::read(self.core)
    }

    /// Gives this handle up and says how many mbufs (and blocks of data that copies still use) are out.
    ///
    /// They stay valid. The number is exact when no other thread allocates or frees meanwhile. Dropping the handle does the
    /// same without saying.
    pub fn close(self) -> u64 {
        self.core.in_use()
    }
}

impl PartialEq for Pool {
    /// Whether both are handles on one pool.
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

impl Eq for Pool {}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("number", &self.core.id().raw())
            .field("capacity", &self.core.state().capacity)
            .field("in_use", &self.core.in_use())
            .finish_non_exhaustive()
    }
}

#[allow(dead_code)]
const fn is_send_and_sync<T: Send + Sync>() {}
const _: () = is_send_and_sync::<Pool>();
