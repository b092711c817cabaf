//! Pools that run out: refusals are true, quick and without loss, and freed memory serves whoever asks next.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::{
    HEADER, Idle, Random, SMALL_LARGEST, SMALL_SLAB, assert_all_home, assert_conserved, fill,
    fresh_count, pool, pool_with_magazines, within,
};
use mbuf::{AllocError, Mbuf, Pool};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// One size of each kind: a bare header, small and large classes, spans of one slab and of several.
const SIZES: [usize; 8] = [
    0,
    64,
    700,
    5000,
    SMALL_LARGEST,
    SMALL_LARGEST + 1,
    SMALL_SLAB as usize,
    3 * SMALL_SLAB as usize,
];

#[test]
fn exhaustion_is_refused_in_bounded_time_and_changes_nothing() {
    let pool = pool(SMALL_SLAB * 16);
    let held = fill(&pool, 700);
    let before = assert_conserved(&pool);
    for size in SIZES {
        for _ in 0..50 {
            let refused = within(Duration::from_secs(5), || pool.alloc(size));
            if size > 0 {
                // The last slab may have had an odd corner left, but not of these sizes.
                assert_eq!(refused.unwrap_err(), AllocError::Exhausted);
            }
        }
    }
    let after = assert_conserved(&pool);
    assert_eq!(after.in_use, before.in_use);
    assert_eq!(after.carved, before.carved);
    assert!(after.failed >= before.failed + 50 * 7);
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn an_exhausted_pool_serves_as_soon_as_something_is_freed() {
    for size in SIZES {
        let pool = pool(SMALL_SLAB * 4);
        let mut held = fill(&pool, size);
        let mut random = Random::new(3);
        for _ in 0..200 {
            assert_eq!(pool.alloc(size).unwrap_err(), AllocError::Exhausted);
            let which = random.below(held.len());
            drop(held.swap_remove(which));
            held.push(pool.alloc(size).unwrap());
        }
    }
}

#[test]
fn every_class_is_served_in_full_after_another_had_all_of_the_memory() {
    let pool = pool(SMALL_SLAB * 8);
    let mut random = Random::new(4);
    for earlier in SIZES {
        for later in SIZES {
            let mut held = fill(&pool, earlier);
            random.shuffle(&mut held);
            drop(held);
            let served = fill(&pool, later).len();
            let fresh = fresh_count(SMALL_SLAB * 8, later);
            assert_eq!(served, fresh, "{later} after {earlier}");
        }
    }
    assert_all_home(&pool);
}

#[test]
fn every_class_is_served_after_threads_that_ended_had_all_of_the_memory() {
    let pool = pool(SMALL_SLAB * 8);
    for earlier in SIZES {
        let taker = pool.clone();
        thread::spawn(move || drop(fill(&taker, earlier)))
            .join()
            .unwrap();
        for later in SIZES {
            let served = fill(&pool, later).len();
            let fresh = fresh_count(SMALL_SLAB * 8, later);
            assert_eq!(served, fresh, "{later} after {earlier}");
        }
    }
}

#[test]
fn of_n_blocks_of_which_one_is_taken_another_thread_gets_all_others() {
    for size in SIZES {
        let capacity = SMALL_SLAB * 12;
        let pool = pool(capacity);
        let taker = pool.clone();
        let idle = Idle::after(move || taker.alloc(size).unwrap());
        assert_eq!(fill(&pool, size).len(), fresh_count(capacity, size) - 1);
        drop(idle);
        assert_all_home(&pool);
    }
}

#[test]
fn an_idle_thread_keeps_no_more_than_one_loaded_magazine() {
    const MAGAZINE: usize = 8;
    let capacity = SMALL_SLAB * 4;
    let all = fresh_count(capacity, 700);
    for freed in [1, MAGAZINE, MAGAZINE + 1, 2 * MAGAZINE, 5 * MAGAZINE, all] {
        let pool = pool_with_magazines(capacity, MAGAZINE as u32);
        let user = pool.clone();
        let idle = Idle::after(move || {
            let mut held = Vec::new();
            user.alloc_bulk(700, freed, &mut held).unwrap();
        });
        let got = fill(&pool, 700).len();
        assert!(got >= all - MAGAZINE, "{got} of {all} with {freed} freed");
        drop(idle);
        assert_all_home(&pool);
    }
}

#[test]
fn spares_of_many_idle_threads_are_all_found() {
    const THREADS: usize = 10;
    const MAGAZINE: usize = 4;
    let capacity = SMALL_SLAB * 4;
    let all = fresh_count(capacity, 700);
    let pool = pool_with_magazines(capacity, MAGAZINE as u32);
    // Each is left with a full loaded and a full spare magazine of blocks that no other has.
    let mut blocks = fill(&pool, 700);
    blocks.truncate(3 * MAGAZINE * THREADS);
    let idle: Vec<_> = (0..THREADS)
        .map(|_| {
            let own = blocks.split_off(blocks.len() - 3 * MAGAZINE);
            Idle::after(move || drop(own))
        })
        .collect();
    let before = assert_all_home(&pool);
    assert!(before.cached >= (2 * MAGAZINE * THREADS) as u64, "{before}");
    let got = fill(&pool, 700).len();
    assert!(got >= all - THREADS * MAGAZINE, "{got} of {all}");
    drop(idle);
    assert_eq!(fill(&pool, 700).len(), all);
}

#[test]
fn spares_of_idle_threads_do_not_keep_a_slab_from_other_classes() {
    const MAGAZINE: usize = 8;
    let pool = pool_with_magazines(SMALL_SLAB * 2, MAGAZINE as u32);
    let mut blocks = fill(&pool, 700);
    blocks.sort_by_key(|mbuf| mbuf.user().as_ptr().addr());
    let high = blocks.split_off(blocks.len() - MAGAZINE);
    drop(blocks.split_off(MAGAZINE));
    // The thread is left with blocks of the one slab as its spares, and of the other loaded.
    let idle = Idle::after(move || drop((blocks, high)));
    assert_eq!(assert_all_home(&pool).in_use, 0);
    assert_eq!(fill(&pool, 5000).len(), fresh_count(SMALL_SLAB, 5000));
    drop(idle);
    assert_eq!(fill(&pool, 5000).len(), fresh_count(SMALL_SLAB * 2, 5000));
}

#[test]
fn bulk_gets_what_cache_depot_and_other_threads_hold_together() {
    const MAGAZINE: usize = 4;
    let capacity = SMALL_SLAB * 4;
    let all = fresh_count(capacity, 700);
    let pool = pool_with_magazines(capacity, MAGAZINE as u32);
    let user = pool.clone();
    // Everything was used once: some lies in the idle thread's magazines, most in the depot, some here.
    let idle = Idle::after(move || drop(fill(&user, 700)));
    let mut held = Vec::new();
    pool.alloc_bulk(700, MAGAZINE, &mut held).unwrap();
    held.clear();
    pool.alloc_bulk(700, all - MAGAZINE, &mut held).unwrap();
    held.clear();
    drop(idle);
    pool.alloc_bulk(700, all, &mut held).unwrap();
    let one_more = pool.alloc_bulk(700, 1, &mut held);
    assert_eq!(one_more, Err(AllocError::Exhausted));
    assert_eq!(held.len(), all);
}

#[test]
fn bulk_of_more_than_there_is_takes_nothing() {
    let capacity = SMALL_SLAB * 4;
    let all = fresh_count(capacity, 700);
    let pool = pool(capacity);
    for missing in [1, 2, 100] {
        let mut held = Vec::new();
        let refused = pool.alloc_bulk(700, all + missing, &mut held);
        assert_eq!(refused, Err(AllocError::Exhausted));
        assert_eq!(pool.reserve(700, all + missing), refused);
        assert!(held.is_empty());
        assert_eq!(assert_all_home(&pool).in_use, 0);
        pool.alloc_bulk(700, all, &mut held).unwrap();
    }
}

#[test]
fn of_two_takers_exactly_one_gets_the_last_block() {
    const ROUNDS: usize = 10_000;
    let pool = pool_with_magazines(SMALL_SLAB, 2);
    let mut held = fill(&pool, 1000);
    let last = held.pop();
    let start = Arc::new(Barrier::new(3));
    let (give, got) = channel::<Option<Mbuf>>();
    let takers: Vec<_> = (0..2)
        .map(|_| {
            let (pool, start, give) = (pool.clone(), start.clone(), give.clone());
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    start.wait();
                    give.send(pool.alloc(1000).ok()).unwrap();
                }
            })
        })
        .collect();
    // The freed block lies in this thread's magazine, or home if it was flushed, which a trim does.
    drop(last);
    for _ in 0..ROUNDS {
        pool.trim();
        start.wait();
        let both = [got.recv().unwrap(), got.recv().unwrap()];
        let winners = both.iter().flatten().count();
        assert_eq!(winners, 1);
    }
    takers.into_iter().for_each(|t| t.join().unwrap());
    drop(held);
    assert_all_home(&pool);
}

/// A thread that does `work` over and over until it is told to stop.
fn background(stop: &Arc<AtomicBool>, mut work: impl FnMut() + Send + 'static) -> JoinHandle<()> {
    let stop = stop.clone();
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            work();
        }
    })
}

/// Takes the only `free` blocks of a pool over and over while others move them from place to place.
fn take_what_is_on_the_move(free: usize) {
    let pool = pool_with_magazines(SMALL_SLAB * 4, 4);
    let mut held = fill(&pool, 5000);
    held.truncate(held.len() - free);
    let stop = Arc::new(AtomicBool::new(false));
    let (trimmed, spans) = (pool.clone(), pool.clone());
    let movers = [
        background(&stop, move || {
            trimmed.trim();
        }),
        // A run that is never free: what is found of it is taken for a moment and let go.
        background(&stop, move || {
            let refused = spans.alloc(3 * SMALL_SLAB as usize);
            assert_eq!(refused.unwrap_err(), AllocError::Exhausted);
        }),
    ];
    let mut random = Random::new(5);
    for round in 0..15_000 {
        let mut some = Vec::new();
        let done = pool.alloc_bulk(5000, free, &mut some);
        assert_eq!(done, Ok(()), "{free} blocks in round {round}");
        random.shuffle(&mut some);
    }
    stop.store(true, Ordering::Relaxed);
    movers.into_iter().for_each(|t| t.join().unwrap());
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn nothing_is_refused_while_its_memory_is_on_the_move() {
    // Only one thread takes blocks, so they are always somewhere: part of a slab, and a whole one that others take away.
    for free in [11, 12] {
        take_what_is_on_the_move(free);
    }
}

#[test]
fn nothing_is_refused_while_there_are_blocks_that_no_thread_can_have_to_itself() {
    const THREADS: usize = 3;
    const MAGAZINE: usize = 1;
    // Each of the others may have one block in its hands and a magazine loaded; one more is always to be had.
    const ENOUGH: usize = (THREADS - 1) * (1 + MAGAZINE) + 1;
    let pool = pool_with_magazines(SMALL_SLAB, MAGAZINE as u32);
    let mut held = fill(&pool, 1000);
    held.truncate(held.len() - ENOUGH);
    let start = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (pool, start) = (pool.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                for round in 0..200_000 {
                    let one = pool.alloc(1000);
                    assert!(one.is_ok(), "refused in round {round}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    drop(held);
    assert_all_home(&pool);
}

/// What eight threads take of a pool at once, each of a class of its own, until all are refused; `check` sees each moment.
fn take_at_once(pool: &Pool, rounds: usize, handed_out: &Arc<AtomicU64>) -> Vec<JoinHandle<()>> {
    const CLASSES: [usize; 8] = [64, 128, 320, 704, 1280, 5120, 10240, 65_000];
    let start = Arc::new(Barrier::new(CLASSES.len()));
    let threads = CLASSES.iter().map(|&size| {
        let (pool, start, handed_out) = (pool.clone(), start.clone(), handed_out.clone());
        let capacity = pool.stats().capacity;
        // What a block takes at least: spans take whole slabs.
        let bytes = match size {
            65_000 => SMALL_SLAB,
            _ => HEADER + size as u64,
        };
        thread::spawn(move || {
            let mut random = Random::new(size as u64);
            for _ in 0..rounds {
                start.wait();
                let mut held = Vec::new();
                let mut refusals = 0;
                while refusals < 3 {
                    match pool.alloc(size) {
                        Ok(mbuf) => {
                            let now = handed_out.fetch_add(bytes, Ordering::SeqCst) + bytes;
                            assert!(now <= capacity, "{now} of {capacity} handed out");
                            held.push(mbuf);
                        }
                        Err(_) => refusals += 1,
                    }
                    if random.below(40) == 0 {
                        let some = random.below(8).min(held.len());
                        handed_out.fetch_sub(bytes * some as u64, Ordering::SeqCst);
                        held.truncate(held.len() - some);
                    }
                }
                handed_out.fetch_sub(bytes * held.len() as u64, Ordering::SeqCst);
            }
        })
    });
    threads.collect()
}

#[test]
fn threads_that_exhaust_a_pool_together_never_get_more_than_there_is_and_leave_all_of_it() {
    let capacity = SMALL_SLAB * 48;
    let pool = pool_with_magazines(capacity, 8);
    let handed_out = Arc::new(AtomicU64::new(0));
    for thread in take_at_once(&pool, 6, &handed_out) {
        thread.join().unwrap();
    }
    assert_eq!(handed_out.load(Ordering::SeqCst), 0);
    let stats = assert_all_home(&pool);
    assert!(stats.failed >= 8 * 6 * 3);
    for size in SIZES {
        assert_eq!(fill(&pool, size).len(), fresh_count(capacity, size));
    }
}

#[test]
fn what_idle_threads_keep_of_a_pool_they_exhausted_is_at_most_a_magazine_of_each_class() {
    const MAGAZINE: u64 = 4;
    let capacity = SMALL_SLAB * 96;
    let pool = pool_with_magazines(capacity, MAGAZINE as u32);
    let user = pool.clone();
    let sizes = [64, 1280, 5120];
    let idle = sizes.map(|size| {
        let user = user.clone();
        Idle::after(move || drop(fill(&user, size)))
    });
    let stats = assert_all_home(&pool);
    assert!(stats.failed >= 3);
    // A block that is kept keeps its slab from other classes.
    let kept = sizes.len() as u64 * MAGAZINE;
    let all = fresh_count(capacity, 700) as u64;
    let of_a_slab = SMALL_SLAB / (HEADER + 768);
    let got = fill(&pool, 700).len() as u64;
    assert!(got >= all - kept * of_a_slab, "{got} of {all}");
    drop(idle);
    assert_eq!(fill(&pool, 700).len() as u64, all);
}

#[test]
fn many_threads_are_refused_in_bounded_time_while_others_go_on() {
    const THREADS: usize = 8;
    let pool = pool_with_magazines(SMALL_SLAB * 8, 4);
    let held = fill(&pool, 1000);
    let stop = Arc::new(AtomicBool::new(false));
    let churning = pool.clone();
    let mut own = held;
    let churn = background(&stop, move || {
        own.pop();
        own.extend(churning.alloc(1000).ok());
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let pool = pool.clone();
            let size = SIZES[number];
            thread::spawn(move || {
                for _ in 0..30 {
                    drop(within(Duration::from_secs(5), || pool.alloc(size)));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    stop.store(true, Ordering::Relaxed);
    churn.join().unwrap();
    assert_all_home(&pool);
}

#[test]
fn a_pool_of_one_slab_serves_one_class_at_a_time() {
    let pool = pool(1);
    assert_eq!(pool.stats().capacity, SMALL_SLAB);
    for size in SIZES {
        let fits = size as u64 + HEADER <= SMALL_SLAB;
        let first = pool.alloc(size);
        assert_eq!(first.is_ok(), fits, "{size}");
        let Ok(_first) = first else {
            assert_eq!(first.unwrap_err(), AllocError::Exhausted);
            continue;
        };
        for other in SIZES.into_iter().filter(|&other| other != size) {
            let refused = within(Duration::from_secs(5), || pool.alloc(other));
            assert_eq!(refused.unwrap_err(), AllocError::Exhausted);
        }
    }
    let largest = (SMALL_SLAB - HEADER) as usize;
    assert_eq!(pool.alloc(largest).unwrap().capacity(), largest);
    assert!(pool.alloc(largest + 1).is_err());
    assert_eq!(fill(&pool, 0).len() as u64, SMALL_SLAB / HEADER);
    assert_eq!(fill(&pool, SMALL_LARGEST).len(), 2);
    assert_all_home(&pool);
}
