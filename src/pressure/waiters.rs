//! Who waits for a pool's memory: a stack of wakers, pushed one by one and taken all at once.
//!
//! All are woken, for what one of them waits for may not be what has come free, and who is woken enlists again if he finds
//! nothing. As nothing but the whole stack is ever taken from it, a late pusher cannot mistake one top for another (no ABA).
//!
//! * **W1** A place is in the stack until it is taken with it, once. Its waker is taken by exchange: by who takes the stack and
//!   wakes it, or by the waiter who has given up. So a place whose waker is still there is in the stack, or in the hands of
//!   somebody who is about to wake it.
//!
//! A waiter enlists, announces himself (`pool::wait`) and then looks for memory; who frees puts the memory there, looks whether
//! somebody is announced, and then takes the stack. There it is argued why one of the two sees the other.

use crate::sync::{Arc, AtomicPtr, AtomicU32, Ordering};
use std::ptr;
use std::task::Waker;

/// So many places of waiters who gave up may lie in the stack before it is cleared.
const GIVEN_UP: u32 = if cfg!(loom) { 2 } else { 64 };

/// A waiter's place in the stack (W1).
#[derive(Debug)]
pub(crate) struct Place {
    waker: AtomicPtr<Waker>,
    below: AtomicPtr<Place>,
}

impl Place {
    /// Puts a waker there and returns the one that was.
    fn exchange(&self, waker: Option<Waker>) -> Option<Waker> {
        let new = waker.map_or(ptr::null_mut(), |waker| Box::into_raw(Box::new(waker)));
        // Acquire and release: pairs with itself: a waker is seen whole. And who finds that his was taken sees what the taker had
        // freed before.
        let old = self.waker.swap(new, Ordering::AcqRel);
        // SAFETY: what is stored is a leaked box, and the exchange gives it to us alone.
        (!old.is_null()).then(|| *unsafe { Box::from_raw(old) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.exchange(None);
    }
}

/// A waiter's hold on his place.
#[derive(Debug)]
pub(crate) struct Ticket(Arc<Place>);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Waiters {
    top: AtomicPtr<Place>,
    given_up: AtomicU32,
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            top: AtomicPtr::new(ptr::null_mut()),
            given_up: AtomicU32::new(0),
        }
    }

    /// Sees to it that `waker` is woken when memory comes free after this, in the place that the waiter has or in a new one.
    pub(crate) fn enlist(&self, ticket: &mut Option<Ticket>, waker: &Waker) {
        if let Some(Ticket(place)) = ticket {
            if place.exchange(Some(waker.clone())).is_some() {
                return;
            }
            // The place was taken: nobody would look into it again (W1).
            place.exchange(None);
        }
        let place = Arc::new(Place {
            waker: AtomicPtr::new(Box::into_raw(Box::new(waker.clone()))),
            below: AtomicPtr::new(ptr::null_mut()),
        });
        *ticket = Some(Ticket(Arc::clone(&place)));
        self.push(place);
    }

    fn push(&self, place: Arc<Place>) {
        let place = Arc::into_raw(place).cast_mut();
        // Relaxed: the old top is stored, not looked at.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: the stack's part of the place, not yet in it.
            // Relaxed: published by the exchange below.
            unsafe { (*place).below.store(top, Ordering::Relaxed) };
            // Release: pairs with the acquire in `wake_all`; later pushes continue the release sequence.
            // Acquire: pairs with the release there: who took the stack before this has put his memory where the search that
            // follows sees it.
            match self
                .top
                .compare_exchange_weak(top, place, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Wakes all who are enlisted.
    pub(crate) fn wake_all(&self) {
        // Relaxed: also a part of what the exchange would say. If a waiter's push is not seen, his search sees what was freed:
        // by the fences of `pool::wait`.
        if self.top.load(Ordering::Relaxed).is_null() {
            return;
        }
        // Relaxed: for information.
        self.given_up.store(0, Ordering::Relaxed);
        // Acquire and release: pairs with `push`.
        let mut next = self.top.swap(ptr::null_mut(), Ordering::AcqRel);
        while !next.is_null() {
            // SAFETY: W1: leaked in `push`, and the exchange gave the stack to us alone.
            let place = unsafe { Arc::from_raw(next) };
            // Relaxed: acquired with the stack.
            next = place.below.load(Ordering::Relaxed);
            if let Some(waker) = place.exchange(None) {
                super::call(|| waker.wake());
            }
        }
    }

    /// The waiter has given up, or has what he wanted.
    pub(crate) fn give_up(&self, ticket: Ticket) {
        let Ticket(place) = ticket;
        if place.exchange(None).is_none() {
            return;
        }
        // The place stays in the stack. Relaxed: for information.
        if self.given_up.fetch_add(1, Ordering::Relaxed) + 1 >= GIVEN_UP {
            self.wake_all();
        }
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        self.wake_all();
    }
}
