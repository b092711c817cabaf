//! Spans: runs of whole slabs for data that no class carries. A span has one block, its header at the start of its first
//! slab, and goes back to the free slabs as soon as it is freed.

use super::reserve::{Admission, Purpose};
use super::{SlabTable, first_generation};
use crate::arena::{Arena, Offset};
use crate::bits;
use crate::class::{Class, Classes};
use crate::header::Header;

impl SlabTable {
    /// Takes a span for `data` bytes and writes its header. `None` when no run of slabs that are free for `purpose` is long
    /// enough.
    pub(crate) fn take_span(
        &self,
        arena: Arena,
        classes: &Classes,
        purpose: Purpose,
        data: u64,
    ) -> Option<Offset> {
        let length = u32::try_from(classes.span_slabs(data)).ok()?;
        if !self.would_admit(purpose, length) {
            return None;
        }
        // A run that is claimed, in part or refused, and released again was hidden from searches meanwhile.
        let mut move_ = self.transit.begin();
        let mut disturbed = false;
        let taken = self.taken(arena);
        let mut found = bits::claim_run(taken, self.count, length, &mut disturbed);
        if let Some(first) = found
            && self.admit(purpose, length) == Admission::Refused
        {
            bits::release_run(taken, first, length);
            disturbed = true;
            found = None;
        }
        if disturbed {
            move_.moved();
        }
        let first = found?;
        let mut life = 0;
        for index in (first..first + length).rev() {
            let slab = self.slab(arena, index);
            slab.touched.set(1);
            slab.memory.write();
            life = slab.begin_life();
        }
        // SAFETY: S1: the claim made the slabs ours.
        unsafe { self.slab(arena, first).span.set(length) };
        let counts = &self.classes[Class::SPAN.index()];
        counts.slabs.add(length.into());
        counts.carved.add(1);
        let block = self.start(classes, first);
        // SAFETY: the start of a run of slabs that is ours.
        unsafe { Header::carve(arena, block, Class::SPAN, first_generation(life), self.born) };
        #[cfg(feature = "capi")]
        self.note_made(arena, classes, Class::HEADER, first, 0..1);
        Some(block)
    }

    /// Bytes of the span at `block`, which somebody uses meanwhile.
    pub(crate) fn span_bytes(&self, arena: Arena, classes: &Classes, block: Offset) -> u64 {
        let (first, _) = self.place_of(classes, Class::HEADER, block);
        // SAFETY: S1: written before the span was handed out, and not again while it is used.
        let slabs = unsafe { self.slab(arena, first).span.get() };
        u64::from(slabs) * classes.slab_bytes()
    }

    /// Gives a span back and returns how many slabs it had.
    ///
    /// # Safety
    /// `block` came from [`take_span`](Self::take_span) and is the caller's alone.
    pub(crate) unsafe fn give_span(&self, arena: Arena, classes: &Classes, block: Offset) -> u32 {
        let (first, _) = self.place_of(classes, Class::HEADER, block);
        // SAFETY: S1: the span's slabs are the caller's.
        let length = unsafe { self.slab(arena, first).span.get() };
        for index in first..first + length {
            self.slab(arena, index).memory.write();
        }
        let counts = &self.classes[Class::SPAN.index()];
        counts.slabs.subtract(length.into());
        counts.carved.subtract(1);
        counts.given_back.add(length.into());
        #[cfg(feature = "capi")]
        self.forget_made(arena, first);
        self.discharge(length);
        bits::release_run(self.taken(arena), first, length);
        length
    }
}
