//! One thread, allocating and freeing: W1 to W4.

use super::source::{Floor, Source};
use super::{Random, SIZE, per_item, pool};
use criterion::{Bencher, Criterion};
use std::hint::black_box;

/// Buffers of a batch in W2.
const BATCH: usize = 32;

/// W1: one buffer, allocated and freed.
pub(crate) fn hot(criterion: &mut Criterion) {
    let pool = pool(&[SIZE]);
    let local = pool.local();
    let mut group = criterion.benchmark_group("W1 hot");
    group.bench_function("floor", |bencher| pairs(bencher, &Floor::new()));
    group.bench_function("pool", |bencher| pairs(bencher, &pool));
    group.bench_function("pool, size unknown", |bencher| {
        bencher.iter(|| pool.free(black_box(Source::alloc(&pool, black_box(SIZE)))));
    });
    group.bench_function("local pool", |bencher| pairs(bencher, &local));
    group.finish();
}

fn pairs(bencher: &mut Bencher<'_>, source: &impl Source) {
    bencher.iter(|| source.free(black_box(source.alloc(SIZE))));
}

/// W2: 32 buffers, then all freed again.
pub(crate) fn batches(criterion: &mut Criterion) {
    let pool = pool(&[SIZE]);
    let local = pool.local();
    let mut group = criterion.benchmark_group("W2 32 at a time");
    group.bench_function("floor", |bencher| singly(bencher, &Floor::new()));
    group.bench_function("pool", |bencher| singly(bencher, &pool));
    group.bench_function("local pool", |bencher| singly(bencher, &local));
    group.bench_function("pool, bulk", |bencher| {
        let mut held = Vec::with_capacity(BATCH);
        per_item(bencher, BATCH as u64, || {
            pool.alloc_bulk(SIZE, BATCH, &mut held)
                .expect("the pool is large enough");
            black_box(&mut held);
            mbuf::free_bulk(held.drain(..));
        });
    });
    group.finish();
}

fn singly(bencher: &mut Bencher<'_>, source: &impl Source) {
    let mut held = Vec::with_capacity(BATCH);
    per_item(bencher, BATCH as u64, || {
        for _ in 0..BATCH {
            held.push(source.alloc(SIZE));
        }
        black_box(&mut held);
        while let Some(buffer) = held.pop() {
            source.free(buffer);
        }
    });
}

/// W3: 4,096 buffers, freed in another order.
pub(crate) fn shuffled(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("W3 4096 shuffled");
    group.bench_function("floor", |bencher| out_of_order(bencher, &Floor::new()));
    let pool = pool(&[SIZE]);
    group.bench_function("pool", |bencher| out_of_order(bencher, &pool));
    group.finish();
}

fn out_of_order(bencher: &mut Bencher<'_>, source: &impl Source) {
    const LIVE: usize = 4096;
    let mut random = Random::new();
    let mut order: Vec<usize> = (0..LIVE).collect();
    for last in (1..LIVE).rev() {
        order.swap(last, random.below(last + 1));
    }
    let mut held: Vec<_> = (0..LIVE).map(|_| None).collect();
    per_item(bencher, LIVE as u64, || {
        for place in &mut held {
            *place = Some(source.alloc(SIZE));
        }
        for &place in &order {
            if let Some(buffer) = held[place].take() {
                source.free(buffer);
            }
        }
    });
}

/// W4: four sizes in a fixed random order, 512 buffers out at any time.
pub(crate) fn mixed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("W4 mixed sizes");
    group.bench_function("floor", |bencher| window(bencher, &Floor::new()));
    let pool = pool(&SIZES);
    group.bench_function("pool", |bencher| window(bencher, &pool));
    group.finish();
}

const SIZES: [usize; 4] = [64, 256, 2048, 16384];

fn window(bencher: &mut Bencher<'_>, source: &impl Source) {
    const LIVE: usize = 512;
    let mut random = Random::new();
    let sizes: Vec<usize> = (0..16 * LIVE)
        .map(|_| SIZES[random.below(SIZES.len())])
        .collect();
    let mut held: Vec<_> = (0..LIVE).map(|_| None).collect();
    per_item(bencher, sizes.len() as u64, || {
        for (turn, &size) in sizes.iter().enumerate() {
            let place = &mut held[turn % LIVE];
            if let Some(buffer) = place.take() {
                source.free(buffer);
            }
            *place = Some(source.alloc(size));
        }
    });
    for buffer in held.into_iter().flatten() {
        source.free(buffer);
    }
}
