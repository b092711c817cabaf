//! W9: the time of each single alloc during W5.

use super::BYTES;
use super::pipe::{self, WARM_UP, Way, send};
use crate::case::SIZE;
use crate::contender::{Contender, Source};
use crate::entry::Sample;
use hdrhistogram::Histogram;
use rtrb::Producer;
use std::hint::black_box;
use std::time::{Duration, Instant};

pub(crate) fn round<C: Contender>(contender: &C, units: u64) -> Sample {
    let mut timed = Timed {
        cold: WARM_UP,
        times: histogram(),
    };
    let mut sample = pipe::round(contender, units, &mut timed);
    sample.latency = Some(timed.times);
    sample
}

struct Timed {
    /// Allocs to come that only warm up.
    cold: u64,
    times: Histogram<u64>,
}

impl<C: Contender> Way<C> for Timed {
    #[inline(always)]
    fn produce(&mut self, thread: &C::Thread<'_>, ring: &mut Producer<C::Buffer>, _: u64) -> u64 {
        let before = ticks();
        let mut buffer = black_box(thread.alloc(SIZE));
        let after = ticks();
        match self.cold {
            0 => record(&mut self.times, before, after),
            _ => self.cold -= 1,
        }
        C::write(&mut buffer, &BYTES);
        send(ring, buffer);
        1
    }
}

pub(crate) fn histogram() -> Histogram<u64> {
    // Three digits, up to some seconds' ticks: more is counted as the highest.
    Histogram::new_with_max(1 << 34, 3).expect("bounds that a histogram can have")
}

#[inline(always)]
fn record(times: &mut Histogram<u64>, before: u64, after: u64) {
    times.saturating_record(after.saturating_sub(before));
}

/// Timing nothing, for comparison.
pub(crate) fn nothing(count: u64) -> Histogram<u64> {
    let mut times = histogram();
    for _ in 0..count {
        let before = ticks();
        record(&mut times, before, ticks());
    }
    times
}

/// The processor's time stamp, or nanoseconds where there is none.
#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; every processor of the architecture has it.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::OnceLock;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Measured once.
pub(crate) fn nanos_per_tick() -> f64 {
    let (start, before) = (Instant::now(), ticks());
    while start.elapsed() < Duration::from_millis(50) {}
    let nanos = start.elapsed().as_nanos() as f64;
    nanos / (ticks() - before) as f64
}
