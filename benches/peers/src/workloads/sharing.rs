//! W6: a copy-ref, its user area copied, and the copy freed.

use super::{BYTES, SUM, repeat};
use crate::case::SIZE;
use crate::contender::{Sharing, Source, USER_AREA};
use crate::entry::Sample;
use std::hint::black_box;

pub(crate) fn copy_ref<C: Sharing>(contender: &C, units: u64) -> Sample {
    let thread = contender.thread();
    let mut buffer = thread.alloc(SIZE);
    C::write(&mut buffer, &BYTES);
    let original = C::share(buffer, &[1; USER_AREA]);
    let sample = repeat(units, 1, || {
        C::free_shared(&thread, black_box(C::copy(&thread, black_box(&original))));
    });
    assert_eq!(C::read_shared(&original), SUM, "the data is still there");
    C::free_shared(&thread, original);
    sample
}
