//! What the integration tests share: pools, fills, the conservation laws, and what the system says of memory.
#![allow(dead_code, reason = "each test file uses its own part of this")]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

pub(crate) mod stamp;
pub(crate) mod system;

use mbuf::{AllocError, ClassStats, Mbuf, Pool, Stats};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes of an mbuf's header.
pub(crate) const HEADER: u64 = 192;

/// The slab, and so the capacity, of the smallest pools.
pub(crate) const SMALL_SLAB: u64 = 64 << 10;

/// The most data a class of a pool with the smallest slabs carries; more is a span.
pub(crate) const SMALL_LARGEST: usize = (SMALL_SLAB / 2 - HEADER) as usize;

pub(crate) fn pool(capacity: u64) -> Pool {
    Pool::builder().capacity(capacity).build().unwrap()
}

pub(crate) fn pool_with_magazines(capacity: u64, magazine: u32) -> Pool {
    let builder = Pool::builder().capacity(capacity);
    builder.magazine_size(magazine).build().unwrap()
}

/// An mbuf that holds `bytes` and no more.
pub(crate) fn holding(pool: &Pool, bytes: &[u8]) -> Mbuf {
    let mut mbuf = pool.alloc(bytes.len()).unwrap();
    mbuf.extend_from_slice(bytes).unwrap();
    mbuf
}

/// A chain of `n` segments of which each holds its own number in its data, user area and timestamp.
pub(crate) fn numbered_chain(pool: &Pool, n: usize) -> Mbuf {
    let one = |i: usize| {
        let mut mbuf = holding(pool, &[i as u8; 8]);
        mbuf.user_mut()[95] = i as u8;
        mbuf.set_timestamp(i as u64);
        mbuf
    };
    let mut chain = one(0);
    for i in 1..n {
        chain.append(one(i)).unwrap();
    }
    chain
}

/// Checks that `chain` consists of the segments of a [`numbered_chain`] with these numbers, and no others.
#[track_caller]
pub(crate) fn assert_numbers(chain: &Mbuf, numbers: impl IntoIterator<Item = usize>) {
    let expected: Vec<_> = numbers.into_iter().collect();
    assert_eq!(chain.segment_count(), expected.len());
    assert_eq!(chain.segments().len(), expected.len());
    assert_eq!(chain.total_len(), 8 * expected.len());
    let found: Vec<_> = chain
        .segments()
        .map(|segment| {
            let number = usize::from(segment.user()[95]);
            assert_eq!(segment.data(), [number as u8; 8]);
            assert_eq!(segment.timestamp(), number as u64);
            number
        })
        .collect();
    assert_eq!(found, expected);
}

/// Allocates until the pool is exhausted.
pub(crate) fn fill(pool: &Pool, size: usize) -> Vec<Mbuf> {
    let mut all = Vec::new();
    loop {
        match pool.alloc(size) {
            Ok(mbuf) => all.push(mbuf),
            Err(error) => {
                assert_eq!(error, AllocError::Exhausted);
                return all;
            }
        }
    }
}

/// How many mbufs of `size` bytes a pool like `pool` serves when nothing else ever used it.
pub(crate) fn fresh_count(capacity: u64, size: usize) -> usize {
    fill(&pool(capacity), size).len()
}

/// Checks the conservation laws and that the totals are the sums of their lines. The pool is quiet.
#[track_caller]
pub(crate) fn assert_conserved(pool: &Pool) -> Stats {
    let stats = pool.stats();
    let lines = || stats.classes.iter().chain([&stats.span_class]);
    for line in lines() {
        let free = line.cached + line.in_depot;
        assert_eq!(line.carved, line.in_use + free, "{stats}");
        assert_eq!(line.in_use, line.allocs - line.frees, "{stats}");
    }
    let sum = |of: fn(&ClassStats) -> u64| lines().map(of).sum::<u64>();
    assert_eq!(stats.carved, sum(|line| line.carved), "{stats}");
    assert_eq!(stats.in_use, sum(|line| line.in_use), "{stats}");
    assert_eq!(stats.cached, sum(|line| line.cached), "{stats}");
    assert_eq!(stats.in_depot, sum(|line| line.in_depot), "{stats}");
    assert_eq!(stats.allocs, sum(|line| line.allocs), "{stats}");
    assert_eq!(stats.frees, sum(|line| line.frees), "{stats}");
    assert_eq!(stats.slabs, sum(|line| line.slabs), "{stats}");
    assert!(stats.slabs * stats.slab_size <= stats.capacity, "{stats}");
    stats
}

/// As [`assert_conserved`], and nothing is in use.
#[track_caller]
pub(crate) fn assert_all_home(pool: &Pool) -> Stats {
    let stats = assert_conserved(pool);
    assert_eq!(stats.in_use, 0, "{stats}");
    stats
}

/// The class's line of which an mbuf of `size` bytes is, among those that were used: the smallest that holds it.
pub(crate) fn line_for(stats: &Stats, size: u64) -> &ClassStats {
    let lines = stats.classes.iter();
    lines
        .filter(|line| line.data_capacity >= size)
        .min_by_key(|line| line.data_capacity)
        .unwrap_or(&stats.span_class)
}

/// Checks that `work` is done within `limit`, which is wide enough for a busy machine.
#[track_caller]
pub(crate) fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    assert!(took < limit, "took {took:?}, not {limit:?}");
    done
}

/// A thread that has done something with the pool and then neither ends nor uses it until it is dropped.
pub(crate) struct Idle {
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Idle {
    /// Starts a thread, waits until it has done `work`, and lets it keep what that returned.
    pub(crate) fn after<T: 'static>(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (release, released) = channel();
        let (done, is_done) = channel();
        let thread = thread::spawn(move || {
            let kept = work();
            done.send(()).unwrap();
            let _ = released.recv();
            drop(kept);
        });
        is_done.recv().unwrap();
        Self {
            release: Some(release),
            thread: Some(thread),
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.release.take();
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Held by a test that looks at what belongs to the whole process, so that the file's other tests do not disturb it.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Random numbers that are the same in every run (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}
