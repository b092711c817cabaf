//! A window that moves over a file.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};

use super::Fault;

const WINDOW: usize = 256 * 1024;

/// A file with some of its bytes in memory.
pub(super) struct Source {
    file: File,
    buffer: Vec<u8>,
    /// What is not taken yet is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// How many bytes were taken.
    position: u64,
}

impl Source {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            buffer: vec![0; WINDOW],
            start: 0,
            end: 0,
            position: 0,
        }
    }

    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        (self.start, self.end, self.position) = (0, 0, 0);
        Ok(())
    }

    /// How many bytes were taken.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The bytes that are in memory and not taken.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Brings `wanted` bytes into memory; false if the file ends before.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.data().len() >= wanted {
            return Ok(true);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < wanted {
            if self.end == self.buffer.len() {
                // By doubling, not up to `wanted` at once: the length may be a lie, and then the file ends first.
                self.buffer.resize(wanted.min(2 * self.buffer.len()), 0);
            }
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(true)
    }

    /// Like [`fill`](Self::fill), and an end before that is a fault.
    pub(super) fn require(&mut self, wanted: usize) -> Result<(), Fault> {
        if self.fill(wanted)? {
            return Ok(());
        }
        let left = self.data().len() as u64;
        Err(Fault::CutShort {
            at: self.position,
            wanted: wanted as u64,
            left,
        })
    }

    /// Takes the next `count` bytes, which must be in memory.
    pub(super) fn take(&mut self, count: usize) -> &mut [u8] {
        let taken = self.start..self.start + count;
        self.start = taken.end;
        self.position += count as u64;
        &mut self.buffer[taken]
    }
}
