//! Pools and mbufs that end in any order, on any threads: no arena outlives its last mbuf, and none goes before.
#![cfg(all(not(loom), target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::system::{Watch, resident};
use common::{Random, SMALL_SLAB, alone, assert_all_home, assert_numbers, holding, numbered_chain};
use common::{pool, pool_with_magazines};
use mbuf::Mbuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

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
fn what_a_thread_has_cached_of_a_pool_without_handles_serves_its_copies() {
    let _alone = alone();
    let pool = pool(SMALL_SLAB * 2);
    let original = pool.alloc_zeroed(32_000).unwrap();
    let mut copy = original.copy_ref().unwrap();
    // The only other block of its size, and now in this thread's magazine.
    drop(pool.alloc(32_000).unwrap());
    drop(pool);
    copy.make_unique().unwrap();
    copy.data_mut().unwrap().fill(1);
    assert_eq!(original.data(), [0; 32_000]);
}

#[test]
fn however_many_mbufs_are_out_the_last_of_them_ends_the_pool() {
    let _alone = alone();
    for count in [1, 2, 63, 64, 65, 1000, 20_000] {
        for threads in [1, 4] {
            let watch = Watch::start();
            let pool = pool(Watch::CAPACITY);
            let mut mbufs = Vec::new();
            pool.alloc_bulk(100, count, &mut mbufs).unwrap();
            let last = pool.alloc(100).unwrap();
            drop(pool);
            let share = mbufs.len() / threads;
            let parts = (0..threads).map(|_| mbufs.split_off(mbufs.len() - share));
            let freeing: Vec<_> = parts
                .map(|part| thread::spawn(move || drop(part)))
                .collect();
            freeing.into_iter().for_each(|t| t.join().unwrap());
            drop(mbufs);
            assert!(watch.is_mapped());
            drop(last);
            assert!(!watch.is_mapped(), "{count} on {threads} threads");
        }
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
fn a_free_at_the_very_moment_the_last_handle_goes_is_not_missed_for_good() {
    let _alone = alone();
    for round in 0..2000 {
        let watch = Watch::start();
        let pool = pool(Watch::CAPACITY);
        let user = pool.clone();
        let go = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let gone = go.clone();
        let other = thread::spawn(move || {
            let mbufs = [user.alloc(64).unwrap(), user.alloc(64).unwrap()];
            drop(user);
            ready.send(()).unwrap();
            while !gone.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            drop(mbufs);
        });
        is_ready.recv().unwrap();
        go.store(true, Ordering::Relaxed);
        // Later in each round, so that it sometimes meets the free.
        (0..round % 100).for_each(|_| std::hint::spin_loop());
        drop(pool);
        other.join().unwrap();
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
