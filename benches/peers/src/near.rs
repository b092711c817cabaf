//! How far apart two threads are: what they do together costs several times as much when their cores share no cache.
//!
//! Where a virtual machine's cores are changes from one moment to the next, so each round of a workload with two threads is tagged
//! by a ping-pong before and after it, and only rounds of one kind are compared.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Between what a line takes from core to core with a shared cache, some 50 ns, and without, some 240.
const NEAR_NANOS: f64 = 110.0;

const BOUNCES: u64 = 300;

/// A line that two threads write in turn.
#[repr(align(128))]
pub(crate) struct Line(AtomicU64);

/// How a round went, by its ping-pongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distance {
    Near,
    Far,
    /// It changed meanwhile.
    Unclear,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// One side of the ping-pong. Returns nanoseconds per transfer, from when the other side has arrived.
    pub(crate) fn ping(&self) -> f64 {
        let first = self.0.load(Ordering::Acquire);
        let mut start = Instant::now();
        for turn in 0..=BOUNCES {
            self.0.store(first + 2 * turn + 1, Ordering::Release);
            self.wait_for(first + 2 * turn + 2);
            if turn == 0 {
                start = Instant::now();
            }
        }
        start.elapsed().as_nanos() as f64 / (2 * BOUNCES) as f64
    }

    /// The other side, of the line's ping number `round`.
    pub(crate) fn pong(&self, round: u64) {
        let first = 2 * (BOUNCES + 1) * round;
        for turn in 0..=BOUNCES {
            self.wait_for(first + 2 * turn + 1);
            self.0.store(first + 2 * turn + 2, Ordering::Release);
        }
    }

    fn wait_for(&self, value: u64) {
        let mut patience = Patience::default();
        while self.0.load(Ordering::Acquire) != value {
            patience.wait();
        }
    }
}

/// Waits for another thread by spinning, but lets it run when it takes so long that it cannot be running.
#[derive(Default)]
pub(crate) struct Patience(u32);

impl Patience {
    #[inline(always)]
    pub(crate) fn wait(&mut self) {
        const SPINS: u32 = 5_000;
        if self.0 < SPINS {
            self.0 += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

impl Distance {
    pub(crate) fn between(before: f64, after: f64) -> Self {
        match (before < NEAR_NANOS, after < NEAR_NANOS) {
            (true, true) => Self::Near,
            (false, false) => Self::Far,
            _ => Self::Unclear,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
            Self::Unclear => "unclear",
        }
    }
}
