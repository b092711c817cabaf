//! Data as it is asked for: aligned, in one piece, and by address.
#![cfg(not(any(loom, shuttle)))]

mod common;

use common::pool as pool_of;
use mbuf::{AllocError, Layout, Mbuf, Pool};

fn address(mbuf: &Mbuf) -> usize {
    mbuf.data().as_ptr().addr()
}

#[test]
fn data_is_aligned_as_asked() {
    let pool = pool_of(64 << 20);
    for shift in 0..=12 {
        let alignment = 1 << shift;
        for size in [
            0, 1, 64, 100, 4000, 4096, 32_000, 32_700, 500_000, 3_000_000,
        ] {
            let layout = Layout::new(size).align(alignment);
            let mut held = Vec::new();
            for _ in 0..3 {
                let mut mbuf = pool.alloc_with(layout).unwrap();
                assert_eq!(address(&mbuf) % alignment, 0, "{layout:?}");
                assert_eq!((mbuf.capacity(), mbuf.len()), (size, 0));
                mbuf.set_len(size).unwrap();
                mbuf.data_mut().unwrap().fill(7);
                held.push(mbuf);
            }
            assert!(
                held.iter()
                    .all(|mbuf| mbuf.data().iter().all(|&byte| byte == 7))
            );
        }
    }
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn no_other_alignment_is_taken() {
    let pool = pool_of(16 << 20);
    for alignment in [0, 3, 96, 4095, 8192, usize::MAX] {
        let refused = pool.alloc_with(Layout::new(64).align(alignment));
        assert_eq!(refused.unwrap_err(), AllocError::Alignment);
    }
    for size in [(4 << 30) + 1, usize::MAX] {
        let refused = pool.alloc_with(Layout::new(size).align(4096));
        assert_eq!(refused.unwrap_err(), AllocError::TooLarge);
    }
    assert_eq!(pool.stats().carved, 0);
}

/// A block that was aligned serves anybody afterwards, from its start.
#[test]
fn a_shift_ends_with_its_mbuf() {
    let pool = pool_of(1 << 20);
    for round in 0..1000 {
        let size = 4096 + 64 * (round % 3);
        let aligned = pool.alloc_with(Layout::new(size).align(4096)).unwrap();
        let copy = aligned.copy_ref().unwrap();
        if round % 2 == 0 {
            drop((aligned, copy));
        } else {
            drop((copy, aligned));
        }
        let mut plain = pool.alloc(size + 4032).unwrap();
        plain.set_len(plain.capacity()).unwrap();
        plain.data_mut().unwrap().fill(1);
    }
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn copies_of_aligned_data_are_on_the_same_bytes() {
    let pool = pool_of(16 << 20);
    let mut original = pool.alloc_with(Layout::new(5000).align(4096)).unwrap();
    original.extend_from_slice(b"aligned").unwrap();
    let mut copy = original.copy_ref().unwrap();
    assert_eq!(address(&copy), address(&original));
    drop(original);
    assert_eq!(copy.data(), b"aligned");
    let second = copy.copy_ref().unwrap();
    copy.make_unique().unwrap();
    copy.data_mut().unwrap()[0] = b'A';
    assert_eq!(
        (copy.data(), second.data()),
        (&b"Aligned"[..], &b"aligned"[..])
    );
    assert_eq!(copy.capacity(), 5000);
}

fn segment(pool: &Pool, bytes: &[u8]) -> Mbuf {
    let mut mbuf = pool.alloc(bytes.len() + 5).unwrap();
    mbuf.extend_from_slice(bytes).unwrap();
    mbuf
}

#[test]
fn a_chain_becomes_one_piece() {
    let pool = pool_of(16 << 20);
    let mut chain = segment(&pool, b"first ");
    chain.user_mut()[3] = 9;
    chain.set_timestamp(77);
    let mut middle = segment(&pool, b"");
    middle.user_mut()[3] = 1;
    let shared = middle.copy_ref().unwrap();
    chain.append(middle).unwrap();
    chain.append(segment(&pool, b"and last")).unwrap();
    let copy = chain.copy_ref().unwrap();
    chain.linearize().unwrap();
    assert_eq!(chain.data(), b"first and last");
    assert_eq!((chain.segment_count(), chain.capacity()), (1, 14));
    assert_eq!((chain.user()[3], chain.timestamp()), (9, 77));
    assert!(!chain.is_shared());
    assert_eq!((copy.segment_count(), copy.total_len()), (3, 14));
    drop((copy, shared, chain));
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn an_mbuf_alone_stays_as_it_is() {
    let pool = pool_of(16 << 20);
    let mut mbuf = segment(&pool, b"alone");
    let copy = mbuf.copy_ref().unwrap();
    mbuf.linearize().unwrap();
    assert!(mbuf.is_shared());
    assert_eq!((mbuf.data(), mbuf.capacity()), (&b"alone"[..], 10));
    drop(copy);
}

#[test]
fn a_chain_that_does_not_fit_in_one_piece_stays_whole() {
    let pool = pool_of(1 << 20);
    let mut chain = pool.alloc_zeroed(300_000).unwrap();
    chain.append(pool.alloc_zeroed(300_000).unwrap()).unwrap();
    assert_eq!(chain.linearize().unwrap_err(), AllocError::Exhausted);
    assert_eq!((chain.segment_count(), chain.total_len()), (2, 600_000));
    drop(chain);
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn an_address_is_an_mbuf_again() {
    let pool = pool_of(16 << 20);
    let mut chain = segment(&pool, b"one");
    chain.append(segment(&pool, b"two")).unwrap();
    let address = chain.into_raw();
    assert_eq!(pool.stats().in_use, 2);
    // SAFETY: given up just now, and used once.
    let chain = unsafe { Mbuf::from_raw(address) };
    assert_eq!((chain.segment_count(), chain.data()), (2, &b"one"[..]));
    drop(chain);
    assert_eq!(pool.stats().in_use, 0);
}
