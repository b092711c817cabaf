//! Where and with what it was measured: a figure without that is none.

use crate::entry::Entrant;
use crate::tunables;
use std::ffi::{CStr, c_char};
use std::fs;

pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) compiler: &'static str,
    pub(crate) huge_pages: String,
    /// What glibc's allocator is told.
    pub(crate) tunables: String,
    /// Processes that wanted a core, before and after.
    pub(crate) load: [String; 2],
    /// Contenders' names with their packages' versions.
    pub(crate) versions: Vec<(&'static str, String)>,
}

impl Machine {
    pub(crate) fn here(entrants: &[Box<dyn Entrant>]) -> Self {
        let processors = read("/proc/cpuinfo");
        let model = processors
            .lines()
            .find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split(": ").nth(1));
        let versions = entrants
            .iter()
            .filter(|entrant| !entrant.package().is_empty())
            .map(|entrant| (entrant.name(), version(entrant.package())))
            .collect();
        Self {
            processor: model.unwrap_or("unknown").into(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            kernel: read("/proc/sys/kernel/osrelease"),
            compiler: env!("PEERS_RUSTC"),
            huge_pages: chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")),
            tunables: tunables::current(),
            load: [load(), String::new()],
            versions,
        }
    }

    /// With the load as it is now.
    pub(crate) fn after(mut self) -> Self {
        self.load[1] = load();
        self
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().into())
}

/// Bytes that can be had without taking them from other programs.
pub(crate) fn available_memory() -> u64 {
    let text = read("/proc/meminfo");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.map_or(u64::MAX, |kibibytes| kibibytes << 10)
}

/// The option in brackets.
fn chosen(options: &str) -> String {
    let inside = options.split(['[', ']']).nth(1);
    inside.unwrap_or(options).into()
}

fn load() -> String {
    let text = read("/proc/loadavg");
    text.split(' ').next().unwrap_or_default().into()
}

/// From where it is pinned.
fn version(package: &str) -> String {
    match package {
        "mbuf" => env!("CARGO_PKG_VERSION").into(),
        "std" => env!("PEERS_RUSTC")
            .split(' ')
            .nth(1)
            .unwrap_or("unknown")
            .into(),
        "glibc" => glibc(),
        "DPDK" => option_env!("PEERS_DPDK").unwrap_or("unknown").into(),
        _ => pinned(package).unwrap_or("unknown").into(),
    }
}

fn pinned(package: &str) -> Option<&'static str> {
    let lines = include_str!("../Cargo.toml").lines();
    let mut lines = lines.filter_map(|line| line.split_once(" = "));
    let (_, value) = lines.find(|(name, _)| *name == package)?;
    value.split('"').find_map(|part| part.strip_prefix('='))
}

fn glibc() -> String {
    unsafe extern "C" {
        safe fn gnu_get_libc_version() -> *const c_char;
    }
    // SAFETY: a string that is always there.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) };
    version.to_string_lossy().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_has_a_version() {
        let all = crate::contenders::all();
        for entrant in all.iter().filter(|entrant| !entrant.package().is_empty()) {
            let version = version(entrant.package());
            assert_ne!(version, "unknown", "{}", entrant.name());
            assert!(version.starts_with(|first: char| first.is_ascii_digit()));
        }
    }
}
