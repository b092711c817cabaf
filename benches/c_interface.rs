//! What the C interface adds to alloc and free: the same work through Rust, through the static and through the shared library,
//! in short rounds that take turns. Every call checks its handle.
//!
//! Needs `make` and a C compiler.

use mbuf::Pool;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const TURNS: usize = 15;
const ROUNDS: usize = 20;
const PAIRS: usize = 50_000;
const SIZE: usize = 2048;

/// Runs some rounds and returns their times.
type Contender<'a> = Box<dyn Fn() -> Vec<f64> + 'a>;

fn main() {
    // `cargo test` and `cargo bench --no-run` only see that it compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_interface");
    let (with_static, with_shared) = build(&folder);
    let pool = Pool::builder().build().expect("address space for a pool");
    let contenders: [(&str, Contender); 5] = [
        ("Rust", Box::new(|| rust_rounds(&pool))),
        (
            "static library, aclrt*",
            Box::new(|| rounds(&with_static, "acl")),
        ),
        (
            "shared library, aclrt*",
            Box::new(|| rounds(&with_shared, "acl")),
        ),
        (
            "static library, a pool of its own",
            Box::new(|| rounds(&with_static, "own")),
        ),
        (
            "shared library, a pool of its own",
            Box::new(|| rounds(&with_shared, "own")),
        ),
    ];
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..TURNS {
        for ((_, run), times) in contenders.iter().zip(&mut times) {
            times.extend(run());
        }
    }
    println!(
        "alloc and free of {SIZE} bytes, ns a pair, {} rounds each",
        TURNS * ROUNDS
    );
    println!(
        "{:34} {:>7} {:>7} {:>13}",
        "", "median", "least", "median ratio"
    );
    let base = median(&mut times[0].clone());
    for ((name, _), times) in contenders.iter().zip(&mut times) {
        let median = median(times);
        println!(
            "{name:34} {median:7.2} {:7.2} {:13.2}",
            times[0],
            median / base
        );
    }
}

/// Sorts.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn rust_rounds(pool: &Pool) -> Vec<f64> {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..PAIRS {
            drop(black_box(
                pool.alloc(black_box(SIZE)).expect("the pool is warm"),
            ));
        }
        start.elapsed().as_nanos() as f64 / PAIRS as f64
    };
    (0..=ROUNDS).map(round).skip(1).collect()
}

fn rounds(program: &Path, way: &str) -> Vec<f64> {
    let mut command = Command::new(program);
    command.arg(way);
    command.args([SIZE, ROUNDS, PAIRS].map(|number| number.to_string()));
    let printed = succeed(&mut command);
    let lines = printed.lines();
    lines.map(|line| line.parse().expect("a number")).collect()
}

/// Builds the library and the program twice.
fn build(folder: &Path) -> (PathBuf, PathBuf) {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = format!("OUT={}", folder.display());
    succeed(
        Command::new("make")
            .current_dir(benches.join(".."))
            .arg(out),
    );
    let library = folder.join("lib");
    let compile = |name: &str, link: &[&str]| {
        let program = folder.join(name);
        let mut command = Command::new("cc");
        command
            .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(folder.join("include"))
            .arg("-o")
            .arg(&program)
            .arg(benches.join("c_interface.c"))
            .args(link);
        succeed(&mut command);
        program
    };
    let archive = library.join("libmbuf.a").display().to_string();
    let path = library.display().to_string();
    (
        compile(
            "static",
            &[&archive, "-lpthread", "-ldl", "-lm", "-lgcc_s", "-lc"],
        ),
        compile(
            "shared",
            &["-L", &path, "-lmbuf", &format!("-Wl,-rpath,{path}")],
        ),
    )
}

fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("plain text")
}
