//! Watermarks: telling that a pool runs low, and that it has recovered.
//!
//! Who has changed how much is free, on a slow path, *weighs* the pool: reads the phase, then sums up what is free, and if a mark is
//! crossed moves the phase on and calls. The calls alternate because the phase does, and do not overlap because nobody
//! moves it on while a call is under way.
//!
//! No crossing is missed for good. The phase is read and written by read-modify-writes alone, so all weighings are in one
//! order, and each sees what was changed before the ones before it. Who calls weighs again when the call is over: a weighing that
//! found the call under way came before that one, and what it saw is seen.

use super::state::Core;
use crate::class::Class;
use crate::registry::Pin;
use crate::sync::{AtomicU32, Ordering};

const WELL: u32 = 0;
const TELLING_LOW: u32 = 1;
const LOW: u32 = 2;
const TELLING_RECOVERED: u32 = 3;

/// A pool's marks, in bytes; both are 0 if it has none. They do not change.
#[derive(Debug)]
pub(super) struct Marks {
    low: u64,
    high: u64,
    phase: AtomicU32,
}

impl Marks {
    pub(super) fn new(low: u64, high: u64) -> Self {
        let phase = AtomicU32::new(WELL);
        Self { low, high, phase }
    }

    fn phase(&self) -> u32 {
        // Acquire and release: pairs with itself and with the changes below: later weighings see what was freed before this.
        self.phase.fetch_or(0, Ordering::AcqRel)
    }

    /// Moves the phase on; false if somebody else has.
    fn begin(&self, from: u32, to: u32) -> bool {
        // Acquire and release: as in `phase`.
        self.phase
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// A call is under way until this is dropped, even if it panics.
struct Call<'a> {
    marks: &'a Marks,
    then: u32,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // Acquire and release: as in `Marks::phase`.
        self.marks.phase.swap(self.then, Ordering::AcqRel);
    }
}

impl Core {
    pub(super) fn has_marks(self) -> bool {
        self.state().marks.high > 0
    }

    /// Calls who is to be told if what is free has crossed a mark. Called where the arena is mapped, with the pin that sees to it, if
    /// there is one at hand, and where the calling thread's cache may be used: who is told may use the pool.
    #[inline]
    pub(super) fn weigh(self, pin: Option<&Pin>) {
        if self.has_marks() {
            self.weigh_by(&self.state().marks, pin);
        }
    }

    #[cold]
    #[inline(never)]
    fn weigh_by(self, marks: &Marks, pin: Option<&Pin>) {
        loop {
            let phase = marks.phase();
            let free = self.free_bytes();
            let (telling, then) = match phase {
                WELL if free < marks.low => (TELLING_LOW, LOW),
                LOW if free >= marks.high => (TELLING_RECOVERED, WELL),
                _ => return,
            };
            let mut has_told = false;
            self.with_outside(pin, |outside| {
                has_told = true;
                if marks.begin(phase, telling) {
                    let _call = Call { marks, then };
                    outside.told.tell(telling == TELLING_LOW);
                }
            });
            if !has_told {
                return;
            }
        }
    }

    /// Bytes that neither mbufs nor threads' caches have: free slabs, and of others the blocks that are at home, in the depot or not
    /// carved. Exact when the pool is quiet.
    fn free_bytes(self) -> u64 {
        let state = self.state();
        let spans = state.slabs.counts(Class::SPAN).slabs * state.classes.slab_bytes();
        let of_class = |class| {
            let counts = state.slabs.counts(class);
            let free = counts.home + state.depot.blocks(class);
            // Counted one after the other, so for a moment there may seem to be more free blocks than there are.
            counts.carved.saturating_sub(free) * state.classes.block_bytes(class)
        };
        let used: u64 = state.classes.all().map(of_class).sum();
        state.capacity.saturating_sub(spans + used)
    }
}
