//! Calls that free buffers, and that join, cut and rebuild chains.

use super::Name;
use super::abi::{self, Handle, Need};
use super::place::Place;
use super::world::{ARGUMENT, CHAIN_TOO_LONG, HANDLE, MEMORY, OK, Role, SHARED, World, handle};
use crate::Size;
use arbitrary::Arbitrary;
use std::ffi::c_int;

#[derive(Arbitrary, Debug)]
pub(super) enum Call {
    Free(Name, bool),
    FreeBulk([Name; 4], u8),
    Append(Name, Name, bool),
    Get(Name, u8, u8, bool),
    Split(Name, u8, u8),
    SplitBytes(Name, Size, u8),
    Truncate(Name, Size),
    /// What may put another buffer in a head's place.
    Replace(Name, Replacement, u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) enum Replacement {
    MakeUnique,
    Linearize,
    Compact,
    Advance(Size),
    LinearizePrefix(Size),
    Coalesce(Size),
}

impl World {
    pub(super) fn call_chain(&mut self, call: Call) {
        match call {
            Call::Free(name, vendors) => {
                let (address, buf) = self.named(name);
                let call = if vendors {
                    abi::aclrtFreeBuf
                } else {
                    abi::mbuf_free
                };
                // SAFETY: a handle may be anything (F2), here and below.
                let code = unsafe { call(buf) };
                self.freed_one(code, address);
            }
            Call::FreeBulk(names, count) => self.free_bulk(names, usize::from(count) % 5),
            Call::Append(head, behind, vendors) => {
                self.append((self.address(head), self.address(behind)), vendors);
            }
            Call::Get(name, index, place, vendors) => {
                let (address, buf) = self.named(name);
                let place = Place::new(place);
                let call = if vendors {
                    abi::aclrtGetBufFromChain
                } else {
                    abi::mbuf_chain_get
                };
                // SAFETY: outputs are large enough or null (F1), here and below.
                let code = unsafe { call(buf, index.into(), place.pointer()) };
                let refusal = self.refusal(address, Need::Head, place.is_there());
                if self.settle(code, refusal, &[ARGUMENT]) {
                    let (chain, _) = self.find(address);
                    assert_eq!(self.chains[chain][usize::from(index)], place.get());
                } else {
                    place.assert_untouched();
                }
            }
            Call::Split(name, index, place) => {
                let (address, buf) = self.named(name);
                let place = Place::new(place);
                // SAFETY: as above.
                let code = unsafe { abi::mbuf_split(buf, index.into(), place.pointer()) };
                self.cut(code, address, &place, index > 0, &[ARGUMENT]);
            }
            Call::SplitBytes(name, offset, place) => {
                let (address, buf) = self.named(name);
                let place = Place::new(place);
                // SAFETY: as above.
                let code = unsafe { abi::mbuf_split_bytes(buf, offset.bytes(), place.pointer()) };
                self.cut(code, address, &place, true, &[ARGUMENT, MEMORY]);
            }
            Call::Truncate(name, length) => {
                let (address, buf) = self.named(name);
                // SAFETY: as above.
                let code = unsafe { abi::mbuf_truncate(buf, length.bytes()) };
                let refusal = self.refusal(address, Need::Head, true);
                if self.settle(code, refusal, &[]) {
                    self.reread(self.find(address).0, address);
                    self.look();
                }
            }
            Call::Replace(name, replacement, place) => self.replace(name, replacement, place),
        }
    }

    pub(super) fn free(&mut self, address: usize) {
        // SAFETY: as above.
        let code = unsafe { abi::mbuf_free(handle(address)) };
        assert_eq!(code, OK);
        self.freed_one(code, address);
    }

    fn freed_one(&mut self, code: c_int, address: usize) {
        let refusal = self.refusal(address, Need::Head, true);
        if self.settle(code, refusal, &[]) {
            let (chain, _) = self.find(address);
            let gone = self.chains.swap_remove(chain);
            self.forget(&gone);
            self.look();
        }
    }

    fn free_bulk(&mut self, names: [Name; 4], count: usize) {
        let addresses = names.map(|name| self.address(name));
        let bufs: [Handle; 4] = addresses.map(handle);
        let count = count.min(bufs.len());
        // SAFETY: the array is as long (F1).
        let code = unsafe { abi::mbuf_free_bulk(bufs.as_ptr(), count) };
        let addresses = &addresses[..count];
        let is_head = |&address: &usize| matches!(self.role(address), Role::Head(_));
        let is_twice = (1..count).any(|at| addresses[..at].contains(&addresses[at]));
        let refusal = match () {
            () if addresses.contains(&0) => Some(ARGUMENT),
            () if is_twice || !addresses.iter().all(is_head) => Some(HANDLE),
            () => None,
        };
        if self.settle(code, refusal, &[]) {
            for &address in addresses {
                let (chain, _) = self.find(address);
                let gone = self.chains.swap_remove(chain);
                self.forget(&gone);
            }
            self.look();
        }
    }

    pub(super) fn append(&mut self, (head, behind): (usize, usize), vendors: bool) {
        let (front, back) = (handle(head), handle(behind));
        let call = if vendors {
            abi::aclrtAppendBufChain
        } else {
            abi::mbuf_append
        };
        // SAFETY: as above.
        let code = unsafe { call(front, back) };
        let refusal = self
            .refusal(head, Need::Head, behind != 0)
            .or_else(|| self.refusal(behind, Need::Head, true))
            .or((head == behind).then_some(HANDLE));
        // They may be of different pools.
        if self.settle(code, refusal, &[HANDLE, CHAIN_TOO_LONG]) {
            let rest = self.chains.swap_remove(self.find(behind).0);
            let (chain, _) = self.find(head);
            self.chains[chain].extend(rest);
            self.look();
        }
    }

    fn cut(&mut self, code: c_int, address: usize, place: &Place, sound: bool, possible: &[c_int]) {
        let refusal = self.refusal(address, Need::Head, sound && place.is_there());
        if !self.settle(code, refusal, possible) {
            place.assert_untouched();
            return;
        }
        let (chain, _) = self.find(address);
        let before = self.chains[chain].clone();
        self.reread(chain, address);
        // What the front has no more the rest has, with a header more if the cut went through one.
        let rest: usize = place.get();
        self.chains.push(Vec::new());
        self.reread(self.chains.len() - 1, rest);
        let kept = self.chains[chain].len();
        let rest = &self.chains[self.chains.len() - 1];
        let moved = &before[kept..];
        assert!(
            rest == moved || rest[1..] == *moved,
            "{rest:x?} of {before:x?}"
        );
        self.look();
    }

    fn replace(&mut self, name: Name, replacement: Replacement, place: u8) {
        let address = self.address(name);
        let place = Place::holding(place % 248, handle(address));
        let head = place.pointer();
        // SAFETY: the place holds a handle, which may be anything.
        let code = unsafe {
            match replacement {
                Replacement::MakeUnique => abi::mbuf_make_unique(head),
                Replacement::Linearize => abi::mbuf_linearize(head),
                Replacement::Compact => abi::mbuf_compact(head),
                Replacement::Advance(n) => abi::mbuf_advance(head, n.bytes()),
                Replacement::LinearizePrefix(n) => abi::mbuf_linearize_prefix(head, n.bytes()),
                Replacement::Coalesce(n) => abi::mbuf_coalesce(head, n.bytes()),
            }
        };
        let refusal = self.refusal(address, Need::Head, true);
        let now: usize = place.get();
        if self.settle(code, refusal, &[ARGUMENT, MEMORY, SHARED]) {
            self.reread(self.find(address).0, now);
            self.look();
        } else {
            assert_eq!(now, address);
        }
    }
}
