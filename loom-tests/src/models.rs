//! Models under loom: a bound, and every execution within it.

use crate::{assert_no_pool_left, is_all_home};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a model is explored.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Preemptions per execution; `None` is every interleaving.
    pub preemptions: Option<usize>,
    /// A model that takes longer is cut off and says so.
    pub longest: Duration,
}

/// Every interleaving, for models of one protocol.
pub const ALL: Bound = Bound {
    preemptions: None,
    longest: LONGEST,
};

/// For models of whole pools: two preemptions expose nearly all faults of two threads. With the feature `deep`, three.
pub const USUAL: Bound = Bound {
    preemptions: Some(if cfg!(feature = "deep") { 3 } else { 2 }),
    longest: LONGEST,
};

/// For models of three threads, which have many more interleavings.
pub const THREE_THREADS: Bound = Bound {
    preemptions: Some(if cfg!(feature = "deep") { 2 } else { 1 }),
    longest: LONGEST,
};

const LONGEST: Duration = Duration::from_secs(if cfg!(feature = "deep") { 600 } else { 45 });

/// Explores `model` within `bound` and prints how many executions that were.
///
/// # Panics
/// When an execution fails, or leaves a pool mapped.
pub fn explore(name: &str, bound: Bound, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound.preemptions;
    builder.max_duration = Some(bound.longest);
    builder.max_branches = 100_000;
    builder.log = false;
    let executions = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&executions);
    let start = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        assert_no_pool_left();
        model();
    });
    assert_no_pool_left();
    let took = start.elapsed();
    let cut = if took >= bound.longest {
        ", cut off by its time"
    } else {
        ""
    };
    // Not by `println`, which the test harness keeps to itself unless the model fails.
    let _ = writeln!(
        std::io::stderr(),
        "{name}: {} executions in {:.1} s, preemption bound {:?}{cut}",
        executions.load(Ordering::Relaxed),
        took.as_secs_f64(),
        bound.preemptions
    );
}

/// Fails unless every block is home: none in use, none lost.
///
/// A thread can be joined before its thread-locals are gone, so one that ends may still be returning its cache.
///
/// # Panics
/// When blocks are in use or lost.
pub fn assert_all_home(pool: &mbuf::Pool) {
    let mut stats = pool.stats();
    for _ in 0..20 {
        if is_all_home(&stats) {
            return;
        }
        loom::thread::yield_now();
        stats = pool.stats();
    }
    panic!("blocks are lost or in use:\n{stats}");
}
