//! Slabs: no block is had twice or lost, whatever carving, homecoming, listing and giving back do at once.

use crate::slab::Purpose;
use crate::slab::transit::Transit;
use crate::test_parts::{HEADER, Parts, data_class};
use loom::thread;
use loom_tests::{ALL, explore};

#[test]
fn two_threads_carve_different_blocks() {
    explore("two_threads_carve_different_blocks", ALL, || {
        let parts = Parts::new(1);
        let mut out = parts.open(HEADER, 1);
        let other = parts.clone();
        let thread = thread::spawn(move || other.take(HEADER, 1));
        out.extend(parts.take(HEADER, 1));
        out.extend(thread.join().unwrap());
        assert_eq!(out.len(), 3);
        parts.assert_conserved(HEADER, &out);
    });
}

#[test]
fn one_free_slab_goes_to_one_of_two_classes() {
    explore("one_free_slab_goes_to_one_of_two_classes", ALL, || {
        let parts = Parts::new(1);
        let other = parts.clone();
        let thread = thread::spawn(move || other.open(data_class(), 1));
        let mine = parts.open(HEADER, 1);
        let theirs = thread.join().unwrap();
        assert_eq!(
            mine.len() + theirs.len(),
            1,
            "exactly one class gets the slab"
        );
    });
}

#[test]
fn one_home_block_goes_to_one_of_two_takers() {
    explore("one_home_block_goes_to_one_of_two_takers", ALL, || {
        let parts = Parts::new(1);
        let mut out = parts.open(HEADER, parts.per_slab(HEADER) as u32);
        parts.give(HEADER, &[out.pop().unwrap()]);
        let other = parts.clone();
        let thread = thread::spawn(move || other.take(HEADER, 1));
        let mine = parts.take(HEADER, 1);
        let theirs = thread.join().unwrap();
        assert_eq!(mine.len() + theirs.len(), 1);
        out.extend(mine);
        out.extend(theirs);
        parts.assert_conserved(HEADER, &out);
    });
}

/// Who finds a slab's home block just taken goes on to the next slab.
#[test]
fn two_home_blocks_go_to_two_takers() {
    explore("two_home_blocks_go_to_two_takers", ALL, || {
        let parts = Parts::new(2);
        let all = parts.per_slab(HEADER) as u32;
        let (mut out, mut more) = (parts.open(HEADER, all), parts.open(HEADER, all));
        parts.give(HEADER, &[out.pop().unwrap(), more.pop().unwrap()]);
        out.extend(more);
        let other = parts.clone();
        let thread = thread::spawn(move || other.take(HEADER, 1));
        let mine = parts.take(HEADER, 1);
        let theirs = thread.join().unwrap();
        assert_eq!((mine.len(), theirs.len()), (1, 1));
        out.extend(mine);
        out.extend(theirs);
        parts.assert_conserved(HEADER, &out);
    });
}

/// A block comes home to a full slab while a taker finds it full and takes it off the list.
#[test]
fn a_block_that_comes_home_is_listed() {
    explore("a_block_that_comes_home_is_listed", ALL, || {
        let parts = Parts::new(1);
        let mut out = parts.open(HEADER, parts.per_slab(HEADER) as u32);
        let back = out.pop().unwrap();
        let other = parts.clone();
        let thread = thread::spawn(move || other.give(HEADER, &[back]));
        out.extend(parts.take(HEADER, 1));
        thread.join().unwrap();
        parts.assert_conserved(HEADER, &out);
    });
}

/// What a taker of a home block reads and writes was written by who gave it.
#[test]
fn a_home_block_is_handed_over() {
    explore("a_home_block_is_handed_over", ALL, || {
        let parts = Parts::new(1);
        let mut out = parts.open(HEADER, parts.per_slab(HEADER) as u32);
        let back = out.pop().unwrap();
        let other = parts.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the block is this thread's until it is given.
            unsafe { other.header(back).set_timestamp(7) };
            other.give(HEADER, &[back]);
        });
        for block in parts.take(HEADER, 1) {
            // SAFETY: the block is ours.
            unsafe {
                assert_eq!(parts.header(block).timestamp(), 7);
                parts.header(block).set_timestamp(8);
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_slab_leaves_or_its_block_is_taken() {
    explore("a_slab_leaves_or_its_block_is_taken", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        let other = parts.clone();
        let thread = thread::spawn(move || other.take(HEADER, 1));
        let reclaimed = parts.reclaim();
        let taken = thread.join().unwrap();
        assert!(
            usize::try_from(reclaimed).unwrap() + taken.len() == 1,
            "reclaimed {reclaimed}, taken {}",
            taken.len()
        );
        if reclaimed == 1 {
            assert_eq!(
                parts.open(data_class(), 1).len(),
                1,
                "the slab is anybody's"
            );
        } else {
            parts.assert_conserved(HEADER, &taken);
        }
    });
}

/// The last block comes home while the slab is looked at: it leaves now or at the next look, and the next class sees
/// memory that nobody uses any more.
#[test]
fn a_slab_leaves_after_its_last_block_came_home() {
    explore("a_slab_leaves_after_its_last_block_came_home", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the block is this thread's until it is given.
            unsafe { other.header(out[0]).set_timestamp(7) };
            other.give(HEADER, &out);
        });
        if parts.reclaim() == 1 {
            let block = parts.open(data_class(), 1)[0];
            // SAFETY: the block is ours. It lies where the other was.
            unsafe { parts.header(block).set_timestamp(9) };
            thread.join().unwrap();
        } else {
            thread.join().unwrap();
            assert_eq!(parts.reclaim(), 1);
        }
        assert_eq!(parts.slabs.counts(HEADER).carved, 0);
    });
}

/// Two lookers, one slab to reclaim: it leaves once.
#[test]
fn a_slab_leaves_once() {
    explore("a_slab_leaves_once", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        let other = parts.clone();
        let thread = thread::spawn(move || other.reclaim());
        let mine = parts.reclaim();
        assert_eq!(mine + thread.join().unwrap(), 1);
        assert_eq!(parts.open(HEADER, 1).len(), 1);
    });
}

/// A slab is reclaimed and opened for another class while a taker of the first class is about to take from it.
#[test]
fn a_late_taker_does_not_take_from_another_class() {
    explore("a_late_taker_does_not_take_from_another_class", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            other.reclaim();
            other.open(data_class(), 1)
        });
        let mine = parts.take(HEADER, 1);
        let theirs = thread.join().unwrap();
        assert!(mine.len() + theirs.len() == 1);
        if theirs.is_empty() {
            parts.assert_conserved(HEADER, &mine);
        } else {
            parts.assert_conserved(data_class(), &theirs);
        }
    });
}

/// A slab leaves its class and is opened for it again, with equal counts, while a taker of its first life is between its two
/// steps: the taker sees that this is another life, and what its opener did.
#[test]
fn a_late_taker_sees_the_slabs_next_life() {
    explore("a_late_taker_sees_the_slabs_next_life", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            other.give(HEADER, &out);
            other.reclaim();
            other.open(HEADER, 1)
        });
        let mut all = parts.take(HEADER, 1);
        all.extend(thread.join().unwrap());
        parts.assert_conserved(HEADER, &all);
    });
}

/// The pages of a free slab go back to the system while a class opens it: one after the other.
#[test]
fn a_slab_is_discarded_or_opened() {
    explore("a_slab_is_discarded_or_opened", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        assert_eq!(parts.reclaim(), 1);
        let other = parts.clone();
        let thread = thread::spawn(move || other.slabs.discard_free(other.arena, &other.classes));
        let mut mine = parts.open(HEADER, 1);
        thread.join().unwrap();
        if mine.is_empty() {
            mine = parts.open(HEADER, 1);
        }
        parts.assert_conserved(HEADER, &mine);
    });
}

/// As above, and the slab leaves the class again: what the system gets nobody has touched since.
#[test]
fn a_slab_is_discarded_after_it_left() {
    explore("a_slab_is_discarded_after_it_left", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        parts.reclaim();
        let other = parts.clone();
        let thread = thread::spawn(move || {
            other.slabs.discard_free(other.arena, &other.classes);
        });
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        parts.reclaim();
        thread.join().unwrap();
        assert_eq!(parts.open(data_class(), 1).len(), 1);
    });
}

/// A span is taken from a slab that a class is just giving up.
#[test]
fn a_span_follows_a_class() {
    explore("a_span_follows_a_class", ALL, || {
        let parts = Parts::new(1);
        let out = parts.open(HEADER, 1);
        parts.give(HEADER, &out);
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let bytes = other.classes.slab_bytes() / 2;
            other
                .slabs
                .take_span(other.arena, &other.classes, Purpose::Ordinary, bytes)
        });
        let reclaimed = parts.reclaim();
        let span = thread.join().unwrap();
        assert_eq!(reclaimed, 1);
        if let Some(block) = span {
            // SAFETY: the span is ours.
            unsafe { parts.slabs.give_span(parts.arena, &parts.classes, block) };
        }
        assert_eq!(parts.open(data_class(), 1).len(), 1);
    });
}

#[test]
fn a_span_and_a_class_share_the_slabs() {
    explore("a_span_and_a_class_share_the_slabs", ALL, || {
        let parts = Parts::new(2);
        let bytes = parts.classes.slab_bytes();
        let other = parts.clone();
        let thread = thread::spawn(move || {
            let (arena, classes) = (other.arena, &other.classes);
            let span = other
                .slabs
                .take_span(arena, classes, Purpose::Ordinary, bytes);
            if let Some(block) = span {
                // SAFETY: the span is this thread's.
                unsafe { other.slabs.give_span(arena, classes, block) };
            }
        });
        let mut mine = parts.open(HEADER, 1);
        thread.join().unwrap();
        if mine.is_empty() {
            mine = parts.open(HEADER, 1);
        }
        parts.assert_conserved(HEADER, &mine);
        assert_eq!(
            parts.open(data_class(), 1).len(),
            1,
            "the other slab is free again"
        );
    });
}

/// A block is moved from the second of two places to the first, while a search looks at the first and then at the second. The
/// search finds it or knows that it must look again.
#[test]
fn a_search_knows_of_a_move_that_it_missed() {
    explore("a_search_knows_of_a_move_that_it_missed", ALL, || {
        use loom::sync::Arc;
        use loom::sync::atomic::{AtomicU32, Ordering};
        let shared = Arc::new((
            <Transit as crate::arena::InArena>::fresh(),
            AtomicU32::new(0),
            AtomicU32::new(1),
        ));
        let mover = shared.clone();
        let thread = thread::spawn(move || {
            let (transit, first, second) = &*mover;
            let mut move_ = transit.begin();
            if second.swap(0, Ordering::Relaxed) == 1 {
                first.store(1, Ordering::Relaxed);
                move_.moved();
            }
        });
        let (transit, first, second) = &*shared;
        let before = transit.snapshot();
        let found = first.load(Ordering::Relaxed) == 1 || second.load(Ordering::Relaxed) == 1;
        assert!(found || !transit.undisturbed(before), "memory was missed");
        // Once the move is over, a search that begins after it finds the block.
        let again = transit.snapshot();
        let found = first.load(Ordering::Relaxed) == 1 || second.load(Ordering::Relaxed) == 1;
        assert!(
            found || !transit.undisturbed(again),
            "memory was missed after the move"
        );
        thread.join().unwrap();
    });
}

/// Two ordinary claims race for the slabs above the reserve, and an urgent one takes what they leave.
#[test]
fn ordinary_claims_leave_the_reserve() {
    explore("ordinary_claims_leave_the_reserve", ALL, || {
        let parts = Parts::with_reserve(2, 1);
        let other = parts.clone();
        let thread = thread::spawn(move || other.open(data_class(), 1).len());
        let mine = parts.open(HEADER, 1).len();
        let theirs = thread.join().unwrap();
        assert!(mine + theirs <= 1, "the reserve is left");
        assert_eq!(parts.open_for(Purpose::Urgent, HEADER, 1).len(), 1);
    });
}

/// A slab comes back while an urgent claim and an ordinary one look: the count never says less than there is.
#[test]
fn a_slab_that_comes_back_fills_the_reserve_first() {
    explore(
        "a_slab_that_comes_back_fills_the_reserve_first",
        ALL,
        || {
            let parts = Parts::with_reserve(1, 1);
            let out = parts.open_for(Purpose::Urgent, HEADER, 1);
            let other = parts.clone();
            let thread =
                thread::spawn(move || other.open_for(Purpose::Urgent, data_class(), 1).len());
            parts.give(HEADER, &out);
            assert_eq!(parts.reclaim(), 1);
            assert!(parts.open(HEADER, 1).is_empty());
            let theirs = thread.join().unwrap();
            let mine = parts.open_for(Purpose::Urgent, HEADER, 1).len();
            assert_eq!(mine + theirs, 1);
        },
    );
}
