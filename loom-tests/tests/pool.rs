//! Whole pools: what threads do through the public interface.
#![cfg(loom)]

use loom::thread;
use loom_tests::{USUAL, assert_all_home, explore};
use mbuf::{AllocError, LOOM_SLAB, Pool};

fn pool(slabs: u64) -> Pool {
    Pool::builder().capacity(slabs * LOOM_SLAB).build().unwrap()
}

#[test]
fn two_threads_never_get_the_same_block() {
    explore("two_threads_never_get_the_same_block", USUAL, || {
        let pool = pool(1);
        let other = pool.clone();
        let thread = thread::spawn(move || {
            let mut mbuf = other.alloc(64).unwrap();
            mbuf.extend_from_slice(b"other").unwrap();
            assert_eq!(mbuf.data(), b"other");
        });
        let mut mbuf = pool.alloc(64).unwrap();
        mbuf.extend_from_slice(b"mine!").unwrap();
        assert_eq!(mbuf.data(), b"mine!");
        drop(mbuf);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn of_two_takers_of_the_last_block_one_gets_it() {
    explore("of_two_takers_of_the_last_block_one_gets_it", USUAL, || {
        let pool = pool(1);
        let mut taken = Vec::new();
        while let Ok(mbuf) = pool.alloc(64) {
            taken.push(mbuf);
        }
        drop(taken.pop());
        let other = pool.clone();
        let thread = thread::spawn(move || other.alloc(64));
        let mine = pool.alloc(64);
        let theirs = thread.join().unwrap();
        match (&mine, &theirs) {
            (Ok(_), Err(AllocError::Exhausted)) | (Err(AllocError::Exhausted), Ok(_)) => {}
            _ => panic!("{mine:?} and {theirs:?}"),
        }
        drop((mine, theirs, taken));
        assert_all_home(&pool);
    });
}

#[test]
fn a_pool_ends_once_with_its_last_mbuf() {
    explore("a_pool_ends_once_with_its_last_mbuf", USUAL, || {
        let pool = pool(1);
        let mbuf = pool.alloc(0).unwrap();
        let thread = thread::spawn(move || drop(mbuf));
        drop(pool);
        thread.join().unwrap();
    });
}

#[test]
fn data_is_exclusive_once_the_copy_is_gone() {
    explore("data_is_exclusive_once_the_copy_is_gone", USUAL, || {
        let pool = pool(2);
        let mut mbuf = pool.alloc_zeroed(64).unwrap();
        let copy = mbuf.copy_ref().unwrap();
        let thread = thread::spawn(move || {
            assert_eq!(copy.data()[0], 0);
        });
        if let Some(data) = mbuf.data_mut() {
            data[0] = 1;
        }
        thread.join().unwrap();
        drop(mbuf);
        assert_all_home(&pool);
    });
}
