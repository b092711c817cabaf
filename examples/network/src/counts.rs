//! What a server has done.

use mbuf::Pool;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counted while a server runs. The counts are of no consequence to each other, so all is relaxed.
#[derive(Debug, Default)]
pub struct Counts {
    connections: AtomicU64,
    broken: AtomicU64,
    sent: AtomicU64,
    writes: AtomicU64,
    slices: AtomicU64,
}

impl Counts {
    pub(crate) fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn broken(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that sent `bytes` of a list of `slices`.
    pub(crate) fn write(&self, bytes: usize, slices: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.slices.fetch_add(slices as u64, Ordering::Relaxed);
    }

    /// The counts, and what `pool` says of itself.
    pub(crate) fn summary(&self, pool: &Pool, waits: u64) -> Summary {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let stats = pool.stats();
        Summary {
            connections: of(&self.connections),
            broken: of(&self.broken),
            sent: of(&self.sent),
            writes: of(&self.writes),
            slices: of(&self.slices),
            waits,
            allocs: stats.allocs,
            in_use: stats.in_use,
        }
    }
}

/// A server's statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Connections accepted.
    pub connections: u64,
    /// Of these, ended by an error.
    pub broken: u64,
    /// Bytes sent, in all directions.
    pub sent: u64,
    /// Calls of `writev` that sent them.
    pub writes: u64,
    /// Segments that these were given.
    pub slices: u64,
    /// How often a connection waited because the pool was exhausted.
    pub waits: u64,
    /// Mbufs allocated.
    pub allocs: u64,
    /// Mbufs in use when the statistics were made.
    pub in_use: u64,
}

/// One line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} connections ({} broken), {} bytes sent by {} writes of {:.1} segments, {} waits for memory, \
             {} mbufs allocated, {} in use",
            self.connections,
            self.broken,
            self.sent,
            self.writes,
            self.slices as f64 / self.writes.max(1) as f64,
            self.waits,
            self.allocs,
            self.in_use
        )
    }
}
