//! The first thread: takes packets from the capture, puts them into mbufs and fans them out.

use std::time::Instant;

use mbuf::{AllocError, Mbuf, Pool};
use rtrb::Producer;

use crate::capture::{Capture, Fault, Item, Packet, Record};
use crate::flow::FlowKey;
use crate::label::Label;
use crate::latency::Latencies;
use crate::progress::Progress;
use crate::ring;
use crate::supply::Supply;

/// What the reader did.
pub(crate) struct Read {
    pub(crate) counts: Counts,
    /// How far into the capture the last whole item ends.
    pub(crate) end: u64,
    /// What ended the last pass, if it was not the end of the capture.
    pub(crate) stop: Option<Stop>,
    pub(crate) latencies: Latencies,
    pub(crate) waits_for_mbufs: u64,
    pub(crate) waits_for_room: u64,
}

/// What went through.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) passes: u64,
    pub(crate) packets: u64,
    /// Captured bytes of packets.
    pub(crate) bytes: u64,
}

/// Why the reader went no further.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The capture.
    Fault(Fault),
    /// The pool: not even empty does it serve this.
    Pool(AllocError),
    /// A consumer ended before its time; it has its own tale to tell.
    Gone,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<AllocError> for Stop {
    fn from(why: AllocError) -> Self {
        Self::Pool(why)
    }
}

impl From<ring::Gone> for Stop {
    fn from(_: ring::Gone) -> Self {
        Self::Gone
    }
}

/// Reads the capture that many times.
pub(crate) fn run(
    capture: &mut Capture,
    passes: u64,
    pool: &Pool,
    outlets: Outlets,
    progress: Progress,
    started: Instant,
) -> Read {
    let mut reader = Reader {
        supply: Supply::new(pool),
        outlets,
        progress,
        started,
        counts: Counts::default(),
        end: 0,
        waits: 0,
    };
    let stop = reader.passes(capture, passes).err();
    reader.progress.finish();
    Read {
        counts: reader.counts,
        end: reader.end,
        stop,
        latencies: reader.supply.latencies,
        waits_for_mbufs: reader.supply.waits,
        waits_for_room: reader.waits,
    }
}

/// Where packets go.
pub(crate) struct Outlets {
    pub(crate) accountant: Producer<Mbuf>,
    pub(crate) writer: Producer<Mbuf>,
}

struct Reader {
    supply: Supply,
    outlets: Outlets,
    progress: Progress,
    started: Instant,
    counts: Counts,
    end: u64,
    waits: u64,
}

impl Reader {
    fn passes(&mut self, capture: &mut Capture, passes: u64) -> Result<(), Stop> {
        while self.counts.passes < passes {
            if self.counts.passes > 0 {
                capture.rewind()?;
            }
            self.counts.passes += 1;
            self.pass(capture)?;
        }
        Ok(())
    }

    fn pass(&mut self, capture: &mut Capture) -> Result<(), Stop> {
        let mut begins_pass = true;
        while let Some(item) = capture.next_item()? {
            match item {
                Item::Verbatim(bytes) => self.pass_on(bytes, begins_pass)?,
                Item::Packet(packet) => self.fan_out(&packet, begins_pass)?,
            }
            begins_pass = false;
            self.end = capture.position();
            self.progress.packet(capture.position());
        }
        self.progress.pass(capture.position());
        Ok(())
    }

    /// Sends what is no packet to the writer alone.
    fn pass_on(&mut self, bytes: &[u8], begins_pass: bool) -> Result<(), Stop> {
        let mut chain = self.supply.fill(bytes)?;
        Label {
            record: Record::VERBATIM,
            entered: self.now(),
            begins_pass,
            flow: FlowKey::NONE,
        }
        .attach(&mut chain);
        self.waits += u64::from(ring::send(&mut self.outlets.writer, chain)?);
        Ok(())
    }

    fn fan_out(&mut self, packet: &Packet<'_>, begins_pass: bool) -> Result<(), Stop> {
        let entered = self.now();
        self.supply.latencies.time_nothing();
        let mut chain = self.supply.fill(packet.data)?;
        chain.set_timestamp(packet.captured_at);
        let flow = FlowKey::of(packet.link_type, packet.data);
        Label {
            record: packet.record,
            entered,
            begins_pass,
            flow,
        }
        .attach(&mut chain);

        let copy = self.supply.copy_ref(&chain)?;
        self.waits += u64::from(ring::send(&mut self.outlets.accountant, copy)?);
        self.waits += u64::from(ring::send(&mut self.outlets.writer, chain)?);
        self.counts.packets += 1;
        self.counts.bytes += packet.data.len() as u64;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}
