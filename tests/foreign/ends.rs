//! The end of an owner: once, last, on the thread that gives up the last reference, and free to use the pool.

use super::common::{SMALL_SLAB, assert_all_home, fill, holding, pool, pool_with_magazines};
use super::{Drops, counted, ending, here};
use mbuf::{MAX_CHAIN, Mbuf, free_bulk};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

#[test]
fn an_owner_goes_with_its_last_reference_in_whatever_order() {
    let pool = pool(1 << 20);
    // Original, copy, view, view of a view: each of them is the last one once, by each way of freeing.
    for last in 0..4 {
        for way in 0..4 {
            let drops = Drops::default();
            let original = pool.wrap(counted(b"0123456789", &drops)).unwrap();
            let copy = original.copy_ref().unwrap();
            let view = original.slice(2..8).unwrap();
            let inner = view.slice(1..2).unwrap();
            let mut all = vec![original, copy, view, inner];
            let end = all.swap_remove(last);
            for mbuf in all {
                assert_eq!(drops.count(), 0);
                drop(mbuf);
            }
            assert_eq!(drops.count(), 0);
            assert!(!end.is_shared());
            assert!(
                b"0123456789"
                    .windows(end.len())
                    .any(|part| part == end.data())
            );
            match way {
                0 => drop(end),
                1 => free_bulk([end]),
                2 => pool.local().free(end),
                _ => {
                    let mut chain = holding(&pool, b"head");
                    chain.append(end).unwrap();
                    chain.append(holding(&pool, b"tail")).unwrap();
                    drop(chain);
                }
            }
            assert_eq!(drops.count(), 1);
            assert_all_home(&pool);
        }
    }
}

#[test]
fn a_full_chain_of_views_on_one_owner_ends_it_once() {
    let pool = pool(1 << 20);
    let drops = Drops::default();
    let mut chain = pool.wrap(counted(&[7; MAX_CHAIN], &drops)).unwrap();
    let mut parts = Vec::new();
    while chain.len() > 1 {
        parts.push(chain.split_to(1).unwrap());
    }
    for part in parts.into_iter().rev() {
        chain.prepend_chain(part).unwrap();
    }
    assert_eq!(
        (chain.segment_count(), chain.total_len()),
        (MAX_CHAIN, MAX_CHAIN)
    );
    let copy = chain.copy_ref().unwrap();
    chain.truncate(0);
    drop(chain);
    assert_eq!((drops.count(), copy == [7; MAX_CHAIN]), (0, true));
    drop(copy);
    assert_eq!(drops.count(), 1);
    assert_all_home(&pool);
}

#[test]
fn an_owner_is_dropped_by_the_thread_that_gives_up_the_last_reference() {
    let pool = pool(1 << 20);
    let drops = Drops::default();
    let (told, tell) = channel();
    let mut mbuf = pool
        .wrap(ending(b"far away", &drops, move || {
            told.send(here()).unwrap()
        }))
        .unwrap();
    let rest = mbuf.split_off_bytes(3).unwrap();
    drop(mbuf);
    let thread = thread::spawn(move || {
        drop(rest);
        here()
    });
    let expected = thread.join().unwrap();
    assert_eq!((tell.recv().unwrap(), drops.count()), (expected, 1));
    assert_ne!(expected, here());
    // A thread can be joined before what it cached is home.
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn an_owners_drop_uses_the_pool() {
    let pool = pool_with_magazines(SMALL_SLAB * 4, 4);
    let drops = Drops::default();
    let shared = Arc::new(holding(&pool, b"something else"));
    let inside = pool.clone();
    let kept = shared.clone();
    let act = move || {
        let copy = kept.copy_ref().unwrap();
        drop(kept.slice(1..).unwrap());
        drop(copy);
        for size in [0, 100, 1000] {
            drop(fill(&inside, size));
        }
        inside.trim();
        let mut nested = inside.wrap(vec![1; 10]).unwrap();
        nested.make_unique().unwrap();
    };
    // In the middle of a chain and of a burst, where a cache might be in the freeing thread's hands.
    for way in 0..3 {
        let foreign = pool.wrap(ending(b"busy", &drops, act.clone())).unwrap();
        let mut mbufs: Vec<_> = (0..6).map(|_| holding(&pool, b"x")).collect();
        mbufs.insert(3, foreign);
        match way {
            0 => free_bulk(mbufs),
            1 => drop(chain_of(mbufs)),
            _ => mbufs.into_iter().for_each(|mbuf| pool.local().free(mbuf)),
        }
        assert_eq!(drops.count(), way + 1);
    }
    drop((act, shared));
    assert_all_home(&pool);
}

fn chain_of(mbufs: Vec<Mbuf>) -> Mbuf {
    let mut mbufs = mbufs.into_iter();
    let mut chain = mbufs.next().unwrap();
    for mbuf in mbufs {
        chain.append(mbuf).unwrap();
    }
    chain
}

#[test]
fn an_owner_has_the_pools_last_handle() {
    for way in 0..3 {
        let drops = Drops::default();
        let pool = pool(1 << 20);
        let handle = std::cell::Cell::new(Some(pool.clone()));
        let last = move || {
            let pool = handle.take().unwrap();
            // The pool ends in the middle: not before its last mbufs.
            let mbuf = holding(&pool, b"after the end");
            drop(pool);
            assert_eq!(mbuf.data(), b"after the end");
        };
        let foreign = pool.wrap(ending(b"last", &drops, last)).unwrap();
        let behind = holding(&pool, b"behind");
        let mut view = foreign.slice(1..3).unwrap();
        drop(pool);
        match way {
            0 => drop((view, foreign)),
            1 => drop((foreign, view)),
            _ => {
                view.append(foreign).unwrap();
                view.append(behind).unwrap();
                drop(view);
                assert_eq!(drops.count(), 1);
                continue;
            }
        }
        assert_eq!((drops.count(), behind.data()), (1, &b"behind"[..]));
    }
}

/// Four threads let go of one owner at once, again and again.
#[test]
fn the_last_of_four_threads_ends_the_owner() {
    const ROUNDS: usize = 10_000;
    const THREADS: usize = 4;
    let pool = pool(1 << 20);
    let drops = Drops::default();
    let barrier = Arc::new(Barrier::new(THREADS));
    let read = Arc::new(AtomicUsize::new(0));
    let (mut senders, mut threads) = (Vec::new(), Vec::new());
    for _ in 0..THREADS {
        let (sender, receiver) = channel::<Mbuf>();
        let (barrier, read) = (barrier.clone(), read.clone());
        senders.push(sender);
        threads.push(thread::spawn(move || {
            for mbuf in receiver {
                read.fetch_add(mbuf.bytes().map(usize::from).sum(), Ordering::Relaxed);
                barrier.wait();
                drop(mbuf);
            }
        }));
    }
    for round in 0..ROUNDS {
        let seen = (drops.clone(), round);
        // All before this one are gone when it is made, or their copies are still with their threads.
        let foreign = pool.wrap(counted(&[1, 1], &seen.0)).unwrap();
        for (i, sender) in senders.iter().enumerate() {
            let copy = if (round + i) % 2 == 0 {
                foreign.copy_ref().unwrap()
            } else {
                foreign.slice(1..).unwrap()
            };
            sender.send(copy).unwrap();
        }
        drop(foreign);
        while drops.count() + 16 < round {
            thread::yield_now();
        }
    }
    drop(senders);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(drops.count(), ROUNDS);
    assert_eq!(read.load(Ordering::Relaxed), ROUNDS * (2 + 2 + 1 + 1));
    assert_eq!(pool.stats().in_use, 0);
}
