//! What the system says of this process's memory, and child processes by `fork`.

use std::ffi::{c_int, c_long, c_uchar, c_ulong, c_void};
use std::time::{Duration, Instant};

// The C library's own declarations of these functions.
unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn mincore(address: *mut c_void, length: usize, states: *mut c_uchar) -> c_int;
    fn getpagesize() -> c_int;
    fn getrusage(who: c_int, usage: *mut Usage) -> c_int;
    fn pthread_create(
        thread: *mut c_ulong,
        attributes: *const c_void,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: c_ulong, result: *mut *mut c_void) -> c_int;
    fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
    fn sched_setaffinity(pid: c_int, bytes: usize, set: *const u64) -> c_int;
}

/// `struct rusage` of Linux: two times, then 14 numbers of which the fifth counts minor faults and the sixth major ones.
#[repr(C)]
#[derive(Default)]
struct Usage {
    times: [c_long; 4],
    numbers: [c_long; 14],
}

/// Page faults of the calling thread so far.
#[cfg(target_os = "linux")]
pub(crate) fn page_faults() -> u64 {
    const RUSAGE_THREAD: c_int = 1;
    let mut usage = Usage::default();
    // SAFETY: `usage` has the layout that the call fills.
    assert_eq!(unsafe { getrusage(RUSAGE_THREAD, &raw mut usage) }, 0);
    (usage.numbers[4] + usage.numbers[5]) as u64
}

/// Allows this process no more than `bytes` of address space.
#[cfg(target_os = "linux")]
pub(crate) fn limit_address_space(bytes: u64) {
    const RLIMIT_AS: c_int = 9;
    let limits = [bytes; 2];
    // SAFETY: the two limits live until the call returns.
    assert_eq!(unsafe { setrlimit(RLIMIT_AS, &raw const limits) }, 0);
}

/// Keeps the calling thread, and those it starts, on the first processor.
#[cfg(target_os = "linux")]
pub(crate) fn use_one_processor() {
    let first: u64 = 1;
    // SAFETY: a set of 64 processors, which lives until the call returns.
    let done = unsafe { sched_setaffinity(0, size_of::<u64>(), &raw const first) };
    assert_eq!(done, 0);
}

/// Bytes of a page.
pub(crate) fn page_size() -> usize {
    // SAFETY: the call only returns a number.
    unsafe { getpagesize() as usize }
}

/// A field of `/proc/self/statm`, in bytes.
fn statm(field: usize) -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(field).unwrap().parse().unwrap();
    pages * page_size() as u64
}

/// Runs `work` on a thread that Rust did not start, and waits for its end.
#[cfg(target_os = "linux")]
pub(crate) fn on_foreign_thread(mut work: impl FnMut() + Send) {
    extern "C" fn start<F: FnMut()>(work: *mut c_void) -> *mut c_void {
        // SAFETY: the closure of the call below, which waits for this thread's end.
        unsafe { (*work.cast::<F>())() };
        std::ptr::null_mut()
    }
    fn start_of<F: FnMut()>(_: &F) -> extern "C" fn(*mut c_void) -> *mut c_void {
        start::<F>
    }
    let mut thread = 0;
    let (entry, argument) = (start_of(&work), (&raw mut work).cast());
    // SAFETY: the thread's argument is what its entry expects and lives until the join.
    unsafe {
        let (attributes, result) = (std::ptr::null(), std::ptr::null_mut());
        assert_eq!(
            pthread_create(&raw mut thread, attributes, entry, argument),
            0
        );
        assert_eq!(pthread_join(thread, result), 0);
    }
}

/// Bytes of memory that this process has resident.
pub(crate) fn resident() -> u64 {
    statm(1)
}

/// How many pages of `bytes` from `address` on are resident; `None` when some of it is not mapped.
pub(crate) fn resident_pages(address: usize, bytes: usize) -> Option<usize> {
    let start = address & !(page_size() - 1);
    let length = address + bytes - start;
    let mut states = vec![0; length.div_ceil(page_size())];
    // SAFETY: the call reads no memory of the range, and `states` has a byte for each of its pages.
    let done = unsafe { mincore(start as *mut c_void, length, states.as_mut_ptr()) };
    (done == 0).then(|| states.iter().filter(|&state| state & 1 != 0).count())
}

/// Tells whether a pool has been unmapped, by the size of the process: the pool is so large that nothing else matters
/// beside it. (A single address will not do: it may be mapped again for some thread's stack.)
pub(crate) struct Watch {
    before: u64,
}

impl Watch {
    /// The capacity of a pool that is watched.
    pub(crate) const CAPACITY: u64 = 1 << 30;

    fn process_size() -> u64 {
        statm(0)
    }

    /// To be called before the pool is built.
    pub(crate) fn start() -> Self {
        Self {
            before: Self::process_size(),
        }
    }

    /// Whether the pool's address space is still taken.
    pub(crate) fn is_mapped(&self) -> bool {
        Self::process_size() > self.before + Self::CAPACITY / 2
    }
}

/// A forked child that has not been waited for.
pub(crate) struct Child(c_int);

/// Runs `work` in a forked child, which exits with 0 if it returns true, 1 if not, 2 if it panics.
pub(crate) fn fork_child(work: impl FnOnce() -> bool) -> Child {
    // SAFETY: the child only runs `work`, of the caller's making, and leaves without returning.
    match unsafe { fork() } {
        0 => {
            let work = std::panic::AssertUnwindSafe(work);
            let status = std::panic::catch_unwind(work).map_or(2, |good| i32::from(!good));
            // SAFETY: ends the process at once.
            unsafe { _exit(status) }
        }
        pid => {
            assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
            Child(pid)
        }
    }
}

impl Child {
    /// Waits for the child's end and checks that it did well. A child that hangs is killed, and that is a failure.
    #[track_caller]
    pub(crate) fn assert_success(self) {
        const NO_HANG: c_int = 1;
        const KILL: c_int = 9;
        let deadline = Instant::now() + Duration::from_secs(40);
        let mut status = 0;
        loop {
            // SAFETY: `status` is for the call to write; the child is this process's.
            match unsafe { waitpid(self.0, &raw mut status, NO_HANG) } {
                0 if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                0 => {
                    // SAFETY: the child is this process's and not yet waited for, so the number is still its own.
                    unsafe {
                        kill(self.0, KILL);
                        waitpid(self.0, &raw mut status, 0);
                    }
                    panic!("a forked child hangs");
                }
                pid => {
                    assert_eq!(pid, self.0);
                    assert_eq!(status, 0, "a forked child failed");
                    return;
                }
            }
        }
    }
}
