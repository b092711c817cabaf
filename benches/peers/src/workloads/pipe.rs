//! W5: one thread allocates and writes, a ring, another thread reads and frees.

use super::{BATCH, BYTES, SUM};
use crate::case::SIZE;
use crate::contender::{Bulk, Contender, Source};
use crate::entry::Sample;
use crate::near::{Distance, Line, Patience, Start};
use crate::pin::{self, Cores, Pinned};
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::marker::PhantomData;
use std::thread;
use std::time::Instant;

pub(super) const RING: usize = 1024;

/// Buffers that warm a round's caches up, before those that count.
pub(super) const WARM_UP: u64 = 4 * RING as u64;

/// How buffers are produced and consumed.
pub(super) trait Way<C: Contender> {
    /// Puts some buffers, at most as many as are left, into the ring, and says how many.
    fn produce(&mut self, thread: &C::Thread<'_>, ring: &mut Producer<C::Buffer>, left: u64)
    -> u64;

    /// Takes, sums up and frees some buffers, one if a way has none of its own, and says how many: none when there are none.
    #[inline(always)]
    fn consume(
        _held: &mut Vec<C::Buffer>,
        thread: &C::Thread<'_>,
        ring: &mut Consumer<C::Buffer>,
        sum: &mut u64,
    ) -> u64 {
        consume_one::<C>(thread, ring, sum)
    }
}

/// W5, one buffer at a time.
pub(crate) fn one_by_one<C: Contender>(contender: &C, units: u64) -> Sample {
    sample(contender, units, &mut OneByOne)
}

/// W5 in bursts, whose buffers come and go as `H` does it.
pub(crate) fn bursts<C: Contender, H: Hand<C>>(contender: &C, units: u64) -> Sample {
    let mut way = Bursts::<C, H> {
        burst: Vec::with_capacity(BATCH),
        _hand: PhantomData,
    };
    sample(contender, units, &mut way)
}

fn sample<C: Contender, W: Way<C>>(contender: &C, units: u64, way: &mut W) -> Sample {
    round(contender, units, way)
}

/// Passes `count` buffers from this thread to another. The time is from the first alloc to the last free.
pub(super) fn round<C: Contender, W: Way<C>>(contender: &C, count: u64, way: &mut W) -> Sample {
    let (mut producer, mut consumer) = RingBuffer::new(RING);
    let (line, ready) = (Line::new(), Start::of(2));
    let cores = Cores::of_this_thread();
    let _pinned = Pinned::to(0, &cores);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _pinned = Pinned::to(1, &cores);
            let thread = contender.thread();
            drain::<C, W>(&thread, &mut consumer, WARM_UP);
            ready.wait();
            line.first_pong();
            let switches = pin::switches();
            drain::<C, W>(&thread, &mut consumer, count);
            let end = Instant::now();
            let is_disturbed = pin::switches() != switches;
            line.pong();
            drop(thread);
            contender.leave();
            (end, is_disturbed)
        });
        let thread = contender.thread();
        let mut fill = |count: u64| {
            let mut left = count;
            while left > 0 {
                left -= way.produce(&thread, &mut producer, left);
            }
        };
        fill(WARM_UP);
        ready.wait();
        let before = line.first_ping();
        let switches = pin::switches();
        let start = Instant::now();
        fill(count);
        let is_disturbed = pin::switches() != switches;
        let after = line.ping();
        let (end, other) = other.join().expect("the consumer does not panic");
        let nanos = (end - start).as_nanos() as f64 / count as f64;
        Sample::new(nanos).at(Distance::between(before, after), is_disturbed || other)
    })
}

fn drain<C: Contender, W: Way<C>>(
    thread: &C::Thread<'_>,
    ring: &mut Consumer<C::Buffer>,
    count: u64,
) {
    let (mut left, mut sum) = (count, 0);
    let mut held = Vec::with_capacity(BATCH);
    let mut patience = Patience::default();
    while left > 0 {
        match W::consume(&mut held, thread, ring, &mut sum) {
            0 => patience.wait(),
            taken => {
                left -= taken;
                patience = Patience::default();
            }
        }
    }
    assert_eq!(sum, count * SUM, "what was written is what was read");
}

struct OneByOne;

impl<C: Contender> Way<C> for OneByOne {
    #[inline(always)]
    fn produce(&mut self, thread: &C::Thread<'_>, ring: &mut Producer<C::Buffer>, _: u64) -> u64 {
        let mut buffer = thread.alloc(SIZE);
        C::write(&mut buffer, &BYTES);
        send(ring, buffer);
        1
    }
}

/// Waits for room in the ring.
#[inline(always)]
pub(super) fn send<T>(ring: &mut Producer<T>, mut buffer: T) {
    let mut patience = Patience::default();
    while let Err(PushError::Full(back)) = ring.push(buffer) {
        buffer = back;
        patience.wait();
    }
}

#[inline(always)]
fn consume_one<C: Contender>(
    thread: &C::Thread<'_>,
    ring: &mut Consumer<C::Buffer>,
    sum: &mut u64,
) -> u64 {
    match ring.pop() {
        Ok(buffer) => {
            *sum += C::read(&buffer);
            thread.free(buffer);
            1
        }
        Err(_) => 0,
    }
}

/// How a burst is allocated and freed.
pub(crate) trait Hand<C: Contender> {
    fn alloc(thread: &C::Thread<'_>, count: usize, out: &mut Vec<C::Buffer>);

    fn free(thread: &C::Thread<'_>, buffers: &mut Vec<C::Buffer>);
}

/// For contenders without bulk calls.
pub(crate) struct Singly;

impl<C: Contender> Hand<C> for Singly {
    #[inline(always)]
    fn alloc(thread: &C::Thread<'_>, count: usize, out: &mut Vec<C::Buffer>) {
        for _ in 0..count {
            out.push(thread.alloc(SIZE));
        }
    }

    #[inline(always)]
    fn free(thread: &C::Thread<'_>, buffers: &mut Vec<C::Buffer>) {
        for buffer in buffers.drain(..) {
            thread.free(buffer);
        }
    }
}

pub(crate) struct InBulk;

impl<C: Bulk> Hand<C> for InBulk {
    #[inline(always)]
    fn alloc(thread: &C::Thread<'_>, count: usize, out: &mut Vec<C::Buffer>) {
        C::alloc_bulk(thread, SIZE, count, out);
    }

    #[inline(always)]
    fn free(thread: &C::Thread<'_>, buffers: &mut Vec<C::Buffer>) {
        C::free_bulk(thread, buffers);
    }
}

struct Bursts<C: Contender, H> {
    burst: Vec<C::Buffer>,
    _hand: PhantomData<H>,
}

impl<C: Contender, H: Hand<C>> Way<C> for Bursts<C, H> {
    #[inline(always)]
    fn produce(
        &mut self,
        thread: &C::Thread<'_>,
        ring: &mut Producer<C::Buffer>,
        left: u64,
    ) -> u64 {
        let count = BATCH.min(left as usize);
        H::alloc(thread, count, &mut self.burst);
        for buffer in &mut self.burst {
            C::write(buffer, &BYTES);
        }
        let mut patience = Patience::default();
        loop {
            match ring.write_chunk_uninit(count) {
                Ok(chunk) => return chunk.fill_from_iter(self.burst.drain(..)) as u64,
                Err(_) => patience.wait(),
            }
        }
    }

    #[inline(always)]
    fn consume(
        held: &mut Vec<C::Buffer>,
        thread: &C::Thread<'_>,
        ring: &mut Consumer<C::Buffer>,
        sum: &mut u64,
    ) -> u64 {
        let count = ring.slots().min(BATCH);
        match ring.read_chunk(count) {
            Ok(chunk) if count > 0 => {
                held.extend(chunk);
                for buffer in held.iter() {
                    *sum += C::read(buffer);
                }
                H::free(thread, held);
                count as u64
            }
            _ => 0,
        }
    }
}
