//! What the operations on chains do, in the model's terms.

use super::model::Segment;
use mbuf::LenError;

pub(crate) type Chain = Vec<Segment>;

pub(crate) fn total(chain: &[Segment]) -> usize {
    chain.iter().map(|segment| segment.len).sum()
}

pub(crate) fn bytes(chain: &[Segment]) -> Vec<u8> {
    chain.iter().flat_map(Segment::bytes).collect()
}

/// Whether there is such a range.
pub(crate) fn is_within(chain: &[Segment], start: usize, end: usize) -> bool {
    start <= end && end <= total(chain)
}

/// A range that is there.
pub(crate) fn slice(chain: &[Segment], start: usize, end: usize) -> Chain {
    let mut view = Vec::new();
    let mut before = 0;
    for segment in chain {
        let behind = before + segment.len;
        let (from, to) = (start.max(before), end.min(behind));
        let is_in_it = if start == end {
            from == start && to == start && view.is_empty()
        } else {
            from < to
        };
        if is_in_it {
            view.push(segment.view(from - before, to - from, to - from));
        }
        before = behind;
    }
    view
}

/// Cuts at an offset that is there.
pub(crate) fn split_off_bytes(chain: &mut Chain, at: usize) -> Chain {
    let mut left = at;
    let mut index = 0;
    while left > chain[index].len {
        left -= chain[index].len;
        index += 1;
    }
    let mut behind = chain.split_off(index + 1);
    let segment = &mut chain[index];
    if left < segment.len || behind.is_empty() {
        let rest = segment.view(left, segment.len - left, segment.capacity - left);
        segment.len = left;
        behind.insert(0, rest);
    }
    behind
}

pub(crate) fn advance(chain: &mut Chain, n: usize) -> Result<(), LenError> {
    if n > total(chain) {
        return Err(LenError::TooLong);
    }
    let mut left = n;
    while chain.len() > 1 && left >= chain[0].len {
        let passed = chain.remove(0);
        left -= passed.len;
        chain[0].take_after(&passed);
    }
    let first = &mut chain[0];
    first.headroom += left;
    first.len -= left;
    first.capacity -= left;
    Ok(())
}

pub(crate) fn truncate(chain: &mut Chain, len: usize) {
    if len >= total(chain) {
        return;
    }
    let mut left = len;
    let mut index = 0;
    while left > chain[index].len {
        left -= chain[index].len;
        index += 1;
    }
    chain.truncate(index + 1);
    chain[index].len = left;
}

/// What `Mbuf::make_unique` does: every segment that could not be written before gets data of its own, also if the chain itself
/// held all references to it.
pub(crate) fn make_unique(chain: &mut Chain) {
    let unique = |segment: &Segment| {
        let capacity = if segment.is_foreign() {
            segment.len
        } else {
            segment.capacity
        };
        (!segment.is_exclusive()).then(|| segment.duplicate(capacity))
    };
    let fresh: Vec<_> = chain.iter().map(unique).collect();
    for (segment, fresh) in chain.iter_mut().zip(fresh) {
        if let Some(fresh) = fresh {
            *segment = fresh;
        }
    }
}

/// All in one segment with `headroom`, in a block that was taken for `block` bytes.
pub(crate) fn coalesce(chain: &mut Chain, headroom: usize, block: usize) {
    let mut whole = Segment::shifted(headroom, total(chain), block);
    assert_eq!(whole.extend(&bytes(chain)), Ok(()));
    whole.take_after(&chain[0]);
    *chain = vec![whole];
}

/// Brings a prefix together that is there.
pub(crate) fn linearize_prefix(chain: &mut Chain, len: usize) {
    if len <= chain[0].len {
        return;
    }
    let mut prefix = Segment::new(len);
    assert_eq!(prefix.extend(&bytes(chain)[..len]), Ok(()));
    prefix.take_after(&chain[0]);
    let rest = if len < total(chain) {
        split_off_bytes(chain, len)
    } else {
        Vec::new()
    };
    *chain = rest;
    chain.insert(0, prefix);
}
