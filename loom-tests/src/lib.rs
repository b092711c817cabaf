//! The harness of what is in `tests/`: models under loom (`cargo loom`), and scenarios under shuttle (`cargo shuttle`).
//! Each has a name, a bound, and a count of the executions that it went through.
//!
//! They run the code that ships, compiled with `--cfg loom` or `--cfg shuttle`; without either this crate is empty.

#[cfg(loom)]
mod models;
#[cfg(shuttle)]
mod schedules;

#[cfg(loom)]
pub use models::{ALL, Bound, THREE_THREADS, USUAL, assert_all_home, explore};
#[cfg(shuttle)]
pub use schedules::{assert_all_home, below, one_in, schedule};

#[cfg(any(loom, shuttle))]
fn assert_no_pool_left() {
    let left = mbuf::live_arenas();
    assert_eq!(left, 0, "the last execution left pools mapped");
}

#[cfg(any(loom, shuttle))]
fn is_all_home(stats: &mbuf::Stats) -> bool {
    stats.in_use == 0 && stats.carved == stats.cached + stats.in_depot
}
