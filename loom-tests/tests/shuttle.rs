//! Larger scenarios than loom can go through, on the pool's real sizes, each under some thousand schedules.
#![cfg(shuttle)]

use loom_tests::{assert_all_home, below, one_in, schedule};
use mbuf::{AllocError, HugePages, Mbuf, Pool};
use shuttle::sync::Mutex;
use shuttle::thread::{self, Thread};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Bare headers, several classes, and a span.
const SIZES: [usize; 6] = [0, 64, 200, 1500, 9000, 70_000];

/// A pool of 16 slabs of 64 KiB, whose magazines hold two blocks.
fn small_pool() -> Pool {
    Pool::builder()
        .capacity(1 << 20)
        .huge_pages(HugePages::Never)
        .build()
        .unwrap()
}

/// Marks a segment as `mark`'s: user area and a few bytes of data.
fn stamp(mbuf: &mut Mbuf, mark: u8) {
    mbuf.user_mut().fill(mark);
    let len = mbuf.capacity().min(24);
    mbuf.set_len(len).unwrap();
    mbuf.data_mut().unwrap().fill(mark);
}

fn check(mbuf: &Mbuf) {
    for segment in mbuf.segments() {
        let mark = segment.user()[0];
        assert!(segment.user().iter().all(|&byte| byte == mark));
        assert!(segment.data().iter().all(|&byte| byte == mark));
    }
}

/// Where threads leave each other mbufs.
type Exchange = Arc<Mutex<Vec<Mbuf>>>;

/// One step of somebody's work with what he holds.
fn work(pool: &Pool, exchange: &Exchange, held: &mut Vec<Mbuf>) {
    match below(11) {
        0..=2 => {
            if let Ok(mut mbuf) = pool.alloc(SIZES[below(SIZES.len())]) {
                assert_eq!(mbuf.user(), &[0; 96]);
                stamp(&mut mbuf, below(256) as u8);
                held.push(mbuf);
            }
        }
        3 => {
            if let Some(mbuf) = held.pop() {
                exchange.lock().unwrap().push(mbuf);
            }
        }
        4 => held.extend(exchange.lock().unwrap().pop()),
        5 => {
            if let Some(copy) = held.last().and_then(|mbuf| mbuf.copy_ref().ok()) {
                held.push(copy);
            }
        }
        6 => {
            if let (Some(behind), Some(head)) = (held.pop(), held.last_mut()) {
                head.append(behind).unwrap();
            }
        }
        7 => {
            if let Some(rest) = held.last_mut().and_then(|mbuf| mbuf.split_off(1)) {
                held.push(rest);
            }
        }
        8 => {
            if let Some(mbuf) = held.last_mut() {
                // Refused when the pool is short of memory; then all is as before.
                let _ = mbuf.make_unique();
                check(mbuf);
            }
        }
        9 => {
            if let Some(mbuf) = held.last_mut()
                && let Some(data) = mbuf.data_mut()
            {
                // Nobody else has these bytes, or his stamp and his data would differ from now on.
                let mark = below(256) as u8;
                data.fill(mark);
                mbuf.user_mut().fill(mark);
            }
        }
        _ => drop(held.pop()),
    }
    held.iter().for_each(check);
}

#[test]
fn threads_work_come_and_go() {
    schedule("threads_work_come_and_go", 10_000, || {
        let pool = small_pool();
        let exchange = Exchange::default();
        let mut threads = Vec::new();
        for _ in 0..3 {
            let (pool, exchange) = (pool.clone(), Arc::clone(&exchange));
            threads.push(thread::spawn(move || {
                let mut held = Vec::new();
                (0..25).for_each(|_| work(&pool, &exchange, &mut held));
                // Another takes over what is held, and the cache.
                let after = thread::spawn(move || {
                    (0..15).for_each(|_| work(&pool, &exchange, &mut held));
                });
                after.join().unwrap();
            }));
        }
        pool.trim();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        exchange.lock().unwrap().clear();
        assert_all_home(&pool);
        pool.trim();
        let stats = pool.stats();
        assert_eq!(
            stats.carved, 0,
            "everything home can be given back:\n{stats}"
        );
    });
}

/// Memory that is there is found, wherever it rests, while other threads move it about.
#[test]
fn nobody_is_refused_what_there_is() {
    schedule("nobody_is_refused_what_there_is", 20_000, || {
        // One slab, of six blocks of 9000 bytes: three threads that hold two each are never refused.
        let pool = Pool::builder()
            .capacity(1)
            .magazine_size(1)
            .build()
            .unwrap();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let pool = pool.clone();
                thread::spawn(move || {
                    let mut held: Vec<Mbuf> = Vec::new();
                    for _ in 0..16 {
                        if held.len() == 2 || (!held.is_empty() && one_in(2)) {
                            held.pop();
                        } else {
                            held.push(pool.alloc(9000).unwrap());
                        }
                        if one_in(8) {
                            pool.trim();
                        }
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_all_home(&pool);
        let all: Vec<_> = std::iter::from_fn(|| pool.alloc(9000).ok()).collect();
        assert_eq!(all.len(), 6);
    });
}

/// The pool's whole memory goes from one class to another and to a span, with every thread that used it gone or idle.
#[test]
fn memory_changes_its_class() {
    schedule("memory_changes_its_class", 20_000, || {
        let pool = Pool::builder()
            .capacity(4 << 16)
            .magazine_size(2)
            .build()
            .unwrap();
        let threads: Vec<_> = [64, 1500]
            .map(|size| {
                let pool = pool.clone();
                thread::spawn(move || {
                    let held: Vec<_> = (0..6).map_while(|_| pool.alloc(size).ok()).collect();
                    if one_in(2) {
                        pool.trim();
                    }
                    drop(held);
                })
            })
            .into();
        // While they are at it, this may fail; afterwards it may not.
        let early = pool.alloc(3 << 16);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        drop(early);
        let whole = pool.alloc((4 << 16) - 192).unwrap();
        assert_eq!(pool.alloc(0).unwrap_err(), AllocError::Exhausted);
        drop(whole);
        assert_all_home(&pool);
    });
}

/// Whoever comes last, of handles, mbufs and threads, takes the arena along; nothing is used afterwards.
#[test]
fn a_pool_ends_with_the_last_of_all() {
    schedule("a_pool_ends_with_the_last_of_all", 15_000, || {
        let pool = small_pool();
        let exchange = Exchange::default();
        let mut chain = pool.alloc(64).unwrap();
        chain.append(pool.alloc(1500).unwrap()).unwrap();
        exchange.lock().unwrap().push(chain.copy_ref().unwrap());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (pool, exchange) = (pool.clone(), Arc::clone(&exchange));
                thread::spawn(move || {
                    let local = pool.local();
                    let mine = local.alloc(64).unwrap();
                    let next = exchange.lock().unwrap().pop();
                    let copy = next.as_ref().map(|mbuf| mbuf.copy_ref().unwrap());
                    exchange.lock().unwrap().extend(next);
                    drop(pool);
                    if one_in(2) {
                        drop(local);
                        drop(copy);
                    } else {
                        drop(copy);
                        local.free(mine);
                        return;
                    }
                    drop(mine);
                })
            })
            .collect();
        drop(pool);
        drop(chain);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        exchange.lock().unwrap().clear();
    });
}

shuttle::thread_local! {
    static KEPT: std::cell::RefCell<Vec<Mbuf>> = std::cell::RefCell::new(Vec::new());
}

/// Mbufs that a thread-local of the user's own holds are freed when their thread's cache may be gone already.
#[test]
fn late_frees_come_home() {
    schedule("late_frees_come_home", 20_000, || {
        let pool = small_pool();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let pool = pool.clone();
                thread::spawn(move || {
                    // Before or after the cache, so that it goes after or before it.
                    if one_in(2) {
                        drop(pool.alloc(200).unwrap());
                    }
                    KEPT.with(|kept| {
                        let mut kept = kept.borrow_mut();
                        kept.extend((0..below(5)).map(|_| pool.alloc(200).unwrap()));
                        if let Some(copy) = kept.last().map(|mbuf| mbuf.copy_ref().unwrap()) {
                            kept.push(copy);
                        }
                    });
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_all_home(&pool);
    });
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for(pool: &Pool, size: usize) -> Mbuf {
    let mut future = pin!(pool.alloc_async(size));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(mbuf) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return mbuf.unwrap();
        }
        thread::park();
    }
}

/// Threads that want more than there is, in several sizes, and wait for each other. None waits for ever, which shuttle
/// would take for a deadlock.
#[test]
fn waiters_serve_each_other() {
    schedule("waiters_serve_each_other", 600, || {
        let pool = small_pool();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let pool = pool.clone();
                thread::spawn(move || {
                    let local = pool.local();
                    for _ in 0..3 {
                        // Seven slabs, of which two fit; half a slab; less.
                        let size = [450_000, 30_000, 9000][below(3)];
                        let mbuf = wait_for(&pool, size);
                        let more = (size < 450_000).then(|| local.alloc(size).ok());
                        local.free(mbuf);
                        drop(more);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_all_home(&pool);
    });
}
