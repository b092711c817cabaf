//! Two threads and a ring between them: W5, and the rounds that W9 is measured in.

use super::near::{Distance, Line, Patience, Rounds};
use super::{SIZE, pool};
use criterion::{Criterion, SamplingMode};
use mbuf::{Mbuf, Pool};
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const RING: usize = 1024;
const BURST: usize = 32;
/// What is written to a buffer, and read from it at the other end.
const BYTES: [u8; 64] = [7; 64];

/// Buffers that warm a round's caches up, before those that count.
pub(super) const WARM_UP: u64 = 4 * RING as u64;
/// Fewer make a round so short that starting it shows.
const SHORTEST: u64 = 20_000;

/// W5: one thread allocates and writes, the other reads and frees.
pub(crate) fn passing(criterion: &mut Criterion) {
    let pool = pool(&[SIZE]);
    let mut group = criterion.benchmark_group("W5 producer and consumer");
    group.sampling_mode(SamplingMode::Flat).sample_size(30);
    for (name, produce, consume) in [
        ("one by one", produce_one as Produce, consume_one as Consume),
        ("bursts of 32", produce_burst, consume_burst),
    ] {
        let mut rounds = Rounds::default();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|wanted| {
                let count = wanted.max(SHORTEST);
                let mut produce = |ring: &mut Producer<Mbuf>, left| produce(&pool, ring, left);
                let (taken, distance) = round(count, &mut produce, consume);
                rounds.add(distance, taken.as_nanos() as f64 / count as f64);
                taken.mul_f64(wanted as f64 / count as f64)
            });
        });
        print!("{rounds}");
    }
    group.finish();
}

/// Puts some buffers, at most as many as are left, into the ring, and says how many.
type Produce = fn(&Pool, &mut Producer<Mbuf>, u64) -> u64;
/// Takes and frees some buffers, and says how many: none when there are none.
type Consume = fn(&mut Consumer<Mbuf>) -> u64;

/// Passes `count` buffers from this thread to another. Returns the time from the first alloc to the last free.
pub(super) fn round(
    count: u64,
    produce: &mut dyn FnMut(&mut Producer<Mbuf>, u64) -> u64,
    consume: Consume,
) -> (Duration, Distance) {
    let (mut producer, mut consumer) = RingBuffer::new(RING);
    let (line, ready) = (Line::new(), Barrier::new(2));
    let mut fill = |count: u64| {
        let mut left = count;
        while left > 0 {
            left -= produce(&mut producer, left);
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut drain = |count: u64| {
                let mut left = count;
                let mut patience = Patience::default();
                while left > 0 {
                    match consume(&mut consumer) {
                        0 => patience.wait(),
                        taken => {
                            left -= taken;
                            patience = Patience::default();
                        }
                    }
                }
            };
            drain(WARM_UP);
            ready.wait();
            line.pong(0);
            drain(count);
            let end = Instant::now();
            line.pong(1);
            end
        });
        fill(WARM_UP);
        ready.wait();
        let before = line.ping();
        let start = Instant::now();
        fill(count);
        let after = line.ping();
        let end = other.join().expect("the consumer does not panic");
        (end - start, Distance::between(before, after))
    })
}

fn produce_one(pool: &Pool, ring: &mut Producer<Mbuf>, _left: u64) -> u64 {
    let mbuf = pool.alloc(SIZE).expect("the pool is large enough");
    send(ring, written(mbuf));
    1
}

/// The mbuf with 64 bytes in it.
#[inline(always)]
pub(super) fn written(mut mbuf: Mbuf) -> Mbuf {
    mbuf.extend_from_slice(black_box(&BYTES))
        .expect("64 bytes fit");
    mbuf
}

/// Waits for room in the ring.
#[inline(always)]
pub(super) fn send(ring: &mut Producer<Mbuf>, mut mbuf: Mbuf) {
    let mut patience = Patience::default();
    while let Err(PushError::Full(back)) = ring.push(mbuf) {
        mbuf = back;
        patience.wait();
    }
}

pub(super) fn consume_one(ring: &mut Consumer<Mbuf>) -> u64 {
    match ring.pop() {
        Ok(mbuf) => {
            read(&mbuf);
            1
        }
        Err(_) => 0,
    }
}

#[inline(always)]
fn read(mbuf: &Mbuf) {
    let sum = mbuf.data().iter().map(|&byte| u64::from(byte)).sum::<u64>();
    black_box(sum);
}

fn produce_burst(pool: &Pool, ring: &mut Producer<Mbuf>, left: u64) -> u64 {
    let count = BURST.min(left as usize);
    let mut burst = Vec::with_capacity(BURST);
    pool.alloc_bulk(SIZE, count, &mut burst)
        .expect("the pool is large enough");
    let mut patience = Patience::default();
    loop {
        match ring.write_chunk_uninit(count) {
            Ok(chunk) => return chunk.fill_from_iter(burst.into_iter().map(written)) as u64,
            Err(_) => patience.wait(),
        }
    }
}

fn consume_burst(ring: &mut Consumer<Mbuf>) -> u64 {
    let count = ring.slots().min(BURST);
    match ring.read_chunk(count) {
        Ok(chunk) if count > 0 => {
            mbuf::free_bulk(chunk.into_iter().inspect(read));
            count as u64
        }
        _ => 0,
    }
}
