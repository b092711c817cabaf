//! Threads, pools and mbufs that end in any order: nothing is lost, nothing grows, and no arena outlives its last mbuf.
#![cfg(all(not(loom), target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::system::{Watch, on_foreign_thread, resident};
use common::{Random, SMALL_SLAB, alone, assert_all_home, assert_numbers, holding, numbered_chain};
use common::{pool, pool_with_magazines};
use mbuf::{LocalPool, Mbuf, Pool};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
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
fn mbufs_outlive_their_pools_last_handle_and_the_arena_goes_with_the_last_of_them() {
    let _alone = alone();
    for size in [0, 64, 5000, 100_000] {
        let watch = Watch::start();
        let pool = pool(Watch::CAPACITY);
        let mut first = pool.alloc_zeroed(size).unwrap();
        let second = pool.alloc(size).unwrap();
        let copy = first.copy_ref().unwrap();
        drop(pool);
        assert!(watch.is_mapped());
        assert_eq!(copy.data().len(), size);
        first.user_mut()[95] = 1;
        first.append(second).unwrap();
        drop(first);
        assert!(watch.is_mapped(), "the copy's data");
        thread::spawn(move || drop(copy)).join().unwrap();
        assert!(!watch.is_mapped());
    }
}

#[test]
fn mbufs_without_a_pool_can_be_copied_and_made_unique_for_ever() {
    let _alone = alone();
    // Far more often than the pool has blocks.
    const TIMES: usize = 5000;
    let pool = pool(SMALL_SLAB * 2);
    let mut chain = numbered_chain(&pool, 3);
    drop(pool);
    for time in 0..TIMES {
        let copy = chain.copy_ref();
        let copy = copy.unwrap_or_else(|error| panic!("{error} at copy {time}"));
        assert_numbers(&copy, 0..3);
        if time % 10 == 0 {
            let done = chain.make_unique();
            done.unwrap_or_else(|error| panic!("{error} at copy {time}"));
        }
    }
    assert_numbers(&chain, 0..3);
}

#[test]
fn pools_dropped_while_other_threads_free_into_them_are_unmapped() {
    let _alone = alone();
    const ROUNDS: usize = 150;
    const THREADS: usize = 3;
    let mut random = Random::new(6);
    for round in 0..ROUNDS {
        let watch = Watch::start();
        let pool = pool_with_magazines(Watch::CAPACITY, 8 + round as u32 % 9);
        let start = Arc::new(Barrier::new(THREADS + 1));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let n = random.below(60);
                let mut mbufs: Vec<_> = (0..n).map(|i| pool.alloc(i * 40).unwrap()).collect();
                mbufs.push(numbered_chain(&pool, 3));
                let copies: Vec<_> = mbufs.iter().map(|m| m.copy_ref().unwrap()).collect();
                mbufs.extend(copies);
                random.shuffle(&mut mbufs);
                let start = start.clone();
                // Some of them have caches of the pool, and some hold a handle for a while.
                let handle = (random.below(2) == 0).then(|| pool.clone());
                thread::spawn(move || {
                    let used = handle.as_ref().map(|pool| pool.alloc(10).unwrap());
                    drop(used);
                    start.wait();
                    drop(handle);
                    drop(mbufs);
                })
            })
            .collect();
        start.wait();
        drop(pool);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert!(!watch.is_mapped(), "in round {round}");
    }
}

#[test]
fn a_pool_ends_although_threads_that_used_it_live_on() {
    let _alone = alone();
    for _ in 0..50 {
        let watch = Watch::start();
        let pool = pool(Watch::CAPACITY);
        let (give, take) = channel::<(Mbuf, Mbuf)>();
        let (send, freed) = channel();
        let user = pool.clone();
        let idle = thread::spawn(move || {
            // The thread has a cache of the pool, frees the last mbufs, and goes on living.
            drop(user.alloc(64).unwrap());
            drop(user);
            for pair in take {
                drop(pair);
                send.send(()).unwrap();
            }
        });
        let pair = (pool.alloc(64).unwrap(), pool.alloc(0).unwrap());
        drop(pool);
        assert!(watch.is_mapped());
        give.send(pair).unwrap();
        freed.recv().unwrap();
        assert!(!watch.is_mapped());
        drop(give);
        idle.join().unwrap();
    }
}

#[test]
fn three_hundred_pools_live_side_by_side_on_one_thread() {
    let _alone = alone();
    let mut random = Random::new(7);
    let watch = Watch::start();
    // Large ones in all, so that it shows when they are gone.
    let pools: Vec<_> = (0..300).map(|_| pool(Watch::CAPACITY / 64)).collect();
    let mut mbufs = Vec::new();
    for round in 0..10 {
        for (number, pool) in pools.iter().enumerate() {
            let mut mbuf = holding(pool, &[number as u8; 10]);
            mbuf.set_timestamp(number as u64);
            mbufs.push(mbuf);
        }
        random.shuffle(&mut mbufs);
        for mbuf in mbufs.drain(..200 + round) {
            assert_eq!(mbuf.data(), [mbuf.timestamp() as u8; 10]);
        }
    }
    let mut in_use = 0;
    for pool in pools {
        in_use += pool.close();
    }
    assert_eq!(in_use, mbufs.len() as u64);
    assert!(watch.is_mapped());
    drop(mbufs);
    assert!(!watch.is_mapped());
}

#[test]
fn pools_come_and_go_without_growth() {
    let _alone = alone();
    let mut early = None;
    for number in 0..1500 {
        // Pools that take one another's place, of which this thread has known all.
        let pool = pool(1 << 20);
        let mut mbuf = pool.alloc(100).unwrap();
        mbuf.user_mut()[0] = 1;
        mbuf.append(pool.alloc(number * 10).unwrap()).unwrap();
        if number % 2 == 0 {
            drop(pool);
            drop(mbuf);
        } else {
            drop(mbuf);
            assert_eq!(pool.close(), 0);
        }
        if number == 100 {
            early = Some((Watch::start(), resident()));
        }
    }
    let (size, resident_early) = early.unwrap();
    assert!(!size.is_mapped());
    assert!(resident() <= resident_early + (1 << 20));
}

#[test]
fn threads_with_many_pools_each_pass_mbufs_of_all() {
    let _alone = alone();
    const THREADS: usize = 4;
    let pools: Arc<Vec<_>> = Arc::new((0..100).map(|_| pool(1 << 20)).collect());
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let pools = pools.clone();
            thread::spawn(move || {
                let mut random = Random::new(seed as u64);
                let mut kept = Vec::new();
                for _ in 0..4000 {
                    let number = random.below(pools.len());
                    let mut mbuf = holding(&pools[number], &[number as u8; 20]);
                    mbuf.set_timestamp(number as u64);
                    kept.push(mbuf);
                    if kept.len() > 50 {
                        let which = random.below(kept.len());
                        let mbuf = kept.swap_remove(which);
                        assert_eq!(mbuf.data(), [mbuf.timestamp() as u8; 20]);
                    }
                }
                kept
            })
        })
        .collect();
    let kept: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let in_use: u64 = pools.iter().map(|pool| pool.stats().in_use).sum();
    assert_eq!(in_use, THREADS as u64 * 50);
    drop(kept);
    pools.iter().for_each(|pool| drop(assert_all_home(pool)));
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
fn handles_are_cloned_and_dropped_by_many_threads() {
    let _alone = alone();
    let watch = Watch::start();
    let pool = pool(Watch::CAPACITY);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || {
                for _ in 0..500 {
                    let again = pool.clone();
                    assert_eq!(again, pool);
                    drop(again.local().alloc(100).unwrap());
                }
            })
        })
        .collect();
    drop(pool);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(!watch.is_mapped());
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
