//! What can be wrapped: owners of all shapes, and what their mbufs then can and cannot do.

use super::common::{SMALL_LARGEST, SMALL_SLAB, assert_all_home, fill, holding, pool};
use super::{Drops, counted};
use mbuf::{AllocError, LenError, Pool};
use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Wraps `owner`, both ways, and checks what is seen of it and what is left of it.
fn wrap_both<T>(pool: &Pool, owner: impl Fn() -> T, expected: &[u8])
where
    T: AsRef<[u8]> + AsMut<[u8]> + Send + 'static,
{
    let mut mbuf = pool.wrap(owner()).unwrap();
    assert_eq!(mbuf.data(), expected);
    assert_eq!((mbuf.capacity(), mbuf.headroom()), (expected.len(), 0));
    assert!(mbuf.is_foreign() && mbuf.is_read_only() && !mbuf.is_shared());
    assert!(mbuf.data_mut().is_none() && mbuf.spare_capacity_mut().is_none());
    drop(mbuf);
    let mut mbuf = pool.wrap_mut(owner()).unwrap();
    assert!(mbuf.is_foreign() && !mbuf.is_read_only());
    let bytes = mbuf.data_mut().unwrap();
    bytes.reverse();
    bytes.reverse();
    assert_eq!(mbuf.data(), expected);
    drop(mbuf);
    assert_all_home(pool);
}

#[derive(Clone)]
#[repr(align(64))]
struct Aligned([u8; 65]);

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        assert_eq!(ptr::from_ref(self).addr() % 64, 0);
        &self.0
    }
}

impl AsMut<[u8]> for Aligned {
    fn as_mut(&mut self) -> &mut [u8] {
        assert_eq!(ptr::from_mut(self).addr() % 64, 0);
        &mut self.0
    }
}

#[test]
fn owners_of_all_shapes_are_wrapped() {
    let pool = pool(1 << 20);
    wrap_both(&pool, Vec::new, b"");
    wrap_both(&pool, || b"vector".to_vec(), b"vector");
    wrap_both(&pool, || Box::<[u8]>::from(&b"box"[..]), b"box");
    wrap_both(&pool, || Box::<[u8]>::from(&b""[..]), b"");
    wrap_both(&pool, || [0_u8; 0], b"");
    wrap_both(&pool, || *b"1", b"1");
    wrap_both(&pool, || [9; 100_000], &[9; 100_000]);
    wrap_both(&pool, || Aligned([3; 65]), &[3; 65]);
}

#[test]
fn owners_that_are_larger_than_any_class_get_a_span() {
    let pool = pool(SMALL_SLAB * 8);
    const LARGE: usize = 100_000;
    const { assert!(LARGE > SMALL_LARGEST) };
    let mbuf = pool.wrap([7_u8; LARGE]).unwrap();
    assert_eq!(pool.stats().spans, 1);
    let view = mbuf.slice(LARGE - 1..).unwrap();
    drop(mbuf);
    assert_eq!((view.data(), pool.stats().spans), (&[7][..], 1));
    drop(view);
    assert_eq!(pool.stats().spans, 0);
    assert_all_home(&pool);
}

#[test]
fn an_mbuf_can_be_the_owner() {
    let pool = pool(1 << 20);
    let (one, other) = (holding(&pool, b"inner"), super::common::pool(SMALL_SLAB));
    let inside = other.wrap(one).unwrap();
    let outside = pool.wrap(inside).unwrap();
    drop(other);
    assert_eq!(outside.data(), b"inner");
    assert_eq!(outside.data().as_ptr().addr() % 64, 0);
    drop(outside);
    assert_all_home(&pool);
}

#[test]
fn a_mapped_file_is_wrapped() {
    let path = std::env::temp_dir().join(format!("mbuf-foreign-{}", std::process::id()));
    File::create(&path)
        .unwrap()
        .write_all(b"in a file")
        .unwrap();
    let file = File::open(&path).unwrap();
    // SAFETY: nobody else knows the file.
    let map = unsafe { memmap2::Mmap::map(&file).unwrap() };
    std::fs::remove_file(&path).unwrap();
    let pool = pool(1 << 20);
    let start = map.as_ptr();
    let mut mbuf = pool.wrap(map).unwrap();
    assert_eq!(
        (mbuf.data(), mbuf.data().as_ptr()),
        (&b"in a file"[..], start)
    );
    let tail = mbuf.split_off_bytes(5).unwrap();
    drop(mbuf);
    assert_eq!(tail.data(), b"file");
    drop(tail);
    assert_all_home(&pool);
}

#[test]
fn read_only_bytes_are_never_written() {
    let pool = pool(1 << 20);
    let drops = Drops::default();
    let mut mbuf = pool.wrap(counted(b"constant", &drops)).unwrap();
    mbuf.advance(2).unwrap();
    mbuf.truncate(4);
    assert_eq!((mbuf.headroom(), mbuf.tailroom()), (2, 2));
    assert_eq!(mbuf.prepend(1).unwrap_err(), LenError::Shared);
    assert_eq!(mbuf.prepend(3).unwrap_err(), LenError::TooLong);
    assert_eq!(mbuf.prepend(usize::MAX).unwrap_err(), LenError::TooLong);
    assert_eq!(mbuf.prepend_slice(b"c"), Err(LenError::Shared));
    assert_eq!(mbuf.append_bytes(b"x"), Err(LenError::Shared));
    assert_eq!(mbuf.extend_from_slice(b"x"), Err(LenError::Shared));
    assert_eq!(mbuf.set_len(5), Err(LenError::Shared));
    assert_eq!(mbuf.set_len(7), Err(LenError::TooLong));
    assert!(mbuf.data_mut().is_none() && mbuf.spare_capacity_mut().is_none());
    assert!(mbuf.prepend(0).unwrap().is_empty());
    assert_eq!(mbuf.data(), b"nsta");
    // A copy and a view are as read-only when they are left alone.
    let (mut copy, mut view) = (mbuf.copy_ref().unwrap(), mbuf.slice(1..3).unwrap());
    drop(mbuf);
    assert!(copy.data_mut().is_none());
    drop(copy);
    assert!(view.is_read_only() && view.data_mut().is_none());
    assert_eq!((view.data(), view.headroom()), (&b"st"[..], 3));
    assert_eq!(drops.count(), 0);
    view.make_unique().unwrap();
    assert_eq!(drops.count(), 1);
    assert!(!view.is_foreign() && !view.is_read_only());
    view.data_mut().unwrap().make_ascii_uppercase();
    assert_eq!(view.data(), b"ST");
    drop(view);
    assert_all_home(&pool);
}

#[test]
fn writable_bytes_are_written_by_who_is_alone_and_within_them() {
    let pool = pool(1 << 20);
    let mut mbuf = pool.wrap_mut(b"writable".to_vec()).unwrap();
    let view = mbuf.slice(3..5).unwrap();
    assert!(mbuf.data_mut().is_none());
    assert_eq!(mbuf.set_len(4), Ok(()));
    drop(mbuf);
    let mut view = view;
    assert_eq!(view.data(), b"ta");
    view.prepend_slice(b"STA").unwrap();
    assert_eq!(view.prepend(1).unwrap_err(), LenError::TooLong);
    assert_eq!(view.append_bytes(b"!"), Err(LenError::TooLong));
    assert_eq!((view.data(), view.headroom()), (&b"STAta"[..], 0));
    drop(view);
    assert_all_home(&pool);
}

#[test]
fn an_owner_that_was_not_wrapped_comes_back() {
    let pool = pool(SMALL_SLAB);
    let drops = Drops::default();
    let held = fill(&pool, 1);
    let error = pool.wrap(counted(b"back", &drops)).unwrap_err();
    assert_eq!(error.error(), AllocError::Exhausted);
    assert_eq!(error.to_string(), AllocError::Exhausted.to_string());
    assert!(format!("{error:?}").contains("Exhausted"));
    let owner = error.into_owner();
    assert_eq!((owner.as_ref(), drops.count()), (&b"back"[..], 0));
    let error = pool.wrap_mut(owner).unwrap_err();
    assert_eq!(drops.count(), 0);
    drop(held);
    let mbuf = pool.wrap_mut(error.into_owner()).unwrap();
    assert_eq!(mbuf.data(), b"back");
    drop(mbuf);
    assert_eq!(drops.count(), 1);
    // An error that nobody looks at drops the owner that is in it.
    let held = fill(&pool, 1);
    drop(pool.wrap(counted(b"lost", &drops)));
    assert_eq!(drops.count(), 2);
    drop(held);
    let error = pool.wrap([0_u8; SMALL_SLAB as usize]).unwrap_err();
    assert_eq!(error.error(), AllocError::Exhausted);
    assert_all_home(&pool);
}

/// Notes the address that it is told of, and counts.
unsafe extern "C-unwind" fn note(data: *mut c_void, calls: *mut c_void) {
    // SAFETY: the test's own, which outlives the mbuf.
    let calls = unsafe { &mut *calls.cast::<Vec<usize>>() };
    calls.push(data.addr());
}

#[test]
fn raw_memory_is_released_once_with_its_address_and_argument() {
    static BYTES: [u8; 8] = *b"forever!";
    let pool = pool(1 << 20);
    let mut calls = Vec::<usize>::new();
    let argument = ptr::from_mut(&mut calls);
    let data = NonNull::from(&BYTES).cast();
    for len in [8, 0, 1] {
        // SAFETY: static bytes, not to be written; the argument is used by this thread alone.
        let mbuf = unsafe { pool.wrap_raw(data, len, false, note, argument.cast()) };
        let mut mbuf = mbuf.unwrap();
        assert_eq!(
            (mbuf.data(), mbuf.retained() >= len as u64),
            (&BYTES[..len], true)
        );
        mbuf.truncate(len / 2);
        let copy = mbuf.copy_ref().unwrap();
        drop(mbuf);
        assert_eq!(copy.data(), &BYTES[..len / 2]);
        drop(copy);
    }
    assert_eq!(calls, [data.as_ptr().addr(); 3]);
    let held = fill(&pool, 1);
    // SAFETY: as above.
    let error = unsafe { pool.wrap_raw(data, 8, false, note, ptr::null_mut()) };
    assert_eq!(error.unwrap_err(), AllocError::Exhausted);
    drop(held);
    assert_all_home(&pool);
}

#[test]
fn foreign_memory_counts_as_retained_until_it_is_compacted_away() {
    let pool = pool(1 << 20);
    let bytes = Arc::<[u8]>::from(vec![5; 50_000]);
    let mut view = pool
        .wrap(bytes.clone())
        .unwrap()
        .slice(40_000..40_010)
        .unwrap();
    assert!(view.retained() > 50_000);
    view.compact().unwrap();
    assert_eq!(Arc::strong_count(&bytes), 1);
    assert!(view.retained() < 1000 && !view.is_foreign() && !view.is_read_only());
    assert_eq!(view.data(), [5; 10]);
    let allocs = pool.stats().allocs;
    view.compact().unwrap();
    assert_eq!(pool.stats().allocs, allocs, "there was nothing to gain");
    drop(view);
    assert_all_home(&pool);
}

#[test]
fn a_block_that_held_an_owner_is_fresh() {
    let pool = pool(SMALL_SLAB * 2);
    for round in 0..3_u8 {
        let mut mbuf = pool.wrap([round; 100]).unwrap();
        mbuf.advance(30).unwrap();
        mbuf.user_mut().fill(round + 1);
        mbuf.set_timestamp(7);
        let view = mbuf.slice(3..).unwrap();
        mbuf.append(view).unwrap();
        drop(mbuf);
        for mut fresh in fill(&pool, 100).into_iter().chain(fill(&pool, 0)) {
            assert!(!fresh.is_foreign() && !fresh.is_read_only() && !fresh.is_shared());
            assert_eq!(
                (fresh.headroom(), fresh.len(), fresh.timestamp()),
                (0, 0, 0)
            );
            assert_eq!((fresh.user(), fresh.segment_count()), (&[0; 96], 1));
            let capacity = fresh.capacity();
            assert_eq!(
                fresh.spare_capacity_mut().map(|room| room.len()),
                Some(capacity)
            );
            assert!(fresh.retained() > capacity as u64);
        }
    }
    assert_all_home(&pool);
}
