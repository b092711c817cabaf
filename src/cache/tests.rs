use super::Cache;
use crate::arena::Offset;
use crate::event::Notes;
use crate::test_parts::{HEADER, Parts};

/// A cache that the calling test owns, which every `unsafe` here rests on (C1).
fn own(parts: &Parts) -> &Cache {
    parts.caches.acquire(parts.arena).unwrap()
}

fn pop(parts: &Parts, cache: &Cache) -> Option<Offset> {
    // SAFETY: C1.
    unsafe {
        cache.pop(HEADER).or_else(|| {
            cache.refill(parts.backing(), HEADER, &mut Notes::new());
            cache.pop(HEADER)
        })
    }
}

fn push(parts: &Parts, cache: &Cache, block: Offset) {
    // SAFETY: C1.
    unsafe {
        if !cache.push(HEADER, block) {
            cache.spill(parts.backing(), HEADER);
            assert!(cache.push(HEADER, block), "a spill makes room");
        }
    }
}

fn cached(parts: &Parts) -> u64 {
    let counts = parts.caches.counts(parts.arena, &parts.classes, HEADER);
    counts.cached
}

#[test]
fn who_wants_one_block_does_not_take_a_magazine() {
    let parts = Parts::new(1);
    let cache = own(&parts);
    assert!(pop(&parts, cache).is_some());
    assert_eq!(parts.slabs.counts(HEADER).carved, 1);
    assert!(pop(&parts, cache).is_some());
    assert_eq!(parts.slabs.counts(HEADER).carved, 3);
    assert_eq!(cached(&parts), 1);
}

#[test]
fn blocks_freed_are_loaded_then_spare_then_in_the_depot() {
    let parts = Parts::new(1);
    let cache = own(&parts);
    let out: Vec<_> = (0..6).map(|_| pop(&parts, cache).unwrap()).collect();
    assert_eq!(
        cached(&parts),
        1,
        "of four refills, the last of which brought one too many"
    );
    for (block, in_depot) in out.into_iter().zip([0, 0, 0, 2, 2, 4]) {
        push(&parts, cache, block);
        assert_eq!(parts.depot.blocks(HEADER), in_depot);
    }
    let home = parts.slabs.counts(HEADER).home;
    assert_eq!(cached(&parts) + 4 + home, parts.slabs.counts(HEADER).carved);
}

#[test]
fn without_magazines_blocks_go_home() {
    let parts = Parts::new(1);
    while let Some(magazine) = parts.depot.take_empty(parts.arena) {
        magazine.into_offset();
    }
    let cache = own(&parts);
    let out: Vec<_> = (0..6).map(|_| pop(&parts, cache).unwrap()).collect();
    for block in out {
        push(&parts, cache, block);
    }
    let counts = parts.slabs.counts(HEADER);
    assert_eq!(counts.home + cached(&parts), counts.carved);
    assert!(counts.home >= 4);
    assert_eq!(parts.depot.blocks(HEADER), 0);
}

#[test]
fn a_flushed_cache_is_empty_and_starts_small_again() {
    let parts = Parts::new(1);
    let cache = own(&parts);
    let out: Vec<_> = (0..5).map(|_| pop(&parts, cache).unwrap()).collect();
    for block in out {
        push(&parts, cache, block);
    }
    // SAFETY: C1.
    unsafe { cache.flush(parts.backing(), HEADER) };
    assert_eq!(cached(&parts), 0);
    while let Some(magazine) = parts.depot.take_full(parts.arena, HEADER) {
        magazine.send_home(parts.backing(), HEADER);
    }
    let carved = parts.slabs.counts(HEADER).carved;
    assert!(pop(&parts, cache).is_some());
    let counts = parts.slabs.counts(HEADER);
    assert_eq!((counts.carved, counts.home), (carved, carved - 1));
}

#[test]
fn a_spare_can_be_stolen_once() {
    let parts = Parts::new(1);
    let (owner, thief) = (own(&parts), own(&parts));
    let out: Vec<_> = (0..3).map(|_| pop(&parts, owner).unwrap()).collect();
    for block in out {
        push(&parts, owner, block);
    }
    assert!(owner.has_spare(HEADER));
    // SAFETY: C1.
    unsafe {
        assert!(
            parts
                .caches
                .steal(parts.backing(), HEADER, thief, &mut Notes::new())
        );
        assert!(!owner.has_spare(HEADER));
        assert!(thief.pop(HEADER).is_some() && thief.pop(HEADER).is_some());
        assert!(
            !parts
                .caches
                .steal(parts.backing(), HEADER, thief, &mut Notes::new())
        );
    }
}

#[test]
fn caches_end_and_come_back() {
    let parts = Parts::new(1);
    let (first, _second) = (own(&parts), own(&parts));
    assert!(parts.caches.acquire(parts.arena).is_none());
    // SAFETY: C1; not used afterwards.
    unsafe { parts.caches.release(parts.arena, first) };
    assert!(std::ptr::eq(own(&parts), first));
}

#[test]
fn what_is_in_use_is_counted_over_all_caches_and_past_them() {
    let parts = Parts::new(1);
    let (first, second) = (own(&parts), own(&parts));
    let block = pop(&parts, first).unwrap();
    parts.caches.count_alloc(HEADER);
    assert_eq!(parts.caches.in_use(parts.arena), 2);
    push(&parts, second, block);
    parts.caches.count_free(HEADER);
    assert_eq!(parts.caches.in_use(parts.arena), 0);
}
