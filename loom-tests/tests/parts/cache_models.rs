//! Caches: spares that others take, and caches that change hands.

use crate::arena::Offset;
use crate::cache::Cache;
use crate::event::Notes;
use crate::test_parts::{HEADER, Parts};
use loom::thread;
use loom_tests::{ALL, USUAL, explore};

/// Gives the cache a full spare, and returns what is in it.
fn with_spare(parts: &Parts, cache: &Cache) {
    let blocks = parts.take_or_open(HEADER, 3);
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        // SAFETY: the calling thread owns the cache.
        unsafe {
            if !cache.push(HEADER, block) {
                cache.spill(parts.backing(), HEADER);
                assert!(cache.push(HEADER, block));
            }
        }
    }
    assert!(cache.has_spare(HEADER));
}

/// Takes all blocks that are loaded.
fn loaded(cache: &Cache) -> Vec<Offset> {
    // SAFETY: the calling thread owns the cache.
    std::iter::from_fn(|| unsafe { cache.pop(HEADER) }).collect()
}

#[test]
fn a_spare_is_stolen_or_kept() {
    explore("a_spare_is_stolen_or_kept", ALL, || {
        let parts = Parts::new(1);
        let cache = parts.caches.acquire(parts.arena).unwrap();
        with_spare(&parts, cache);
        let mut out = loaded(cache);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let thief = other.caches.acquire(other.arena).unwrap();
            // SAFETY: this thread owns the cache.
            unsafe {
                other
                    .caches
                    .steal(other.backing(), HEADER, thief, &mut Notes::new())
            };
            loaded(thief)
        });
        // SAFETY: this thread owns the cache.
        unsafe { cache.refill(parts.backing(), HEADER, &mut Notes::new()) };
        out.extend(loaded(cache));
        out.extend(thread.join().unwrap());
        parts.assert_conserved(HEADER, &out);
    });
}

/// The owner puts a spare while a thief looks for one.
#[test]
fn a_spare_is_put_while_it_is_looked_for() {
    explore("a_spare_is_put_while_it_is_looked_for", ALL, || {
        let parts = Parts::new(1);
        let cache = parts.caches.acquire(parts.arena).unwrap();
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let thief = other.caches.acquire(other.arena).unwrap();
            // SAFETY: this thread owns the cache.
            unsafe {
                other
                    .caches
                    .steal(other.backing(), HEADER, thief, &mut Notes::new())
            };
            loaded(thief)
        });
        with_spare(&parts, cache);
        let mut out = thread.join().unwrap();
        out.extend(loaded(cache));
        // SAFETY: this thread owns the cache.
        unsafe { cache.flush(parts.backing(), HEADER) };
        while let Some(magazine) = parts.depot.take_full(parts.arena, HEADER) {
            magazine.send_home(parts.backing(), HEADER);
        }
        parts.assert_conserved(HEADER, &out);
    });
}

#[test]
fn a_thread_ends_while_its_spare_is_stolen() {
    explore("a_thread_ends_while_its_spare_is_stolen", ALL, || {
        let parts = Parts::new(1);
        let cache = parts.caches.acquire(parts.arena).unwrap();
        with_spare(&parts, cache);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let thief = other.caches.acquire(other.arena).unwrap();
            // SAFETY: this thread owns the cache.
            unsafe {
                other
                    .caches
                    .steal(other.backing(), HEADER, thief, &mut Notes::new())
            };
            loaded(thief)
        });
        // SAFETY: this thread owns the cache, and does not use it afterwards.
        unsafe {
            cache.flush(parts.backing(), HEADER);
            parts.caches.release(parts.arena, cache);
        }
        let out = thread.join().unwrap();
        while let Some(magazine) = parts.depot.take_full(parts.arena, HEADER) {
            magazine.send_home(parts.backing(), HEADER);
        }
        parts.assert_conserved(HEADER, &out);
    });
}

/// A cache goes from a thread that ends to one that begins: its counters go on, and what the first did to it is seen.
#[test]
fn a_cache_changes_hands() {
    explore("a_cache_changes_hands", USUAL, || {
        let parts = Parts::new(1);
        let use_one = |parts: &Parts| {
            let cache = parts.caches.acquire(parts.arena)?;
            // SAFETY: this thread owns the cache until it releases it.
            unsafe {
                // The other thread may just be opening the only slab.
                if cache.refill(parts.backing(), HEADER, &mut Notes::new()) {
                    let block = cache.pop(HEADER).unwrap();
                    assert!(cache.push(HEADER, block));
                }
                cache.flush(parts.backing(), HEADER);
                parts.caches.release(parts.arena, cache);
            }
            Some(())
        };
        let other = parts.clone();
        let thread = thread::spawn(move || use_one(&other));
        use_one(&parts).unwrap();
        thread.join().unwrap().unwrap();
        use_one(&parts).unwrap();
        let counts = parts.caches.counts(parts.arena, &parts.classes, HEADER);
        assert!(counts.allocs >= 2);
        assert_eq!(counts.allocs, counts.frees);
        parts.assert_conserved(HEADER, &[]);
    });
}

/// The sum of what is in use is never too small: a block that one thread takes and another frees is not missed, nor counted
/// as gone before it is. The frees go to a cache, or past the caches.
fn in_use_is_not_missed(past_the_caches: bool) {
    let parts = Parts::new(1);
    let cache = parts.caches.acquire(parts.arena).unwrap();
    // SAFETY: this thread owns the cache.
    let first = unsafe {
        assert!(cache.refill(parts.backing(), HEADER, &mut Notes::new()));
        cache.pop(HEADER).unwrap()
    };
    let other = parts.clone();
    let thread = thread::spawn(move || {
        let cache = other.caches.acquire(other.arena).unwrap();
        // SAFETY: this thread owns the cache.
        unsafe {
            // As a copy-ref and a free of the original: at every moment one block at least is in use.
            assert!(cache.refill(other.backing(), HEADER, &mut Notes::new()));
            cache.pop(HEADER).unwrap();
            if past_the_caches {
                other.caches.count_free(HEADER);
            } else {
                assert!(cache.push(HEADER, first));
            }
        }
    });
    assert!(parts.caches.in_use(parts.arena) >= 1);
    let counts = parts.caches.counts(parts.arena, &parts.classes, HEADER);
    assert!(
        counts.allocs > counts.frees,
        "statistics show less than nothing"
    );
    thread.join().unwrap();
    assert_eq!(parts.caches.in_use(parts.arena), 1);
}

#[test]
fn what_is_in_use_is_not_missed() {
    explore("what_is_in_use_is_not_missed", ALL, || {
        in_use_is_not_missed(false)
    });
}

#[test]
fn what_is_in_use_is_not_missed_past_the_caches() {
    explore("what_is_in_use_is_not_missed_past_the_caches", ALL, || {
        in_use_is_not_missed(true)
    });
}
