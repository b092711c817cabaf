//! No workload, but what makes the workloads worth measuring: data written to buffers is what is read from them, so nobody is
//! measured handing out nothing.

use super::chain::SEGMENTS;
use crate::case::SIZE;
use crate::contender::{Bulk, Chaining, Contender, Sharing, Source, USER_AREA, WRITTEN};

/// Buffers out at once.
const OUT: usize = 100;

/// Buffers that are out at once do not overlap, from their first byte to the last of those written.
pub(crate) fn buffers<C: Contender>(contender: &C) {
    let thread = contender.thread();
    let mut held: Vec<_> = (0..OUT).map(|_| thread.alloc(SIZE)).collect();
    numbered::<C>(&mut held);
    for buffer in held {
        thread.free(buffer);
    }
}

pub(crate) fn bulk<C: Bulk>(contender: &C) {
    let thread = contender.thread();
    let mut held = Vec::new();
    C::alloc_bulk(&thread, SIZE, OUT, &mut held);
    assert_eq!(held.len(), OUT, "as many as asked for");
    numbered::<C>(&mut held);
    C::free_bulk(&thread, &mut held);
    assert!(held.is_empty(), "all are freed");
}

fn numbered<C: Contender>(held: &mut [C::Buffer]) {
    for (number, buffer) in held.iter_mut().enumerate() {
        C::write(buffer, &[number as u8; WRITTEN]);
    }
    for (number, buffer) in held.iter().enumerate() {
        let sum = number as u64 * WRITTEN as u64;
        assert_eq!(C::read(buffer), sum, "buffer {number}");
    }
}

/// A copy has the original's data and user area, also when the original is gone.
pub(crate) fn sharing<C: Sharing>(contender: &C) {
    let thread = contender.thread();
    let mut buffer = thread.alloc(SIZE);
    C::write(&mut buffer, &[3; WRITTEN]);
    let original = C::share(buffer, &[5; USER_AREA]);
    let copy = C::copy(&thread, &original);
    C::free_shared(&thread, original);
    let mut other = thread.alloc(SIZE);
    C::write(&mut other, &[4; WRITTEN]);
    assert_eq!(C::read_shared(&copy), 3 * WRITTEN as u64);
    assert_eq!(C::user(&copy), [5; USER_AREA]);
    thread.free(other);
    C::free_shared(&thread, copy);
}

pub(crate) fn chaining<C: Chaining>(contender: &C) {
    let thread = contender.thread();
    let mut chain = C::start(thread.alloc(SIZE));
    for _ in 1..SEGMENTS {
        C::append(&mut chain, thread.alloc(SIZE));
    }
    assert_eq!(C::total_len(&chain), SEGMENTS * WRITTEN);
    C::free_chain(&thread, chain);
}
