//! What is done to or with one chain, to the real one first.

use super::chains;
use super::model::{Pair, Segment};
use super::ops::{Act, At};
use mbuf::{AllocError, LenError, Mbuf, ViewError};

/// The most that an mbuf holds.
const MAX_DATA: usize = 4 << 30;

/// How far blocks may have to be shifted: they are aligned to 64, and headroom may leave any remainder.
pub(crate) fn slack(headroom: usize, alignment: usize) -> usize {
    alignment.saturating_sub(if headroom.is_multiple_of(64) { 64 } else { 1 })
}

/// Whether an mbuf of that size and headroom can be had from some pool.
pub(crate) fn is_possible(size: usize, headroom: usize) -> bool {
    size.checked_add(headroom)
        .is_some_and(|sum| sum <= MAX_DATA)
}

/// The place in the chain that is meant.
fn offset(at: At, chain: &[Segment]) -> usize {
    match at {
        At::Byte(at) => at % (chains::total(chain) + 2),
        At::Boundary(index) => chains::total(&chain[..index % (chain.len() + 1)]),
        At::Huge(less) => usize::MAX - less,
    }
}

/// Looks at the outcome of what takes memory: false if there was none left.
#[track_caller]
fn had_memory<T>(done: Result<T, AllocError>) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(error) => {
            assert_eq!(error, AllocError::Exhausted);
            None
        }
    }
}

/// The same of what also has a range, which is there or not.
#[track_caller]
fn was_in_range<T>(done: Result<T, ViewError>, is_there: bool) -> Option<T> {
    match done {
        Err(ViewError::Alloc(error)) => {
            assert!(is_there);
            had_memory(Err(error))
        }
        Err(error) => {
            assert_eq!((error, is_there), (ViewError::OutOfRange, false));
            None
        }
        Ok(done) => {
            assert!(is_there);
            Some(done)
        }
    }
}

/// Does it, and returns the chain that came of it, if one did.
pub(crate) fn act(pair: &mut Pair, act: Act) -> Option<Pair> {
    match act {
        Act::Slice(..)
        | Act::SplitOffBytes(_)
        | Act::SplitTo(_)
        | Act::SplitOff(_)
        | Act::PopFront => {
            return cut(pair, act);
        }
        Act::Advance(_)
        | Act::Truncate(_)
        | Act::Prepend(_)
        | Act::PrependSlice(..)
        | Act::AppendBytes(..) => {
            resize(pair, act);
        }
        Act::Contents(start, end, byte) => contents(pair, start, end, byte),
        Act::MakeUnique => {
            if had_memory(pair.real.make_unique()).is_some() {
                chains::make_unique(&mut pair.model);
            }
        }
        Act::Compact => compact(pair),
        Act::Linearize => {
            let is_one = pair.model.len() == 1;
            if had_memory(pair.real.linearize()).is_some() && !is_one {
                let total = chains::total(&pair.model);
                chains::coalesce(&mut pair.model, 0, total);
            }
        }
        Act::Coalesce(headroom) => coalesce(pair, headroom),
        Act::LinearizePrefix(len) => {
            let len = offset(len, &pair.model);
            let is_there = chains::is_within(&pair.model, 0, len);
            if was_in_range(pair.real.linearize_prefix(len), is_there).is_some() {
                chains::linearize_prefix(&mut pair.model, len);
            }
        }
    }
    None
}

fn cut(pair: &mut Pair, act: Act) -> Option<Pair> {
    let Pair { real, model } = pair;
    let split = |real: &mut Mbuf, model: &mut chains::Chain, at, is_front| {
        let is_there = chains::is_within(model, 0, at);
        let done = if is_front {
            real.split_to(at)
        } else {
            real.split_off_bytes(at)
        };
        let mut part = was_in_range(done, is_there)?;
        let mut rest = chains::split_off_bytes(model, at);
        if is_front {
            std::mem::swap(&mut rest, model);
        }
        // Each is a head of its own.
        part.set_timestamp(part.timestamp().wrapping_add(1));
        rest[0].timestamp = rest[0].timestamp.wrapping_add(1);
        Some(Pair {
            real: part,
            model: rest,
        })
    };
    match act {
        Act::Slice(start, end) => {
            let (start, end) = (offset(start, model), offset(end, model));
            let view = was_in_range(real.slice(start..end), chains::is_within(model, start, end))?;
            let model = chains::slice(model, start, end);
            Some(Pair { real: view, model })
        }
        Act::SplitOffBytes(at) => {
            let at = offset(at, model);
            split(real, model, at, false)
        }
        Act::SplitTo(at) => {
            let at = offset(at, model);
            split(real, model, at, true)
        }
        Act::SplitOff(at) => {
            // Also past the end and at the start, where nothing must happen.
            let at = at % (model.len() + 2);
            let Some(rest) = real.split_off(at) else {
                assert!(at == 0 || at >= model.len());
                return None;
            };
            let model = model.split_off(at);
            assert!(!model.is_empty());
            Some(Pair { real: rest, model })
        }
        _ => {
            let Some(front) = real.pop_front() else {
                assert_eq!(model.len(), 1);
                return None;
            };
            let model = vec![model.remove(0)];
            Some(Pair { real: front, model })
        }
    }
}

fn resize(pair: &mut Pair, act: Act) {
    let Pair { real, model } = pair;
    match act {
        Act::Advance(n) => {
            let n = offset(n, model);
            assert_eq!(real.advance(n), chains::advance(model, n));
        }
        Act::Truncate(len) => {
            let len = offset(len, model);
            real.truncate(len);
            chains::truncate(model, len);
        }
        Act::Prepend(n) => {
            let done = real.prepend(n).map(|front| assert_eq!(front, vec![0; n]));
            assert_eq!(done, model[0].prepend(&vec![0; n]));
        }
        Act::PrependSlice(n, byte) => {
            let bytes = vec![byte; n];
            assert_eq!(real.prepend_slice(&bytes), model[0].prepend(&bytes));
        }
        Act::AppendBytes(n, byte) => {
            let bytes = vec![byte; n];
            let last = model.last_mut().unwrap();
            assert_eq!(real.append_bytes(&bytes), last.extend(&bytes));
        }
        _ => unreachable!("not a change of length: {act:?}"),
    }
    assert_eq!(real.prepend(usize::MAX).unwrap_err(), LenError::TooLong);
}

fn coalesce(pair: &mut Pair, headroom: usize) {
    let Pair { real, model } = pair;
    let total = chains::total(model);
    let done = real.coalesce(headroom);
    if !is_possible(total, headroom) {
        assert_eq!(done, Err(AllocError::TooLarge));
    } else if had_memory(done).is_some() {
        let (slack, found) = (slack(headroom, 64), real.headroom());
        assert!((headroom..=headroom + slack).contains(&found));
        chains::coalesce(model, found, total + headroom + slack);
    }
}

/// What each segment retains, and where its data begins.
fn retained(real: &Mbuf) -> Vec<(u64, *const u8)> {
    let mut of_each: Vec<_> = real
        .segments()
        .map(|segment| (segment.retained(), segment.data().as_ptr()))
        .collect();
    // A segment speaks for all that are behind it.
    for i in 1..of_each.len() {
        of_each[i - 1].0 -= of_each[i].0;
    }
    of_each
}

/// Which segments are replaced depends on the sizes of blocks: they are known by their new places.
fn compact(pair: &mut Pair) {
    let Pair { real, model } = pair;
    let before = retained(real);
    for (&(bytes, _), segment) in before.iter().zip(model.iter()) {
        assert!(bytes >= segment.len as u64);
    }
    if had_memory(real.compact()).is_none() {
        assert_eq!(before, retained(real));
        return;
    }
    let after = retained(real);
    let fresh: Vec<Option<Segment>> = (model.iter().zip(&before).zip(&after))
        .map(|((segment, before), after)| {
            if before.1 == after.1 {
                assert_eq!(before.0, after.0);
                return None;
            }
            assert!(before.0 > after.0);
            Some(segment.duplicate(segment.len))
        })
        .collect();
    for (segment, fresh) in model.iter_mut().zip(fresh) {
        if let Some(fresh) = fresh {
            *segment = fresh;
        }
    }
    assert_eq!(real.compact(), Ok(()));
    assert_eq!(after, retained(real), "there is no more to be had");
}

fn contents(pair: &Pair, start: At, end: At, byte: u8) {
    let Pair { real, model } = pair;
    let expected = chains::bytes(model);
    let (start, end) = (offset(start, model), offset(end, model));
    assert!(real.bytes().eq(expected.iter().copied()));
    assert_eq!(real.bytes().len(), expected.len());
    assert!(real.chunks().flatten().eq(&expected));
    assert_eq!(
        real.find(byte),
        expected.iter().position(|&other| other == byte)
    );
    assert!(*real == expected && *real == expected[..]);
    let part = expected.get(start..end);
    let found = real.parts(start..end).map(|parts| {
        let parts: Vec<_> = parts.collect();
        assert!(parts.iter().all(|part| !part.is_empty()));
        parts.concat()
    });
    assert_eq!(found.as_deref(), part);
    if let Some(part) = part {
        let mut out = vec![0; part.len()];
        assert_eq!(real.copy_to_slice(start, &mut out), Ok(()));
        assert_eq!(out, part);
    }
    let mut out = [byte; 4];
    let done = real.copy_to_slice(start, &mut out);
    let there = start
        .checked_add(4)
        .and_then(|end| expected.get(start..end));
    assert_eq!(done.is_ok(), there.is_some());
    assert_eq!(out, there.unwrap_or(&[byte; 4]));
}
