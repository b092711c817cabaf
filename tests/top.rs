//! The example `top`, run as a user runs it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The example that a plain `cargo test` built beside this test. `--test top` and `--all-targets` build none that can be run;
/// only CI must not pass over that.
fn example() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let example = profile.join("examples").join("top");
    if example.is_file() {
        return Some(example);
    }
    let missing = format!("there is no {}", example.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("skipped: {missing}");
    None
}

/// Runs the example into a pipe.
fn run(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(example()?);
    command.args(arguments).stdin(Stdio::null());
    Some(command.output().unwrap())
}

/// What a run that must be a success has shown, which is plain text.
fn succeed(arguments: &[&str]) -> Option<String> {
    let output = run(arguments)?;
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\x1b'), "{text:?}");
    Some(text)
}

/// The number in the class's line, in a column that has no unit.
fn cell(frame: &str, class: &str, column: usize) -> u64 {
    let mut lines = frame.lines().map(|line| line.split_whitespace());
    let mut line = lines
        .find(|line| line.clone().next() == Some(class))
        .unwrap();
    line.nth(column).unwrap().parse().unwrap()
}

#[test]
fn once_shows_a_frame_of_a_pool_at_work() {
    let Some(text) = succeed(&["--once"]) else {
        return;
    };
    assert_eq!(text.matches("pool of 64 MiB").count(), 1, "{text}");
    for word in [
        "slabs ", "blocks ", "allocs/s", "in use", "cached", "home", "failed",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    // Packets of 1500 bytes are kept, in blocks of 1536, and each class in use has slabs.
    assert!(cell(&text, "1536", 1) > 0, "{text}");
    assert!(cell(&text, "1536", 4) > 0, "{text}");
    assert!(cell(&text, "spans", 4) > 0, "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
}

#[test]
fn frames_follow_each_other_in_a_pipe() {
    let Some(text) = succeed(&["--seconds", "0.9"]) else {
        return;
    };
    let frames = text.matches("pool of 64 MiB").count();
    assert!((2..=4).contains(&frames), "{frames} frames: {text}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let Some(example) = example() else { return };
    let mut command = Command::new(example);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut top = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(top.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("pool of "), "{line}");
    assert!(top.wait().unwrap().success());
}

#[test]
fn help_is_help() {
    let Some(text) = succeed(&["--help"]) else {
        return;
    };
    assert!(text.contains("Usage: top"), "{text}");
}

#[test]
fn a_wrong_command_line_is_refused_in_a_line() {
    for arguments in [
        &["--seconds", "soon"][..],
        &["--seconds", "0"],
        &["--seconds", "-1"],
        &["--seconds"],
        &["--twice"],
        &["pool"],
    ] {
        let Some(output) = run(arguments) else { return };
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(
            complaint.starts_with("top: ") && complaint.lines().count() == 1,
            "{complaint}"
        );
    }
}
