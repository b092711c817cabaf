//! Copies and chains, on one thread: W6 and W7.

use super::{SIZE, per_item, pool};
use criterion::Criterion;
use mbuf::{Mbuf, Pool};
use std::hint::black_box;

/// W6: a copy-ref, its user area copied, and the copy freed.
pub(crate) fn copy_ref(criterion: &mut Criterion) {
    let pool = pool(&[SIZE, 0]);
    let mut group = criterion.benchmark_group("W6 copy-ref");
    let mut original = alloc(&pool);
    group.bench_function("pool, user area unused", |bencher| {
        bencher.iter(|| drop(black_box(copy(&original))));
    });
    original.user_mut().fill(1);
    group.bench_function("pool", |bencher| {
        bencher.iter(|| drop(black_box(copy(&original))));
    });
    group.finish();
}

/// W7: a chain is built of 16 buffers, its lengths are summed, and it is freed.
pub(crate) fn chain(criterion: &mut Criterion) {
    let pool = pool(&[SIZE]);
    let mut group = criterion.benchmark_group("W7 chain of 16");
    group.bench_function("pool", |bencher| {
        per_item(bencher, 1, || {
            let mut head = alloc(&pool);
            for _ in 1..16 {
                head.append(alloc(&pool)).expect("16 may be chained");
            }
            black_box(head.total_len());
        });
    });
    group.finish();
}

#[inline(always)]
fn alloc(pool: &Pool) -> Mbuf {
    pool.alloc(SIZE).expect("the pool is large enough")
}

#[inline(always)]
fn copy(original: &Mbuf) -> Mbuf {
    original.copy_ref().expect("the pool is large enough")
}
