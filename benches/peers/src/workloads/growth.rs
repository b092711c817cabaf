//! W12: what cost does when more buffers live, and when there are more threads.

use super::{BATCH, BYTES, Random, single};
use crate::contender::{Contender, Source};
use crate::entry::Sample;
use crate::near::Start;
use crate::pin::{Cores, Pinned};
use std::thread;
use std::time::Instant;

/// Replaces `units` times one of `LIVE` small buffers, which are made before and freed afterwards. The new one is written to: otherwise who
/// never looks at the memory itself would seem to have spared its user the cache misses.
pub(crate) fn live<C: Contender, const LIVE: usize>(contender: &C, units: u64) -> Sample {
    const SMALL: usize = 64;
    let thread = contender.thread();
    let mut random = Random::new();
    let mut held: Vec<_> = (0..LIVE)
        .map(|_| {
            let mut buffer = thread.alloc(SMALL);
            C::write(&mut buffer, &BYTES);
            Some(buffer)
        })
        .collect();
    let mut turn = || {
        let place = &mut held[random.below(LIVE)];
        if let Some(buffer) = place.take() {
            thread.free(buffer);
        }
        let mut buffer = thread.alloc(SMALL);
        C::write(&mut buffer, &BYTES);
        *place = Some(buffer);
    };
    for _ in 0..units.min(LIVE as u64) {
        turn();
    }
    let start = Instant::now();
    for _ in 0..units {
        turn();
    }
    let taken = start.elapsed();
    for buffer in held.into_iter().flatten() {
        thread.free(buffer);
    }
    Sample::new(taken.as_nanos() as f64 / units as f64)
}

/// W2 on so many threads at once. The time is of a core: when all cores are busy, it stays the same if nobody waits.
pub(crate) fn threads<C: Contender, const THREADS: u64>(contender: &C, units: u64) -> Sample {
    let turns = units.div_ceil(BATCH as u64 * THREADS);
    let ready = Start::of(THREADS);
    let cores = Cores::of_this_thread();
    let life = |number| {
        let _pinned = Pinned::to(number, &cores);
        let thread = contender.thread();
        let mut held = Vec::with_capacity(BATCH);
        for _ in 0..turns.div_ceil(8) {
            single::turn(&thread, &mut held);
        }
        ready.wait();
        let start = Instant::now();
        for _ in 0..turns {
            single::turn(&thread, &mut held);
        }
        let end = Instant::now();
        drop(thread);
        contender.leave();
        (start, end)
    };
    let life = &life;
    let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS as usize)
            .map(|number| scope.spawn(move || life(number)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|span| span.expect("the thread does not panic"))
            .collect()
    });
    let start = spans.iter().map(|span| span.0).min();
    let end = spans.iter().map(|span| span.1).max();
    let wall = end.expect("a thread") - start.expect("a thread");
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let pairs = turns * BATCH as u64 * THREADS;
    Sample::new(wall.as_nanos() as f64 * cores.min(THREADS) as f64 / pairs as f64)
}
