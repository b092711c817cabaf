//! Mbufs that C knows, after Rust made views of them, shifted, chained and wrapped: C's calls see what Rust sees, handles of what was
//! freed are refused, and blocks are fresh when they come again.
#![cfg(all(feature = "capi", not(loom)))]

mod common;

use mbuf::{Layout, Mbuf, Pool};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

type Handle = *mut c_void;

/// `mbuf_token`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Token([u64; 3]);

unsafe extern "C" {
    fn mbuf_pool_create(options: *const c_void, pool: *mut u64) -> c_int;
    fn mbuf_pool_destroy(pool: u64, in_use: *mut u64) -> c_int;
    fn mbuf_alloc(pool: u64, size: usize, buf: *mut Handle) -> c_int;
    fn mbuf_free(buf: Handle) -> c_int;
    fn mbuf_free_bulk(bufs: *const Handle, count: usize) -> c_int;
    fn mbuf_data(buf: Handle, data: *mut *mut u8, size: *mut usize) -> c_int;
    fn mbuf_length(buf: Handle, length: *mut usize) -> c_int;
    fn mbuf_append_bytes(buf: Handle, bytes: *const u8, length: usize) -> c_int;
    fn mbuf_get_user_data(buf: Handle, data: *mut u8, size: usize, offset: usize) -> c_int;
    fn mbuf_timestamp(buf: Handle, timestamp: *mut u64) -> c_int;
    fn mbuf_copy_ref(buf: Handle, copy: *mut Handle) -> c_int;
    fn mbuf_is_shared(buf: Handle, shared: *mut c_int) -> c_int;
    fn mbuf_make_unique(head: *mut Handle) -> c_int;
    fn mbuf_chain_count(head: Handle, count: *mut u32) -> c_int;
    fn mbuf_chain_length(buf: Handle, bytes: *mut u64) -> c_int;
    fn mbuf_token_of(buf: Handle, token: *mut Token) -> c_int;
    fn mbuf_from_token(token: *const Token, buf: *mut Handle) -> c_int;
}

/// What a call writes to its last parameter, if it succeeds.
fn get<T: Default>(call: impl FnOnce(*mut T) -> c_int) -> Option<T> {
    let mut out = T::default();
    (call(&mut out) == 0).then_some(out)
}

fn alloc(pool: u64, size: usize) -> Handle {
    let mut buf = ptr::null_mut();
    // SAFETY: a place for the handle.
    assert_eq!(unsafe { mbuf_alloc(pool, size, &mut buf) }, 0);
    buf
}

fn to_rust(buf: Handle) -> Mbuf {
    // SAFETY: each test gives up what it has of C's.
    unsafe { Mbuf::from_raw(NonNull::new(buf).unwrap()) }
}

fn to_c(mbuf: Mbuf) -> Handle {
    mbuf.into_raw().as_ptr()
}

fn free(buf: Handle) -> bool {
    // SAFETY: a handle may be anything.
    unsafe { mbuf_free(buf) == 0 }
}

fn is_live(buf: Handle) -> bool {
    // SAFETY: as above, and a place for the number.
    get(|out| unsafe { mbuf_length(buf, out) }).is_some()
}

/// Data and capacity as C sees them.
fn room(buf: Handle) -> (*mut u8, usize) {
    let (mut data, mut size) = (ptr::null_mut(), 0);
    // SAFETY: places for both.
    assert_eq!(unsafe { mbuf_data(buf, &mut data, &mut size) }, 0);
    (data, size)
}

#[track_caller]
fn assert_fresh(buf: Handle, size: usize) {
    let start = buf.cast::<u8>().wrapping_add(common::HEADER as usize);
    assert_eq!(room(buf), (start, size));
    let mut user = [1_u8; 96];
    // SAFETY: live, and places for what is asked.
    unsafe {
        assert_eq!(mbuf_get_user_data(buf, user.as_mut_ptr(), 96, 0), 0);
        assert_eq!(get(|out| mbuf_length(buf, out)), Some(0));
        assert_eq!(get(|out| mbuf_timestamp(buf, out)), Some(0));
        assert_eq!(get(|out| mbuf_chain_count(buf, out)), Some(1));
        assert_eq!(get(|out| mbuf_is_shared(buf, out)), Some(0));
    }
    assert_eq!(user, [0; 96]);
}

/// One buffer of C's with data, shifted and marked by Rust.
fn shifted(pool: u64) -> Mbuf {
    let mut mbuf = to_rust(alloc(pool, 100));
    mbuf.extend_from_slice(&[7; 60]).unwrap();
    mbuf.advance(20).unwrap();
    mbuf.user_mut().fill(9);
    mbuf.set_timestamp(9);
    mbuf
}

/// Puts an mbuf, its views and more of them in a chain; what comes back are all of its handles.
fn chained(pool: u64) -> (Mbuf, Vec<Handle>) {
    let mut chain = shifted(pool);
    let rest = chain.split_off_bytes(10).unwrap();
    chain.append(rest.slice(3..5).unwrap()).unwrap();
    chain.append(shifted(pool)).unwrap();
    chain.prepend_chain(rest).unwrap();
    let mut handles = Vec::new();
    for segment in chain.segments() {
        // The address of a segment is that of a copy's original's user area less the line in front of it.
        handles.push(
            ptr::from_ref(segment.user())
                .cast_mut()
                .wrapping_byte_sub(64)
                .cast(),
        );
    }
    (chain, handles)
}

#[test]
fn c_sees_the_views_that_rust_made_and_frees_them() {
    // SAFETY: a place for the number, and the default options.
    let pool = get(|out| unsafe { mbuf_pool_create(ptr::null(), out) }).unwrap();
    for round in 0..8 {
        let (chain, handles) = chained(pool);
        let expected: Vec<_> = chain
            .segments()
            .map(|segment| {
                (
                    segment.data().as_ptr().cast_mut(),
                    segment.capacity(),
                    segment.len(),
                )
            })
            .collect();
        let head = to_c(chain);
        assert_eq!(head, handles[0]);
        // SAFETY: live, and places for what is asked.
        unsafe {
            assert_eq!(get(|out| mbuf_chain_count(head, out)), Some(4));
            assert_eq!(
                get(|out| mbuf_chain_length(head, out)),
                Some(30 + 10 + 2 + 40)
            );
            for (&handle, expected) in handles.iter().zip(&expected) {
                let (data, capacity) = room(handle);
                let len = get(|out| mbuf_length(handle, out)).unwrap();
                assert_eq!((data, capacity, len), *expected);
            }
            // The first is a view that shares, and so is the last not.
            assert_ne!(mbuf_append_bytes(head, [1].as_ptr(), 1), 0);
            assert_eq!(mbuf_append_bytes(handles[3], [1].as_ptr(), 1), 0);
        }
        let tokens: Vec<Token> = (handles.iter())
            // SAFETY: live, and a place for the token.
            .map(|&handle| get(|out| unsafe { mbuf_token_of(handle, out) }).unwrap())
            .collect();
        assert!(handles[1..].iter().all(|&member| !free(member)));
        match round % 3 {
            0 => assert!(free(head)),
            // SAFETY: an array of one.
            1 => assert_eq!(unsafe { mbuf_free_bulk(&head, 1) }, 0),
            _ => drop(to_rust(head)),
        }
        for (&handle, token) in handles.iter().zip(&tokens) {
            assert!(!is_live(handle) && !free(handle));
            let mut found = ptr::null_mut();
            // SAFETY: a token, and a place for the handle.
            assert_ne!(unsafe { mbuf_from_token(token, &mut found) }, 0);
        }
        let again: Vec<_> = (0..4)
            .flat_map(|_| [(alloc(pool, 0), 0), (alloc(pool, 100), 100)])
            .collect();
        for &(buf, size) in &again {
            assert_fresh(buf, size);
        }
        assert!(again.into_iter().all(|(buf, _)| free(buf)));
    }
    // SAFETY: a place for the number.
    assert_eq!(get(|out| unsafe { mbuf_pool_destroy(pool, out) }), Some(0));
}

#[test]
fn views_outlive_cs_pool() {
    // SAFETY: a place for the number, and the default options.
    let pool = get(|out| unsafe { mbuf_pool_create(ptr::null(), out) }).unwrap();
    let mut front = shifted(pool);
    let view = front.slice(..5).unwrap().slice(1..).unwrap();
    let back = front.split_off_bytes(30).unwrap();
    drop(front);
    // SAFETY: a place for the number. One block and two headers.
    assert_eq!(get(|out| unsafe { mbuf_pool_destroy(pool, out) }), Some(3));
    assert_eq!((view.data(), back.data()), (&[7; 4][..], &[7; 10][..]));
    let (view, back) = (to_c(view), to_c(back));
    assert!(free(back) && !is_live(back));
    let mut view = to_rust(view);
    view.prepend_slice(&[1; 21]).unwrap();
    let view = to_c(view);
    assert!(free(view) && !is_live(view) && !free(view));
}

#[test]
fn c_has_foreign_memory_of_rusts() {
    let _alone = common::alone();
    let pool = Pool::global().unwrap();
    for round in 0..6 {
        let text = std::sync::Arc::<[u8]>::from(&b"foreign text"[..]);
        let mut mbuf = pool.wrap(text.clone()).unwrap();
        mbuf.advance(8).unwrap();
        mbuf.user_mut()[0] = 1;
        let head = to_c(mbuf);
        assert_eq!(room(head), (text[8..].as_ptr().cast_mut(), 4));
        let mut copy = ptr::null_mut();
        // SAFETY: live, and places for the handles.
        unsafe {
            assert_eq!(mbuf_copy_ref(head, &mut copy), 0);
            assert_ne!(mbuf_append_bytes(head, [1].as_ptr(), 1), 0);
        }
        let (first, mut last) = if round % 2 == 0 {
            (head, copy)
        } else {
            (copy, head)
        };
        assert!(free(first) && !is_live(first) && !free(first));
        assert_eq!(std::sync::Arc::strong_count(&text), 2);
        // SAFETY: live, and a place for another handle.
        unsafe {
            // Read-only, and nobody else's.
            assert_eq!(get(|out| mbuf_is_shared(last, out)), Some(0));
            if round % 3 == 0 {
                assert_eq!(mbuf_make_unique(&mut last), 0);
                assert_eq!(std::sync::Arc::strong_count(&text), 1);
                assert_eq!(room(last).1, 4);
            }
        }
        assert!(free(last) && !is_live(last) && !free(last));
        assert_eq!(std::sync::Arc::strong_count(&text), 1);
        let again: Vec<_> = (0..4)
            .flat_map(|_| [(alloc(0, 0), 0), (alloc(0, 64), 64)])
            .collect();
        for &(buf, size) in &again {
            assert_fresh(buf, size);
        }
        assert!(again.into_iter().all(|(buf, _)| free(buf)));
    }
    let held = pool
        .alloc_with(Layout::new(8).headroom(100).align(256))
        .unwrap();
    let held = to_c(held);
    assert!(free(held));
    assert_eq!(pool.stats().in_use, 0);
}

/// An owner whose drop panics.
struct Throwing;

impl AsRef<[u8]> for Throwing {
    fn as_ref(&self) -> &[u8] {
        b"bytes"
    }
}

impl Drop for Throwing {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any("thrown");
        }
    }
}

#[test]
fn no_block_that_c_knows_is_lost_when_an_owner_panics() {
    let _alone = common::alone();
    let pool = Pool::global().unwrap();
    for at in 0..5 {
        for is_view in [false, true] {
            let foreign = pool.wrap(Throwing).unwrap();
            let view = is_view.then(|| foreign.slice(1..).unwrap());
            // The original goes before its view.
            let foreign = view.unwrap_or(foreign);
            let mut rest = Some(foreign);
            let mut chain = pool.alloc_zeroed(1).unwrap();
            for i in 0..5 {
                let next = rest.take_if(|_| i == at);
                let next = next.unwrap_or_else(|| pool.alloc_zeroed(1).unwrap());
                chain.append(next).unwrap();
            }
            let handle = chain.into_raw();
            let thrown = std::panic::catch_unwind(|| drop(to_rust(handle.as_ptr())));
            assert_eq!(thrown.unwrap_err().downcast_ref(), Some(&"thrown"));
            assert!(!is_live(handle.as_ptr()));
            assert_eq!(pool.stats().in_use, 0);
        }
    }
}
