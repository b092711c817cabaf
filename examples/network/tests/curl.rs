//! Both binaries as processes, by `curl`.

mod common;

use common::{Directory, MEBIBYTE, Server, assert_fetched, content, curl, has_curl};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Fetches one file of `len` bytes directly and through the proxy, and says how long each took.
fn fetch(name: &str, len: usize, files_args: &[&str]) {
    let directory = Directory::new(name);
    let file = directory.add("file", len);
    let files = Server::files(directory.path(), files_args);
    let proxy = Server::proxy(files.address, &[]);
    for (by, address) in [
        ("directly", files.address),
        ("through the proxy", proxy.address),
    ] {
        let start = Instant::now();
        assert_fetched(&format!("http://{address}/file"), &file);
        let took = start.elapsed().as_secs_f64();
        println!("{} MiB {by}: {took:.2} s, bit-exact", len / MEBIBYTE);
    }
    println!("proxy: {}files: {}", proxy.stop(), files.stop());
}

#[test]
fn large_files_come_bit_exactly() {
    if has_curl() {
        fetch("read", 64 * MEBIBYTE + 5, &[]);
        fetch("map", 64 * MEBIBYTE + 5, &["--map"]);
    }
}

/// With `MBUF_NETWORK_TESTS=full`.
#[test]
fn a_gibibyte_comes_bit_exactly() {
    if std::env::var_os("MBUF_NETWORK_TESTS").is_none_or(|which| which != "full") {
        eprintln!("skipped: runs with MBUF_NETWORK_TESTS=full");
    } else if has_curl() {
        fetch("gibibyte-read", 1024 * MEBIBYTE, &[]);
        fetch("gibibyte-map", 1024 * MEBIBYTE, &["--map"]);
    }
}

#[test]
fn fifty_connections_share_a_pool_that_is_too_small_for_them() {
    if !has_curl() {
        return;
    }
    let directory = Directory::new("fifty");
    directory.add("file", MEBIBYTE);
    let expected = content(MEBIBYTE);
    // 32 segments for fifty connections.
    let files = Server::files(directory.path(), &["--pool", "1024"]);
    let proxy = Server::proxy(files.address, &["--pool", "1024"]);
    let url = format!("http://{}/file", proxy.address);
    let fetched: Vec<_> = (0..50)
        .map(|_| {
            let mut curl = Command::new("curl");
            let curl = curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*", &url]);
            curl.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for curl in fetched {
        let output = curl.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(output.stdout == expected);
    }
    println!("proxy: {}files: {}", proxy.stop(), files.stop());
}

#[test]
fn parts_heads_and_what_is_not_there() {
    if !has_curl() {
        return;
    }
    let directory = Directory::new("parts");
    let len = 100_000;
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("a b")).unwrap();
    directory.add("root/a b/file", len);
    directory.add("root/empty", 0);
    directory.add("outside", 10);
    std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
    let content = content(len);
    for more in [&[][..], &["--map"]] {
        let files = Server::files(&root, more);
        let url = format!("http://{}/a%20b/file", files.address);
        assert!(curl(&[], &url) == content);
        assert!(curl(&["--range", "70000-70009"], &url) == content[70000..70010]);
        assert!(curl(&["--range", "4097-"], &url) == content[4097..]);
        assert!(curl(&["--range", "-3"], &url) == content[len - 3..]);
        assert_status(
            &["--range", "100000-"],
            &url,
            "416",
            "content-range: bytes */100000",
        );
        assert_status(
            &["--range", "5-8"],
            &url,
            "206",
            "content-range: bytes 5-8/100000",
        );
        assert_status(&[], &url, "200", "content-length: 100000");
        assert_status(&["--data", "x"], &url, "405", "allow: get, head");
        let long = "x".repeat(9000);
        assert_status(&["--user-agent", &long], &url, "431", "connection: close");
        for missing in [
            "none",
            "a%20b",
            "link",
            "../outside",
            "%2e%2e/outside",
            "a%20b/../../outside",
        ] {
            let url = format!("http://{}/{missing}", files.address);
            assert_status(&["--path-as-is"], &url, "404", "content-length: 0");
        }
        assert!(curl(&[], &format!("http://{}/empty", files.address)).is_empty());
        // A head has no body that the next response could be taken for.
        let heads = curl(&["--head", &url], &url);
        let heads = String::from_utf8(heads).unwrap();
        assert_eq!(
            heads.matches("Content-Length: 100000").count(),
            2,
            "{heads}"
        );
        assert_one_connection(&url);
        files.stop();
    }
}

#[track_caller]
fn assert_status(args: &[&str], url: &str, status: &str, field: &str) {
    let args = [args, &["--include", "--output", "-"]].concat();
    let answer = curl(&args, url);
    let head: Vec<u8> = answer.iter().copied().take(400).collect();
    let head = String::from_utf8_lossy(&head).to_lowercase();
    assert!(
        head.starts_with(&format!("http/1.1 {status} ")),
        "{url}: {head}"
    );
    assert!(head.contains(field), "{url}: {head}");
}

/// Three requests by one connection.
#[track_caller]
fn assert_one_connection(url: &str) {
    let discard = Path::new("/dev/null").to_str().unwrap();
    let mut args = vec!["--write-out", "%{num_connects} "];
    for _ in 0..2 {
        args.extend(["--output", discard, url]);
    }
    args.extend(["--output", discard]);
    assert_eq!(curl(&args, url), b"1 0 0 ");
}
