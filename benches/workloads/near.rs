//! How far apart two threads are: what they do together costs several times as much when their cores share no cache.
//!
//! Where a virtual machine's cores are changes from one moment to the next, so each round of a two-thread workload is
//! tagged by a ping-pong before and after it, and near rounds are reported apart from far ones.

use std::fmt;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Between what a line takes from core to core with a shared cache, some 50 ns, and without, some 240.
const NEAR_NANOS: f64 = 110.0;

const BOUNCES: u64 = 500;

/// A line that two threads write in turn.
#[repr(align(128))]
pub(super) struct Line(AtomicU64);

/// How a round went, by its ping-pongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    Near,
    Far,
    /// It changed meanwhile.
    Unclear,
}

impl Line {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// One side of the ping-pong. Returns nanoseconds per transfer, from when the other side has arrived.
    pub(super) fn ping(&self) -> f64 {
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
    pub(super) fn pong(&self, round: u64) {
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
pub(super) struct Patience(u32);

impl Patience {
    #[inline(always)]
    pub(super) fn wait(&mut self) {
        const SPINS: u32 = 20_000;
        if self.0 < SPINS {
            self.0 += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

impl Distance {
    pub(super) fn between(before: f64, after: f64) -> Self {
        match (before < NEAR_NANOS, after < NEAR_NANOS) {
            (true, true) => Self::Near,
            (false, false) => Self::Far,
            _ => Self::Unclear,
        }
    }
}

/// Nanoseconds per item of many rounds, near and far.
#[derive(Default)]
pub(super) struct Rounds {
    near: Vec<f64>,
    far: Vec<f64>,
    unclear: usize,
}

impl Rounds {
    pub(super) fn add(&mut self, distance: Distance, nanos: f64) {
        match distance {
            Distance::Near => self.near.push(nanos),
            Distance::Far => self.far.push(nanos),
            Distance::Unclear => self.unclear += 1,
        }
    }
}

/// A line for each distance that there were rounds at.
impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, nanos) in [("near", &self.near), ("far", &self.far)] {
            let mut sorted = nanos.clone();
            sorted.sort_by(f64::total_cmp);
            if let (Some(best), Some(median)) = (sorted.first(), sorted.get(sorted.len() / 2)) {
                let rounds = sorted.len();
                writeln!(
                    f,
                    "  {name}: median {median:.1} ns, best {best:.1} ns, {rounds} rounds"
                )?;
            }
        }
        if self.unclear > 0 {
            writeln!(f, "  in between, not counted: {} rounds", self.unclear)?;
        }
        Ok(())
    }
}
