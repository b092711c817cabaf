//! Operations of the Rust interface on several pools, from several threads in turn, beside a plain model: that of `tests/oracle`.

use crate::common::{assert_conserved, fill};
use crate::drawn::{below, number, pool, size};
use crate::oracle::chains::total;
use crate::oracle::model::Pair;
use crate::oracle::ops::{Act, At, Change, Op, Place};
use crate::oracle::world::{self, CAPACITIES, World};
use arbitrary::{Arbitrary, Result, Unstructured};
use mbuf::Mbuf;
use std::mem::MaybeUninit;
use std::thread;

#[derive(Debug)]
enum Step {
    Op(Op),
    /// Allocates for an alignment that may be none.
    AllocWith(usize, (usize, usize), usize),
    /// Allocates, and frees what there was, through a handle of the thread's own.
    Local(usize, usize, usize),
    /// What follows, up to this many steps, is done by a thread that then ends.
    Elsewhere(usize),
    /// The next step is done while the pool has room for no more than a few mbufs.
    Scarce(usize, usize, usize),
    /// Something is done with a new chain of several segments while the pool has room for no more than a few mbufs.
    Midway(Midway),
}

#[derive(Debug)]
struct Midway {
    pool: usize,
    size: usize,
    segments: usize,
    left: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    CopyRef(usize),
    MakeUnique,
    Slice,
    AllocBulk(usize),
    Any(Act),
}

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 32)? {
            0 => {
                let pool = pool(source)?;
                let sizes = (size(source)?, size(source)?);
                Self::AllocWith(pool, sizes, u16::arbitrary(source)?.into())
            }
            1..3 => Self::Local(pool(source)?, size(source)?, number(source)?),
            3 => Self::Elsewhere(below(source, 16)?),
            // The largest of the pools takes too long to fill.
            4..6 => Self::Scarce(below(source, 2)?, size(source)? % 4096, below(source, 8)?),
            6..8 => Self::Midway(Midway::arbitrary(source)?),
            _ => Self::Op(Op::arbitrary(source)?),
        })
    }
}

impl<'a> Arbitrary<'a> for Midway {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            pool: below(source, 2)?,
            size: size(source)? % 2048,
            segments: below(source, 12)? + 2,
            left: below(source, 8)?,
            what: match below(source, 6)? {
                0..2 => What::CopyRef(below(source, 3)?),
                2 => What::MakeUnique,
                3 => What::Slice,
                4 => What::AllocBulk(below(source, 16)?),
                _ => What::Any(Act::arbitrary(source)?),
            },
        })
    }
}

/// An input does no more than this, for it is to be done in milliseconds.
const MOST_STEPS: usize = 120;

/// Longer chains are not compared byte by byte.
const MOST_BYTES: usize = 1 << 20;

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
                steps += count;
                elsewhere(&mut worlds, &mut source, count);
            }
            Step::Scarce(pool, size, left) => {
                let Ok(step) = source.arbitrary() else { break };
                let held = hold(&worlds[pool], size, Left::Headers(left));
                act(&mut worlds, step);
                drop(held);
                check(&mut worlds);
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

fn elsewhere(worlds: &mut [World], source: &mut Unstructured<'_>, count: usize) {
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

/// What is left of a pool.
enum Left {
    OfSize(usize),
    Headers(usize),
}

/// Takes all that the pool has, but for what is to be left.
fn hold(world: &World, size: usize, left: Left) -> Vec<Mbuf> {
    let mut held = fill(&world.pool, size);
    // Whatever room that has left, bare headers take: the last to be had are what copies need.
    held.extend(fill(&world.pool, 0));
    match left {
        Left::OfSize(left) => drop(held.drain(..left.min(held.len()))),
        Left::Headers(left) => held.truncate(held.len().saturating_sub(left)),
    }
    held
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
    match step {
        Step::Op(op) => {
            if !is_long(worlds, &op) {
                world::run(worlds, &op);
            }
        }
        Step::AllocWith(pool, (size, headroom), alignment) => {
            worlds[pool].alloc_with(size, headroom, alignment);
        }
        Step::Local(pool, size, chain) => local(&mut worlds[pool], size, chain),
        Step::Midway(step) => midway(&mut worlds[step.pool], step),
        Step::Elsewhere(_) | Step::Scarce(..) => {}
    }
}

/// Whether it would look at each byte of a world with more of them than is quick.
fn is_long(worlds: &[World], op: &Op) -> bool {
    let (Op::Compare { chain, .. }
    | Op::OnChain {
        chain,
        act: Act::Contents(..),
    }) = op
    else {
        return false;
    };
    let chains = &worlds[chain % worlds.len()].chains;
    chains.iter().any(|pair| total(&pair.model) > MOST_BYTES)
}

fn local(world: &mut World, size: usize, chain: usize) {
    let local = world.pool.local();
    let made = local.alloc(size);
    if let Some(index) = world.index(chain) {
        let Pair { real, model } = world.chains.swap_remove(index);
        local.free(real);
        drop(model);
    }
    world.keep_fresh(made, size, false);
}

fn midway(world: &mut World, step: Midway) {
    // So that what is kept here comes last.
    world.chains.truncate(16);
    let index = world.chains.len();
    let (size, left) = match step.what {
        What::CopyRef(_) | What::Slice => (step.size, Left::Headers(step.left)),
        What::AllocBulk(_) => (step.size, Left::OfSize(step.left)),
        // As all the other segments.
        What::MakeUnique | What::Any(_) => (1, Left::OfSize(step.left)),
    };
    let made = world.pool.alloc(size);
    world.keep_fresh(made, size, false);
    if world.chains.len() == index {
        return;
    }
    world.lengthen(index, step.segments - 1);
    let count = world.chains[index].model.len();
    for segment in 0..count {
        let place = Place {
            pool: step.pool,
            chain: index,
            segment,
        };
        world.change(&place, &Change::Extend(vec![segment as u8; 1]));
    }
    if matches!(step.what, What::MakeUnique | What::Any(_)) {
        world.copy_ref(index, 0);
    }
    let held = hold(world, size, left);
    match step.what {
        What::CopyRef(segment) => world.copy_ref(index, segment),
        What::MakeUnique => world.act(index, Act::MakeUnique),
        What::Slice => world.act(index, Act::Slice(At::Boundary(0), At::Boundary(count))),
        What::AllocBulk(n) => world.alloc_bulk(size, n),
        What::Any(act) => world.act(index, act),
    }
    drop(held);
}
