//! What a pool takes of the system's memory: reserved ahead, given back on demand, and no more than the work needs.
#![cfg(all(not(loom), target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::system::{page_faults, page_size, resident, resident_pages};
use common::{Idle, SMALL_SLAB, alone, assert_all_home, fill, fresh_count, pool};
use mbuf::{Mbuf, Pool, free_bulk};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

const MIB: u64 = 1 << 20;

/// Fills every byte of `n` new mbufs.
fn touched(pool: &Pool, size: usize, n: usize) -> Vec<Mbuf> {
    let mut mbufs = Vec::new();
    pool.alloc_bulk(size, n, &mut mbufs).unwrap();
    for mbuf in &mut mbufs {
        mbuf.set_len(size).unwrap();
        mbuf.data_mut().unwrap().fill(0xaa);
    }
    mbufs
}

#[test]
fn trim_gives_the_memory_of_freed_mbufs_back_to_the_system() {
    let _alone = alone();
    let pool = pool(256 * MIB);
    for size in [1000, 30_000, 500_000, 9 << 20] {
        let n = (64 * MIB) as usize / size;
        let before = resident();
        let mbufs = touched(&pool, size, n);
        let full = resident();
        assert!(full >= before + 60 * MIB, "{size}: {before} to {full}");
        drop(mbufs);
        assert!(resident() >= before + 60 * MIB, "freeing alone keeps it");
        let given = pool.trim();
        let after = resident();
        assert!(given >= 60 * MIB, "{given}");
        assert!(after <= before + 6 * MIB, "{size}: {before} to {after}");
        assert_eq!(pool.trim(), 0, "there is no more to give");
        assert_eq!(assert_all_home(&pool).carved, 0);
    }
}

#[test]
fn trim_leaves_what_is_in_use_as_it_is_and_takes_the_rest() {
    let _alone = alone();
    let pool = pool(SMALL_SLAB * 64);
    assert_eq!(pool.trim(), 0);
    let mut mbufs = touched(&pool, 1000, 2000);
    // One of each forty lives on: with 53 to a slab nearly every slab has one.
    let mut number = 0;
    mbufs.retain(|_| {
        number += 1;
        number % 40 == 0
    });
    let span = touched(&pool, 300_000, 1);
    let before = pool.stats().slabs;
    pool.trim();
    let kept = pool.stats();
    assert!(kept.slabs >= before - 2, "{kept}");
    for mbuf in mbufs.iter().chain(&span) {
        assert!(mbuf.data().iter().all(|&byte| byte == 0xaa));
    }
    mbufs.truncate(1);
    let given = pool.trim();
    assert_eq!(given, (kept.slabs - 1 - 5) * SMALL_SLAB, "all but its own");
    assert_eq!(span[0].data(), vec![0xaa; 300_000]);
    // What was given back serves again, as does what was not.
    drop((mbufs, span));
    assert_eq!(fill(&pool, 1000).len(), fresh_count(SMALL_SLAB * 64, 1000));
}

#[test]
fn memory_that_was_given_back_is_used_again() {
    let _alone = alone();
    let pool = pool(64 * MIB);
    let mut first_carved = 0;
    for round in 0..10 {
        let mbufs = touched(&pool, 2048, 2000);
        let stats = pool.stats();
        if round == 0 {
            first_carved = stats.carved;
        }
        assert_eq!(stats.carved, first_carved);
        drop(mbufs);
        assert!(pool.trim() >= 4 * MIB);
    }
    assert_eq!(pool.stats().slabs, 0);
}

#[test]
fn what_is_allocated_after_reserve_meets_no_page_fault() {
    let _alone = alone();
    for size in [0, 100, 2048, 20_000, 600_000] {
        let n = 30_000_000 / (size + 30_000);
        let pool = pool(256 * MIB);
        pool.reserve(size, n).unwrap();
        assert_eq!(assert_all_home(&pool).allocs, n as u64);
        let mut mbufs = Vec::with_capacity(n);
        // The list itself is to be touched before, too.
        mbufs.resize_with(n, || None);
        let before = page_faults();
        for place in &mut mbufs {
            let mut mbuf = pool.alloc(size).unwrap();
            mbuf.set_len(size).unwrap();
            mbuf.user_mut()[0] = 1;
            *place = Some(mbuf);
        }
        assert_eq!(page_faults() - before, 0, "{n} of {size}");
        let before = page_faults();
        free_bulk(mbufs.drain(..).flatten());
        assert_eq!(page_faults() - before, 0, "{n} of {size} freed");
    }
}

#[test]
fn what_was_reserved_serves_any_thread_without_a_page_fault() {
    let _alone = alone();
    let pool = pool(256 * MIB);
    const N: usize = 5000;
    pool.reserve(2048, N).unwrap();
    let other = pool.clone();
    let faults = thread::spawn(move || {
        let mut mbufs = Vec::with_capacity(N);
        mbufs.resize_with(N, || None);
        // The thread's own cache is not part of the promise: its first use comes before.
        let first = other.alloc(2048).unwrap();
        let before = page_faults();
        for place in &mut mbufs[1..] {
            let mut mbuf = other.alloc(2048).unwrap();
            mbuf.set_len(2048).unwrap();
            *place = Some(mbuf);
        }
        drop(first);
        page_faults() - before
    });
    // Two more pages of the cache may follow the first.
    assert!(faults.join().unwrap() <= 2);
    assert_eq!(pool.stats().carved, N as u64);
}

#[test]
fn reserve_sets_nothing_aside() {
    let _alone = alone();
    let capacity = SMALL_SLAB * 8;
    let pool = pool(capacity);
    let all = fresh_count(capacity, 1000);
    pool.reserve(1000, all).unwrap();
    pool.reserve(1000, all).unwrap();
    pool.reserve(1000, 0).unwrap();
    pool.reserve(0, 5).unwrap();
    assert!(pool.reserve(1000, all + 1).is_err());
    assert_eq!(fill(&pool, 64).len(), fresh_count(capacity, 64));
    pool.reserve(200_000, 2).unwrap();
    assert_eq!(fill(&pool, 1000).len(), all);
    assert_all_home(&pool);
}

#[test]
fn a_pool_uses_memory_as_it_is_touched() {
    let _alone = alone();
    let before = resident();
    let pool = Pool::builder().capacity(64 << 30).build().unwrap();
    let mut big = pool.alloc(1 << 30).unwrap();
    assert!(resident() - before < 8 * MIB, "a pool of 64 GiB");
    let room = big.spare_capacity_mut().unwrap();
    room[..16 << 20].iter_mut().step_by(4096).for_each(|byte| {
        byte.write(1);
    });
    let address = room.as_ptr().addr();
    let pages = resident_pages(address, 1 << 30).unwrap();
    let touched = (16 << 20) / page_size();
    assert!((touched..=touched + 2).contains(&pages), "{pages}");
}

#[test]
fn a_thread_that_wants_one_buffer_takes_one() {
    let _alone = alone();
    const THREADS: usize = 500;
    let pool = pool(256 * MIB);
    let idle: Vec<_> = (0..THREADS)
        .map(|_| {
            let pool = pool.clone();
            Idle::after(move || drop(pool.alloc(2048).unwrap()))
        })
        .collect();
    let stats = assert_all_home(&pool);
    assert_eq!(stats.carved, THREADS as u64, "{stats}");
    drop(idle);
    // Their blocks are anybody's now.
    let mut held = Vec::new();
    pool.alloc_bulk(2048, THREADS, &mut held).unwrap();
    assert_eq!(pool.stats().carved, THREADS as u64);
}

fn consume(received: Receiver<Mbuf>) {
    for mbuf in received {
        assert_eq!(mbuf.len(), 2048);
    }
}

/// Sends `n` new mbufs.
fn produce(pool: &Pool, to: &SyncSender<Mbuf>, n: usize) {
    for _ in 0..n {
        to.send(pool.alloc_zeroed(2048).unwrap()).unwrap();
    }
}

#[test]
fn a_thread_that_only_frees_does_not_make_memory_grow() {
    let _alone = alone();
    let pool = pool(256 * MIB);
    let (send, receive) = sync_channel(32);
    let consumer = thread::spawn(move || consume(receive));
    produce(&pool, &send, 5000);
    let (early, resident_early) = (pool.stats(), resident());
    produce(&pool, &send, 30_000);
    let (late, resident_late) = (pool.stats(), resident());
    drop(send);
    consumer.join().unwrap();
    assert!(late.carved <= early.carved + 128, "{early}{late}");
    assert!(resident_late <= resident_early + 2 * MIB);
    assert_all_home(&pool);
}

#[test]
fn threads_past_the_last_cache_use_what_others_free() {
    let _alone = alone();
    let pool = pool(16 * MIB);
    // The consumer is in time for a cache, the producer is not.
    let (send, receive) = sync_channel(32);
    let first = pool.alloc(2048).unwrap();
    let consumer = thread::spawn(move || {
        drop(first);
        consume(receive);
    });
    while pool.stats().frees == 0 {
        thread::yield_now();
    }
    let idle: Vec<_> = (0..80)
        .map(|_| {
            let pool = pool.clone();
            Idle::after(move || drop(pool.alloc(64).unwrap()))
        })
        .collect();
    let late = pool.clone();
    let producer = thread::spawn(move || {
        produce(&late, &send, 1000);
        let early = late.stats().carved;
        produce(&late, &send, 20_000);
        (early, late.stats())
    });
    let (early, stats) = producer.join().unwrap();
    consumer.join().unwrap();
    drop(idle);
    assert!(stats.carved <= early + 256, "from {early} to\n{stats}");
}
