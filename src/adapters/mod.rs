//! Mbufs where other crates, and the standard library, want readers, writers and buffers: on the public interface of the parts below.

#[cfg(feature = "bytes")]
mod bytes;
mod cursor;
#[cfg(feature = "serde")]
mod serde;
mod vectored;
mod writer;

pub use cursor::Cursor;
#[cfg(feature = "serde")]
pub use serde::Content;
pub use writer::{WriteError, Writer};
