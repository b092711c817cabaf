//! One thread, allocating and freeing: W1 to W4.

use super::{BATCH, Random, repeat};
use crate::case::SIZE;
use crate::contender::{Bulk, Contender, SIZES, Source};
use crate::entry::Sample;
use std::hint::black_box;

/// W1: one buffer, allocated and freed.
pub(crate) fn hot<C: Contender>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    repeat(units, 1, || thread.free(black_box(thread.alloc(SIZE))))
}

/// W1 with a size that the compiler does not know.
pub(crate) fn hot_unknown<C: Contender>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    repeat(units, 1, || {
        thread.free(black_box(thread.alloc(black_box(SIZE))));
    })
}

/// W2: 32 buffers, then all freed again.
pub(crate) fn batch<C: Contender>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    let mut held = Vec::with_capacity(BATCH);
    repeat(units, BATCH as u64, || turn(&thread, &mut held))
}

#[inline(always)]
pub(super) fn turn<S: Source>(thread: &S, held: &mut Vec<S::Buffer>) {
    for _ in 0..BATCH {
        held.push(thread.alloc(SIZE));
    }
    black_box(&mut *held);
    while let Some(buffer) = held.pop() {
        thread.free(buffer);
    }
}

/// W2 by bulk calls.
pub(crate) fn bulk<C: Bulk>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    let mut held = Vec::with_capacity(BATCH);
    repeat(units, BATCH as u64, || {
        C::alloc_bulk(&thread, SIZE, BATCH, &mut held);
        black_box(&mut held);
        C::free_bulk(&thread, &mut held);
    })
}

/// W3: 4,096 buffers, freed in another order.
pub(crate) fn shuffled<C: Contender>(contender: &C, units: u64) -> Sample {
    const LIVE: usize = 4096;
    let thread = contender.thread();
    let mut random = Random::new();
    let mut order: Vec<usize> = (0..LIVE).collect();
    for last in (1..LIVE).rev() {
        order.swap(last, random.below(last + 1));
    }
    let mut held: Vec<_> = (0..LIVE).map(|_| None).collect();
    repeat(units, LIVE as u64, || {
        for place in &mut held {
            *place = Some(thread.alloc(SIZE));
        }
        black_box(&mut held);
        for &place in &order {
            if let Some(buffer) = held[place].take() {
                thread.free(buffer);
            }
        }
    })
}

/// W4: four sizes in a fixed random order, 512 buffers out at any time.
pub(crate) fn mixed<C: Contender>(contender: &C, units: u64) -> Sample {
    const LIVE: usize = 512;
    let thread = contender.thread();
    let mut random = Random::new();
    let sizes: Vec<usize> = (0..8 * LIVE)
        .map(|_| SIZES[random.below(SIZES.len())])
        .collect();
    let mut held: Vec<_> = (0..LIVE).map(|_| None).collect();
    let sample = repeat(units, sizes.len() as u64, || {
        for (turn, &size) in sizes.iter().enumerate() {
            let place = &mut held[turn % LIVE];
            if let Some(buffer) = place.take() {
                thread.free(buffer);
            }
            *place = Some(thread.alloc(size));
        }
    });
    for buffer in held.into_iter().flatten() {
        thread.free(buffer);
    }
    sample
}
