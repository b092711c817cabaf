//! The reserve.

use crate::common::{SMALL_LARGEST, SMALL_SLAB, assert_all_home, fill};
use mbuf::{AllocError, BuildError, Layout, Mbuf, Pool};
use std::thread;

fn with_reserve(slabs: u64, reserve: u64) -> Pool {
    let builder = Pool::builder().capacity(slabs * SMALL_SLAB);
    builder
        .urgent_reserve(reserve * SMALL_SLAB)
        .build()
        .unwrap()
}

/// Allocates urgently until that fails, too.
fn fill_urgently(pool: &Pool, size: usize) -> Vec<Mbuf> {
    let urgent = || pool.alloc_with(Layout::new(size).urgent());
    let all = std::iter::from_fn(|| urgent().ok()).collect();
    assert_eq!(urgent().unwrap_err(), AllocError::Exhausted);
    all
}

#[test]
fn the_reserve_is_for_urgent_allocations() {
    for size in [0, 64, 5000, SMALL_LARGEST, SMALL_LARGEST + 1] {
        let whole = fill(&with_reserve(8, 0), size).len();
        let pool = with_reserve(8, 2);
        let ordinary = fill(&pool, size);
        assert_eq!(ordinary.len(), whole * 6 / 8, "{size}");
        let urgent = fill_urgently(&pool, size);
        assert_eq!(urgent.len(), whole * 2 / 8, "{size}");
        drop(fill(&pool, size));
        drop((ordinary, urgent));
        assert_all_home(&pool);
        assert_eq!(fill(&pool, size).len(), whole * 6 / 8, "{size}, again");
    }
}

#[test]
fn a_slab_of_the_reserve_serves_urgent_allocations_alone() {
    let pool = with_reserve(4, 1);
    let ordinary = fill(&pool, 64);
    let urgent = pool.alloc_with(Layout::new(64).urgent()).unwrap();
    assert_eq!(pool.alloc(64).unwrap_err(), AllocError::Exhausted);
    assert!(pool.alloc_with(Layout::new(64).urgent()).is_ok());
    drop((ordinary, urgent));
    assert_all_home(&pool);
}

#[test]
fn however_it_is_freed_an_urgent_mbuf_goes_back_to_the_reserve() {
    let pool = with_reserve(8, 4);
    let ordinary = fill(&pool, 64);
    let urgent = || pool.alloc_with(Layout::new(64).urgent()).unwrap();
    let local = pool.local();
    let ways: [&dyn Fn(); 5] = [
        &|| drop(urgent()),
        &|| local.free(urgent()),
        &|| mbuf::free_bulk((0..40).map(|_| urgent())),
        &|| {
            let mut chain = urgent();
            (0..40).for_each(|_| chain.append(urgent()).unwrap());
        },
        &|| {
            let original = urgent();
            // Of a header, which there is none of.
            assert_eq!(original.copy_ref().unwrap_err(), AllocError::Exhausted);
        },
    ];
    for way in ways {
        for _ in 0..100 {
            way();
            assert_eq!(pool.alloc(64).unwrap_err(), AllocError::Exhausted);
        }
        let most = fill_urgently(&pool, 64);
        assert_eq!(most.len(), ordinary.len());
    }
    drop(ordinary);
    assert_all_home(&pool);
}

#[test]
fn urgent_allocations_use_other_memory_first() {
    let pool = with_reserve(4, 1);
    let urgent: Vec<_> = (0..100)
        .map(|_| {
            pool.alloc_with(Layout::new(64).align(256).urgent())
                .unwrap()
        })
        .collect();
    assert_eq!(fill(&pool, SMALL_LARGEST).len(), 4, "two slabs are left");
    drop(urgent);
    assert_all_home(&pool);
}

#[test]
fn the_reserve_holds_while_threads_open_slabs() {
    let pool = with_reserve(16, 5);
    let per_slab = fill(&with_reserve(1, 0), SMALL_LARGEST).len();
    for _ in 0..50 {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let pool = pool.clone();
                let size = [
                    SMALL_LARGEST,
                    SMALL_LARGEST,
                    SMALL_SLAB as usize / 2,
                    3 * SMALL_SLAB as usize,
                ][i];
                thread::spawn(move || fill(&pool, size))
            })
            .collect();
        let held: Vec<_> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let urgent = fill_urgently(&pool, SMALL_LARGEST);
        assert!(urgent.len() >= 5 * per_slab, "{}", urgent.len());
        drop((held, urgent));
        assert_all_home(&pool);
    }
}

#[test]
fn a_reserve_leaves_one_slab_at_least() {
    let build = |bytes| {
        let builder = Pool::builder().capacity(4 * SMALL_SLAB);
        builder.urgent_reserve(bytes).build()
    };
    assert!(build(3 * SMALL_SLAB).is_ok());
    let asked = 3 * SMALL_SLAB + 1;
    assert_eq!(
        build(asked).unwrap_err(),
        BuildError::UrgentReserve { asked }
    );
}
