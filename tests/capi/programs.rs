//! The programs of `tests/c`, the examples, and a program that was built for another library.

use super::built::*;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// How large the default pool is for a program. Valgrind notes each byte of a pool when it is made, so there it is small.
fn capacity(source: &str) -> &'static str {
    match (source, tool()) {
        ("exhaustion.c", _) => "8M",
        ("boundaries.c", _) | (_, Tool::None { .. } | Tool::AddressSanitizer) => "8G",
        (_, Tool::Valgrind) => "64M",
    }
}

/// Every program but those that are not run by themselves.
fn sources() -> Vec<String> {
    let folder = fs::read_dir(root().join("tests/c")).unwrap();
    let mut names: Vec<_> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".c") && !name.starts_with("preload_"))
        .collect();
    names.sort();
    assert!(names.len() > 5, "the programs were not found");
    names
}

enum Tool {
    /// Nothing but the program itself, in few rounds or in all.
    None {
        full: bool,
    },
    Valgrind,
    AddressSanitizer,
}

fn tool() -> Tool {
    match std::env::var("MBUF_C_TESTS").as_deref() {
        Err(_) => Tool::None { full: false },
        Ok("full") => Tool::None { full: true },
        Ok("valgrind") => Tool::Valgrind,
        Ok("asan") => Tool::AddressSanitizer,
        Ok(other) => panic!("MBUF_C_TESTS is full, valgrind or asan, not {other}"),
    }
}

fn suppressions(name: &str) -> String {
    root().join("tests/c").join(name).display().to_string()
}

#[test]
fn every_program_succeeds() {
    if !library() {
        return;
    }
    for source in sources() {
        let mut run = match tool() {
            Tool::None { .. } => command(program(&source, &[])),
            Tool::Valgrind => {
                let mut run = command("valgrind");
                run.args([
                    "--quiet",
                    "--error-exitcode=9",
                    "--leak-check=full",
                    "--fair-sched=yes",
                ])
                .arg(format!("--suppressions={}", suppressions("valgrind.supp")))
                .arg(program(&source, &[]));
                run
            }
            Tool::AddressSanitizer => {
                let mut run = command(program(&source, &["-fsanitize=address,undefined"]));
                let suppressed = format!("suppressions={}", suppressions("leaks.supp"));
                run.env("MBUF_TEST_SLOW", "1")
                    .env("LSAN_OPTIONS", suppressed);
                run
            }
        };
        if !matches!(tool(), Tool::None { full: true }) {
            run.env("MBUF_TEST_SLOW", "1");
        }
        succeed(run.env("MBUF_CAPACITY", capacity(&source)));
    }
}

#[test]
fn the_static_library_does_the_same() {
    if !library() {
        return;
    }
    for source in ["functions.c", "chains.c", "threads.c"] {
        succeed(&mut command(static_program(source)));
    }
}

#[test]
fn examples_are_built_by_pkg_config_and_run() {
    if !library() {
        return;
    }
    if !is_there("pkg-config") {
        say("skipped: there is no `pkg-config` here");
        return;
    }
    let build = folder().join("examples");
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(root().join("examples/c"))
        .arg(format!("BUILD={}", build.display()))
        .env("PKG_CONFIG_PATH", folder().join("lib/pkgconfig"))
        .env("CC", compiler())
        .env("CXX", compiler_of_cpp());
    succeed(&mut make);
    let programs: Vec<PathBuf> = fs::read_dir(&build)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none())
        .collect();
    assert_eq!(programs.len(), 2, "one in C and one in C++");
    for program in programs {
        succeed(&mut command(program));
    }
}

/// A shared library with the vendor's symbols, each of which answers "not supported", and a program linked to it: it fails by itself,
/// and works unchanged with ours loaded before.
#[test]
fn a_program_built_for_another_library_works_preloaded() {
    if !library() {
        return;
    }
    let stub_folder = folder().join("stub");
    fs::create_dir_all(&stub_folder).unwrap();
    let include = folder().join("include");
    let sources = root().join("tests/c");
    succeed(
        Command::new(compiler())
            .args(["-shared", "-fPIC", "-I"])
            .arg(&include)
            .arg("-o")
            .arg(stub_folder.join("libascendcl.so"))
            .arg(sources.join("preload_stub.c")),
    );
    let program = stub_folder.join("program");
    succeed(
        Command::new(compiler())
            .arg("-I")
            .arg(&include)
            .arg("-o")
            .arg(&program)
            .arg(sources.join("preload_program.c"))
            .arg("-L")
            .arg(&stub_folder)
            .args(["-lascendcl", "-lpthread"]),
    );
    let alone = run(Command::new(&program).env("LD_LIBRARY_PATH", &stub_folder));
    assert_eq!(alone.status.code(), Some(3), "not supported");
    let preloaded = Command::new(&program)
        .env("LD_LIBRARY_PATH", &stub_folder)
        .env("LD_PRELOAD", folder().join("lib/libmbuf.so"))
        .output()
        .unwrap();
    assert!(preloaded.status.success(), "{preloaded:?}");
}
