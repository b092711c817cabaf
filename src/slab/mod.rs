//! Slabs: equal parts of the arena, each taken by one class, carved from its start as blocks are needed, and given
//! back when all its blocks are home.
//!
//! Bitmaps, not linked lists, say which slabs are taken, which have room for a class and which blocks of a slab are
//! home. They lie in the pool's tables, so a thread that looks at a slab late never reads memory that has become
//! somebody's data, and there is nothing to be removed from the middle of.
//!
//! Invariants:
//!
//! * **S1** A slab belongs to who set its `taken` bit, until a class opens it; to its class while its state says so;
//!   to who got it by `leave`, until its `taken` bit is cleared.
//! * **S2** `carved = home + out` per slab, where `out` blocks are in magazines or in use; a slab leaves its class only
//!   when `out` is 0.
//! * **S3** The set bits of a slab's bitmap are at least as many as its home count and the takers under way.
//! * **S4** A slab with room has its bit in the room set of its class, or somebody is about to set it, announced to
//!   searches by a [`Move`](transit::Move).
//! * **S5** A block of a slab that a class or a span has is noted as made when its header is written: before that, what lies there
//!   may be anybody's old data.

#[cfg(feature = "capi")]
mod check;
mod reserve;
mod span;
mod state;
pub(crate) mod transit;

#[cfg(feature = "capi")]
use crate::arena::GRANULE;
use crate::arena::{Arena, InArena, Offset, Plan};
use crate::bits::{self, Bits, WORD};
use crate::class::{CLASSES, Class, Classes};
use crate::event::Notes;
use crate::header::{HEADER, Header, flags};
use crate::sync::{AtomicU32, Backoff, Field, Ordering, Published32, Tally, Witness};
#[cfg(feature = "capi")]
pub(crate) use check::Found;
use reserve::Admission;
pub(crate) use reserve::Purpose;
use state::{SlabState, Taken};
use std::ops::Range;
use transit::Transit;

/// What the pool knows of one slab.
#[repr(C)]
#[derive(Debug)]
struct Slab {
    state: SlabState,
    /// How often the slab was taken, by a class or as a part of a span: it tells one life of it from another, and where the
    /// generations of its blocks start. Written by its owner (S1).
    opened: AtomicU32,
    /// Whether it may have pages of the system's. Written by its owner (S1), a hint to others.
    touched: Published32,
    /// Whether the slab was opened out of the reserve: for urgent allocations alone. Written by its opener (S1).
    is_reserve: Published32,
    /// Of a span's first slab: how many slabs the span has. Its owner's (S1).
    span: Field<u32>,
    /// Stands for the slab's memory: read by who has blocks of it, written by its owner (S1).
    memory: Witness,
}

// SAFETY: integers; zero is a slab never used.
unsafe impl InArena for Slab {
    fn fresh() -> Self {
        Self {
            state: SlabState::fresh(),
            opened: AtomicU32::new(0),
            touched: Published32::new(0),
            is_reserve: Published32::new(0),
            span: Field::new(0),
            memory: Witness::new(),
        }
    }
}

impl Slab {
    /// The slab has a new owner, who is about to write to it (S1). Returns the number of its life.
    fn begin_life(&self) -> u32 {
        // Relaxed: read back what the last owner wrote.
        let life = self.opened.load(Ordering::Relaxed).wrapping_add(1);
        // Release: pairs with the acquire in `SlabTable::block_at`: of blocks of earlier lives nothing is seen.
        self.opened.store(life, Ordering::Release);
        #[cfg(feature = "capi")]
        SlabTable::begin_writing();
        life
    }
}

/// Counts for one class, for information.
#[repr(C, align(64))]
#[derive(Debug)]
struct ClassSlabs {
    carved: Tally,
    home: Tally,
    slabs: Tally,
    given_back: Tally,
    /// The slab that last had room.
    hint: Published32,
}

/// A class's counts, read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlabCounts {
    pub(crate) carved: u64,
    pub(crate) home: u64,
    pub(crate) slabs: u64,
    pub(crate) given_back: u64,
}

/// All slabs of a pool.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct SlabTable {
    slabs: Offset,
    taken: Offset,
    /// One set per class, `set_words` words each.
    room: Offset,
    /// One bitmap per slab, `home_words` words each.
    home: Offset,
    /// A bit for each granule of the slabs: whether a block's header is written there (S5).
    #[cfg(feature = "capi")]
    made: Offset,
    first: Offset,
    /// What the flags of its headers are when they are carved.
    born: u16,
    count: u32,
    set_words: u32,
    home_words: u32,
    /// Of all slabs.
    #[cfg(feature = "capi")]
    granules: u32,
    /// Of one slab, as a shift.
    #[cfg(feature = "capi")]
    granule_shift: u32,
    /// No slab from this one on was ever taken by a class.
    high_water: AtomicU32,
    /// Free slabs (`reserve`), and how many of them ordinary claims leave.
    free: AtomicU32,
    reserve: u32,
    pub(crate) transit: Transit,
    classes: [ClassSlabs; CLASSES],
}

impl SlabTable {
    /// Plans the tables of `count` slabs, and the slabs themselves last, aligned to `align`.
    pub(crate) fn plan(plan: &mut Plan, classes: &Classes, count: u32, align: u64) -> Self {
        let set_words = bits::words(count.into()) as u32;
        let home_words = bits::words(classes.blocks_per_slab(Class::HEADER).into()) as u32;
        #[cfg(feature = "capi")]
        let granules = u64::from(count) * classes.slab_bytes() / GRANULE as u64;
        Self {
            slabs: plan.table::<Slab>(count.into()),
            taken: plan.table::<Bits>(set_words.into()),
            room: plan.table::<Bits>(u64::from(set_words) * CLASSES as u64),
            home: plan.table::<Bits>(u64::from(home_words) * u64::from(count)),
            #[cfg(feature = "capi")]
            made: plan.table::<Bits>(bits::words(granules)),
            first: plan.bytes(u64::from(count) * classes.slab_bytes(), align),
            born: 0,
            count,
            set_words,
            home_words,
            #[cfg(feature = "capi")]
            granules: granules as u32,
            #[cfg(feature = "capi")]
            granule_shift: classes.slab_shift() - GRANULE.ilog2(),
            high_water: AtomicU32::new(0),
            free: AtomicU32::new(count),
            reserve: 0,
            transit: Transit::fresh(),
            classes: std::array::from_fn(|_| ClassSlabs {
                carved: Tally::new(),
                home: Tally::new(),
                slabs: Tally::new(),
                given_back: Tally::new(),
                hint: Published32::new(0),
            }),
        }
    }

    /// The same, with headers that show when they are free (H5).
    pub(crate) fn watched(self) -> Self {
        Self {
            born: flags::WATCHED,
            ..self
        }
    }

    /// Lays the tables out.
    ///
    /// # Safety
    /// `arena` was mapped by the plan and nobody else knows of it yet.
    pub(crate) unsafe fn lay_out(&self, arena: Arena) {
        let sets = self.set_words as usize;
        // SAFETY: the regions were planned for exactly these.
        unsafe {
            arena.lay_out::<Slab>(self.slabs, self.count as usize);
            arena.lay_out::<Bits>(self.taken, sets);
            arena.lay_out::<Bits>(self.room, sets * CLASSES);
            arena.lay_out::<Bits>(self.home, self.home_words as usize * self.count as usize);
            #[cfg(feature = "capi")]
            arena.lay_out::<Bits>(self.made, bits::words(self.granules.into()) as usize);
        }
    }

    /// Notes that the system was made to give all slabs their pages.
    pub(crate) fn note_touched(&self, arena: Arena) {
        for index in 0..self.count {
            self.slab(arena, index).touched.set(1);
        }
    }

    /// Where the slabs start.
    pub(crate) fn first(&self) -> Offset {
        self.first
    }

    /// How many slabs there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    fn slab(&self, arena: Arena, index: u32) -> &Slab {
        debug_assert!(index < self.count);
        // SAFETY: laid out in `lay_out`, and only ever shared.
        unsafe { &arena.slice(self.slabs, self.count as usize)[index as usize] }
    }

    fn taken(&self, arena: Arena) -> &[Bits] {
        // SAFETY: as in `slab`.
        unsafe { arena.slice(self.taken, self.set_words as usize) }
    }

    fn room(&self, arena: Arena, class: Class) -> &[Bits] {
        let words = self.set_words as usize;
        // SAFETY: as in `slab`; one set of `set_words` for each class.
        unsafe { &arena.slice(self.room, words * CLASSES)[class.index() * words..][..words] }
    }

    fn home(&self, arena: Arena, index: u32) -> &[Bits] {
        let words = self.home_words as usize;
        // SAFETY: as in `slab`; one bitmap of `home_words` for each slab.
        unsafe {
            &arena.slice(self.home, words * self.count as usize)[index as usize * words..][..words]
        }
    }

    /// The first byte of slab `index`.
    fn start(&self, classes: &Classes, index: u32) -> Offset {
        self.first.plus(u64::from(index) << classes.slab_shift())
    }

    /// The slab that holds `block`, and which of its blocks that is.
    fn place_of(&self, classes: &Classes, class: Class, block: Offset) -> (u32, u32) {
        let inside = (block.bytes() - self.first.bytes()) as u64;
        let index = inside >> classes.slab_shift();
        let rest = inside & (classes.slab_bytes() - 1);
        (index as u32, classes.block_number(class, rest))
    }

    /// Takes up to `want` blocks of `class` from slabs that it has for `purpose`, and returns how many.
    pub(crate) fn take(
        &self,
        arena: Arena,
        classes: &Classes,
        class: Class,
        purpose: Purpose,
        want: u32,
        sink: &mut impl FnMut(Offset),
    ) -> u32 {
        let room = self.room(arena, class);
        let counts = &self.classes[class.index()];
        let hint = counts.hint.get();
        // Relaxed is enough for the mark: a slab opened before this call, as seen from here, is seen in it.
        let limit = self.high_water.load(Ordering::Relaxed);
        let members =
            || bits::members(room, limit, hint).filter(|&index| self.serves(arena, index, purpose));
        // Home blocks anywhere come before new ones, so that a class does not grow while it has free blocks.
        if counts.home.get() > 0 {
            let with_home = |&index: &u32| self.slab(arena, index).state.has_home(class);
            for index in members().filter(with_home) {
                let taken = self.take_from(arena, classes, class, index, want, sink);
                if taken > 0 {
                    return taken;
                }
            }
        }
        for index in members() {
            let taken = self.take_from(arena, classes, class, index, want, sink);
            if taken > 0 {
                if index != hint {
                    counts.hint.set(index);
                }
                return taken;
            }
            self.unlist(arena, classes, class, index);
        }
        0
    }

    /// Opens a free slab for `class`, takes up to `want` of its blocks, and returns how many: 0 when no slab is free for `purpose`.
    pub(crate) fn open(
        &self,
        arena: Arena,
        classes: &Classes,
        class: Class,
        purpose: Purpose,
        want: u32,
        sink: &mut impl FnMut(Offset),
    ) -> u32 {
        let taken = self.taken(arena);
        if !bits::any_free(taken, self.count) || !self.would_admit(purpose, 1) {
            return 0;
        }
        // Until it is listed, the rest of the slab is hidden from searches.
        let mut move_ = self.transit.begin();
        let Some(index) = bits::claim(taken, self.count) else {
            return 0;
        };
        let admission = self.admit(purpose, 1);
        if admission == Admission::Refused {
            bits::release(taken, index);
            move_.moved();
            return 0;
        }
        let slab = self.slab(arena, index);
        slab.begin_life();
        slab.touched.set(1);
        slab.is_reserve
            .set((admission == Admission::Reserve).into());
        slab.memory.write();
        self.high_water.fetch_max(index + 1, Ordering::Relaxed);
        let counts = &self.classes[class.index()];
        counts.slabs.add(1);
        counts.hint.set(index);
        let carved = want.min(classes.blocks_per_slab(class));
        slab.state.open(class, carved);
        self.carve(arena, classes, class, index, 0..carved, sink);
        bits::add(self.room(arena, class), index);
        move_.moved();
        carved
    }

    fn take_from(
        &self,
        arena: Arena,
        classes: &Classes,
        class: Class,
        index: u32,
        want: u32,
        sink: &mut impl FnMut(Offset),
    ) -> u32 {
        let blocks_per_slab = classes.blocks_per_slab(class);
        match self
            .slab(arena, index)
            .state
            .take(class, want, blocks_per_slab)
        {
            Taken::Home(count) => {
                self.collect(arena, index, count, &mut |number| {
                    sink(self.block(classes, class, index, number));
                });
                let counts = &self.classes[class.index()];
                counts.home.subtract(count.into());
                count
            }
            Taken::Carved { first, count } => {
                self.carve(arena, classes, class, index, first..first + count, sink);
                count
            }
            Taken::Full | Taken::NotOurs => 0,
        }
    }

    /// Makes blocks `numbers` of a slab, which the caller has counted carved and which are its own.
    fn carve(
        &self,
        arena: Arena,
        classes: &Classes,
        class: Class,
        index: u32,
        numbers: Range<u32>,
        sink: &mut impl FnMut(Offset),
    ) {
        let carved = &self.classes[class.index()].carved;
        carved.add(numbers.len() as u64);
        // Relaxed: S1: the slab is the class's, so its opener wrote the count before and nobody writes it now.
        let opened = self.slab(arena, index).opened.load(Ordering::Relaxed);
        self.slab(arena, index).memory.read();
        #[cfg(feature = "capi")]
        let made = numbers.clone();
        for number in numbers {
            let block = self.block(classes, class, index, number);
            // SAFETY: the block is the caller's alone.
            unsafe { Header::carve(arena, block, class, first_generation(opened), self.born) };
            sink(block);
        }
        #[cfg(feature = "capi")]
        self.note_made(arena, classes, class, index, made);
    }

    fn block(&self, classes: &Classes, class: Class, index: u32, number: u32) -> Offset {
        self.start(classes, index)
            .plus(u64::from(number) * classes.block_bytes(class))
    }

    /// Picks `count` of a slab's set bits, which are there (S3): the caller has counted them off.
    fn collect(&self, arena: Arena, index: u32, count: u32, found: &mut impl FnMut(u32)) {
        let words = self.home(arena, index);
        let backoff = Backoff::new();
        let mut missing = count;
        loop {
            for (base, word) in (0..).step_by(WORD as usize).zip(words) {
                let mut got = word.remove_some(missing);
                missing -= got.count_ones();
                while got != 0 {
                    found(base + got.trailing_zeros());
                    got &= got - 1;
                }
                if missing == 0 {
                    return;
                }
            }
            // Another taker got ahead in words already passed: it made progress, and the bits left for this one are here.
            backoff.snooze();
        }
    }

    /// Takes a slab that had no room off its class's room set, unless it has some again.
    fn unlist(&self, arena: Arena, classes: &Classes, class: Class, index: u32) {
        let mut move_ = self.transit.begin();
        let room = self.room(arena, class);
        bits::remove(room, index);
        // The removal is ordered against the adder's: either this sees the room that the adder made before, or the adder's
        // bit comes after the removal and stays.
        let blocks = classes.blocks_per_slab(class);
        if self.slab(arena, index).state.has_room(class, blocks) {
            bits::add(room, index);
            move_.moved();
        }
    }

    /// Gives free blocks of `class` home to their slabs. `blocks` is reordered.
    pub(crate) fn give(&self, arena: Arena, classes: &Classes, class: Class, blocks: &mut [u32]) {
        let counts = &self.classes[class.index()];
        counts.home.add(blocks.len() as u64);
        blocks.sort_unstable();
        let place = |raw: u32| {
            let block = Offset::from_raw(raw)?;
            Some(self.place_of(classes, class, block))
        };
        let mut places = blocks.iter().filter_map(|&raw| place(raw)).peekable();
        while let Some((index, number)) = places.next() {
            let words = self.home(arena, index);
            let (mut word, mut mask, mut count) = (number / WORD, 1u64 << (number % WORD), 1);
            while let Some((_, number)) = places.next_if(|&(other, _)| other == index) {
                if number / WORD != word {
                    words[word as usize].add_mask(mask);
                    (word, mask) = (number / WORD, 0);
                }
                mask |= 1 << (number % WORD);
                count += 1;
            }
            words[word as usize].add_mask(mask);
            let slab = self.slab(arena, index);
            slab.memory.read();
            slab.state.give(count);
            // Even if the slab had room before: who made that room may not have listed it yet.
            bits::add(self.room(arena, class), index);
        }
    }

    /// Takes every slab whose blocks are all home from its class, for any class to open. Returns how many.
    pub(crate) fn reclaim(&self, arena: Arena, notes: &mut Notes) -> u32 {
        let limit = self.high_water.load(Ordering::Relaxed);
        bits::members(self.taken(arena), limit, 0)
            .filter(|&index| self.slab(arena, index).state.is_idle())
            .filter_map(|index| self.reclaim_one(arena, index))
            .map(|class| notes.slab_given_back(class))
            .count() as u32
    }

    /// Returns the class that the slab was of.
    fn reclaim_one(&self, arena: Arena, index: u32) -> Option<Class> {
        let mut move_ = self.transit.begin();
        let slab = self.slab(arena, index);
        let (class, carved) = slab.state.leave()?;
        slab.memory.write();
        let counts = &self.classes[class.index()];
        counts.carved.subtract(carved.into());
        counts.home.subtract(carved.into());
        counts.slabs.subtract(1);
        counts.given_back.add(1);
        for word in &self.home(arena, index)[..bits::words(carved.into()) as usize] {
            word.reset();
        }
        #[cfg(feature = "capi")]
        self.forget_made(arena, index);
        // While the slab is still ours: later, the bit might be its next owner's.
        bits::remove(self.room(arena, class), index);
        self.discharge(1);
        bits::release(self.taken(arena), index);
        move_.moved();
        Some(class)
    }

    /// Gives the pages of free slabs back to the system and returns how many bytes that was.
    pub(crate) fn discard_free(&self, arena: Arena, classes: &Classes) -> u64 {
        let taken = self.taken(arena);
        let mut bytes = 0;
        for index in 0..self.count {
            if self.slab(arena, index).touched.get() != 0 && !bits::is_member(taken, index) {
                bytes += self.discard_one(arena, classes, index);
            }
        }
        bytes
    }

    fn discard_one(&self, arena: Arena, classes: &Classes, index: u32) -> u64 {
        let taken = self.taken(arena);
        let mut move_ = self.transit.begin();
        if !bits::claim_one(taken, index) {
            return 0;
        }
        let touched = &self.slab(arena, index).touched;
        self.slab(arena, index).memory.write();
        let bytes = classes.slab_bytes();
        let start = self.start(classes, index);
        // SAFETY: S1: the claim made the slab ours, and free slabs have no content.
        let discarded = touched.get() != 0 && unsafe { arena.discard(start, bytes) };
        if discarded {
            touched.set(0);
        }
        bits::release(taken, index);
        move_.moved();
        if discarded { bytes } else { 0 }
    }

    /// The counts of `class`.
    pub(crate) fn counts(&self, class: Class) -> SlabCounts {
        let counts = &self.classes[class.index()];
        SlabCounts {
            carved: counts.carved.get(),
            home: counts.home.get(),
            slabs: counts.slabs.get(),
            given_back: counts.given_back.get(),
        }
    }
}

/// Where the generations of blocks start in a slab opened for the `opened`th time: scattered, so that a block does not
/// soon reach a generation that a token of an earlier opening names.
fn first_generation(opened: u32) -> u32 {
    opened.wrapping_mul(0x9e37_79b1)
}

const _: () = assert!(HEADER.is_multiple_of(crate::arena::GRANULE));

#[cfg(all(test, not(loom)))]
mod tests;
