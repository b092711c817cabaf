//! What the system's scheduler does. Keeps threads that work together on cores of their own: left to itself the system often puts both on one, and a round is over before
//! it moves them.

use std::ffi::c_int;

/// Bits for up to 1,024 cores, as the system's own type has them.
type Mask = [u64; 16];

unsafe extern "C" {
    fn sched_getaffinity(thread: c_int, bytes: usize, mask: *mut Mask) -> c_int;
    fn sched_setaffinity(thread: c_int, bytes: usize, mask: *const Mask) -> c_int;
}

/// The calling thread stays on one core until this is dropped, on the same thread.
pub(crate) struct Pinned {
    before: Option<Mask>,
}

impl Pinned {
    /// To the `nth` of `cores`, or round again where there are fewer.
    pub(crate) fn to(nth: usize, cores: &Cores) -> Self {
        let count = cores.0.len();
        if count < 2 {
            return Self { before: None };
        }
        let core = cores.0[nth % count];
        let mut mask = [0; 16];
        mask[core / 64] = 1 << (core % 64);
        let before = allowed();
        set(&mask);
        Self { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            set(before);
        }
    }
}

/// The cores that a thread may use before any is pinned.
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    pub(crate) fn of_this_thread() -> Self {
        let mask = allowed().unwrap_or_default();
        let is_allowed = |&core: &usize| mask[core / 64] >> (core % 64) & 1 == 1;
        Self((0..1024).filter(is_allowed).collect())
    }
}

fn allowed() -> Option<Mask> {
    let mut mask = [0; 16];
    // SAFETY: a mask of that many bytes, for the calling thread.
    let result = unsafe { sched_getaffinity(0, size_of::<Mask>(), &mut mask) };
    (result == 0).then_some(mask)
}

/// Where the system refuses, threads are where it puts them.
fn set(mask: &Mask) {
    // SAFETY: as in `allowed`.
    unsafe { sched_setaffinity(0, size_of::<Mask>(), mask) };
}

/// How often the system has taken the core from the calling thread when it wanted to go on.
pub(crate) fn switches() -> i64 {
    const THIS_THREAD: c_int = 1;
    /// The system's type: two times of two words each, then fourteen counts, of which this is the last.
    type Usage = [i64; 18];
    unsafe extern "C" {
        fn getrusage(who: c_int, usage: *mut Usage) -> c_int;
    }
    let mut usage = [0; 18];
    // SAFETY: there is room for what is written.
    unsafe { getrusage(THIS_THREAD, &mut usage) };
    usage[17]
}
