//! The written capture: a first pass writes it, every other one is compared with it.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::verify;

const BUFFER: usize = 256 * 1024;

/// Why the capture was not written, or not equal to itself.
#[derive(Debug)]
pub(crate) enum Problem {
    Io(io::Error),
    /// A later pass was not what the first one wrote.
    PassDiffers {
        at: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => why.fmt(f),
            Self::PassDiffers { at } => {
                write!(f, "a later pass differs from the first one at byte {at}")
            }
        }
    }
}

impl From<io::Error> for Problem {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

/// The file that the capture is written to.
pub(crate) struct Output {
    stage: Stage,
    position: u64,
}

enum Stage {
    Write(BufWriter<File>),
    Compare(BufReader<File>),
}

/// Opens the file that the user named, unless it is the capture itself.
pub(crate) fn create(path: &Path, capture: &Path) -> io::Result<File> {
    if let Ok(existing) = fs::metadata(path) {
        let read = fs::metadata(capture)?;
        if (existing.dev(), existing.ino()) == (read.dev(), read.ino()) {
            return Err(io::Error::other("it is the capture to be read"));
        }
        if !existing.is_file() {
            return Err(io::Error::other(
                "not a regular file, and what is written is read again",
            ));
        }
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

/// Opens a file that is gone once it is closed, however the program ends.
pub(crate) fn temporary() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let process = std::process::id();
    let mut number = 0;
    loop {
        let path = folder.join(format!("mbuf-pipeline-{process}-{number}"));
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
        {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(why) if why.kind() == ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(why) => return Err(why),
        }
    }
}

impl Output {
    /// An output to an empty file.
    pub(crate) fn new(file: File) -> Self {
        Self {
            stage: Stage::Write(BufWriter::with_capacity(BUFFER, file)),
            position: 0,
        }
    }

    /// A pass begins: the first is written, the next ones are compared with it.
    pub(crate) fn begin_pass(self) -> Result<Self, Problem> {
        if self.position == 0 {
            return Ok(self);
        }
        let mut reader = match self.end_pass()? {
            Stage::Write(writer) => BufReader::with_capacity(BUFFER, into_file(writer)?),
            Stage::Compare(reader) => reader,
        };
        reader.rewind()?;
        Ok(Self {
            stage: Stage::Compare(reader),
            position: 0,
        })
    }

    /// The last pass has ended. The file then stands at its begin.
    pub(crate) fn finish(self) -> Result<File, Problem> {
        let mut file = match self.end_pass()? {
            Stage::Write(writer) => into_file(writer)?,
            Stage::Compare(reader) => reader.into_inner(),
        };
        file.rewind()?;
        Ok(file)
    }

    /// A pass that ends early is not the same as the first one.
    fn end_pass(self) -> Result<Stage, Problem> {
        let mut stage = self.stage;
        if let Stage::Compare(reader) = &mut stage
            && !reader.fill_buf()?.is_empty()
        {
            return Err(Problem::PassDiffers { at: self.position });
        }
        Ok(stage)
    }

    /// The pass goes on with these bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        match &mut self.stage {
            Stage::Write(writer) => writer.write_all(bytes)?,
            Stage::Compare(reader) => {
                if let Some(same) = verify::difference(reader, bytes)? {
                    return Err(Problem::PassDiffers {
                        at: self.position + same,
                    });
                }
            }
        }
        self.position += bytes.len() as u64;
        Ok(())
    }
}

fn into_file(writer: BufWriter<File>) -> io::Result<File> {
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}
