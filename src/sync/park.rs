//! Threads that sleep until a future is ready.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

struct Sleeper {
    thread: Thread,
    /// The thread's own token may be taken by others who park it.
    woken: AtomicBool,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        // Release: pairs with the acquire in `park_until`: the poll that follows sees what the waker did.
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls `future` until it is ready, or for the last time at the deadline. The thread sleeps in between.
pub(crate) fn park_until<F: Future + Unpin>(
    deadline: Option<Instant>,
    mut future: F,
) -> Option<F::Output> {
    let sleeper = Arc::new(Sleeper {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&sleeper));
    let mut context = Context::from_waker(&waker);
    let mut is_over = false;
    loop {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut context) {
            return Some(output);
        }
        if is_over {
            return None;
        }
        while !is_over && !sleeper.woken.swap(false, Ordering::Acquire) {
            match deadline {
                None => thread::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    is_over = left.is_zero();
                    if !is_over {
                        thread::park_timeout(left);
                    }
                }
            }
        }
    }
}
