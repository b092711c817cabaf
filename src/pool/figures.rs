//! Statistics as a list of named numbers, for whatever system collects them.

use super::{ClassStats, Stats};
use std::fmt;
use std::iter;

/// One number of a pool's [`Stats`], with its name: see [`Stats::figures`]. `Display` shows it on one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Figure {
    /// `mbuf_` and what is counted. Bytes end in `_bytes` and counts that only grow in `_total`, as Prometheus has it.
    pub name: &'static str,
    /// What is counted, in a sentence.
    pub meaning: &'static str,
    /// Whether it only grows.
    pub kind: FigureKind,
    /// What part of the pool it is of.
    pub part: FigurePart,
    /// The number.
    pub value: u64,
}

/// How a [`Figure`] changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FigureKind {
    /// It goes up and down.
    Gauge,
    /// It only grows while the pool lives.
    Counter,
}

/// What part of a pool a [`Figure`] is of. `Display` shows `pool`, a class's bytes, or `spans`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FigurePart {
    /// Of the whole pool.
    Pool,
    /// Of the size class whose blocks carry so many bytes of data; 0 for bare headers.
    Class(u64),
    /// Of the mbufs that are larger than any class.
    Spans,
}

impl fmt::Display for FigurePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool => f.pad("pool"),
            Self::Class(bytes) => fmt::Display::fmt(bytes, f),
            Self::Spans => f.pad("spans"),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            FigurePart::Pool => write!(f, "{} {}", self.name, self.value),
            part => write!(f, "{}{{class=\"{part}\"}} {}", self.name, self.value),
        }
    }
}

/// A figure of each `T`.
struct Named<T> {
    name: &'static str,
    meaning: &'static str,
    kind: FigureKind,
    value: fn(&T) -> u64,
}

impl<T> Named<T> {
    const fn gauge(name: &'static str, meaning: &'static str, value: fn(&T) -> u64) -> Self {
        Self {
            name,
            meaning,
            kind: FigureKind::Gauge,
            value,
        }
    }

    const fn counter(name: &'static str, meaning: &'static str, value: fn(&T) -> u64) -> Self {
        Self {
            kind: FigureKind::Counter,
            ..Self::gauge(name, meaning, value)
        }
    }

    fn of(&self, part: FigurePart, from: &T) -> Figure {
        Figure {
            name: self.name,
            meaning: self.meaning,
            kind: self.kind,
            part,
            value: (self.value)(from),
        }
    }
}

const OF_POOL: &[Named<Stats>] = &[
    Named::gauge(
        "mbuf_capacity_bytes",
        "Bytes that mbufs may take, headers included.",
        |stats| stats.capacity,
    ),
    Named::gauge(
        "mbuf_reserved_bytes",
        "Bytes of address space that the pool reserved, tables included.",
        |stats| stats.reserved,
    ),
    Named::gauge("mbuf_slab_bytes", "Bytes of a slab.", |stats| {
        stats.slab_size
    }),
];

/// Blocks that exist are not among them: they are the sum of the first three.
const OF_CLASS: &[Named<ClassStats>] = &[
    Named::gauge("mbuf_blocks_in_use", "Blocks that mbufs use.", |class| {
        class.in_use
    }),
    Named::gauge(
        "mbuf_blocks_cached",
        "Free blocks in the magazines of threads.",
        |class| class.cached,
    ),
    Named::gauge(
        "mbuf_blocks_in_depot",
        "Free blocks that any thread can take: in the depot's magazines and at home in their slabs.",
        |class| class.in_depot,
    ),
    Named::gauge("mbuf_slabs", "Slabs that the class has.", |class| {
        class.slabs
    }),
    Named::counter(
        "mbuf_slabs_given_back_total",
        "Slabs that the class has given back for other classes to use.",
        |class| class.slabs_given_back,
    ),
    Named::counter("mbuf_allocs_total", "Blocks handed out so far.", |class| {
        class.allocs
    }),
    Named::counter(
        "mbuf_frees_total",
        "Blocks that came back so far.",
        |class| class.frees,
    ),
    Named::counter(
        "mbuf_failed_allocs_total",
        "Allocations that failed because the pool was exhausted.",
        |class| class.failed,
    ),
];

impl Stats {
    /// All that is counted as named numbers: those of the pool, then those of each class and of the spans. Sums over classes are not
    /// among them, so that who adds up what he finds counts nothing twice.
    ///
    /// The same pool's next statistics have the same figures, and more when more classes came into use.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let packet = pool.alloc(2048)?;
    ///
    /// for figure in pool.stats().figures() {
    ///     println!("{figure}"); // mbuf_blocks_in_use{class="2048"} 1, and so on
    /// }
    /// let stats = pool.stats();
    /// let in_use = stats.figures().filter(|figure| figure.name == "mbuf_blocks_in_use");
    /// assert_eq!(in_use.map(|figure| figure.value).sum::<u64>(), 1);
    /// # drop(packet);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn figures(&self) -> impl Iterator<Item = Figure> + '_ {
        let of_pool = OF_POOL.iter().map(|named| named.of(FigurePart::Pool, self));
        let classes = self
            .classes
            .iter()
            .map(|class| (FigurePart::Class(class.data_capacity), class));
        let spans = iter::once((FigurePart::Spans, &self.span_class));
        let of_classes = classes
            .chain(spans)
            .flat_map(|(part, class)| OF_CLASS.iter().map(move |named| named.of(part, class)));
        of_pool.chain(of_classes)
    }
}

/// Calls `see` with the name, the kind and the meaning of every figure.
#[cfg(feature = "metrics")]
pub(super) fn each_name(mut see: impl FnMut(&'static str, FigureKind, &'static str)) {
    for named in OF_POOL {
        see(named.name, named.kind, named.meaning);
    }
    for named in OF_CLASS {
        see(named.name, named.kind, named.meaning);
    }
}
