//! Pools beside their models, and the operations on both.

use crate::common::{self, SMALL_SLAB, assert_conserved, fill};
use crate::model::{Pair, Segment, assert_in_use, make_unique};
use mbuf::{AllocError, AppendErrorKind, LenError, MAX_CHAIN, Mbuf, Pool, free_bulk};

/// One operation. Numbers choose among what there is, modulo how much that is.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Alloc { pool: usize, size: usize },
    AllocZeroed { pool: usize, size: usize },
    AllocBulk { pool: usize, size: usize, n: usize },
    Extend { place: Place, bytes: Vec<u8> },
    SetLen { place: Place, len: usize },
    Clear { place: Place },
    Write { place: Place, byte: u8 },
    User { place: Place, at: usize, byte: u8 },
    Timestamp { place: Place, value: u64 },
    CopyRef { place: Place },
    MakeUnique { chain: usize },
    Append { chain: usize, other: usize },
    Lengthen { chain: usize, n: usize },
    AppendToOtherPool { pool: usize, chain: usize },
    SplitOff { chain: usize, at: usize },
    PopFront { chain: usize },
    Drop { chain: usize },
    DropMany { pool: usize, n: usize },
    Fill { pool: usize, size: usize },
    Trim { pool: usize },
    Reserve { pool: usize, size: usize, n: usize },
}

/// A segment of a chain of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) pool: usize,
    pub(crate) chain: usize,
    pub(crate) segment: usize,
}

/// Capacities of the pools: one of a single slab, one that has few for each class, and one that is seldom exhausted.
pub(crate) const CAPACITIES: [u64; 3] = [SMALL_SLAB, SMALL_SLAB * 6, SMALL_SLAB * 40];

/// A pool with the chains that live in it.
pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) chains: Vec<Pair>,
}

/// An allocation fails because its size is more than there can be, or more than is left.
fn assert_why(error: AllocError, size: usize) {
    let expected = if size as u64 > 4 << 30 {
        AllocError::TooLarge
    } else {
        AllocError::Exhausted
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

    fn alloc_bulk(&mut self, size: usize, n: usize) {
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

    fn copy_ref(&mut self, index: usize, segment: usize) {
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

    fn make_unique(&mut self, index: usize) {
        let pair = &mut self.chains[index];
        match pair.real.make_unique() {
            Ok(()) => make_unique(&mut pair.model),
            Err(error) => assert_eq!(error, AllocError::Exhausted),
        }
    }

    fn append(&mut self, index: usize, other: usize) {
        if self.chains.len() < 2 {
            return;
        }
        let mut head = self.chains.swap_remove(index);
        let other = other % self.chains.len();
        let Pair { real, model } = self.chains.swap_remove(other);
        match head.real.append(real) {
            Ok(()) => {
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

    fn lengthen(&mut self, index: usize, n: usize) {
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

    fn split_off(&mut self, index: usize, at: usize) {
        let pair = &mut self.chains[index];
        // Also past the end and at the start, where nothing must happen.
        let at = at % (pair.model.len() + 2);
        match pair.real.split_off(at) {
            Some(real) => {
                let model = pair.model.split_off(at);
                assert!(!model.is_empty() && !pair.model.is_empty());
                self.keep(Pair { real, model });
            }
            None => assert!(at == 0 || at >= pair.model.len()),
        }
    }

    fn pop_front(&mut self, index: usize) {
        let pair = &mut self.chains[index];
        match pair.real.pop_front() {
            Some(real) => {
                let model = vec![pair.model.remove(0)];
                self.keep(Pair { real, model });
            }
            None => assert_eq!(pair.model.len(), 1),
        }
    }

    /// Changes one segment by the same operation as its model, by way of the head where it is one.
    fn change(&mut self, place: &Place, op: &Op) {
        let Some(index) = self.index(place.chain) else {
            return;
        };
        let pair = &mut self.chains[index];
        let at = place.segment % pair.model.len();
        let model = &mut pair.model[at];
        let mut real = pair.real.segments_mut().nth(at).unwrap();
        match op {
            Op::Extend { bytes, .. } => {
                let done = real.extend_from_slice(bytes);
                assert_eq!(done.is_ok(), model.extend(bytes), "{done:?}");
            }
            Op::SetLen { len, .. } => {
                let done = real.set_len(*len);
                assert_eq!(done.is_ok(), model.set_len(*len), "{done:?}");
                assert_eq!(
                    done == Err(LenError::TooLong),
                    *len > model.capacity(),
                    "{done:?}"
                );
            }
            Op::Clear { .. } => {
                real.clear();
                model.len = 0;
            }
            Op::Write { byte, .. } => {
                let bytes = real.data_mut();
                assert_eq!(bytes.is_some(), model.write(*byte));
                bytes.into_iter().for_each(|bytes| bytes.fill(*byte));
            }
            Op::User { at, byte, .. } => {
                real.user_mut()[*at] = *byte;
                model.user[*at] = *byte;
            }
            Op::Timestamp { value, .. } => {
                real.set_timestamp(*value);
                model.timestamp = *value;
            }
            _ => unreachable!("not a change of one segment: {op:?}"),
        }
    }

    pub(crate) fn assert_equal(&mut self) {
        self.chains.iter_mut().for_each(Pair::assert_equal);
        assert_in_use(&self.pool.stats(), &self.chains);
    }
}

fn append_to_other_pool(worlds: &mut [World], pool: usize, chain: usize) {
    let (one, other) = (pool, (pool + 1) % worlds.len());
    let (Some(head), Some(index)) = (worlds[one].index(chain), worlds[other].index(chain)) else {
        return;
    };
    let Pair { real, model } = worlds[other].chains.swap_remove(index);
    let error = worlds[one].chains[head].real.append(real).unwrap_err();
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
        Op::CopyRef { place } => {
            let world = &mut worlds[place.pool];
            if let Some(index) = world.index(place.chain) {
                world.copy_ref(index, place.segment);
            }
        }
        &Op::MakeUnique { chain } => on_chain(worlds, chain, &World::make_unique),
        &Op::Append { chain, other } => {
            on_chain(worlds, chain, &|world, index| world.append(index, other));
        }
        &Op::Lengthen { chain, n } => {
            on_chain(worlds, chain, &|world, index| world.lengthen(index, n));
        }
        &Op::AppendToOtherPool { pool, chain } => append_to_other_pool(worlds, pool, chain),
        &Op::SplitOff { chain, at } => {
            on_chain(worlds, chain, &|world, index| world.split_off(index, at));
        }
        &Op::PopFront { chain } => on_chain(worlds, chain, &World::pop_front),
        &Op::Drop { chain } => on_chain(worlds, chain, &|world, index| {
            world.chains.swap_remove(index);
        }),
        &Op::DropMany { pool, n } => {
            let chains = &mut worlds[pool].chains;
            let rest = chains.split_off(chains.len().saturating_sub(n));
            free_bulk(rest.into_iter().map(|pair| pair.real));
        }
        &Op::Fill { pool, size } if size > 0 => drop(fill(&worlds[pool].pool, size)),
        &Op::Fill { .. } => {}
        &Op::Trim { pool } => {
            worlds[pool].pool.trim();
        }
        &Op::Reserve { pool, size, n } => {
            let _ = worlds[pool].pool.reserve(size, n);
        }
        Op::Extend { place, .. }
        | Op::SetLen { place, .. }
        | Op::Clear { place }
        | Op::Write { place, .. }
        | Op::User { place, .. }
        | Op::Timestamp { place, .. } => worlds[place.pool].change(place, op),
    }
}

/// What each pool serves of one size when it is new, and so again when all has been freed.
fn whole(pool: &Pool) -> usize {
    fill(pool, 1000).len()
}

/// Frees everything, and checks that nothing is in use then.
pub(crate) fn end(worlds: &mut [World]) {
    for world in &mut *worlds {
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
