//! Views and cuts: at every byte of chains of every small shape, and what remains of the data for the others.
#![cfg(not(loom))]

mod common;

use common::{SMALL_SLAB, assert_all_home, fill, holding, pool};
use mbuf::{AllocError, MAX_CHAIN, Mbuf, Pool, ViewError};
use std::ops::Bound;

/// Chains of up to four segments, of 0, 1 and 3 bytes.
fn shapes() -> impl Iterator<Item = Vec<usize>> {
    const LENGTHS: [usize; 3] = [0, 1, 3];
    (1..=4_u32).flat_map(|count| {
        (0..3_usize.pow(count)).map(move |number| {
            let length = |at| LENGTHS[number / 3_usize.pow(at) % 3];
            (0..count).map(length).collect()
        })
    })
}

/// A chain of segments with these lengths, with tailroom and marks of their own, whose bytes count up from 0.
fn chain(pool: &Pool, shape: &[usize]) -> Mbuf {
    let mut next = 0..;
    let mut segments = shape.iter().enumerate().map(|(i, &len)| {
        let mut mbuf = pool.alloc(len + 2).unwrap();
        let bytes: Vec<u8> = next.by_ref().take(len).collect();
        mbuf.extend_from_slice(&bytes).unwrap();
        mbuf.user_mut()[0] = i as u8 + 1;
        mbuf.set_timestamp(i as u64 + 1);
        mbuf
    });
    let mut chain = segments.next().unwrap();
    segments.for_each(|segment| chain.append(segment).unwrap());
    chain
}

#[track_caller]
fn assert_counts(mbuf: &Mbuf, range: std::ops::Range<usize>) {
    assert_eq!(mbuf.total_len(), range.len());
    assert!(mbuf.bytes().eq(range.map(|byte| byte as u8)), "{mbuf:?}");
    assert_eq!(mbuf.segments().len(), mbuf.segments().count());
}

#[test]
fn every_range_of_every_shape_is_sliced() {
    let pool = pool(1 << 20);
    for shape in shapes() {
        let whole = chain(&pool, &shape);
        let len = whole.total_len();
        for (start, end) in (0..=len).flat_map(|start| (start..=len).map(move |end| (start, end))) {
            let view = whole.slice(start..end).unwrap();
            assert_counts(&view, start..end);
            for segment in view.segments() {
                assert_eq!(
                    (segment.capacity(), segment.is_shared()),
                    (segment.len(), true)
                );
                let of = whole.segment(segment.user()[0] as usize - 1).unwrap();
                assert_eq!(segment.timestamp(), of.timestamp());
                assert!(
                    of.data().as_ptr_range().contains(&segment.data().as_ptr())
                        || segment.is_empty()
                );
            }
            // Only an empty range has an empty segment, which is its only one.
            assert!(
                view.segments().all(|segment| !segment.is_empty()) || view.segment_count() == 1
            );
        }
        assert!(whole.segments().all(|segment| !segment.is_shared()));
        for (start, end) in [(0, len + 1), (len + 1, len + 1), (len + 1, len), (1, 0)] {
            assert_eq!(whole.slice(start..end).unwrap_err(), ViewError::OutOfRange);
        }
    }
    assert_all_home(&pool);
}

#[test]
fn ranges_of_all_kinds_are_understood_to_the_ends_of_numbers() {
    let pool = pool(1 << 20);
    let mbuf = chain(&pool, &[2, 2]);
    assert_counts(&mbuf.slice(..).unwrap(), 0..4);
    assert_counts(&mbuf.slice(1..=2).unwrap(), 1..3);
    assert_counts(&mbuf.slice(..=3).unwrap(), 0..4);
    assert_counts(
        &mbuf
            .slice((Bound::Excluded(0), Bound::Included(3)))
            .unwrap(),
        1..4,
    );
    assert_counts(
        &mbuf.slice((Bound::Excluded(3), Bound::Unbounded)).unwrap(),
        4..4,
    );
    let most = usize::MAX;
    let bad: [(Bound<usize>, Bound<usize>); 9] = [
        (Bound::Unbounded, Bound::Included(most)),
        (Bound::Unbounded, Bound::Excluded(most)),
        (Bound::Included(most), Bound::Unbounded),
        (Bound::Excluded(most), Bound::Unbounded),
        (Bound::Excluded(most), Bound::Excluded(most)),
        (Bound::Included(most), Bound::Included(most)),
        (Bound::Included(2), Bound::Excluded(1)),
        (Bound::Excluded(4), Bound::Unbounded),
        (Bound::Unbounded, Bound::Included(4)),
    ];
    for range in bad {
        assert_eq!(
            mbuf.slice(range).unwrap_err(),
            ViewError::OutOfRange,
            "{range:?}"
        );
        assert!(mbuf.parts(range).is_none());
    }
    // Inclusive ranges that end before they begin by one are empty.
    assert_counts(
        &mbuf
            .slice((Bound::Included(2), Bound::Excluded(2)))
            .unwrap(),
        2..2,
    );
}

#[test]
fn every_shape_is_cut_at_every_byte() {
    let pool = pool(1 << 20);
    for shape in shapes() {
        let len: usize = shape.iter().sum();
        for at in 0..=len {
            let mut front = chain(&pool, &shape);
            let user = *front.user();
            let mut rest = front.split_off_bytes(at).unwrap();
            assert_counts(&front, 0..at);
            assert_counts(&rest, at..len);
            assert_eq!(front.user(), &user);
            // Each of the two can be changed when the other is gone, and reaches no byte too far.
            if at % 2 == 0 {
                drop(front);
                let room = rest.segments().map(|segment| segment.tailroom()).last();
                assert_eq!(room, Some(2));
                rest.append_bytes(b"xx").unwrap();
                assert!(
                    rest.segments_mut()
                        .all(|mut segment| segment.data_mut().is_some())
                );
            } else {
                drop(rest);
                let tailroom = front.last_mut().capacity() - front.last_mut().len();
                front.append_bytes(&vec![b'x'; tailroom]).unwrap();
                front.append_bytes(b"x").unwrap_err();
                assert!(
                    front
                        .segments_mut()
                        .all(|mut segment| segment.data_mut().is_some())
                );
            }
            let mut rest = chain(&pool, &shape);
            let front = rest.split_to(at).unwrap();
            assert_counts(&front, 0..at);
            assert_counts(&rest, at..len);
        }
        for at in [len + 1, usize::MAX] {
            let mut whole = chain(&pool, &shape);
            assert_eq!(
                whole.split_off_bytes(at).unwrap_err(),
                ViewError::OutOfRange
            );
            assert_eq!(whole.split_to(at).unwrap_err(), ViewError::OutOfRange);
            assert_eq!(
                whole.linearize_prefix(at).unwrap_err(),
                ViewError::OutOfRange
            );
            assert_counts(&whole, 0..len);
            assert_eq!(whole.segment_count(), shape.len());
        }
    }
    assert_all_home(&pool);
}

#[test]
fn a_prefix_of_every_length_of_every_shape_is_brought_together() {
    let pool = pool(1 << 20);
    for shape in shapes() {
        let len: usize = shape.iter().sum();
        for prefix in 0..=len {
            let mut whole = chain(&pool, &shape);
            let at = whole.data().as_ptr();
            let allocs = pool.stats().allocs;
            whole.linearize_prefix(prefix).unwrap();
            assert_counts(&whole, 0..len);
            assert_eq!((whole.user()[0], whole.timestamp()), (1, 1));
            assert!(whole.len() >= prefix);
            assert_eq!(whole.data().as_ptr() == at, prefix <= shape[0]);
            // One block for the prefix, and one header only if the cut goes through a segment.
            let mut end = 0;
            let is_between = shape.iter().any(|segment| {
                end += segment;
                end == prefix
            });
            let expected = if prefix <= shape[0] {
                0
            } else {
                2 - u64::from(is_between)
            };
            assert_eq!(pool.stats().allocs - allocs, expected, "{shape:?} {prefix}");
        }
        for headroom in [0, 1, 63, 64, 65, 1000] {
            let mut whole = chain(&pool, &shape);
            whole.coalesce(headroom).unwrap();
            assert_counts(&whole, 0..len);
            assert_eq!((whole.segment_count(), whole.capacity()), (1, len));
            assert!(whole.headroom() >= headroom);
            assert_eq!((whole.user()[0], whole.timestamp()), (1, 1));
            whole.prepend(headroom).unwrap().fill(1);
        }
        let mut whole = chain(&pool, &shape);
        assert_eq!(whole.coalesce(usize::MAX), Err(AllocError::TooLarge));
        assert_eq!(whole.coalesce(usize::MAX - len), Err(AllocError::TooLarge));
        assert_eq!(whole.coalesce(1 << 30), Err(AllocError::Exhausted));
        assert_counts(&whole, 0..len);
        assert_eq!(whole.segment_count(), shape.len());
    }
    assert_all_home(&pool);
}

#[test]
fn a_full_chain_is_cut_everywhere_and_joined_again() {
    let pool = pool(1 << 20);
    let mut whole = chain(&pool, &[1; MAX_CHAIN]);
    for at in 0..=MAX_CHAIN {
        let rest = whole.split_off_bytes(at).unwrap();
        assert_counts(&whole, 0..at);
        assert_counts(&rest, at..MAX_CHAIN);
        assert!(rest.segment_count() <= MAX_CHAIN);
        drop((
            rest,
            std::mem::replace(&mut whole, chain(&pool, &[1; MAX_CHAIN])),
        ));
    }
    for prefix in 0..=MAX_CHAIN {
        whole.linearize_prefix(prefix).unwrap();
        assert_counts(&whole, 0..MAX_CHAIN);
    }
    assert_eq!(whole.segment_count(), 1);
    drop(whole);
    assert_all_home(&pool);
}

#[test]
fn views_of_views_outlive_what_they_were_made_of() {
    let pool = pool(1 << 20);
    let mut mbuf = holding(&pool, &(0..100).collect::<Vec<u8>>());
    mbuf.user_mut()[7] = 7;
    for step in 1..=50 {
        let inner = mbuf.slice(1..mbuf.len() - 1).unwrap();
        assert_eq!((inner.headroom(), inner.capacity()), (step, 100 - 2 * step));
        assert!(inner.is_shared());
        mbuf = inner;
        assert!(!mbuf.is_shared());
        assert_counts(&mbuf, step..100 - step);
        assert_eq!(mbuf.user()[7], 7);
    }
    assert!(mbuf.is_empty());
    assert_eq!(pool.stats().in_use, 2);
    // Alone by now, it has all that is in front of it, but nothing behind.
    assert!(mbuf.append_bytes(b"x").is_err());
    mbuf.prepend_slice(&[9; 50]).unwrap();
    assert!(mbuf.prepend(1).is_err());
    assert_eq!(mbuf, [9; 50]);
    drop(mbuf);
    assert_all_home(&pool);
}

#[test]
fn a_write_by_one_is_never_seen_by_another() {
    let pool = pool(1 << 20);
    let mut front = holding(&pool, b"front|back");
    let mut back = front.split_off_bytes(6).unwrap();
    let copy = front.copy_ref().unwrap();
    for mbuf in [&mut front, &mut back] {
        assert!(mbuf.data_mut().is_none());
        assert!(mbuf.prepend(1).is_err());
        assert!(mbuf.extend_from_slice(b"x").is_err());
        assert!(mbuf.append_bytes(b"x").is_err());
    }
    assert!(front.set_len(7).is_err());
    front.make_unique().unwrap();
    front.data_mut().unwrap().fill(b'x');
    assert_eq!(
        (front.data(), copy.data(), back.data()),
        (&b"xxxxxx"[..], &b"front|"[..], &b"back"[..])
    );
    // The rest of the data is alone now, and writes over what was the front's.
    drop(copy);
    back.prepend_slice(b"FRONT-").unwrap();
    assert_eq!(
        (back.data(), front.data()),
        (&b"FRONT-back"[..], &b"xxxxxx"[..])
    );
    // Two views in one chain share as well.
    let view = back.slice(..3).unwrap();
    back.append(view).unwrap();
    assert!(
        back.segments_mut()
            .all(|mut segment| segment.data_mut().is_none())
    );
    let mut second = back.split_off(1).unwrap();
    drop(back);
    assert!(second.data_mut().is_some());
}

#[test]
fn running_out_of_headers_changes_nothing() {
    const EXHAUSTED: ViewError = ViewError::Alloc(AllocError::Exhausted);
    let pool = pool(SMALL_SLAB * 2);
    let mut whole = chain(&pool, &[10, 10, 10]);
    whole.advance(2).unwrap();
    // One of the two slabs is for headers.
    let mut headers = vec![pool.alloc(0).unwrap()];
    let mut blocks = fill(&pool, 12);
    headers.extend(fill(&pool, 0));
    for free in 0..4 {
        let in_use = pool.stats().in_use;
        if free == 0 {
            assert_eq!(whole.slice(3..4).unwrap_err(), EXHAUSTED);
            assert_eq!(whole.slice(3..3).unwrap_err(), EXHAUSTED);
            assert_eq!(whole.split_off_bytes(3).unwrap_err(), EXHAUSTED);
            assert_eq!(whole.split_to(3).unwrap_err(), EXHAUSTED);
            assert_eq!(whole.linearize_prefix(12).unwrap_err(), EXHAUSTED);
            // A block for the prefix, but no header for the cut.
            drop(blocks.pop());
            assert_eq!(whole.linearize_prefix(12).unwrap_err(), EXHAUSTED);
            blocks.extend(pool.alloc(12));
        }
        if free < 3 {
            assert_eq!(whole.slice(..).unwrap_err(), EXHAUSTED);
            assert_eq!(whole.slice(7..17).is_err(), free < 2);
        } else {
            drop(whole.slice(..).unwrap());
        }
        assert_eq!(pool.stats().in_use, in_use);
        assert_eq!(
            (whole.segment_count(), whole.headroom(), whole.total_len()),
            (3, 2, 28)
        );
        assert!(whole.bytes().eq(2..30));
        assert!(whole.segments().all(|segment| !segment.is_shared()));
        headers.pop();
    }
    // Between segments, and within the first, nothing is needed.
    headers.extend(fill(&pool, 0));
    whole.linearize_prefix(8).unwrap();
    let mut rest = whole.split_off_bytes(18).unwrap();
    let last = rest.split_to(10).unwrap_err();
    assert_eq!(last, EXHAUSTED);
    let first = whole.split_to(8).unwrap();
    assert_counts(&first, 2..10);
    assert!(whole.data_mut().is_some() && rest.data_mut().is_some());
    drop((first, whole, rest, blocks, headers));
    assert_all_home(&pool);
}

#[test]
fn compacting_frees_what_is_not_shown_and_then_rests() {
    let pool = pool(4 << 20);
    let mut whole = holding(&pool, &[1; 40_000]).slice(100..200).unwrap();
    for size in [0, 64, 65, 100, 1000, 600_000] {
        let mut exact = pool.alloc_zeroed(size).unwrap();
        exact.set_timestamp(size as u64);
        exact.user_mut()[1] = 1;
        whole.append(exact.copy_ref().unwrap()).unwrap();
        exact.truncate(size / 100);
        whole.append(exact).unwrap();
    }
    let before: Vec<u8> = whole.bytes().collect();
    let marks: Vec<_> = whole
        .segments()
        .map(|segment| (segment.timestamp(), *segment.user()))
        .collect();
    whole.compact().unwrap();
    assert!(whole == before);
    assert!(
        whole
            .segments()
            .map(|segment| (segment.timestamp(), *segment.user()))
            .eq(marks)
    );
    let (allocs, retained) = (pool.stats().allocs, whole.retained());
    whole.compact().unwrap();
    whole.compact().unwrap();
    assert_eq!((pool.stats().allocs, whole.retained()), (allocs, retained));
    assert!(whole == before);
    drop(whole);
    assert_all_home(&pool);
}

#[test]
fn a_copy_of_data_that_fills_its_block_is_not_worth_copying() {
    let pool = pool(1 << 20);
    for size in [0, 64, 1000] {
        let exact = holding(&pool, &vec![1; size]);
        let mut copy = exact.copy_ref().unwrap();
        let allocs = pool.stats().allocs;
        copy.compact().unwrap();
        assert_eq!(copy.data().as_ptr(), exact.data().as_ptr());
        assert_eq!(pool.stats().allocs, allocs);
    }
    assert_all_home(&pool);
}

#[test]
fn compacting_without_memory_changes_nothing() {
    let pool = pool(SMALL_SLAB * 3);
    let large = holding(&pool, &[1; 30_000]);
    let mut views = large.slice(..100).unwrap();
    views.append(large.slice(200..300).unwrap()).unwrap();
    drop(large);
    let mut held = fill(&pool, 100);
    held.pop();
    let in_use = pool.stats().in_use;
    assert_eq!(views.compact(), Err(AllocError::Exhausted));
    assert_eq!(views.make_unique(), Err(AllocError::Exhausted));
    assert_eq!((pool.stats().in_use, views.segment_count()), (in_use, 2));
    assert!(views == [1; 200]);
    drop(held);
    views.compact().unwrap();
    assert!(views == [1; 200]);
    drop(views);
    assert_all_home(&pool);
}
