//! Everything that is measured, each in its best configuration.

mod arc;
mod array_queue;
mod block;
mod bytes;
mod c_abi;
#[cfg(have_dpdk)]
mod dpdk;
mod floor;
mod general;
mod iceoryx;
mod lockfree_object_pool;
mod opool;
mod opool_local;
mod ours;
mod sharded_slab;

use crate::case::Case;
#[cfg(not(have_dpdk))]
use crate::entry::Missing;
use crate::entry::{Entrant, Entry};
use general::{General, Glibc, Jemalloc, Mimalloc, Rpmalloc, Snmalloc};

const NOT_SHARED: &str = "a stack of one thread: nothing goes from one to the other";

/// All contenders, in the order in which they are listed.
pub(crate) fn all() -> Vec<Box<dyn Entrant>> {
    vec![
        Entry::<ours::Ours<mbuf::Pool>>::new("ours", "mbuf")
            .bulk()
            .sharing()
            .chaining()
            .done(),
        Entry::<ours::Ours<mbuf::LocalPool>>::new("ours, local", "mbuf")
            .bulk()
            .sharing()
            .chaining()
            .done(),
        Entry::<c_abi::CAbi>::new("ours, C", "mbuf")
            .bulk()
            .sharing()
            .chaining()
            .done(),
        Entry::<floor::Floor>::new("floor", "")
            .chaining()
            .without(
                &[Case::Pipe, Case::PipeBursts, Case::Latency, Case::ComeAndGo],
                NOT_SHARED,
            )
            .done(),
        dpdk(),
        Entry::<General<Snmalloc>>::new("snmalloc", "snmalloc-rs")
            .chaining()
            .done(),
        Entry::<General<Rpmalloc>>::new("rpmalloc", "rpmalloc-sys")
            .chaining()
            .done(),
        Entry::<General<Jemalloc>>::new("jemalloc", "tikv-jemallocator")
            .chaining()
            .done(),
        Entry::<General<Mimalloc>>::new("mimalloc", "libmimalloc-sys")
            .chaining()
            .done(),
        Entry::<General<Glibc>>::new("glibc", "glibc")
            .chaining()
            .done(),
        Entry::<array_queue::Queues>::new("ArrayQueue", "crossbeam-queue")
            .chaining()
            .done(),
        Entry::<opool::Objects>::new("opool", "opool")
            .chaining()
            .done(),
        Entry::<opool_local::Objects>::new("opool, local", "opool")
            .chaining()
            .without(
                &[
                    Case::Pipe,
                    Case::PipeBursts,
                    Case::TwoThreads,
                    Case::Latency,
                    Case::ComeAndGo,
                    Case::Threads(2),
                    Case::Threads(4),
                    Case::Threads(8),
                ],
                "a pool of one thread: no other may use it or free what is its",
            )
            .done(),
        Entry::<lockfree_object_pool::Objects>::new("lockfree-object-pool", "lockfree-object-pool")
            .chaining()
            .without(
                &[Case::Live(1_000_000), Case::Live(10_000_000)],
                "each alloc walks its pages from the first: making a million takes minutes",
            )
            .done(),
        Entry::<iceoryx::Buckets>::new("iceoryx2", "iceoryx2-bb-memory")
            .chaining()
            .done(),
        Entry::<sharded_slab::Slabs>::new("sharded-slab", "sharded-slab")
            .chaining()
            .done(),
        Entry::<bytes::Owned>::new("bytes", "bytes")
            .sharing()
            .chaining()
            .done(),
        Entry::<arc::Counted>::new("Arc<[u8]>", "std")
            .sharing()
            .done(),
    ]
}

#[cfg(have_dpdk)]
fn dpdk() -> Box<dyn Entrant> {
    Entry::<dpdk::Mbufs>::new("DPDK", "DPDK")
        .bulk()
        .sharing()
        .chaining()
        .done()
}

#[cfg(not(have_dpdk))]
fn dpdk() -> Box<dyn Entrant> {
    Box::new(Missing {
        name: "DPDK",
        reason: env!("PEERS_NO_DPDK"),
    })
}
