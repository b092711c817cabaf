//! Tells a search that found nothing whether it may believe itself.
//!
//! Trims and steals take free memory from one place and put it into another. A search that passes the second place
//! before and the first place after the move sees neither, though the memory was free all along. So a mover announces
//! itself, and a search that failed while anything moved looks again.
//!
//! The word counts the movers now (low half) and the moves completed (high half).

use crate::arena::InArena;
use crate::sync::{AtomicU64, Backoff, Ordering, fence};

const MOVE: u64 = 1 << 32;
const MOVERS: u64 = MOVE - 1;

/// See the module's documentation.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Transit(AtomicU64);

// SAFETY: an integer; zero is no mover and no move.
unsafe impl InArena for Transit {
    fn fresh() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// Free memory may be between two places for as long as this exists.
#[must_use]
pub(crate) struct Move<'a> {
    transit: &'a Transit,
    moved: bool,
}

/// How often a search that is disturbed looks whether the movers have got on. Only one that is stopped by the system in the
/// middle of a move, or that a fork left in the parent, needs more.
#[cfg(not(loom))]
const PATIENCE: u32 = 1000;
#[cfg(loom)]
const PATIENCE: u32 = 8;

/// What a search saw at its start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

impl Transit {
    /// Announces a move, before anything is taken.
    pub(crate) fn begin(&self) -> Move<'_> {
        // Relaxed, ordered by the fence: a search that sees any effect of the move and then checks also sees this.
        self.0.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `undisturbed`.
        fence(Ordering::Release);
        Move {
            transit: self,
            moved: false,
        }
    }

    /// To be taken before a search.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // Acquire: pairs with the release at a move's end: the search sees where that move put things.
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Whether nothing was on the move since `before`: what the search did not find was not there.
    pub(crate) fn undisturbed(&self, before: Snapshot) -> bool {
        // Pairs with the fence in `begin`: if the search saw a place emptied by a move, the load sees its announcement.
        fence(Ordering::Acquire);
        before.0 & MOVERS == 0 && self.0.load(Ordering::Relaxed) == before.0
    }

    /// How many moves were completed so far.
    pub(crate) fn moves(&self) -> u32 {
        // Relaxed: told apart from an earlier count, by who made the moves or looks again.
        (self.0.load(Ordering::Relaxed) >> 32) as u32
    }

    /// Waits a moment while movers are at work and none gets on. False when that is too long: they are stopped.
    pub(crate) fn wait(&self) -> bool {
        let seen = self.snapshot();
        if seen.0 & MOVERS == 0 {
            return true;
        }
        let backoff = Backoff::new();
        (0..PATIENCE).any(|_| {
            backoff.snooze();
            self.snapshot() != seen
        })
    }
}

impl Move<'_> {
    /// Something was moved: searches under way must look again.
    pub(crate) fn moved(&mut self) {
        self.moved = true;
    }
}

impl Drop for Move<'_> {
    fn drop(&mut self) {
        let change = if self.moved {
            MOVE - 1
        } else {
            1u64.wrapping_neg()
        };
        // Release: pairs with the acquire in `snapshot`.
        self.transit.0.fetch_add(change, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_mover_that_does_not_get_on_is_not_waited_for_for_ever() {
        let transit = Transit::fresh();
        assert!(transit.wait());
        let stopped = transit.begin();
        assert!(!transit.wait());
        drop(stopped);
        assert!(transit.wait());
    }

    #[test]
    fn a_search_is_disturbed_by_moves_and_movers_only() {
        let transit = Transit::fresh();
        let before = transit.snapshot();
        drop(transit.begin());
        assert!(transit.undisturbed(before));
        let mut one = transit.begin();
        assert!(!transit.undisturbed(before));
        assert!(!transit.undisturbed(transit.snapshot()));
        one.moved();
        drop(one);
        assert!(!transit.undisturbed(before));
        assert!(transit.undisturbed(transit.snapshot()));
    }
}
