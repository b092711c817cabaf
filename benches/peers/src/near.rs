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

/// More than this and the threads share a core, one waiting for the other to be done: nothing to measure.
const APART_NANOS: f64 = 1_000.0;

/// Short ping-pongs after which a round starts even so: some tens of milliseconds.
const TRIES: u32 = 30;
const SHORT: u64 = 10;

/// A line that two threads write in turn.
#[repr(align(128))]
pub(crate) struct Line {
    turn: AtomicU64,
    /// What the ping's side says of the ping-pongs before a round: see `first_ping`.
    agreed: AtomicU64,
}

/// How a round went, by its ping-pongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distance {
    Near,
    Far,
    /// It changed meanwhile.
    Unclear,
    /// The threads took turns on one core, at one end of the round at least. Not compared.
    OneCore,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self {
            turn: AtomicU64::new(0),
            agreed: AtomicU64::new(0),
        }
    }

    /// One side of the ping-pong. Returns nanoseconds per transfer, from when the other side has arrived.
    pub(crate) fn ping(&self) -> f64 {
        self.ping_times(BOUNCES)
    }

    /// The other side.
    pub(crate) fn pong(&self) {
        self.pong_times(BOUNCES);
    }

    fn ping_times(&self, bounces: u64) -> f64 {
        let first = self.turn.load(Ordering::Acquire);
        let mut start = Instant::now();
        for turn in 0..=bounces {
            self.turn.store(first + 2 * turn + 1, Ordering::Release);
            self.wait_for(first + 2 * turn + 2);
            if turn == 0 {
                start = Instant::now();
            }
        }
        start.elapsed().as_nanos() as f64 / (2 * bounces) as f64
    }

    fn pong_times(&self, bounces: u64) {
        // Even until the ping comes, and no more than one ahead then.
        let first = self.turn.load(Ordering::Acquire) & !1;
        for turn in 0..=bounces {
            self.wait_for(first + 2 * turn + 1);
            self.turn.store(first + 2 * turn + 2, Ordering::Release);
        }
    }

    /// The ping before a round, when the threads run at the same time or seem never to.
    pub(crate) fn first_ping(&self) -> f64 {
        let mut tries = 0;
        loop {
            let nanos = self.ping_times(SHORT);
            tries += 1;
            let begins = nanos < APART_NANOS || tries == TRIES;
            // In one word, the number of ping-pongs and whether that was the last of them.
            let said = u64::from(tries) << 1 | u64::from(begins);
            self.agreed.store(said, Ordering::Release);
            if begins {
                return self.ping();
            }
        }
    }

    /// The other side.
    pub(crate) fn first_pong(&self) {
        for tries in 1.. {
            self.pong_times(SHORT);
            let mut patience = Patience::default();
            let said = loop {
                let said = self.agreed.load(Ordering::Acquire);
                if said >> 1 == tries {
                    break said;
                }
                patience.wait();
            };
            if said & 1 == 1 {
                return self.pong();
            }
        }
    }

    fn wait_for(&self, value: u64) {
        let mut patience = Patience::default();
        while self.turn.load(Ordering::Acquire) != value {
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
        const SPINS: u32 = 2_000;
        if self.0 < SPINS {
            self.0 += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

/// Where threads wait for each other without sleeping: who is woken is often put on the core of who wakes him, and a round can be over
/// before the system moves him.
pub(crate) struct Start {
    missing: AtomicU64,
}

impl Start {
    pub(crate) fn of(threads: u64) -> Self {
        Self {
            missing: AtomicU64::new(threads),
        }
    }

    pub(crate) fn wait(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut patience = Patience::default();
        while self.missing.load(Ordering::Acquire) > 0 {
            patience.wait();
        }
    }
}

impl Distance {
    pub(crate) const ALL: [Self; 4] = [Self::Near, Self::Far, Self::Unclear, Self::OneCore];

    pub(crate) fn between(before: f64, after: f64) -> Self {
        match (before < NEAR_NANOS, after < NEAR_NANOS) {
            _ if before.max(after) > APART_NANOS => Self::OneCore,
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
            Self::OneCore => "on one core",
        }
    }
}
