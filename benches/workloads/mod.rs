//! The workloads, and what they share.

pub(crate) mod latency;
mod near;
pub(crate) mod pipeline;
pub(crate) mod sharing;
pub(crate) mod single;
mod source;
pub(crate) mod two_threads;

use criterion::Bencher;
use mbuf::{HugePages, Pool};
use std::time::Instant;

/// Bytes of data in the buffers of all workloads but W4.
const SIZE: usize = 2048;

/// More buffers of a size than any workload has out.
const RESERVED: usize = 8192;

/// A pool on transparent huge pages, in which allocating these sizes meets no page fault.
fn pool(sizes: &[usize]) -> Pool {
    let pool = Pool::builder()
        .capacity(1 << 30)
        .huge_pages(HugePages::Transparent)
        .build()
        .expect("a reservation of 1 GiB");
    for &size in sizes {
        pool.reserve(size, RESERVED).expect("a part of 1 GiB");
    }
    pool
}

/// Measures `batch`, which does `items` of what is to be counted.
fn per_item(bencher: &mut Bencher<'_>, items: u64, mut batch: impl FnMut()) {
    bencher.iter_custom(|wanted| {
        let batches = wanted.div_ceil(items);
        let start = Instant::now();
        for _ in 0..batches {
            batch();
        }
        start
            .elapsed()
            .mul_f64(wanted as f64 / (batches * items) as f64)
    });
}

/// A fixed pseudo-random sequence.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}
