//! What can go wrong, as small values.

use std::fmt;

/// An error number of the operating system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    pub(crate) const OUT_OF_MEMORY: Self = Self(12);
    #[cfg(not(target_os = "linux"))]
    pub(crate) const UNSUPPORTED: Self = Self(45);

    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// The number, `errno` in C.
    pub const fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl fmt::Debug for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemError({}: {self})", self.0)
    }
}

/// Why a pool could not be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The capacity is zero or over 256 GiB.
    Capacity {
        /// Bytes asked for.
        asked: u64,
    },
    /// The magazine size is zero or over 128.
    MagazineSize {
        /// Blocks asked for.
        asked: u32,
    },
    /// The [reserve](crate::PoolBuilder::urgent_reserve) leaves other allocations not one slab.
    UrgentReserve {
        /// Bytes asked for.
        asked: u64,
    },
    /// The low [watermark](crate::PoolBuilder::watermarks) is over the high one, or that over the capacity.
    Watermarks,
    /// The system refused to reserve the address space.
    Reserve(SystemError),
    /// The system has too few explicit huge pages, or none at all.
    HugePages(SystemError),
    /// The system refused the memory that [`prefault`](crate::PoolBuilder::prefault) asked for.
    Prefault(SystemError),
    /// Too many pools exist: the process has no memory left to note another.
    TooManyPools,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { asked } => write!(
                f,
                "a pool's capacity is from 1 byte to 256 GiB ({} bytes), not {asked} bytes",
                crate::arena::MAX_BYTES
            ),
            Self::MagazineSize { asked } => {
                let most = crate::cache::MAGAZINE_MAX;
                write!(f, "a magazine holds from 1 to {most} blocks, not {asked}")
            }
            Self::UrgentReserve { asked } => {
                write!(f, "a reserve of {asked} bytes leaves no slab for the rest")
            }
            Self::Watermarks => {
                f.write_str("the watermarks are not in order, or over the capacity")
            }
            Self::Reserve(why) => write!(f, "no address space for the pool: {why}"),
            Self::HugePages(why) => write!(f, "not enough explicit huge pages: {why}"),
            Self::Prefault(why) => write!(f, "the pool's memory could not be touched ahead: {why}"),
            Self::TooManyPools => f.write_str("no memory left to note another pool"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Why there is no mbuf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AllocError {
    /// More than 4 GiB was asked for.
    TooLarge,
    /// The pool has no block of this size left, and no memory to make one of.
    Exhausted,
    /// The pool had no memory for it in the time that it was waited for.
    TimedOut,
    /// The process has no heap memory for the list of results, or to note a waiter.
    OutOfMemory,
    /// The alignment asked for is no power of two, or over 4096.
    Alignment,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "an mbuf holds at most 4 GiB",
            Self::Exhausted => "the pool is exhausted",
            Self::TimedOut => "the pool had no memory in time",
            Self::OutOfMemory => "no heap memory for the list of mbufs or waiters",
            Self::Alignment => "an alignment is a power of two up to 4096",
        })
    }
}

impl std::error::Error for AllocError {}

/// Why an mbuf's data length was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LenError {
    /// The length would be over the capacity.
    TooLong,
    /// The data is shared by a copy-ref, so it can shrink but not grow.
    Shared,
}

impl fmt::Display for LenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the data length would exceed the mbuf's capacity",
            Self::Shared => "shared data cannot grow",
        })
    }
}

impl std::error::Error for LenError {}

/// For who reads and writes: of the kind `OutOfMemory`, `TimedOut` or `InvalidInput`, with the error itself.
impl From<AllocError> for std::io::Error {
    fn from(error: AllocError) -> Self {
        let kind = match error {
            AllocError::Exhausted | AllocError::OutOfMemory => std::io::ErrorKind::OutOfMemory,
            AllocError::TimedOut => std::io::ErrorKind::TimedOut,
            AllocError::TooLarge | AllocError::Alignment => std::io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// As above: of the kind `InvalidInput`.
impl From<LenError> for std::io::Error {
    fn from(error: LenError) -> Self {
        Self::new(std::io::ErrorKind::InvalidInput, error)
    }
}
