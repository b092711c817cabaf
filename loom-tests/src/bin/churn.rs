//! Real threads doing everything at once, to be run under ThreadSanitizer and AddressSanitizer.
//!
//! `churn [SECONDS]`: threads allocate, write, copy, chain, split, hand over, read and free mbufs of many sizes, pools are
//! trimmed and exhausted, threads come and go. In the end every block is home. Where a sanitizer is silent and this
//! exits with 0, it found nothing.

// The exchange below is the program's own, so that the sanitizer sees all of its atomics.
#![allow(clippy::disallowed_types)]

use mbuf::{Mbuf, Pool};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 4;
const SLOTS: usize = 64;

/// Slots through which threads hand each other mbufs.
struct Exchange([AtomicPtr<Mbuf>; SLOTS]);

impl Exchange {
    const fn new() -> Self {
        Self([const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS])
    }

    /// Puts one mbuf in and takes another out.
    fn swap(&self, slot: usize, mbuf: Option<Mbuf>) -> Option<Mbuf> {
        let new = mbuf.map_or(std::ptr::null_mut(), |mbuf| Box::into_raw(Box::new(mbuf)));
        // Acquire and release: the mbuf is handed over whole.
        let old = self.0[slot % SLOTS].swap(new, Ordering::AcqRel);
        // SAFETY: what was in the slot is a box, and the swap took it for us alone.
        (!old.is_null()).then(|| *unsafe { Box::from_raw(old) })
    }
}

/// A small generator of numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

/// Fills the mbuf with one byte, which its user area names.
fn stamp(mbuf: &mut Mbuf, byte: u8) {
    let length = mbuf.capacity().min(300);
    if mbuf.set_len(length).is_ok()
        && let Some(data) = mbuf.data_mut()
    {
        data.fill(byte);
        mbuf.user_mut()[95] = byte;
    }
}

fn check(mbuf: &Mbuf) {
    for segment in mbuf.segments() {
        let byte = segment.user()[95];
        assert!(segment.data().iter().all(|&b| b == byte), "torn data");
    }
}

fn one_step(pool: &Pool, exchange: &Exchange, held: &mut Vec<Mbuf>, random: &mut Random) {
    const SIZES: [usize; 7] = [0, 1, 64, 300, 2048, 9000, 70_000];
    match random.next(12) {
        0..=3 => {
            if let Ok(mut mbuf) = pool.alloc(SIZES[random.next(SIZES.len())]) {
                stamp(&mut mbuf, random.next(256) as u8);
                held.push(mbuf);
            }
        }
        4 | 5 => {
            let slot = random.next(SLOTS);
            if let Some(mbuf) = exchange.swap(slot, held.pop()) {
                check(&mbuf);
                held.push(mbuf);
            }
        }
        6 => {
            if let Some(copy) = held.last().and_then(|mbuf| mbuf.copy_ref().ok()) {
                held.push(copy);
            }
        }
        7 => {
            if let (Some(behind), Some(head)) = (held.pop(), held.last_mut()) {
                drop(head.append(behind));
            }
        }
        8 => {
            if let Some(rest) = held.last_mut().and_then(|mbuf| mbuf.split_off(1)) {
                held.push(rest);
            }
        }
        9 => {
            if let Some(mbuf) = held.last_mut() {
                let _ = mbuf.make_unique();
                check(mbuf);
                let byte = random.next(256) as u8;
                stamp(mbuf, byte);
            }
        }
        10 if random.next(500) == 0 => drop(pool.trim()),
        _ => drop(held.pop()),
    }
    if held.len() > 200 {
        held.drain(..150);
    }
}

/// What the threads share, for ever: so that nothing of it is freed, and joining is all the order that threads need.
struct Shared {
    pool: Pool,
    exchange: Exchange,
    stop: AtomicBool,
    steps: AtomicU64,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// A thread's life: some steps, after which another takes its place and its cache.
fn live(shared: &Shared, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut held = Vec::new();
    for _ in 0..20_000 {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        one_step(&shared.pool, &shared.exchange, &mut held, &mut random);
        shared.steps.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() -> ExitCode {
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(5);
    let pool = Pool::builder().capacity(12 << 20).build();
    let shared = SHARED.get_or_init(|| Shared {
        pool: pool.expect("address space for a small pool"),
        exchange: Exchange::new(),
        stop: AtomicBool::new(false),
        steps: AtomicU64::new(0),
    });
    let workers = (1..=THREADS).map(|worker| {
        thread::spawn(move || {
            for life in 0.. {
                let seed = worker << 32 | life;
                let thread = thread::spawn(move || live(shared, seed));
                thread.join().expect("no step panics");
                if shared.stop.load(Ordering::Relaxed) {
                    return life + 1;
                }
            }
            0
        })
    });
    let workers: Vec<_> = workers.collect();
    thread::sleep(Duration::from_secs(seconds));
    shared.stop.store(true, Ordering::Relaxed);
    let lives: u64 = workers
        .into_iter()
        .map(|worker| worker.join().expect("no step panics"))
        .sum();
    (0..SLOTS).for_each(|slot| drop(shared.exchange.swap(slot, None)));
    let stats = shared.pool.stats();
    let steps = shared.steps.load(Ordering::Relaxed);
    println!(
        "{steps} steps by {lives} threads, {} allocations",
        stats.allocs
    );
    if stats.in_use == 0 && stats.carved == stats.cached + stats.in_depot {
        ExitCode::SUCCESS
    } else {
        println!("blocks are lost:\n{stats}");
        ExitCode::FAILURE
    }
}
