//! The bounded rings between the threads. Whoever finds one full or empty waits, so no packet is lost.
//!
//! Waiting is yielding, never spinning: with fewer processors than threads, a spin keeps up the very thread waited for.

use std::thread;

use mbuf::Mbuf;
use rtrb::{Consumer, Producer, PushError};

/// How many packets may wait for a consumer.
pub(crate) const SLOTS: usize = 1024;

/// The thread at the other end of a ring is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// Sends a packet, and says whether it had to wait for room.
pub(crate) fn send(ring: &mut Producer<Mbuf>, mut packet: Mbuf) -> Result<bool, Gone> {
    let mut waited = false;
    loop {
        match ring.push(packet) {
            Ok(()) => return Ok(waited),
            Err(PushError::Full(_)) if ring.is_abandoned() => return Err(Gone),
            Err(PushError::Full(back)) => packet = back,
        }
        waited = true;
        thread::yield_now();
    }
}

/// The next packet, or `None` once the sender is gone and the ring is empty.
pub(crate) fn receive(ring: &mut Consumer<Mbuf>) -> Option<Mbuf> {
    loop {
        // Asked before looking: what was sent before the sender left is then seen.
        let abandoned = ring.is_abandoned();
        match ring.pop() {
            Ok(packet) => return Some(packet),
            Err(_) if abandoned => return None,
            Err(_) => thread::yield_now(),
        }
    }
}
