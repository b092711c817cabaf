//! Every input that once failed, and every seed, runs through. Any bytes are an input, the folders' readmes too.

use std::fs;
use std::path::Path;

fn run_all(target: &str, run: fn(&[u8])) {
    let mut count = 0;
    for folder in ["regressions", "seeds"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(folder)
            .join(target);
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            run(&fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert!(count > 0, "no inputs for {target}");
}

#[test]
fn rust_api() {
    run_all("rust_api", mbuf_fuzz::rust_api::run);
}

#[test]
fn chains() {
    run_all("chains", mbuf_fuzz::chains::run);
}

#[test]
fn c_abi() {
    run_all("c_abi", mbuf_fuzz::c_abi::run);
}

#[test]
fn capture() {
    run_all("capture", mbuf_fuzz::capture::run);
}
