//! The arena's memory: reserved from the system, touched page by page, given back.

use std::ptr::NonNull;

/// How a pool's slabs ask the system for pages of 2 MiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HugePages {
    /// Ordinary pages, whatever the system's default: memory is used in steps of 4 KiB.
    #[default]
    Never,
    /// Transparent huge pages where the system has them ready; ordinary pages elsewhere, without an error.
    Transparent,
    /// Pages from the system's reserved pool (`vm.nr_hugepages`). All of the capacity is taken at build, which fails
    /// when the system has too few.
    Explicit,
}

/// The alignment of an arena and the size of a huge page.
#[cfg(not(loom))]
pub(crate) const HUGE: u64 = 2 << 20;
/// Under the model checker, where nothing is huge.
#[cfg(loom)]
pub(crate) const HUGE: u64 = 64;

/// A reserved range of addresses, owned: from [`reserve`](Mapping::reserve) until [`unmap`](Mapping::unmap).
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: u64,
}

// SAFETY: an address and a length, owned.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared mapping can only be asked where it is.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// # Safety
    /// `base` and `bytes` are those of a mapping that [`into_parts`](Self::into_parts) gave away, once.
    pub(crate) unsafe fn from_parts(base: NonNull<u8>, bytes: u64) -> Self {
        Self { base, bytes }
    }

    /// Gives the range away: somebody else will see to its end.
    pub(crate) fn into_parts(self) -> (NonNull<u8>, u64) {
        (self.base, self.bytes)
    }

    /// For tests, and under loom for those models that mount this file.
    #[cfg(test)]
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

#[cfg(not(loom))]
mod system {
    use super::{HUGE, HugePages, Mapping, NonNull};
    use crate::error::{BuildError, SystemError};
    use crate::sync::count_arena;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    fn refused(error: rustix::io::Errno) -> SystemError {
        SystemError::from_raw(error.raw_os_error())
    }

    fn aligned_part(base: *mut u8, align: usize) -> usize {
        base.addr().next_multiple_of(align) - base.addr()
    }

    impl Mapping {
        /// Reserves `bytes` of address space aligned to 2 MiB. It reads as zero and uses no memory until it is touched.
        pub(crate) fn reserve(bytes: u64) -> Result<Self, BuildError> {
            let too_large = BuildError::Reserve(SystemError::OUT_OF_MEMORY);
            let length = usize::try_from(bytes).map_err(|_| too_large)?;
            let room = length.checked_add(HUGE as usize).ok_or(too_large)?;
            // SAFETY: a new anonymous mapping at an address of the system's choice touches nobody's memory.
            let found = unsafe {
                mmap_anonymous(
                    std::ptr::null_mut(),
                    room,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE | MapFlags::NORESERVE,
                )
            };
            let start: *mut u8 = found.map_err(|e| BuildError::Reserve(refused(e)))?.cast();
            count_arena(true);
            let before = aligned_part(start, HUGE as usize);
            let after = room - before - length;
            // SAFETY: both ends lie inside the mapping just made and outside the part that is kept.
            unsafe {
                let base = start.add(before);
                if before > 0 {
                    let _ = munmap(start.cast(), before);
                }
                if after > 0 {
                    let _ = munmap(base.add(length).cast(), after);
                }
                Ok(Self {
                    base: NonNull::new_unchecked(base),
                    bytes,
                })
            }
        }

        /// Settles what pages serve `bytes` from `start` on, before anything there is touched.
        pub(crate) fn choose_pages(
            &self,
            start: u64,
            bytes: u64,
            pages: HugePages,
        ) -> Result<(), BuildError> {
            debug_assert!(start + bytes <= self.bytes);
            #[cfg(target_os = "linux")]
            {
                use rustix::mm::{Advice, madvise};
                // SAFETY: inside the mapping, which nobody uses yet; the fixed mapping replaces only that part.
                unsafe {
                    let at = self.base.as_ptr().add(start as usize).cast();
                    match pages {
                        // Kernels without transparent huge pages refuse both; then there is nothing to choose.
                        HugePages::Never => {
                            let _ = madvise(at, bytes as usize, Advice::LinuxNoHugepage);
                        }
                        HugePages::Transparent => {
                            let _ = madvise(at, bytes as usize, Advice::LinuxHugepage);
                        }
                        HugePages::Explicit => {
                            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::HUGETLB;
                            let access = ProtFlags::READ | ProtFlags::WRITE;
                            mmap_anonymous(at, bytes as usize, access, flags)
                                .map_err(|e| BuildError::HugePages(refused(e)))?;
                        }
                    }
                }
                Ok(())
            }
            #[cfg(not(target_os = "linux"))]
            match pages {
                HugePages::Explicit => Err(BuildError::HugePages(SystemError::UNSUPPORTED)),
                _ => Ok(()),
            }
        }

        /// Touches `bytes` from `start` on, so that using them meets no page fault.
        pub(crate) fn populate(&self, start: u64, bytes: u64) -> Result<(), BuildError> {
            debug_assert!(start + bytes <= self.bytes);
            // SAFETY: inside the mapping, which nobody uses yet.
            let at = unsafe { self.base.add(start as usize) };
            #[cfg(target_os = "linux")]
            {
                use rustix::mm::{Advice, madvise};
                // SAFETY: as above; populating changes no content.
                let done = unsafe {
                    madvise(
                        at.as_ptr().cast(),
                        bytes as usize,
                        Advice::LinuxPopulateWrite,
                    )
                };
                match done {
                    Ok(()) => return Ok(()),
                    // Kernels before 5.14 do not know the advice: touch by hand.
                    Err(rustix::io::Errno::INVAL) => {}
                    Err(error) => return Err(BuildError::Prefault(refused(error))),
                }
            }
            for page in (0..bytes as usize).step_by(4096) {
                // SAFETY: inside the mapping; it is unused, so writing the zero that is there changes nothing.
                unsafe { at.as_ptr().add(page).write_volatile(0) };
            }
            Ok(())
        }

        /// Gives the memory back to the system and keeps the addresses: the arena reads as zero, at any time. False where the
        /// system refuses; then the content is what it was.
        pub(crate) fn clear(self) -> bool {
            count_arena(false);
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
            let bytes = self.bytes as usize;
            // SAFETY: the fixed mapping replaces one that is owned by `self` and has no user that needs its content.
            unsafe { mmap_anonymous(self.base.as_ptr().cast(), bytes, access, flags).is_ok() }
        }

        /// Gives the mapping back to the system. Nobody may touch the arena any more.
        pub(crate) fn unmap(self) {
            count_arena(false);
            // SAFETY: the range is a mapping of ours, owned by `self`; the caller knows of no user.
            let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes as usize) };
        }
    }

    impl crate::arena::Arena {
        /// Gives the pages of a range back to the system; it reads as zero afterwards. False where the system refuses:
        /// then the content is unspecified but readable.
        ///
        /// # Safety
        /// The range, multiples of the page size, belongs to the caller alone.
        pub(crate) unsafe fn discard(self, start: crate::arena::Offset, bytes: u64) -> bool {
            let at = self.at::<u8>(start).as_ptr().cast();
            #[cfg(target_os = "linux")]
            {
                use rustix::mm::{Advice, madvise};
                // SAFETY: the range is the caller's alone and its content is not needed.
                unsafe { madvise(at, bytes as usize, Advice::LinuxDontNeed).is_ok() }
            }
            #[cfg(not(target_os = "linux"))]
            {
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                let access = ProtFlags::READ | ProtFlags::WRITE;
                // SAFETY: the fixed mapping replaces a range that is the caller's alone.
                unsafe { mmap_anonymous(at, bytes as usize, access, flags).is_ok() }
            }
        }
    }
}

/// Under the model checker an arena is heap memory: nothing is mapped and nothing is lazy.
#[cfg(loom)]
mod system {
    use super::{HUGE, HugePages, Mapping, NonNull};
    use crate::error::{BuildError, SystemError};
    use crate::sync::count_arena;
    use std::alloc::Layout;

    fn layout(bytes: u64) -> Layout {
        Layout::from_size_align(bytes as usize, HUGE as usize).expect("a model's arena is small")
    }

    impl Mapping {
        pub(crate) fn reserve(bytes: u64) -> Result<Self, BuildError> {
            // SAFETY: the layout has a size.
            let base = unsafe { std::alloc::alloc_zeroed(layout(bytes)) };
            let base = NonNull::new(base).ok_or(BuildError::Reserve(SystemError::OUT_OF_MEMORY))?;
            count_arena(true);
            Ok(Self { base, bytes })
        }

        pub(crate) fn choose_pages(&self, _: u64, _: u64, _: HugePages) -> Result<(), BuildError> {
            Ok(())
        }

        pub(crate) fn populate(&self, _: u64, _: u64) -> Result<(), BuildError> {
            Ok(())
        }

        /// Leaks the memory, whose next user lays it out anew.
        pub(crate) fn clear(self) -> bool {
            count_arena(false);
            true
        }

        pub(crate) fn unmap(self) {
            count_arena(false);
            // SAFETY: allocated in `reserve` with the same layout.
            unsafe { std::alloc::dealloc(self.base.as_ptr(), layout(self.bytes)) };
        }
    }

    impl crate::arena::Arena {
        pub(crate) unsafe fn discard(self, _: crate::arena::Offset, _: u64) -> bool {
            true
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::arena::{Arena, Offset};
    use crate::error::BuildError;

    #[test]
    fn a_mapping_is_aligned_zero_and_discards_to_zero() {
        let mapping = Mapping::reserve(3 * HUGE).unwrap();
        assert_eq!(mapping.base().addr().get() % HUGE as usize, 0);
        // SAFETY: the mapping is ours and mapped until the end of the test.
        let arena = unsafe { Arena::from_base(mapping.base()) };
        let place = Offset::from_raw(64).unwrap();
        let byte = arena.at::<u8>(place).as_ptr();
        // SAFETY: inside the mapping, which only this test knows.
        unsafe {
            assert_eq!(*byte, 0);
            *byte = 7;
            assert!(arena.discard(place, 4096));
            assert_eq!(*byte, 0);
        }
        mapping.unmap();
    }

    #[test]
    fn more_than_the_address_space_is_refused() {
        assert!(matches!(
            Mapping::reserve(1 << 60),
            Err(BuildError::Reserve(_))
        ));
        assert!(matches!(
            Mapping::reserve(u64::MAX),
            Err(BuildError::Reserve(_))
        ));
    }
}
