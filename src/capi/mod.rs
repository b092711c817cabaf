//! The C interface: `include/acl_mbuf.h` and `include/mbuf.h`.
//!
//! Each function looks for errors in the order that the headers state, then does what the Rust interface does, and returns a
//! code. Nothing panics on the way; were something to, an `extern "C"` function ends the process and does not unwind
//! into C.
//!
//! What comes from C is trusted this far, and these are the safety conditions of every function here:
//!
//! * **F1** A pointer to an output, an input or an array that is not null points to as much memory as the header says, aligned or not.
//! * **F2** A handle or a pool number may be anything. But while a call uses a buffer, no other call frees it, and of calls that
//!   change one buffer there is one at a time.

mod acl;
mod chain;
mod code;
mod data;
mod environment;
mod handle;
mod pool;
mod share;
mod token;
mod view;

use std::ffi::c_int;

use code::{Code, Outcome};

/// What a function returns to C.
fn status(outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(code) => code.number(),
    }
}

/// Where C wants a result.
struct Out<T>(std::ptr::NonNull<T>);

impl<T> Out<T> {
    /// An error for null.
    fn new(place: *mut T) -> Result<Self, Code> {
        match std::ptr::NonNull::new(place) {
            Some(place) => Ok(Self(place)),
            None => Err(Code::ARGUMENT),
        }
    }

    fn set(self, value: T) {
        // SAFETY: F1.
        unsafe { self.0.write_unaligned(value) };
    }
}
