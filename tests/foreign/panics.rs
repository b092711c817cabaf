//! Owners whose code panics: the panic goes on, and no block is lost to it.

use super::common::{SMALL_SLAB, assert_all_home, fill, holding, pool};
use super::{Drops, Thrown, assert_throws, counted, throwing};
use mbuf::{Mbuf, free_bulk};
use std::panic::panic_any;

/// The last reference is the original, a copy, and a view.
#[test]
fn an_owners_drop_panics_with_each_kind_of_last_reference() {
    let pool = pool(SMALL_SLAB * 4);
    let drops = Drops::default();
    for kind in 0..3 {
        for way in 0..3 {
            let original = pool.wrap(throwing(b"no", &drops)).unwrap();
            let copied = match kind {
                0 => None,
                1 => Some(original.copy_ref().unwrap()),
                _ => Some(original.slice(1..).unwrap()),
            };
            // The original goes first where there is another.
            let end = copied.unwrap_or(original);
            assert_throws(|| match way {
                0 => drop(end),
                1 => free_bulk([end]),
                _ => pool.local().free(end),
            });
            assert_eq!(drops.count(), kind * 3 + way + 1);
            assert_all_home(&pool);
        }
    }
}

fn chain_with(pool: &mbuf::Pool, at: usize, foreign: Mbuf) -> Mbuf {
    let mut chain: Option<Mbuf> = None;
    let mut foreign = Some(foreign);
    for i in 0..7 {
        let next = match foreign.take_if(|_| i == at) {
            Some(foreign) => foreign,
            None => holding(pool, &[i as u8; 10]),
        };
        match &mut chain {
            None => chain = Some(next),
            Some(chain) => chain.append(next).unwrap(),
        }
    }
    chain.unwrap()
}

#[test]
fn the_rest_of_a_chain_is_freed_when_an_owner_in_it_panics() {
    let pool = pool(SMALL_SLAB * 4);
    let drops = Drops::default();
    for at in 0..7 {
        let foreign = pool.wrap(throwing(b"no", &drops)).unwrap();
        let view = foreign.slice(..1).unwrap();
        drop(foreign);
        let chain = chain_with(&pool, at, view);
        assert_throws(|| drop(chain));
        assert_all_home(&pool);
        let foreign = pool.wrap(throwing(b"no", &drops)).unwrap();
        let chain = chain_with(&pool, at, foreign);
        assert_throws(|| drop(chain));
        assert_all_home(&pool);
    }
    assert_eq!(drops.count(), 14);
}

#[test]
fn the_rest_of_a_burst_is_freed_when_an_owner_in_it_panics() {
    let pool = pool(1 << 20);
    for at in [0, 1, 30, 31, 32, 40, 63, 69] {
        let drops = Drops::default();
        let mut burst: Vec<_> = (0..70).map(|_| holding(&pool, b"x")).collect();
        burst[at] = pool.wrap(throwing(b"no", &drops)).unwrap();
        assert_throws(|| free_bulk(burst));
        assert_eq!(drops.count(), 1);
        assert_all_home(&pool);
    }
}

/// What replaces segments lets go of the old ones when all of the new are in their places.
#[test]
fn a_chain_is_whole_when_an_owner_that_it_lets_go_of_panics() {
    let pool = pool(1 << 20);
    let acts: [fn(&mut Mbuf); 4] = [
        |chain| chain.make_unique().unwrap(),
        |chain| chain.compact().unwrap(),
        |chain| chain.coalesce(3).unwrap(),
        |chain| chain.linearize_prefix(70).unwrap(),
    ];
    for act in acts {
        for at in 0..7 {
            let drops = Drops::default();
            let foreign = pool.wrap(throwing(&[9; 1000], &drops)).unwrap();
            let view = foreign.slice(100..110).unwrap();
            drop(foreign);
            let mut chain = chain_with(&pool, at, view);
            let before: Vec<u8> = chain.bytes().collect();
            assert_throws(|| act(&mut chain));
            assert_eq!(drops.count(), 1);
            assert!(chain == before);
            drop(chain);
            assert_all_home(&pool);
        }
    }
}

#[test]
fn cuts_leave_a_whole_chain_when_an_owner_that_they_free_panics() {
    let pool = pool(1 << 20);
    for at in 0..7 {
        let drops = Drops::default();
        let mut chain = chain_with(&pool, at, pool.wrap(throwing(&[9; 10], &drops)).unwrap());
        if at > 2 {
            assert_throws(|| chain.truncate(25));
            assert_eq!(chain.total_len(), 25);
        } else {
            assert_throws(|| chain.advance(35).unwrap());
            assert_eq!(chain.bytes().count(), chain.total_len());
        }
        assert_eq!(drops.count(), 1);
        drop(chain);
        assert_all_home(&pool);
    }
}

/// Its bytes are never to be had.
struct Refusing(Drops);

impl Drop for Refusing {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

impl AsRef<[u8]> for Refusing {
    fn as_ref(&self) -> &[u8] {
        panic_any(Thrown)
    }
}

impl AsMut<[u8]> for Refusing {
    fn as_mut(&mut self) -> &mut [u8] {
        panic_any(Thrown)
    }
}

#[test]
fn an_owner_that_does_not_show_its_bytes_is_dropped() {
    let pool = pool(SMALL_SLAB * 4);
    let drops = Drops::default();
    assert_throws(|| drop(pool.wrap(Refusing(drops.clone()))));
    assert_eq!(drops.count(), 1);
    assert_throws(|| drop(pool.wrap_mut(Refusing(drops.clone()))));
    assert_eq!(drops.count(), 2);
    assert_all_home(&pool);
    for fresh in fill(&pool, 64) {
        assert!(!fresh.is_foreign() && fresh.headroom() == 0);
    }
}

#[test]
fn a_pool_ends_though_its_last_mbufs_owner_panics() {
    let drops = Drops::default();
    let pool = pool(SMALL_SLAB * 4);
    let foreign = pool.wrap(throwing(b"no", &drops)).unwrap();
    let (view, other) = (
        foreign.slice(..).unwrap(),
        pool.wrap(counted(b"yes", &drops)),
    );
    drop((pool, foreign, other));
    assert_throws(|| drop(view));
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_chain_is_cut_to_its_end_though_an_owner_that_it_passes_panics() {
    let pool = pool(SMALL_SLAB * 4);
    let drops = Drops::default();
    let mut chain = pool.alloc_zeroed(10).unwrap();
    chain
        .append(pool.wrap(throwing(b"0123456789", &drops)).unwrap())
        .unwrap();
    chain.append(pool.alloc_zeroed(10).unwrap()).unwrap();
    assert_throws(|| chain.advance(25).unwrap());
    assert_eq!((chain.total_len(), chain.segment_count()), (5, 1));
    drop(chain);
    assert_all_home(&pool);
}
