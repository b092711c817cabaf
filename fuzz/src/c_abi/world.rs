//! What lives: pools, chains, tokens, and how they look from C. Calls that are refused must leave all of it as it was.

use super::abi::{self, Handle, Need, Statistics, Token};
use super::place::Place;
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::ptr;

pub(super) const OK: c_int = 0;
pub(super) const ARGUMENT: c_int = 100_000;
pub(super) const HANDLE: c_int = 107_000;
pub(super) const MEMORY: c_int = 207_001;
pub(super) const CHAIN_TOO_LONG: c_int = 207_012;
pub(super) const SHARED: c_int = 900_001;

/// The buffers of a chain, by address.
pub(super) type Chain = Vec<usize>;

pub(super) struct World {
    /// Numbers of pools: the default one first.
    pub(super) pools: Vec<u64>,
    pub(super) closed: Vec<u64>,
    pub(super) chains: Vec<Chain>,
    pub(super) freed: Vec<usize>,
    /// Tokens with the buffer's address while that lives.
    pub(super) tokens: Vec<(Token, Option<usize>)>,
    /// Foreign memory that was ever there: start and length.
    pub(super) foreign: Vec<(usize, usize)>,
    seen: View,
}

/// How everything looks.
#[derive(PartialEq, Eq, Debug, Default)]
struct View {
    in_use: Vec<u64>,
    buffers: Vec<Buffer>,
}

#[derive(PartialEq, Eq, Debug)]
struct Buffer {
    address: usize,
    data: usize,
    size: usize,
    length: usize,
    headroom: usize,
    timestamp: u64,
    shared: c_int,
    user: [u8; 96],
    first_bytes: Vec<u8>,
}

/// What an address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Null,
    Head(usize),
    Member(usize),
    Nothing,
}

/// As a handle.
pub(super) fn handle(address: usize) -> Handle {
    ptr::without_provenance_mut(address)
}

/// The answer to a call that must succeed.
fn ask<T: Copy>(buf: usize, call: abi::Ask) -> T {
    let place = Place::new(0);
    // SAFETY: the place is large enough for any answer (F1 of `src/capi`).
    assert_eq!(unsafe { call(handle(buf), place.pointer()) }, OK);
    place.get()
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            pools: vec![0],
            closed: Vec::new(),
            chains: Vec::new(),
            freed: Vec::new(),
            tokens: Vec::new(),
            foreign: Vec::new(),
            seen: View::default(),
        };
        world.seen = world.view();
        world
    }

    pub(super) fn role(&self, address: usize) -> Role {
        if address == 0 {
            return Role::Null;
        }
        for (index, chain) in self.chains.iter().enumerate() {
            match chain.iter().position(|&member| member == address) {
                Some(0) => return Role::Head(index),
                Some(_) => return Role::Member(index),
                None => {}
            }
        }
        Role::Nothing
    }

    /// What a call must return because of its arguments alone: `sound` says whether those that no buffer has a say in are in order.
    pub(super) fn refusal(&self, address: usize, need: Need, sound: bool) -> Option<c_int> {
        match self.role(address) {
            _ if !sound => Some(ARGUMENT),
            Role::Null => Some(ARGUMENT),
            Role::Nothing => Some(HANDLE),
            Role::Member(_) if need == Need::Head => Some(HANDLE),
            Role::Head(_) | Role::Member(_) => None,
        }
    }

    /// The chain and its place of a buffer that is there.
    pub(super) fn find(&self, address: usize) -> (usize, usize) {
        let found = self.chains.iter().enumerate().find_map(|(index, chain)| {
            let at = chain.iter().position(|&member| member == address)?;
            Some((index, at))
        });
        found.expect("a live buffer")
    }

    /// Checks a call's outcome: a refusal that had to be, and that changed nothing. True if it succeeded.
    #[track_caller]
    pub(super) fn settle(
        &mut self,
        code: c_int,
        refusal: Option<c_int>,
        possible: &[c_int],
    ) -> bool {
        match refusal {
            Some(refusal) => assert_eq!(code, refusal),
            None => assert!(code == OK || possible.contains(&code), "code {code}"),
        }
        if code != OK {
            assert_eq!(self.view(), self.seen, "a refused call changed something");
        }
        code == OK
    }

    /// After a call that succeeded and whose changes have been noted.
    pub(super) fn look(&mut self) {
        let mut all = HashSet::new();
        for &member in self.chains.iter().flatten() {
            assert!(all.insert(member), "one buffer is in two places");
        }
        self.freed.retain(|address| !all.contains(address));
        for chain in &self.chains {
            assert_eq!(members(chain[0]), *chain);
        }
        self.seen = self.view();
    }

    fn view(&self) -> View {
        View {
            in_use: self.pools.iter().map(|&pool| in_use(pool)).collect(),
            buffers: self
                .chains
                .iter()
                .flatten()
                .map(|&address| buffer(address))
                .collect(),
        }
    }

    /// Buffers that are no more.
    pub(super) fn forget(&mut self, gone: &[usize]) {
        for (_, address) in &mut self.tokens {
            if address.is_some_and(|address| gone.contains(&address)) {
                *address = None;
            }
        }
        self.freed.extend(gone);
        let surplus = self.freed.len().saturating_sub(64);
        self.freed.drain(..surplus);
    }

    /// A chain that has other buffers than it had.
    pub(super) fn reread(&mut self, index: usize, head: usize) {
        let now = members(head);
        let before = std::mem::replace(&mut self.chains[index], now);
        // A block may have been freed and used again meanwhile: nothing is known of these tokens.
        self.tokens
            .retain(|(_, address)| !address.is_some_and(|address| before.contains(&address)));
        let now = &self.chains[index];
        let gone: Vec<_> = before
            .into_iter()
            .filter(|member| !now.contains(member))
            .collect();
        self.forget(&gone);
    }

    pub(super) fn adopt(&mut self, head: usize) {
        assert_eq!(
            self.role(head),
            Role::Nothing,
            "a new buffer is another one"
        );
        self.chains.push(members(head));
    }

    /// Frees all there is, and checks that nothing is left.
    pub(super) fn end(mut self) {
        for chain in std::mem::take(&mut self.chains) {
            // SAFETY: a live head (F2).
            assert_eq!(unsafe { abi::mbuf_free(handle(chain[0])) }, OK);
            // SAFETY: a handle may be anything (F2).
            assert_eq!(unsafe { abi::mbuf_free(handle(chain[0])) }, HANDLE);
        }
        for &pool in &self.pools {
            let statistics = statistics(pool);
            assert_eq!(statistics.in_use, 0, "{statistics:?}");
            assert_eq!(statistics.allocs, statistics.frees, "{statistics:?}");
            let free = statistics.cached + statistics.in_depot;
            assert_eq!(statistics.carved, free, "{statistics:?}");
        }
        for &pool in &self.pools[1..] {
            let mut left = u64::MAX;
            // SAFETY: the output is one (F1).
            assert_eq!(unsafe { abi::mbuf_pool_destroy(pool, &mut left) }, OK);
            assert_eq!(left, 0);
        }
    }
}

/// All buffers of a chain, asked for in two ways.
fn members(head: usize) -> Chain {
    let count: u32 = ask(head, abi::mbuf_chain_count);
    let mut all = Chain::new();
    let mut next = head;
    for index in 0..count {
        let mut buf: Handle = ptr::null_mut();
        // The beginning and the end: a walk for each would take too long.
        if index < 2 || index + 1 == count {
            // SAFETY: the output is one (F1).
            let code = unsafe { abi::mbuf_chain_get(handle(head), index, &mut buf) };
            assert_eq!(code, OK);
            assert_eq!(buf.addr(), next);
        }
        all.push(next);
        next = ask(next, abi::mbuf_next);
    }
    assert_eq!(next, 0, "a chain has as many as it says");
    all
}

pub(super) fn statistics(pool: u64) -> Statistics {
    let struct_size = size_of::<Statistics>();
    let mut statistics = Statistics {
        struct_size,
        ..Statistics::default()
    };
    // SAFETY: the output is one, with its size (F1).
    let code = unsafe { abi::mbuf_pool_get_statistics(pool, &mut statistics) };
    assert_eq!(code, OK);
    statistics
}

fn in_use(pool: u64) -> u64 {
    // The default pool is not there before it is used, and is made by this.
    statistics(pool).in_use
}

/// The data and its size.
pub(super) fn data_of(address: usize) -> (*mut c_void, usize) {
    let (mut data, mut size) = (ptr::null_mut(), 0);
    // SAFETY: outputs that are some (F1).
    let code = unsafe { abi::mbuf_data(handle(address), &mut data, &mut size) };
    assert_eq!(code, OK);
    (data, size)
}

pub(super) fn is_shared(address: usize) -> bool {
    ask::<c_int>(address, abi::mbuf_is_shared) != 0
}

fn buffer(address: usize) -> Buffer {
    let (data, size) = data_of(address);
    let length: usize = ask(address, abi::mbuf_length);
    let mut user = [0; 96];
    let mut first_bytes = vec![0; length.min(64)];
    let (to, count) = (first_bytes.as_mut_ptr().cast(), first_bytes.len());
    // SAFETY: as large as is said (F1).
    unsafe {
        let done = abi::mbuf_get_user_data(handle(address), user.as_mut_ptr().cast(), 96, 0);
        assert_eq!(done, OK);
        assert_eq!(abi::mbuf_copy_out(handle(address), 0, to, count), OK);
    }
    Buffer {
        address,
        data: data.addr(),
        size,
        length,
        headroom: ask(address, abi::mbuf_headroom),
        timestamp: ask(address, abi::mbuf_timestamp),
        shared: ask(address, abi::mbuf_is_shared),
        user,
        first_bytes,
    }
}
