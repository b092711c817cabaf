//! Shared data: references counted on any thread, writes only by who is alone.
#![cfg(loom)]

use loom::thread;
use loom_tests::{USUAL, assert_all_home, explore};
use mbuf::{LOOM_SLAB, Mbuf, Pool};

/// A pool and an mbuf with some data.
fn mbuf() -> (Pool, Mbuf) {
    let pool = Pool::builder().capacity(2 * LOOM_SLAB).build().unwrap();
    let mut mbuf = pool.alloc(64).unwrap();
    mbuf.extend_from_slice(b"data").unwrap();
    (pool, mbuf)
}

#[test]
fn data_is_exclusive_once_the_copy_is_gone() {
    explore("data_is_exclusive_once_the_copy_is_gone", USUAL, || {
        let (pool, mut mbuf) = mbuf();
        let copy = mbuf.copy_ref().unwrap();
        let thread = thread::spawn(move || assert_eq!(copy.data(), b"data"));
        if let Some(data) = mbuf.data_mut() {
            data[0] = b'D';
        }
        thread.join().unwrap();
        drop(mbuf);
        assert_all_home(&pool);
    });
}

#[test]
fn a_copy_is_made_while_another_is_freed() {
    explore("a_copy_is_made_while_another_is_freed", USUAL, || {
        let (pool, mbuf) = mbuf();
        let copy = mbuf.copy_ref().unwrap();
        let thread = thread::spawn(move || drop(copy));
        let second = mbuf.copy_ref().unwrap();
        drop(mbuf);
        assert_eq!(second.data(), b"data");
        thread.join().unwrap();
        assert_eq!(second.data(), b"data");
        assert!(!second.is_shared());
        drop(second);
        assert_all_home(&pool);
    });
}

#[test]
fn two_last_references_go_at_once() {
    explore("two_last_references_go_at_once", USUAL, || {
        let (pool, mbuf) = mbuf();
        let first = mbuf.copy_ref().unwrap();
        let second = mbuf.copy_ref().unwrap();
        drop(mbuf);
        let thread = thread::spawn(move || {
            assert_eq!(first.data(), b"data");
        });
        assert_eq!(second.data(), b"data");
        drop(second);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn the_direct_mbuf_is_freed_while_its_copy_is_used() {
    explore(
        "the_direct_mbuf_is_freed_while_its_copy_is_used",
        USUAL,
        || {
            let (pool, mbuf) = mbuf();
            let mut copy = mbuf.copy_ref().unwrap();
            let thread = thread::spawn(move || {
                assert_eq!(copy.data(), b"data");
                if let Some(data) = copy.data_mut() {
                    data.fill(0);
                }
            });
            assert_eq!(mbuf.data(), b"data");
            drop(mbuf);
            thread.join().unwrap();
            assert_all_home(&pool);
        },
    );
}

#[test]
fn one_mbuf_is_copied_by_two_threads_at_once() {
    explore("one_mbuf_is_copied_by_two_threads_at_once", USUAL, || {
        let (pool, mbuf) = mbuf();
        let mbuf = loom::sync::Arc::new(mbuf);
        let shared = mbuf.clone();
        let thread = thread::spawn(move || drop(shared.copy_ref().unwrap()));
        drop(mbuf.copy_ref().unwrap());
        thread.join().unwrap();
        assert!(!mbuf.is_shared());
        drop(mbuf);
        assert_all_home(&pool);
    });
}

/// The last reader frees, and the block is written again, on the same thread or another.
#[test]
fn a_block_is_not_reused_while_it_is_read() {
    explore("a_block_is_not_reused_while_it_is_read", USUAL, || {
        let (pool, mbuf) = mbuf();
        let copy = mbuf.copy_ref().unwrap();
        let thread = thread::spawn(move || assert_eq!(copy.data(), b"data"));
        drop(mbuf);
        let mut next = pool.alloc(64).unwrap();
        next.extend_from_slice(b"next").unwrap();
        assert_eq!(next.data(), b"next");
        drop(next);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn a_chain_is_handed_over_and_freed_elsewhere() {
    explore("a_chain_is_handed_over_and_freed_elsewhere", USUAL, || {
        let (pool, mut head) = mbuf();
        head.append(pool.alloc(0).unwrap()).unwrap();
        let copy = head.copy_ref().unwrap();
        let thread = thread::spawn(move || {
            assert_eq!(head.segment_count(), 2);
            assert_eq!(head.data(), b"data");
        });
        assert_eq!(copy.total_len(), 4);
        drop(copy);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn shared_data_is_made_unique_while_the_other_goes() {
    explore(
        "shared_data_is_made_unique_while_the_other_goes",
        USUAL,
        || {
            let (pool, mbuf) = mbuf();
            let mut copy = mbuf.copy_ref().unwrap();
            let thread = thread::spawn(move || assert_eq!(mbuf.data(), b"data"));
            copy.make_unique().unwrap();
            copy.data_mut().unwrap()[0] = b'D';
            assert_eq!(copy.data(), b"Data");
            thread.join().unwrap();
            drop(copy);
            assert_all_home(&pool);
        },
    );
}
