//! Waiting for memory.

use crate::LONG;
use crate::common::{SMALL_SLAB, assert_all_home, fill, pool_with_magazines};
use mbuf::{AllocError, Mbuf, Pool};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// A pool that is full, magazines so large that a free makes no room elsewhere by itself, and what fills it.
fn full_pool() -> (Pool, Vec<Mbuf>) {
    let pool = pool_with_magazines(4 * SMALL_SLAB, 64);
    let held = fill(&pool, 64);
    (pool, held)
}

/// A thread that waits for an mbuf, and probably sleeps by now.
fn waiter(pool: &Pool, size: usize) -> JoinHandle<Result<Mbuf, AllocError>> {
    let pool = pool.clone();
    let (started, starts) = channel();
    let thread = thread::spawn(move || {
        started.send(()).unwrap();
        pool.alloc_timeout(size, LONG)
    });
    starts.recv().unwrap();
    thread::sleep(Duration::from_millis(20));
    thread
}

#[track_caller]
fn assert_woken(waiter: JoinHandle<Result<Mbuf, AllocError>>) {
    let start = Instant::now();
    waiter.join().unwrap().unwrap();
    assert!(start.elapsed() < LONG / 2, "woken by its timeout only");
}

#[test]
fn whatever_frees_wakes_a_waiter() {
    let ways: [fn(&Pool, &mut Vec<Mbuf>); 7] = [
        |_, held| drop(held.pop()),
        |pool, held| pool.local().free(held.pop().unwrap()),
        |_, held| mbuf::free_bulk(held.drain(..40)),
        |_, held| {
            let mut chain = held.pop().unwrap();
            (0..3).for_each(|_| chain.append(held.pop().unwrap()).unwrap());
            drop(chain);
        },
        |pool, held| {
            // Loaded and spare as they are: the trim brings them where the waiter finds them.
            held.truncate(held.len() - 300);
            pool.trim();
        },
        |_, held| {
            let mbuf = held.pop().unwrap();
            thread::spawn(move || drop(mbuf)).join().unwrap();
        },
        |_, held| held.clear(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let (pool, mut held) = full_pool();
        let waiter = waiter(&pool, 64);
        assert!(!waiter.is_finished(), "way {number}");
        way(&pool, &mut held);
        assert_woken(waiter);
        drop(held);
        assert_all_home(&pool);
    }
}

/// The freeing thread has a local handle, and does nothing else that would be slow.
#[test]
fn a_free_through_a_local_handle_wakes_a_waiter() {
    let (pool, mut held) = full_pool();
    let local = pool.local();
    local.free(held.pop().unwrap());
    held.push(local.alloc(64).unwrap());
    let waiter = waiter(&pool, 64);
    local.free(held.pop().unwrap());
    assert_woken(waiter);
    drop((held, local));
    assert_all_home(&pool);
}

/// What the thread has loaded was freed before anybody waited.
#[test]
fn a_thread_that_ends_wakes_a_waiter() {
    let (pool, mut held) = full_pool();
    let mbuf = held.pop().unwrap();
    let (go, went) = channel::<()>();
    let (freed, is_freed) = channel();
    let other = pool.clone();
    let thread = thread::spawn(move || {
        let local = other.local();
        local.free(mbuf);
        drop(other);
        freed.send(()).unwrap();
        went.recv().unwrap();
    });
    is_freed.recv().unwrap();
    let waiter = waiter(&pool, 64);
    assert!(
        !waiter.is_finished(),
        "it is in the other thread's magazine"
    );
    go.send(()).unwrap();
    assert_woken(waiter);
    thread.join().unwrap();
    drop(held);
    assert_all_home(&pool);
}

/// Allocating is enough for a thread's blocks to come home.
#[test]
fn a_thread_that_allocates_wakes_a_waiter() {
    let (pool, mut held) = full_pool();
    held.truncate(held.len() - 10);
    let waiting = pool.clone();
    let (go, went) = channel::<()>();
    let thread = thread::spawn(move || {
        let mut future = pin!(waiting.alloc_async(64));
        let counter = Arc::new(Counter::default());
        assert!(poll(future.as_mut(), &counter).is_pending());
        go.send(()).unwrap();
        block_on(future).unwrap();
    });
    went.recv().unwrap();
    held.push(pool.alloc(64).unwrap());
    thread.join().unwrap();
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn memory_of_another_size_and_spans_wake_a_waiter() {
    for size in [700, SMALL_SLAB as usize] {
        let (pool, held) = full_pool();
        let waiter = waiter(&pool, size);
        drop(held);
        assert_woken(waiter);
        assert_all_home(&pool);
    }
    let pool = pool_with_magazines(4 * SMALL_SLAB, 64);
    let spans = fill(&pool, SMALL_SLAB as usize);
    let waiter = waiter(&pool, 64);
    drop(spans);
    assert_woken(waiter);
    assert_all_home(&pool);
}

#[test]
fn a_wait_has_an_end() {
    let (pool, held) = full_pool();
    let start = Instant::now();
    let wait = Duration::from_millis(50);
    assert_eq!(
        pool.alloc_timeout(64, wait).unwrap_err(),
        AllocError::TimedOut
    );
    assert!(start.elapsed() >= wait);
    assert_eq!(
        pool.alloc_timeout(64, Duration::ZERO).unwrap_err(),
        AllocError::TimedOut
    );
    let never = pool.alloc_timeout(8 * SMALL_SLAB as usize, Duration::MAX);
    assert_eq!(never.unwrap_err(), AllocError::Exhausted);
    let too_large = pool.alloc_timeout((4 << 30) + 1, Duration::MAX);
    assert_eq!(too_large.unwrap_err(), AllocError::TooLarge);
    drop(held);
    assert!(pool.alloc_timeout(64, Duration::MAX).is_ok());
    assert_all_home(&pool);
}

/// Fewer buffers than waiters, which hand them on by freeing them, on the fast path as soon as nobody waits.
#[test]
fn eight_waiters_get_all_they_wait_for() {
    const WAITERS: u64 = 8;
    const EACH: u64 = 100_000 / WAITERS;
    let (pool, mut held) = full_pool();
    held.truncate(held.len() - 3);
    pool.trim();
    let done = Arc::new(AtomicU64::new(0));
    let start = Arc::new(Barrier::new(WAITERS as usize));
    let threads: Vec<_> = (0..WAITERS)
        .map(|i| {
            let (pool, done, start) = (pool.clone(), done.clone(), start.clone());
            thread::spawn(move || {
                let local = pool.local();
                start.wait();
                for _ in 0..EACH {
                    let mbuf = pool.alloc_timeout(64, LONG).unwrap();
                    if i % 2 == 0 {
                        local.free(mbuf);
                    } else {
                        drop(mbuf);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut last = (0, Instant::now());
    while threads.iter().any(|thread| !thread.is_finished()) {
        thread::sleep(Duration::from_millis(20));
        let now = done.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        }
        assert!(last.1.elapsed() < LONG / 2, "a hang after {now}");
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(done.load(Ordering::Relaxed), WAITERS * EACH);
    drop(held);
    assert_all_home(&pool);
}

/// A queue with all of the pool in it, as pipelines have them: the producer waits, the consumer frees.
#[test]
fn a_producer_waits_for_its_consumer() {
    let (pool, held) = full_pool();
    let (send, receive) = channel::<Mbuf>();
    held.into_iter().for_each(|mbuf| send.send(mbuf).unwrap());
    let consumer = thread::spawn(move || receive.into_iter().map(drop).count());
    for _ in 0..100_000 {
        send.send(pool.alloc_timeout(64, LONG).unwrap()).unwrap();
    }
    drop(send);
    assert!(consumer.join().unwrap() > 100_000);
    assert_all_home(&pool);
}

/// Counts how often it is woken.
#[derive(Default)]
struct Counter(AtomicU64);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, counter: &Arc<Counter>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(counter));
    future.poll(&mut Context::from_waker(&waker))
}

struct Unpark(Thread, AtomicBool);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::Release);
        self.0.unpark();
    }
}

/// The smallest executor.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&unpark));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

#[test]
fn a_future_is_woken_by_a_free() {
    let (pool, mut held) = full_pool();
    let waiting = pool.clone();
    let (polled, is_polled) = channel();
    let thread = thread::spawn(move || {
        let mut future = pin!(waiting.alloc_async(64));
        let counter = Arc::new(Counter::default());
        // With another waker at first, which is not to be woken.
        assert!(poll(future.as_mut(), &counter).is_pending());
        polled.send(()).unwrap();
        let mbuf = block_on(future).unwrap();
        drop(mbuf);
    });
    is_polled.recv().unwrap();
    thread::sleep(Duration::from_millis(20));
    held.pop();
    thread.join().unwrap();
    assert!(block_on(pool.alloc_async(64)).is_ok());
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_behind() {
    let (pool, mut held) = full_pool();
    let counter = Arc::new(Counter::default());
    for _ in 0..1000 {
        let mut future = Box::pin(pool.alloc_async(64));
        assert!(poll(future.as_mut(), &counter).is_pending());
        assert!(poll(future.as_mut(), &counter).is_pending());
    }
    assert_eq!(Arc::strong_count(&counter), 1, "wakers are kept");
    assert_eq!(counter.0.load(Ordering::Relaxed), 0);
    // Two wait, and one gives up.
    let mut first = Box::pin(pool.alloc_async(64));
    let mut second = Box::pin(pool.alloc_async(64));
    assert!(poll(first.as_mut(), &counter).is_pending());
    assert!(poll(second.as_mut(), &counter).is_pending());
    drop(first);
    held.pop();
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    assert!(poll(second.as_mut(), &counter).is_ready());
    drop(second);
    assert_eq!(Arc::strong_count(&counter), 1);
    // Nobody waits: a free is the thread's own again, and out of others' reach.
    held.pop();
    let other = pool.clone();
    let theirs = thread::spawn(move || other.alloc(64).is_ok());
    assert!(!theirs.join().unwrap());
    assert!(pool.alloc(64).is_ok());
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn a_waiting_future_keeps_the_pool_open() {
    let (pool, mut held) = full_pool();
    let mut future = Box::pin(pool.alloc_async(64));
    drop(pool);
    let counter = Arc::new(Counter::default());
    assert!(poll(future.as_mut(), &counter).is_pending());
    held.pop();
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    assert!(poll(future.as_mut(), &counter).is_ready());
    drop((future, held));
}

/// Panics when it is woken.
struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    let (pool, held) = full_pool();
    let bad = Waker::from(Arc::new(Bad));
    let mut first = pool.alloc_async(64);
    assert!(look(&mut first, &bad).is_pending());
    let thread = waiter(&pool, 64);
    let mut last = pool.alloc_async(64);
    assert!(look(&mut last, &bad).is_pending());
    drop(held);
    assert_woken(thread);
    drop((first, last));
    assert_all_home(&pool);
}

fn look(future: &mut mbuf::AllocFuture, waker: &Waker) -> Poll<Result<Mbuf, AllocError>> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}
