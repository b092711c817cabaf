//! Chains: append, split and pop leave whole chains behind, and failing leaves everything as it was.
#![cfg(not(loom))]

mod common;

use common::{SMALL_SLAB, assert_all_home, assert_numbers, fill, holding, numbered_chain, pool};
use mbuf::{AllocError, AppendErrorKind, MAX_CHAIN, Mbuf, free_bulk};

#[test]
fn append_joins_whole_chains_in_order() {
    let pool = pool(1 << 20);
    let mut whole = numbered_chain(&pool, 12);
    let mut tail = whole.split_off(7).unwrap();
    let end = tail.split_off(4).unwrap();
    tail.append(end).unwrap();
    whole.append(tail).unwrap();
    assert_numbers(&whole, 0..12);
    drop(whole);
    assert_all_home(&pool);
}

#[test]
fn a_chain_holds_128_segments_and_not_one_more() {
    assert_eq!(MAX_CHAIN, 128);
    let pool = pool(1 << 20);
    // One by one, and by joining chains whose lengths add up to the bound or pass it by one.
    let mut chain = numbered_chain(&pool, 127);
    chain.append(holding(&pool, &[127; 8])).unwrap();
    assert_eq!(chain.segment_count(), 128);
    let error = chain.append(holding(&pool, b"late")).unwrap_err();
    assert_eq!(error.kind(), AppendErrorKind::TooLong);
    assert!(error.to_string().contains("128"));
    assert!(format!("{error:?}").contains("TooLong"));
    let mut late = error.into_mbuf();
    assert_eq!(late.data(), b"late");
    late.append(holding(&pool, b"later")).unwrap();
    drop(chain);
    for (one, other) in [(1, 128), (128, 1), (64, 65), (128, 127), (127, 128)] {
        let mut chain = numbered_chain(&pool, one);
        let error = chain.append(numbered_chain(&pool, other)).unwrap_err();
        assert_numbers(&chain, 0..one);
        assert_numbers(&error.into_mbuf(), 0..other);
    }
    for (one, other) in [(1, 127), (127, 1), (64, 64)] {
        let mut chain = numbered_chain(&pool, one);
        chain.append(numbered_chain(&pool, other)).unwrap();
        assert_numbers(&chain, (0..one).chain(0..other));
    }
    assert_eq!(late.segment_count(), 2);
    drop(late);
    assert_all_home(&pool);
}

#[test]
fn two_full_chains_cannot_be_joined() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 128);
    let error = chain.append(numbered_chain(&pool, 128)).unwrap_err();
    assert_eq!(error.kind(), AppendErrorKind::TooLong);
    assert_numbers(&chain, 0..128);
    assert_numbers(&error.into_mbuf(), 0..128);
    drop(chain);
    assert_all_home(&pool);
}

#[test]
fn an_mbuf_of_another_pool_comes_back_unchanged() {
    let (one, other) = (pool(1 << 20), pool(1 << 20));
    let mut chain = numbered_chain(&one, 3);
    let error = chain.append(numbered_chain(&other, 4)).unwrap_err();
    assert_eq!(error.kind(), AppendErrorKind::OtherPool);
    assert!(error.to_string().contains("another pool"));
    assert_numbers(&chain, 0..3);
    let mut back = error.into_mbuf();
    assert_numbers(&back, 0..4);
    assert!(back.append(chain).is_err(), "which frees the mbuf with it");
    assert_all_home(&one);
    drop(back);
    assert_all_home(&other);
}

#[test]
fn split_off_at_each_place_parts_the_chain_there() {
    let pool = pool(1 << 20);
    for length in [1, 2, 3, 9] {
        for at in 0..length + 3 {
            let mut chain = numbered_chain(&pool, length);
            match chain.split_off(at) {
                None => {
                    assert!(at == 0 || at >= length, "{at} of {length}");
                    assert_numbers(&chain, 0..length);
                }
                Some(mut rest) => {
                    assert!(at > 0 && at < length, "{at} of {length}");
                    assert_numbers(&chain, 0..at);
                    assert_numbers(&rest, at..length);
                    // Both know their ends.
                    chain.append(numbered_chain(&pool, 1)).unwrap();
                    rest.append(numbered_chain(&pool, 2)).unwrap();
                    assert_numbers(&chain, (0..at).chain([0]));
                    assert_numbers(&rest, (at..length).chain([0, 1]));
                }
            }
        }
        assert!(
            numbered_chain(&pool, length)
                .split_off(usize::MAX)
                .is_none()
        );
    }
    let mut full = numbered_chain(&pool, 128);
    assert_numbers(&full.split_off(127).unwrap(), [127]);
    assert_numbers(&full.split_off(1).unwrap(), 1..127);
    drop(full);
    assert_all_home(&pool);
}

#[test]
fn pop_front_takes_segments_from_the_front_until_one_is_left() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 5);
    for i in 0..4 {
        assert_numbers(&chain.pop_front().unwrap(), [i]);
        assert_numbers(&chain, i + 1..5);
    }
    assert!(chain.pop_front().is_none());
    assert_numbers(&chain, [4]);
    chain.append(numbered_chain(&pool, 2)).unwrap();
    assert_numbers(&chain.pop_front().unwrap(), [4]);
    assert_numbers(&chain, 0..2);
}

#[test]
fn segments_are_found_by_number_and_none_past_the_end() {
    let pool = pool(1 << 20);
    let chain = numbered_chain(&pool, 6);
    for i in 0..6 {
        assert_eq!(usize::from(chain.segment(i).unwrap().user()[95]), i);
    }
    for i in [6, 7, 128, usize::MAX] {
        assert!(chain.segment(i).is_none());
    }
    let alone = pool.alloc(1).unwrap();
    assert!(alone.segment(0).is_some() && alone.segment(1).is_none());
}

#[test]
fn a_member_counts_and_copies_from_itself_to_the_end() {
    let pool = pool(1 << 20);
    let chain = numbered_chain(&pool, 6);
    for i in 0..6 {
        let member = chain.segment(i).unwrap();
        assert_numbers(&member, i..6);
        let copy = member.copy_ref().unwrap();
        assert_numbers(&copy, i..6);
        assert!(copy.segments().all(|segment| segment.is_shared()));
        let further = member.segment(5 - i).unwrap();
        assert_numbers(&further, [5]);
        assert!(member.segment(6 - i).is_none());
        assert_eq!(member.segment_count(), 6 - i);
    }
    assert!(chain.segments().all(|segment| !segment.is_shared()));
}

#[test]
fn iterators_know_their_lengths_and_stay_at_the_end() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 4);
    let mut segments = chain.segments();
    segments.next();
    assert_eq!((segments.len(), segments.clone().count()), (3, 3));
    assert!(segments.nth(2).is_some());
    assert!(segments.next().is_none() && segments.next().is_none());
    assert_eq!((&chain).into_iter().count(), 4);
    let mut segments = chain.segments_mut();
    segments.next();
    assert_eq!(segments.len(), 3);
    assert_eq!(segments.by_ref().count(), 3);
    assert!(segments.next().is_none());
}

#[test]
fn each_segment_is_changed_in_its_place() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 3);
    for (i, mut segment) in chain.segments_mut().enumerate() {
        assert_eq!((segment.len(), segment.capacity()), (8, 8));
        segment.clear();
        assert!(segment.is_empty());
        segment.extend_from_slice(&[i as u8 + 10; 5]).unwrap();
        segment.set_len(8).unwrap();
        assert!(!segment.is_empty());
        segment.user_mut()[95] += 10;
        segment.set_timestamp(segment.timestamp() + 10);
        assert_eq!(usize::from(segment.user()[95]), i + 10);
        assert_eq!(segment.data()[4..], [i as u8 + 10, 0, 0, 0]);
        segment.data_mut().unwrap().fill(i as u8 + 10);
        assert!(segment.spare_capacity_mut().unwrap().is_empty());
        assert!(segment.extend_from_slice(b"more").is_err());
        assert!(!segment.is_shared());
        assert!(format!("{segment:?}").contains("len: 8"));
    }
    assert_numbers(&chain, 10..13);
    // Exclusive segments may be held side by side.
    let held: Vec<_> = chain.segments_mut().collect();
    for (i, mut segment) in held.into_iter().enumerate().rev() {
        segment.user_mut()[95] = i as u8;
        segment.data_mut().unwrap().fill(i as u8);
        segment.set_timestamp(i as u64);
    }
    assert_numbers(&chain, 0..3);
}

#[test]
fn chains_of_copies_and_originals_mix() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 4);
    let copy = chain.copy_ref().unwrap();
    let mut second = copy.copy_ref().unwrap();
    // Over one's own copies, so that the same data is there three times.
    chain.append(copy).unwrap();
    assert_numbers(&chain, (0..4).chain(0..4));
    let last = second.split_off(2).unwrap();
    chain.append(last).unwrap();
    assert_numbers(&chain, (0..4).chain(0..4).chain(2..4));
    assert_numbers(&second, 0..2);
    let of_all = chain.copy_ref().unwrap();
    drop(chain);
    assert_numbers(&of_all, (0..4).chain(0..4).chain(2..4));
    assert_numbers(&second, 0..2);
    // Four blocks of data, ten headers of one chain and two of the other.
    assert_eq!(pool.stats().in_use, 4 + 10 + 2);
    drop((of_all, second));
    assert_all_home(&pool);
}

#[test]
fn a_full_chain_is_copied_and_freed_whole() {
    let pool = pool(1 << 20);
    let chain = numbered_chain(&pool, 128);
    let copy = chain.copy_ref().unwrap();
    assert_numbers(&copy, 0..128);
    assert_eq!(pool.stats().in_use, 256);
    drop(chain);
    assert_numbers(&copy, 0..128);
    assert!(copy.segments().all(|segment| !segment.is_shared()));
    free_bulk([copy]);
    assert_all_home(&pool);
}

#[test]
fn recycled_headers_do_not_know_their_old_chain() {
    let pool = pool(SMALL_SLAB * 2);
    for size in [0, 8, 64] {
        let mut kept = Vec::new();
        for length in [1, 2, 5, 128] {
            let chain = numbered_chain(&pool, length);
            kept.push(chain.copy_ref().unwrap());
        }
        drop(kept);
        let mut all = fill(&pool, size);
        for mbuf in &mut all {
            assert_eq!(mbuf.segment_count(), 1);
            assert_eq!(mbuf.segments().count(), 1);
            assert!(mbuf.pop_front().is_none());
        }
        // Old tails would lead these appends astray.
        let mut chain = all.pop().unwrap();
        for mbuf in all.drain(..).take(127) {
            chain.append(mbuf).unwrap();
        }
        assert_eq!(chain.segments().count(), 128);
    }
    assert_all_home(&pool);
}

#[test]
fn freeing_an_emptied_segment_frees_no_other() {
    let pool = pool(1 << 20);
    let mut chain = numbered_chain(&pool, 3);
    chain.segments_mut().for_each(|mut segment| segment.clear());
    assert_eq!((chain.total_len(), chain.segment_count()), (0, 3));
    let mut rest = chain.split_off(1).unwrap();
    drop(chain);
    assert_eq!((rest.segment_count(), pool.stats().in_use), (2, 2));
    drop(rest.pop_front().unwrap());
    assert_eq!((rest.segment_count(), pool.stats().in_use), (1, 1));
    rest.extend_from_slice(&[2; 8]).unwrap();
    assert_numbers(&rest, [2]);
}

#[test]
fn a_copy_ref_that_runs_out_midway_leaks_nothing() {
    let pool = pool(SMALL_SLAB * 2);
    let chain = numbered_chain(&pool, 10);
    let mut headers = fill(&pool, 0);
    for left in 0..10 {
        let before = pool.stats().in_use;
        let copy = chain.copy_ref();
        assert_eq!(copy.map(drop).unwrap_err(), AllocError::Exhausted);
        assert_eq!(pool.stats().in_use, before, "{left} headers are left");
        assert!(chain.segments().all(|segment| !segment.is_shared()));
        assert_numbers(&chain, 0..10);
        headers.pop();
    }
    assert_numbers(&chain.copy_ref().unwrap(), 0..10);
    drop((headers, chain));
    assert_all_home(&pool);
}

#[test]
fn chains_mix_sizes_with_spans_and_empty_mbufs() {
    let pool = pool(4 << 20);
    let sizes = [0, 100_000, 64, 0, 200_000, 30_000];
    let one = |&size: &usize| pool.alloc_zeroed(size).unwrap();
    let mut chain = sizes.iter().map(one).reduce(|mut chain, mbuf| {
        chain.append(mbuf).unwrap();
        chain
    });
    let chain = chain.as_mut().unwrap();
    assert_eq!(chain.total_len(), sizes.iter().sum::<usize>());
    let mut copy = chain.copy_ref().unwrap();
    copy.make_unique().unwrap();
    let lengths: Vec<_> = copy.segments().map(|segment| segment.len()).collect();
    assert_eq!(lengths, sizes);
    assert_eq!(pool.stats().spans, 4);
    drop::<Mbuf>(copy);
    drop(chain.split_off(1));
    assert_eq!((chain.segment_count(), pool.stats().in_use), (1, 1));
}
