//! Threads at once and threads that end: W8 and W11.

use super::BYTES;
use crate::case::SIZE;
use crate::contender::{Contender, Source};
use crate::entry::Sample;
use crate::near::{Distance, Line, Start};
use crate::pin::{self, Cores, Pinned};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Buffers of a thread that comes and goes.
const EACH: usize = 64;

/// W8: W1 on two threads at once, and alone just before.
pub(crate) fn two<C: Contender>(contender: &C, units: u64) -> Sample {
    let (line, ready) = (Line::new(), Start::of(2));
    let cores = Cores::of_this_thread();
    let _pinned = Pinned::to(0, &cores);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _pinned = Pinned::to(1, &cores);
            let thread = contender.thread();
            pairs(&thread, units / 8);
            ready.wait();
            line.first_pong();
            let switches = pin::switches();
            let taken = pairs(&thread, units);
            let is_disturbed = pin::switches() != switches;
            line.pong();
            drop(thread);
            contender.leave();
            (taken, is_disturbed)
        });
        let thread = contender.thread();
        pairs(&thread, units / 8);
        ready.wait();
        let before = line.first_ping();
        let switches = pin::switches();
        let one = pairs(&thread, units);
        let is_disturbed = pin::switches() != switches;
        let after = line.ping();
        let (other, is_other_disturbed) = other.join().expect("the thread does not panic");
        let alone = pairs(&thread, units);
        let mean = (one + other) / 2;
        let nanos = mean.as_nanos() as f64 / units as f64;
        let mut sample = Sample::new(nanos).at(
            Distance::between(before, after),
            is_disturbed || is_other_disturbed,
        );
        sample.efficiency = Some(alone.as_secs_f64() / mean.as_secs_f64());
        sample
    })
}

fn pairs<S: Source>(thread: &S, count: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        thread.free(black_box(thread.alloc(SIZE)));
    }
    start.elapsed()
}

/// W11: threads that each allocate, write and free 64 buffers, two alive at a time. The time includes starting and ending them.
pub(crate) fn come_and_go<C: Contender>(contender: &C, units: u64) -> Sample {
    let life = || {
        let thread = contender.thread();
        let mut held: Vec<_> = (0..EACH).map(|_| thread.alloc(SIZE)).collect();
        for buffer in &mut held {
            C::write(buffer, &BYTES);
        }
        black_box(&mut held);
        for buffer in held {
            thread.free(buffer);
        }
        drop(thread);
        contender.leave();
    };
    let start = Instant::now();
    thread::scope(|scope| {
        let mut before = None;
        for _ in 0..units {
            let next = scope.spawn(life);
            if let Some(before) = before.replace(next) {
                before.join().expect("the thread does not panic");
            }
        }
    });
    Sample::new(start.elapsed().as_nanos() as f64 / units as f64)
}
