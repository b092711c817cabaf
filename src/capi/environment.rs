//! What the environment says of the default pool, for programs that cannot.

use crate::arena::HugePages;
use crate::error::BuildError;
use crate::heap;
use crate::pool::{Pool, PoolBuilder};
use crate::sync::{AtomicU32, Ordering, process_static};
use std::ffi::c_int;

/// What is done beside making the pool.
pub(super) struct Settings {
    /// Not 0: new buffers' data is cleared.
    zero: AtomicU32,
    /// Not 0: the environment was read, and what is wrong with it said.
    read: AtomicU32,
}

process_static! {
    fn settings() -> Settings = Settings { zero: AtomicU32::new(0), read: AtomicU32::new(0) };
}

/// Whether new buffers' data is to be cleared.
#[inline(always)]
pub(super) fn zeroes() -> bool {
    // Relaxed: set before the default pool was made, and by whoever made it.
    settings().zero.load(Ordering::Relaxed) != 0
}

/// The default pool, made as the environment says if it is not there. Without enough explicit huge pages it is made of ordinary
/// ones: the program did not ask for them itself and can do without.
#[inline(always)]
pub(super) fn default_pool() -> Result<&'static Pool, BuildError> {
    match Pool::made_global() {
        Some(pool) => Ok(pool),
        None => make_default_pool(),
    }
}

#[cold]
#[inline(never)]
fn make_default_pool() -> Result<&'static Pool, BuildError> {
    // The environment is read by way of the heap.
    if !heap::has_room() {
        return Err(BuildError::TooManyPools);
    }
    match Pool::global_from(options) {
        Err(BuildError::HugePages(why)) => {
            say(format_args!(
                "mbuf: MBUF_HUGE_PAGES=explicit: {why}; ordinary pages are used\n"
            ));
            Pool::global_from(|| options().huge_pages(HugePages::Never))
        }
        made => made,
    }
}

/// The default pool's options.
fn options() -> PoolBuilder {
    // Relaxed: of several threads that come at once, one says what is wrong.
    let is_first = settings().read.fetch_or(1, Ordering::Relaxed) == 0;
    let options = Pool::builder();
    let options = match variable("MBUF_CAPACITY", is_first, bytes) {
        Some(capacity) => options.capacity(capacity),
        None => options,
    };
    let options = match variable("MBUF_HUGE_PAGES", is_first, huge_pages) {
        Some(pages) => options.huge_pages(pages),
        None => options,
    };
    if variable("MBUF_ZERO", is_first, switch) == Some(true) {
        settings().zero.store(1, Ordering::Relaxed);
    }
    if variable("MBUF_STATS", is_first, switch) == Some(true) && is_first {
        report_at_exit();
    }
    options
}

/// The value of a variable. A malformed one is reported if it is the first time, and taken for none.
fn variable<T>(name: &str, report: bool, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = std::env::var_os(name)?;
    let value = text.to_str().and_then(parse);
    if value.is_none() && report {
        say(format_args!(
            "mbuf: {name}={text:?} is not understood and ignored\n"
        ));
    }
    value
}

/// On standard error, whether that can be written to or not.
fn say(what: std::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = std::io::stderr().write_fmt(what);
}

/// A number of bytes in decimal, with K, M or G for powers of 1024, that a pool can have.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    // `parse` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1..=crate::arena::MAX_BYTES)
        .contains(&bytes)
        .then_some(bytes)
}

fn huge_pages(text: &str) -> Option<HugePages> {
    match text {
        "never" => Some(HugePages::Never),
        "transparent" => Some(HugePages::Transparent),
        "explicit" => Some(HugePages::Explicit),
        _ => None,
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" | "" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn report_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function may be called at any time. Where it cannot be registered there is no report.
    unsafe { atexit(report) };
}

extern "C" fn report() {
    if let Some(pool) = Pool::made_global() {
        let stats = pool.stats();
        say(format_args!(
            "mbuf: the default pool at exit\n{stats}\nleaks: {} blocks in use\n",
            stats.in_use
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_with_or_without_a_suffix() {
        assert_eq!(bytes("1"), Some(1));
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("64K"), Some(64 << 10));
        assert_eq!(bytes("8M"), Some(8 << 20));
        assert_eq!(bytes("256G"), Some(256 << 30));
        let wrong = [
            "",
            "0",
            "K",
            "-1",
            "+1",
            "1k",
            "1 M",
            " 1",
            "1.5G",
            "0x10",
            "257G",
            "M1",
            "18446744073709551616",
            "18446744073709551615G",
            "1KK",
            "é",
        ];
        for text in wrong {
            assert_eq!(bytes(text), None, "{text:?}");
        }
    }

    #[test]
    fn pages_and_switches_have_names() {
        assert_eq!(huge_pages("transparent"), Some(HugePages::Transparent));
        assert_eq!(huge_pages("Never"), None);
        assert_eq!(switch("1"), Some(true));
        assert_eq!(switch("yes"), None);
    }
}
