//! The one place that names atomics, cells and thread-locals.
//!
//! Everything else in the crate takes them from here, so that one switch (`--cfg loom`) puts the whole library,
//! unchanged, under the model checker, and another (`--cfg shuttle`) under shuttle's scheduler, at its real sizes.
//!
//! Beside the atomics there are:
//!
//! * [`Field`], memory that one thread at a time may write. Loom tracks each access and fails on a race.
//! * [`Published32`] and [`Published16`], words with a single writer that anybody may read at any time for information
//!   (statistics, a handle check), and [`Tally`], a count for information. No protocol rests on their order, so loom
//!   does not branch on them.

// By their paths, because the models mount this file elsewhere.
#[path = "sync/late_end.rs"]
pub(crate) mod late_end;
#[cfg(not(any(loom, shuttle)))]
#[path = "sync/park.rs"]
mod park;
#[cfg(shuttle)]
#[path = "sync/scheduled.rs"]
mod scheduled;
#[path = "sync/thread_words.rs"]
mod thread_words;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use park::park_until;
pub(crate) use thread_words::ThreadWords;

#[cfg(not(loom))]
pub(crate) use std::sync::Arc;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(shuttle)]
pub(crate) use scheduled::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

macro_rules! published {
    ($name:ident, $value:ty, $atomic:ident) => {
        /// A word with one writer at a time that any thread may read for information, without ordering anything.
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub(crate) struct $name(std::sync::atomic::$atomic);

        impl $name {
            #[inline(always)]
            pub(crate) const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$atomic::new(value))
            }

            /// Relaxed: pairs with nothing, the value is for information or read back by its writer.
            #[inline(always)]
            pub(crate) fn get(&self) -> $value {
                self.0.load(std::sync::atomic::Ordering::Relaxed)
            }

            /// Relaxed, for the same reason.
            #[inline(always)]
            pub(crate) fn set(&self, value: $value) {
                self.0.store(value, std::sync::atomic::Ordering::Relaxed);
            }
        }
    };
}

published!(Published16, u16, AtomicU16);
published!(Published32, u32, AtomicU32);

/// A count that many threads change and that is read for information: exact when they are quiet.
#[repr(transparent)]
#[derive(Debug, Default)]
pub(crate) struct Tally(std::sync::atomic::AtomicU64);

impl Tally {
    pub(crate) const fn new() -> Self {
        Self(std::sync::atomic::AtomicU64::new(0))
    }

    /// Relaxed, as all of a tally: it orders nothing.
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, n: u64) {
        self.0.fetch_sub(n, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Plain memory behind a shared reference: a `Cell` whose accesses loom checks for races.
#[cfg(not(loom))]
#[repr(transparent)]
#[derive(Debug, Default)]
pub(crate) struct Field<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T: Copy> Field<T> {
    #[inline(always)]
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// # Safety
    /// No other thread writes the field at the same time.
    #[inline(always)]
    pub(crate) unsafe fn get(&self) -> T {
        // SAFETY: the caller rules out a concurrent write, and no reference to the inside is ever formed.
        unsafe { *self.0.get() }
    }

    /// # Safety
    /// No other thread reads or writes the field at the same time.
    #[inline(always)]
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: the caller rules out concurrent accesses, and no reference to the inside is ever formed.
        unsafe { *self.0.get() = value }
    }

    /// The address of the field, for fields that are lent out as slices.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.get()
    }
}

#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct Field<T>(loom::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T: Copy> Field<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }

    pub(crate) unsafe fn get(&self) -> T {
        // SAFETY: the caller rules out a concurrent write; loom checks it.
        self.0.with(|at| unsafe { *at })
    }

    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: the caller rules out concurrent accesses; loom checks it.
        self.0.with_mut(|at| unsafe { *at = value });
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.with(|at| at.cast_mut())
    }
}

/// Stands for memory that loom cannot see (a data area): accesses to it are announced here, so that a race on the
/// memory is a race on this. Without loom it has no size and no code.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Witness(#[cfg(loom)] loom::cell::UnsafeCell<()>);

#[cfg(not(loom))]
impl Witness {
    pub(crate) const fn new() -> Self {
        Self()
    }

    #[inline(always)]
    pub(crate) fn read(&self) {}

    #[inline(always)]
    pub(crate) fn write(&self) {}
}

// SAFETY: there is nothing in it but what loom watches.
#[cfg(loom)]
unsafe impl Send for Witness {}
// SAFETY: as above.
#[cfg(loom)]
unsafe impl Sync for Witness {}

#[cfg(loom)]
impl Witness {
    pub(crate) fn new() -> Self {
        Self(loom::cell::UnsafeCell::new(()))
    }

    pub(crate) fn read(&self) {
        self.0.with(|_| ());
    }

    pub(crate) fn write(&self) {
        self.0.with_mut(|_| ());
    }
}

/// A `thread_local!` that costs one address computation: const-initialised, where the model checker allows.
macro_rules! thread_static {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        #[cfg(not(any(loom, shuttle)))]
        thread_local! {
            $(#[$attribute])*
            static $name: $type = const { $value };
        }
        #[cfg(shuttle)]
        shuttle::thread_local! {
            $(#[$attribute])*
            static $name: $type = $value;
        }
        #[cfg(loom)]
        loom::thread_local! {
            static $name: $type = $value;
        }
    };
}

/// A function that returns a `static`. Loom and shuttle make it afresh for each execution. Loom drops it when the first
/// thread ends, or, where that is too early for other threads, leaks it.
macro_rules! process_static {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident() -> $type:ty = $value:expr;) => {
        $(#[$attribute])*
        $visibility fn $name() -> &'static $type {
            #[cfg(not(any(loom, shuttle)))]
            static VALUE: $type = $value;
            #[cfg(loom)]
            loom::lazy_static! {
                static ref VALUE: $type = $value;
            }
            #[cfg(shuttle)]
            shuttle::lazy_static! {
                static ref VALUE: $type = $value;
            }
            #[allow(clippy::explicit_auto_deref)]
            &VALUE
        }
    };
    ($(#[$attribute:meta])* leaked $visibility:vis fn $name:ident() -> $type:ty = $value:expr;) => {
        $(#[$attribute])*
        $visibility fn $name() -> &'static $type {
            #[cfg(not(any(loom, shuttle)))]
            static VALUE: $type = $value;
            #[cfg(loom)]
            loom::lazy_static! {
                static ref VALUE: &'static $type = Box::leak(Box::new($value));
            }
            #[cfg(shuttle)]
            shuttle::lazy_static! {
                static ref VALUE: &'static $type = Box::leak(Box::new($value));
            }
            &VALUE
        }
    };
}

pub(crate) use process_static;
pub(crate) use thread_static;

#[cfg(any(loom, shuttle))]
std::thread_local! {
    /// All threads of a model are one thread of the system.
    static LIVE_ARENAS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many pools of the calling system thread's models are mapped. When an execution has ended there is none, unless
/// the model leaks one.
#[cfg(any(loom, shuttle))]
pub fn live_arenas() -> usize {
    LIVE_ARENAS.get()
}

/// Notes, for models, that an arena was mapped, or that one was unmapped.
pub(crate) fn count_arena(mapped: bool) {
    #[cfg(any(loom, shuttle))]
    LIVE_ARENAS.set(LIVE_ARENAS.get() + usize::from(mapped) - usize::from(!mapped));
    #[cfg(not(any(loom, shuttle)))]
    let _ = mapped;
}

/// Whether the model under way has failed: its threads are gone, and what is dropped late can only give up.
#[inline(always)]
pub(crate) fn model_has_failed() -> bool {
    cfg!(any(loom, shuttle)) && std::thread::panicking()
}

/// Lets other threads run while this one waits for a step that one of them is about to finish.
///
/// Only failing paths wait: never alloc, free, copy-ref or chain while memory is to be had.
pub(crate) struct Backoff(#[cfg(not(any(loom, shuttle)))] crossbeam_utils::Backoff);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(
            #[cfg(not(any(loom, shuttle)))]
            crossbeam_utils::Backoff::new(),
        )
    }

    /// After a failed compare-and-swap: somebody else made progress, so there is nothing to wait for.
    #[inline]
    pub(crate) fn spin(&self) {
        #[cfg(not(any(loom, shuttle)))]
        self.0.spin();
    }

    /// Spins, and after some rounds yields to the system's scheduler.
    pub(crate) fn snooze(&self) {
        #[cfg(not(any(loom, shuttle)))]
        self.0.snooze();
        #[cfg(loom)]
        loom::thread::yield_now();
        #[cfg(shuttle)]
        shuttle::thread::yield_now();
    }
}
