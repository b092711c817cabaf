//! The pipeline example, run as a user runs it, on captures of many shapes.

mod captures;

use captures::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The example that a plain `cargo test` built beside this test. `--test pipeline` and `--all-targets` build none that
/// can be run; only CI must not pass over that.
fn example() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let example = profile.join("examples").join("pipeline");
    if example.is_file() {
        return Some(example);
    }
    let missing = format!("there is no {}", example.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("skipped: {missing}");
    None
}

/// The example and a folder of the test's own.
struct Bench {
    example: PathBuf,
    folder: PathBuf,
}

impl Bench {
    fn new(test: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pipeline-{test}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Some(Self {
            example: example()?,
            folder,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.example);
        command
            .current_dir(&self.folder)
            .env("TMPDIR", &self.folder)
            .stdin(Stdio::null());
        command
    }

    /// Runs the example on a capture; what it wrote comes back too.
    fn run(&self, capture: &[u8], more: &[&str]) -> (Output, Vec<u8>) {
        let capture = self.write("capture", capture);
        let written = self.path("written");
        let _ = fs::remove_file(&written);
        let output = self
            .command()
            .arg(capture)
            .arg("--out")
            .arg(&written)
            .args(more)
            .output()
            .unwrap();
        (output, fs::read(written).unwrap_or_default())
    }

    /// A run that must be a success.
    fn succeed(&self, capture: &[u8], more: &[&str]) -> Vec<u8> {
        let (output, written) = self.run(capture, more);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        assert_report(&output);
        written
    }

    /// A run that must fail, with a report, in one line that has these words.
    fn fail(&self, capture: &[u8], words: &str) -> Vec<u8> {
        let (output, written) = self.run(capture, &[]);
        assert_complaint(&output, 1, words);
        assert_report(&output);
        written
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn assert_report(output: &Output) {
    let report = String::from_utf8_lossy(&output.stdout);
    for part in [
        "packets/s",
        "p99.99",
        "copy-ref",
        "end to end",
        "mbufs in use:    0",
    ] {
        assert!(report.contains(part), "no {part} in {report}");
    }
}

fn assert_complaint(output: &Output, status: i32, words: &str) {
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(line.contains(words), "no {words} in {line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.ends_with('\n'));
}

#[test]
fn a_classic_pcap_is_written_byte_for_byte() {
    let Some(bench) = Bench::new("classic") else {
        return;
    };
    for order in Order::BOTH {
        for magic in [MICROSECONDS, NANOSECONDS] {
            let capture = classic(order, magic);
            assert!(
                bench.succeed(&capture, &[]) == capture,
                "{order:?} {magic:#x}"
            );
        }
    }
}

#[test]
fn a_modified_pcap_is_written_byte_for_byte() {
    let Some(bench) = Bench::new("modified") else {
        return;
    };
    let mut capture = classic_header(Order::Little, MODIFIED);
    for size in [0, 60, 9000] {
        let record = classic_record(Order::Little, [1, 2, size as u32], &frame(size));
        let (header, data) = record.split_at(16);
        capture.extend([header, &[1, 2, 3, 4, 5, 6, 7, 8], data].concat());
    }
    assert!(bench.succeed(&capture, &[]) == capture);
}

#[test]
fn an_empty_capture_is_a_capture() {
    let Some(bench) = Bench::new("empty") else {
        return;
    };
    for order in Order::BOTH {
        let capture = classic_header(order, MICROSECONDS);
        assert_eq!(bench.succeed(&capture, &["--repeat", "3"]), capture);
        let capture = section(order, u32::MAX);
        assert_eq!(bench.succeed(&capture, &["--repeat", "3"]), capture);
    }
}

#[test]
fn a_pcapng_keeps_its_packets() {
    let Some(bench) = Bench::new("ng") else {
        return;
    };
    for order in Order::BOTH {
        let capture = ng_section(order);
        assert_eq!(packets(&capture).len(), 2 * SIZES.len());
        assert!(bench.succeed(&capture, &[]) == capture, "{order:?}");
    }
    let capture = [
        ng_section(Order::Big),
        ng_section(Order::Little),
        section(Order::Big, u32::MAX),
    ];
    assert!(bench.succeed(&capture.concat(), &[]) == capture.concat());
}

#[test]
fn a_pcapng_with_rare_blocks_keeps_its_packets() {
    let Some(bench) = Bench::new("rare") else {
        return;
    };
    for order in Order::BOTH {
        let mut capture = section(order, 4096);
        capture.extend(interface(order, 1, 40, 6));
        capture.extend(block(order, 0x4000_0bad, &[1, 2, 3, 4, 5]));
        capture.extend(block(
            order,
            3,
            &[order.word(61).as_slice(), &frame(40)].concat(),
        ));
        capture.extend(block(
            order,
            3,
            &[order.word(7).as_slice(), &frame(7)].concat(),
        ));
        let mut obsolete = [order.half(0), order.half(9)].concat();
        obsolete.extend(order.words(&[5, 6, 50, 70]));
        capture.extend(block(order, 2, &[obsolete, frame(50)].concat()));
        capture.extend(block(order, 0x0777_0777, &[6; 13]));
        let comment = [order.half(1), order.half(4), *b"oh", *b"my", [0; 2], [0; 2]].concat();
        let fields = order.words(&[0, 8, 9, 4, 64]);
        capture.extend(block(
            order,
            6,
            &[fields, vec![1, 2, 3, 4], comment].concat(),
        ));

        let written = bench.succeed(&capture, &["--repeat", "2"]);
        assert_eq!(packets(&written), packets(&capture), "{order:?}");
        assert_eq!(packets(&written).len(), 4);
    }
}

#[test]
fn flows_are_told_apart_and_timed_by_their_interfaces() {
    let Some(bench) = Bench::new("flows") else {
        return;
    };
    let cooked = |ether_type: u16, payload: &[u8]| {
        [&[0; 14], ether_type.to_be_bytes().as_slice(), payload].concat()
    };
    let ip_packet = &frame(60)[14..];
    for order in Order::BOTH {
        let mut capture = section(order, u32::MAX);
        capture.extend(interface(order, 1, 0, 0x80 | 10));
        capture.extend(interface(order, 113, 0, 3));
        capture.extend(interface(order, 147, 0, 6));
        for (interface, time, data) in [
            (0, 1024, frame(60)),
            (0, 3 * 1024 + 512, frame(60)),
            (1, 7_000, cooked(0x0800, ip_packet)),
            (1, 0, cooked(0x0806, &[0; 28])),
            (1, 1, cooked(0x0806, &[0; 28])),
            (2, 0, vec![1, 2, 3]),
            (0, 0, cooked(0, &[])[..5].to_vec()),
            (0, 0, cooked(0, &[0x88, 0xcc])[4..].to_vec()),
        ] {
            let original = data.len() as u32;
            capture.extend(enhanced(order, interface, time, original, &data));
        }
        let (output, _) = bench.run(&capture, &["--repeat", "2"]);
        assert!(output.status.success(), "{output:?}");
        let report = String::from_utf8_lossy(&output.stdout);
        for (flow, sums) in [
            (
                "udp 10.0.0.1:12345 -> 10.0.0.2:53",
                ["182", "3", "6.000000"],
            ),
            ("arp", ["88", "2", "0.001000"]),
            ("link type 147", ["3", "1", "0.000000"]),
            ("link type 1", ["5", "1", "0.000000"]),
            ("ethertype 0x88cc", ["14", "1", "0.000000"]),
        ] {
            let line = report
                .lines()
                .find(|line| line.ends_with(&format!("  {flow}")));
            let line = line.unwrap_or_else(|| panic!("no {flow} in {report}"));
            let words: Vec<_> = line.split_whitespace().take(3).collect();
            assert_eq!(words, sums, "{flow}");
        }
    }
}

#[test]
fn every_pass_is_compared_and_one_is_written() {
    let Some(bench) = Bench::new("repeat") else {
        return;
    };
    let capture = classic(Order::Big, NANOSECONDS);
    assert!(bench.succeed(&capture, &["--repeat", "4"]) == capture);
    let capture = ng_section(Order::Little);
    assert!(bench.succeed(&capture, &["--repeat", "4"]) == capture);
}

#[test]
fn what_comes_before_a_cut_is_written() {
    let Some(bench) = Bench::new("cut") else {
        return;
    };
    let whole = classic(Order::Big, MICROSECONDS);
    let first_three = 24 + 3 * 16 + SIZES[..3].iter().sum::<usize>();
    for (cut, kept) in [
        (first_three + 1, first_three),
        (first_three + 15, first_three),
        (first_three + 16, first_three),
        (first_three + 16 + SIZES[3] - 1, first_three),
        (first_three - 1, first_three - SIZES[2] - 16),
        (25, 24),
    ] {
        let written = bench.fail(&whole[..cut], "cut short");
        assert!(written == whole[..kept], "cut at {cut}");
    }

    let whole = ng_section(Order::Little);
    let head = section(Order::Little, 0).len() + 2 * interface(Order::Little, 1, 0, 9).len();
    for cut in [head + 1, head + 11, head + 12, head + 31] {
        let written = bench.fail(&whole[..cut], "cut short");
        assert!(written == whole[..head], "cut at {cut}");
    }
    let written = bench.fail(&whole[..whole.len() - 1], "cut short");
    assert_eq!(packets(&written).len(), 2 * SIZES.len() - 1);
}

#[test]
fn a_length_that_lies_is_a_cut() {
    let Some(bench) = Bench::new("lies") else {
        return;
    };
    for order in Order::BOTH {
        let header = classic_header(order, MICROSECONDS);
        let liar = order.words(&[1, 2, u32::MAX, u32::MAX]);
        assert_eq!(
            bench.fail(&[header.clone(), liar].concat(), "cut short"),
            header
        );

        let header = section(order, u32::MAX);
        let liar = order.words(&[6, 0xffff_fffc, 0, 0]);
        assert_eq!(
            bench.fail(&[header.clone(), liar].concat(), "cut short"),
            header
        );
    }
}

#[test]
fn a_damaged_block_ends_the_capture() {
    let Some(bench) = Bench::new("damaged") else {
        return;
    };
    for order in Order::BOTH {
        let mut good = section(order, u32::MAX);
        good.extend(interface(order, 1, 0, 6));
        good.extend(enhanced(order, 0, 1, 4, &[1, 2, 3, 4]));
        let mut lengths_differ = enhanced(order, 0, 2, 4, &[1, 2, 3, 4]);
        *lengths_differ.last_mut().unwrap() ^= 4;
        let data_past_the_end = block(order, 6, &order.words(&[0, 0, 0, 400, 400]));
        let no_such_interface = enhanced(order, 7, 3, 4, &[1, 2, 3, 4]);
        let no_length = order.words(&[6, 0, 0, 0]);
        for bad in [
            lengths_differ,
            data_past_the_end,
            no_such_interface,
            no_length,
        ] {
            let capture = [good.clone(), bad, good.clone()].concat();
            assert_eq!(bench.fail(&capture, "damaged"), good, "{order:?}");
        }
    }
}

#[test]
fn what_is_no_capture_is_refused_in_a_line() {
    let Some(bench) = Bench::new("foreign") else {
        return;
    };
    let cut_header = &classic_header(Order::Little, MICROSECONDS)[..23];
    for (bytes, words) in [
        (b"".as_slice(), "neither"),
        (b"abc", "neither"),
        (b"\x7fELF\x02\x01\x01\0 and so on, for a while", "neither"),
        (cut_header, "cut short"),
        (&section(Order::Big, u32::MAX)[..27], "cut short"),
    ] {
        let (output, written) = bench.run(bytes, &[]);
        assert_complaint(&output, 1, words);
        assert!(written.is_empty());
    }
    let missing = bench.command().arg(bench.path("missing")).output().unwrap();
    assert_complaint(&missing, 1, "missing': ");
    let folder = bench.command().arg(&bench.folder).output().unwrap();
    assert_complaint(&folder, 1, "not a regular file");
}

#[test]
fn the_capture_is_not_written_over() {
    let Some(bench) = Bench::new("over") else {
        return;
    };
    let capture = classic(Order::Little, MICROSECONDS);
    let path = bench.write("capture", &capture);
    let link = bench.path("link");
    fs::hard_link(&path, &link).unwrap();
    for out in [&path, &link] {
        let output = bench
            .command()
            .arg(&path)
            .arg("--out")
            .arg(out)
            .output()
            .unwrap();
        assert_complaint(&output, 1, "the capture to be read");
        assert!(fs::read(&path).unwrap() == capture);
    }
    let nowhere = bench.path("no/such/folder/out");
    let output = bench
        .command()
        .arg(&path)
        .arg("--out")
        .arg(nowhere)
        .output()
        .unwrap();
    assert_complaint(&output, 1, "no/such/folder/out': ");
}

#[test]
fn the_bundled_capture_runs_anywhere_and_leaves_nothing() {
    let Some(bench) = Bench::new("bundled") else {
        return;
    };
    let output = bench.command().args(["--repeat", "3"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_report(&output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("tcp 127.0.0.1:80 ->"));
    assert_eq!(fs::read_dir(&bench.folder).unwrap().count(), 0);
}

#[test]
fn a_wrong_command_line_is_refused_in_a_line() {
    let Some(bench) = Bench::new("usage") else {
        return;
    };
    for (args, words) in [
        (["--repeat", "0"], "1 upward"),
        (["--repeat", "many"], "1 upward"),
        (["one", "two"], "two"),
        (["--nonsense", "3"], "--nonsense"),
        (["capture", "--out"], "--out"),
    ] {
        assert_complaint(&bench.command().args(args).output().unwrap(), 2, words);
    }
    let help = bench.command().arg("--help").output().unwrap();
    assert!(help.status.success() && help.stdout.starts_with(b"Reads a packet capture"));
}

#[test]
fn a_closed_standard_output_is_no_failure() {
    let Some(bench) = Bench::new("pipe") else {
        return;
    };
    let capture = bench.write("capture", &classic(Order::Little, MICROSECONDS));
    let mut child = bench
        .command()
        .arg(capture)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
