//! What a pool holds and has done, in numbers.

use super::state::Core;
use crate::class::Class;
use std::fmt;

/// Counts for one size class. Blocks are mbuf headers with their data areas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ClassStats {
    /// Bytes of data that a block of the class carries; 0 for bare headers, which copy-refs use.
    pub data_capacity: u64,
    /// Blocks that exist: `in_use + cached + in_depot`.
    pub carved: u64,
    /// Blocks that mbufs use.
    pub in_use: u64,
    /// Free blocks in the magazines of threads.
    pub cached: u64,
    /// Free blocks that any thread can take: in the depot's magazines and at home in their slabs.
    pub in_depot: u64,
    /// Blocks handed out so far.
    pub allocs: u64,
    /// Blocks that came back so far.
    pub frees: u64,
    /// Allocations that failed because the pool was exhausted.
    pub failed: u64,
    /// Slabs that the class has.
    pub slabs: u64,
    /// Slabs that it has given back for other classes to use.
    pub slabs_given_back: u64,
}

/// What a pool holds and has done: [`Pool::stats`](crate::Pool::stats). `Display` shows it as a table.
///
/// [`figures`](Self::figures) gives the same as named numbers.
///
/// The counts are kept by each thread for itself and summed here, one after the other, while other threads go on. They are
/// exact when the pool is quiet and never negative. When it is quiet, `carved = in_use + cached + in_depot`, in
/// total and for each class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes that mbufs may take, headers included.
    pub capacity: u64,
    /// Bytes of address space that the pool reserved, tables included.
    pub reserved: u64,
    /// Bytes of a slab.
    pub slab_size: u64,
    /// Blocks that exist.
    pub carved: u64,
    /// Blocks that mbufs use.
    pub in_use: u64,
    /// Free blocks in the magazines of threads.
    pub cached: u64,
    /// Free blocks that any thread can take.
    pub in_depot: u64,
    /// Mbufs larger than any class, in use.
    pub spans: u64,
    /// Blocks handed out so far.
    pub allocs: u64,
    /// Blocks that came back so far.
    pub frees: u64,
    /// Allocations that failed because the pool was exhausted.
    pub failed: u64,
    /// Slabs that classes or spans use.
    pub slabs: u64,
    /// Slabs that classes and spans have given back.
    pub slabs_given_back: u64,
    /// One line for each class that was ever used.
    pub classes: Vec<ClassStats>,
    /// The line of the spans.
    pub span_class: ClassStats,
}

impl Stats {
    pub(crate) fn read(core: Core) -> Self {
        let state = core.state();
        let span_class = class_stats(core, Class::SPAN, 0);
        let mut stats = Self {
            capacity: state.capacity,
            reserved: state.reserved,
            slab_size: state.classes.slab_bytes(),
            spans: span_class.in_use,
            span_class,
            ..Self::default()
        };
        stats.add(&span_class);
        for class in state.classes.all() {
            let line = class_stats(core, class, state.classes.data_bytes(class));
            stats.add(&line);
            if line.allocs > 0 || line.failed > 0 {
                stats.classes.push(line);
            }
        }
        stats
    }

    fn add(&mut self, class: &ClassStats) {
        self.carved += class.carved;
        self.in_use += class.in_use;
        self.cached += class.cached;
        self.in_depot += class.in_depot;
        self.allocs += class.allocs;
        self.frees += class.frees;
        self.failed += class.failed;
        self.slabs += class.slabs;
        self.slabs_given_back += class.slabs_given_back;
    }
}

fn class_stats(core: Core, class: Class, data_capacity: u64) -> ClassStats {
    let state = core.state();
    let cached = state.caches.counts(core.arena(), &state.classes, class);
    let slabs = state.slabs.counts(class);
    ClassStats {
        data_capacity,
        carved: slabs.carved,
        in_use: cached.allocs.saturating_sub(cached.frees),
        cached: cached.cached,
        in_depot: slabs.home + state.depot.blocks(class),
        allocs: cached.allocs,
        frees: cached.frees,
        failed: cached.failed,
        slabs: slabs.slabs,
        slabs_given_back: slabs.given_back,
    }
}

const COLUMNS: [&str; 10] = [
    "data bytes",
    "carved",
    "in use",
    "cached",
    "depot",
    "allocs",
    "frees",
    "failed",
    "slabs",
    "returned",
];

fn line(f: &mut fmt::Formatter<'_>, name: &str, class: &ClassStats) -> fmt::Result {
    write!(f, "{name:>10}")?;
    let counts = [
        class.carved,
        class.in_use,
        class.cached,
        class.in_depot,
        class.allocs,
        class.frees,
        class.failed,
        class.slabs,
        class.slabs_given_back,
    ];
    for (count, column) in counts.iter().zip(&COLUMNS[1..]) {
        write!(f, " {count:>width$}", width = column.len().max(9))?;
    }
    writeln!(f)
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "pool of {:.1} MiB ({:.1} MiB reserved) in slabs of {} KiB",
            mib(self.capacity),
            mib(self.reserved),
            self.slab_size >> 10
        )?;
        write!(f, "{:>10}", COLUMNS[0])?;
        for column in &COLUMNS[1..] {
            write!(f, " {column:>width$}", width = column.len().max(9))?;
        }
        writeln!(f)?;
        for class in &self.classes {
            line(f, &class.data_capacity.to_string(), class)?;
        }
        if self.span_class.allocs > 0 || self.span_class.failed > 0 {
            line(f, "spans", &self.span_class)?;
        }
        let total = ClassStats {
            data_capacity: 0,
            carved: self.carved,
            in_use: self.in_use,
            cached: self.cached,
            in_depot: self.in_depot,
            allocs: self.allocs,
            frees: self.frees,
            failed: self.failed,
            slabs: self.slabs,
            slabs_given_back: self.slabs_given_back,
        };
        line(f, "total", &total)
    }
}
