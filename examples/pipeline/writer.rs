//! The third thread: writes the capture again.

use std::fs::File;
use std::time::Instant;

use mbuf::Mbuf;
use rtrb::Consumer;

use crate::capture::RecordKind;
use crate::encode::Frame;
use crate::label::Label;
use crate::latency::{Latencies, Operation};
use crate::output::{Output, Problem};
use crate::ring;

/// What the writer did.
pub(crate) struct Written {
    /// The written file, standing at its begin.
    pub(crate) file: Result<File, Problem>,
    pub(crate) latencies: Latencies,
}

/// Writes packets until the reader is done, or until it cannot write on.
pub(crate) fn run(packets: Consumer<Mbuf>, output: Output, started: Instant) -> Written {
    let mut latencies = Latencies::new();
    let file = write_all(packets, output, started, &mut latencies);
    Written { file, latencies }
}

fn write_all(
    mut packets: Consumer<Mbuf>,
    mut output: Output,
    started: Instant,
    latencies: &mut Latencies,
) -> Result<File, Problem> {
    let mut frame = Frame::default();
    while let Some(packet) = ring::receive(&mut packets) {
        let label = Label::of(&packet);
        if label.begins_pass {
            output = output.begin_pass()?;
        }
        write(&packet, &label, &mut frame, &mut output)?;
        latencies.time_nothing();
        latencies.time(Operation::Free, || drop(packet));
        if label.record.kind != RecordKind::Verbatim {
            let now = started.elapsed().as_nanos() as u64;
            latencies.note(Operation::EndToEnd, now - label.entered);
        }
    }
    output.finish()
}

fn write(
    packet: &Mbuf,
    label: &Label,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), Problem> {
    frame.set(&label.record, packet.total_len() as u32);
    output.put(&frame.head)?;
    for segment in packet.segments() {
        output.put(segment.data())?;
    }
    output.put(&frame.tail)
}
