//! In which order blocks come: what one thread frees in order, or what is new, another has in order.

#![cfg(not(any(loom, shuttle)))]

use mbuf::{Mbuf, Pool};

fn pool() -> Pool {
    Pool::builder()
        .capacity(64 << 20)
        .magazine_size(32)
        .build()
        .unwrap()
}

fn addresses(mbufs: &[Mbuf]) -> Vec<usize> {
    mbufs
        .iter()
        .map(|mbuf| mbuf.data().as_ptr().addr())
        .collect()
}

/// Pairs that are not in order.
fn breaks(addresses: &[usize]) -> usize {
    addresses
        .windows(2)
        .filter(|pair| pair[0] >= pair[1])
        .count()
}

#[test]
fn new_blocks_come_in_the_order_of_their_addresses() {
    let pool = pool();
    let mbufs: Vec<_> = (0..400).map(|_| pool.alloc(512).unwrap()).collect();
    assert_eq!(breaks(&addresses(&mbufs)), 0);
}

#[test]
fn what_another_thread_frees_in_order_comes_back_in_order() {
    let pool = pool();
    let first: Vec<_> = (0..512).map(|_| pool.alloc(512).unwrap()).collect();
    std::thread::spawn(move || drop(first)).join().unwrap();
    let again: Vec<_> = (0..512).map(|_| pool.alloc(512).unwrap()).collect();
    let breaks = breaks(&addresses(&again));
    assert!(
        breaks <= 512 / 32,
        "out of order {breaks} times: at most where a magazine ends"
    );
}

#[test]
fn what_another_thread_frees_in_no_order_is_put_in_order() {
    const BLOCKS: usize = 2048;
    let pool = pool();
    let alloc = |count| -> Vec<_> { (0..count).map(|_| pool.alloc(512).unwrap()).collect() };
    let mut seed = 1u32;
    for _ in 0..4 {
        let mut mbufs = alloc(BLOCKS);
        for last in (1..mbufs.len()).rev() {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            mbufs.swap(last, seed as usize % (last + 1));
        }
        std::thread::spawn(move || drop(mbufs)).join().unwrap();
    }
    let breaks = breaks(&addresses(&alloc(BLOCKS)));
    assert!(breaks <= BLOCKS / 16, "out of order {breaks} times");
}
