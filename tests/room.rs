//! Headroom, tailroom and layouts: what can be put in front and behind, and what a block remembers of it.
#![cfg(not(loom))]

mod common;

use common::{SMALL_LARGEST, SMALL_SLAB, assert_all_home, fill, holding, numbered_chain, pool};
use mbuf::{AllocError, Layout, LenError, MAX_CHAIN, Pool};

/// Sizes, headrooms and alignments to combine.
const SIZES: [usize; 8] = [0, 1, 63, 64, 65, 1000, SMALL_LARGEST - 100, 40_000];
const HEADROOMS: [usize; 9] = [0, 1, 14, 63, 64, 65, 128, 4096, 33_000];

#[test]
fn every_layout_has_its_alignment_and_all_of_its_room() {
    let pool = pool(SMALL_SLAB * 20);
    for (size, headroom) in SIZES
        .iter()
        .flat_map(|&size| HEADROOMS.map(|headroom| (size, headroom)))
    {
        for shift in 0..=12 {
            let layout = Layout::new(size).headroom(headroom).align(1 << shift);
            let mut held = Vec::new();
            for _ in 0..3 {
                let mut mbuf = pool.alloc_with(layout).unwrap();
                assert_eq!((mbuf.len(), mbuf.capacity()), (0, size), "{layout:?}");
                assert_eq!(mbuf.data().as_ptr().addr() % (1 << shift), 0, "{layout:?}");
                assert!(mbuf.headroom() >= headroom, "{layout:?}");
                let room = mbuf.headroom();
                mbuf.extend_from_slice(&vec![1; size]).unwrap();
                mbuf.prepend(room).unwrap().fill(2);
                assert_eq!((mbuf.headroom(), mbuf.capacity()), (0, size + room));
                held.push((mbuf, room));
            }
            // All of it is theirs alone.
            for (mbuf, room) in held {
                assert!(mbuf.data()[..room].iter().all(|&byte| byte == 2));
                assert!(mbuf.data()[room..].iter().all(|&byte| byte == 1));
            }
        }
    }
    let plain = pool.alloc_with(Layout::new(100)).unwrap();
    assert_eq!((plain.headroom(), plain.capacity()), (0, 100));
    drop(plain);
    assert_all_home(&pool);
}

#[test]
fn impossible_layouts_are_refused() {
    let pool = pool(SMALL_SLAB);
    let most = usize::MAX;
    for alignment in [0, 3, 63, 4095, 4097, 8192, most, 1 << 63] {
        let refused = pool.alloc_with(Layout::new(1).align(alignment));
        assert_eq!(refused.unwrap_err(), AllocError::Alignment);
    }
    for (size, headroom) in [
        (most, 0),
        (0, most),
        (most, most),
        (4 << 30, 1),
        (1, 4 << 30),
        (most, 1),
    ] {
        let refused = pool.alloc_with(Layout::new(size).headroom(headroom).align(4096));
        assert_eq!(refused.unwrap_err(), AllocError::TooLarge);
    }
    for (size, headroom) in [
        (4 << 30, 0),
        (0, 4 << 30),
        (2 << 30, 2 << 30),
        (SMALL_SLAB as usize, 1),
    ] {
        for alignment in [1, 64, 4096] {
            let refused = pool.alloc_with(Layout::new(size).headroom(headroom).align(alignment));
            assert_eq!(refused.unwrap_err(), AllocError::Exhausted);
        }
    }
    assert_eq!(assert_all_home(&pool).allocs, 0);
}

#[test]
fn prepending_to_the_last_byte_and_not_one_further() {
    let pool = pool(1 << 20);
    let mut mbuf = pool
        .alloc_with(Layout::new(4).headroom(3).align(1))
        .unwrap();
    mbuf.append_bytes(b"data").unwrap();
    for n in [4, 5, usize::MAX] {
        assert_eq!(mbuf.prepend(n).unwrap_err(), LenError::TooLong);
    }
    assert_eq!(mbuf.prepend_slice(b"long"), Err(LenError::TooLong));
    mbuf.prepend_slice(b"").unwrap();
    mbuf.prepend_slice(b"c").unwrap();
    assert_eq!(mbuf.prepend(1).unwrap(), [0]);
    mbuf.prepend_slice(b"a").unwrap();
    assert_eq!(mbuf.data(), b"a\0cdata");
    assert_eq!(
        (mbuf.headroom(), mbuf.tailroom(), mbuf.capacity()),
        (0, 0, 7)
    );
    assert_eq!(mbuf.prepend(1).unwrap_err(), LenError::TooLong);
    // Cut off and prepended again, the bytes are zeros and not the old ones.
    mbuf.advance(7).unwrap();
    assert_eq!((mbuf.headroom(), mbuf.capacity(), mbuf.len()), (7, 0, 0));
    assert_eq!(mbuf.prepend(7).unwrap(), [0; 7]);
    assert_eq!(mbuf.data(), [0; 7]);
    mbuf.truncate(0);
    assert_eq!((mbuf.headroom(), mbuf.tailroom()), (0, 7));
}

#[test]
fn shared_data_is_not_prepended_to() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.alloc_with(Layout::new(8).headroom(64)).unwrap();
    mbuf.append_bytes(b"shared").unwrap();
    let mut copy = mbuf.copy_ref().unwrap();
    assert_eq!(copy.headroom(), 64);
    for mbuf in [&mut mbuf, &mut copy] {
        assert_eq!(mbuf.prepend(1).unwrap_err(), LenError::Shared);
        assert_eq!(mbuf.prepend(65).unwrap_err(), LenError::TooLong);
        assert_eq!(mbuf.prepend_slice(b"x"), Err(LenError::Shared));
        assert!(mbuf.prepend(0).unwrap().is_empty());
        assert_eq!(
            (mbuf.data(), mbuf.headroom(), mbuf.capacity()),
            (&b"shared"[..], 64, 8)
        );
    }
    // Shortening is each one's own affair.
    copy.advance(2).unwrap();
    mbuf.truncate(2);
    assert_eq!((copy.data(), mbuf.data()), (&b"ared"[..], &b"sh"[..]));
    drop(mbuf);
    copy.prepend_slice(&[b'x'; 66]).unwrap();
    assert_eq!((copy.len(), copy.headroom(), copy.capacity()), (70, 0, 72));
    drop(copy);
    assert_all_home(&pool);
}

#[test]
fn advancing_passes_segments_and_keeps_the_last() {
    let pool = pool(1 << 20);
    for n in 0..=24 {
        let mut chain = numbered_chain(&pool, 3);
        chain.advance(n).unwrap();
        assert_eq!(chain.total_len(), 24 - n);
        assert_eq!(chain.segment_count(), (3 - n / 8).max(1));
        assert_eq!(
            (chain.user()[95], chain.timestamp()),
            (0, 0),
            "the first one's"
        );
        assert_eq!(chain.headroom(), if n == 24 { 8 } else { n % 8 });
        let expected: Vec<_> = (n..24).map(|byte| byte as u8 / 8).collect();
        assert!(chain == expected);
        assert_eq!(chain.advance(25 - n), Err(LenError::TooLong));
        assert_eq!(chain.advance(usize::MAX), Err(LenError::TooLong));
        assert!(chain == expected);
    }
    let mut full = numbered_chain(&pool, MAX_CHAIN);
    full.advance(8 * MAX_CHAIN - 1).unwrap();
    assert_eq!((full.data(), full.segment_count()), (&[127][..], 1));
    full.advance(1).unwrap();
    full.advance(0).unwrap();
    assert_eq!(full.advance(1), Err(LenError::TooLong));
    drop(full);
    assert_all_home(&pool);
}

#[test]
fn truncating_frees_what_is_behind_and_else_nothing() {
    let pool = pool(1 << 20);
    for n in 0..=26 {
        let mut chain = numbered_chain(&pool, 3);
        chain.truncate(n);
        assert_eq!(chain.total_len(), n.min(24));
        assert_eq!(chain.segment_count(), n.div_ceil(8).clamp(1, 3));
        assert!(chain.segments().all(|segment| segment.capacity() == 8));
    }
    let mut chain = numbered_chain(&pool, 2);
    chain.truncate(usize::MAX);
    assert_eq!(chain.total_len(), 16);
    // A chain that is no longer stays as it is, with the room at its end.
    chain.append(pool.alloc(8).unwrap()).unwrap();
    for n in [usize::MAX, 17, 16] {
        chain.truncate(n);
        assert_eq!(chain.segment_count(), 3, "{n}");
    }
    chain.append_bytes(b"the room").unwrap();
    drop(chain);
    assert_all_home(&pool);
}

#[test]
fn appending_goes_to_the_last_segment() {
    let pool = pool(1 << 20);
    let mut chain = holding(&pool, b"full");
    chain.append(pool.alloc(4).unwrap()).unwrap();
    assert_eq!(chain.append_bytes(b"12345"), Err(LenError::TooLong));
    chain.append_bytes(b"").unwrap();
    chain.append_bytes(b"12").unwrap();
    assert_eq!(
        (chain.tailroom(), chain.segment(1).unwrap().tailroom()),
        (0, 2)
    );
    let copy = chain.copy_ref().unwrap();
    assert_eq!(chain.append_bytes(b"3"), Err(LenError::Shared));
    chain.append_bytes(b"").unwrap();
    drop(copy);
    chain.append_bytes(b"34").unwrap();
    assert!(chain == b"full1234");
    assert_eq!(chain.append_bytes(b"5"), Err(LenError::TooLong));
}

/// Uses blocks in every way that shifts, shares and chains them, and frees them.
fn wear_out(pool: &Pool, size: usize, round: usize) {
    let layout = Layout::new(size / 2).headroom(size / 4);
    let mut mbuf = pool.alloc_with(layout).unwrap();
    mbuf.set_len(size / 4).unwrap();
    mbuf.user_mut().fill(0xff);
    mbuf.set_timestamp(u64::MAX);
    let mut rest = mbuf.split_off_bytes(size / 8).unwrap();
    rest.advance(1).unwrap();
    rest.append(mbuf.slice(1..).unwrap()).unwrap();
    mbuf.append(pool.wrap(vec![1; size]).unwrap()).unwrap();
    mbuf.append(pool.wrap_mut(vec![1; size]).unwrap()).unwrap();
    match round % 4 {
        0 => rest.prepend_chain(mbuf).unwrap(),
        1 => drop(mbuf),
        2 => drop(rest.split_off(1)),
        _ => {
            drop(rest);
            mbuf.prepend(1).unwrap();
            let bytes: Vec<u8> = mbuf.bytes().collect();
            mbuf.make_unique().unwrap();
            assert!(mbuf == bytes);
        }
    }
}

#[test]
fn blocks_are_fresh_whatever_they_were_used_for() {
    let pool = pool(SMALL_SLAB * 4);
    for round in 0..16 {
        for size in [64, 100, 1000] {
            wear_out(&pool, size, round);
            for size in [0, size / 4, size / 2, size] {
                let mut all = fill(&pool, size);
                // Copies come of the same headers.
                while all.len() > 10 {
                    all.pop();
                }
                all.push(pool.alloc_with(Layout::new(size)).unwrap());
                for mut fresh in all {
                    assert_eq!(
                        (fresh.len(), fresh.headroom(), fresh.capacity()),
                        (0, 0, size)
                    );
                    assert_eq!((fresh.user(), fresh.timestamp()), (&[0; 96], 0));
                    assert_eq!(
                        (fresh.segment_count(), fresh.data().as_ptr().addr() % 64),
                        (1, 0)
                    );
                    assert!(!fresh.is_shared() && !fresh.is_foreign() && !fresh.is_read_only());
                    assert_eq!(
                        fresh.spare_capacity_mut().map(|room| room.len()),
                        Some(size)
                    );
                    let copy = fresh.copy_ref().unwrap();
                    assert_eq!(
                        (copy.headroom(), copy.capacity(), copy.timestamp()),
                        (0, size, 0)
                    );
                    assert_eq!((copy.user(), copy.segment_count()), (&[0; 96], 1));
                    assert!(!copy.is_foreign() && !copy.is_read_only());
                }
            }
        }
    }
    assert_all_home(&pool);
}
