//! What is measured: the workloads and their variants.

use crate::contender::{Need, SIZES};

/// A workload, or a variant of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Case {
    Hot,
    HotUnknown,
    Batch,
    BatchBulk,
    Shuffled,
    Mixed,
    Pipe,
    PipeBursts,
    CopyRef,
    Chain,
    TwoThreads,
    Latency,
    FanOut,
    ComeAndGo,
    Live(u32),
    Threads(u32),
}

/// What there is more and more of.
#[derive(Clone, Copy)]
pub(crate) enum Growth {
    Live,
    Threads,
}

impl Growth {
    /// Its name in file names.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Live => "w12-live",
            Self::Threads => "w12-threads",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Live => "W12: replace one of more and more live 64-byte buffers",
            Self::Threads => "W12: alloc 32, free 32 on more and more threads at once",
        }
    }

    pub(crate) fn axis(self) -> &'static str {
        match self {
            Self::Live => "live buffers",
            Self::Threads => "threads",
        }
    }
}

/// Buffers of most workloads.
pub(crate) const SIZE: usize = 2048;

impl Case {
    pub(crate) const ALL: [Self; 23] = [
        Self::Hot,
        Self::HotUnknown,
        Self::Batch,
        Self::BatchBulk,
        Self::Shuffled,
        Self::Mixed,
        Self::Pipe,
        Self::PipeBursts,
        Self::CopyRef,
        Self::Chain,
        Self::TwoThreads,
        Self::Latency,
        Self::FanOut,
        Self::ComeAndGo,
        Self::Live(1_000),
        Self::Live(10_000),
        Self::Live(100_000),
        Self::Live(1_000_000),
        Self::Live(10_000_000),
        Self::Threads(1),
        Self::Threads(2),
        Self::Threads(4),
        Self::Threads(8),
    ];

    /// The workload's number.
    pub(crate) fn workload(self) -> &'static str {
        match self {
            Self::Hot | Self::HotUnknown => "W1",
            Self::Batch | Self::BatchBulk => "W2",
            Self::Shuffled => "W3",
            Self::Mixed => "W4",
            Self::Pipe | Self::PipeBursts => "W5",
            Self::CopyRef => "W6",
            Self::Chain => "W7",
            Self::TwoThreads => "W8",
            Self::Latency => "W9",
            Self::FanOut => "W10",
            Self::ComeAndGo => "W11",
            Self::Live(_) | Self::Threads(_) => "W12",
        }
    }

    /// Its name in file names.
    pub(crate) fn id(self) -> String {
        let variant = match self {
            Self::HotUnknown => "-unknown-size",
            Self::BatchBulk => "-bulk",
            Self::PipeBursts => "-bursts",
            Self::Live(count) => return format!("{}-{count}", Growth::Live.id()),
            Self::Threads(count) => return format!("{}-{count}", Growth::Threads.id()),
            _ => "",
        };
        self.workload().to_lowercase() + variant
    }

    pub(crate) fn title(self) -> String {
        let what = match self {
            Self::Hot => "alloc and free of 2,048 bytes, hot, size known",
            Self::HotUnknown => "alloc and free of 2,048 bytes, hot, size unknown",
            Self::Batch => "alloc 32, free 32",
            Self::BatchBulk => "alloc 32, free 32, by bulk calls",
            Self::Shuffled => "alloc 4,096, free them shuffled",
            Self::Mixed => "64 to 16,384 bytes mixed, 512 live",
            Self::Pipe => "producer to consumer, one by one",
            Self::PipeBursts => "producer to consumer, bursts of 32",
            Self::CopyRef => "copy-ref with its user area, and free of the copy",
            Self::Chain => "build a chain of 16, walk it, free it",
            Self::TwoThreads => "alloc and free on two threads at once",
            Self::Latency => "latency of single allocs between two threads, p99.9",
            Self::FanOut => "copy-refs fanned out through 4 rings",
            Self::ComeAndGo => "1,000 threads come and go, each allocates 64",
            Self::Live(count) => {
                return format!(
                    "W12: replace one of {} live 64-byte buffers",
                    thousands(count)
                );
            }
            Self::Threads(1) => return "W12: alloc 32, free 32 on 1 thread".into(),
            Self::Threads(count) => {
                return format!("W12: alloc 32, free 32 on {count} threads at once");
            }
        };
        format!("{}: {what}", self.workload())
    }

    /// What the nanoseconds are for.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Pipe | Self::PipeBursts | Self::FanOut => "ns per buffer",
            Self::Chain => "ns per chain",
            Self::Latency => "ns per alloc",
            Self::ComeAndGo => "ns per thread",
            Self::Threads(_) => "ns of a core per pair",
            _ => "ns per pair",
        }
    }

    pub(crate) fn need(self) -> Need {
        const ONE: &[usize] = &[SIZE];
        const SMALL: &[usize] = &[64];
        let (sizes, count): (&'static [usize], _) = match self {
            Self::Mixed => (&SIZES, 1024),
            Self::Live(count) => (SMALL, count as usize + 2048),
            _ => (ONE, 8192),
        };
        Need { sizes, count }
    }

    /// Units of a round where they are not chosen by the time they take.
    pub(crate) fn fixed_units(self) -> Option<u64> {
        match self {
            Self::Latency => Some(50_000),
            Self::ComeAndGo => Some(1_000),
            Self::Live(10_000_000) => Some(300_000),
            Self::Live(_) => Some(30_000),
            _ => None,
        }
    }

    /// Units below which starting a round shows.
    pub(crate) fn fewest_units(self) -> u64 {
        match self {
            Self::Pipe | Self::PipeBursts | Self::FanOut | Self::TwoThreads => 10_000,
            // So long that the system spreads them over the cores.
            Self::Threads(count) => 400_000 * u64::from(count),
            _ => 1,
        }
    }

    /// How many there are, where the workload is a point of that growth.
    pub(crate) fn count(self, growth: Growth) -> Option<u32> {
        match (growth, self) {
            (Growth::Live, Self::Live(count)) | (Growth::Threads, Self::Threads(count)) => {
                Some(count)
            }
            _ => None,
        }
    }

    /// Whether it takes so much memory and time that contenders are made one after the other, and only in a full run.
    pub(crate) fn is_vast(self) -> bool {
        matches!(self, Self::Live(10_000_000))
    }

    /// Whether threads give way to each other as a part of it.
    pub(crate) fn shares_cores(self) -> bool {
        matches!(self, Self::ComeAndGo | Self::Threads(4..))
    }

    /// Its part of the time, against that of most.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Pipe | Self::PipeBursts | Self::Latency => 2.0,
            Self::Live(1_000_000 | 10_000_000) => 1.5,
            Self::Live(_) | Self::Threads(_) => 0.6,
            _ => 1.0,
        }
    }
}

/// With commas.
pub(crate) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
