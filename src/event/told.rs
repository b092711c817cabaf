//! The events, told.

use crate::class::{CLASSES, Class, Classes};
use crate::sync::thread_static;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::{Level, event};

thread_static! {
    /// Whether the thread tells no event just now: it is telling one (E2), or is ending (E3).
    static SILENT: Cell<bool> = Cell::new(false);
}

/// Hands one event to the subscriber.
fn tell(event: impl FnOnce()) {
    // An error: the thread is ending (E3).
    let _ = SILENT.try_with(|silent| {
        if !silent.replace(true) {
            // E4. Nothing of ours is in the closure but numbers.
            let _ = catch_unwind(AssertUnwindSafe(event));
            silent.set(false);
        }
    });
}

/// The thread has returned its caches and tells nothing any more (E3).
pub(crate) fn end_thread() {
    let _ = SILENT.try_with(|silent| silent.set(true));
}

/// What a step has done on its way, to be told when it is complete (E1).
#[derive(Debug)]
pub(crate) struct Notes {
    /// Who took slabs, and how many.
    taken: Option<(Class, u64)>,
    stolen: Option<Class>,
    /// How many slabs each class gave back.
    given_back: Option<[u32; CLASSES]>,
}

impl Notes {
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            taken: None,
            stolen: None,
            given_back: None,
        }
    }

    /// `class` took free slabs. A step takes at most once.
    pub(crate) fn slabs_taken(&mut self, class: Class, slabs: u64) {
        self.taken = Some((class, slabs));
    }

    /// A slab of `class` was whole and is anybody's now.
    pub(crate) fn slab_given_back(&mut self, class: Class) {
        self.given_back.get_or_insert([0; CLASSES])[class.index()] += 1;
    }

    /// A spare magazine of `class` was another thread's. A step steals at most once.
    pub(crate) fn spare_stolen(&mut self, class: Class) {
        self.stolen = Some(class);
    }

    /// Tells all of it, in the order in which it happened.
    #[inline]
    pub(crate) fn tell(self, pool: u64, classes: &Classes) {
        if self.taken.is_some() || self.stolen.is_some() || self.given_back.is_some() {
            self.tell_all(pool, classes);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_all(self, pool: u64, classes: &Classes) {
        for class in classes.all() {
            match self.given_back.map(|given_back| given_back[class.index()]) {
                None | Some(0) => {}
                Some(slabs) => slabs_given_back(pool, classes.data_bytes(class), false, slabs),
            }
        }
        if let Some((class, slabs)) = self.taken {
            let span = class == Class::SPAN;
            let data_capacity = if span { 0 } else { classes.data_bytes(class) };
            tell(|| {
                event!(target: "mbuf", Level::DEBUG, pool, data_capacity, span, slabs, "slabs taken");
            });
        }
        if let Some(class) = self.stolen {
            let data_capacity = classes.data_bytes(class);
            let blocks = classes.magazine(class);
            tell(|| {
                event!(target: "mbuf", Level::DEBUG, pool, data_capacity, blocks, "spare stolen");
            });
        }
    }
}

fn slabs_given_back(pool: u64, data_capacity: u64, span: bool, slabs: u32) {
    tell(|| {
        event!(target: "mbuf", Level::DEBUG, pool, data_capacity, span, slabs, "slabs given back");
    });
}

/// A span was freed, and with it its slabs.
pub(crate) fn span_given_back(pool: u64, slabs: u32) {
    slabs_given_back(pool, 0, true, slabs);
}

/// An allocation of `class` has failed: of `data_capacity` bytes, those of the class or of the span that was asked for.
pub(crate) fn exhausted(pool: u64, class: Class, data_capacity: u64) {
    let span = class == Class::SPAN;
    tell(|| {
        event!(target: "mbuf", Level::WARN, pool, data_capacity, span, "pool exhausted");
    });
}

/// The memory of free slabs went back to the system.
pub(crate) fn trimmed(pool: u64, bytes: u64) {
    tell(|| {
        event!(target: "mbuf", Level::DEBUG, pool, bytes, "pool trimmed");
    });
}

/// A pool was built.
pub(crate) fn pool_built(pool: u64, capacity: u64, reserved: u64, slab_bytes: u64) {
    tell(|| {
        event!(target: "mbuf", Level::INFO, pool, capacity, reserved, slab_bytes, "pool built");
    });
}

/// A pool has neither handles nor mbufs left: its memory goes as soon as nobody looks at it.
pub(crate) fn pool_ended(pool: u64) {
    tell(|| {
        event!(target: "mbuf", Level::INFO, pool, "pool ended");
    });
}
