//! Threads that come and go: each leaves all that it had cached, and alloc and free work until its very end.
#![cfg(all(not(loom), target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::system::{Watch, on_foreign_thread, resident};
use common::{SMALL_SLAB, alone, assert_all_home, assert_numbers, holding, numbered_chain};
use common::{pool, pool_with_magazines};
use mbuf::{LocalPool, Mbuf, Pool};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;

#[test]
fn twenty_thousand_threads_come_and_go_without_growth() {
    let _alone = alone();
    const THREADS: usize = 20_000;
    let pool = pool(64 << 20);
    let mut at_first = None;
    for number in 0..THREADS {
        let user = pool.clone();
        thread::spawn(move || {
            let mbuf = holding(&user, b"short life");
            let copy = mbuf.copy_ref().unwrap();
            drop(mbuf);
            drop(copy);
        })
        .join()
        .unwrap();
        if number == THREADS / 10 {
            at_first = Some((assert_all_home(&pool), resident()));
        }
    }
    let (first, resident_first) = at_first.unwrap();
    let last = assert_all_home(&pool);
    assert_eq!((last.carved, last.slabs), (first.carved, first.slabs));
    assert_eq!(last.reserved, first.reserved);
    assert_eq!(last.allocs, 2 * THREADS as u64);
    assert!(resident() <= resident_first + (1 << 20));
}

#[test]
fn a_thread_that_ends_leaves_all_of_its_cache_to_others() {
    let _alone = alone();
    let pool = pool(SMALL_SLAB * 4);
    let all = common::fresh_count(SMALL_SLAB * 4, 1000);
    for _ in 0..3 {
        let user = pool.clone();
        thread::spawn(move || drop(common::fill(&user, 1000)))
            .join()
            .unwrap();
        let stats = assert_all_home(&pool);
        assert_eq!((stats.cached, stats.in_depot), (0, all as u64));
        let mut held = Vec::new();
        pool.alloc_bulk(1000, all, &mut held).unwrap();
        let user = pool.clone();
        thread::spawn(move || drop((held, user))).join().unwrap();
        assert_eq!(assert_all_home(&pool).cached, 0);
    }
}

#[test]
fn a_thread_that_rust_did_not_start_has_a_cache_and_returns_it() {
    let _alone = alone();
    let pool = pool(4 << 20);
    let mut cached = 0;
    on_foreign_thread(|| {
        drop(pool.alloc(64).unwrap());
        cached = pool.stats().cached;
    });
    assert_eq!(cached, 1);
    let stats = assert_all_home(&pool);
    assert_eq!((stats.cached, stats.in_depot), (0, 1));
}

/// Allocates and frees when its thread's locals are destroyed.
struct Late {
    pool: Pool,
    kept: Option<Mbuf>,
    local: Option<LocalPool>,
}

impl Late {
    fn new(pool: &Pool, with_local: bool) -> Self {
        Self {
            pool: pool.clone(),
            kept: None,
            local: with_local.then(|| pool.local()),
        }
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        let kept = self.kept.take().unwrap();
        assert_eq!(kept.data(), b"kept");
        let mut copy = kept.copy_ref().unwrap();
        drop(kept);
        assert!(copy.data_mut().is_some());
        let chain = numbered_chain(&self.pool, 3);
        assert_numbers(&chain, 0..3);
        drop(chain);
        // A handle made now, when there may be no cache left, works too.
        let late = self.pool.local();
        late.free(late.alloc_zeroed(100_000).unwrap());
        late.free(late.alloc(5).unwrap());
        if let Some(local) = &self.local {
            let mut several = Vec::new();
            local.alloc_bulk(300, 200, &mut several).unwrap();
            several.into_iter().for_each(|mbuf| local.free(mbuf));
            local.free(copy);
        }
    }
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Runs a thread whose local destructor uses the pool, registered before or after the pool's own.
fn thread_with_late_use(pool: &Pool, with_local: bool, user_first: bool) {
    let pool = pool.clone();
    let body = move || {
        if user_first {
            LATE.with(|late| late.borrow_mut().take());
        } else {
            drop(pool.alloc(64).unwrap());
        }
        LATE.with(|late| {
            let mut new = Late::new(&pool, with_local);
            new.kept = Some(holding(&pool, b"kept"));
            *late.borrow_mut() = Some(new);
        });
    };
    thread::spawn(body).join().unwrap();
}

#[test]
fn alloc_and_free_work_in_a_late_thread_local_destructor() {
    let _alone = alone();
    for with_local in [false, true] {
        for user_first in [false, true] {
            let pool = pool_with_magazines(4 << 20, 16);
            for _ in 0..50 {
                thread_with_late_use(&pool, with_local, user_first);
                let stats = assert_all_home(&pool);
                assert_eq!(stats.cached, 0, "{with_local} {user_first}\n{stats}");
            }
            let carved = pool.stats().carved;
            for _ in 0..200 {
                thread_with_late_use(&pool, with_local, user_first);
            }
            assert_eq!(pool.stats().carved, carved, "the caches came back");
        }
    }
}

#[test]
fn a_pool_whose_last_handle_goes_in_a_thread_local_destructor_is_unmapped() {
    let _alone = alone();
    for with_local in [false, true] {
        for user_first in [false, true] {
            let watch = Watch::start();
            let pool = pool(Watch::CAPACITY);
            let moved = pool.clone();
            let started = Arc::new(Barrier::new(2));
            let go = started.clone();
            let other = thread::spawn(move || {
                go.wait();
                thread_with_late_use(&moved, with_local, user_first);
            });
            drop(pool);
            started.wait();
            other.join().unwrap();
            assert!(!watch.is_mapped(), "{with_local} {user_first}");
        }
    }
}

#[test]
fn more_threads_than_caches_work_all_the_same() {
    let _alone = alone();
    const THREADS: usize = 200;
    let pool = pool_with_magazines(SMALL_SLAB * 4, 2);
    let start = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (pool, start) = (pool.clone(), start.clone());
            thread::spawn(move || {
                let local = pool.local();
                let mut held = holding(&pool, &[number as u8; 32]);
                start.wait();
                for _ in 0..20 {
                    let copy = held.copy_ref();
                    if let Ok(new) = local.alloc(32) {
                        assert_eq!(held.data(), [number as u8; 32]);
                        local.free(std::mem::replace(&mut held, new));
                        held.extend_from_slice(&[number as u8; 32]).unwrap();
                    }
                    drop(copy);
                }
                start.wait();
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let stats = assert_all_home(&pool);
    assert_eq!(stats.cached, 0);
    let all = common::fresh_count(SMALL_SLAB * 4, 1000);
    assert_eq!(common::fill(&pool, 1000).len(), all);
}

#[test]
fn the_global_pool_is_one_for_all_threads() {
    let _alone = alone();
    let start = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let start = start.clone();
            thread::spawn(move || {
                start.wait();
                let pool = Pool::global().unwrap();
                (std::ptr::from_ref(pool).addr(), holding(pool, b"global"))
            })
        })
        .collect();
    let made: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(made.iter().all(|(at, _)| *at == made[0].0));
    let mut chain = Pool::global().unwrap().alloc(0).unwrap();
    for (_, mbuf) in made {
        chain.append(mbuf).unwrap();
    }
    assert_eq!((chain.segment_count(), chain.total_len()), (5, 24));
}

#[test]
fn a_panic_frees_the_mbufs_of_its_thread_and_of_its_frames() {
    let _alone = alone();
    let pool = pool(4 << 20);
    let user = pool.clone();
    let ended = thread::spawn(move || {
        let _chain = numbered_chain(&user, 20);
        let _local = user.local();
        let _many = common::fill(&user, 50_000);
        std::panic::resume_unwind(Box::new("planned"));
    });
    assert!(ended.join().is_err());
    assert_eq!(assert_all_home(&pool).cached, 0);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let mbuf = holding(&pool, b"on the stack");
        let _copies = [mbuf.copy_ref().unwrap(), mbuf.copy_ref().unwrap()];
        std::panic::resume_unwind(Box::new("planned"));
    }));
    assert!(unwound.is_err());
    assert_all_home(&pool);
}
