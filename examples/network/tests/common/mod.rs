//! What the tests share: files of known content, the binaries as processes, and servers within the test.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use mbuf_network::{Memory, Summary};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const MEBIBYTE: usize = 1 << 20;

/// The byte at `at` of a file, by words: no two places are alike.
fn word(index: u64) -> [u8; 8] {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).to_le_bytes()
}

pub(crate) fn content(len: usize) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).map(word);
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(len);
    bytes
}

/// A directory that is removed at the end, with files of known content.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn add(&self, name: &str, len: usize) -> PathBuf {
        let path = self.0.join(name);
        let mut file = BufWriter::new(File::create(&path).unwrap());
        for index in 0..(len / 8) as u64 {
            file.write_all(&word(index)).unwrap();
        }
        let rest = &word((len / 8) as u64)[..len % 8];
        file.write_all(rest).unwrap();
        file.flush().unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One of the binaries, at work.
pub(crate) struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn proxy(to: SocketAddr, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proxy"));
        Self::start(command.args(["--to", &to.to_string()]).args(more))
    }

    pub(crate) fn files(root: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_files"));
        Self::start(command.arg(root).args(more))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").unwrap();
        Self {
            address: address.parse().unwrap(),
            child,
            out,
        }
    }

    /// Interrupts it, and returns the line that it ends with.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        let mut line = String::new();
        self.out.read_to_string(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert!(line.ends_with(", 0 in use\n"), "{line}");
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is `curl`. Says so if there is not.
pub(crate) fn has_curl() -> bool {
    let found = Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: there is no curl here");
    }
    found
}

/// What `curl` prints with these arguments.
#[track_caller]
pub(crate) fn curl(args: &[&str], url: &str) -> Vec<u8> {
    let mut curl = Command::new("curl");
    let curl = curl.args(["--silent", "--show-error", "--noproxy", "*"]);
    let output = curl.args(args).arg(url).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{url}: {complaint}");
    output.stdout
}

/// Fetches `url` by `curl`, and compares every bit of it with the file at `path`, as it comes.
#[track_caller]
pub(crate) fn assert_fetched(url: &str, path: &Path) {
    let mut curl = Command::new("curl");
    let curl = curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*", url]);
    let mut curl = curl.stdout(Stdio::piped()).spawn().unwrap();
    let mut fetched = curl.stdout.take().unwrap();
    let mut file = File::open(path).unwrap();
    let mut left = file.metadata().unwrap().len();
    let (mut got, mut expected) = (vec![0; MEBIBYTE], vec![0; MEBIBYTE]);
    while left > 0 {
        let part = left.min(MEBIBYTE as u64) as usize;
        fetched.read_exact(&mut got[..part]).unwrap();
        file.read_exact(&mut expected[..part]).unwrap();
        assert!(
            got[..part] == expected[..part],
            "{left} bytes before the end"
        );
        left -= part as u64;
    }
    assert_eq!(fetched.read(&mut got).unwrap(), 0, "nothing follows");
    assert!(curl.wait().unwrap().success());
}

/// A server within the test's own process.
pub(crate) struct Task {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Summary>,
}

impl Task {
    pub(crate) fn start<F>(
        run: impl FnOnce(Box<dyn Future<Output = ()> + Send + Unpin>) -> F,
    ) -> Self
    where
        F: Future<Output = Summary> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let stopped = Box::pin(async move {
            let _ = stopped.await;
        });
        Self {
            stop,
            task: tokio::spawn(run(Box::new(stopped))),
        }
    }

    pub(crate) async fn stop(self) -> Summary {
        self.stop.send(()).unwrap();
        let summary = self.task.await.unwrap();
        println!("{summary}");
        assert_eq!(summary.in_use, 0);
        summary
    }
}

pub(crate) fn memory(capacity: usize) -> Memory {
    let builder = mbuf::Pool::builder().capacity(capacity as u64);
    Memory::of(builder.build().unwrap())
}

/// Waits, for as long as even a busy machine needs.
#[track_caller]
pub(crate) fn eventually(what: &'static str, test: impl Fn() -> bool) -> impl Future<Output = ()> {
    let end = Instant::now() + Duration::from_secs(60);
    async move {
        while !test() {
            assert!(Instant::now() < end, "never {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
