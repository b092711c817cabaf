//! How the oracle's operations are read from an input: a byte for each choice, so that a change of one byte changes one thing.

use crate::Size;
use crate::oracle::ops::{Act, At, Change, Op, Place};
use crate::oracle::owners::Kind;
use crate::oracle::world::CAPACITIES;
use arbitrary::{Arbitrary, Result, Unstructured};

/// One of the first `limit` numbers.
pub(crate) fn below(source: &mut Unstructured<'_>, limit: u8) -> Result<usize> {
    Ok((u8::arbitrary(source)? % limit).into())
}

pub(crate) fn size(source: &mut Unstructured<'_>) -> Result<usize> {
    Ok(Size::arbitrary(source)?.bytes())
}

pub(crate) fn pool(source: &mut Unstructured<'_>) -> Result<usize> {
    below(source, CAPACITIES.len() as u8)
}

/// Any number, to be taken modulo what there is.
pub(crate) fn number(source: &mut Unstructured<'_>) -> Result<usize> {
    below(source, u8::MAX)
}

impl<'a> Arbitrary<'a> for Place {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            pool: pool(source)?,
            chain: number(source)?,
            segment: number(source)?,
        })
    }
}

impl<'a> Arbitrary<'a> for At {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 8)? {
            0..3 => Self::Byte(number(source)?),
            3..5 => Self::Byte(u16::arbitrary(source)?.into()),
            5..7 => Self::Boundary(number(source)?),
            _ => Self::Huge(below(source, 4)?),
        })
    }
}

impl<'a> Arbitrary<'a> for Kind {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 4)? {
            0 => Self::Shared,
            1 => Self::Constant,
            2 => Self::Writable,
            _ => Self::Inline,
        })
    }
}

impl<'a> Arbitrary<'a> for Change {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 8)? {
            0..2 => Self::Extend(bytes(source)?),
            2..4 => Self::SetLen(size(source)?),
            4 => Self::Clear,
            5 => Self::Write(u8::arbitrary(source)?),
            6 => Self::User(below(source, 96)?, u8::arbitrary(source)?),
            _ => Self::Timestamp(u64::arbitrary(source)?),
        })
    }
}

impl<'a> Arbitrary<'a> for Act {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 24)? {
            0..4 => Self::Slice(At::arbitrary(source)?, At::arbitrary(source)?),
            4..6 => Self::SplitOffBytes(At::arbitrary(source)?),
            6..8 => Self::SplitTo(At::arbitrary(source)?),
            8..10 => Self::Advance(At::arbitrary(source)?),
            10 => Self::Truncate(At::arbitrary(source)?),
            11 => Self::Prepend(number(source)?),
            12 => Self::PrependSlice(number(source)?, u8::arbitrary(source)?),
            13 => Self::AppendBytes(number(source)?, u8::arbitrary(source)?),
            14 => {
                let (start, end) = (At::arbitrary(source)?, At::arbitrary(source)?);
                Self::Contents(start, end, u8::arbitrary(source)?)
            }
            15..17 => Self::MakeUnique,
            17 => Self::Compact,
            18 => Self::Linearize,
            19 => Self::Coalesce(size(source)?),
            20 => Self::LinearizePrefix(At::arbitrary(source)?),
            21..23 => Self::SplitOff(number(source)?),
            _ => Self::PopFront,
        })
    }
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match below(source, 40)? {
            at @ 0..12 => allocation(source, at)?,
            12..18 => Self::Change {
                place: Place::arbitrary(source)?,
                change: Change::arbitrary(source)?,
            },
            18..28 => Self::OnChain {
                chain: number(source)?,
                act: Act::arbitrary(source)?,
            },
            at => structure(source, at)?,
        })
    }
}

fn bytes(source: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let byte = u8::arbitrary(source)?;
    Ok(vec![byte; number(source)?])
}

fn allocation(source: &mut Unstructured<'_>, at: usize) -> Result<Op> {
    let pool = pool(source)?;
    Ok(match at {
        0..3 => Op::Alloc {
            pool,
            size: size(source)?,
        },
        3 => Op::AllocZeroed {
            pool,
            size: size(source)?,
        },
        4 => Op::AllocBulk {
            pool,
            size: size(source)?,
            n: below(source, 40)?,
        },
        5..7 => Op::AllocWith {
            pool,
            size: size(source)?,
            headroom: size(source)?,
            shift: below(source, 14)? as u32,
        },
        7..9 => Op::Wrap {
            pool,
            kind: Kind::arbitrary(source)?,
            bytes: bytes(source)?,
        },
        // Small ones take a while until the pool is full.
        9 => Op::Fill {
            pool,
            size: number(source)? * 256 + 1000,
        },
        10 => Op::Trim { pool },
        _ => Op::Reserve {
            pool,
            size: size(source)?,
            n: number(source)?,
        },
    })
}

fn structure(source: &mut Unstructured<'_>, at: usize) -> Result<Op> {
    if at < 31 {
        let place = Place::arbitrary(source)?;
        return Ok(Op::CopyRef { place });
    }
    let chain = number(source)?;
    Ok(match at {
        31..33 => Op::Append {
            chain,
            other: number(source)?,
        },
        33 => Op::PrependChain {
            chain,
            other: number(source)?,
        },
        34 => Op::Compare {
            chain,
            other: number(source)?,
        },
        35 => Op::Lengthen {
            chain,
            n: below(source, 140)?,
        },
        36 => Op::AppendToOtherPool {
            pool: pool(source)?,
            chain,
            front: bool::arbitrary(source)?,
        },
        37..39 => Op::Drop { chain },
        _ => Op::DropMany {
            pool: pool(source)?,
            n: chain % 32,
        },
    })
}
