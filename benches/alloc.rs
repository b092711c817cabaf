//! What the data path costs: the workloads W1 to W9, with a bare `Vec` of pointers as the floor, all in one run.
//!
//! ```text
//! cargo bench -p mbuf-benches              # everything, about a minute
//! cargo bench -p mbuf-benches -- W3        # what has W3 in its name
//! MBUF_LATENCY_ALLOCS=20000000 cargo bench -p mbuf-benches -- W9
//! ```
//!
//! Times are per alloc-and-free pair, except W5 (per buffer passed) and W7 (per chain). On a shared machine compare within
//! one run only.

mod workloads;

use criterion::Criterion;
use std::time::Duration;
use workloads::{latency, pipeline, sharing, single, two_threads};

/// Short: there are some twenty benchmarks, and what a busy machine adds does not average out anyway.
fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .sample_size(40)
        .without_plots()
        .configure_from_args()
}

fn main() {
    let mut criterion = criterion();
    single::hot(&mut criterion);
    single::batches(&mut criterion);
    single::shuffled(&mut criterion);
    single::mixed(&mut criterion);
    pipeline::passing(&mut criterion);
    sharing::copy_ref(&mut criterion);
    sharing::chain(&mut criterion);
    two_threads::scaling(&mut criterion);
    latency::percentiles();
    criterion.final_summary();
}
