//! W9: the time of each single alloc during W5.

use super::near::Distance;
use super::pipeline::{WARM_UP, consume_one, round, send, written};
use super::{SIZE, pool};
use hdrhistogram::Histogram;
use mbuf::Pool;
use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Allocs that are timed, unless `MBUF_LATENCY_ALLOCS` says otherwise.
const ALLOCS: u64 = 4_000_000;
/// Allocs of one round, tagged near or far as a whole.
const ROUND: u64 = 100_000;

const NAME: &str = "W9 alloc latency";

/// Prints percentiles beside those of timing nothing. Not a matter for criterion, whose figures are means.
pub(crate) fn percentiles() {
    let Some(allocs) = wanted() else { return };
    let pool = pool(&[SIZE]);
    let clock = Clock::calibrated();
    let mut empty = histogram();
    for _ in 0..allocs.min(1_000_000) {
        let before = ticks();
        record(&mut empty, before, ticks());
    }
    let (mut near, mut far) = (histogram(), histogram());
    for _ in 0..allocs.div_ceil(ROUND) {
        let (times, distance) = timed_round(&pool);
        match distance {
            Distance::Near => near += times,
            Distance::Far => far += times,
            Distance::Unclear => {}
        }
    }
    println!("{NAME}, ns                   p50     p99   p99.9  p99.99  samples");
    print_line("nothing", &empty, &clock);
    print_line("pool, near", &near, &clock);
    print_line("pool, far", &far, &clock);
}

/// How many allocs the command line and the environment ask for; `None` for none.
fn wanted() -> Option<u64> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let mut filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    if given("--list")
        || filters.peek().is_some() && !filters.any(|filter| NAME.contains(filter.as_str()))
    {
        return None;
    }
    if given("--test") || !given("--bench") {
        return Some(ROUND);
    }
    let asked = env::var("MBUF_LATENCY_ALLOCS").ok();
    Some(asked.and_then(|count| count.parse().ok()).unwrap_or(ALLOCS))
}

fn timed_round(pool: &Pool) -> (Histogram<u64>, Distance) {
    let mut times = histogram();
    let mut cold = WARM_UP;
    let mut produce = |ring: &mut _, _| {
        let before = ticks();
        let mbuf = black_box(pool.alloc(SIZE).expect("the pool is large enough"));
        let after = ticks();
        match cold {
            0 => record(&mut times, before, after),
            _ => cold -= 1,
        }
        send(ring, written(mbuf));
        1
    };
    let (_, distance) = round(ROUND, &mut produce, consume_one);
    (times, distance)
}

fn histogram() -> Histogram<u64> {
    // Three digits, up to some seconds' ticks: more is counted as the highest.
    Histogram::new_with_max(1 << 34, 3).expect("bounds that a histogram can have")
}

#[inline(always)]
fn record(times: &mut Histogram<u64>, before: u64, after: u64) {
    times.saturating_record(after.saturating_sub(before));
}

fn print_line(name: &str, times: &Histogram<u64>, clock: &Clock) {
    if times.is_empty() {
        return println!("  {name:30} no rounds");
    }
    print!("  {name:30}");
    for quantile in [0.5, 0.99, 0.999, 0.9999] {
        print!("{:8.0}", clock.nanos(times.value_at_quantile(quantile)));
    }
    println!("{:9}", times.len());
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
        #[allow(clippy::disallowed_types)]
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

struct Clock {
    nanos_per_tick: f64,
}

impl Clock {
    fn calibrated() -> Self {
        let (start, before) = (Instant::now(), ticks());
        while start.elapsed() < Duration::from_millis(50) {}
        let nanos = start.elapsed().as_nanos() as f64;
        Self {
            nanos_per_tick: nanos / (ticks() - before) as f64,
        }
    }

    fn nanos(&self, ticks: u64) -> f64 {
        ticks as f64 * self.nanos_per_tick
    }
}
