//! Random operations on several pools, compared step by step with a plain model.
#![cfg(not(loom))]

#[path = "../common/mod.rs"]
mod common;
mod model;
mod world;

use proptest::prelude::*;
use proptest::test_runner::Config;
use world::{CAPACITIES, Op, Place, World, run};

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => Just(0_usize),
        6 => 1..200_usize,
        3 => 200..3000_usize,
        1 => 3000..40_000_usize,
        1 => 40_000..300_000_usize,
    ]
}

fn places() -> impl Strategy<Value = Place> {
    (0..3_usize, any::<usize>(), any::<usize>()).prop_map(|(pool, chain, segment)| Place {
        pool,
        chain,
        segment,
    })
}

fn allocations() -> impl Strategy<Value = Op> {
    let pool = || 0..3_usize;
    prop_oneof![
        8 => (pool(), sizes()).prop_map(|(pool, size)| Op::Alloc { pool, size }),
        3 => (pool(), sizes()).prop_map(|(pool, size)| Op::AllocZeroed { pool, size }),
        2 => (pool(), sizes(), 0..12_usize).prop_map(|(pool, size, n)| Op::AllocBulk { pool, size, n }),
        1 => (pool(), sizes()).prop_map(|(pool, size)| Op::Fill { pool, size }),
        1 => pool().prop_map(|pool| Op::Trim { pool }),
        1 => (pool(), sizes(), 0..40_usize).prop_map(|(pool, size, n)| Op::Reserve { pool, size, n }),
    ]
}

fn changes() -> impl Strategy<Value = Op> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..100);
    let len = || prop_oneof![0..300_usize, 0..50_000_usize, Just(usize::MAX)];
    prop_oneof![
        4 => (places(), bytes()).prop_map(|(place, bytes)| Op::Extend { place, bytes }),
        4 => (places(), len()).prop_map(|(place, len)| Op::SetLen { place, len }),
        1 => places().prop_map(|place| Op::Clear { place }),
        4 => (places(), any::<u8>()).prop_map(|(place, byte)| Op::Write { place, byte }),
        3 => (places(), 0..96_usize, any::<u8>())
            .prop_map(|(place, at, byte)| Op::User { place, at, byte }),
        1 => (places(), any::<u64>()).prop_map(|(place, value)| Op::Timestamp { place, value }),
    ]
}

fn structure() -> impl Strategy<Value = Op> {
    let number = any::<usize>;
    prop_oneof![
        8 => places().prop_map(|place| Op::CopyRef { place }),
        3 => number().prop_map(|chain| Op::MakeUnique { chain }),
        8 => (number(), number()).prop_map(|(chain, other)| Op::Append { chain, other }),
        1 => (number(), 0..140_usize).prop_map(|(chain, n)| Op::Lengthen { chain, n }),
        1 => (0..3_usize, number()).prop_map(|(pool, chain)| Op::AppendToOtherPool { pool, chain }),
        4 => (number(), number()).prop_map(|(chain, at)| Op::SplitOff { chain, at }),
        2 => number().prop_map(|chain| Op::PopFront { chain }),
        5 => number().prop_map(|chain| Op::Drop { chain }),
        1 => (0..3_usize, 0..30_usize).prop_map(|(pool, n)| Op::DropMany { pool, n }),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![2 => allocations(), 3 => changes(), 4 => structure()];
    prop::collection::vec(op, 1..300)
}

proptest! {
    #![proptest_config(Config { cases: Config::default().cases * 3 / 5, failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_operations_do_what_the_model_does(ops in ops()) {
        let mut worlds = CAPACITIES.map(World::new);
        for op in &ops {
            run(&mut worlds, op);
            worlds.iter_mut().for_each(World::assert_equal);
        }
        world::end(&mut worlds);
        world::assert_whole(&worlds);
    }
}
