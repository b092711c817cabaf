//! The workloads: generic functions, compiled for each contender, that measure one round.

pub(crate) mod chain;
pub(crate) mod check;
pub(crate) mod fan_out;
pub(crate) mod growth;
pub(crate) mod latency;
pub(crate) mod pipe;
pub(crate) mod sharing;
pub(crate) mod single;
pub(crate) mod threads;

use crate::contender::WRITTEN;
use crate::entry::Sample;
use std::time::Instant;

/// Buffers of a batch.
const BATCH: usize = 32;

/// What is written to buffers, and what it sums up to.
const BYTES: [u8; WRITTEN] = [7; WRITTEN];
const SUM: u64 = 7 * WRITTEN as u64;

/// Measures `turn`, of `each` units, until there were `units`; warm, as other contenders had the caches before.
#[inline(always)]
fn repeat(units: u64, each: u64, mut turn: impl FnMut()) -> Sample {
    let turns = units.div_ceil(each);
    for _ in 0..turns.div_ceil(8) {
        turn();
    }
    let start = Instant::now();
    for _ in 0..turns {
        turn();
    }
    Sample::new(start.elapsed().as_nanos() as f64 / (turns * each) as f64)
}

/// A fixed pseudo-random sequence.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    #[inline(always)]
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (((self.0 >> 32) * limit as u64) >> 32) as usize
    }
}
