//! How a thread finds its cache of a pool, and what becomes of its caches when it ends.
//!
//! A small table in thread-local storage, without a destructor, leads from a pool's identity to the thread's cache. Behind it
//! a list, with one, knows all of the thread's caches: it fills the table, and when the thread ends it returns them. An
//! alloc or a free after that (from another thread-local's destructor) finds neither and goes past the caches.

use super::state::{Core, end_closed, end_if_idle};
use crate::cache::Cache;
use crate::registry::{PoolId, Registry, registry};
use crate::sync::{model_has_failed, thread_static};
use std::cell::{Cell, OnceCell, RefCell};
use std::ptr;

/// How many pools a thread finds its cache of without looking through the list.
const AT_HAND: usize = 4;

struct AtHand {
    key: Cell<u64>,
    cache: Cell<*const Cache>,
}

thread_static! {
    static TABLE: [AtHand; AT_HAND] = [const {
        AtHand {
            key: Cell::new(0),
            cache: Cell::new(ptr::null()),
        }
    }; AT_HAND];
}

thread_static! {
    static ATTACHED: Attached = Attached {
        entries: RefCell::new(Vec::new()),
        registry: OnceCell::new(),
    };
}

/// The calling thread's cache of the pool with `key`, if the table has it.
#[inline(always)]
pub(super) fn find<'a>(key: u64) -> Option<&'a Cache> {
    at_hand(key, |entry| {
        if entry.key.get() != key {
            return None;
        }
        // SAFETY: an entry is made with a cache of the pool with that identity, which is still mapped: the caller holds a
        // handle or an mbuf. Entries go when the thread's caches do.
        unsafe { entry.cache.get().as_ref() }
    })
}

/// What `look` finds in the table's entry for `key`. Only under the model checker does the table end with its thread.
#[inline(always)]
fn at_hand<T>(key: u64, look: impl FnOnce(&AtHand) -> Option<T>) -> Option<T> {
    let found = TABLE.try_with(|table| look(&table[key as usize % AT_HAND]));
    found.ok().flatten()
}

fn remember(key: u64, cache: *const Cache) {
    at_hand(key, |entry| {
        entry.key.set(key);
        entry.cache.set(cache);
        Some(())
    });
}

fn forget(key: u64) {
    at_hand(key, |entry| {
        if entry.key.get() == key {
            entry.key.set(0);
        }
        Some(())
    });
}

struct Entry {
    id: PoolId,
    cache: *const Cache,
}

struct Attached {
    entries: RefCell<Vec<Entry>>,
    registry: OnceCell<&'static Registry>,
}

/// The calling thread's cache of the pool, from the list or newly taken. `None` when the thread is ending, all caches are
/// taken, or the heap has no room for the list.
#[cold]
pub(super) fn attach<'a>(core: Core) -> Option<&'a Cache> {
    let id = core.id();
    let registry = registry();
    end_closed(registry);
    let found = ATTACHED.try_with(|attached| {
        let mut entries = attached.entries.try_borrow_mut().ok()?;
        attached.registry.get_or_init(|| registry);
        if let Some(entry) = entries.iter().find(|entry| entry.id == id) {
            return Some(entry.cache);
        }
        entries.retain(|entry| !registry.has_ended(entry.id));
        entries.try_reserve(1).ok()?;
        let cache = core.state().caches.acquire(core.arena())?;
        entries.push(Entry { id, cache });
        Some(ptr::from_ref(cache))
    });
    let cache = found.ok()??;
    remember(id.raw(), cache);
    // SAFETY: a cache of this pool, whose arena is mapped for the caller's reasons.
    unsafe { cache.as_ref() }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let Some(&registry) = self.registry.get() else {
            return;
        };
        if model_has_failed() {
            return;
        }
        for entry in self.entries.get_mut().drain(..) {
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
                    core.return_cache(cache);
                }
            }
            // A free of this thread's may have been the last without noticing that the handles were going.
            end_if_idle(&pin);
        }
        end_closed(registry);
    }
}
