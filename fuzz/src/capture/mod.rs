//! The example pipeline's reader of capture files, on any bytes.

// A module of that folder, so that the reader finds its own parts.
#[allow(dead_code, reason = "the pipeline uses more of it")]
#[path = "../../../examples/pipeline"]
mod pipeline {
    pub(super) mod capture;
}

use crate::memory::peak_of;
use pipeline::capture::{Capture, Fault, Item};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Seek, Write};

/// What a window that moves over the file takes, and what descriptions of interfaces and their options may take beside it, for each
/// byte of the file: none says more than a byte or two, so lengths that lie have no part in it.
const FIXED: usize = 1 << 20;
const FOR_EACH_BYTE: usize = 64;

/// More than the window, which then has to grow.
const LONG: usize = 300 << 10;

/// Reads the input as a capture, twice. One that ends with this byte is followed by zeros: a long file that takes a short input.
pub fn run(input: &[u8]) {
    let mut file = file_of(input);
    let mut len = input.len();
    if input.ends_with(&[0xff]) && len < LONG {
        len = LONG;
        file.set_len(len as u64).unwrap();
        file.rewind().unwrap();
    }
    let peak = peak_of(|| read(file, len));
    let most = FIXED + FOR_EACH_BYTE * len;
    assert!(peak <= most, "{peak} bytes of memory for {len}");
}

/// One file for each thread, used again: making one takes longer than reading it.
fn file_of(input: &[u8]) -> File {
    thread_local! {
        static FILE: File = new_file();
    }
    FILE.with(|file| {
        let mut file = file.try_clone().unwrap();
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(input).unwrap();
        file.rewind().unwrap();
        file
    })
}

fn new_file() -> File {
    let id = std::thread::current().id();
    let name = format!("mbuf-fuzz-{}-{id:?}", std::process::id());
    // In memory, if there is such a place.
    let shared = std::path::Path::new("/dev/shm");
    let place = if shared.is_dir() {
        shared.into()
    } else {
        std::env::temp_dir()
    };
    let path = place.join(name);
    let file = File::create_new(&path);
    let file = file.and_then(|_| File::options().read(true).write(true).open(&path));
    std::fs::remove_file(&path).unwrap();
    file.unwrap()
}

fn read(file: File, len: usize) {
    let Ok(mut capture) = Capture::from_file(file) else {
        return;
    };
    let first = pass(&mut capture, len as u64);
    if capture.rewind().is_ok() {
        assert_eq!(pass(&mut capture, len as u64), first);
    }
}

/// Reads to the end, or to a fault. What was read is given as a hash.
fn pass(capture: &mut Capture, len: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    loop {
        let before = capture.position();
        let bytes = match capture.next_item() {
            Ok(Some(Item::Verbatim(bytes))) => bytes,
            Ok(Some(Item::Packet(packet))) => {
                (packet.captured_at, packet.link_type, packet.record.time).hash(&mut hasher);
                packet.data
            }
            Ok(None) => break,
            Err(fault) => {
                assert!(!matches!(fault, Fault::Io(_)), "{fault}");
                fault.to_string().hash(&mut hasher);
                return hasher.finish();
            }
        };
        bytes.hash(&mut hasher);
        let count = bytes.len() as u64;
        let after = capture.position();
        assert!(after > before && after <= len, "from {before} to {after}");
        assert!(count <= after - before, "{count} bytes of an item");
    }
    assert_eq!(capture.position(), len, "the end is the file's");
    hasher.finish()
}
