//! How many instructions the fast paths take: counted by Callgrind, so the same on a busy machine, and a test, for what grows by
//! more than a few per cent over what is recorded here fails.
//!
//! Who makes a path longer for a reason changes the figure with it, in the same commit. `cargo instructions` runs this; it needs
//! valgrind and `gungraun-runner`, as `.ci/run` installs them.

#![allow(missing_docs, reason = "the macros' items have none")]

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use mbuf::{LocalPool, Mbuf, Pool};
use std::hint::black_box;

/// How often each operation is counted.
const TIMES: usize = 1000;

/// How many are out at once, where that is more than one.
const BURST: usize = 32;

/// What a count may be over the recorded one.
const SLACK_PER_CENT: u64 = 3;

/// Fails over the recorded number of instructions for [`TIMES`] operations.
fn at_most(recorded: u64) -> LibraryBenchmarkConfig {
    let limit = recorded + recorded * SLACK_PER_CENT / 100;
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, limit)]));
    config
}

/// A pool in which every size used here has been.
fn pool() -> Pool {
    let pool = Pool::builder().capacity(1 << 30).build().expect("memory");
    for size in [0, 2048] {
        pool.reserve(size, 256).expect("it fits");
    }
    let warm: Vec<_> = (0..BURST).map(|_| alloc(&pool)).collect();
    let copies: Vec<_> = warm.iter().map(copy).collect();
    drop((warm, copies));
    pool
}

fn local() -> LocalPool {
    pool().local()
}

fn pool_and_list() -> (Pool, Vec<Mbuf>) {
    (pool(), Vec::with_capacity(BURST))
}

fn pool_and_mbuf() -> (Pool, Mbuf) {
    let pool = pool();
    let mut mbuf = alloc(&pool);
    mbuf.user_mut()[0] = 1;
    (pool, mbuf)
}

#[inline(always)]
fn alloc(pool: &Pool) -> Mbuf {
    pool.alloc(2048).expect("it fits")
}

#[inline(always)]
fn copy(mbuf: &Mbuf) -> Mbuf {
    mbuf.copy_ref().expect("it fits")
}

#[library_benchmark(config = at_most(ALLOC_AND_FREE))]
#[bench::of_2048_bytes(pool())]
fn alloc_and_free(pool: Pool) -> Pool {
    for _ in 0..TIMES {
        drop(black_box(alloc(&pool)));
    }
    pool
}

#[library_benchmark(config = at_most(ALLOC_AND_FREE_LOCALLY))]
#[bench::of_2048_bytes(local())]
fn alloc_and_free_locally(local: LocalPool) -> LocalPool {
    for _ in 0..TIMES {
        local.free(black_box(local.alloc(2048).expect("it fits")));
    }
    local
}

#[library_benchmark(config = at_most(ALLOC_AND_FREE_OF_ANY_SIZE))]
#[bench::of_2048_bytes(pool())]
fn alloc_and_free_of_any_size(pool: Pool) -> Pool {
    for _ in 0..TIMES {
        drop(black_box(pool.alloc(black_box(2048)).expect("it fits")));
    }
    pool
}

#[library_benchmark(config = at_most(BULK))]
#[bench::of_32(pool_and_list())]
fn bulk((pool, mut list): (Pool, Vec<Mbuf>)) -> (Pool, Vec<Mbuf>) {
    for _ in 0..TIMES / BURST {
        pool.alloc_bulk(2048, BURST, &mut list).expect("they fit");
        mbuf::free_bulk(black_box(&mut list).drain(..));
    }
    (pool, list)
}

#[library_benchmark(config = at_most(COPY_REF_AND_FREE))]
#[bench::with_user_area(pool_and_mbuf())]
fn copy_ref_and_free((pool, mbuf): (Pool, Mbuf)) -> (Pool, Mbuf) {
    for _ in 0..TIMES {
        drop(black_box(copy(&mbuf)));
    }
    (pool, mbuf)
}

#[library_benchmark(config = at_most(CHAIN_OF_16))]
#[bench::built_walked_freed(pool())]
fn chain_of_16(pool: Pool) -> Pool {
    for _ in 0..TIMES / 16 {
        let mut chain = alloc(&pool);
        for _ in 1..16 {
            chain.append(alloc(&pool)).expect("short enough");
        }
        black_box(chain.total_len());
        drop(black_box(chain));
    }
    pool
}

#[library_benchmark(config = at_most(WRITE_AND_READ))]
#[bench::of_64_bytes(pool_and_mbuf())]
fn write_and_read((pool, mut mbuf): (Pool, Mbuf)) -> (Pool, Mbuf) {
    for _ in 0..TIMES {
        let bytes = black_box([1; 64]);
        mbuf.clear();
        mbuf.extend_from_slice(&bytes).expect("they fit");
        black_box(mbuf.data());
    }
    (pool, mbuf)
}

// Instructions for `TIMES` operations, with the loop that makes them.
const ALLOC_AND_FREE: u64 = 61_019;
const ALLOC_AND_FREE_LOCALLY: u64 = 62_026;
const ALLOC_AND_FREE_OF_ANY_SIZE: u64 = 81_021;
const BULK: u64 = 53_911;
const COPY_REF_AND_FREE: u64 = 111_027;
const CHAIN_OF_16: u64 = 91_895;
const WRITE_AND_READ: u64 = 42_014;

library_benchmark_group!(
    name = fast_paths,
    benchmarks = [
        alloc_and_free,
        alloc_and_free_locally,
        alloc_and_free_of_any_size,
        bulk,
        copy_ref_and_free,
        chain_of_16,
        write_and_read
    ]
);

main!(library_benchmark_groups = fast_paths);
