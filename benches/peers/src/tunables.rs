//! glibc's allocator reads its options before a program begins: to set them, the program starts again.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

const VARIABLE: &str = "GLIBC_TUNABLES";

/// A thread keeps as many chunks of each size as it can, where it keeps 7 by default. Sizes over 1,032 bytes are not kept that way, whatever is
/// set. The heap is on transparent huge pages as the others' are, and what is freed at its end is not given back to the system between rounds.
const BEST: &str = "glibc.malloc.tcache_count=65535:glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=17179869184";

/// Replaces this program by itself with the options set, unless some of these are set already.
pub(crate) fn apply() {
    let set = current();
    if set.contains("glibc.malloc.") {
        return;
    }
    let all: OsString = match set.as_str() {
        "" => BEST.into(),
        others => format!("{others}:{BEST}").into(),
    };
    // It comes back only if it fails, as where programs may not start others; then the output says that nothing is set.
    let error = Command::new("/proc/self/exe")
        .args(env::args_os().skip(1))
        .env(VARIABLE, all)
        .exec();
    eprintln!("{VARIABLE} cannot be set: {error}");
}

/// What is set.
pub(crate) fn current() -> String {
    env::var(VARIABLE).unwrap_or_default()
}
