//! One mbuf's data, length, user area and sharing: what its users see, and never what earlier users left behind.
#![cfg(not(loom))]

mod common;

use common::stamp::is_zero;
use common::{SMALL_LARGEST, SMALL_SLAB, assert_all_home, fill, holding, pool};
use mbuf::{AllocError, LenError, Mbuf, Pool};

/// Changes all that a user can change of a lone mbuf.
fn dirty(mbuf: &mut Mbuf) {
    mbuf.set_len(mbuf.capacity()).unwrap();
    mbuf.data_mut().unwrap().fill(0xdd);
    mbuf.user_mut().fill(0xee);
    mbuf.set_timestamp(u64::MAX);
}

#[track_caller]
fn assert_fresh(mbuf: &mut Mbuf, capacity: usize) {
    assert_eq!((mbuf.len(), mbuf.capacity()), (0, capacity));
    assert!(mbuf.is_empty() && mbuf.data().is_empty());
    assert_eq!(mbuf.user(), &[0; 96]);
    assert_eq!(mbuf.timestamp(), 0);
    assert!(!mbuf.is_shared());
    assert_eq!((mbuf.segment_count(), mbuf.total_len()), (1, 0));
    assert!(mbuf.split_off(1).is_none());
    mbuf.set_len(capacity).unwrap();
    assert!(is_zero(mbuf.data()));
}

#[test]
fn a_recycled_mbuf_is_as_fresh_as_a_new_one() {
    let pool = pool(4 << 20);
    for size in [0, 1, 64, 1500, 20_000, 200_000] {
        let mut mbuf = pool.alloc(size).unwrap();
        assert_fresh(&mut mbuf, size);
        dirty(&mut mbuf);
        let place = mbuf.user().as_ptr();
        drop(mbuf);
        let mut again = pool.alloc(size).unwrap();
        assert_eq!(again.user().as_ptr(), place, "the same block");
        assert_fresh(&mut again, size);
    }
}

#[test]
fn every_header_is_fresh_again_after_a_life_as_head_member_copy_or_owner() {
    // All blocks of the pool live one of those lives, end in a random order, and are looked at.
    let pool = pool(SMALL_SLAB * 2);
    let mut random = common::Random::new(1);
    for _ in 0..20 {
        let mut all = Vec::new();
        while let Ok(mut mbuf) = pool.alloc(0) {
            dirty(&mut mbuf);
            let copy = mbuf.copy_ref();
            let lives = [Some(mbuf), copy.ok()];
            for mut one in lives.into_iter().flatten() {
                one.user_mut()[95] = 0xcc;
                match all.last_mut() {
                    Some(chain) if random.below(3) > 0 => match Mbuf::append(chain, one) {
                        Ok(()) => {}
                        Err(error) => all.push(error.into_mbuf()),
                    },
                    _ => all.push(one),
                }
            }
        }
        random.shuffle(&mut all);
        drop(all);
        let mut all = fill(&pool, 0);
        assert!(all.len() > 600);
        all.iter_mut().for_each(|mbuf| assert_fresh(mbuf, 0));
    }
    assert_all_home(&pool);
}

#[test]
fn memory_of_another_class_leaves_nothing_in_user_areas_or_growth() {
    let pool = pool(SMALL_SLAB);
    let sizes = [0, 64, 700, 5000, SMALL_LARGEST, SMALL_SLAB as usize - 192];
    for earlier in sizes {
        for later in sizes {
            let mut all = fill(&pool, earlier);
            assert!(!all.is_empty());
            all.iter_mut().for_each(dirty);
            drop(all);
            let mut all = fill(&pool, later);
            assert!(!all.is_empty(), "{later} after {earlier}");
            all.iter_mut().for_each(|mbuf| assert_fresh(mbuf, later));
        }
    }
}

#[test]
fn a_copy_in_a_dirty_header_has_the_originals_user_area() {
    let pool = pool(SMALL_SLAB * 2);
    let dirty_header = |pool: &Pool| {
        let mut earlier = pool.alloc(0).unwrap();
        dirty(&mut earlier);
        earlier.user().as_ptr()
    };
    let unwritten = pool.alloc(64).unwrap();
    let place = dirty_header(&pool);
    let copy = unwritten.copy_ref().unwrap();
    assert_eq!(copy.user().as_ptr(), place, "the same block");
    assert_eq!((copy.user(), copy.timestamp()), (&[0; 96], 0));
    drop(copy);

    let mut written = pool.alloc(64).unwrap();
    written.user_mut()[95] = 9;
    dirty_header(&pool);
    let copy = written.copy_ref().unwrap();
    assert_eq!(copy.user(), written.user());
    // As a member of a chain, and as a copy of a copy.
    let mut chain = pool.alloc(0).unwrap();
    chain.append(copy).unwrap();
    dirty_header(&pool);
    let copy = chain.segment(1).unwrap().copy_ref().unwrap();
    assert_eq!(copy.user()[95], 9);
    drop((chain, copy));
    assert_eq!(pool.alloc(0).unwrap().user(), &[0; 96]);
}

#[test]
fn copying_a_chain_copies_every_byte_of_every_user_area() {
    let pool = pool(1 << 20);
    let mut chain = pool.alloc(0).unwrap();
    for _ in 1..5 {
        chain.append(pool.alloc(0).unwrap()).unwrap();
    }
    for (i, mut segment) in chain.segments_mut().enumerate() {
        for (at, byte) in segment.user_mut().iter_mut().enumerate() {
            *byte = (i * 96 + at) as u8;
        }
    }
    let copy = chain.copy_ref().unwrap();
    for (original, copy) in chain.segments().zip(copy.segments()) {
        assert_eq!(original.user(), copy.user());
        assert_ne!(original.user().as_ptr(), copy.user().as_ptr());
    }
}

#[test]
fn set_len_past_the_capacity_changes_nothing() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.alloc(10).unwrap();
    mbuf.extend_from_slice(b"abc").unwrap();
    // The block has room for 64 bytes, but 10 were asked for.
    for len in [11, 64, usize::MAX] {
        assert_eq!(mbuf.set_len(len), Err(LenError::TooLong));
        assert_eq!(mbuf.data(), b"abc");
    }
    mbuf.set_len(10).unwrap();
    assert_eq!(mbuf.data(), b"abc\0\0\0\0\0\0\0");
}

#[test]
fn growth_reads_as_zero_even_over_bytes_written_before() {
    let pool = pool(1 << 20);
    let mut mbuf = holding(&pool, b"secret");
    mbuf.set_len(1).unwrap();
    mbuf.set_len(6).unwrap();
    assert_eq!(mbuf.data(), b"s\0\0\0\0\0");
    let room = mbuf.spare_capacity_mut().unwrap();
    assert!(room.is_empty());
    mbuf.clear();
    mbuf.spare_capacity_mut().unwrap()[3].write(b'x');
    mbuf.set_len(4).unwrap();
    assert_eq!(mbuf.data(), [0; 4]);
}

#[test]
fn extending_appends_all_or_nothing() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.alloc(6).unwrap();
    mbuf.extend_from_slice(b"abcd").unwrap();
    assert_eq!(mbuf.extend_from_slice(b"efg"), Err(LenError::TooLong));
    assert_eq!(mbuf.data(), b"abcd");
    mbuf.extend_from_slice(b"ef").unwrap();
    mbuf.extend_from_slice(b"").unwrap();
    assert_eq!(mbuf.data(), b"abcdef");
    assert!(!mbuf.is_empty());
    mbuf.clear();
    assert!(mbuf.is_empty());
    mbuf.extend_from_slice(b"g").unwrap();
    assert_eq!(mbuf.data(), b"g");
}

#[test]
fn the_unchecked_length_trusts_what_was_written_to_the_room() {
    let pool = pool(1 << 20);
    let mut mbuf = holding(&pool, b"ab\0\0");
    mbuf.set_len(2).unwrap();
    let room = mbuf.spare_capacity_mut().unwrap();
    assert_eq!(room.len(), 2);
    room[0].write(b'c');
    room[1].write(b'd');
    // SAFETY: all four bytes have been written.
    unsafe { mbuf.set_len_unchecked(4) };
    assert_eq!(mbuf.data(), b"abcd");
    let mut segment = mbuf.segments_mut().next().unwrap();
    // SAFETY: shrinking needs nothing.
    unsafe { segment.set_len_unchecked(1) };
    assert_eq!(mbuf.data(), b"a");
}

#[test]
fn shared_data_can_shrink_but_neither_grow_nor_be_written() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.alloc(8).unwrap();
    mbuf.extend_from_slice(b"abcd").unwrap();
    let mut copy = mbuf.copy_ref().unwrap();
    for one in [&mut mbuf, &mut copy] {
        assert!(one.is_shared());
        assert!(one.data_mut().is_none());
        assert!(one.spare_capacity_mut().is_none());
        assert_eq!(one.set_len(5), Err(LenError::Shared));
        assert_eq!(one.extend_from_slice(b"e"), Err(LenError::Shared));
        assert_eq!(one.extend_from_slice(b""), Ok(()));
        assert_eq!(one.set_len(4), Ok(()));
        assert_eq!(one.data(), b"abcd");
        let mut segment = one.segments_mut().next().unwrap();
        assert!(segment.is_shared());
        assert!(segment.data_mut().is_none());
        assert!(segment.spare_capacity_mut().is_none());
        assert_eq!(segment.set_len(5), Err(LenError::Shared));
    }
    copy.set_len(1).unwrap();
    assert_eq!((copy.data(), mbuf.data()), (&b"a"[..], &b"abcd"[..]));
    assert_eq!(copy.set_len(2), Err(LenError::Shared));
    copy.clear();
    assert_eq!(mbuf.data(), b"abcd");
    drop(mbuf);
    // The last reference has the data to itself; what it grows by is zero all the same.
    assert!(!copy.is_shared());
    copy.set_len(8).unwrap();
    assert_eq!(copy.data_mut().unwrap(), [0; 8]);
}

#[test]
fn data_mut_is_none_exactly_while_another_mbuf_refers_to_the_data() {
    let pool = pool(1 << 20);
    let mut random = common::Random::new(2);
    let mut all = vec![pool.alloc_zeroed(3).unwrap()];
    for _ in 0..500 {
        let which = random.below(all.len());
        if all.len() < 2 || (all.len() < 8 && random.below(2) == 0) {
            let copy = all[which].copy_ref().unwrap();
            all.push(copy);
        } else {
            drop(all.swap_remove(which));
        }
        let shared = all.len() > 1;
        for mbuf in &mut all {
            assert_eq!(mbuf.is_shared(), shared);
            assert_eq!(mbuf.data_mut().is_none(), shared);
            assert_eq!(mbuf.spare_capacity_mut().is_none(), shared);
        }
    }
    drop(all);
    assert_all_home(&pool);
}

#[test]
fn a_copy_shares_data_and_has_all_else_to_itself() {
    let pool = pool(1 << 20);
    let mut mbuf = holding(&pool, b"shared");
    mbuf.user_mut()[0] = 1;
    mbuf.set_timestamp(77);
    let mut copy = mbuf.copy_ref().unwrap();
    assert_eq!(copy.data().as_ptr(), mbuf.data().as_ptr());
    assert_eq!((copy.len(), copy.capacity(), copy.timestamp()), (6, 6, 77));
    copy.user_mut()[0] = 2;
    copy.set_timestamp(78);
    copy.set_len(2).unwrap();
    assert_eq!((mbuf.user()[0], mbuf.timestamp(), mbuf.len()), (1, 77, 6));
    mbuf.user_mut()[1] = 3;
    mbuf.clear();
    assert_eq!((copy.user()[1], copy.len()), (0, 2));
    let text = format!("{copy:?}");
    assert_eq!(text, "Mbuf [2 of 6, shared: 73 68]");
}

#[test]
fn copies_of_copies_and_of_a_freed_original_keep_the_data() {
    let pool = pool(SMALL_SLAB * 4);
    for size in [1, 64, 1000, SMALL_SLAB as usize] {
        let original = holding(&pool, &vec![5; size]);
        let first = original.copy_ref().unwrap();
        drop(original);
        let second = first.copy_ref().unwrap();
        drop(first);
        // The block must not be handed out while the last copy lives.
        let others = fill(&pool, size);
        for mut other in others {
            dirty(&mut other);
        }
        assert!(second.data().iter().all(|&byte| byte == 5));
        assert!(!second.is_shared());
    }
    assert_all_home(&pool);
}

#[test]
fn references_are_counted_beyond_16_bits() {
    let pool = pool(32 << 20);
    let mut original = holding(&pool, b"popular");
    let copies: Vec<_> = (0..66_000).map(|_| original.copy_ref().unwrap()).collect();
    assert_eq!(pool.stats().in_use, 66_001);
    assert!(original.is_shared());
    for copy in copies {
        assert!(original.is_shared() && original.data_mut().is_none());
        assert_eq!(copy.data(), b"popular");
    }
    assert_eq!(original.data_mut().unwrap(), b"popular");
    drop(original);
    assert_all_home(&pool);
}

/// A chain of six: shared segments and others in turn, of which the third is a copy whose original is gone.
fn mixed_chain(pool: &Pool) -> (Mbuf, Vec<Mbuf>) {
    let mut chain = common::numbered_chain(pool, 2);
    let gone = holding(pool, &[2; 8]);
    let mut only_copy = gone.copy_ref().unwrap();
    only_copy.user_mut()[95] = 2;
    only_copy.set_timestamp(2);
    chain.append(only_copy).unwrap();
    let mut rest = common::numbered_chain(pool, 6);
    chain.append(rest.split_off(3).unwrap()).unwrap();
    let shared = [0, 3, 5];
    let copies = shared.map(|i| chain.segment(i).unwrap().copy_ref().unwrap());
    // Copies of members copy the rest of the chain, too: only the first of each is wanted.
    let copies = copies.map(|mut copy| copy.pop_front().unwrap_or(copy));
    (chain, copies.into())
}

#[test]
fn make_unique_replaces_the_shared_segments_and_no_others() {
    let pool = pool(1 << 20);
    let (mut chain, copies) = mixed_chain(&pool);
    chain.segments_mut().nth(3).unwrap().set_len(8).unwrap();
    let before: Vec<_> = chain.segments().map(|s| s.data().as_ptr()).collect();
    let was_shared: Vec<_> = chain.segments().map(|s| s.is_shared()).collect();
    assert_eq!(was_shared, [true, false, false, true, false, true]);
    chain.make_unique().unwrap();
    common::assert_numbers(&chain, 0..6);
    for (i, mut segment) in chain.segments_mut().enumerate() {
        assert_eq!(segment.data().as_ptr() == before[i], !was_shared[i]);
        assert_eq!(segment.capacity(), 8);
        segment.data_mut().unwrap().fill(0xff);
    }
    for (copy, number) in copies.iter().zip([0, 3, 5]) {
        assert_eq!(copy.data(), [number; 8]);
        assert!(!copy.is_shared());
    }
    // The chain is whole: it can be taken apart and grows at its end.
    chain.append(common::numbered_chain(&pool, 1)).unwrap();
    assert_eq!(chain.split_off(4).unwrap().segment_count(), 3);
    drop((chain, copies));
    assert_all_home(&pool);
}

#[test]
fn make_unique_keeps_a_shortened_length_and_the_whole_capacity() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.alloc(100).unwrap();
    mbuf.extend_from_slice(b"longer").unwrap();
    let copy = mbuf.copy_ref().unwrap();
    mbuf.set_len(4).unwrap();
    mbuf.make_unique().unwrap();
    assert_eq!((mbuf.data(), mbuf.capacity()), (&b"long"[..], 100));
    mbuf.set_len(100).unwrap();
    assert!(is_zero(&mbuf.data()[4..]));
    assert_eq!(copy.data(), b"longer");
    let place = mbuf.data().as_ptr();
    mbuf.make_unique().unwrap();
    assert_eq!(mbuf.data().as_ptr(), place, "nothing to do");
}

#[test]
fn make_unique_of_a_chain_that_holds_the_same_data_twice_parts_them() {
    let pool = pool(1 << 20);
    let mut chain = holding(&pool, b"twice");
    chain.append(chain.copy_ref().unwrap()).unwrap();
    assert!(chain.segments_mut().all(|mut s| s.data_mut().is_none()));
    chain.make_unique().unwrap();
    let mut segments = chain.segments_mut();
    let (mut one, two) = (segments.next().unwrap(), segments.next().unwrap());
    one.data_mut().unwrap().fill(b'1');
    assert_eq!(two.data(), b"twice");
    drop(chain);
    assert_all_home(&pool);
}

#[test]
fn a_full_chain_of_shared_segments_becomes_unique() {
    let pool = pool(1 << 20);
    let mut chain = common::numbered_chain(&pool, 128);
    let copy = chain.copy_ref().unwrap();
    chain.make_unique().unwrap();
    common::assert_numbers(&chain, 0..128);
    common::assert_numbers(&copy, 0..128);
    assert!(chain.segments().all(|segment| !segment.is_shared()));
    drop((chain, copy));
    assert_all_home(&pool);
}

#[test]
fn make_unique_that_runs_out_of_memory_changes_nothing() {
    let pool = pool(SMALL_SLAB * 2);
    let mut chain = common::numbered_chain(&pool, 6);
    let copy = chain.copy_ref().unwrap();
    let mut rest = fill(&pool, 8);
    rest.truncate(rest.len() - 4);
    let in_use = pool.stats().in_use;
    let places: Vec<_> = chain.segments().map(|s| s.data().as_ptr()).collect();
    assert_eq!(chain.make_unique(), Err(AllocError::Exhausted));
    common::assert_numbers(&chain, 0..6);
    assert!(chain.segments().all(|segment| segment.is_shared()));
    let still: Vec<_> = chain.segments().map(|s| s.data().as_ptr()).collect();
    assert_eq!(still, places);
    assert_eq!(pool.stats().in_use, in_use);
    rest.truncate(rest.len() - 2);
    chain.make_unique().unwrap();
    common::assert_numbers(&chain, 0..6);
    common::assert_numbers(&copy, 0..6);
}
