//! Pools beside their models, and the operations on both.

use super::acts::{self, is_possible, slack};
use super::chains;
use super::model::{Pair, Segment, assert_in_use};
use super::ops::{Act, Change, Op, Place};
use super::owners::{self, Kind};
use crate::common::{self, SMALL_SLAB, assert_conserved, fill};
use mbuf::{AllocError, AppendErrorKind, Layout, MAX_CHAIN, Mbuf, Pool, free_bulk};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Capacities of the pools: one of a single slab, one that has few for each class, and one that is seldom exhausted.
pub(crate) const CAPACITIES: [u64; 3] = [SMALL_SLAB, SMALL_SLAB * 6, SMALL_SLAB * 40];

/// A pool with the chains that live in it.
pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) chains: Vec<Pair>,
}

/// An allocation fails because its size is more than there can be, or more than is left.
#[track_caller]
fn assert_why(error: AllocError, size: usize) {
    let expected = if is_possible(size, 0) {
        AllocError::Exhausted
    } else {
        AllocError::TooLarge
    };
    assert_eq!(error, expected);
}

/// More chains than this are not kept, so that looking at all of them stays quick.
const MOST_CHAINS: usize = 24;

impl World {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            pool: common::pool_with_magazines(capacity, 4),
            chains: Vec::new(),
        }
    }

    pub(crate) fn keep(&mut self, pair: Pair) {
        self.chains.push(pair);
        if self.chains.len() > MOST_CHAINS {
            self.chains.swap_remove(0);
        }
    }

    pub(crate) fn keep_fresh(
        &mut self,
        result: Result<Mbuf, AllocError>,
        size: usize,
        zeroed: bool,
    ) {
        match result {
            Ok(real) => self.keep(Pair::fresh(real, size, zeroed)),
            Err(error) => assert_why(error, size),
        }
    }

    /// A chain by number, if there is any.
    pub(crate) fn index(&self, chain: usize) -> Option<usize> {
        chain.checked_rem(self.chains.len())
    }

    pub(crate) fn alloc_bulk(&mut self, size: usize, n: usize) {
        let mut mbufs = Vec::new();
        match self.pool.alloc_bulk(size, n, &mut mbufs) {
            Ok(()) => assert_eq!(mbufs.len(), n),
            Err(error) => {
                assert_why(error, size);
                assert!(mbufs.is_empty());
            }
        }
        for mbuf in mbufs {
            self.keep(Pair::fresh(mbuf, size, false));
        }
    }

    pub(crate) fn copy_ref(&mut self, index: usize, segment: usize) {
        let pair = &self.chains[index];
        let from = segment % pair.model.len();
        match pair.real.segment(from).unwrap().copy_ref() {
            Ok(real) => {
                let model = pair.model[from..].iter().map(Segment::copy_ref).collect();
                self.keep(Pair { real, model });
            }
            Err(error) => assert_eq!(error, AllocError::Exhausted),
        }
    }

    pub(crate) fn alloc_with(&mut self, size: usize, headroom: usize, alignment: usize) {
        let layout = Layout::new(size).headroom(headroom).align(alignment);
        let expected = if !alignment.is_power_of_two() || alignment > Layout::MAX_ALIGNMENT {
            AllocError::Alignment
        } else if !is_possible(size, headroom) {
            AllocError::TooLarge
        } else {
            AllocError::Exhausted
        };
        match self.pool.alloc_with(layout) {
            Err(error) => assert_eq!(error, expected),
            Ok(real) => {
                assert_eq!(expected, AllocError::Exhausted, "it is possible");
                let (found, slack) = (real.headroom(), slack(headroom, alignment));
                assert!((headroom..=headroom + slack).contains(&found));
                assert_eq!(real.data().as_ptr().addr() % alignment, 0);
                let model = vec![Segment::shifted(found, size, size + headroom + slack)];
                self.keep(Pair { real, model });
            }
        }
    }

    fn wrap(&mut self, kind: Kind, bytes: &[u8]) {
        match owners::wrap(&self.pool, kind, bytes.to_vec()) {
            Err(error) => assert_eq!(error, AllocError::Exhausted),
            Ok(wrapped) => {
                let owners::Wrapped { bytes, block, .. } = wrapped;
                let foreign = Segment::foreign(bytes, block, wrapped.watch, wrapped.is_read_only);
                let real = wrapped.real;
                self.keep(Pair {
                    real,
                    model: vec![foreign],
                });
            }
        }
    }

    pub(crate) fn act(&mut self, index: usize, act: Act) {
        if let Some(pair) = acts::act(&mut self.chains[index], act) {
            self.keep(pair);
        }
    }

    fn compare(&self, index: usize, other: usize) {
        let (one, other) = (&self.chains[index], &self.chains[other % self.chains.len()]);
        let expected = chains::bytes(&one.model).cmp(&chains::bytes(&other.model));
        assert_eq!(one.real.cmp(&other.real), expected);
        assert_eq!(one.real == other.real, expected.is_eq());
        let hash = |mbuf: &Mbuf| {
            let mut hasher = DefaultHasher::new();
            mbuf.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&one.real) == hash(&other.real), expected.is_eq());
    }

    /// Joins two chains, the other behind or in front.
    fn join(&mut self, index: usize, other: usize, is_front: bool) {
        if self.chains.len() < 2 {
            return;
        }
        let mut head = self.chains.swap_remove(index);
        let other = other % self.chains.len();
        let Pair { real, mut model } = self.chains.swap_remove(other);
        let done = if is_front {
            head.real.prepend_chain(real)
        } else {
            head.real.append(real)
        };
        match done {
            Ok(()) => {
                if is_front {
                    std::mem::swap(&mut head.model, &mut model);
                }
                head.model.extend(model);
                assert!(head.model.len() <= MAX_CHAIN);
            }
            Err(error) => {
                assert_eq!(error.kind(), AppendErrorKind::TooLong);
                assert!(head.model.len() + model.len() > MAX_CHAIN);
                let real = error.into_mbuf();
                self.chains.push(Pair { real, model });
            }
        }
        self.chains.push(head);
    }

    pub(crate) fn lengthen(&mut self, index: usize, n: usize) {
        for _ in 0..n {
            let pair = &mut self.chains[index];
            let Ok(real) = self.pool.alloc(1) else { return };
            match pair.real.append(real) {
                Ok(()) => pair.model.push(Segment::new(1)),
                Err(error) => {
                    assert_eq!(error.kind(), AppendErrorKind::TooLong);
                    assert_eq!(pair.model.len(), MAX_CHAIN);
                    return;
                }
            }
        }
    }

    /// Changes one segment by the same operation as its model, by way of the head where it is one.
    pub(crate) fn change(&mut self, place: &Place, change: &Change) {
        let Some(index) = self.index(place.chain) else {
            return;
        };
        let pair = &mut self.chains[index];
        let at = place.segment % pair.model.len();
        let model = &mut pair.model[at];
        let mut real = pair.real.segments_mut().nth(at).unwrap();
        match change {
            Change::Extend(bytes) => {
                assert_eq!(real.extend_from_slice(bytes), model.extend(bytes));
            }
            Change::SetLen(len) => assert_eq!(real.set_len(*len), model.set_len(*len)),
            Change::Clear => {
                real.clear();
                model.len = 0;
            }
            Change::Write(byte) => {
                let bytes = real.data_mut();
                assert_eq!(bytes.is_some(), model.write(*byte));
                bytes.into_iter().for_each(|bytes| bytes.fill(*byte));
            }
            Change::User(at, byte) => {
                real.user_mut()[*at] = *byte;
                model.user[*at] = *byte;
            }
            Change::Timestamp(value) => {
                real.set_timestamp(*value);
                model.timestamp = *value;
            }
        }
    }

    pub(crate) fn assert_equal(&mut self) {
        self.chains.iter_mut().for_each(Pair::assert_equal);
        assert_in_use(&self.pool.stats(), &self.chains);
    }
}

fn append_to_other_pool(worlds: &mut [World], pool: usize, chain: usize, is_front: bool) {
    let (one, other) = (pool, (pool + 1) % worlds.len());
    let (Some(head), Some(index)) = (worlds[one].index(chain), worlds[other].index(chain)) else {
        return;
    };
    let Pair { real, model } = worlds[other].chains.swap_remove(index);
    let head = &mut worlds[one].chains[head].real;
    let done = if is_front {
        head.prepend_chain(real)
    } else {
        head.append(real)
    };
    let error = done.unwrap_err();
    assert_eq!(error.kind(), AppendErrorKind::OtherPool);
    let real = error.into_mbuf();
    worlds[other].chains.push(Pair { real, model });
}

pub(crate) fn run(worlds: &mut [World], op: &Op) {
    // Operations on chains go to the pool that the chain's number also chooses.
    let count = worlds.len();
    let on_chain = |worlds: &mut [World], chain: usize, act: &dyn Fn(&mut World, usize)| {
        let world = &mut worlds[chain % count];
        if let Some(index) = world.index(chain / count) {
            act(world, index);
        }
    };
    match op {
        &Op::Alloc { pool, size } => {
            let result = worlds[pool].pool.alloc(size);
            worlds[pool].keep_fresh(result, size, false);
        }
        &Op::AllocZeroed { pool, size } => {
            let result = worlds[pool].pool.local().alloc_zeroed(size);
            worlds[pool].keep_fresh(result, size, true);
        }
        &Op::AllocBulk { pool, size, n } => worlds[pool].alloc_bulk(size, n),
        &Op::AllocWith {
            pool,
            size,
            headroom,
            shift,
        } => worlds[pool].alloc_with(size, headroom, 1 << shift),
        Op::Wrap { pool, kind, bytes } => worlds[*pool].wrap(*kind, bytes),
        Op::CopyRef { place } => {
            let world = &mut worlds[place.pool];
            if let Some(index) = world.index(place.chain) {
                world.copy_ref(index, place.segment);
            }
        }
        &Op::OnChain { chain, act } => {
            on_chain(worlds, chain, &|world, index| world.act(index, act));
        }
        &Op::Append { chain, other } => {
            on_chain(worlds, chain, &|world, index| {
                world.join(index, other, false)
            });
        }
        &Op::PrependChain { chain, other } => {
            on_chain(worlds, chain, &|world, index| {
                world.join(index, other, true)
            });
        }
        &Op::Compare { chain, other } => {
            on_chain(worlds, chain, &|world, index| world.compare(index, other));
        }
        &Op::Lengthen { chain, n } => {
            on_chain(worlds, chain, &|world, index| world.lengthen(index, n));
        }
        &Op::AppendToOtherPool { pool, chain, front } => {
            append_to_other_pool(worlds, pool, chain, front);
        }
        &Op::Drop { chain } => on_chain(worlds, chain, &|world, index| {
            world.chains.swap_remove(index);
        }),
        &Op::DropMany { pool, n } => {
            let chains = &mut worlds[pool].chains;
            let rest = chains.split_off(chains.len().saturating_sub(n));
            let (reals, models): (Vec<_>, Vec<_>) =
                rest.into_iter().map(|pair| (pair.real, pair.model)).unzip();
            free_bulk(reals);
            drop(models);
        }
        &Op::Fill { pool, size } if size > 0 => drop(fill(&worlds[pool].pool, size)),
        &Op::Fill { .. } => {}
        &Op::Trim { pool } => {
            worlds[pool].pool.trim();
        }
        &Op::Reserve { pool, size, n } => {
            let _ = worlds[pool].pool.reserve(size, n);
        }
        Op::Change { place, change } => worlds[place.pool].change(place, change),
    }
}

/// What each pool serves of one size when it is new, and so again when all has been freed.
fn whole(pool: &Pool) -> usize {
    fill(pool, 1000).len()
}

/// Frees everything, and checks that nothing is in use then.
pub(crate) fn end(worlds: &mut [World]) {
    for world in worlds {
        let stats = assert_conserved(&world.pool);
        assert_in_use(&stats, &world.chains);
        world.chains.clear();
        let stats = common::assert_all_home(&world.pool);
        assert_eq!(stats.allocs, stats.frees);
    }
}

/// Checks that the pools serve what they did at first.
pub(crate) fn assert_whole(worlds: &[World]) {
    for (world, capacity) in worlds.iter().zip(CAPACITIES) {
        let fresh = World::new(capacity);
        assert_eq!(whole(&world.pool), whole(&fresh.pool));
    }
}
