//! Contents: the same whatever the segments, for iterators, comparisons, hashes and what is shown.
#![cfg(not(loom))]

mod common;

use common::{holding, pool};
use mbuf::{MAX_CHAIN, Mbuf, Pool, ViewError};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The bytes in a chain of segments of these lengths.
fn cut(pool: &Pool, bytes: &[u8], lengths: &[usize]) -> Mbuf {
    assert_eq!(lengths.iter().sum::<usize>(), bytes.len());
    let mut rest = bytes;
    let mut segments = lengths.iter().map(|&len| {
        let (segment, behind) = rest.split_at(len);
        rest = behind;
        holding(pool, segment)
    });
    let mut chain = segments.next().unwrap();
    segments.for_each(|segment| chain.append(segment).unwrap());
    chain
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Four bytes, cut in all ways with up to two empty segments among them.
fn cuts(pool: &Pool, bytes: &[u8; 4]) -> Vec<Mbuf> {
    let lengths: [&[usize]; 10] = [
        &[4],
        &[1, 3],
        &[3, 1],
        &[2, 2],
        &[1, 1, 1, 1],
        &[0, 4],
        &[4, 0],
        &[0, 2, 0, 2],
        &[2, 0, 0, 2],
        &[0, 0, 1, 2, 1, 0],
    ];
    lengths.map(|lengths| cut(pool, bytes, lengths)).into()
}

#[test]
fn equality_order_and_hash_do_not_see_segments() {
    let pool = pool(1 << 20);
    let words = [b"aaaa", b"aaab", b"abaa", b"\0\0\0\0", b"\xff\xff\xff\xff"];
    for one in words {
        for other in words {
            for left in cuts(&pool, one) {
                for right in cuts(&pool, other) {
                    assert_eq!(left.cmp(&right), one.cmp(other));
                    assert_eq!(left.partial_cmp(&right), one.partial_cmp(other));
                    assert_eq!(left == right, one == other);
                    assert_eq!(hash(&left) == hash(&right), one == other);
                    assert_eq!(left == other, one == other);
                    assert_eq!(left == *other, one == other);
                    assert_eq!(left == other[..], one == other);
                    let slice = &other[..];
                    assert_eq!(left == slice, one == other);
                    assert_eq!(left == other.to_vec(), one == other);
                }
            }
        }
    }
}

#[test]
fn a_prefix_is_less_and_nothing_is_least() {
    let pool = pool(1 << 20);
    let empty = [&[0][..], &[0, 0], &[0, 0, 0]].map(|lengths| cut(&pool, b"", lengths));
    for (one, other) in empty
        .iter()
        .flat_map(|one| empty.iter().map(move |other| (one, other)))
    {
        assert_eq!((one.cmp(other), one == other), (Ordering::Equal, true));
        assert!(*one == b"" && *one == [0_u8; 0]);
        assert_eq!((one.find(0), one.bytes().len()), (None, 0));
        assert_eq!(one.parts(..).unwrap().count(), 0);
    }
    let whole = cut(&pool, b"abc", &[1, 0, 2]);
    for prefix in [
        cut(&pool, b"ab", &[2, 0]),
        cut(&pool, b"ab", &[1, 1]),
        cut(&pool, b"", &[0]),
    ] {
        assert_eq!(
            (prefix.cmp(&whole), whole.cmp(&prefix)),
            (Ordering::Less, Ordering::Greater)
        );
        assert_ne!(prefix, whole);
        assert!(prefix != b"abc" && whole != b"ab" && whole != b"abcd");
    }
}

#[test]
fn user_areas_and_timestamps_do_not_count() {
    let pool = pool(1 << 20);
    let mut one = holding(&pool, b"same");
    one.set_timestamp(5);
    one.user_mut()[3] = 3;
    let other = pool.wrap(b"same").unwrap();
    assert_eq!((one == other, hash(&one) == hash(&other)), (true, true));
    let set: HashSet<Mbuf> = [one, other].into_iter().collect();
    assert_eq!(set.len(), 1);
    let sorted: BTreeSet<Mbuf> = [b"b", b"a", b"b"].map(|byte| holding(&pool, byte)).into();
    assert!(sorted.iter().map(|mbuf| mbuf.data()[0]).eq(*b"ab"));
}

#[test]
fn a_segment_is_its_own_bytes() {
    let pool = pool(1 << 20);
    let chain = cut(&pool, b"ababba", &[2, 2, 2]);
    let segments: Vec<_> = chain.segments().collect();
    assert!(segments[0] == segments[1] && segments[1] < segments[2]);
    let by_bytes: HashMap<_, _> = chain.segments().zip(0..).collect();
    assert_eq!(by_bytes.len(), 2);
    // As a key it is found by its bytes, so it hashes like them.
    assert_eq!(by_bytes.get(&b"ba"[..]), Some(&2));
    let borrowed: &[u8] = segments[2].borrow();
    assert_eq!(hash(&segments[2]), hash(borrowed));
    assert_eq!(
        (segments[2].as_ref(), chain.as_ref()),
        (&b"ba"[..], &b"ab"[..])
    );
}

#[test]
fn bytes_come_in_order_however_they_are_asked_for() {
    let pool = pool(1 << 20);
    for chain in cuts(&pool, b"wxyz") {
        for skipped in 0..=5 {
            let mut bytes = chain.bytes();
            bytes.by_ref().take(skipped).for_each(drop);
            let left = 4_usize.saturating_sub(skipped);
            assert_eq!((bytes.len(), bytes.size_hint()), (left, (left, Some(left))));
            let expected = &b"wxyz"[4 - left..];
            // By `next`, by `fold`, by `nth` from a copy.
            assert_eq!(
                bytes.clone().fold(Vec::new(), |mut all, byte| {
                    all.push(byte);
                    all
                }),
                expected
            );
            assert_eq!(bytes.clone().nth(1), expected.get(1).copied());
            assert_eq!(bytes.by_ref().take(9).collect::<Vec<_>>(), expected);
            assert_eq!((bytes.next(), bytes.next(), bytes.len()), (None, None, 0));
        }
        assert_eq!(
            [b'w', b'z', b'!'].map(|byte| chain.find(byte)),
            [Some(0), Some(3), None]
        );
        assert_eq!(chain.chunks().count(), chain.segment_count());
        assert_eq!(chain.chunks().collect::<Vec<_>>().concat(), b"wxyz");
    }
    let full = cut(&pool, &[7; MAX_CHAIN], &[1; MAX_CHAIN]);
    assert_eq!(full.bytes().len(), MAX_CHAIN);
    assert_eq!(
        full.bytes().map(u64::from).sum::<u64>(),
        7 * MAX_CHAIN as u64
    );
}

#[test]
fn parts_and_copies_of_every_range() {
    let pool = pool(1 << 20);
    for chain in cuts(&pool, b"wxyz") {
        for (start, end) in (0..=6_usize).flat_map(|start| (0..=6).map(move |end| (start, end))) {
            let expected = b"wxyz".get(start..end);
            let parts = chain
                .parts(start..end)
                .map(|parts| parts.collect::<Vec<_>>());
            assert_eq!(
                parts.as_ref().map(|parts| parts.concat()).as_deref(),
                expected
            );
            assert!(parts.iter().flatten().all(|part| !part.is_empty()));
            let mut out = vec![b'!'; end.saturating_sub(start)];
            let done = chain.copy_to_slice(start, &mut out);
            let is_there = start + out.len() <= 4;
            assert_eq!(
                done,
                if is_there {
                    Ok(())
                } else {
                    Err(ViewError::OutOfRange)
                }
            );
            let untouched = vec![b'!'; out.len()];
            assert_eq!(
                out,
                b"wxyz".get(start..start + out.len()).unwrap_or(&untouched)
            );
        }
        for start in [5, usize::MAX - 1, usize::MAX] {
            assert_eq!(
                chain.copy_to_slice(start, &mut [0; 2]),
                Err(ViewError::OutOfRange)
            );
            assert_eq!(
                chain.copy_to_slice(start, &mut []),
                Err(ViewError::OutOfRange)
            );
        }
        chain.copy_to_slice(4, &mut []).unwrap();
    }
}

#[test]
fn a_segment_in_a_chain_speaks_for_those_behind_it() {
    let pool = pool(1 << 20);
    let chain = cut(&pool, b"abcdef", &[2, 0, 2, 2]);
    let middle = chain.segment(2).unwrap();
    assert_eq!((middle.total_len(), middle.segment_count()), (4, 3 - 1));
    assert!(middle.bytes().eq(*b"cdef"));
    assert_eq!((middle.find(b'a'), middle.find(b'f')), (None, Some(3)));
    assert!(middle.slice(1..3).unwrap() == b"de");
    assert_eq!(middle.slice(..5).unwrap_err(), ViewError::OutOfRange);
    let copy = middle.copy_ref().unwrap();
    assert!(copy == b"cdef");
    let mut out = [0; 4];
    middle.copy_to_slice(0, &mut out).unwrap();
    assert_eq!(&out, b"cdef");
}

#[test]
fn what_is_shown_tells_segments_apart_and_stays_short() {
    let pool = pool(1 << 20);
    let mut chain = cut(&pool, b"abc", &[3]);
    chain.append(pool.alloc(8).unwrap()).unwrap();
    chain
        .append(pool.wrap(vec![0xff; 10_000]).unwrap())
        .unwrap();
    let view = chain.slice(1..3).unwrap();
    let shown = format!("{chain:?}");
    assert_eq!(
        shown,
        format!(
            "Mbuf [3 of 3, shared: 61 62 63, 0 of 8, 10000 of 10000, foreign, read-only:{} \u{2026}]",
            " ff".repeat(16)
        )
    );
    assert_eq!(format!("{view:?}"), "Mbuf [2 of 2, shared: 62 63]");
    let exactly = holding(&pool, &[1; 16]);
    assert!(!format!("{exactly:?}").contains('\u{2026}'));
    assert!(format!("{:?}", pool.alloc_zeroed(17).unwrap()).ends_with("00 \u{2026}]"));
}
