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

/// The byte at `at` of data marked with `mark`: the mark itself, then what follows from it.
fn byte(mark: u64, at: usize) -> u8 {
    let word = mark
        .wrapping_add((at / MARK) as u64)
        .wrapping_mul(if at < MARK { 1 } else { 0x9e37_79b9_7f4a_7c15 });
    word.to_le_bytes()[at % MARK]
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
    assert!(bytes.iter().all(|&byte| byte == 0), "growth reads as zero");
    write(bytes, data);
    Expected { header, data }
}

fn write(bytes: &mut [u8], mark: u64) {
    for (at, place) in bytes.iter_mut().enumerate() {
        *place = byte(mark, at);
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
        let mut bytes = segment.data().iter().enumerate();
        let wrong = bytes.find(|&(at, &found)| found != byte(expected.data, at));
        assert_eq!(wrong, None, "data of {:x}", expected.data);
        segments += 1;
    }
    assert_eq!(segments, expected.len());
}
