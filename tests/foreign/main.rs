//! Foreign memory: an owner is dropped once, last and completely, whatever its own code does.
#![cfg(not(loom))]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod owners;
mod panics;

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

/// How often owners were dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// What a panicking owner throws, so that the hook's output and real failures are told apart.
struct Thrown;

/// An owner that counts its drop and then does something.
struct Owner<F: FnMut() + Send> {
    bytes: Vec<u8>,
    drops: Drops,
    end: F,
}

impl<F: FnMut() + Send> AsRef<[u8]> for Owner<F> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<F: FnMut() + Send> AsMut<[u8]> for Owner<F> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl<F: FnMut() + Send> Drop for Owner<F> {
    fn drop(&mut self) {
        self.drops.0.fetch_add(1, Ordering::SeqCst);
        (self.end)();
    }
}

/// An owner of `bytes` whose drop is counted.
fn counted(bytes: &[u8], drops: &Drops) -> Owner<impl FnMut() + Send + use<>> {
    ending(bytes, drops, || {})
}

/// An owner of `bytes` whose drop is counted, and which does `end` then.
fn ending<F: FnMut() + Send>(bytes: &[u8], drops: &Drops, end: F) -> Owner<F> {
    Owner {
        bytes: bytes.to_vec(),
        drops: drops.clone(),
        end,
    }
}

/// An owner of `bytes` whose drop panics once it is counted.
fn throwing(bytes: &[u8], drops: &Drops) -> Owner<impl FnMut() + Send + use<>> {
    // Not on the way of another panic, such as that of a test which fails: two at once abort.
    ending(bytes, drops, || {
        if !thread::panicking() {
            panic_any(Thrown)
        }
    })
}

/// Does `act`, which is to throw.
#[track_caller]
fn assert_throws(act: impl FnOnce()) {
    let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_err();
    assert!(thrown.is::<Thrown>(), "something else went wrong");
}

/// The calling thread, for owners that note on which they are dropped.
fn here() -> ThreadId {
    thread::current().id()
}
