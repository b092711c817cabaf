//! Random operations on several pools, compared step by step with a plain model.
#![cfg(not(loom))]

mod acts;
mod chains;
#[path = "../common/mod.rs"]
mod common;
mod model;
mod ops;
mod owners;
mod strategies;
mod world;

use proptest::prelude::*;
use proptest::test_runner::Config;
use strategies::ops;
use world::{CAPACITIES, World};

proptest! {
    #![proptest_config(Config { cases: Config::default().cases * 3 / 5, failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_operations_do_what_the_model_does(ops in ops()) {
        let mut worlds = CAPACITIES.map(World::new);
        for op in &ops {
            world::run(&mut worlds, op);
            worlds.iter_mut().for_each(World::assert_equal);
        }
        world::end(&mut worlds);
        world::assert_whole(&worlds);
    }
}
