//! Handle checks: a block is found when it is one, whatever happens to its slab meanwhile.

use crate::slab::Purpose;
use crate::test_parts::{HEADER, Parts, data_class};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use loom_tests::{ALL, USUAL, explore};

/// Who finds a block that was not handed to him may read its header.
#[test]
fn a_block_is_found_once_its_header_is_written() {
    explore("a_block_is_found_once_its_header_is_written", ALL, || {
        let parts = Parts::new(1);
        let place = parts.slabs.first();
        let other = parts.clone();
        let thread = thread::spawn(move || other.open(HEADER, 1));
        if let Some(found) = parts.slabs.block_at(parts.arena, place.raw() as usize) {
            assert_eq!(found.block, place);
            // SAFETY: carved, and nobody writes it.
            unsafe { assert_eq!(parts.header(place).timestamp(), 0) };
        }
        assert_eq!(thread.join().unwrap(), [place]);
        let found = parts.slabs.block_at(parts.arena, place.raw() as usize);
        assert!(found.is_some_and(|found| found.was_a_block()));
    });
}

/// One thread gives a slab up, another fills it with data by `take`, and a third looks at a place where a block was.
fn old_blocks_are_told_from_data_of(take: fn(&Parts) -> bool) {
    let parts = Parts::new(1);
    let blocks = parts.open(HEADER, 2);
    let place = blocks[1].raw() as usize;
    let data = Arc::new(AtomicU32::new(0));
    let (other, written) = (parts.clone(), data.clone());
    let writer = thread::spawn(move || {
        if take(&other) {
            // Relaxed: as plain writes to data are.
            written.store(1, Ordering::Relaxed);
        }
    });
    let other = parts.clone();
    let reader = thread::spawn(move || {
        if let Some(found) = other.slabs.block_at(other.arena, place) {
            let is_data = data.load(Ordering::Relaxed) == 1;
            assert!(
                !(is_data && found.was_a_block()),
                "data was taken for a header"
            );
        }
    });
    parts.give(HEADER, &blocks);
    parts.reclaim();
    writer.join().unwrap();
    reader.join().unwrap();
    assert!(parts.slabs.block_at(parts.arena, place).is_none());
}

fn take_span(parts: &Parts) -> bool {
    let bytes = parts.classes.slab_bytes() / 2;
    let span = parts
        .slabs
        .take_span(parts.arena, &parts.classes, Purpose::Ordinary, bytes);
    span.is_some()
}

#[test]
fn old_blocks_are_told_from_a_spans_data() {
    explore("old_blocks_are_told_from_a_spans_data", USUAL, || {
        old_blocks_are_told_from_data_of(take_span);
    });
}

#[test]
fn old_blocks_are_told_from_another_classes_data() {
    explore(
        "old_blocks_are_told_from_another_classes_data",
        USUAL,
        || {
            old_blocks_are_told_from_data_of(|parts| !parts.open(data_class(), 1).is_empty());
        },
    );
}
