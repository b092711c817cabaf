//! The second thread: adds up flows.

use std::collections::HashMap;

use mbuf::Mbuf;
use rtrb::Consumer;

use crate::capture::RecordKind;
use crate::flow::FlowKey;
use crate::label::Label;
use crate::latency::{Latencies, Operation};
use crate::ring;

/// The flows of a capture.
pub(crate) struct Accounts {
    flows: HashMap<FlowKey, Flow>,
    pub(crate) latencies: Latencies,
}

/// The sums of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flow {
    pub(crate) packets: u64,
    /// As long as the packets were before the capture cut them.
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970; after `last` if none of the packets has a time.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Flow {
    const EMPTY: Self = Self {
        packets: 0,
        bytes: 0,
        first: u64::MAX,
        last: 0,
    };
}

/// Adds up packets until the reader is done.
pub(crate) fn run(mut packets: Consumer<Mbuf>) -> Accounts {
    let mut accounts = Accounts {
        flows: HashMap::new(),
        latencies: Latencies::new(),
    };
    while let Some(packet) = ring::receive(&mut packets) {
        accounts.add(&packet);
        accounts.latencies.time_nothing();
        accounts.latencies.time(Operation::Free, || drop(packet));
    }
    accounts
}

impl Accounts {
    fn add(&mut self, packet: &Mbuf) {
        let label = Label::of(packet);
        let flow = self.flows.entry(label.flow).or_insert(Flow::EMPTY);
        flow.packets += 1;
        flow.bytes += u64::from(label.record.original_len);
        if label.record.kind != RecordKind::Simple {
            flow.first = flow.first.min(packet.timestamp());
            flow.last = flow.last.max(packet.timestamp());
        }
    }

    pub(crate) fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// The flows with the most bytes.
    pub(crate) fn largest(&self, count: usize) -> Vec<(FlowKey, Flow)> {
        let mut flows: Vec<_> = self.flows.iter().map(|(key, flow)| (*key, *flow)).collect();
        flows.sort_unstable_by_key(|(key, flow)| (std::cmp::Reverse(flow.bytes), *key.as_bytes()));
        flows.truncate(count);
        flows
    }
}
