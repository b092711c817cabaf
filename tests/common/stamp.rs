//! Marks by which a thread knows its mbufs again, so that a block that two owners got is noticed by both.

use mbuf::{Mbuf, SegmentMut};

/// Bytes of a mark.
const MARK: usize = 8;

/// Marks of one thread: no two of a run are equal.
pub(crate) struct Marks {
    next: u64,
}

impl Marks {
    pub(crate) fn of_thread(number: usize) -> Self {
        Self {
            next: (number as u64 + 1) << 40,
        }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// What an mbuf's segment is expected to be marked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// In the user area, which belongs to this header alone.
    pub(crate) header: u64,
    /// In the data, which copies share.
    pub(crate) data: u64,
}

/// The eight bytes at place `index` of data marked with `mark`: the mark itself, then what follows from it.
fn word(mark: u64, index: usize) -> [u8; MARK] {
    let factor = if index == 0 { 1 } else { 0x9e37_79b9_7f4a_7c15 };
    let word = mark.wrapping_add(index as u64).wrapping_mul(factor);
    word.to_le_bytes()
}

/// Marks the header in the user area's first and last bytes.
pub(crate) fn mark_header(user: &mut [u8; 96], mark: u64) {
    user[..MARK].copy_from_slice(&mark.to_le_bytes());
    user[96 - MARK..].copy_from_slice(&mark.to_be_bytes());
}

/// Fills a fresh mbuf and marks its header. The data must still read as written when it is checked.
pub(crate) fn mark_fresh(mbuf: &mut Mbuf, header: u64, data: u64) -> Expected {
    assert_eq!(mbuf.user(), &[0; 96], "a fresh user area is zero");
    mark_header(mbuf.user_mut(), header);
    mbuf.set_len(mbuf.capacity()).unwrap();
    let bytes = mbuf.data_mut().expect("fresh, so not shared");
    assert!(is_zero(bytes), "growth reads as zero");
    write(bytes, data);
    Expected { header, data }
}

/// Whether all of `bytes` are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes
        .chunks(ZEROS.len())
        .all(|part| part == &ZEROS[..part.len()])
}

fn write(bytes: &mut [u8], mark: u64) {
    for (index, part) in bytes.chunks_mut(MARK).enumerate() {
        part.copy_from_slice(&word(mark, index)[..part.len()]);
    }
}

/// Marks the data of a segment anew if nobody shares it, and says whether it did.
pub(crate) fn remark_data(segment: &mut SegmentMut<'_>, mark: u64) -> bool {
    match segment.data_mut() {
        Some(bytes) => {
            write(bytes, mark);
            true
        }
        None => false,
    }
}

/// Checks a whole chain against what its segments were marked with.
#[track_caller]
pub(crate) fn check(chain: &Mbuf, expected: &[Expected]) {
    assert_eq!(chain.segment_count(), expected.len());
    let mut segments = 0;
    for (segment, expected) in chain.segments().zip(expected) {
        let user = segment.user();
        let (first, last) = (&user[..MARK], &user[96 - MARK..]);
        assert_eq!(first, expected.header.to_le_bytes(), "the header's owner");
        assert_eq!(last, expected.header.to_be_bytes(), "the header's owner");
        let mut parts = segment.data().chunks(MARK).enumerate();
        let wrong = parts.find(|&(at, part)| part != &word(expected.data, at)[..part.len()]);
        assert_eq!(wrong, None, "data of {:x}", expected.data);
        segments += 1;
    }
    assert_eq!(segments, expected.len());
}
