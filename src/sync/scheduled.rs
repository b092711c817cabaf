//! Atomics for shuttle: the machine's own, each access a point at which shuttle may go on with another thread.
//!
//! They are as large as the real ones and zero bytes are a value of theirs, so under shuttle the whole library has its
//! real layout and sizes. Shuttle goes through one interleaving at a time, sequentially consistent: orderings are for loom.

pub(crate) use std::sync::atomic::Ordering;

/// A weak exchange fails for no reason once in so many times.
const SPURIOUS: u32 = 16;

/// Lets shuttle choose who goes on: without the hint that this thread waits for others, which `yield_now` would give.
fn choose() {
    // What is dropped while a failed execution unwinds has nobody left to choose.
    if !std::thread::panicking() {
        shuttle::thread::sleep(std::time::Duration::ZERO);
    }
}

/// Chosen by shuttle, so that a failing schedule can be replayed.
fn fails_spuriously() -> bool {
    use shuttle::rand::{Rng, thread_rng};
    !std::thread::panicking() && thread_rng().gen_ratio(1, SPURIOUS)
}

pub(crate) fn fence(order: Ordering) {
    choose();
    std::sync::atomic::fence(order);
}

macro_rules! access {
    ($value:ty) => {
        pub(crate) fn load(&self, order: Ordering) -> $value {
            choose();
            self.0.load(order)
        }

        pub(crate) fn store(&self, value: $value, order: Ordering) {
            choose();
            self.0.store(value, order);
        }

        pub(crate) fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            choose();
            self.0.compare_exchange(current, new, success, failure)
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            if fails_spuriously() {
                return Err(self.load(failure));
            }
            self.compare_exchange(current, new, success, failure)
        }

        pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
            choose();
            self.0.swap(value, order)
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        #[repr(transparent)]
        #[derive(Debug)]
        pub(crate) struct $name(std::sync::atomic::$name);

        // All of the facade's operations, used by this width or not.
        #[allow(dead_code)]
        impl $name {
            pub(crate) const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }

            access!($value);

            integer!(fetch: fetch_add, fetch_sub, fetch_or, fetch_and, fetch_max => $value);

            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(failure);
                while let Some(new) = change(old) {
                    match self.compare_exchange_weak(old, new, success, failure) {
                        Ok(old) => return Ok(old),
                        Err(other) => old = other,
                    }
                }
                Err(old)
            }
        }
    };
    (fetch: $($operation:ident),+ => $value:ty) => {
        $(
            pub(crate) fn $operation(&self, value: $value, order: Ordering) -> $value {
                choose();
                self.0.$operation(value, order)
            }
        )+
    };
}

integer!(AtomicU32, u32);
integer!(AtomicU64, u64);

#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct AtomicPtr<T>(std::sync::atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub(crate) const fn new(value: *mut T) -> Self {
        Self(std::sync::atomic::AtomicPtr::new(value))
    }

    access!(*mut T);
}
