//! The parts of a pool, put together by hand: for the unit tests, and for the models that mount this file.

use crate::arena::{Arena, HUGE, Mapping, Offset, Plan};
use crate::cache::{Backing, CacheTable};
use crate::class::{Class, Classes};
use crate::depot::Depot;
use crate::event::Notes;
use crate::header::Header;
use crate::slab::{Purpose, SlabTable};
use crate::sync::Arc;

/// Bare headers.
pub(crate) const HEADER: Class = Class::HEADER;

/// The class with 64 bytes of data.
pub(crate) fn data_class() -> Class {
    Class::of(64)
}

/// A pool's parts on an arena of their own.
pub(crate) struct Parts {
    pub(crate) arena: Arena,
    pub(crate) classes: Classes,
    pub(crate) slabs: SlabTable,
    pub(crate) depot: Depot,
    pub(crate) caches: CacheTable,
    mapping: Option<Mapping>,
}

impl Parts {
    /// Parts with `slabs` slabs of the smallest size, two caches and six magazines of two blocks.
    pub(crate) fn new(slabs: u32) -> Arc<Self> {
        Self::with_reserve(slabs, 0)
    }

    /// As [`new`](Self::new), with a reserve of `reserve` of the slabs.
    pub(crate) fn with_reserve(slabs: u32, reserve: u32) -> Arc<Self> {
        let classes = Classes::of_pool(1, 2);
        let mut plan = Plan::after(64);
        let caches = CacheTable::plan(&mut plan, 2);
        let depot = Depot::plan(&mut plan, 6, 2);
        let reserve = u64::from(reserve) * classes.slab_bytes();
        let slabs = SlabTable::plan(&mut plan, &classes, slabs, HUGE);
        let slabs = slabs.with_reserve(&classes, reserve);
        let mapping = Mapping::reserve(plan.len()).unwrap();
        // SAFETY: mapped until the parts are dropped.
        let arena = unsafe { Arena::from_base(mapping.base()) };
        // SAFETY: the arena is this plan's, and nobody knows of it yet.
        unsafe {
            caches.lay_out(arena);
            depot.lay_out(arena);
            slabs.lay_out(arena);
        }
        Arc::new(Self {
            arena,
            classes,
            slabs,
            depot,
            caches,
            mapping: Some(mapping),
        })
    }

    pub(crate) fn backing(&self) -> Backing<'_> {
        Backing {
            arena: self.arena,
            classes: &self.classes,
            slabs: &self.slabs,
            depot: &self.depot,
        }
    }

    pub(crate) fn header(&self, block: Offset) -> &Header {
        // SAFETY: the models ask for carved blocks only.
        unsafe { self.arena.get(block) }
    }

    /// Takes up to `want` blocks of `class` from slabs it has.
    pub(crate) fn take(&self, class: Class, want: u32) -> Vec<Offset> {
        let mut blocks = Vec::new();
        let mut put = |block| blocks.push(block);
        let (classes, purpose) = (&self.classes, Purpose::Ordinary);
        self.slabs
            .take(self.arena, classes, class, purpose, want, &mut put);
        blocks
    }

    /// Opens a slab for `class` and takes up to `want` blocks.
    pub(crate) fn open(&self, class: Class, want: u32) -> Vec<Offset> {
        self.open_for(Purpose::Ordinary, class, want)
    }

    /// As [`open`](Self::open), for `purpose`.
    pub(crate) fn open_for(&self, purpose: Purpose, class: Class, want: u32) -> Vec<Offset> {
        let mut blocks = Vec::new();
        let mut put = |block| blocks.push(block);
        self.slabs
            .open(self.arena, &self.classes, class, purpose, want, &mut put);
        blocks
    }

    /// Takes up to `want` blocks of `class`, by opening a slab if there are none.
    pub(crate) fn take_or_open(&self, class: Class, want: u32) -> Vec<Offset> {
        let blocks = self.take(class, want);
        if blocks.is_empty() {
            self.open(class, want)
        } else {
            blocks
        }
    }

    /// Takes the slabs that are whole from their classes, and returns how many.
    pub(crate) fn reclaim(&self) -> u32 {
        self.slabs.reclaim(self.arena, &mut Notes::new())
    }

    /// Gives blocks home.
    pub(crate) fn give(&self, class: Class, blocks: &[Offset]) {
        let mut raw: Vec<u32> = blocks.iter().map(|block| block.raw()).collect();
        self.slabs.give(self.arena, &self.classes, class, &mut raw);
    }

    /// How many blocks of `class` a slab has.
    pub(crate) fn per_slab(&self, class: Class) -> usize {
        self.classes.blocks_per_slab(class) as usize
    }

    /// Fails unless every carved block of `class` is at home or among `out`, none twice.
    pub(crate) fn assert_conserved(&self, class: Class, out: &[Offset]) {
        let counts = self.slabs.counts(class);
        assert_eq!(
            counts.carved,
            counts.home + out.len() as u64,
            "carved = home + out"
        );
        let mut all: Vec<u32> = out.iter().map(|block| block.raw()).collect();
        loop {
            let more = self.take(class, 1);
            if more.is_empty() {
                break;
            }
            all.extend(more.iter().map(|block| block.raw()));
        }
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number, "a block was handed out twice");
        assert_eq!(
            number as u64,
            self.slabs.counts(class).slabs * self.per_slab(class) as u64,
            "a block cannot be found"
        );
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            mapping.unmap();
        }
    }
}
