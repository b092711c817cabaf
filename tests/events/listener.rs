//! A subscriber that keeps for each thread what that thread was told, and does what a test asks of it in each event.

use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Reaction = Box<dyn FnMut(&str)>;

thread_local! {
    /// The thread's events since they were last asked for. With a destructor, as subscribers' thread-locals have.
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static REACTION: RefCell<Option<Reaction>> = const { RefCell::new(None) };
    static EVENTS: Cell<u64> = const { Cell::new(0) };
}

/// Events of threads whose thread-locals were gone. Relaxed, all: read when those threads are joined.
static TOO_LATE: AtomicU64 = AtomicU64::new(0);

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "mbuf"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = format!("{}:{}", line.message, line.fields);
        EVENTS.set(EVENTS.get() + 1);
        let told = TOLD.try_with(|told| told.borrow_mut().push(text.clone()));
        if told.is_err() {
            TOO_LATE.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // A second event inside of the reaction would find it borrowed, and panic.
        REACTION.with(|reaction| {
            if let Some(reaction) = reaction.borrow_mut().as_mut() {
                reaction(&text);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as `message: field=value ...`, in the order of the fields.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => write!(self.message, "{value:?}").unwrap(),
            // Which number a pool has depends on the tests that run beside this one.
            "pool" => {}
            name => write!(self.fields, " {name}={value:?}").unwrap(),
        }
    }
}

/// Listens from now on, for the whole process.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
    take();
}

/// What this thread was told since the last call, a line for each event.
pub(crate) fn take() -> Vec<String> {
    TOLD.with(RefCell::take)
}

/// How many events this thread was told of in its life.
pub(crate) fn count() -> u64 {
    EVENTS.get()
}

/// How many events came from threads whose thread-locals were gone.
pub(crate) fn count_too_late() -> u64 {
    TOO_LATE.load(Ordering::Relaxed)
}

/// Calls `reaction` in each event that this thread is told of, while `during` runs.
pub(crate) fn reacting<T>(reaction: impl FnMut(&str) + 'static, during: impl FnOnce() -> T) -> T {
    REACTION.with(|place| *place.borrow_mut() = Some(Box::new(reaction)));
    let result = during();
    // Dropped outside of the borrow: what it holds may be mbufs.
    let reaction = REACTION.with(RefCell::take);
    drop(reaction);
    result
}
