//! Owners of foreign memory whose drops are counted.

use mbuf::{AllocError, Mbuf, Pool, WrapError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// How an owner keeps its bytes, and whether they may be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// An `Arc`, to be read.
    Shared,
    /// A vector, to be read.
    Constant,
    /// A vector, to be written.
    Writable,
    /// In the owner itself, to be written: as many bytes as it has.
    Inline,
}

/// Sees an owner's drop.
#[derive(Clone)]
pub(crate) enum Watch {
    Count(Arc<AtomicUsize>),
    Weak(Weak<[u8]>),
}

impl Watch {
    pub(crate) fn drops(&self) -> usize {
        match self {
            Self::Count(count) => count.load(Ordering::Relaxed),
            Self::Weak(weak) => usize::from(weak.strong_count() == 0),
        }
    }
}

struct Counted<T> {
    bytes: T,
    drops: Arc<AtomicUsize>,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Counted<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl<T: AsMut<[u8]>> AsMut<[u8]> for Counted<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut()
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was wrapped, for the model.
pub(crate) struct Wrapped {
    pub(crate) real: Mbuf,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that the owner takes in the pool.
    pub(crate) block: usize,
    pub(crate) watch: Watch,
    pub(crate) is_read_only: bool,
}

/// Bytes in an inline owner.
const INLINE: usize = 3000;

/// The space that an owner is given.
fn space<T>() -> usize {
    (size_of::<u64>() + size_of::<T>()).next_multiple_of(64)
}

/// Wraps `bytes`; an owner that was refused comes back and is dropped once.
pub(crate) fn wrap(pool: &Pool, kind: Kind, mut bytes: Vec<u8>) -> Result<Wrapped, AllocError> {
    let drops = Arc::new(AtomicUsize::new(0));
    let count = Watch::Count(drops.clone());
    let (done, block, watch) = match kind {
        Kind::Shared => {
            let owner = Arc::<[u8]>::from(&bytes[..]);
            let watch = Watch::Weak(Arc::downgrade(&owner));
            let block = space::<Arc<[u8]>>();
            (taken(pool.wrap(owner), &watch), block, watch)
        }
        Kind::Constant | Kind::Writable => {
            let block = space::<Counted<Vec<u8>>>();
            let bytes = bytes.clone();
            let owner = Counted { bytes, drops };
            let done = match kind {
                Kind::Constant => pool.wrap(owner),
                _ => pool.wrap_mut(owner),
            };
            (taken(done, &count), block, count)
        }
        Kind::Inline => {
            bytes.resize(INLINE, 1);
            let block = space::<Counted<[u8; INLINE]>>();
            let bytes: [u8; INLINE] = bytes[..].try_into().unwrap();
            let done = pool.wrap_mut(Counted { bytes, drops });
            (taken(done, &count), block, count)
        }
    };
    Ok(Wrapped {
        real: done?,
        bytes,
        block,
        watch,
        is_read_only: matches!(kind, Kind::Shared | Kind::Constant),
    })
}

fn taken<T>(done: Result<Mbuf, WrapError<T>>, watch: &Watch) -> Result<Mbuf, AllocError> {
    done.map_err(|error| {
        let why = error.error();
        let owner = error.into_owner();
        assert_eq!(watch.drops(), 0, "the owner came back");
        drop(owner);
        assert_eq!(watch.drops(), 1);
        why
    })
}
