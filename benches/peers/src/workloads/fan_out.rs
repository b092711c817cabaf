//! W10: each buffer goes to four consumers as copy-refs, through a ring for each.
//!
//! The consumers run on as many threads as there are cores left, so that what is measured is not how the system schedules.

use super::pipe::{RING, WARM_UP, send};
use super::{BYTES, SUM};
use crate::case::SIZE;
use crate::contender::{Sharing, Source, USER_AREA};
use crate::entry::Sample;
use crate::near::{Distance, Line, Patience, Start};
use crate::pin::{self, Cores, Pinned};
use rtrb::{Consumer, Producer, RingBuffer};
use std::thread;
use std::time::Instant;

const CONSUMERS: usize = 4;

pub(crate) fn round<C: Sharing>(contender: &C, units: u64) -> Sample {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let lanes = cores.saturating_sub(1).clamp(1, CONSUMERS);
    let mut producers = Vec::new();
    let mut consumers: Vec<Vec<Consumer<C::Shared>>> = (0..lanes).map(|_| Vec::new()).collect();
    for consumer in 0..CONSUMERS {
        let (into, out) = RingBuffer::new(RING);
        producers.push(into);
        consumers[consumer % lanes].push(out);
    }
    let line = Line::new();
    let ready = Start::of(lanes as u64 + 1);
    let cores = Cores::of_this_thread();
    let _pinned = Pinned::to(0, &cores);
    thread::scope(|scope| {
        let spawned: Vec<_> = consumers
            .into_iter()
            .enumerate()
            .map(|(lane, mut rings)| {
                let (ready, line, cores) = (&ready, &line, &cores);
                scope.spawn(move || {
                    let _pinned = Pinned::to(lane + 1, cores);
                    let thread = contender.thread();
                    drain::<C>(&thread, &mut rings, WARM_UP);
                    ready.wait();
                    // The first consumer stands for all.
                    if lane == 0 {
                        line.first_pong();
                    }
                    let switches = pin::switches();
                    drain::<C>(&thread, &mut rings, units);
                    let end = Instant::now();
                    let is_disturbed = pin::switches() != switches;
                    if lane == 0 {
                        line.pong();
                    }
                    drop(thread);
                    contender.leave();
                    (end, is_disturbed)
                })
            })
            .collect();
        let thread = contender.thread();
        fill::<C>(&thread, &mut producers, WARM_UP);
        ready.wait();
        let before = line.first_ping();
        let switches = pin::switches();
        let start = Instant::now();
        fill::<C>(&thread, &mut producers, units);
        let mut is_disturbed = pin::switches() != switches;
        let after = line.ping();
        let mut end = start;
        for consumer in spawned {
            let (its_end, is_it_disturbed) = consumer.join().expect("the consumer does not panic");
            end = end.max(its_end);
            is_disturbed |= is_it_disturbed;
        }
        let nanos = (end - start).as_nanos() as f64 / units as f64;
        Sample::new(nanos).at(Distance::between(before, after), is_disturbed)
    })
}

#[inline(always)]
fn fill<C: Sharing>(thread: &C::Thread<'_>, rings: &mut [Producer<C::Shared>], count: u64) {
    let (last, others) = rings.split_last_mut().expect("a ring for each consumer");
    for _ in 0..count {
        let mut buffer = thread.alloc(SIZE);
        C::write(&mut buffer, &BYTES);
        let shared = C::share(buffer, &[1; USER_AREA]);
        for ring in &mut *others {
            send(ring, C::copy(thread, &shared));
        }
        send(last, shared);
    }
}

/// Takes `count` from each ring.
fn drain<C: Sharing>(thread: &C::Thread<'_>, rings: &mut [Consumer<C::Shared>], count: u64) {
    let expected = count * rings.len() as u64;
    let (mut left, mut sum) = (expected, 0);
    let mut patience = Patience::default();
    while left > 0 {
        let before = left;
        for ring in &mut *rings {
            if let Ok(shared) = ring.pop() {
                sum += C::read_shared(&shared);
                C::free_shared(thread, shared);
                left -= 1;
            }
        }
        if left == before {
            patience.wait();
        } else {
            patience = Patience::default();
        }
    }
    assert_eq!(sum, expected * SUM, "what was written is what was read");
}
