//! Back-pressure: no free and no waiter miss each other, and calls at watermarks alternate. A waiter that nobody wakes is a deadlock,
//! which loom finds.
#![cfg(loom)]

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread::{self, Thread};
use loom_tests::{Bound, THREE_THREADS, USUAL, assert_all_home, explore};
use mbuf::{LOOM_SLAB, Mbuf, Pool};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an mbuf; `begun` is called when the wait has begun, each time.
fn wait_for_one(pool: &Pool, begun: impl Fn()) -> Mbuf {
    let mut future = pin!(pool.alloc_async(64));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(mbuf) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return mbuf.unwrap();
        }
        begun();
        thread::park();
    }
}

/// A full pool of one slab, with what fills it.
fn full_pool() -> (Pool, Vec<Mbuf>) {
    let pool = Pool::builder().capacity(LOOM_SLAB).build().unwrap();
    let held = std::iter::from_fn(|| pool.alloc(64).ok()).collect();
    (pool, held)
}

/// The thread has a cache of its own or not; it ends afterwards.
fn a_free_and_the_end_of_its_thread(name: &str, is_warm: bool, bound: Bound) {
    explore(name, bound, move || {
        let (pool, mut held) = full_pool();
        let mbuf = held.pop();
        let other = pool.clone();
        if is_warm {
            drop(mbuf);
            pool.trim();
            let thread = thread::spawn(move || drop(other.alloc(64)));
            drop(wait_for_one(&pool, || ()));
            thread.join().unwrap();
        } else {
            let thread = thread::spawn(move || drop((mbuf, other)));
            drop(wait_for_one(&pool, || ()));
            thread.join().unwrap();
        }
        drop(held);
        assert_all_home(&pool);
    });
}

#[test]
fn a_waiter_and_a_free_do_not_miss_each_other() {
    let name = "a_waiter_and_a_free_do_not_miss_each_other";
    a_free_and_the_end_of_its_thread(name, false, USUAL);
}

#[test]
fn a_waiter_and_a_fast_free_do_not_miss_each_other() {
    let name = "a_waiter_and_a_fast_free_do_not_miss_each_other";
    a_free_and_the_end_of_its_thread(name, true, USUAL);
}

/// The thread that frees lives on, and has filled a magazine: the fences are all that there is.
#[test]
fn a_waiter_and_a_spill_do_not_miss_each_other() {
    explore("a_waiter_and_a_spill_do_not_miss_each_other", USUAL, || {
        let (pool, mut held) = full_pool();
        let other = pool.clone();
        let thread = thread::spawn(move || drop(wait_for_one(&other, || ())));
        held.truncate(held.len() - 3);
        thread.join().unwrap();
        drop(held);
        assert_all_home(&pool);
    });
}

/// Who knows that somebody waits and frees one mbuf, whichever way, wakes him.
fn a_free_that_knows(name: &str, bound: Bound, free: impl Fn(&Pool, Mbuf) + Send + Sync + 'static) {
    explore(name, bound, move || {
        let (pool, mut held) = full_pool();
        let local = pool.local();
        let is_waiting = Arc::new(AtomicBool::new(false));
        let (other, waits) = (pool.clone(), is_waiting.clone());
        let thread = thread::spawn(move || {
            drop(wait_for_one(&other, || {
                waits.store(true, Ordering::Release)
            }));
        });
        while !is_waiting.load(Ordering::Acquire) {
            thread::yield_now();
        }
        free(&pool, held.pop().unwrap());
        thread.join().unwrap();
        drop((held, local));
        assert_all_home(&pool);
    });
}

#[test]
fn a_free_after_the_wait_began_wakes() {
    let name = "a_free_after_the_wait_began_wakes";
    a_free_that_knows(name, USUAL, |_, mbuf| drop(mbuf));
}

#[test]
fn a_local_free_after_the_wait_began_wakes() {
    let name = "a_local_free_after_the_wait_began_wakes";
    a_free_that_knows(name, USUAL, |pool, mbuf| pool.local().free(mbuf));
}

/// One block for two waiters: one gets it from the other, or by what the other does in the pool afterwards. A third gives up
/// meanwhile.
#[test]
fn two_waiters_share_a_block() {
    let bound = Bound {
        longest: Duration::from_secs(15),
        ..THREE_THREADS
    };
    explore("two_waiters_share_a_block", bound, || {
        let (pool, mut held) = full_pool();
        let other = pool.clone();
        let thread = thread::spawn(move || drop(wait_for_one(&other, || ())));
        let mut gives_up = Box::pin(pool.alloc_async(64));
        let mut context = Context::from_waker(Waker::noop());
        assert!(gives_up.as_mut().poll(&mut context).is_pending());
        drop(held.pop());
        drop(gives_up);
        drop(wait_for_one(&pool, || ()));
        pool.trim();
        thread.join().unwrap();
        drop(held);
        assert_all_home(&pool);
    });
}

/// A pool of two slabs, of four blocks each, which is low with one that is free and has recovered with four; and whether it is low, as told.
/// Of two calls in a row, or at once, one fails.
fn marked_pool() -> (Pool, Arc<AtomicBool>) {
    let is_low = Arc::new(AtomicBool::new(false));
    let note = |low: bool| {
        let is_low = is_low.clone();
        // Not by exchange: others are to find the call under way.
        move || {
            assert_ne!(is_low.load(Ordering::Relaxed), low, "calls alternate");
            thread::yield_now();
            is_low.store(low, Ordering::Relaxed);
        }
    };
    let builder = Pool::builder()
        .capacity(2 * LOOM_SLAB)
        .watermarks(LOOM_SLAB / 2, LOOM_SLAB)
        .on_low(note(true))
        .on_recovered(note(false));
    (builder.build().unwrap(), is_low)
}

/// A thread that was joined may still be about to tell it.
fn assert_recovered(is_low: &AtomicBool) {
    for _ in 0..20 {
        if !is_low.load(Ordering::Relaxed) {
            return;
        }
        thread::yield_now();
    }
    panic!("the recovery was not told");
}

/// The pool recovers while one is told that it is low, or before, or afterwards. Nobody looks again later.
#[test]
fn a_recovery_is_not_missed() {
    explore("a_recovery_is_not_missed", USUAL, || {
        let (pool, is_low) = marked_pool();
        let mut held: Vec<_> = (0..6).map(|_| pool.alloc(64).unwrap()).collect();
        assert!(!is_low.load(Ordering::Relaxed));
        let most = held.split_off(1);
        let thread = thread::spawn(move || drop(most));
        held.push(pool.alloc(64).unwrap());
        thread.join().unwrap();
        assert_recovered(&is_low);
        drop(held);
        assert_all_home(&pool);
    });
}

/// Two threads bring back what fills the pool, and use it meanwhile.
#[test]
fn calls_alternate() {
    explore("calls_alternate", USUAL, || {
        let (pool, is_low) = marked_pool();
        let mut held: Vec<_> = std::iter::from_fn(|| pool.alloc(64).ok()).collect();
        assert!(is_low.load(Ordering::Relaxed));
        let other = pool.clone();
        let rest = held.split_off(3);
        let thread = thread::spawn(move || {
            drop(rest);
            other.trim();
        });
        drop(held);
        drop(pool.alloc(64));
        thread.join().unwrap();
        pool.trim();
        assert_all_home(&pool);
        assert_recovered(&is_low);
    });
}
