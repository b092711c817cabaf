//! What the fuzz targets do with an input. Each is a function of bytes, so that `cargo test` can run inputs that once failed.

#[path = "../../tests/common/mod.rs"]
mod common;

pub mod c_abi;
pub mod capture;
pub mod chains;
mod drawn;
mod memory;
mod oracle;
pub mod rust_api;

/// A number of bytes, mostly small, that an input can say in one or two bytes.
#[derive(arbitrary::Arbitrary, Clone, Copy, Debug)]
enum Size {
    Small(u8),
    Medium(u16),
    /// In steps of 8, as far as the largest pool goes.
    Large(u16),
    /// Too large for every pool, or for any.
    Absurd(u8),
}

impl Size {
    fn bytes(self) -> usize {
        match self {
            Self::Small(size) => size.into(),
            Self::Medium(size) => usize::from(size) % 4096,
            Self::Large(size) => usize::from(size) * 8,
            Self::Absurd(shift) => usize::MAX >> (shift % 36),
        }
    }
}
