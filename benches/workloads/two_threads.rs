//! W8: W1 on two threads at once.

use super::{SIZE, pool};
use criterion::{Criterion, SamplingMode};
use mbuf::Pool;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Fewer make a round so short that starting it shows.
const SHORTEST: u64 = 200_000;

/// The time per pair and thread, and how much of two threads' worth two threads do.
pub(crate) fn scaling(criterion: &mut Criterion) {
    let pool = pool(&[SIZE]);
    let mut group = criterion.benchmark_group("W8 two threads");
    group.sampling_mode(SamplingMode::Flat);
    let mut efficiencies = Vec::new();
    group.bench_function("pool", |bencher| {
        bencher.iter_custom(|wanted| {
            let count = wanted.max(SHORTEST);
            let alone = pairs(&pool, count);
            let (one, other) = at_once(&pool, count);
            let mean = (one + other) / 2;
            efficiencies.push(alone.as_secs_f64() / mean.as_secs_f64());
            mean.mul_f64(wanted as f64 / count as f64)
        });
    });
    efficiencies.sort_by(f64::total_cmp);
    if let Some(median) = efficiencies.get(efficiencies.len() / 2) {
        println!("  efficiency against one thread in the same round: median {median:.2}");
    }
    group.finish();
}

fn at_once(pool: &Pool, count: u64) -> (Duration, Duration) {
    let ready = Barrier::new(2);
    let side = || {
        pairs(pool, SHORTEST / 10);
        ready.wait();
        pairs(pool, count)
    };
    thread::scope(|scope| {
        let other = scope.spawn(side);
        (side(), other.join().expect("the thread does not panic"))
    })
}

fn pairs(pool: &Pool, count: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        drop(black_box(
            pool.alloc(SIZE).expect("the pool is large enough"),
        ));
    }
    start.elapsed()
}
