//! How a thread finds its cache of a pool, and what becomes of its caches when it ends.
//!
//! A small table in thread-local storage, without a destructor, leads from a pool's identity to the thread's cache. Behind it
//! a list, with one, knows all of the thread's caches: it fills the table, and when the thread ends it returns them. An
//! alloc or a free after that (from another thread-local's destructor) finds neither and goes past the caches.

use super::state::{Core, end_closed, end_if_idle};
use crate::cache::Cache;
use crate::event;
use crate::heap;
use crate::registry::{PoolId, Registry, registry};
use crate::sync::{ThreadWords, late_end, model_has_failed, thread_static};
use std::cell::{Cell, OnceCell, RefCell};
use std::ptr::{self, NonNull};

/// How many pools a thread finds its cache of without looking through the list.
const AT_HAND: usize = 4;

/// The thread's cache of the pool with `key`; 0 is no pool's.
struct AtHand {
    key: Cell<u64>,
    cache: Cell<*const Cache>,
}

/// By what the key is over [`AT_HAND`]. The pool used last is beside it, in the thread's two words, at a place that is known
/// beforehand: with one that is computed from the key the cache's address would wait for the key, and that for the header of the
/// mbuf that is freed.
struct Table([AtHand; AT_HAND]);

thread_static! {
    static TABLE: Table = Table([const { AtHand::nothing() }; AT_HAND]);
}

thread_static! {
    static ATTACHED: Attached = Attached {
        entries: RefCell::new(Vec::new()),
        registry: OnceCell::new(),
        ended: Cell::new(false),
    };
}

impl AtHand {
    const fn nothing() -> Self {
        Self {
            key: Cell::new(0),
            cache: Cell::new(ptr::null()),
        }
    }
}

/// What `look` finds at the key's place. Only under the model checker does the table end with its thread.
fn at_place<T>(key: u64, look: impl FnOnce(&AtHand) -> Option<T>) -> Option<T> {
    TABLE
        .try_with(|table| look(&table.0[key as usize % AT_HAND]))
        .ok()
        .flatten()
}

/// The calling thread's cache of the pool with `key`, if that is the pool it used last.
#[inline(always)]
pub(super) fn find<'a>(key: u64) -> Option<&'a Cache> {
    let (latest, cache) = ThreadWords::read();
    if latest != key {
        return None;
    }
    // A pool of C's that somebody destroys meanwhile has zeros for a key, which are also those of a thread that used no pool.
    #[cfg(feature = "capi")]
    NonNull::new(cache.cast_mut())?;
    // SAFETY: noted with a cache of the pool with that identity, which is still mapped: the caller holds a handle or an
    // mbuf. What is noted goes when the thread's caches do.
    unsafe { Some(NonNull::new_unchecked(cache.cast_mut()).cast().as_ref()) }
}

fn find_from_now_on(key: u64, cache: *const Cache) {
    ThreadWords::with(|latest| {
        latest.number.set(key);
        latest.address.set(cache.cast());
    });
}

/// The pool that the calling thread used last.
#[cfg(feature = "capi")]
pub(super) fn latest() -> Option<PoolId> {
    let (key, _) = ThreadWords::read();
    (key != 0).then(|| PoolId::from_raw(key))
}

/// The calling thread's cache of the pool with `key`, if the table has it, for [`find`] to find from now on.
fn recall<'a>(key: u64) -> Option<&'a Cache> {
    let cache = at_place(key, |place| {
        (place.key.get() == key).then(|| place.cache.get())
    })?;
    find_from_now_on(key, cache);
    // SAFETY: as in `find`.
    unsafe { cache.as_ref() }
}

fn remember(key: u64, cache: &Cache) {
    at_place(key, |place| {
        place.key.set(key);
        place.cache.set(cache);
        Some(())
    });
    find_from_now_on(key, cache);
}

fn forget(key: u64) {
    at_place(key, |place| {
        if place.key.get() == key {
            place.key.set(0);
        }
        Some(())
    });
    ThreadWords::with(|latest| {
        if latest.number.get() == key {
            latest.number.set(0);
        }
    });
}

struct Entry {
    id: PoolId,
    cache: *const Cache,
}

struct Attached {
    entries: RefCell<Vec<Entry>>,
    registry: OnceCell<&'static Registry>,
    /// Whether the thread has ended as far as caches go, though its thread-locals' destructors were not called.
    ended: Cell<bool>,
}

/// The calling thread's cache of the pool, from the table, from the list, or newly taken. `None` when the thread is ending,
/// all caches are taken, or the heap has no room for the list.
#[cold]
pub(super) fn attach<'a>(core: Core) -> Option<&'a Cache> {
    let id = core.id();
    if let Some(cache) = recall(id.raw()) {
        return Some(cache);
    }
    // The first look at the list has its destructor registered.
    if !heap::has_room() {
        return None;
    }
    let registry = registry();
    let found = ATTACHED.try_with(|attached| {
        if attached.ended.get() {
            return None;
        }
        let mut entries = attached.entries.try_borrow_mut().ok()?;
        attached.registry.get_or_init(|| registry);
        if let Some(entry) = entries.iter().find(|entry| entry.id == id) {
            return Some((entry.cache, false));
        }
        entries.retain(|entry| !registry.has_ended(entry.id));
        entries.try_reserve(1).ok()?;
        let cache = core.state().caches.acquire(core.arena())?;
        if entries.is_empty() {
            late_end::arm(end_late);
        }
        entries.push(Entry { id, cache });
        Some((ptr::from_ref(cache), true))
    });
    let (cache, is_new) = found.ok()??;
    // SAFETY: a cache of this pool, whose arena is mapped for the caller's reasons.
    let cache = unsafe { cache.as_ref()? };
    remember(id.raw(), cache);
    if is_new {
        // When the list is free again, for the end of a pool is an event (E1).
        end_closed(registry);
    }
    Some(cache)
}

/// The calling thread's cache of the pool, if it has one, whether the pool still has handles or not.
#[cold]
pub(super) fn existing<'a>(core: Core) -> Option<&'a Cache> {
    let id = core.id();
    let found = ATTACHED.try_with(|attached| {
        let entries = attached.entries.try_borrow().ok()?;
        let entry = entries.iter().find(|entry| entry.id == id)?;
        Some(entry.cache)
    });
    // SAFETY: a cache of this pool, whose arena is mapped for the caller's reasons.
    unsafe { found.ok()??.as_ref() }
}

impl Drop for Attached {
    fn drop(&mut self) {
        late_end::disarm();
        self.end();
    }
}

/// For a thread that first used a pool when thread-locals' destructors had been called.
fn end_late() {
    // Otherwise they were called, and this was disarmed.
    let _ = ATTACHED.try_with(|attached| {
        attached.ended.set(true);
        attached.end();
    });
}

impl Attached {
    /// Returns the thread's caches.
    fn end(&self) {
        let Some(&registry) = self.registry.get() else {
            return;
        };
        if model_has_failed() {
            return;
        }
        event::end_thread();
        for entry in self.entries.take() {
            forget(entry.id.raw());
            // A pool that has ended took its caches along.
            let Some(pin) = registry.pin(entry.id) else {
                continue;
            };
            // SAFETY: a registered pool's arena, mapped while the pin exists; the cache is this thread's (C1).
            unsafe {
                let core = Core::new(pin.arena());
                let cache = &*entry.cache;
                if cache.detach() {
                    core.return_cache(cache, &pin);
                }
            }
            // A free of this thread's may have been the last without noticing that the handles were going.
            end_if_idle(&pin);
        }
        end_closed(registry);
    }
}
