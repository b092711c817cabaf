//! The C library, built once, and what is built with it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the library is, and what is built with it.
pub(crate) fn folder() -> PathBuf {
    let name = format!("capi-{}", profile());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Optimised for tools under which everything is slow; else with all assertions.
fn profile() -> &'static str {
    if std::env::var_os("MBUF_C_TESTS").is_some() {
        "release"
    } else {
        "dev"
    }
}

pub(crate) fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

pub(crate) fn compiler_of_cpp() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
}

pub(crate) fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Past the test harness, which keeps what is printed by tests that pass.
pub(crate) fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// Builds the library, if it can be built here.
pub(crate) fn library() -> bool {
    static BUILD: Once = Once::new();
    for program in ["make", &compiler()] {
        if !is_there(program) {
            say(&format!("skipped: there is no `{program}` here"));
            return false;
        }
    }
    BUILD.call_once(|| {
        let mut make = Command::new("make");
        make.current_dir(root())
            .arg(format!("PROFILE={}", profile()))
            .arg(format!("OUT={}", folder().display()))
            .env("CARGO", env!("CARGO"));
        succeed(&mut make);
    });
    true
}

/// Runs a command that is to succeed.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

pub(crate) fn run(command: &mut Command) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Compiles one C program of `tests/c` and links it with the shared library.
pub(crate) fn program(source: &str, options: &[&str]) -> PathBuf {
    let out = output(source, options);
    let mut command = Command::new(compiler());
    command
        .args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-g", "-O1"])
        .args([
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wconversion",
            "-Wshadow",
            "-Werror",
        ])
        .args(options)
        .arg("-I")
        .arg(folder().join("include"))
        .arg("-o")
        .arg(&out)
        .arg(root().join("tests/c").join(source))
        .arg("-L")
        .arg(folder().join("lib"))
        .args(["-lmbuf", "-lpthread"]);
    succeed(&mut command);
    out
}

/// Compiles one C program of `tests/c` and links it with the static library.
pub(crate) fn static_program(source: &str) -> PathBuf {
    let out = output(source, &["static"]);
    let mut command = Command::new(compiler());
    command
        .args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-g"])
        .arg("-I")
        .arg(folder().join("include"))
        .arg("-o")
        .arg(&out)
        .arg(root().join("tests/c").join(source))
        .arg(folder().join("lib/libmbuf.a"))
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-lc"]);
    succeed(&mut command);
    out
}

fn output(source: &str, options: &[&str]) -> PathBuf {
    let folder = folder().join("programs");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{source}{}", options.concat()))
}

/// A command that finds the shared library.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", folder().join("lib"));
    for variable in [
        "MBUF_CAPACITY",
        "MBUF_HUGE_PAGES",
        "MBUF_STATS",
        "MBUF_ZERO",
    ] {
        command.env_remove(variable);
    }
    command
}
