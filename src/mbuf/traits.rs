//! What the standard library asks of a container of bytes: equality, order and hash by content, and how it is shown.
//!
//! An mbuf's content is that of its whole chain, however it is cut; a [`Segment`]'s is its own. That is why `Borrow<[u8]>`, which
//! demands that a value and its slice are equal to the same things, is for segments only.

use super::{Mbuf, Segment};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// How many bytes of a segment are shown.
const SHOWN: usize = 16;

/// The data of the first segment: [`Mbuf::data`]. [`linearize`](Mbuf::linearize) makes that all there is.
impl AsRef<[u8]> for Mbuf {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.data()
    }
}

/// By content, of the whole chain, however it is cut into segments. User areas and timestamps do not count.
impl PartialEq for Mbuf {
    fn eq(&self, other: &Self) -> bool {
        self.total_len() == other.total_len() && self.compare(other.chunks()) == Ordering::Equal
    }
}

impl Eq for Mbuf {}

/// By content, byte by byte.
impl Ord for Mbuf {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other.chunks())
    }
}

impl PartialOrd for Mbuf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<[u8]> for Mbuf {
    fn eq(&self, other: &[u8]) -> bool {
        self.compare(std::iter::once(other)) == Ordering::Equal
    }
}

impl PartialEq<&[u8]> for Mbuf {
    fn eq(&self, other: &&[u8]) -> bool {
        *self == **other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Mbuf {
    fn eq(&self, other: &[u8; N]) -> bool {
        *self == other[..]
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Mbuf {
    fn eq(&self, other: &&[u8; N]) -> bool {
        *self == other[..]
    }
}

impl PartialEq<Vec<u8>> for Mbuf {
    fn eq(&self, other: &Vec<u8>) -> bool {
        *self == other[..]
    }
}

/// By content, of the whole chain: as that of a byte after the other.
impl Hash for Mbuf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.total_len());
        // Not a chunk at a time: some hashers see where that ends.
        self.bytes().for_each(|byte| state.write_u8(byte));
    }
}

impl Mbuf {
    fn compare<'a>(&'a self, mut others: impl Iterator<Item = &'a [u8]>) -> Ordering {
        let mut ours = self.chunks();
        let (mut left, mut right): (&[u8], &[u8]) = (&[], &[]);
        loop {
            while left.is_empty() {
                match ours.next() {
                    Some(chunk) => left = chunk,
                    None if right.is_empty() && others.all(<[u8]>::is_empty) => {
                        return Ordering::Equal;
                    }
                    None => return Ordering::Less,
                }
            }
            while right.is_empty() {
                match others.next() {
                    Some(chunk) => right = chunk,
                    None => return Ordering::Greater,
                }
            }
            let both = left.len().min(right.len());
            match left[..both].cmp(&right[..both]) {
                Ordering::Equal => (left, right) = (&left[both..], &right[both..]),
                unequal => return unequal,
            }
        }
    }
}

impl AsRef<[u8]> for Segment<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.data()
    }
}

impl Borrow<[u8]> for Segment<'_> {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self.data()
    }
}

/// By its own content.
impl PartialEq for Segment<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.data() == other.data()
    }
}

impl Eq for Segment<'_> {}

impl Ord for Segment<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.data().cmp(other.data())
    }
}

impl PartialOrd for Segment<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Segment<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.data().hash(state);
    }
}

/// Shows each segment: its length and capacity, what is special about it, and its first bytes.
impl fmt::Debug for Mbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mbuf ")?;
        f.debug_list().entries(self.segments()).finish()
    }
}

impl fmt::Debug for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.len(), self.capacity())?;
        for (is_so, what) in [
            (self.is_shared(), ", shared"),
            (self.is_foreign(), ", foreign"),
            (self.is_read_only(), ", read-only"),
        ] {
            if is_so {
                f.write_str(what)?;
            }
        }
        let data = self.data();
        if !data.is_empty() {
            f.write_str(":")?;
        }
        for byte in data.iter().take(SHOWN) {
            write!(f, " {byte:02x}")?;
        }
        f.write_str(if data.len() > SHOWN { " \u{2026}" } else { "" })
    }
}
