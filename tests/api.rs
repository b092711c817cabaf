//! Pools from the outside: their bounds, what they hand out, what they say of themselves, and their errors.
#![cfg(not(loom))]

mod common;

use common::{HEADER, SMALL_LARGEST, SMALL_SLAB, assert_all_home, assert_conserved, fill, pool};
use mbuf::{
    AllocError, AppendError, BuildError, HugePages, LenError, LocalPool, Mbuf, Pool, PoolBuilder,
    Segment, SegmentMut, Segments, SegmentsMut, Stats, free_bulk,
};
use std::error::Error;
use std::time::Duration;

const GIB: u64 = 1 << 30;

fn build(capacity: u64) -> Result<Pool, BuildError> {
    Pool::builder().capacity(capacity).build()
}

#[test]
fn capacities_from_1_byte_up_are_rounded_up_to_whole_slabs() {
    for asked in [1, 63, 65, 65_535, 65_537, (1 << 20) + 1, (100 << 20) - 1] {
        let pool = build(asked).unwrap();
        let stats = pool.stats();
        assert!(stats.capacity >= asked);
        assert!(stats.capacity - asked < stats.slab_size, "{asked}");
        assert_eq!(stats.capacity % stats.slab_size, 0);
        assert!(stats.reserved > stats.capacity);
        assert!(pool.alloc(64).is_ok());
    }
}

#[test]
fn a_capacity_of_256_gib_builds_and_one_byte_more_does_not() {
    let pool = build(256 * GIB).unwrap();
    let stats = pool.stats();
    assert!(stats.reserved <= 256 * GIB, "all of it must have offsets");
    assert!(stats.capacity > 240 * GIB, "tables take a few per cent");
    // Spans come from the top, which must lie within the mapping.
    let mut high = pool.alloc(3 << 20).unwrap();
    high.set_len(high.capacity()).unwrap();
    let mut low = pool.alloc(3000).unwrap();
    low.set_len(3000).unwrap();
    for asked in [0, 256 * GIB + 1, u64::MAX] {
        let error = build(asked).unwrap_err();
        assert_eq!(error, BuildError::Capacity { asked });
        let text = error.to_string();
        assert!(text.contains("256 GiB"), "says the bounds: {text}");
        assert!(text.contains("1 byte"), "says the bounds: {text}");
        assert!(text.contains(&asked.to_string()), "says what was asked");
    }
}

#[test]
fn the_largest_pool_of_the_smallest_magazines_builds_soon() {
    let builder = Pool::builder().capacity(256 * GIB).magazine_size(1);
    let pool = common::within(Duration::from_secs(10), || builder.build()).unwrap();
    assert!(pool.alloc(1 << 20).is_ok());
}

#[test]
fn magazine_sizes_from_1_to_128_build_and_others_do_not() {
    for size in [1, 2, 127, 128] {
        let builder = Pool::builder().capacity(1 << 20).magazine_size(size);
        let pool = builder.build().unwrap();
        // More than both magazines of a thread hold, so that all of the ways are gone.
        let mut mbufs = Vec::new();
        pool.alloc_bulk(64, 700, &mut mbufs).unwrap();
        free_bulk(mbufs.drain(..));
        pool.alloc_bulk(64, 700, &mut mbufs).unwrap();
        free_bulk(mbufs);
        assert_all_home(&pool);
    }
    for asked in [0, 129, u32::MAX] {
        let error = Pool::builder().magazine_size(asked).build().unwrap_err();
        assert_eq!(error, BuildError::MagazineSize { asked });
        assert!(error.to_string().contains("1 to 128"));
    }
}

#[test]
fn every_kind_of_pages_serves_or_is_refused_with_a_reason() {
    for pages in [
        HugePages::Never,
        HugePages::Transparent,
        HugePages::Explicit,
    ] {
        match Pool::builder().capacity(4 << 20).huge_pages(pages).build() {
            Ok(pool) => {
                let mbuf = pool.alloc_zeroed(100_000).unwrap();
                assert!(mbuf.data().iter().all(|&byte| byte == 0));
            }
            Err(BuildError::HugePages(why)) => {
                assert_eq!(pages, HugePages::Explicit);
                assert_ne!(why.raw_os_error(), 0);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_prefaulted_pool_has_all_of_its_pages() {
    use common::system::page_faults;

    let builder = Pool::builder().capacity(16 << 20).prefault(true);
    let pool = builder.build().unwrap();
    // The pool's tables and this thread's cache are not part of the promise.
    let mut mbuf = pool.alloc(12 << 20).unwrap();
    let bytes = mbuf.spare_capacity_mut().unwrap();
    let before = page_faults();
    for page in bytes.chunks_mut(4096) {
        page[0].write(1);
    }
    assert_eq!(page_faults() - before, 0);
    drop(mbuf);
    assert_eq!(
        pool.trim(),
        16 << 20,
        "what was touched ahead can be given back"
    );
}

#[test]
fn alloc_takes_any_size_up_to_4_gib_and_capacity_says_what_was_asked() {
    let pool = build(9 * GIB).unwrap();
    let largest = (1 << 20) - HEADER as usize;
    let four_gib = 4 * GIB as usize;
    for size in [
        0,
        1,
        63,
        64,
        65,
        1500,
        2048,
        largest - 1,
        largest,
        largest + 1,
        (2 << 20) - 192,
        2 << 20,
        four_gib - 1,
        four_gib,
    ] {
        let mut mbuf = pool.alloc(size).unwrap();
        assert_eq!((mbuf.capacity(), mbuf.len()), (size, 0));
        let room = mbuf.spare_capacity_mut().unwrap();
        assert_eq!(room.len(), size);
        if let Some(last) = room.last_mut() {
            last.write(7);
        }
        let is_span = size > largest;
        assert_eq!(pool.stats().spans, u64::from(is_span), "{size}");
    }
    for size in [four_gib + 1, 1 << 40, usize::MAX] {
        assert_eq!(pool.alloc(size).unwrap_err(), AllocError::TooLarge);
        assert_eq!(pool.alloc_zeroed(size).unwrap_err(), AllocError::TooLarge);
        assert_eq!(pool.local().alloc(size).unwrap_err(), AllocError::TooLarge);
        assert_eq!(pool.reserve(size, 1).unwrap_err(), AllocError::TooLarge);
    }
    let stats = assert_all_home(&pool);
    assert_eq!(stats.failed, 0, "only exhaustion counts as failure");
}

#[test]
fn every_size_about_a_class_boundary_has_its_room_to_itself() {
    let pool = pool(64 << 20);
    let mut sizes = vec![];
    for shift in 6..=18 {
        for step in 4..8 {
            let boundary = (1usize << shift) * step / 4;
            for size in [boundary - 1, boundary, boundary + 1] {
                sizes.extend([size; 3]);
            }
        }
    }
    // All of them at once: if one had less room than it says, its neighbour would see it.
    let mut mbufs: Vec<_> = sizes
        .iter()
        .map(|&size| pool.alloc(size).unwrap())
        .collect();
    for (i, mbuf) in mbufs.iter_mut().enumerate() {
        mbuf.set_len(mbuf.capacity()).unwrap();
        mbuf.data_mut().unwrap().fill(i as u8 | 1);
        mbuf.user_mut().fill(i as u8);
    }
    for (i, mbuf) in mbufs.iter().enumerate() {
        assert_eq!(mbuf.capacity(), sizes[i]);
        assert!(!mbuf.is_shared());
        assert!(mbuf.data().iter().all(|&byte| byte == i as u8 | 1));
        assert_eq!(mbuf.user(), &[i as u8; 96]);
        assert_eq!(mbuf.data().as_ptr().addr() % 64, 0);
    }
}

#[test]
fn an_empty_mbuf_has_no_room_and_works_otherwise() {
    let pool = pool(1 << 20);
    let mut empty = pool.alloc(0).unwrap();
    assert_eq!((empty.capacity(), empty.len()), (0, 0));
    assert!(empty.data().is_empty());
    assert!(empty.data_mut().unwrap().is_empty());
    assert!(empty.spare_capacity_mut().unwrap().is_empty());
    assert_eq!(empty.set_len(1), Err(LenError::TooLong));
    assert_eq!(empty.extend_from_slice(b"x"), Err(LenError::TooLong));
    assert_eq!(empty.extend_from_slice(b""), Ok(()));
    empty.user_mut()[0] = 1;
    let mut copy = empty.copy_ref().unwrap();
    assert!(copy.is_shared());
    copy.make_unique().unwrap();
    assert_eq!(copy.user(), empty.user());
    assert!(!copy.is_shared() && !empty.is_shared());
    assert!(pool.alloc_zeroed(0).unwrap().is_empty());
}

#[test]
fn bulk_allocation_appends_all_or_none() {
    let pool = pool(SMALL_SLAB);
    let mut mbufs = vec![common::holding(&pool, b"first")];
    pool.alloc_bulk(100, 0, &mut mbufs).unwrap();
    assert_eq!(mbufs.len(), 1);
    pool.alloc_bulk(5, 10, &mut mbufs).unwrap();
    assert_eq!(mbufs.len(), 11);
    assert!(mbufs[1..].iter().all(|mbuf| mbuf.capacity() == 5));
    let in_use = pool.stats().in_use;
    // What one class could hold, and what not even the whole pool could, for which nothing is tried.
    for n in [pool.stats().capacity as usize / 257, 100_000, usize::MAX] {
        let error = Err(AllocError::Exhausted);
        assert_eq!(pool.alloc_bulk(5, n, &mut mbufs), error);
        let local = pool.local();
        assert_eq!(local.alloc_bulk(5, n, &mut mbufs), error);
        assert_eq!(pool.reserve(5, n), error);
        assert_eq!(pool.stats().in_use, in_use);
    }
    assert_eq!(
        pool.alloc_bulk(usize::MAX, 1, &mut mbufs),
        Err(AllocError::TooLarge)
    );
    assert_eq!(mbufs.len(), 11);
    assert_eq!(mbufs[0].data(), b"first");
    free_bulk(std::iter::from_fn(|| mbufs.pop()));
    assert!(mbufs.is_empty());
    free_bulk([]);
    assert_all_home(&pool);
}

#[test]
fn a_local_handle_has_the_same_calls() {
    let pool = pool(1 << 20);
    let local = pool.local();
    let again = local.clone();
    assert_eq!(local.pool(), &pool);
    let mut mbuf = local.alloc(10).unwrap();
    assert_eq!((mbuf.len(), mbuf.capacity()), (0, 10));
    mbuf.extend_from_slice(b"0123456789").unwrap();
    local.free(mbuf);
    assert_eq!(again.alloc_zeroed(10).unwrap().data(), [0; 10]);
    let mut mbufs = Vec::new();
    again.alloc_bulk(10, 200, &mut mbufs).unwrap();
    drop(local);
    for mbuf in mbufs {
        again.free(mbuf);
    }
    // Spans, copies and chains are freed whole, too.
    again.free(again.alloc(SMALL_LARGEST + 1).unwrap());
    let chain = common::numbered_chain(&pool, 5);
    let copy = chain.copy_ref().unwrap();
    again.free(chain);
    common::assert_numbers(&copy, 0..5);
    again.free(copy);
    drop(again);
    assert_all_home(&pool);
}

#[test]
fn an_mbuf_freed_by_another_pools_local_handle_goes_to_its_own_pool() {
    let (one, other) = (pool(SMALL_SLAB * 2), pool(SMALL_SLAB * 2));
    let local = one.local();
    let all = fill(&other, 100).len();
    for mbuf in fill(&other, 100) {
        local.free(mbuf);
    }
    local.free(common::numbered_chain(&other, 7));
    let lone = other.alloc(1).unwrap();
    local.free(lone.copy_ref().unwrap());
    assert!(!lone.is_shared());
    drop(lone);
    assert_all_home(&other);
    assert_eq!(assert_all_home(&one).allocs, 0);
    assert_eq!(fill(&other, 100).len(), all);
}

#[test]
fn pools_are_equal_when_they_are_one_pool() {
    let (one, other) = (pool(1), pool(1));
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    assert_eq!(one.local().pool(), &one);
    assert_eq!(Pool::global().unwrap(), Pool::global().unwrap());
    assert_ne!(Pool::global().unwrap(), &one);
    let _in_use = one.alloc(1).unwrap();
    let text = format!("{one:?} {:?}", one.local());
    assert!(text.contains("in_use: 1") && text.contains("LocalPool"));
}

#[test]
fn close_counts_the_mbufs_and_the_data_that_copies_still_use() {
    let pool = pool(1 << 20);
    let alone = pool.alloc(1).unwrap();
    let chain = common::numbered_chain(&pool, 3);
    let span = pool.alloc(200_000).unwrap();
    assert_eq!(pool.clone().close(), 5);
    let copy = chain.copy_ref().unwrap();
    assert_eq!(pool.clone().close(), 8);
    // The three blocks of data stay for the copy.
    drop(chain);
    assert_eq!(pool.clone().close(), 8);
    drop(copy);
    assert_eq!(pool.clone().close(), 2);
    drop(span);
    assert_eq!(pool.clone().close(), 1);
    let kept = pool.clone();
    assert_eq!(pool.close(), 1);
    drop(alone);
    assert_eq!(kept.close(), 0);
}

#[test]
fn statistics_are_exact_when_quiet() {
    let pool = pool(SMALL_SLAB * 64);
    let held: Vec<_> = (0..100).map(|_| pool.alloc(1000).unwrap()).collect();
    let copy = held[0].copy_ref().unwrap();
    let span = pool.alloc(SMALL_SLAB as usize).unwrap();
    assert_eq!(pool.alloc(1 << 30).unwrap_err(), AllocError::Exhausted);
    drop(pool.alloc(1000).unwrap());
    let stats = assert_conserved(&pool);
    assert_eq!(stats.capacity, SMALL_SLAB * 64);
    assert_eq!((stats.in_use, stats.spans), (102, 1));
    assert_eq!((stats.allocs, stats.frees, stats.failed), (103, 1, 1));
    let line = common::line_for(&stats, 1000);
    assert_eq!((line.in_use, line.allocs, line.frees), (100, 101, 1));
    assert_eq!(line.data_capacity, 1024);
    assert_eq!(line.slabs, 2, "53 of 1024 and a header fit in 64 KiB");
    let headers = &stats.classes[0];
    assert_eq!((headers.data_capacity, headers.in_use), (0, 1));
    let spans = &stats.span_class;
    assert_eq!((spans.in_use, spans.slabs, spans.failed), (1, 2, 1));
    drop((held, copy, span));
    let stats = assert_all_home(&pool);
    assert_eq!((stats.allocs, stats.frees), (103, 103));
    assert_eq!((stats.spans, stats.slabs_given_back), (0, 2));
    pool.trim();
    let stats = assert_all_home(&pool);
    assert_eq!((stats.slabs, stats.carved), (0, 0));
    // Two of data, one of headers, two of the span.
    assert_eq!(stats.slabs_given_back, 5);
}

#[test]
fn the_table_shows_every_class_that_was_used_and_the_totals() {
    let pool = pool(SMALL_SLAB * 64);
    let _held = [pool.alloc(300).unwrap(), pool.alloc(100_000).unwrap()];
    let table = pool.stats().to_string();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].contains("4.0 MiB"), "{table}");
    let header = ["data bytes", "carved", "in use", "failed", "returned"];
    assert!(header.iter().all(|name| lines[1].contains(name)), "{table}");
    let names: Vec<_> = lines[2..]
        .iter()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(names, ["320", "spans", "total"]);
    let width = lines[1].len();
    assert!(lines[1..].iter().all(|line| line.len() == width), "{table}");
}

#[test]
fn errors_say_what_is_wrong_and_are_small() {
    fn text<E: Error + Send + Sync + Copy + Eq + 'static>(error: E) -> String {
        Box::<dyn Error>::from(error).to_string()
    }
    assert!(text(AllocError::TooLarge).contains("4 GiB"));
    assert!(text(AllocError::Exhausted).contains("exhausted"));
    assert!(text(AllocError::OutOfMemory).contains("memory"));
    assert!(text(LenError::TooLong).contains("capacity"));
    assert!(text(LenError::Shared).contains("shared"));
    assert!(text(BuildError::TooManyPools).contains("pool"));
    assert_eq!(size_of::<Result<(), AllocError>>(), 1);
    assert_eq!(size_of::<Result<(), LenError>>(), 1);
    assert!(size_of::<BuildError>() <= 16);
    assert!(size_of::<AppendError>() <= 16);
    assert_eq!(size_of::<Result<Mbuf, AllocError>>(), 16);
}

#[test]
fn a_handle_is_8_bytes_and_so_is_an_optional_one() {
    assert_eq!(size_of::<Mbuf>(), 8);
    assert_eq!(size_of::<Option<Mbuf>>(), 8);
    assert_eq!(size_of::<Segment<'_>>(), 8);
    assert_eq!(size_of::<Option<SegmentMut<'_>>>(), 8);
    assert!(size_of::<Pool>() <= 16);
    assert!(size_of::<LocalPool>() <= 24);
}

#[test]
fn what_may_go_to_other_threads_can() {
    fn both<T: Send + Sync>() {}
    both::<Pool>();
    both::<PoolBuilder>();
    both::<Stats>();
    both::<Mbuf>();
    both::<AppendError>();
    both::<AllocError>();
    both::<BuildError>();
    both::<LenError>();
    both::<Segment<'_>>();
    both::<Segments<'_>>();
    both::<SegmentMut<'_>>();
    both::<SegmentsMut<'_>>();
}
