//! The depot's stacks: no magazine is lost, none is had twice, and who takes one sees what is in it.

use crate::depot::Magazine;
use crate::test_parts::{HEADER, Parts};
use loom::thread;
use loom_tests::{ALL, explore};

/// A full magazine with two made-up blocks.
fn full(parts: &Parts, first: u32) -> Magazine {
    let magazine = parts.depot.take_empty(parts.arena).unwrap();
    magazine.load(parts.arena, 0, [first, first + 1].into_iter());
    magazine
}

/// Takes a magazine and what is in it.
fn pop(parts: &Parts) -> Option<(Magazine, u32)> {
    let magazine = parts.depot.take_full(parts.arena, HEADER)?;
    let blocks: Vec<_> = magazine.unload(parts.arena).collect();
    assert_eq!(blocks.len(), 2);
    assert_eq!(blocks[1], blocks[0] + 1);
    Some((magazine, blocks[0]))
}

fn drain(parts: &Parts) -> Vec<u32> {
    std::iter::from_fn(|| pop(parts).map(|(_, first)| first)).collect()
}

/// Fails unless `found` are the magazines that start with `expected`, each once.
fn assert_same(mut found: Vec<u32>, expected: &[u32]) {
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn depot_push_against_pop() {
    explore("depot_push_against_pop", ALL, || {
        let parts = Parts::new(1);
        parts.depot.put_full(parts.arena, HEADER, full(&parts, 10));
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let magazine = full(&other, 20);
            other.depot.put_full(other.arena, HEADER, magazine);
        });
        let mut found: Vec<u32> = pop(&parts).map(|(_, first)| first).into_iter().collect();
        assert_eq!(found.len(), 1, "one was there all along");
        thread.join().unwrap();
        found.extend(drain(&parts));
        assert_same(found, &[10, 20]);
        assert_eq!(parts.depot.blocks(HEADER), 0);
    });
}

#[test]
fn depot_push_against_push() {
    explore("depot_push_against_push", ALL, || {
        let parts = Parts::new(1);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let magazine = full(&other, 20);
            other.depot.put_full(other.arena, HEADER, magazine);
        });
        parts.depot.put_full(parts.arena, HEADER, full(&parts, 10));
        thread.join().unwrap();
        assert_same(drain(&parts), &[10, 20]);
    });
}

#[test]
fn depot_pop_against_pop() {
    explore("depot_pop_against_pop", ALL, || {
        let parts = Parts::new(1);
        parts.depot.put_full(parts.arena, HEADER, full(&parts, 10));
        parts.depot.put_full(parts.arena, HEADER, full(&parts, 20));
        let other = parts.clone();
        let thread = thread::spawn(move || pop(&other).map(|(_, first)| first));
        let mine = pop(&parts).map(|(_, first)| first);
        let theirs = thread.join().unwrap();
        assert_same(mine.into_iter().chain(theirs).collect(), &[10, 20]);
        assert!(drain(&parts).is_empty());
    });
}

/// The magazine on top goes and comes back while a popper is between its two steps, and the one below goes for good: without
/// the tag the popper would put the one below back.
#[test]
fn depot_pop_against_the_same_magazine_coming_back() {
    explore(
        "depot_pop_against_the_same_magazine_coming_back",
        ALL,
        || {
            let parts = Parts::new(1);
            parts.depot.put_full(parts.arena, HEADER, full(&parts, 10));
            parts.depot.put_full(parts.arena, HEADER, full(&parts, 20));
            let other = parts.clone();
            let thread = thread::spawn(move || {
                let mut kept = Vec::new();
                if let Some((top, first)) = pop(&other) {
                    kept.extend(pop(&other).map(|(_, first)| first));
                    top.load(other.arena, 0, [first, first + 1].into_iter());
                    other.depot.put_full(other.arena, HEADER, top);
                }
                kept
            });
            let mut found: Vec<u32> = pop(&parts).map(|(_, first)| first).into_iter().collect();
            found.extend(thread.join().unwrap());
            found.extend(drain(&parts));
            assert_same(found, &[10, 20]);
        },
    );
}

/// A magazine that was read on one thread is filled on another: the empty stack hands it over.
#[test]
fn an_empty_magazine_changes_hands() {
    explore("an_empty_magazine_changes_hands", ALL, || {
        let parts = Parts::new(1);
        parts.depot.put_full(parts.arena, HEADER, full(&parts, 10));
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let (magazine, _) = pop(&other).unwrap();
            other.depot.put_empty(other.arena, magazine);
        });
        let mine = full(&parts, 30);
        parts.depot.put_full(parts.arena, HEADER, mine);
        thread.join().unwrap();
        let left = drain(&parts);
        assert_eq!(left.len(), 1);
    });
}

#[test]
fn new_magazines_are_had_once() {
    explore("new_magazines_are_had_once", ALL, || {
        let parts = Parts::new(1);
        let other = parts.clone();
        let take = |parts: &Parts| parts.depot.take_empty(parts.arena).unwrap().into_offset();
        let thread = thread::spawn(move || take(&other));
        let mine = take(&parts);
        assert_ne!(mine, thread.join().unwrap());
    });
}
