//! Calls of the C interface with handles and pool numbers that may be anything, beside a list of what lives: each call returns a
//! code that it may return, one that is refused changes nothing, and nothing is lost.
//!
//! What the headers forbid the caller is not done: outputs and arrays are as large as they are said to be, data that is shared or
//! read-only is not written, and a pool's number is not used while it is destroyed.

mod abi;
mod buffers;
mod chains;
mod place;
mod pools;
mod world;

use abi::Handle;
use arbitrary::{Arbitrary, Unstructured};
use std::sync::Once;
use world::{Role, World, data_of, handle};

#[derive(Arbitrary, Debug)]
enum Step {
    Pool(pools::Call),
    Make(pools::Make),
    Buffer(Name, buffers::Call),
    Chain(chains::Call),
    /// Into a buffer's data goes what looks like a live buffer.
    Forge(Name, Name, u8),
}

/// A handle.
#[derive(Clone, Copy, Debug)]
enum Name {
    Head(u8),
    Member(u8, u8),
    /// Near a buffer's address.
    Beside(u8, u8, i16),
    /// A multiple of 64 from one: there, others may be.
    Blocks(u8, u8, i8),
    Freed(u8),
    /// In a buffer's data, at a multiple of 64 bytes.
    Data(u8, u8, u8),
    Anything(u64),
    Null,
}

/// Half of them live, so that there is something for the others to harm.
impl<'a> Arbitrary<'a> for Name {
    fn arbitrary(source: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let kind: u8 = source.arbitrary()?;
        Ok(match kind % 24 {
            0..=8 => Self::Head(source.arbitrary()?),
            9..=13 => Self::Member(source.arbitrary()?, source.arbitrary()?),
            14..=15 => {
                let (chain, at) = source.arbitrary()?;
                Self::Beside(chain, at, source.arbitrary()?)
            }
            16..=17 => {
                let (chain, at) = source.arbitrary()?;
                Self::Blocks(chain, at, source.arbitrary()?)
            }
            18..=19 => Self::Freed(source.arbitrary()?),
            20..=21 => {
                let (chain, at) = source.arbitrary()?;
                Self::Data(chain, at, source.arbitrary()?)
            }
            22 => Self::Anything(source.arbitrary()?),
            _ => Self::Null,
        })
    }
}

const MOST_STEPS: usize = 100;
/// Places in a buffer's data that handles name and headers are forged at: few, so that both are soon the same.
const FORGED: u8 = 4;
const MOST_CHAINS: usize = 12;

/// Does what an input says.
pub fn run(input: &[u8]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the first thing that is done with the library, and no other test of this process reads the environment.
        unsafe { std::env::set_var("MBUF_CAPACITY", "2M") };
    });
    let mut source = Unstructured::new(input);
    let mut world = World::new();
    let released = buffers::Released::new();
    for _ in 0..MOST_STEPS {
        if source.is_empty() {
            break;
        }
        let Ok(step) = source.arbitrary() else { break };
        world.take(step);
        while world.chains.len() > MOST_CHAINS {
            let oldest = world.chains[0][0];
            world.free(oldest);
        }
    }
    world.end();
    released.assert_all();
}

impl World {
    fn take(&mut self, step: Step) {
        match step {
            Step::Pool(call) => self.call_pool(call),
            Step::Make(make) => self.make(make),
            Step::Buffer(name, call) => {
                let address = self.address(name);
                self.call_buffer(address, call);
            }
            Step::Chain(call) => self.call_chain(call),
            Step::Forge(to, from, at) => self.forge(to, from, at),
        }
    }

    /// What a name says.
    fn address(&self, name: Name) -> usize {
        let member = |chain: u8, member: u8| {
            let chain = &self.chains[usize::from(chain).checked_rem(self.chains.len())?];
            Some(chain[usize::from(member) % chain.len()])
        };
        let address = match name {
            Name::Head(chain) => member(chain, 0),
            Name::Member(chain, at) => member(chain, at),
            Name::Beside(chain, at, by) => {
                member(chain, at).map(|address| address.wrapping_add_signed(by.into()))
            }
            Name::Blocks(chain, at, by) => {
                member(chain, at).map(|address| address.wrapping_add_signed(isize::from(by) * 64))
            }
            Name::Freed(at) => usize::from(at)
                .checked_rem(self.freed.len())
                .map(|at| self.freed[at]),
            Name::Data(chain, at, blocks) => member(chain, at).map(|address| {
                data_of(address).0.addr().next_multiple_of(64) + usize::from(blocks % FORGED) * 64
            }),
            Name::Anything(address) => Some(address as usize),
            Name::Null => None,
        };
        address.unwrap_or(0)
    }

    fn named(&self, name: Name) -> (usize, Handle) {
        let address = self.address(name);
        (address, handle(address))
    }

    /// Copies a live buffer's header to where a header might be in another's data.
    fn forge(&mut self, to: Name, from: Name, at: u8) {
        const HEADER: usize = 192;
        let (to, from) = (self.address(to), self.address(from));
        let lives = |address| matches!(self.role(address), Role::Head(_) | Role::Member(_));
        if !lives(to) || !lives(from) || world::is_shared(to) {
            return;
        }
        let (data, size) = data_of(to);
        let start = data.addr().next_multiple_of(64) + usize::from(at % FORGED) * 64;
        let is_foreign =
            |&(first, length): &(usize, usize)| (first..=first + length).contains(&data.addr());
        let place = start..start + HEADER;
        if place.end > data.addr() + size || self.foreign.iter().any(is_foreign) {
            return;
        }
        // SAFETY: within the buffer's own data, of which it has the only reference; the header is memory of the library's, which
        // stays readable, and no other thread changes it. The two cannot overlap.
        unsafe {
            let source = std::ptr::with_exposed_provenance::<u8>(from);
            let place = std::ptr::with_exposed_provenance_mut::<u8>(start);
            source.copy_to_nonoverlapping(place, HEADER);
        }
        self.look();
    }
}
