//! Scenarios under shuttle: too large for every interleaving, so some thousand are drawn, from seeds that stay.

use crate::{assert_no_pool_left, is_all_home};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The same schedules each time, unless `SHUTTLE_RANDOM_SEED` says otherwise.
const SEED: u64 = 0x6d62_7566;

/// How many changes of priority the second half of the schedules has: the depth of the faults that it is sure to find
/// with some probability.
const DEPTH: usize = 3;

/// Runs `scenario` under `executions` schedules, half of them chosen at random at each step, half by priorities with few
/// changes. With the feature `deep` twenty times as many.
///
/// # Panics
/// When an execution fails, or leaves a pool mapped; shuttle prints the schedule, which `shuttle::replay` repeats.
pub fn schedule(name: &str, executions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let executions = executions * if cfg!(feature = "deep") { 20 } else { 1 };
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.silence_warnings = true;
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let scenario = Arc::new({
        let done = Arc::clone(&done);
        move || {
            assert_no_pool_left();
            scenario();
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    let at_random = RandomScheduler::new_from_seed(SEED, executions / 2);
    let once = Arc::clone(&scenario);
    Runner::new(at_random, config.clone()).run(move || once());
    let by_priority = PctScheduler::new_from_seed(SEED, DEPTH, executions - executions / 2);
    Runner::new(by_priority, config).run(move || scenario());
    assert_no_pool_left();
    // Not by `println`, which the test harness keeps to itself unless the scenario fails.
    let _ = writeln!(
        std::io::stderr(),
        "{name}: {} schedules in {:.1} s",
        done.load(Ordering::Relaxed),
        start.elapsed().as_secs_f64()
    );
}

/// A number below `end`, drawn by shuttle, so that a replay draws the same.
pub fn below(end: usize) -> usize {
    thread_rng().gen_range(0..end)
}

/// True once in `n` times.
pub fn one_in(n: usize) -> bool {
    below(n) == 0
}

/// Fails unless every block is home: none in use, none lost.
///
/// # Panics
/// When blocks are in use or lost.
pub fn assert_all_home(pool: &mbuf::Pool) {
    let stats = pool.stats();
    assert!(is_all_home(&stats), "blocks are lost or in use:\n{stats}");
}
