//! The operations that may be drawn.

use super::owners::Kind;

/// One operation. Numbers choose among what there is, modulo how much that is.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Alloc {
        pool: usize,
        size: usize,
    },
    AllocZeroed {
        pool: usize,
        size: usize,
    },
    AllocBulk {
        pool: usize,
        size: usize,
        n: usize,
    },
    AllocWith {
        pool: usize,
        size: usize,
        headroom: usize,
        shift: u32,
    },
    Wrap {
        pool: usize,
        kind: Kind,
        bytes: Vec<u8>,
    },
    Change {
        place: Place,
        change: Change,
    },
    CopyRef {
        place: Place,
    },
    OnChain {
        chain: usize,
        act: Act,
    },
    Append {
        chain: usize,
        other: usize,
    },
    PrependChain {
        chain: usize,
        other: usize,
    },
    Compare {
        chain: usize,
        other: usize,
    },
    Lengthen {
        chain: usize,
        n: usize,
    },
    AppendToOtherPool {
        pool: usize,
        chain: usize,
        front: bool,
    },
    Drop {
        chain: usize,
    },
    DropMany {
        pool: usize,
        n: usize,
    },
    Fill {
        pool: usize,
        size: usize,
    },
    Trim {
        pool: usize,
    },
    Reserve {
        pool: usize,
        size: usize,
        n: usize,
    },
}

/// What is done to one segment.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Extend(Vec<u8>),
    SetLen(usize),
    Clear,
    Write(u8),
    User(usize, u8),
    Timestamp(u64),
}

/// A place in a chain, or outside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Modulo a little more than the chain's length.
    Byte(usize),
    /// Before a segment or at the end.
    Boundary(usize),
    /// That much less than the largest number.
    Huge(usize),
}

/// What is done to or with a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Slice(At, At),
    SplitOffBytes(At),
    SplitTo(At),
    Advance(At),
    Truncate(At),
    Prepend(usize),
    PrependSlice(usize, u8),
    AppendBytes(usize, u8),
    Contents(At, At, u8),
    MakeUnique,
    Compact,
    Linearize,
    Coalesce(usize),
    LinearizePrefix(At),
    SplitOff(usize),
    PopFront,
}

/// A segment of a chain of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) pool: usize,
    pub(crate) chain: usize,
    pub(crate) segment: usize,
}
