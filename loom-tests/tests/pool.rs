//! Whole pools: what threads do to them through the public interface.
#![cfg(loom)]

use loom::thread;
use loom_tests::{THREE_THREADS, USUAL, assert_all_home, explore};
use mbuf::{AllocError, LOOM_SLAB, Pool};

/// A pool of `slabs` slabs; each size in use takes one at least.
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
        // From this thread's cache, which the other could not reach, to where both can.
        pool.trim();
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

/// Not at some later occasion, when it is one thread's doing or another's that has heard of the close.
#[test]
fn a_pool_ends_at_once() {
    explore("a_pool_ends_at_once", USUAL, || {
        let pool = pool(2);
        let (first, second) = (pool.alloc(0).unwrap(), pool.alloc(64).unwrap());
        drop(pool);
        let thread = thread::spawn(move || drop(first));
        drop(second);
        thread.join().unwrap();
        assert_eq!(mbuf::live_arenas(), 0);
    });
}

/// The thread that frees has a cache of the pool, so its free may be under way on the fast path when the pool closes.
#[test]
fn a_pool_ends_while_a_thread_with_a_cache_frees() {
    explore(
        "a_pool_ends_while_a_thread_with_a_cache_frees",
        USUAL,
        || {
            let pool = pool(1);
            let other = pool.clone();
            let thread = thread::spawn(move || {
                let mbuf = other.alloc(0).unwrap();
                drop(other);
                drop(mbuf);
            });
            drop(pool);
            thread.join().unwrap();
        },
    );
}

#[test]
fn threads_come_and_go() {
    explore("threads_come_and_go", THREE_THREADS, || {
        let pool = pool(1);
        let use_one = |pool: &Pool| drop(pool.alloc(0).unwrap());
        let other = pool.clone();
        let thread = thread::spawn(move || use_one(&other));
        let another = pool.clone();
        thread.join().unwrap();
        let thread = thread::spawn(move || use_one(&another));
        use_one(&pool);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn trim_against_alloc() {
    explore("trim_against_alloc", THREE_THREADS, || {
        let pool = pool(1);
        drop(pool.alloc(64).unwrap());
        let other = pool.clone();
        let thread = thread::spawn(move || drop(other.alloc(64).expect("memory is there")));
        pool.trim();
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn trim_against_free() {
    explore("trim_against_free", USUAL, || {
        let pool = pool(1);
        let mbuf = pool.alloc(64).unwrap();
        let thread = thread::spawn(move || drop(mbuf));
        pool.trim();
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

/// Memory freed in one size serves another, though a third thread looks at the same time.
#[test]
fn memory_changes_its_class() {
    explore("memory_changes_its_class", THREE_THREADS, || {
        let pool = pool(1);
        drop(pool.alloc(64).unwrap());
        let other = pool.clone();
        let thread = thread::spawn(move || other.alloc(0).is_ok());
        let mine = pool.alloc(0).is_ok();
        let theirs = thread.join().unwrap();
        assert!(mine || theirs, "the slab was free but for a cached block");
        assert_all_home(&pool);
    });
}

/// Three threads, everything at once: alloc, copy-ref, append, hand over, free.
#[test]
fn a_message_is_built_copied_and_freed_by_three_threads() {
    explore(
        "a_message_is_built_copied_and_freed_by_three_threads",
        THREE_THREADS,
        || {
            let pool = pool(2);
            let mut head = pool.alloc(64).unwrap();
            head.extend_from_slice(b"head").unwrap();
            let mut body = pool.alloc(64).unwrap();
            body.extend_from_slice(b"body").unwrap();
            head.append(body).unwrap();
            let copy = head.copy_ref().unwrap();
            let reader = thread::spawn(move || {
                let bytes: Vec<u8> = copy
                    .segments()
                    .flat_map(|segment| segment.data().to_vec())
                    .collect();
                assert_eq!(bytes, b"headbody");
            });
            let other = pool.clone();
            let writer = thread::spawn(move || {
                let mut mbuf = other.alloc(0).unwrap();
                mbuf.user_mut()[0] = 1;
            });
            drop(head);
            reader.join().unwrap();
            writer.join().unwrap();
            assert_all_home(&pool);
        },
    );
}

/// A producer and a consumer with a slot between them; the block goes round.
#[test]
fn a_block_is_reused_where_it_was_freed() {
    explore("a_block_is_reused_where_it_was_freed", USUAL, || {
        let pool = pool(1);
        let mut mbuf = pool.alloc(64).unwrap();
        mbuf.user_mut()[95] = 9;
        mbuf.set_timestamp(9);
        mbuf.extend_from_slice(b"old").unwrap();
        let other = pool.clone();
        let thread = thread::spawn(move || {
            assert_eq!((mbuf.data(), mbuf.timestamp()), (&b"old"[..], 9));
            drop(mbuf);
            let fresh = other.alloc(64).unwrap();
            assert_eq!(fresh.user(), &[0; 96]);
            assert_eq!(
                (fresh.len(), fresh.timestamp(), fresh.segment_count()),
                (0, 0, 1)
            );
        });
        let fresh = pool.alloc(64).unwrap();
        assert_eq!(fresh.user(), &[0; 96]);
        drop(fresh);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

/// The first calls race: one pool is made and shared, the other goes.
#[test]
fn the_global_pool_is_made_once() {
    explore("the_global_pool_is_made_once", THREE_THREADS, || {
        let thread = thread::spawn(|| {
            let pool = Pool::global().unwrap();
            (std::ptr::from_ref(pool).addr(), pool.alloc(0).unwrap())
        });
        let pool = Pool::global().unwrap();
        let mine = pool.alloc(0).unwrap();
        let (theirs, mbuf) = thread.join().unwrap();
        assert_eq!(std::ptr::from_ref(pool).addr(), theirs);
        drop((mine, mbuf));
        assert_all_home(pool);
    });
}
