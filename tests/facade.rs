//! Atomics, cells and thread-locals are named in `src/sync.rs` and below it alone, so that one switch puts the whole library under the
//! model checker.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_goes_round_the_facade() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 10, "the sources were not found");
    let forbidden = [
        "sync::atomic",
        "std::thread",
        "UnsafeCell",
        "thread_local!",
        "loom::",
        "shuttle::",
    ];
    for file in files {
        if file == root.join("sync.rs") || file.starts_with(root.join("sync")) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            let named = forbidden.iter().find(|name| line.contains(**name));
            assert!(
                named.is_none(),
                "{}: line of code {}: {line}",
                file.display(),
                number + 1
            );
        }
    }
}
