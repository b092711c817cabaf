//! Watermarks.

use crate::LONG;
use crate::common::{SMALL_LARGEST, SMALL_SLAB, assert_all_home, fill, pool_with_magazines};
use mbuf::{BuildError, Mbuf, Pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// What a pool with watermarks has told so far.
#[derive(Default)]
struct Log {
    is_low: AtomicBool,
    calls: AtomicU64,
    /// Calls that did not alternate. A panic in one would go no further.
    wrong: AtomicU64,
}

impl Log {
    fn note(&self, low: bool) {
        let is_wrong = self.is_low.swap(low, Ordering::AcqRel) == low;
        self.wrong.fetch_add(is_wrong.into(), Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    #[track_caller]
    fn assert(&self, is_low: bool, calls: u64) {
        assert_eq!(self.wrong.load(Ordering::Relaxed), 0, "calls alternate");
        assert_eq!(self.is_low.load(Ordering::Acquire), is_low);
        assert_eq!(self.calls.load(Ordering::Relaxed), calls);
    }
}

/// A pool of 16 slabs that is low under 4 and recovered from 8 on.
fn marked_pool(magazine: u32) -> (Pool, Arc<Log>) {
    let log = Arc::new(Log::default());
    let (low, recovered) = (log.clone(), log.clone());
    let builder = Pool::builder()
        .capacity(16 * SMALL_SLAB)
        .magazine_size(magazine)
        .watermarks(4 * SMALL_SLAB, 8 * SMALL_SLAB)
        .on_low(move || low.note(true))
        .on_recovered(move || recovered.note(false));
    (builder.build().unwrap(), log)
}

#[test]
fn crossing_a_watermark_is_told_once() {
    for size in [64, 5000, SMALL_LARGEST + 1] {
        let (pool, log) = marked_pool(8);
        let each = block_bytes(size);
        for round in 0..3 {
            let mut held = Vec::new();
            let bytes = |held: &Vec<Mbuf>| held.len() as u64 * each;
            while bytes(&held) < 11 * SMALL_SLAB {
                held.push(pool.alloc(size).unwrap());
            }
            log.assert(false, 2 * round);
            while bytes(&held) < 13 * SMALL_SLAB {
                held.push(pool.alloc(size).unwrap());
            }
            log.assert(true, 2 * round + 1);
            // Between the marks nothing happens, however often.
            for _ in 0..3 {
                while bytes(&held) > 9 * SMALL_SLAB {
                    held.pop();
                }
                while bytes(&held) < 13 * SMALL_SLAB {
                    held.push(pool.alloc(size).unwrap());
                }
            }
            log.assert(true, 2 * round + 1);
            while bytes(&held) > 6 * SMALL_SLAB {
                held.pop();
            }
            log.assert(false, 2 * round + 2);
            drop(held);
        }
        assert_all_home(&pool);
    }
}

/// Bytes that an mbuf of `size` takes.
fn block_bytes(size: usize) -> u64 {
    let pool = pool_with_magazines(SMALL_SLAB, 1);
    SMALL_SLAB / fill(&pool, size).len() as u64
}

#[test]
fn calls_alternate_whatever_threads_do() {
    let (pool, log) = marked_pool(4);
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let pool = pool.clone();
            thread::spawn(move || {
                for _ in 0..200 {
                    let size = [64, 700, 5000, SMALL_SLAB as usize][i];
                    drop(fill(&pool, size));
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert!(log.calls.load(Ordering::Relaxed) > 2);
    // A thread may be joined before its caches are back.
    let start = Instant::now();
    while log.is_low.load(Ordering::Acquire) && start.elapsed() < LONG {
        pool.trim();
    }
    assert!(
        !log.is_low.load(Ordering::Acquire),
        "the recovery was not told"
    );
    assert_all_home(&pool);
}

#[test]
fn who_is_told_may_use_the_pool() {
    static POOL: std::sync::OnceLock<Pool> = std::sync::OnceLock::new();
    static SPARE: std::sync::Mutex<Vec<Mbuf>> = std::sync::Mutex::new(Vec::new());
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let use_pool = || {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let pool = POOL.get().unwrap();
        // Takes and frees in the size that is being allocated, and others.
        let some: Vec<_> = [0, 64, 700]
            .iter()
            .flat_map(|&size| (0..40).map(move |_| pool.alloc(size)))
            .collect();
        drop(some);
        pool.trim();
    };
    let builder = Pool::builder().capacity(16 * SMALL_SLAB).magazine_size(8);
    let pool = builder
        .watermarks(4 * SMALL_SLAB, 8 * SMALL_SLAB)
        .on_low(move || {
            use_pool();
            SPARE.lock().unwrap().clear();
        })
        .on_recovered(use_pool)
        .build()
        .unwrap();
    POOL.set(pool.clone()).unwrap();
    for _ in 0..20 {
        for _ in 0..4000 {
            let mbuf = pool.alloc(64).unwrap();
            SPARE.lock().unwrap().push(mbuf);
            let mbuf = pool.alloc(64);
            drop(mbuf);
        }
        // The last are freed outside of the lock.
        let rest = std::mem::take(&mut *SPARE.lock().unwrap());
        drop(rest);
    }
    assert!(CALLS.load(Ordering::Relaxed) > 20);
    assert_all_home(&pool);
}

#[test]
fn a_pool_without_handles_calls_nobody() {
    let (pool, log) = marked_pool(8);
    let held = fill(&pool, 64);
    log.assert(true, 1);
    drop(pool);
    drop(held);
    log.assert(true, 1);
    assert_eq!(Arc::strong_count(&log), 1, "the calls went with the pool");
}

#[test]
fn watermarks_are_in_order() {
    let build = |low, high| {
        let builder = Pool::builder().capacity(4 * SMALL_SLAB);
        builder.watermarks(low, high).build()
    };
    assert!(build(1, 4 * SMALL_SLAB).is_ok());
    assert_eq!(build(2, 1).unwrap_err(), BuildError::Watermarks);
    assert!(build(1, 4 * SMALL_SLAB + 1).is_err());
}

#[test]
fn a_call_that_panics_loses_nothing() {
    let builder = Pool::builder()
        .capacity(16 * SMALL_SLAB)
        .watermarks(4 * SMALL_SLAB, 8 * SMALL_SLAB)
        .on_low(|| panic!("on purpose"))
        .on_recovered(|| panic!("on purpose"));
    let pool = builder.build().unwrap();
    for size in [64, 5000, SMALL_LARGEST + 1] {
        let held = fill(&pool, size);
        assert!(held.len() > 8);
        drop(held);
    }
    assert_all_home(&pool);
}
