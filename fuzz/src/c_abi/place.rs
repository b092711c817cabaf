//! Where C wants a result: anywhere, aligned or not, with other bytes around.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

const UNTOUCHED: u8 = 0xa5;
const ROOM: usize = 32;

/// Room for any result, with a guard in front and behind.
pub(super) struct Place {
    bytes: UnsafeCell<[u8; ROOM + 16]>,
    shift: usize,
    is_null: bool,
}

impl Place {
    /// One place in 16 is none.
    pub(super) fn new(choice: u8) -> Self {
        Self {
            bytes: UnsafeCell::new([UNTOUCHED; ROOM + 16]),
            shift: usize::from(choice % 8),
            is_null: choice / 8 == 31,
        }
    }

    /// With something in it.
    pub(super) fn holding<T>(choice: u8, value: T) -> Self {
        assert!(size_of::<T>() <= ROOM);
        let place = Self::new(choice);
        // SAFETY: within the bytes, which nobody refers to.
        unsafe { place.start().cast::<T>().write_unaligned(value) };
        place
    }

    fn start(&self) -> *mut c_void {
        self.bytes
            .get()
            .cast::<u8>()
            .wrapping_add(self.shift)
            .cast()
    }

    pub(super) fn is_there(&self) -> bool {
        !self.is_null
    }

    pub(super) fn pointer<T>(&self) -> *mut T {
        if self.is_null {
            ptr::null_mut()
        } else {
            self.start().cast()
        }
    }

    /// What was written.
    pub(super) fn get<T: Copy>(&self) -> T {
        assert!(size_of::<T>() <= ROOM);
        // SAFETY: within the bytes, all of which are something; the types asked for are numbers and addresses.
        unsafe { self.start().cast::<T>().read_unaligned() }
    }

    /// A call that failed wrote nothing.
    #[track_caller]
    pub(super) fn assert_untouched(&self) {
        // SAFETY: no call is under way.
        let bytes = unsafe { &*self.bytes.get() };
        assert!(bytes.iter().all(|&byte| byte == UNTOUCHED), "{bytes:x?}");
    }
}
