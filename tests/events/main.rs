//! The events of the feature `tracing`: what is told, that a subscriber may use the pool that tells it, and that nothing is lost by it.
#![cfg(feature = "tracing")]

#[path = "../common/mod.rs"]
mod common;
mod listener;

use common::stamp::{Marks, check, mark_fresh};
use common::{SMALL_SLAB, assert_all_home, pool, pool_with_magazines};
use listener::{count, count_too_late, listen, reacting, take};
use mbuf::{AllocError, Mbuf, Pool};
use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::thread;

/// So many slabs of the smallest kind.
fn slabs(n: u64) -> u64 {
    n * SMALL_SLAB
}

/// Allocates until the pool is exhausted.
fn drain(pool: &Pool, size: usize) -> Vec<Mbuf> {
    std::iter::from_fn(|| pool.alloc(size).ok()).collect()
}

#[test]
fn a_pool_is_told_when_it_is_built_and_when_it_ends() {
    listen();
    let pool = pool(slabs(4));
    let reserved = pool.stats().reserved;
    let built = format!("pool built: capacity=262144 reserved={reserved} slab_bytes=65536");
    assert_eq!(take(), [built]);
    let last = pool.alloc(64).unwrap();
    take();
    drop(pool);
    assert_eq!(take(), [""; 0]);
    drop(last);
    assert_eq!(take(), ["pool ended:"]);
}

#[test]
fn a_class_tells_of_a_slab_and_not_of_blocks() {
    listen();
    let pool = pool(slabs(4));
    take();
    drop(pool.alloc(2048).unwrap());
    assert_eq!(
        take(),
        ["slabs taken: data_capacity=2048 span=false slabs=1"]
    );
    for _ in 0..1000 {
        drop(pool.alloc(2048).unwrap());
    }
    assert_eq!(take(), [""; 0]);
}

#[test]
fn a_span_tells_of_its_slabs() {
    listen();
    let pool = pool(slabs(4));
    take();
    let span = pool.alloc(100_000).unwrap();
    assert_eq!(take(), ["slabs taken: data_capacity=0 span=true slabs=2"]);
    drop(span);
    assert_eq!(
        take(),
        ["slabs given back: data_capacity=0 span=true slabs=2"]
    );
}

#[test]
fn an_exhausted_pool_says_of_what() {
    listen();
    let pool = pool(slabs(1));
    let all = drain(&pool, 2048);
    take();
    assert_eq!(pool.alloc(2048).unwrap_err(), AllocError::Exhausted);
    assert_eq!(take(), ["pool exhausted: data_capacity=2048 span=false"]);
    assert_eq!(pool.alloc(60_000).unwrap_err(), AllocError::Exhausted);
    assert_eq!(take(), ["pool exhausted: data_capacity=60000 span=true"]);
    let mut out = Vec::new();
    let many = pool.alloc_bulk(1000, 1000, &mut out);
    assert_eq!(many.unwrap_err(), AllocError::Exhausted);
    assert_eq!(take(), ["pool exhausted: data_capacity=1024 span=false"]);
    drop(all);
}

#[test]
fn a_slab_that_changes_hands_is_told_in_order() {
    listen();
    let pool = pool(slabs(1));
    drop(drain(&pool, 2048));
    take();
    let small = pool.alloc(64).unwrap();
    let told = [
        "slabs given back: data_capacity=2048 span=false slabs=1",
        "slabs taken: data_capacity=64 span=false slabs=1",
    ];
    assert_eq!(take(), told);
    drop(small);
}

#[test]
fn a_trim_tells_of_its_bytes() {
    listen();
    let pool = pool(slabs(2));
    drop(pool.alloc(2048).unwrap());
    take();
    assert_eq!(pool.trim(), SMALL_SLAB);
    let told = [
        "slabs given back: data_capacity=2048 span=false slabs=1",
        "pool trimmed: bytes=65536",
    ];
    assert_eq!(take(), told);
}

#[test]
fn a_thief_tells_of_the_spare() {
    listen();
    let pool = pool_with_magazines(slabs(1), 4);
    let (ready, is_ready) = channel();
    let (stop, stopped) = channel::<()>();
    let owner = thread::spawn({
        let pool = pool.clone();
        move || {
            let mut all = drain(&pool, 2048);
            // The loaded magazine, and the spare.
            all.truncate(all.len() - 8);
            ready.send(()).unwrap();
            let _ = stopped.recv();
        }
    });
    is_ready.recv().unwrap();
    take();
    let stolen = pool.alloc(2048).unwrap();
    assert_eq!(take(), ["spare stolen: data_capacity=2048 blocks=4"]);
    drop(stop);
    owner.join().unwrap();
    drop(stolen);
    assert_all_home(&pool);
}

/// Allocates from `pool` and frees in each event, of classes that are in use and others, one by one and many at once; keeps
/// some for the next event, and finds none of them written to by others.
fn user_of(pool: &Pool) -> impl FnMut(&str) + 'static {
    let pool = pool.clone();
    let mut marks = Marks::of_thread(99);
    let mut kept = Vec::new();
    let mut events = 0;
    move |_| {
        events += 1;
        let mut burst = Vec::new();
        let _ = pool.alloc_bulk(2048, 5, &mut burst);
        for size in [0, 64, 2048, 2048, 5000, 40_000] {
            if let Ok(mut mbuf) = pool.alloc(size) {
                let (header, data) = (marks.next(), marks.next());
                let expected = mark_fresh(&mut mbuf, header, data);
                kept.push((mbuf, expected));
            }
        }
        mbuf::free_bulk(burst);
        if events % 5 == 0 {
            pool.trim();
        }
        // Nearly all of the time something is kept, but not so much that others have nothing left.
        while kept.len() > events % 7 {
            let (mbuf, expected): (Mbuf, _) = kept.swap_remove(0);
            check(&mbuf, &[expected]);
        }
    }
}

/// Work in which slabs change hands, the pool is exhausted now and then, and magazines fill and empty.
fn churn(pool: &Pool, number: usize) {
    let mut marks = Marks::of_thread(number);
    for round in 0..60 {
        let size = [0, 64, 700, 2048, 5000, 40_000][(round + number) % 6];
        let mut held = Vec::new();
        while held.len() < 200 {
            let Ok(mut mbuf) = pool.alloc(size) else {
                break;
            };
            let (header, data) = (marks.next(), marks.next());
            let expected = mark_fresh(&mut mbuf, header, data);
            held.push((mbuf, expected));
        }
        if round % 10 == 0 {
            pool.trim();
        }
        for (mbuf, expected) in held {
            check(&mbuf, &[expected]);
        }
    }
}

#[test]
fn a_subscriber_may_use_the_pool_that_tells_it() {
    listen();
    let pool = pool_with_magazines(slabs(8), 4);
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let pool = pool.clone();
            thread::spawn(move || {
                reacting(user_of(&pool), || churn(&pool, number));
                count()
            })
        })
        .collect();
    let events: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert!(events > 100, "only {events} events");
    assert_all_home(&pool);
    // All of it can be had again: nothing was lost on the way.
    pool.trim();
    assert_eq!(pool.stats().slabs, 0);
}

#[test]
fn a_subscriber_cannot_take_what_was_found_for_the_caller() {
    listen();
    let pool = pool(slabs(2));
    let other = pool.clone();
    let mut kept = Vec::new();
    // The first refill finds a single block.
    reacting(
        move |_| kept.push(other.alloc(2048).unwrap()),
        || {
            drop(pool.alloc(2048).unwrap());
            assert_eq!(pool.stats().in_use, 1);
        },
    );
    assert_all_home(&pool);
}

#[test]
fn a_subscriber_that_meets_exhaustion_is_not_told_of_its_own() {
    listen();
    let pool = pool(slabs(1));
    let all = drain(&pool, 2048);
    take();
    let other = pool.clone();
    let react = move |_: &str| assert_eq!(other.alloc(2048).unwrap_err(), AllocError::Exhausted);
    let failed = reacting(react, || pool.alloc(2048).unwrap_err());
    assert_eq!(failed, AllocError::Exhausted);
    assert_eq!(take(), ["pool exhausted: data_capacity=2048 span=false"]);
    drop(all);
}

#[test]
fn a_subscriber_may_end_another_pool() {
    listen();
    let pool = pool(slabs(1));
    let mut other = Some(common::pool(slabs(1)));
    let in_use = reacting(
        move |_| drop(other.take()),
        || {
            let first = pool.alloc(2048).unwrap();
            let in_use = pool.stats().in_use;
            drop(first);
            in_use
        },
    );
    assert_eq!(in_use, 1);
    assert_all_home(&pool);
}

#[test]
fn a_panic_of_the_subscriber_loses_nothing() {
    listen();
    let pool = pool(slabs(2));
    let react = |_: &str| std::panic::resume_unwind(Box::new("a subscriber's panic"));
    reacting(react, || {
        let first = pool.alloc(2048).unwrap();
        let span = pool.alloc(60_000).unwrap();
        assert_eq!(pool.alloc(60_000).unwrap_err(), AllocError::Exhausted);
        drop((first, span));
        assert_eq!(pool.trim(), 2 * SMALL_SLAB);
    });
    let told =
        "built, a class and a span taken, exhausted, the span and the class given back, trimmed";
    assert_eq!(count(), 7, "{told}");
    assert_all_home(&pool);
}

thread_local! {
    static LATE: RefCell<Option<(Pool, Mbuf)>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_that_ends_tells_nothing() {
    listen();
    thread::spawn(|| {
        // Its destructor is registered first, so it runs when the subscriber's thread-locals are gone.
        LATE.with(|late| {
            let pool = pool(slabs(1));
            let mbuf = pool.alloc(64).unwrap();
            *late.borrow_mut() = Some((pool, mbuf));
        });
        assert_eq!(take().len(), 2);
    })
    .join()
    .unwrap();
    assert_eq!(count_too_late(), 0);
}
