//! Lock-free bitmaps: sets of small numbers, to which any thread adds and from which any thread takes.

use crate::arena::InArena;
use crate::sync::{AtomicU64, Ordering};

/// Numbers per word.
pub(crate) const WORD: u32 = 64;

/// How many words hold `numbers` numbers.
pub(crate) const fn words(numbers: u64) -> u64 {
    numbers.div_ceil(WORD as u64)
}

/// 64 numbers of a set.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Bits(AtomicU64);

// SAFETY: an integer; zero is the empty set.
unsafe impl InArena for Bits {
    fn fresh() -> Self {
        Self(AtomicU64::new(0))
    }
}

const fn bit(number: u32) -> u64 {
    1 << (number % WORD)
}

impl Bits {
    /// The members now. Relaxed: what is read is a hint, and the read-modify-write that acts on it decides.
    fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds all of `mask`. Release: pairs with the acquire of whoever removes them, who sees what was done before.
    pub(crate) fn add_mask(&self, mask: u64) {
        self.0.fetch_or(mask, Ordering::Release);
    }

    /// Whether `number`, of this word's, is a member. Acquire: pairs with the release in `add_mask` of who added it.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) fn has(&self, number: u32) -> bool {
        self.0.load(Ordering::Acquire) & bit(number) != 0
    }

    /// Whether the word has no members, at a glance.
    #[cfg(feature = "capi")]
    pub(crate) fn is_empty(&self) -> bool {
        self.peek() == 0
    }

    /// Removes all of `mask`. The caller owns what these members are about.
    #[cfg(feature = "capi")]
    pub(crate) fn remove_mask(&self, mask: u64) {
        self.0.fetch_and(!mask, Ordering::Relaxed);
    }

    /// Empties the word. The caller owns what the set is about.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Removes up to `want` members and returns them as a mask.
    pub(crate) fn remove_some(&self, want: u32) -> u64 {
        let mut wanted = 0;
        let mut left = self.peek();
        for _ in 0..want {
            if left == 0 {
                break;
            }
            wanted |= left & left.wrapping_neg();
            left &= left - 1;
        }
        if wanted == 0 {
            return 0;
        }
        // Acquire: pairs with the release in `add_mask`.
        self.0.fetch_and(!wanted, Ordering::Acquire) & wanted
    }
}

/// Adds `number`, with release: see [`Bits::add_mask`].
pub(crate) fn add(set: &[Bits], number: u32) {
    set[(number / WORD) as usize].add_mask(bit(number));
}

/// Removes `number`. Acquire: pairs with the release of an adder that this overrules; what the remover reads next is no older
/// than what that adder had done.
pub(crate) fn remove(set: &[Bits], number: u32) {
    set[(number / WORD) as usize]
        .0
        .fetch_and(!bit(number), Ordering::Acquire);
}

/// Whether a number below `limit` is not a member, as far as a glance tells.
pub(crate) fn any_free(set: &[Bits], limit: u32) -> bool {
    (0..)
        .step_by(WORD as usize)
        .zip(set)
        .any(|(base, word)| base + (!word.peek()).trailing_zeros() < limit)
}

/// Adds the lowest number below `limit` that is not yet a member and returns it.
///
/// Acquire: pairs with the release in [`release`]: the caller sees what the number's last holder did.
pub(crate) fn claim(set: &[Bits], limit: u32) -> Option<u32> {
    for (base, word) in (0..).step_by(WORD as usize).zip(set) {
        loop {
            let free = !word.peek();
            let number = base + free.trailing_zeros();
            if free == 0 || number >= limit {
                break;
            }
            if word.0.fetch_or(bit(number), Ordering::Acquire) & bit(number) == 0 {
                return Some(number);
            }
        }
    }
    None
}

/// Adds `number` unless it is a member, and says whether it did. Acquire: as in [`claim`].
pub(crate) fn claim_one(set: &[Bits], number: u32) -> bool {
    let word = &set[(number / WORD) as usize];
    word.peek() & bit(number) == 0
        && word.0.fetch_or(bit(number), Ordering::Acquire) & bit(number) == 0
}

/// Takes back a [`claim`] of `number`. Release: pairs with the acquire in `claim` and [`claim_run`].
pub(crate) fn release(set: &[Bits], number: u32) {
    set[(number / WORD) as usize]
        .0
        .fetch_and(!bit(number), Ordering::Release);
}

/// The members below `limit`, from `hint`'s word on and round. Each word is read once.
pub(crate) fn members(set: &[Bits], limit: u32, hint: u32) -> impl Iterator<Item = u32> + '_ {
    let count = words(limit as u64) as u32;
    let start = (hint / WORD) % count.max(1);
    (0..count).flat_map(move |step| {
        let index = (start + step) % count;
        let mut left = set[index as usize].peek();
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let number = index * WORD + left.trailing_zeros();
                left &= left - 1;
                number
            })
        })
    })
}

/// Claims `length` numbers in a row below `limit`, the highest such run found, and returns the first.
///
/// Claimed word by word. When another thread gets in between, what was claimed is released and the search goes on below;
/// `disturbed` is then set: somebody may have missed the numbers meanwhile.
pub(crate) fn claim_run(
    set: &[Bits],
    limit: u32,
    length: u32,
    disturbed: &mut bool,
) -> Option<u32> {
    let mut end = limit;
    while length <= end {
        let first = end - length;
        // The highest member inside the window is where the next window ends.
        match (first..end).rev().find(|&number| is_member(set, number)) {
            Some(taken) => end = taken,
            None => match claim_window(set, first, length) {
                Ok(()) => return Some(first),
                Err(()) => {
                    *disturbed = true;
                    end -= 1;
                }
            },
        }
    }
    None
}

/// Whether `number` is a member, as far as a glance tells.
pub(crate) fn is_member(set: &[Bits], number: u32) -> bool {
    set[(number / WORD) as usize].peek() & bit(number) != 0
}

fn claim_window(set: &[Bits], first: u32, length: u32) -> Result<(), ()> {
    let end = first + length;
    let mut number = first;
    while number < end {
        let mask = run_mask(number, end);
        let word = &set[(number / WORD) as usize].0;
        let mut old = word.load(Ordering::Relaxed);
        let claimed = loop {
            if old & mask != 0 {
                break false;
            }
            // Acquire: pairs with the release in `release` and `release_run`.
            match word.compare_exchange_weak(old, old | mask, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => break true,
                Err(now) => old = now,
            }
        };
        if !claimed {
            release_run(set, first, number - first);
            return Err(());
        }
        number = (number / WORD + 1) * WORD;
    }
    Ok(())
}

/// Takes back a [`claim_run`].
pub(crate) fn release_run(set: &[Bits], first: u32, length: u32) {
    let end = first + length;
    let mut number = first;
    while number < end {
        let mask = run_mask(number, end);
        // Release: pairs with the acquire in `claim` and `claim_run`.
        set[(number / WORD) as usize]
            .0
            .fetch_and(!mask, Ordering::Release);
        number = (number / WORD + 1) * WORD;
    }
}

/// The bits of `number`'s word from `number` to the word's or the run's end.
fn run_mask(number: u32, end: u32) -> u64 {
    let low = number % WORD;
    let high = (end - (number - low)).min(WORD);
    (u64::MAX << low) & (u64::MAX >> (WORD - high))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn set(words: usize) -> Vec<Bits> {
        (0..words).map(|_| Bits::fresh()).collect()
    }

    #[test]
    fn claims_are_lowest_first_within_the_limit() {
        let set = set(2);
        for expected in 0..70 {
            assert_eq!(claim(&set, 70), Some(expected));
        }
        assert_eq!(claim(&set, 70), None);
        release(&set, 3);
        assert_eq!(claim(&set, 70), Some(3));
    }

    #[test]
    fn runs_are_found_from_the_top_and_cross_words() {
        let set = set(3);
        let mut disturbed = false;
        assert_eq!(claim_run(&set, 150, 100, &mut disturbed), Some(50));
        assert_eq!(claim_run(&set, 150, 51, &mut disturbed), None);
        assert_eq!(claim_run(&set, 150, 50, &mut disturbed), Some(0));
        assert_eq!(claim(&set, 150), None);
        release_run(&set, 50, 100);
        release_run(&set, 0, 50);
        assert_eq!(members(&set, 150, 0).count(), 0);
        assert_eq!(claim_run(&set, 150, 150, &mut disturbed), Some(0));
        assert_eq!(claim_run(&set, 150, 151, &mut disturbed), None);
        assert!(!disturbed);
    }

    #[test]
    fn a_run_avoids_what_is_taken() {
        let set = set(2);
        add(&set, 90);
        let mut disturbed = false;
        assert_eq!(claim_run(&set, 128, 64, &mut disturbed), Some(26));
        assert_eq!(claim_run(&set, 128, 38, &mut disturbed), None);
        assert_eq!(claim_run(&set, 128, 37, &mut disturbed), Some(91));
    }

    #[test]
    fn members_come_from_the_hint_on() {
        let set = set(3);
        for number in [1, 70, 130] {
            add(&set, number);
        }
        assert_eq!(members(&set, 192, 64).collect::<Vec<_>>(), [70, 130, 1]);
        remove(&set, 70);
        assert_eq!(members(&set, 192, 0).collect::<Vec<_>>(), [1, 130]);
    }

    #[test]
    fn some_are_removed_lowest_first() {
        let word = Bits::fresh();
        word.add_mask(0b1011);
        assert_eq!(word.remove_some(2), 0b0011);
        assert_eq!(word.remove_some(2), 0b1000);
        assert_eq!(word.remove_some(2), 0);
    }

    #[test]
    fn run_masks_are_cut_at_both_ends() {
        assert_eq!(run_mask(0, 64), u64::MAX);
        assert_eq!(run_mask(62, 200), 0b11 << 62);
        assert_eq!(run_mask(64, 66), 0b11);
        assert_eq!(run_mask(65, 67), 0b110);
    }
}
