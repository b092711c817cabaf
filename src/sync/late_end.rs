//! The end of threads that first come here when their thread-locals' destructors have run.
//!
//! Destructors of POSIX's thread-specific data come after those of thread-locals, and may do anything. What such a
//! thread registers then as a thread-local's destructor is never called; what it sets as thread-specific data is looked at
//! again, three times at least. (glibc keeps 32 bytes for each destructor that it never called.)

#[cfg(any(loom, shuttle))]
mod system {
    /// No thread of a model has anything later than thread-locals.
    pub(crate) fn arm(_: fn()) {}
    pub(crate) fn disarm() {}
}

#[cfg(not(any(loom, shuttle)))]
mod system {
    use std::ffi::{c_int, c_void};
    use std::ptr;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[cfg(not(target_vendor = "apple"))]
    type Key = std::ffi::c_uint;
    #[cfg(target_vendor = "apple")]
    type Key = std::ffi::c_ulong;

    unsafe extern "C" {
        fn pthread_key_create(
            key: *mut Key,
            destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        ) -> c_int;
        fn pthread_key_delete(key: Key) -> c_int;
        fn pthread_setspecific(key: Key, value: *const c_void) -> c_int;
    }

    /// The process's key, plus 1; 0 before it is made.
    static KEY: AtomicU64 = AtomicU64::new(0);

    fn key() -> Option<Key> {
        // Relaxed, both: a key is a number, and nothing but the system's calls is done with it.
        let known = KEY.load(Ordering::Relaxed);
        if known != 0 {
            return Some((known - 1) as Key);
        }
        let mut made = 0;
        // SAFETY: `made` is a place for a key.
        if unsafe { pthread_key_create(&mut made, Some(end)) } != 0 {
            return None;
        }
        let number = u64::from(made) + 1;
        match KEY.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Some(made),
            Err(faster) => {
                // SAFETY: made here, and nobody knows of it.
                unsafe { pthread_key_delete(made) };
                Some((faster - 1) as Key)
            }
        }
    }

    /// Has `act` called when the calling thread ends, unless it is disarmed before. Where the system has no key left it is not.
    pub(crate) fn arm(act: fn()) {
        if let Some(key) = key() {
            // SAFETY: a key of ours. A function's address is not null, and `end` takes it for one.
            unsafe { pthread_setspecific(key, act as *const c_void) };
        }
    }

    pub(crate) fn disarm() {
        if let Some(key) = key() {
            // SAFETY: a key of ours, for which null is nothing to be called.
            unsafe { pthread_setspecific(key, ptr::null()) };
        }
    }

    unsafe extern "C" fn end(act: *mut c_void) {
        // SAFETY: the only values that are set are `fn()`, and null, with which this is not called.
        let act: fn() = unsafe { std::mem::transmute(act) };
        act();
    }
}

pub(crate) use system::{arm, disarm};
