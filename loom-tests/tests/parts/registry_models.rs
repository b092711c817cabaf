//! The registry: an arena goes once, when nobody can look into it any more.

use crate::arena::Mapping;
use crate::registry::registry;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use loom_tests::{ALL, explore};

#[test]
fn a_pinned_pool_stays_mapped() {
    explore("a_pinned_pool_stays_mapped", ALL, || {
        let first = registry()
            .register(Mapping::reserve(4096).unwrap(), false)
            .unwrap();
        let id = first.id();
        // SAFETY: the mapping is ours, and pinned.
        unsafe { witness(&first).write(crate::sync::Field::new(1)) };
        first.open();
        let thread = thread::spawn(move || {
            if let Some(pin) = registry().pin(id) {
                // SAFETY: nobody writes the field before the arena is unmapped, which is after the pin.
                unsafe { assert_eq!((*witness(&pin)).get(), 1) };
            }
        });
        first.close();
        first.end();
        drop(first);
        thread.join().unwrap();
        assert!(registry().pin(id).is_none());
        assert!(registry().has_ended(id));
    });
}

/// A thread that knows of a pool by the registry alone sees it as it was built.
#[test]
fn who_comes_upon_a_closed_pool_sees_it_whole() {
    explore("who_comes_upon_a_closed_pool_sees_it_whole", ALL, || {
        let thread = thread::spawn(|| {
            for pin in registry().closed() {
                // SAFETY: written before the pool was opened, and not since.
                unsafe { assert_eq!((*witness(&pin)).get(), 1) };
            }
        });
        let first = registry()
            .register(Mapping::reserve(4096).unwrap(), false)
            .unwrap();
        // SAFETY: the mapping is ours, and nobody can pin it before it is opened.
        unsafe {
            witness(&first).write(crate::sync::Field::new(0));
            (*witness(&first)).set(1);
        }
        first.open();
        first.close();
        first.end();
        drop(first);
        thread.join().unwrap();
    });
}

fn witness(pin: &crate::registry::Pin) -> *mut crate::sync::Field<u32> {
    pin.arena().base().as_ptr().cast()
}

/// The last handle and the last mbuf go at once: one of the two notices and ends the pool.
#[test]
fn the_close_and_the_last_free_do_not_miss_each_other() {
    explore(
        "the_close_and_the_last_free_do_not_miss_each_other",
        ALL,
        || {
            let handle = registry()
                .register(Mapping::reserve(4096).unwrap(), false)
                .unwrap();
            let id = handle.id();
            handle.open();
            let in_use = Arc::new(AtomicU32::new(1));
            let theirs = in_use.clone();
            let thread = thread::spawn(move || {
                let pin = registry().pin(id).unwrap();
                // The free is counted as the caches count it: with release, read with acquire.
                theirs.store(0, Ordering::Release);
                if pin.is_closed() && theirs.load(Ordering::Acquire) == 0 {
                    pin.end();
                }
            });
            handle.close();
            if handle.is_closed() && in_use.load(Ordering::Acquire) == 0 {
                handle.end();
            }
            drop(handle);
            thread.join().unwrap();
            assert!(registry().has_ended(id), "nobody ended the pool");
        },
    );
}

/// A slot is used again by another pool while somebody still has the identity of the first.
#[test]
fn an_old_identity_does_not_pin_a_new_pool() {
    explore("an_old_identity_does_not_pin_a_new_pool", ALL, || {
        let first = registry()
            .register(Mapping::reserve(4096).unwrap(), false)
            .unwrap();
        let old = first.id();
        first.open();
        let thread = thread::spawn(move || {
            if let Some(pin) = registry().pin(old) {
                assert_eq!(pin.id(), old);
            }
        });
        first.close();
        first.end();
        drop(first);
        let second = registry()
            .register(Mapping::reserve(4096).unwrap(), false)
            .unwrap();
        second.open();
        assert_ne!(second.id(), old);
        assert!(registry().pin(old).is_none());
        thread.join().unwrap();
    });
}

/// The registry is full, and two pools are noted at once: room is made once or twice, and each pool has a slot of its own.
#[test]
fn the_registry_grows() {
    explore("the_registry_grows", ALL, || {
        let register = || {
            let pin = registry()
                .register(Mapping::reserve(4096).unwrap(), false)
                .unwrap();
            pin.open();
            pin
        };
        let end = |pin: crate::registry::Pin| {
            pin.close();
            pin.end();
        };
        let full = [register(), register()];
        let thread = thread::spawn(move || {
            let pin = register();
            assert!(registry().pin(pin.id()).is_some());
            let id = pin.id();
            end(pin);
            id
        });
        let mine = register();
        assert!(registry().pin(mine.id()).is_some());
        assert_ne!(thread.join().unwrap(), mine.id());
        full.into_iter().for_each(end);
        end(mine);
    });
}
