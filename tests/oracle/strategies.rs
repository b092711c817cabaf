//! How the operations are drawn.

use super::ops::{Act, At, Change, Op, Place};
use super::owners::Kind;
use proptest::prelude::*;

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => Just(0_usize),
        6 => 1..200_usize,
        3 => 200..3000_usize,
        1 => 3000..40_000_usize,
        1 => 40_000..300_000_usize,
    ]
}

fn places() -> impl Strategy<Value = Place> {
    (0..3_usize, any::<usize>(), any::<usize>()).prop_map(|(pool, chain, segment)| Place {
        pool,
        chain,
        segment,
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

fn allocations() -> impl Strategy<Value = Op> {
    let pool = || 0..3_usize;
    let headroom = prop_oneof![
        Just(0_usize),
        0..200_usize,
        0..5000_usize,
        Just(64_usize),
        Just(usize::MAX)
    ];
    let kind = prop_oneof![
        Just(Kind::Shared),
        Just(Kind::Constant),
        Just(Kind::Writable),
        Just(Kind::Inline)
    ];
    prop_oneof![
        8 => (pool(), sizes()).prop_map(|(pool, size)| Op::Alloc { pool, size }),
        3 => (pool(), sizes()).prop_map(|(pool, size)| Op::AllocZeroed { pool, size }),
        2 => (pool(), sizes(), 0..12_usize).prop_map(|(pool, size, n)| Op::AllocBulk { pool, size, n }),
        5 => (pool(), sizes(), headroom, 0..14_u32)
            .prop_map(|(pool, size, headroom, shift)| Op::AllocWith { pool, size, headroom, shift }),
        5 => (pool(), kind, bytes()).prop_map(|(pool, kind, bytes)| Op::Wrap { pool, kind, bytes }),
        1 => (pool(), sizes()).prop_map(|(pool, size)| Op::Fill { pool, size }),
        1 => pool().prop_map(|pool| Op::Trim { pool }),
        1 => (pool(), sizes(), 0..40_usize).prop_map(|(pool, size, n)| Op::Reserve { pool, size, n }),
    ]
}

fn changes() -> impl Strategy<Value = Op> {
    let len = || prop_oneof![0..300_usize, 0..50_000_usize, Just(usize::MAX)];
    let change = prop_oneof![
        4 => bytes().prop_map(Change::Extend),
        4 => len().prop_map(Change::SetLen),
        1 => Just(Change::Clear),
        4 => any::<u8>().prop_map(Change::Write),
        3 => (0..96_usize, any::<u8>()).prop_map(|(at, byte)| Change::User(at, byte)),
        1 => any::<u64>().prop_map(Change::Timestamp),
    ];
    (places(), change).prop_map(|(place, change)| Op::Change { place, change })
}

fn offsets() -> impl Strategy<Value = At> {
    prop_oneof![
        5 => any::<usize>().prop_map(At::Byte),
        3 => (0..20_usize).prop_map(At::Byte),
        4 => any::<usize>().prop_map(At::Boundary),
        1 => (0..4_usize).prop_map(At::Huge),
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    let few = || prop_oneof![0..5_usize, 0..200_usize];
    let headroom = prop_oneof![
        0..200_usize,
        Just(0),
        Just(64),
        Just(usize::MAX),
        Just(1 << 31)
    ];
    prop_oneof![
        5 => (offsets(), offsets()).prop_map(|(start, end)| Act::Slice(start, end)),
        4 => offsets().prop_map(Act::SplitOffBytes),
        4 => offsets().prop_map(Act::SplitTo),
        4 => offsets().prop_map(Act::Advance),
        2 => offsets().prop_map(Act::Truncate),
        2 => few().prop_map(Act::Prepend),
        2 => (few(), any::<u8>()).prop_map(|(n, byte)| Act::PrependSlice(n, byte)),
        3 => (few(), any::<u8>()).prop_map(|(n, byte)| Act::AppendBytes(n, byte)),
        2 => (offsets(), offsets(), any::<u8>()).prop_map(|(start, end, byte)| Act::Contents(start, end, byte)),
        3 => Just(Act::MakeUnique),
        1 => Just(Act::Compact),
        1 => Just(Act::Linearize),
        1 => headroom.prop_map(Act::Coalesce),
        2 => offsets().prop_map(Act::LinearizePrefix),
        4 => any::<usize>().prop_map(Act::SplitOff),
        2 => Just(Act::PopFront),
    ]
}

fn structure() -> impl Strategy<Value = Op> {
    let number = any::<usize>;
    prop_oneof![
        8 => places().prop_map(|place| Op::CopyRef { place }),
        30 => (number(), acts()).prop_map(|(chain, act)| Op::OnChain { chain, act }),
        8 => (number(), number()).prop_map(|(chain, other)| Op::Append { chain, other }),
        2 => (number(), number()).prop_map(|(chain, other)| Op::PrependChain { chain, other }),
        2 => (number(), number()).prop_map(|(chain, other)| Op::Compare { chain, other }),
        1 => (number(), 0..140_usize).prop_map(|(chain, n)| Op::Lengthen { chain, n }),
        1 => (0..3_usize, number(), any::<bool>())
            .prop_map(|(pool, chain, front)| Op::AppendToOtherPool { pool, chain, front }),
        5 => number().prop_map(|chain| Op::Drop { chain }),
        1 => (0..3_usize, 0..30_usize).prop_map(|(pool, n)| Op::DropMany { pool, n }),
    ]
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![2 => allocations(), 3 => changes(), 6 => structure()];
    prop::collection::vec(op, 1..300)
}
