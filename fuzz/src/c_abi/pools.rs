//! Pools, and what they hand out.

use super::abi::{self, Handle, Options, Statistics, Token};
use super::buffers;
use super::place::Place;
use super::world::{ARGUMENT, HANDLE, MEMORY, OK, Role, World, statistics};
use crate::Size;
use arbitrary::Arbitrary;
use std::ffi::c_int;
use std::ptr;

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) enum Number {
    Default,
    Open(u8),
    Closed(u8),
    Anything(u64),
}

#[derive(Arbitrary, Debug)]
pub(super) enum Call {
    Create {
        capacity: u16,
        magazine: u8,
        pages: u8,
        prefault: bool,
        reserved: u8,
        size: u8,
        place: u8,
    },
    Destroy(Number, bool),
    Reserve(Number, Size, Size),
    Trim(Number, bool),
    Statistics(Number, u8),
}

#[derive(Arbitrary, Debug)]
pub(super) enum Make {
    Alloc(Number, Size, u8),
    Aligned(Number, Size, u16, u8),
    Headroom(Number, Size, Size, u8, u8),
    Bulk(Number, Size, u8),
    /// As many as the last says, in one chain.
    Chain(Number, Size, u8),
    Wrap {
        pool: Number,
        length: u16,
        writable: c_int,
        place: u8,
        missing: u8,
    },
    Vendors(Size, u8),
    /// The first is of a token that was, the rest changes it.
    FromToken {
        token: u8,
        field: u8,
        change: u32,
        place: u8,
    },
}

const LARGEST: usize = 4 << 30;
const MOST_POOLS: usize = 4;

impl World {
    fn number(&self, number: Number) -> u64 {
        let among = |all: &[u64], at: u8| {
            let at = usize::from(at).checked_rem(all.len());
            at.map_or(0, |at| all[at])
        };
        match number {
            Number::Default => 0,
            Number::Open(at) => among(&self.pools, at),
            Number::Closed(at) => among(&self.closed, at),
            Number::Anything(number) => number,
        }
    }

    /// What a call must return because of the pool's number and other arguments.
    fn pool_refusal(&self, pool: u64, sound: bool) -> Option<c_int> {
        match () {
            () if !sound => Some(ARGUMENT),
            () if !self.pools.contains(&pool) => Some(HANDLE),
            () => None,
        }
    }

    pub(super) fn call_pool(&mut self, call: Call) {
        match call {
            Call::Create {
                capacity,
                magazine,
                pages,
                prefault,
                reserved,
                size,
                place,
            } => {
                let options = Options {
                    // Mostly right.
                    struct_size: size_of::<Options>() + usize::from(size / 250),
                    capacity: u64::from(capacity) * 16 + 1,
                    magazine_size: u32::from(magazine),
                    huge_pages: (pages / 64).into(),
                    prefault: prefault.into(),
                    reserved: (reserved / 250).into(),
                };
                self.create(options, &Place::new(place));
            }
            Call::Destroy(number, wanted) => self.destroy(self.number(number), wanted),
            Call::Reserve(number, size, count) => {
                let (pool, size) = (self.number(number), size.bytes());
                // SAFETY: a number may be anything (F2), here and below.
                let code = unsafe { abi::mbuf_pool_reserve(pool, size, count.bytes()) };
                let refusal = self.pool_refusal(pool, size <= LARGEST);
                self.settle(code, refusal, &[MEMORY]);
            }
            Call::Trim(number, wanted) => {
                let pool = self.number(number);
                let mut bytes = 0;
                let place = if wanted { &mut bytes } else { ptr::null_mut() };
                // SAFETY: the output is one or null (F1).
                let code = unsafe { abi::mbuf_pool_trim(pool, place) };
                let refusal = self.pool_refusal(pool, true);
                self.settle(code, refusal, &[]);
            }
            Call::Statistics(number, size) => {
                let pool = self.number(number);
                let sound = size < 200;
                let struct_size = size_of::<Statistics>() + usize::from(!sound);
                let mut place = Statistics {
                    struct_size,
                    ..Statistics::default()
                };
                // SAFETY: the output is one (F1).
                let code = unsafe { abi::mbuf_pool_get_statistics(pool, &mut place) };
                let refusal = self.pool_refusal(pool, sound);
                self.settle(code, refusal, &[]);
            }
        }
    }

    fn create(&mut self, options: Options, place: &Place) {
        if self.pools.len() == MOST_POOLS {
            return;
        }
        // SAFETY: the output is large enough or null, the options are there (F1).
        let code = unsafe { abi::mbuf_pool_create(&options, place.pointer()) };
        let sound = place.is_there()
            && options.struct_size == size_of::<Options>()
            && options.magazine_size <= 128
            && options.huge_pages <= 2
            && options.reserved == 0;
        let refusal = (!sound).then_some(ARGUMENT);
        // There may be no explicit huge pages.
        if self.settle(code, refusal, &[MEMORY]) {
            let number = place.get();
            assert!(!self.pools.contains(&number) && !self.closed.contains(&number));
            self.pools.push(number);
            self.look();
        } else {
            place.assert_untouched();
        }
    }

    fn destroy(&mut self, pool: u64, wanted: bool) {
        let mut left = u64::MAX;
        let at = self.pools.iter().skip(1).position(|&other| other == pool);
        let in_use = at.map(|_| statistics(pool).in_use);
        let place = if wanted { &mut left } else { ptr::null_mut() };
        // SAFETY: the output is one or null (F1).
        let code = unsafe { abi::mbuf_pool_destroy(pool, place) };
        let refusal = at.is_none().then_some(HANDLE);
        if self.settle(code, refusal, &[]) {
            self.pools.retain(|&other| other != pool);
            self.closed.push(pool);
            self.look();
            if wanted {
                assert_eq!(Some(left), in_use);
            }
        } else {
            assert_eq!(left, u64::MAX);
        }
    }

    pub(super) fn make(&mut self, make: Make) {
        match make {
            Make::Alloc(number, size, place) => {
                let (pool, size, place) = (self.number(number), size.bytes(), Place::new(place));
                // SAFETY: outputs are large enough or null (F1), here and below.
                let code = unsafe { abi::mbuf_alloc(pool, size, place.pointer()) };
                self.allocated(code, pool, size <= LARGEST, &place);
            }
            Make::Aligned(number, size, alignment, place) => {
                let (pool, size, place) = (self.number(number), size.bytes(), Place::new(place));
                // Mostly a power of two.
                let alignment: usize = if alignment < 1 << 15 {
                    1 << (alignment % 14)
                } else {
                    alignment.into()
                };
                // SAFETY: as above.
                let code =
                    unsafe { abi::mbuf_alloc_aligned(pool, size, alignment, place.pointer()) };
                let sound = size <= LARGEST && alignment.is_power_of_two() && alignment <= 4096;
                self.allocated(code, pool, sound, &place);
            }
            Make::Headroom(number, size, headroom, shift, place) => {
                let (pool, place) = (self.number(number), Place::new(place));
                let (size, headroom, alignment) =
                    (size.bytes(), headroom.bytes(), 1 << (shift % 13));
                // SAFETY: as above.
                let code = unsafe {
                    abi::mbuf_alloc_headroom(pool, size, headroom, alignment, place.pointer())
                };
                let room = size.checked_add(headroom);
                self.allocated(code, pool, room.is_some_and(|room| room <= LARGEST), &place);
            }
            Make::Bulk(number, size, count) => {
                self.bulk(self.number(number), size.bytes(), usize::from(count) % 9);
            }
            Make::Chain(number, size, count) => {
                let before = self.chains.len();
                self.bulk(self.number(number), size.bytes(), usize::from(count) % 9);
                while self.chains.len() > before + 1 {
                    let (head, behind) = (self.chains[before][0], self.chains[before + 1][0]);
                    self.append((head, behind), false);
                }
            }
            Make::Wrap {
                pool,
                length,
                writable,
                place,
                missing,
            } => {
                let pool = self.number(pool);
                self.wrap(pool, (length.into(), writable), &Place::new(place), missing);
            }
            Make::Vendors(size, place) => {
                let (size, place) = (size.bytes(), Place::new(place));
                // SAFETY: as above.
                let code = unsafe { abi::aclrtAllocBuf(place.pointer(), size) };
                self.allocated(code, 0, (1..=LARGEST).contains(&size), &place);
            }
            Make::FromToken {
                token,
                field,
                change,
                place,
            } => {
                self.resolve(token, (field, change), &Place::new(place));
            }
        }
    }

    fn allocated(&mut self, code: c_int, pool: u64, sound: bool, place: &Place) -> bool {
        let refusal = self.pool_refusal(pool, sound && place.is_there());
        let done = self.settle(code, refusal, &[MEMORY]);
        if done {
            self.adopt(place.get());
            self.look();
        } else {
            place.assert_untouched();
        }
        done
    }

    fn bulk(&mut self, pool: u64, size: usize, count: usize) {
        let mut bufs: [Handle; 9] = [ptr::null_mut(); 9];
        // SAFETY: the array is long enough (F1).
        let code = unsafe { abi::mbuf_alloc_bulk(pool, size, bufs.as_mut_ptr(), count) };
        let refusal = self.pool_refusal(pool, size <= LARGEST);
        let made = if self.settle(code, refusal, &[MEMORY]) {
            count
        } else {
            0
        };
        for buf in &bufs[..made] {
            self.adopt(buf.addr());
        }
        assert!(bufs[made..].iter().all(|buf| buf.is_null()));
        self.look();
    }

    fn wrap(&mut self, pool: u64, (length, writable): (usize, c_int), place: &Place, missing: u8) {
        let (data, argument) = buffers::foreign(length);
        let given = if missing == 0 { ptr::null_mut() } else { data };
        let release = (missing != 1).then_some(buffers::release as abi::Release);
        let length = if missing == 2 { usize::MAX } else { length };
        let out = place.pointer();
        // SAFETY: the memory is given up for the buffer, and as long as is said but where that is refused (F1).
        let code = unsafe { abi::mbuf_wrap(pool, given, length, writable, release, argument, out) };
        self.foreign.push((data.addr(), length.min(1 << 16)));
        if !self.allocated(code, pool, missing > 2, place) {
            // SAFETY: a call that fails does not release it.
            unsafe { buffers::release(data, argument) };
        }
    }

    fn resolve(&mut self, token: u8, (field, change): (u8, u32), place: &Place) {
        let Some(at) = usize::from(token).checked_rem(self.tokens.len()) else {
            return;
        };
        let (mut token, named) = self.tokens[at];
        let whole = token;
        match field {
            0 => token.pool ^= u64::from(change) << (change % 32),
            1 => token.offset ^= change,
            2 => token.generation ^= change,
            3 => token.life ^= change,
            4 => {
                token = Token {
                    pool: token.pool,
                    offset: change,
                    generation: 1,
                    life: 1,
                    reserved: 0,
                }
            }
            _ => {}
        }
        // SAFETY: the token is there, and the output large enough or null (F1).
        let code = unsafe { abi::mbuf_from_token(&token, place.pointer()) };
        let refusal = match named {
            _ if !place.is_there() => Some(ARGUMENT),
            None if token == whole => Some(HANDLE),
            _ => None,
        };
        let possible: &[c_int] = if token == whole { &[] } else { &[HANDLE] };
        if self.settle(code, refusal, possible) {
            let found: usize = place.get();
            assert_ne!(self.role(found), Role::Nothing, "a token's buffer lives");
            assert!(token != whole || Some(found) == named);
        } else {
            place.assert_untouched();
        }
        debug_assert!(code != OK || place.is_there());
    }
}
