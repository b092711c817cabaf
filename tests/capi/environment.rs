//! What the environment does to an unchanged program.

use super::built::*;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Allocates a buffer of the size in its argument, prints the code and whether the data is all zero after the memory was used before, and
/// leaves as many buffers as its second argument says.
const PROGRAM: &str = r#"
#include <acl_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    size_t size = strtoull(arguments[1], NULL, 10);
    aclrtMbuf buf;
    aclError code = aclrtAllocBuf(&buf, size);
    printf("%d", code);
    if (code == ACL_SUCCESS && size <= 65536) {
        unsigned char *data;
        size_t length;
        int dirty = 0;
        aclrtGetBufData(buf, (void **)&data, &length);
        memset(data, 255, length);
        aclrtFreeBuf(buf);
        aclrtAllocBuf(&buf, size);
        aclrtGetBufData(buf, (void **)&data, &length);
        for (size_t i = 0; i < length; i++) {
            dirty |= data[i];
        }
        printf(" %s", dirty ? "dirty" : "clean");
    }
    if (code == ACL_SUCCESS) {
        aclrtFreeBuf(buf);
    }
    for (int i = 0; count > 2 && i < atoi(arguments[2]); i++) {
        aclrtAllocBuf(&buf, 64);
    }
    return 0;
}
"#;

fn program() -> PathBuf {
    let (source, out) = (folder().join("environment.c"), folder().join("environment"));
    static BUILD: std::sync::Once = std::sync::Once::new();
    BUILD.call_once(|| {
        fs::write(&source, PROGRAM).unwrap();
        succeed(
            Command::new(compiler())
                .arg("-I")
                .arg(folder().join("include"))
                .arg("-o")
                .arg(&out)
                .arg(&source)
                .arg("-L")
                .arg(folder().join("lib"))
                .arg("-lmbuf"),
        );
    });
    out
}

fn with(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = command(program());
    succeed(command.args(arguments).envs(variables.iter().copied()))
}

fn printed(output: &Output) -> (&str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn with_nothing_set_a_buffer_of_4_gib_can_be_had() {
    if !library() {
        return;
    }
    let output = with(&[], &["4294967296"]);
    assert_eq!(printed(&output), ("0", ""));
}

#[test]
fn the_capacity_is_what_is_set() {
    if !library() {
        return;
    }
    for capacity in ["8388608", "8192K", "8M"] {
        let variables = [("MBUF_CAPACITY", capacity)];
        assert_eq!(printed(&with(&variables, &["8000000"])), ("0", ""));
        assert_eq!(printed(&with(&variables, &["9000000"])), ("207001", ""));
    }
    let variables = [("MBUF_CAPACITY", "9G"), ("MBUF_HUGE_PAGES", "transparent")];
    assert_eq!(printed(&with(&variables, &["4294967296"])), ("0", ""));
}

#[test]
fn a_malformed_value_is_reported_once_and_the_default_taken() {
    if !library() {
        return;
    }
    for value in [
        "",
        "lots",
        "0",
        "-1",
        "8m",
        "1.5G",
        "300G",
        "99999999999999999999",
    ] {
        let output = with(&[("MBUF_CAPACITY", value)], &["4294967296", "3"]);
        let (code, report) = printed(&output);
        assert_eq!(code, "0", "{value:?}");
        assert_eq!(report.lines().count(), 1, "{value:?}: {report}");
        assert!(report.contains("MBUF_CAPACITY"), "{report}");
    }
    for name in ["MBUF_HUGE_PAGES", "MBUF_STATS", "MBUF_ZERO"] {
        let output = with(&[(name, "perhaps")], &["64"]);
        let (code, report) = printed(&output);
        assert_eq!(code, "0 dirty");
        assert_eq!(report.lines().count(), 1, "{report}");
        assert!(
            report.contains(name) && report.contains("perhaps"),
            "{report}"
        );
    }
}

/// This machine may have huge pages reserved or not.
#[test]
fn explicit_huge_pages_are_used_or_done_without() {
    if !library() {
        return;
    }
    let variables = [("MBUF_HUGE_PAGES", "explicit"), ("MBUF_CAPACITY", "64M")];
    let output = with(&variables, &["64"]);
    let (code, report) = printed(&output);
    assert_eq!(code, "0 dirty");
    assert!(report.lines().count() <= 1, "{report}");
}

#[test]
fn data_is_cleared_where_that_is_asked_for() {
    if !library() {
        return;
    }
    for size in ["1", "64", "2048", "65536"] {
        assert_eq!(printed(&with(&[], &[size])), ("0 dirty", ""));
        assert_eq!(
            printed(&with(&[("MBUF_ZERO", "1")], &[size])),
            ("0 clean", "")
        );
        assert_eq!(
            printed(&with(&[("MBUF_ZERO", "0")], &[size])),
            ("0 dirty", "")
        );
    }
}

#[test]
fn leaks_are_counted_at_exit() {
    if !library() {
        return;
    }
    for leaks in ["0", "1", "7"] {
        let output = with(&[("MBUF_STATS", "1")], &["64", leaks]);
        let (_, report) = printed(&output);
        assert!(
            report.contains(&format!("leaks: {leaks} blocks in use")),
            "{report}"
        );
        assert!(report.lines().count() > 3, "a table: {report}");
    }
    assert_eq!(printed(&with(&[("MBUF_STATS", "0")], &["64", "1"])).1, "");
}

/// Without address space for the pool the first call fails, and says that there is no memory.
#[test]
fn no_address_space_is_no_memory() {
    if !library() {
        return;
    }
    let mut shell = command("sh");
    let script = format!("ulimit -v 2000000; exec {} 64", program().display());
    let output = succeed(shell.args(["-c", &script]));
    assert_eq!(printed(&output).0, "207001");
}
