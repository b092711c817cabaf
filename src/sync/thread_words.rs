//! Two words of each thread's own, reached without a call where that can be had.
//!
//! What `thread_local!` has in a shared library is reached through a function of the dynamic linker (the general dynamic
//! model), and around a call a function saves what it has in registers, in a static library, too. The cheapest model
//! that works everywhere, initial-exec, can be asked for with an unstable compiler option only, or by naming the variable
//! in assembly, as here. A shared library with such a variable has all of its thread-locals, some 200 bytes with those of the
//! standard library, in what the dynamic linker sets aside for libraries that are loaded late. In a program the linker makes
//! it cheaper still.

use std::cell::Cell;

/// Zero at first. They have no destructor: only under a model checker do they end before their thread does.
#[repr(C)]
pub(crate) struct ThreadWords {
    pub(crate) number: Cell<u64>,
    pub(crate) address: Cell<*const ()>,
}

impl ThreadWords {
    /// The calling thread's words.
    #[inline(always)]
    pub(crate) fn read() -> (u64, *const ()) {
        place::read()
    }

    /// Lets `change` change the calling thread's words.
    pub(crate) fn with(change: impl FnOnce(&Self)) {
        place::with(change);
    }

    #[allow(dead_code)]
    const fn new() -> Self {
        Self {
            number: Cell::new(0),
            address: Cell::new(std::ptr::null()),
        }
    }
}

#[cfg(all(
    target_arch = "x86_64",
    target_os = "linux",
    target_env = "gnu",
    not(any(loom, shuttle, miri))
))]
mod place {
    use super::ThreadWords;
    use std::arch::{asm, global_asm};

    // The version is part of the name, for a program may have two versions of this crate. Hidden: every shared object has its
    // own.
    macro_rules! words {
        () => {
            concat!(
                "mbuf_thread_words_",
                env!("CARGO_PKG_VERSION_MAJOR"),
                "_",
                env!("CARGO_PKG_VERSION_MINOR"),
                "_",
                env!("CARGO_PKG_VERSION_PATCH")
            )
        };
    }

    const _: () = assert!(size_of::<ThreadWords>() == 16);

    global_asm!(
        ".pushsection .tbss.mbuf_thread_words,\"awT\",@nobits",
        ".p2align 4",
        concat!(".globl ", words!()),
        concat!(".hidden ", words!()),
        concat!(".type ", words!(), ", @object"),
        concat!(".size ", words!(), ", 16"),
        concat!(words!(), ":"),
        ".zero 16",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn read() -> (u64, *const ()) {
        let (number, address);
        // SAFETY: loads the variable's distance from the thread pointer, which is constant, and the variable, of the calling
        // thread.
        unsafe {
            asm!(
                concat!("mov {number}, qword ptr [rip + ", words!(), "@GOTTPOFF]"),
                "mov {address}, qword ptr fs:[{number} + 8]",
                "mov {number}, qword ptr fs:[{number}]",
                number = out(reg) number,
                address = out(reg) address,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        (number, address)
    }

    pub(super) fn with(change: impl FnOnce(&ThreadWords)) {
        let words: *const ThreadWords;
        // SAFETY: as above; the first word of a thread's control block is its own address, the thread pointer.
        unsafe {
            asm!(
                concat!("mov {words}, qword ptr [rip + ", words!(), "@GOTTPOFF]"),
                "add {words}, qword ptr fs:[0]",
                words = out(reg) words,
                options(pure, nomem, nostack),
            );
        }
        // SAFETY: the calling thread's variable, there until the thread is gone, for which zero bytes are a value.
        change(unsafe { &*words });
    }
}

#[cfg(not(all(
    target_arch = "x86_64",
    target_os = "linux",
    target_env = "gnu",
    not(any(loom, shuttle, miri))
)))]
mod place {
    use super::ThreadWords;

    crate::sync::thread_static! {
        static WORDS: ThreadWords = ThreadWords::new();
    }

    #[inline(always)]
    pub(super) fn read() -> (u64, *const ()) {
        WORDS
            .try_with(|words| (words.number.get(), words.address.get()))
            .unwrap_or((0, std::ptr::null()))
    }

    pub(super) fn with(change: impl FnOnce(&ThreadWords)) {
        // Where they are gone there is nothing to find later.
        let _ = WORDS.try_with(change);
    }
}
