//! Operations of the Rust interface on several pools, from several threads in turn, beside a plain model: that of `tests/oracle`.

use crate::Size;
use crate::common::{assert_conserved, fill};
use crate::model::{Pair, Segment};
use crate::world::{self, CAPACITIES, Op, Place, World};
use arbitrary::{Arbitrary, Unstructured};
use mbuf::{AllocError, Layout};
use std::mem::MaybeUninit;
use std::thread;

#[derive(Arbitrary, Debug)]
enum Step {
    Alloc(u8, Size),
    AllocZeroed(u8, Size),
    AllocBulk(u8, Size, u8),
    AllocWith(u8, Size, Size, Alignment),
    /// Allocates, and frees what there was, through a handle of the thread's own.
    Local(u8, Size, u8),
    Change(Seat, Change),
    CopyRef(Seat),
    MakeUnique(u8),
    Append(u8, u8),
    Lengthen(u8, u8),
    AppendToOtherPool(u8, u8),
    SplitOff(u8, u8),
    PopFront(u8),
    Drop(u8),
    DropMany(u8, u8),
    Fill(u8, u8),
    Trim(u8),
    Reserve(u8, Size, u8),
    /// What follows, up to this many steps, is done by a thread that then ends.
    Elsewhere(u8),
    /// The next step is done while the pool has room for no more than a few mbufs.
    Scarce(bool, Size, u8),
}

/// A segment of a chain of a pool.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Seat {
    pool: u8,
    chain: u8,
    segment: u8,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Change {
    Extend(u8, u8),
    SetLen(Size),
    Clear,
    Write(u8),
    User(u8, u8),
    Timestamp(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Alignment {
    Power(u8),
    Any(u16),
}

impl Alignment {
    fn bytes(self) -> usize {
        match self {
            Self::Power(exponent) => 1 << (exponent % 14),
            Self::Any(alignment) => alignment.into(),
        }
    }
}

/// An input does no more than this, for it is to be done in milliseconds.
const MOST_STEPS: usize = 120;

/// Does what an input says.
pub fn run(input: &[u8]) {
    let mut source = Unstructured::new(input);
    let mut worlds = CAPACITIES.map(World::new);
    let mut steps = 0;
    while steps < MOST_STEPS
        && !source.is_empty()
        && let Ok(step) = source.arbitrary::<Step>()
    {
        steps += 1;
        match step {
            Step::Elsewhere(count) => {
                steps += usize::from(count % 16);
                elsewhere(&mut worlds, &mut source, count % 16);
            }
            Step::Scarce(pool, size, left) => {
                let size = size.bytes() % 4096;
                scarce(&mut worlds, &mut source, (pool.into(), size, left.into()));
            }
            step => take(&mut worlds, step),
        }
    }
    world::end(&mut worlds);
    // Of the others this takes longer than all steps.
    world::assert_whole(&worlds[..1]);
}

/// A value for one other thread, while the one that it belongs to waits.
struct Lent<T>(T);

// SAFETY: see `elsewhere`, which makes it: the lender's thread does nothing until the borrower's has ended, so the counts of the
// model's `Rc`s are changed by one thread at a time. The mbufs may be used on any thread anyway.
unsafe impl<T> Send for Lent<T> {}

fn elsewhere(worlds: &mut [World], source: &mut Unstructured<'_>, count: u8) {
    let lent = Lent((worlds, source));
    thread::scope(|scope| {
        let work = || {
            // All of it, and not its parts, which cannot be sent.
            let Lent((worlds, source)) = { lent };
            for _ in 0..count {
                match source.arbitrary() {
                    Ok(Step::Elsewhere(_)) => {}
                    Ok(step) => take(worlds, step),
                    Err(_) => return,
                }
            }
        };
        if let Err(panic) = scope.spawn(work).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// The largest of the pools takes too long to fill.
fn scarce(
    worlds: &mut [World],
    source: &mut Unstructured<'_>,
    (pool, size, left): (usize, usize, usize),
) {
    let Ok(step) = source.arbitrary() else { return };
    let mut held = fill(&worlds[pool].pool, size);
    // Whatever room that has left, bare headers take: the last to be had are what copies need.
    held.extend(fill(&worlds[pool].pool, 0));
    held.truncate(held.len().saturating_sub(left % 8));
    act(worlds, step);
    drop(held);
    check(worlds);
}

fn take(worlds: &mut [World], step: Step) {
    act(worlds, step);
    check(worlds);
}

fn check(worlds: &mut [World]) {
    for world in worlds {
        world.assert_equal();
        assert_conserved(&world.pool);
        world.chains.iter_mut().for_each(soil);
    }
}

/// Writes behind the valid data, so that what should be zero later is not so by chance.
fn soil(pair: &mut Pair) {
    for mut segment in pair.real.segments_mut() {
        if let Some(room) = segment.spare_capacity_mut() {
            let count = room.len().min(256);
            room[..count].fill(MaybeUninit::new(0xee));
        }
    }
}

fn act(worlds: &mut [World], step: Step) {
    let world = |pool: u8| usize::from(pool) % CAPACITIES.len();
    match step {
        Step::AllocWith(pool, size, headroom, alignment) => {
            let sizes = (size.bytes(), headroom.bytes());
            alloc_with(&mut worlds[world(pool)], sizes, alignment.bytes());
        }
        Step::Local(pool, size, chain) => {
            local(&mut worlds[world(pool)], size.bytes(), chain.into())
        }
        step => {
            if let Some(op) = op(step) {
                world::run(worlds, &op);
            }
        }
    }
}

fn local(world: &mut World, size: usize, chain: usize) {
    let local = world.pool.local();
    let made = local.alloc(size);
    if let Some(index) = world.index(chain) {
        local.free(world.chains.swap_remove(index).real);
    }
    world.keep_fresh(made, size, false);
}

fn alloc_with(world: &mut World, (size, headroom): (usize, usize), alignment: usize) {
    let layout = Layout::new(size).headroom(headroom).align(alignment);
    let real = match world.pool.alloc_with(layout) {
        Ok(real) => real,
        Err(error) => {
            let possible = alignment.is_power_of_two() && alignment <= Layout::MAX_ALIGNMENT;
            assert_eq!(error == AllocError::Alignment, !possible, "{error}");
            return;
        }
    };
    assert_eq!(real.data().as_ptr().addr() % alignment, 0);
    assert!(real.headroom() >= headroom);
    // Blocks are aligned to 64 bytes, so the shift of the data is at most what leads from there to the next aligned place.
    let step = if headroom % 64 == 0 { 64 } else { 1 };
    let room = size + headroom + alignment.saturating_sub(step);
    let model = vec![Segment::with_room(size, room)];
    world.keep(Pair { real, model });
}

/// The oracle's operation.
fn op(step: Step) -> Option<Op> {
    let pool = |pool: u8| usize::from(pool) % CAPACITIES.len();
    Some(match step {
        Step::Alloc(at, size) => Op::Alloc {
            pool: pool(at),
            size: size.bytes(),
        },
        Step::AllocZeroed(at, size) => Op::AllocZeroed {
            pool: pool(at),
            size: size.bytes(),
        },
        Step::AllocBulk(at, size, n) => Op::AllocBulk {
            pool: pool(at),
            size: size.bytes(),
            n: usize::from(n % 40),
        },
        Step::Change(seat, change) => change.op(seat.place()),
        Step::CopyRef(seat) => Op::CopyRef {
            place: seat.place(),
        },
        Step::MakeUnique(chain) => Op::MakeUnique {
            chain: chain.into(),
        },
        Step::Append(chain, other) => Op::Append {
            chain: chain.into(),
            other: other.into(),
        },
        Step::Lengthen(chain, n) => Op::Lengthen {
            chain: chain.into(),
            n: n.into(),
        },
        Step::AppendToOtherPool(at, chain) => Op::AppendToOtherPool {
            pool: pool(at),
            chain: chain.into(),
        },
        Step::SplitOff(chain, at) => Op::SplitOff {
            chain: chain.into(),
            at: at.into(),
        },
        Step::PopFront(chain) => Op::PopFront {
            chain: chain.into(),
        },
        Step::Drop(chain) => Op::Drop {
            chain: chain.into(),
        },
        Step::DropMany(at, n) => Op::DropMany {
            pool: pool(at),
            n: n.into(),
        },
        // Small ones take a while until the pool is full.
        Step::Fill(at, size) => Op::Fill {
            pool: pool(at),
            size: usize::from(size) * 256 + 1000,
        },
        Step::Trim(at) => Op::Trim { pool: pool(at) },
        Step::Reserve(at, size, n) => Op::Reserve {
            pool: pool(at),
            size: size.bytes(),
            n: n.into(),
        },
        Step::AllocWith(..) | Step::Local(..) | Step::Elsewhere(_) | Step::Scarce(..) => {
            return None;
        }
    })
}

impl Seat {
    fn place(self) -> Place {
        Place {
            pool: usize::from(self.pool) % CAPACITIES.len(),
            chain: self.chain.into(),
            segment: self.segment.into(),
        }
    }
}

impl Change {
    fn op(self, place: Place) -> Op {
        match self {
            Self::Extend(n, byte) => Op::Extend {
                place,
                bytes: vec![byte; n.into()],
            },
            Self::SetLen(len) => Op::SetLen {
                place,
                len: len.bytes(),
            },
            Self::Clear => Op::Clear { place },
            Self::Write(byte) => Op::Write { place, byte },
            Self::User(at, byte) => Op::User {
                place,
                at: usize::from(at) % 96,
                byte,
            },
            Self::Timestamp(value) => Op::Timestamp { place, value },
        }
    }
}
