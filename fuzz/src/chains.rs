//! Chains and views of one pool beside their contents: whatever is cut, joined and shared, a chain's bytes are those of a `Vec<u8>`.

mod pair;
mod reading;
mod writing;

use crate::Size;
use crate::common::{assert_all_home, assert_conserved, pool_with_magazines};
use arbitrary::{Arbitrary, Unstructured};
use mbuf::{AllocError, AppendErrorKind, Layout, MAX_CHAIN, Mbuf, Pool};
use pair::{Pair, assert_exhausted, place};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Arbitrary, Debug)]
enum Step {
    Alloc {
        size: Size,
        headroom: u8,
        filled: u8,
    },
    Wrap {
        len: Size,
        writable: bool,
    },
    Slice {
        chain: u8,
        from: u16,
        len: u16,
    },
    SliceOfMember {
        chain: u8,
        member: u8,
        from: u16,
        len: u16,
    },
    SplitTo {
        chain: u8,
        at: u16,
    },
    SplitOffBytes {
        chain: u8,
        at: u16,
    },
    Advance {
        chain: u8,
        by: u16,
    },
    Truncate {
        chain: u8,
        len: u16,
    },
    Prepend {
        chain: u8,
        n: u8,
        zeros: bool,
    },
    AppendBytes {
        chain: u8,
        n: u8,
    },
    Append {
        chain: u8,
        other: u8,
        in_front: bool,
    },
    CopyRef {
        chain: u8,
    },
    MakeUnique {
        chain: u8,
    },
    Write {
        chain: u8,
        byte: u8,
    },
    LinearizePrefix {
        chain: u8,
        len: u16,
    },
    Coalesce {
        chain: u8,
        headroom: u8,
    },
    Linearize {
        chain: u8,
    },
    Compact {
        chain: u8,
    },
    Drop {
        chain: u8,
    },
    Trim,
    Read {
        chain: u8,
        by: reading::Reading,
    },
    Extend {
        chain: u8,
        by: writing::Writing,
    },
}

struct World {
    pool: Pool,
    pairs: Vec<Pair>,
    /// Owners of foreign bytes that were made, and that were dropped.
    made: usize,
    dropped: Arc<AtomicUsize>,
    /// The next byte of what is written, so that places differ.
    next: u8,
}

/// The owner of bytes that are wrapped.
struct Owner {
    bytes: Vec<u8>,
    dropped: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for Owner {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Whoever still reads them sees it.
        self.bytes.fill(0xdd);
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

const MOST_STEPS: usize = 150;
const MOST_CHAINS: usize = 12;
/// Doubling a chain again and again would take all the time there is.
const LONGEST: usize = 32 << 10;

/// Does what an input says.
pub fn run(input: &[u8]) {
    let mut source = Unstructured::new(input);
    // One pool that is soon exhausted and one that seldom is.
    let capacity = if source.arbitrary().unwrap_or(false) {
        128 << 10
    } else {
        4 << 20
    };
    let mut world = World {
        pool: pool_with_magazines(capacity, 4),
        pairs: Vec::new(),
        made: 0,
        dropped: Arc::default(),
        next: 0,
    };
    for _ in 0..MOST_STEPS {
        if source.is_empty() {
            break;
        }
        let Ok(step) = source.arbitrary() else { break };
        world.take(step);
        world.check();
    }
    world.pairs.clear();
    assert_eq!(world.dropped.load(Ordering::Relaxed), world.made);
    assert_all_home(&world.pool);
}

impl World {
    fn check(&self) {
        for pair in &self.pairs {
            pair.check();
        }
        let read = |pair: &Pair| {
            pair.real
                .segments()
                .filter(|part| part.is_foreign())
                .count()
        };
        let alive = self.made - self.dropped.load(Ordering::Relaxed);
        let foreign: usize = self.pairs.iter().map(read).sum();
        assert!(alive <= foreign, "an owner outlives its last mbuf");
        assert_conserved(&self.pool);
    }

    fn keep(&mut self, real: Mbuf, bytes: Vec<u8>) {
        self.pairs.push(Pair { real, bytes });
        if self.pairs.len() > MOST_CHAINS {
            self.pairs.swap_remove(0);
        }
    }

    fn fresh_bytes(&mut self, n: usize) -> Vec<u8> {
        self.next = self.next.wrapping_add(29);
        (0..n).map(|i| self.next.wrapping_add(i as u8)).collect()
    }

    fn alloc(&mut self, size: usize, headroom: usize, filled: usize) {
        match self.pool.alloc_with(Layout::new(size).headroom(headroom)) {
            Ok(mut real) => {
                assert!(real.headroom() >= headroom);
                let bytes = self.fresh_bytes(filled.min(size));
                assert_eq!(real.extend_from_slice(&bytes), Ok(()));
                self.keep(real, bytes);
            }
            Err(AllocError::TooLarge) => {
                assert!(size.saturating_add(headroom) > 4 << 30);
            }
            Err(error) => assert_exhausted(error),
        }
    }

    fn wrap(&mut self, len: usize, writable: bool) {
        let bytes = self.fresh_bytes(len.min(LONGEST));
        let dropped = Arc::clone(&self.dropped);
        let owner = Owner {
            bytes: bytes.clone(),
            dropped,
        };
        self.made += 1;
        let wrapped = if writable {
            self.pool.wrap_mut(owner)
        } else {
            self.pool.wrap(owner)
        };
        match wrapped {
            Ok(real) => {
                assert!(real.is_foreign());
                assert_eq!(real.is_read_only(), !writable);
                self.keep(real, bytes);
            }
            Err(error) => {
                assert_exhausted(error.error());
                assert_eq!(error.into_owner().bytes, bytes);
            }
        }
    }

    fn append(&mut self, chain: usize, other: usize, in_front: bool) {
        if self.pairs.len() < 2 {
            return;
        }
        let mut one = self.pairs.swap_remove(chain % self.pairs.len());
        let other = self.pairs.swap_remove(other % self.pairs.len());
        let count = one.real.segment_count() + other.real.segment_count();
        let joined = if in_front {
            one.real.prepend_chain(other.real)
        } else {
            one.real.append(other.real)
        };
        match joined {
            Ok(()) => {
                assert_eq!(one.real.segment_count(), count);
                let at = if in_front { 0 } else { one.bytes.len() };
                one.bytes.splice(at..at, other.bytes);
            }
            Err(error) => {
                assert_eq!(error.kind(), AppendErrorKind::TooLong);
                assert!(count > MAX_CHAIN);
                let real = error.into_mbuf();
                self.pairs.push(Pair { real, ..other });
            }
        }
        if one.bytes.len() > LONGEST {
            one.real.truncate(LONGEST);
            one.bytes.truncate(LONGEST);
        }
        self.pairs.push(one);
    }

    /// Does what makes a chain of another.
    fn derive(&mut self, chain: u8, act: impl FnOnce(&mut Pair) -> Option<Pair>) {
        let Some(index) = usize::from(chain).checked_rem(self.pairs.len()) else {
            return;
        };
        if let Some(Pair { real, bytes }) = act(&mut self.pairs[index]) {
            self.keep(real, bytes);
        }
    }

    /// Does what changes a chain at most.
    fn change(&mut self, chain: u8, act: impl FnOnce(&mut Pair)) {
        self.derive(chain, |pair| {
            act(pair);
            None
        });
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Alloc {
                size,
                headroom,
                filled,
            } => {
                self.alloc(size.bytes(), headroom.into(), filled.into());
            }
            Step::Wrap { len, writable } => self.wrap(len.bytes(), writable),
            Step::Append {
                chain,
                other,
                in_front,
            } => {
                self.append(chain.into(), other.into(), in_front);
            }
            Step::Prepend { chain, n, zeros } => {
                let bytes = if zeros {
                    vec![0; n.into()]
                } else {
                    self.fresh_bytes(n.into())
                };
                self.change(chain, |pair| pair.prepend(bytes, zeros));
            }
            Step::AppendBytes { chain, n } => {
                let bytes = self.fresh_bytes(n.into());
                self.change(chain, |pair| pair.append_bytes(&bytes));
            }
            Step::Drop { chain } => {
                if let Some(index) = usize::from(chain).checked_rem(self.pairs.len()) {
                    self.pairs.swap_remove(index);
                }
            }
            Step::Trim => drop(self.pool.trim()),
            Step::Read { chain, by } => self.change(chain, |pair| pair.read(&by)),
            Step::Extend { chain, by } => {
                let bytes = self.fresh_bytes(by.len());
                if let Some(index) = usize::from(chain).checked_rem(self.pairs.len()) {
                    let pair = self.pairs.swap_remove(index).write(by, &bytes);
                    self.pairs.push(pair);
                }
            }
            step => self.cut_or_rebuild(step),
        }
    }

    fn cut_or_rebuild(&mut self, step: Step) {
        match step {
            Step::Slice { chain, from, len } => {
                self.derive(chain, |pair| pair.slice(0, from, len.into()));
            }
            Step::SliceOfMember {
                chain,
                member,
                from,
                len,
            } => {
                self.derive(chain, |pair| pair.slice(member.into(), from, len.into()));
            }
            Step::SplitTo { chain, at } => self.derive(chain, |pair| pair.split_to(at)),
            Step::SplitOffBytes { chain, at } => {
                self.derive(chain, |pair| pair.split_off_bytes(at));
            }
            Step::CopyRef { chain } => self.derive(chain, |pair| {
                let real = pair.real.copy_ref().map_err(assert_exhausted).ok()?;
                Some(Pair {
                    real,
                    bytes: pair.bytes.clone(),
                })
            }),
            Step::Advance { chain, by } => self.change(chain, |pair| pair.advance(by)),
            Step::Truncate { chain, len } => self.change(chain, |pair| {
                let len = place(len, pair.bytes.len());
                pair.real.truncate(len);
                pair.bytes.truncate(len);
            }),
            Step::Write { chain, byte } => self.change(chain, |pair| pair.overwrite(byte)),
            Step::MakeUnique { chain } => self.change(chain, Pair::make_unique),
            Step::LinearizePrefix { chain, len } => {
                self.change(chain, |pair| pair.linearize_prefix(len));
            }
            Step::Coalesce { chain, headroom } => {
                self.change(chain, |pair| pair.coalesce(headroom.into()));
            }
            Step::Linearize { chain } => self.change(chain, Pair::linearize),
            Step::Compact { chain } => self.change(chain, Pair::compact),
            _ => unreachable!("done by `take`"),
        }
    }
}
