//! Addresses that are kept for later pools.

use crate::arena::Mapping;
use crate::registry::{Pin, registry};
use crate::sync::Field;
use loom::thread;
use loom_tests::{ALL, explore};

const KEPT: u64 = 4096;

fn kept() -> Pin {
    let mapping = Mapping::reserve(KEPT).unwrap();
    let pin = registry().register(mapping, true).unwrap();
    pin.keep();
    pin
}

/// Something that is written by one pool after another.
fn witness(pin: &Pin) -> *mut Field<u32> {
    pin.arena().base().as_ptr().cast()
}

fn end(pin: Pin) {
    pin.open();
    pin.close();
    pin.end();
}

/// The place of a kept pool that has ended is taken again by one of two, who sees what was done there as over.
#[test]
fn a_kept_place_is_taken_again_once() {
    explore("a_kept_place_is_taken_again_once", ALL, || {
        let first = kept();
        let base = first.arena().base().addr().get();
        // SAFETY: the mapping is ours.
        unsafe { witness(&first).write(Field::new(0)) };
        let taker = move || {
            let again = registry().register_again(KEPT)?;
            assert_eq!(again.arena().base().addr().get(), base);
            // SAFETY: a place is one pool's.
            unsafe { (*witness(&again)).set(2) };
            Some(again)
        };
        let thread = thread::spawn(move || {
            taker().is_some_and(|pin| {
                end(pin);
                true
            })
        });
        end(first);
        let mine = taker();
        let theirs = thread.join().unwrap();
        assert!(
            mine.is_some() || theirs,
            "the place is there for one of them"
        );
        assert_eq!(
            registry()
                .kept_at(base + 1)
                .map(|arena| arena.base().addr().get()),
            Some(base)
        );
        assert!(registry().kept_at(base + KEPT as usize).is_none());
        mine.into_iter().for_each(end);
    });
}

/// Addresses that are kept are never given to a pool that would take them along.
#[test]
fn a_kept_place_is_no_other_pools() {
    explore("a_kept_place_is_no_other_pools", ALL, || {
        let first = kept();
        let base = first.arena().base().addr().get();
        let thread = thread::spawn(move || {
            let mapping = Mapping::reserve(KEPT).unwrap();
            let other = registry().register(mapping, false).unwrap();
            let place = other.arena().base().addr().get();
            assert_ne!(place, base);
            // A pool of the ordinary kind is not seen without a pin.
            assert!(registry().kept_at(place).is_none());
            end(other);
        });
        end(first);
        let second = kept();
        let second_base = second.arena().base().addr().get();
        assert_ne!(second_base, base);
        end(second);
        thread.join().unwrap();
        assert!(registry().kept_at(base).is_some());
        assert!(registry().kept_at(second_base).is_some());
    });
}
