//! How long each operation took.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// What is measured. `Timer` is nothing at all, measured as the others are: the clock's own share of each figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Timer,
    Alloc,
    CopyRef,
    Free,
    EndToEnd,
}

impl Operation {
    /// All of them, in the order of the report.
    pub(crate) const ALL: [Self; 5] = [
        Self::Timer,
        Self::Alloc,
        Self::CopyRef,
        Self::Free,
        Self::EndToEnd,
    ];

    /// The name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer alone",
            Self::Alloc => "alloc",
            Self::CopyRef => "copy-ref",
            Self::Free => "free",
            Self::EndToEnd => "end to end",
        }
    }
}

/// A histogram of nanoseconds for each operation. Each thread fills its own.
pub(crate) struct Latencies([Histogram<u64>; Operation::ALL.len()]);

impl Latencies {
    const LONGEST: Duration = Duration::from_secs(60);

    pub(crate) fn new() -> Self {
        let longest = Self::LONGEST.as_nanos() as u64;
        Self(Operation::ALL.map(|_| {
            Histogram::new_with_bounds(1, longest, 3)
                .expect("bounds in order and three digits are what it can do")
        }))
    }

    /// Runs the operation and notes how long it took.
    pub(crate) fn time<T>(&mut self, operation: Operation, run: impl FnOnce() -> T) -> T {
        let (result, nanoseconds) = timed(run);
        self.note(operation, nanoseconds);
        result
    }

    /// Notes what the clock alone costs.
    pub(crate) fn time_nothing(&mut self) {
        self.time(Operation::Timer, || black_box(()));
    }

    /// Notes a time that was measured elsewhere.
    pub(crate) fn note(&mut self, operation: Operation, nanoseconds: u64) {
        self.0[operation as usize].saturating_record(nanoseconds);
    }

    /// Adds what another thread measured.
    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.add(theirs).expect("both have the same bounds");
        }
    }

    pub(crate) fn of(&self, operation: Operation) -> &Histogram<u64> {
        &self.0[operation as usize]
    }
}

/// Runs something, and says how many nanoseconds it took.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = Instant::now();
    let result = run();
    let took = before.elapsed();
    (result, took.as_nanos() as u64)
}
