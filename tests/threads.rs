//! Threads that pass mbufs round: each block has one owner at a time, data arrives as it was sent, and nothing is lost.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::stamp::{Expected, Marks, check, mark_fresh, mark_header, remark_data};
use common::{Random, assert_all_home, fill, fresh_count};
use mbuf::{AllocError, LocalPool, Mbuf, Pool};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// A chain with what it is marked with: the marks go along when it is sent.
type Held = (Mbuf, Vec<Expected>);

/// One of several threads that do random things to mbufs and pass some of them to the next.
struct Worker {
    pool: Pool,
    local: Option<LocalPool>,
    random: Random,
    marks: Marks,
    held: Vec<Held>,
    inbox: Receiver<Held>,
    next: SyncSender<Held>,
    refused: u64,
}

const MOST_HELD: usize = 24;

impl Worker {
    fn new(pool: &Pool, number: usize, inbox: Receiver<Held>, next: SyncSender<Held>) -> Self {
        Self {
            pool: pool.clone(),
            // Every other thread works through a handle of its own.
            local: number.is_multiple_of(2).then(|| pool.local()),
            random: Random::new(number as u64 + 1),
            marks: Marks::of_thread(number),
            held: Vec::new(),
            inbox,
            next,
            refused: 0,
        }
    }

    fn size(&mut self) -> usize {
        match self.random.below(16) {
            0 => 0,
            1..=9 => 1 + self.random.below(256),
            10..=13 => 256 + self.random.below(1200),
            14 => 4096,
            _ => 40_000,
        }
    }

    /// Notes a refusal, which only exhaustion explains.
    fn granted<T>(&mut self, result: Result<T, AllocError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert_eq!(error, AllocError::Exhausted);
                self.refused += 1;
                None
            }
        }
    }

    fn alloc(&mut self) {
        let size = self.size();
        let result = match &self.local {
            Some(local) => local.alloc(size),
            None => self.pool.alloc(size),
        };
        if let Some(mut mbuf) = self.granted(result) {
            let (header, data) = (self.marks.next(), self.marks.next());
            let expected = mark_fresh(&mut mbuf, header, data);
            self.held.push((mbuf, vec![expected]));
        }
    }

    fn take_any(&mut self) -> Option<Held> {
        let index = self.random.next() as usize;
        let index = index.checked_rem(self.held.len())?;
        Some(self.held.swap_remove(index))
    }

    fn copy_ref(&mut self) {
        let Some((original, expected)) = self.take_any() else {
            return;
        };
        let from = self.random.below(expected.len());
        let result = original.segment(from).map(|member| member.copy_ref());
        if let Some(mut copy) = result.and_then(|result| self.granted(result)) {
            let mut marks = expected[from..].to_vec();
            check(&copy, &marks);
            for (mut segment, mark) in copy.segments_mut().zip(&mut marks) {
                assert!(segment.data_mut().is_none(), "shared");
                mark.header = self.marks.next();
                mark_header(segment.user_mut(), mark.header);
            }
            self.held.push((copy, marks));
        }
        self.held.push((original, expected));
    }

    fn append(&mut self) {
        let (Some(mut head), Some(other)) = (self.take_any(), self.take_any()) else {
            return;
        };
        match head.0.append(other.0) {
            Ok(()) => head.1.extend(other.1),
            Err(error) => self.held.push((error.into_mbuf(), other.1)),
        }
        self.held.push(head);
    }

    fn split(&mut self) {
        if let Some(mut chain) = self.take_any() {
            let at = self.random.below(chain.1.len() + 1);
            if let Some(rest) = chain.0.split_off(at) {
                let marks = chain.1.split_off(at);
                self.held.push((rest, marks));
            }
            self.held.push(chain);
        }
    }

    fn write(&mut self) {
        let Some((mut chain, mut marks)) = self.take_any() else {
            return;
        };
        if self.random.below(4) == 0 {
            let done = chain.make_unique();
            self.granted(done);
        }
        for (mut segment, mark) in chain.segments_mut().zip(&mut marks) {
            let data = self.marks.next();
            if remark_data(&mut segment, data) {
                mark.data = data;
            }
        }
        self.held.push((chain, marks));
    }

    fn free(&mut self) {
        if let Some((mbuf, marks)) = self.take_any() {
            check(&mbuf, &marks);
            match &self.local {
                Some(local) => local.free(mbuf),
                None => drop(mbuf),
            }
        }
    }

    fn send(&mut self) {
        if let Some(chain) = self.take_any() {
            // A full inbox of a thread that has none to spare: this one keeps it.
            if let Err(back) = self.next.try_send(chain) {
                use std::sync::mpsc::TrySendError::{Disconnected, Full};
                let (Full(chain) | Disconnected(chain)) = back;
                self.held.push(chain);
            }
        }
    }

    fn receive(&mut self) {
        while let Ok((mbuf, marks)) = self.inbox.try_recv() {
            check(&mbuf, &marks);
            self.held.push((mbuf, marks));
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=6 => self.alloc(),
            7..=9 => self.copy_ref(),
            10..=11 => self.append(),
            12 => self.split(),
            13 => self.write(),
            14..=16 => self.send(),
            _ => self.free(),
        }
        self.receive();
        while self.held.len() > MOST_HELD {
            self.free();
        }
    }

    /// Frees all that is held and, once every sender is gone, all that was sent here; says how often it was refused.
    fn finish(mut self) -> u64 {
        while !self.held.is_empty() {
            self.free();
        }
        drop(self.next);
        for (mbuf, marks) in self.inbox {
            check(&mbuf, &marks);
        }
        self.refused
    }
}

/// Lets `count` threads work on `pool` in a ring until `done` says so; returns how often they were refused.
fn churn(pool: &Pool, count: usize, done: impl Fn(u64) -> bool + Send + Copy + 'static) -> u64 {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..count).map(|_| sync_channel(8)).unzip();
    let mut next: Vec<_> = senders.into_iter().rev().collect();
    next.rotate_left(1);
    let workers = inboxes.into_iter().rev().zip(next).enumerate();
    let threads: Vec<_> = workers
        .map(|(number, (inbox, next))| {
            let pool = pool.clone();
            thread::spawn(move || {
                let mut worker = Worker::new(&pool, number, inbox, next);
                let mut steps = 0;
                while !done(steps) {
                    worker.step();
                    steps += 1;
                }
                worker.finish()
            })
        })
        .collect();
    threads.into_iter().map(|t| t.join().unwrap()).sum()
}

#[test]
fn threads_at_random_lose_nothing_and_never_share_a_block() {
    const CAPACITY: u64 = 256 << 20;
    let pool = common::pool(CAPACITY);
    let refused = churn(&pool, 16, |steps| steps == 20_000);
    assert_eq!(refused, 0, "there was memory enough");
    let stats = assert_all_home(&pool);
    assert_eq!(stats.failed, 0);
    assert!(stats.allocs > 16 * 3000);
    assert_eq!(fill(&pool, 20_000).len(), fresh_count(CAPACITY, 20_000));
}

#[test]
fn threads_that_are_short_of_memory_lose_nothing_either() {
    const CAPACITY: u64 = 1 << 20;
    let pool = common::pool_with_magazines(CAPACITY, 8);
    let refused = churn(&pool, 16, |steps| steps == 12_000);
    assert!(refused > 0, "the pool was too large to be exhausted");
    let stats = assert_all_home(&pool);
    assert!(stats.failed > 0);
    assert_eq!(fill(&pool, 1000).len(), fresh_count(CAPACITY, 1000));
}

#[test]
#[cfg(target_os = "linux")]
fn threads_that_share_one_processor_lose_nothing() {
    let pool = common::pool(64 << 20);
    let inner = pool.clone();
    let confined = thread::spawn(move || {
        common::system::use_one_processor();
        churn(&inner, 4, |steps| steps == 8000)
    });
    assert_eq!(confined.join().unwrap(), 0);
    assert_all_home(&pool);
}

#[test]
fn blocks_that_go_through_the_depot_one_by_one_are_never_shared() {
    const THREADS: usize = 6;
    const CAPACITY: u64 = 1 << 20;
    let pool = common::pool_with_magazines(CAPACITY, 1);
    let start = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (pool, start) = (pool.clone(), start.clone());
            thread::spawn(move || {
                let mut marks = Marks::of_thread(number);
                start.wait();
                for _ in 0..6000 {
                    // More than both magazines hold, so that each round takes from the depot and leaves there.
                    let held: Vec<_> = (0..5)
                        .map(|_| {
                            let mut mbuf = pool.alloc(32).unwrap();
                            let (header, data) = (marks.next(), marks.next());
                            let expected = mark_fresh(&mut mbuf, header, data);
                            (mbuf, expected)
                        })
                        .collect();
                    for (mbuf, expected) in held {
                        check(&mbuf, &[expected]);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let stats = assert_all_home(&pool);
    assert!(stats.carved <= (THREADS * 8) as u64, "{stats}");
    assert_eq!(fill(&pool, 1000).len(), fresh_count(CAPACITY, 1000));
}

/// As the tests above for as long as `MBUF_SOAK_SECONDS` says, one minute by default.
#[test]
#[ignore = "takes a minute"]
fn soak() {
    let seconds = std::env::var("MBUF_SOAK_SECONDS").map_or(60, |text| text.parse().unwrap());
    for (capacity, share) in [(256 << 20, 2), (2 << 20, 2)] {
        let pool = common::pool(capacity);
        let end = Instant::now() + Duration::from_secs(seconds) / share;
        let refused = churn(&pool, 16, move |_| Instant::now() >= end);
        let stats = assert_all_home(&pool);
        println!("refused {refused} times\n{stats}");
        assert_eq!(fill(&pool, 1000).len(), fresh_count(capacity, 1000));
    }
}

#[test]
fn statistics_stay_plausible_while_threads_free_each_others_mbufs() {
    let pool = common::pool(64 << 20);
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (pool, stop) = (pool.clone(), stop.clone());
        thread::spawn(move || {
            let (mut allocs, mut frees, mut looks) = (0, 0, 0);
            while !stop.load(Ordering::Relaxed) || looks == 0 {
                let stats = pool.stats();
                assert!(stats.allocs >= allocs && stats.frees >= frees, "{stats}");
                (allocs, frees) = (stats.allocs, stats.frees);
                // No more than there can be: an underflow would be far beyond it.
                let most = stats.capacity / common::HEADER;
                for count in [stats.in_use, stats.carved, stats.cached, stats.in_depot] {
                    assert!(count <= 2 * most, "{stats}");
                }
                looks += 1;
            }
        })
    };
    churn(&pool, 4, |steps| steps == 5000);
    stop.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    assert_all_home(&pool);
}

#[test]
fn the_last_of_two_references_dropped_at_once_frees_the_block() {
    const ROUNDS: usize = 20_000;
    let pool = common::pool(1 << 20);
    let (send, receive) = sync_channel::<Mbuf>(0);
    let other = thread::spawn(move || {
        for mbuf in receive {
            assert_eq!(mbuf.data(), b"both");
        }
    });
    for _ in 0..ROUNDS {
        let mbuf = common::holding(&pool, b"both");
        send.send(mbuf.copy_ref().unwrap()).unwrap();
        drop(mbuf);
    }
    drop(send);
    other.join().unwrap();
    let stats = assert_all_home(&pool);
    assert!(stats.carved < 1000, "each block was used again: {stats}");
}

#[test]
fn who_gets_data_mut_has_the_data_alone() {
    const ROUNDS: u64 = 10_000;
    let pool = common::pool(1 << 20);
    let (send, receive) = sync_channel::<(Mbuf, u8)>(4);
    let reader = thread::spawn(move || {
        for (mbuf, byte) in receive {
            assert!(mbuf.data().iter().all(|&found| found == byte));
        }
    });
    let mut mbuf = pool.alloc_zeroed(256).unwrap();
    let mut waits = 0;
    for round in 0..ROUNDS {
        let byte = round as u8;
        mbuf.data_mut().unwrap().fill(byte);
        for _ in 0..3 {
            send.send((mbuf.copy_ref().unwrap(), byte)).unwrap();
        }
        // As soon as this succeeds the reader has done with all three, and a write cannot be seen by it.
        while mbuf.data_mut().is_none() {
            waits += 1;
            thread::yield_now();
        }
        mbuf.data_mut().unwrap().fill(!byte);
    }
    assert!(waits > 0, "the reader was never late");
    drop(send);
    reader.join().unwrap();
    drop(mbuf);
    assert_all_home(&pool);
}

#[test]
fn one_mbuf_is_copied_by_many_threads_at_once() {
    const THREADS: usize = 8;
    let pool = common::pool(16 << 20);
    let chain = Arc::new(common::numbered_chain(&pool, 5));
    let start = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (chain, start) = (chain.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                let copies: Vec<_> = (0..300).map(|_| chain.copy_ref().unwrap()).collect();
                drop(chain);
                copies
            })
        })
        .collect();
    let copies: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(pool.stats().in_use as usize, 5 * (1 + THREADS * 300));
    let last = Arc::into_inner(chain).unwrap();
    // Freed on threads that allocated none of them.
    let threads: Vec<_> = copies
        .into_iter()
        .map(|copies| {
            thread::spawn(move || {
                for copy in copies {
                    common::assert_numbers(&copy, 0..5);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(last.segments().all(|segment| !segment.is_shared()));
    common::assert_numbers(&last, 0..5);
    drop(last);
    assert_all_home(&pool);
}

#[test]
fn producers_and_consumers_exchange_blocks_without_growth() {
    const MESSAGES: u64 = 200_000;
    let pool = common::pool(256 << 20);
    let (send, receive) = sync_channel::<Mbuf>(64);
    let consumer = thread::spawn(move || {
        let mut next = 0_u64;
        for mbuf in receive {
            assert_eq!(mbuf.data(), next.to_le_bytes());
            next += 1;
        }
        next
    });
    let mut carved_early = 0;
    for number in 0..MESSAGES {
        let mut mbuf = pool.alloc(2048).unwrap();
        mbuf.extend_from_slice(&number.to_le_bytes()).unwrap();
        send.send(mbuf).unwrap();
        if number == MESSAGES / 10 {
            carved_early = pool.stats().carved;
        }
    }
    drop(send);
    assert_eq!(consumer.join().unwrap(), MESSAGES);
    let stats = assert_all_home(&pool);
    // In flight, and two magazines each; a few more may have been on their way.
    assert!(stats.carved <= 66 + 6 * 64, "{stats}");
    assert!(stats.carved <= carved_early + 128, "{carved_early} {stats}");
}
