//! The codes of `include/acl_mbuf.h` and `include/mbuf.h`, and what they mean in English.

use crate::error::{AllocError, BuildError, LenError};
use crate::mbuf::{AppendErrorKind, ViewError};
use std::ffi::{CStr, c_char, c_int};

/// An error's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Code(c_int);

pub(super) type Outcome = Result<(), Code>;

impl Code {
    pub(super) const ARGUMENT: Self = Self(100_000);
    pub(super) const HANDLE: Self = Self(107_000);
    pub(super) const MEMORY: Self = Self(207_001);
    pub(super) const CHAIN_TOO_LONG: Self = Self(207_012);
    pub(super) const SHARED: Self = Self(900_001);

    pub(super) const fn number(self) -> c_int {
        self.0
    }

    fn text(self) -> &'static CStr {
        match self {
            Self(0) => c"no error",
            Self::ARGUMENT => c"a null pointer, or a number out of range",
            Self::HANDLE => c"no live buffer or pool, or a buffer not in the role asked for",
            Self::MEMORY => c"the pool is exhausted, or the system gives no memory",
            Self::CHAIN_TOO_LONG => c"a chain holds at most 128 buffers",
            Self::SHARED => c"the data is shared, or read-only, and cannot be written",
            Self(_) => c"no code of this library",
        }
    }
}

impl From<AllocError> for Code {
    fn from(error: AllocError) -> Self {
        match error {
            AllocError::TooLarge | AllocError::Alignment => Self::ARGUMENT,
            AllocError::Exhausted | AllocError::TimedOut | AllocError::OutOfMemory => Self::MEMORY,
        }
    }
}

impl From<BuildError> for Code {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Capacity { .. }
            | BuildError::MagazineSize { .. }
            | BuildError::UrgentReserve { .. }
            | BuildError::Watermarks => Self::ARGUMENT,
            BuildError::Reserve(_)
            | BuildError::HugePages(_)
            | BuildError::Prefault(_)
            | BuildError::TooManyPools => Self::MEMORY,
        }
    }
}

impl From<LenError> for Code {
    fn from(error: LenError) -> Self {
        match error {
            LenError::TooLong => Self::ARGUMENT,
            LenError::Shared => Self::SHARED,
        }
    }
}

impl From<ViewError> for Code {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::OutOfRange => Self::ARGUMENT,
            ViewError::Alloc(error) => error.into(),
        }
    }
}

impl From<AppendErrorKind> for Code {
    fn from(kind: AppendErrorKind) -> Self {
        match kind {
            AppendErrorKind::TooLong => Self::CHAIN_TOO_LONG,
            AppendErrorKind::OtherPool => Self::HANDLE,
        }
    }
}

/// What a code means.
#[unsafe(no_mangle)]
extern "C" fn mbuf_error_text(code: c_int) -> *const c_char {
    Code(code).text().as_ptr()
}

/// The version of the library.
#[unsafe(no_mangle)]
extern "C" fn mbuf_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
