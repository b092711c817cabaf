//! W7: a chain is built of 16 buffers, its lengths are summed, and it is freed.

use super::repeat;
use crate::case::SIZE;
use crate::contender::{Chaining, Source, WRITTEN};
use crate::entry::Sample;
use std::hint::black_box;

pub(super) const SEGMENTS: usize = 16;

pub(crate) fn round<C: Chaining>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    let mut total = 0;
    let sample = repeat(units, 1, || {
        let mut chain = C::start(thread.alloc(SIZE));
        for _ in 1..SEGMENTS {
            C::append(&mut chain, thread.alloc(SIZE));
        }
        total = black_box(C::total_len(black_box(&chain)));
        C::free_chain(&thread, chain);
    });
    assert_eq!(total, SEGMENTS * WRITTEN, "all segments were walked");
    sample
}
