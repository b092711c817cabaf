//! How a pool is made: its options, and the plan of its arena.

use super::Pool;
use super::marks::Marks;
use super::state::{State, end_closed};
use crate::arena::{self, HugePages, Mapping, Plan};
use crate::cache::{CacheTable, MAGAZINE_MAX};
use crate::class::{Class, Classes};
use crate::depot::Depot;
use crate::error::BuildError;
use crate::event;
use crate::heap;
use crate::pressure::{Outside, Told};
use crate::registry::{Pin, registry};
use crate::slab::SlabTable;
use std::sync::Arc;

/// Options for a new [`Pool`].
///
/// # Example
/// ```
/// use mbuf::{HugePages, Pool};
///
/// let pool = Pool::builder()
///     .capacity(64 << 20)
///     .magazine_size(32)
///     .huge_pages(HugePages::Transparent)
///     .prefault(true)
///     .build()?;
/// assert_eq!(pool.stats().capacity, 64 << 20);
/// # Ok::<(), mbuf::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until build is called"]
pub struct PoolBuilder {
    capacity: u64,
    magazine_size: Option<u32>,
    huge_pages: HugePages,
    prefault: bool,
    urgent_reserve: u64,
    /// The low and the high one.
    watermarks: (u64, u64),
    told: Told,
}

/// Bytes of address space for each cache that the pool has room for: one thread in so many bytes of capacity.
const BYTES_PER_CACHE: u64 = 256 << 10;

impl PoolBuilder {
    /// 8 GiB: room for one mbuf of 4 GiB and much else.
    #[cfg(not(loom))]
    const DEFAULT_CAPACITY: u64 = 8 << 30;
    /// Under the model checker four slabs.
    #[cfg(loom)]
    const DEFAULT_CAPACITY: u64 = 4 * crate::class::LOOM_SLAB;
    const DEFAULT_MAGAZINE: u32 = if cfg!(loom) { MAGAZINE_MAX as u32 } else { 64 };

    pub(super) fn new() -> Self {
        Self {
            capacity: Self::DEFAULT_CAPACITY,
            magazine_size: None,
            huge_pages: HugePages::default(),
            prefault: false,
            urgent_reserve: 0,
            watermarks: (0, 0),
            told: Told::default(),
        }
    }

    /// How much memory mbufs may take, headers included: from 1 byte to 256 GiB. Rounded up to whole slabs, of which a
    /// pool has at least one. Default 8 GiB.
    ///
    /// This is address space: memory is used as it is touched. A pool's tables take more of it, 2 MiB and 15 % with the default
    /// options and up to half with magazines of 1 block, and are touched as needed, too. What with its tables would be
    /// over 256 GiB has so much less capacity.
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = bytes;
        self
    }

    /// How many blocks a thread keeps at hand at most, twice over, for each size: from 1 to 128. Default 64, but no more than
    /// an eighth of the number of slabs, for an idle thread's blocks keep the slabs they lie in from other sizes.
    ///
    /// Larger magazines exchange less often with other threads; smaller ones keep less memory from them. Large blocks
    /// come in smaller magazines, of a quarter of a slab at most.
    pub fn magazine_size(mut self, blocks: u32) -> Self {
        self.magazine_size = Some(blocks);
        self
    }

    /// What pages the slabs use. Default [`HugePages::Never`].
    pub fn huge_pages(mut self, pages: HugePages) -> Self {
        self.huge_pages = pages;
        self
    }

    /// Whether all of the capacity is touched at build, so that no use of it meets a page fault. Default no.
    ///
    /// [`Pool::reserve`] does the same for as many mbufs as are needed.
    pub fn prefault(mut self, prefault: bool) -> Self {
        self.prefault = prefault;
        self
    }

    /// Sets `bytes` of the capacity, rounded up to whole slabs, aside for [urgent](crate::Layout::urgent) allocations: the work
    /// that has to be done to free memory, say, or the message that says that there is none. Default none.
    ///
    /// Other allocations are [exhausted](crate::AllocError::Exhausted) when so much is left. Urgent ones use the reserve last, too.
    /// What is set aside is slabs: one that an urgent allocation opened serves urgent ones of its size alone until all of its
    /// blocks are free, and then is set aside again.
    ///
    /// # Cost
    /// None for alloc and free: the reserve is looked at when a slab is opened. An mbuf of the reserve is freed past the thread's
    /// cache, which takes some ten times as long.
    pub fn urgent_reserve(mut self, bytes: u64) -> Self {
        self.urgent_reserve = bytes;
        self
    }

    /// When to call [`on_low`](Self::on_low) and [`on_recovered`](Self::on_recovered): when less than `low` bytes are free, and when,
    /// after that, `high` bytes or more are free again. Default never.
    ///
    /// The calls alternate, beginning with `on_low`, and never overlap. What crosses both marks during a call, back and
    /// forth, is not told.
    ///
    /// Free are bytes of free slabs and, in other slabs, of free blocks that all threads can take, headers included, the
    /// [reserve](Self::urgent_reserve) too. What threads keep at hand, up to two magazines each for each size, is not, though
    /// its mbufs were freed. The pool is looked at when a thread takes blocks from where all can, or brings some there: at each
    /// exchange of a magazine or slab, at large mbufs, at [`trim`](Pool::trim), and when a thread ends. So the calls come up to
    /// so much too early or too late: choose marks that are far apart beside what magazines hold.
    ///
    /// # Cost
    /// Each exchange, once in a magazine's worth of allocs or frees, sums up what all sizes have, a few hundred loads. What is
    /// fast costs nothing.
    ///
    /// # Example
    /// ```
    /// use mbuf::Pool;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let slow_down = Arc::new(AtomicBool::new(false));
    /// let (low, recovered) = (slow_down.clone(), slow_down.clone());
    /// let pool = Pool::builder()
    ///     .capacity(64 << 20)
    ///     .watermarks(8 << 20, 16 << 20)
    ///     .on_low(move || low.store(true, Ordering::Relaxed))
    ///     .on_recovered(move || recovered.store(false, Ordering::Relaxed))
    ///     .build()?;
    ///
    /// let mut held = Vec::new();
    /// while !slow_down.load(Ordering::Relaxed) {
    ///     held.push(pool.alloc(2048)?);
    /// }
    /// drop(held);
    /// assert!(!slow_down.load(Ordering::Relaxed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watermarks(mut self, low: u64, high: u64) -> Self {
        self.watermarks = (low, high);
        self
    }

    /// What to call when the pool [runs low](Self::watermarks), on the thread that notices, in the middle of an alloc or free.
    ///
    /// It may use the pool: alloc, free, trim. It should be quick. A panic in it ends there, with its message. Once the pool's last handle is gone nobody is
    /// called, except for a call that is under way then. So a call had better hold no handle on its own pool, which
    /// would keep it open for ever.
    pub fn on_low(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.told.low = Some(Arc::new(call));
        self
    }

    /// What to call when the pool has [recovered](Self::watermarks) after it was low; as [`on_low`](Self::on_low).
    pub fn on_recovered(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.told.recovered = Some(Arc::new(call));
        self
    }

    /// Makes the pool.
    ///
    /// # Errors
    /// [`BuildError::Capacity`], [`BuildError::MagazineSize`], [`BuildError::UrgentReserve`] and [`BuildError::Watermarks`] for
    /// options out of their range, the rest when the system refuses.
    pub fn build(self) -> Result<Pool, BuildError> {
        self.build_to(false)
    }

    /// Makes the pool, such that it can be [kept](Pool::keep) or not.
    pub(crate) fn build_to(self, keep: bool) -> Result<Pool, BuildError> {
        if !heap::has_room() {
            return Err(BuildError::TooManyPools);
        }
        // A pool that ended unnoticed may hold the address space that this one needs.
        end_closed(registry());
        if self.capacity == 0 || self.capacity > arena::MAX_BYTES {
            let asked = self.capacity;
            return Err(BuildError::Capacity { asked });
        }
        let magazine_size = match self.magazine_size {
            Some(asked) if asked == 0 || asked as usize > MAGAZINE_MAX => {
                return Err(BuildError::MagazineSize { asked });
            }
            Some(asked) => asked,
            None if cfg!(loom) => Self::DEFAULT_MAGAZINE,
            None => Classes::fair_magazine(self.capacity, Self::DEFAULT_MAGAZINE),
        };
        let classes = Classes::of_pool(self.capacity, magazine_size);
        let mut parts = Parts::within_bounds(&classes, self.capacity, magazine_size);
        if self.urgent_reserve > u64::from(parts.slabs.count() - 1) * classes.slab_bytes() {
            let asked = self.urgent_reserve;
            return Err(BuildError::UrgentReserve { asked });
        }
        parts.slabs = parts.slabs.with_reserve(&classes, self.urgent_reserve);
        let (low, high) = self.watermarks;
        if low > high || high > u64::from(parts.slabs.count()) * classes.slab_bytes() {
            return Err(BuildError::Watermarks);
        }
        if keep {
            parts.slabs = parts.slabs.watched();
        }
        #[cfg(feature = "capi")]
        if keep && let Some(pin) = registry().register_again(parts.bytes) {
            // Not built yet: if that fails, the pin leaves the place to others.
            let mapping = pin.mapping();
            self.prepare(&mapping, &classes, &parts)?;
            return Ok(self.start(pin, classes, parts));
        }
        let mapping = Mapping::reserve(parts.bytes)?;
        if let Err(error) = self.prepare(&mapping, &classes, &parts) {
            mapping.unmap();
            return Err(error);
        }
        let pin = registry().register(mapping, keep);
        let pin = pin.ok_or(BuildError::TooManyPools)?;
        Ok(self.start(pin, classes, parts))
    }

    fn prepare(
        &self,
        mapping: &Mapping,
        classes: &Classes,
        parts: &Parts,
    ) -> Result<(), BuildError> {
        let start = parts.slabs.first().bytes() as u64;
        let bytes = u64::from(parts.slabs.count()) * classes.slab_bytes();
        let whole_pages = match self.huge_pages {
            HugePages::Explicit => bytes.next_multiple_of(arena::HUGE),
            HugePages::Never | HugePages::Transparent => bytes,
        };
        mapping.choose_pages(start, whole_pages, self.huge_pages)?;
        if self.prefault {
            mapping.populate(start, bytes)?;
        }
        Ok(())
    }

    /// Builds the pool in its pinned arena.
    fn start(self, pin: Pin, classes: Classes, parts: Parts) -> Pool {
        let reserved = parts.bytes;
        let (number, arena) = (pin.id().raw(), pin.arena());
        let slab_bytes = classes.slab_bytes();
        let capacity = u64::from(parts.slabs.count()) * slab_bytes;
        // SAFETY: the mapping was made by this plan, and nobody can pin the pool before it is opened.
        unsafe {
            parts.caches.lay_out(arena);
            parts.depot.lay_out(arena);
            parts.slabs.lay_out(arena);
            if self.prefault {
                parts.slabs.note_touched(arena);
            }
            let state = State::new(
                pin.id(),
                reserved,
                classes,
                parts.slabs,
                parts.depot,
                parts.caches,
                Marks::new(self.watermarks.0, self.watermarks.1),
            );
            arena.base().cast().write(state);
        }
        pin.equip(Box::new(Outside::new(self.told)));
        pin.open();
        // SAFETY: built, and the pin is the registration's own.
        let pool = unsafe { Pool::from_pin(pin) };
        event::pool_built(number, capacity, reserved, slab_bytes);
        pool
    }
}

/// The parts of a pool, planned.
struct Parts {
    bytes: u64,
    slabs: SlabTable,
    depot: Depot,
    caches: CacheTable,
}

impl Parts {
    /// Plans as many slabs of `capacity` as fit, with their tables, into what offsets can name.
    fn within_bounds(classes: &Classes, capacity: u64, magazine_size: u32) -> Self {
        let mut slabs = capacity.div_ceil(classes.slab_bytes());
        loop {
            let parts = Self::plan(classes, slabs as u32, magazine_size);
            if parts.bytes <= arena::MAX_BYTES {
                return parts;
            }
            // The tables shrink with the slabs, so by this part of them the plan comes just about down to the bound.
            let excess = u128::from(parts.bytes - arena::MAX_BYTES);
            let too_many = u128::from(slabs) * excess / u128::from(parts.bytes);
            slabs -= (too_many as u64).max(1);
        }
    }

    fn plan(classes: &Classes, slabs: u32, magazine_size: u32) -> Self {
        let capacity = u64::from(slabs) * classes.slab_bytes();
        let mut plan = Plan::after(size_of::<State>());
        let caches = CacheTable::plan(&mut plan, cache_count(capacity));
        let magazines = magazine_count(classes, capacity) as u32;
        let depot = Depot::plan(&mut plan, magazines, magazine_size);
        let slabs = SlabTable::plan(&mut plan, classes, slabs, arena::HUGE);
        Self {
            bytes: plan.len().next_multiple_of(arena::HUGE),
            slabs,
            depot,
            caches,
        }
    }
}

/// How many threads can have a cache at once; any more go past the caches.
fn cache_count(capacity: u64) -> u32 {
    let most = if cfg!(loom) { 3 } else { 4096 };
    let least = if cfg!(loom) { 3 } else { 64 };
    (capacity / BYTES_PER_CACHE).clamp(least, most) as u32
}

/// Magazines for all blocks there can be, whatever the class, and some more.
fn magazine_count(classes: &Classes, capacity: u64) -> u64 {
    let full = |class: Class| {
        let bytes = classes.block_bytes(class) * u64::from(classes.magazine(class));
        capacity.div_ceil(bytes)
    };
    let most = classes.all().map(full).max().unwrap_or(0);
    most + if cfg!(loom) { 1 } else { 64 }
}
