//! Calls on one buffer.

use super::abi::{self, ASKS, Ask, Need};
use super::place::Place;
use super::world::{ARGUMENT, HANDLE, MEMORY, SHARED, World, data_of, handle};
use crate::Size;
use arbitrary::Arbitrary;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

#[derive(Arbitrary, Debug)]
pub(super) enum Call {
    Ask(u8, u8),
    PoolOf(u8),
    Data(u8, u8, bool),
    SetLength(Size, bool),
    /// The last says whether the bytes are the buffer's own.
    AppendBytes(u8, bool),
    AppendNull(u8),
    Prepend(Size, u8),
    CopyOut(u16, Size),
    SetUser(Size, Size, bool),
    GetUser(Size, Size, bool),
    SetTimestamp(u64),
    CopyRef(u8, bool),
    Slice(Size, Size, u8),
    TokenOf,
}

/// What is asked for at most is there, whatever the size says.
const COPIED: usize = 1 << 13;

impl World {
    pub(super) fn call_buffer(&mut self, address: usize, call: Call) {
        let buf = handle(address);
        match call {
            Call::Ask(which, place) => {
                let (call, need) = ASKS[usize::from(which) % ASKS.len()];
                self.ask(address, call, need, place);
            }
            Call::PoolOf(place) => self.pool_of(address, place),
            Call::Data(one, other, vendors) => self.data(address, (one, other), vendors),
            Call::SetLength(length, vendors) => {
                let call = if vendors {
                    abi::aclrtSetBufDataLen
                } else {
                    abi::mbuf_set_length
                };
                // SAFETY: a handle may be anything (F2), here and below.
                let code = unsafe { call(buf, length.bytes()) };
                self.done(code, address, true, &[ARGUMENT]);
            }
            Call::AppendBytes(n, own) => self.append_bytes(address, n.into(), own),
            Call::AppendNull(n) => {
                // SAFETY: null is an address like others.
                let code = unsafe { abi::mbuf_append_bytes(buf, ptr::null(), n.into()) };
                self.done(code, address, false, &[]);
            }
            Call::Prepend(n, place) => {
                let place = Place::new(place);
                // SAFETY: the output is large enough or null (F1).
                let code = unsafe { abi::mbuf_prepend(buf, n.bytes(), place.pointer()) };
                if !self.done(code, address, place.is_there(), &[ARGUMENT, SHARED]) {
                    place.assert_untouched();
                }
            }
            Call::CopyOut(offset, size) => self.copy_out(address, offset.into(), size.bytes()),
            Call::SetUser(size, offset, vendors) => {
                self.set_user(address, size.bytes(), offset.bytes(), vendors);
            }
            Call::GetUser(size, offset, vendors) => {
                self.get_user(address, size.bytes(), offset.bytes(), vendors);
            }
            Call::SetTimestamp(timestamp) => {
                // SAFETY: as above.
                let code = unsafe { abi::mbuf_set_timestamp(buf, timestamp) };
                self.done(code, address, true, &[]);
            }
            Call::CopyRef(place, vendors) => self.copy_ref(address, place, vendors),
            Call::Slice(offset, length, place) => {
                self.slice(address, (offset.bytes(), length.bytes()), place);
            }
            Call::TokenOf => self.token_of(address),
        }
    }

    fn copy_ref(&mut self, address: usize, place: u8, vendors: bool) {
        let call = if vendors {
            abi::aclrtCopyBufRef
        } else {
            abi::mbuf_copy_ref
        };
        let place = Place::new(place);
        // SAFETY: the output is large enough or null (F1).
        let code = unsafe { call(handle(address), place.pointer()) };
        self.new_buffer(code, address, &place, true, &[MEMORY]);
    }

    fn slice(&mut self, address: usize, (offset, length): (usize, usize), place: u8) {
        let place = Place::new(place);
        // SAFETY: the output is large enough or null (F1).
        let code = unsafe { abi::mbuf_slice(handle(address), offset, length, place.pointer()) };
        let sound = offset.checked_add(length).is_some();
        self.new_buffer(code, address, &place, sound, &[ARGUMENT, MEMORY]);
    }

    /// After a call that changes a buffer at most.
    #[track_caller]
    fn done(&mut self, code: c_int, address: usize, sound: bool, possible: &[c_int]) -> bool {
        let refusal = self.refusal(address, Need::Any, sound);
        let done = self.settle(code, refusal, possible);
        if done {
            self.look();
        }
        done
    }

    /// After a call that makes a buffer of another.
    #[track_caller]
    fn new_buffer(
        &mut self,
        code: c_int,
        address: usize,
        place: &Place,
        sound: bool,
        possible: &[c_int],
    ) {
        let refusal = self.refusal(address, Need::Any, sound && place.is_there());
        if self.settle(code, refusal, possible) {
            self.adopt(place.get());
            self.look();
        } else {
            place.assert_untouched();
        }
    }

    fn ask(&mut self, address: usize, call: Ask, need: Need, place: u8) {
        let place = Place::new(place);
        // SAFETY: the output is large enough for any answer or null (F1).
        let code = unsafe { call(handle(address), place.pointer()) };
        let refusal = self.refusal(address, need, place.is_there());
        if !self.settle(code, refusal, &[]) {
            place.assert_untouched();
        }
    }

    fn pool_of(&mut self, address: usize, place: u8) {
        let place = Place::new(place);
        // SAFETY: as in `ask`.
        let code = unsafe { abi::mbuf_pool_of(handle(address), place.pointer()) };
        let refusal = self.refusal(address, Need::Any, place.is_there());
        // The pool may have been destroyed.
        let possible: &[c_int] = if self.closed.is_empty() {
            &[]
        } else {
            &[HANDLE]
        };
        if self.settle(code, refusal, possible) {
            assert!(self.pools.contains(&place.get()));
        } else {
            place.assert_untouched();
        }
    }

    fn data(&mut self, address: usize, (one, other): (u8, u8), vendors: bool) {
        let (one, other) = (Place::new(one), Place::new(other));
        let call = if vendors {
            abi::aclrtGetBufData
        } else {
            abi::mbuf_data
        };
        // SAFETY: the outputs are large enough or null (F1).
        let code = unsafe { call(handle(address), one.pointer(), other.pointer()) };
        let sound = !vendors || (one.is_there() && other.is_there());
        if !self.done(code, address, sound, &[]) {
            one.assert_untouched();
            other.assert_untouched();
        }
    }

    fn append_bytes(&mut self, address: usize, n: usize, own: bool) {
        let bytes = [7; 256];
        let mut from = bytes.as_ptr().cast::<c_void>();
        if own && self.refusal(address, Need::Any, true).is_none() {
            let (data, size) = data_of(address);
            if size >= n {
                from = data;
            }
        }
        // SAFETY: there are as many bytes (F1).
        let code = unsafe { abi::mbuf_append_bytes(handle(address), from, n) };
        self.done(code, address, true, &[ARGUMENT, SHARED]);
    }

    fn copy_out(&mut self, address: usize, offset: usize, length: usize) {
        let mut bytes = [0; COPIED];
        let length = length.min(COPIED);
        // SAFETY: there is as much room (F1).
        let code = unsafe {
            abi::mbuf_copy_out(handle(address), offset, bytes.as_mut_ptr().cast(), length)
        };
        if !self.done(code, address, true, &[ARGUMENT]) {
            assert!(
                bytes.iter().all(|&byte| byte == 0),
                "output of a refused call"
            );
        }
    }

    fn set_user(&mut self, address: usize, size: usize, offset: usize, vendors: bool) {
        let bytes = [9_u8; 96];
        let call = if vendors {
            abi::aclrtSetBufUserData
        } else {
            abi::mbuf_set_user_data
        };
        // SAFETY: no call reads more than the area's size (F1: a size that is larger is refused before).
        let code = unsafe { call(handle(address), bytes.as_ptr().cast(), size, offset) };
        self.done(code, address, is_in_user_area(size, offset), &[]);
    }

    fn get_user(&mut self, address: usize, size: usize, offset: usize, vendors: bool) {
        let mut bytes = [0xa5_u8; 96];
        let call = if vendors {
            abi::aclrtGetBufUserData
        } else {
            abi::mbuf_get_user_data
        };
        // SAFETY: as in `set_user`.
        let code = unsafe { call(handle(address), bytes.as_mut_ptr().cast(), size, offset) };
        if !self.done(code, address, is_in_user_area(size, offset), &[]) {
            assert_eq!(bytes, [0xa5; 96], "output of a refused call");
        }
    }

    fn token_of(&mut self, address: usize) {
        let place = Place::new(0);
        // SAFETY: the output is large enough (F1).
        let code = unsafe { abi::mbuf_token_of(handle(address), place.pointer()) };
        if self.done(code, address, true, &[]) {
            self.tokens.push((place.get(), Some(address)));
            if self.tokens.len() > 16 {
                self.tokens.swap_remove(0);
            }
        } else {
            place.assert_untouched();
        }
    }
}

fn is_in_user_area(size: usize, offset: usize) -> bool {
    size.checked_add(offset).is_some_and(|end| end <= 96)
}

thread_local! {
    static MADE: Cell<usize> = const { Cell::new(0) };
    static RELEASED: Cell<usize> = const { Cell::new(0) };
}

/// Foreign memory of this thread's: whether all of it was released, and none twice.
pub(super) struct Released;

impl Released {
    pub(super) fn new() -> Self {
        MADE.set(0);
        RELEASED.set(0);
        Self
    }

    pub(super) fn assert_all(self) {
        assert_eq!(
            RELEASED.get(),
            MADE.get(),
            "foreign memory that was not released"
        );
    }
}

/// Memory to be wrapped, and the argument that `release` wants with it.
pub(super) fn foreign(length: usize) -> (*mut c_void, *mut c_void) {
    MADE.set(MADE.get() + 1);
    let bytes = vec![3_u8; length + 1].into_boxed_slice();
    let argument = Box::new(length + 1);
    (Box::into_raw(bytes).cast(), Box::into_raw(argument).cast())
}

/// # Safety
/// Both are of `foreign`, and not released yet.
pub(super) unsafe extern "C-unwind" fn release(data: *mut c_void, argument: *mut c_void) {
    RELEASED.set(RELEASED.get() + 1);
    // SAFETY: the caller's promise.
    unsafe {
        let length = *Box::from_raw(argument.cast::<usize>());
        let bytes = ptr::slice_from_raw_parts_mut(data.cast::<u8>(), length);
        (*bytes).fill(0xdd);
        drop(Box::from_raw(bytes));
    }
}
