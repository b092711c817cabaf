//! Forked children: each goes on with its own copy of every pool, and the parent never notices.
#![cfg(all(not(loom), target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::system::{Child, Watch, fork_child, limit_address_space};
use common::{Random, alone, assert_all_home, assert_numbers, holding, numbered_chain, pool};
use mbuf::{BuildError, Mbuf, Pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Allocates, copies, chains and frees in a way that goes through magazines, depot and slabs.
fn work(pool: &Pool, seed: u64) -> bool {
    let mut random = Random::new(seed);
    let mut held: Vec<Mbuf> = Vec::new();
    for _ in 0..600 {
        match random.below(8) {
            0 => held.extend(held.last().map(|mbuf| mbuf.copy_ref().unwrap())),
            1 => held.push(numbered_chain(pool, 1 + random.below(5))),
            2 => held.push(pool.alloc_zeroed(random.below(100_000)).unwrap()),
            3..=5 => held.push(holding(pool, &[seed as u8; 100])),
            _ => drop((random.below(2) == 0).then(|| held.pop())),
        }
        if held.len() > 100 {
            held.drain(..60);
        }
    }
    true
}

#[test]
fn a_child_goes_on_with_the_pools_of_its_parent() {
    let _alone = alone();
    let pool = pool(64 << 20);
    assert!(work(&pool, 1));
    let chain = numbered_chain(&pool, 5);
    let mut mine = holding(&pool, b"parent");
    let before = pool.stats();
    let child = fork_child(|| {
        assert_numbers(&chain, 0..5);
        assert_eq!(mine.data(), b"parent");
        assert_eq!(pool.stats(), before);
        // What it writes and frees is its own copy.
        let mut copy = chain.copy_ref().unwrap();
        copy.make_unique().unwrap();
        mine.data_mut().unwrap().fill(b'c');
        drop(copy);
        let all = common::fill(&pool, 1000).len();
        all > 1000 && work(&pool, 2) && work(Pool::global().unwrap(), 3)
    });
    child.assert_success();
    assert_eq!(pool.stats(), before);
    assert_eq!(mine.data(), b"parent");
    assert_numbers(&chain, 0..5);
    drop((chain, mine));
    assert_all_home(&pool);
}

#[test]
fn a_child_can_end_its_pools_and_make_new_ones() {
    let _alone = alone();
    let watch = Watch::start();
    let old = pool(Watch::CAPACITY);
    let kept = holding(&old, b"kept");
    let mut owned = Some((old, kept));
    let child = fork_child(|| {
        let new = pool(16 << 20);
        let good = work(&new, 4) && thread_works(&new);
        assert_all_home(&new);
        let (old, kept) = owned.take().unwrap();
        drop(old);
        assert_eq!(kept.data(), b"kept");
        drop(kept);
        good && !watch.is_mapped()
    });
    child.assert_success();
    assert!(watch.is_mapped());
    let (old, kept) = owned.unwrap();
    assert_eq!(kept.data(), b"kept");
    assert_eq!(old.close(), 1);
}

/// Whether a thread of a child does as well as one of any process.
fn thread_works(pool: &Pool) -> bool {
    let pool = pool.clone();
    thread::spawn(move || work(&pool, 5)).join().unwrap()
}

#[test]
fn children_of_a_busy_process_work_and_end() {
    let _alone = alone();
    const CHILDREN: u64 = 60;
    let pool = pool(256 << 20);
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let (pool, stop) = (pool.clone(), stop.clone());
            thread::spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    assert!(work(&pool, seed + 10 * round));
                    if round % 8 == seed {
                        pool.trim();
                    }
                    round += 1;
                }
            })
        })
        .collect();
    for number in 0..CHILDREN {
        let child = fork_child(|| {
            let stats = pool.stats();
            // Other threads' mbufs are lost to the child, but for that it has all it wants.
            stats.in_use < 100_000 && work(&pool, number) && work(&pool, !number)
        });
        child.assert_success();
    }
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_all_home(&pool);
}

#[test]
fn a_child_of_a_process_whose_threads_exhaust_the_pool_does_not_hang() {
    let _alone = alone();
    const CHILDREN: usize = 12;
    let pool = common::pool_with_magazines(1 << 20, 4);
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = [700, 1280, 5000, 70_000]
        .into_iter()
        .map(|size| {
            let (pool, stop) = (pool.clone(), stop.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    drop(common::fill(&pool, size));
                }
            })
        })
        .collect();
    // Whatever the others were in the middle of, there is an answer to each call of a child.
    let children: Vec<_> = (0..CHILDREN)
        .map(|_| {
            fork_child(|| {
                for size in [0, 700, 1280, 5000, 70_000] {
                    drop(common::fill(&pool, size));
                }
                pool.trim();
                true
            })
        })
        .collect();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    children.into_iter().for_each(Child::assert_success);
    assert_all_home(&pool);
}

#[test]
fn a_process_without_addresses_gets_an_error_and_goes_on() {
    let _alone = alone();
    let child = fork_child(|| {
        limit_address_space(4 << 30);
        let small = pool(16 << 20);
        let refused = Pool::builder().capacity(64 << 30).build();
        let refused = refused.map(drop).unwrap_err();
        assert!(matches!(refused, BuildError::Reserve(_)), "{refused:?}");
        assert!(refused.to_string().contains("address space"));
        // The default is too large here as well; the error repeats until there is room.
        for _ in 0..2 {
            assert!(matches!(Pool::global(), Err(BuildError::Reserve(_))));
        }
        work(&small, 6)
    });
    child.assert_success();
}
