//! What is printed at the end.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use mbuf::Stats;

use crate::accountant::{Accounts, Flow};
use crate::latency::{Latencies, Operation};
use crate::reader::Counts;

const TOP_FLOWS: usize = 10;
const PERCENTILES: [(&str, f64); 5] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

/// All that there is to report.
pub(crate) struct Report<'a> {
    pub(crate) capture: &'a Path,
    pub(crate) counts: Counts,
    pub(crate) took: Duration,
    pub(crate) waits_for_mbufs: u64,
    pub(crate) waits_for_room: u64,
    pub(crate) latencies: &'a Latencies,
    pub(crate) accounts: &'a Accounts,
    pub(crate) stats: &'a Stats,
    /// What became of the written capture, in words.
    pub(crate) written: &'a dyn Display,
}

impl Report<'_> {
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_rates(out)?;
        self.print_latencies(out)?;
        self.print_flows(out)?;
        writeln!(out, "\nPool\n{}", self.stats)?;
        writeln!(out, "written capture: {}", self.written)?;
        writeln!(out, "mbufs in use:    {}", self.stats.in_use)?;
        out.flush()
    }

    fn print_rates(&self, out: &mut impl Write) -> io::Result<()> {
        let Counts {
            passes,
            packets,
            bytes,
        } = self.counts;
        let seconds = self.took.as_secs_f64().max(f64::MIN_POSITIVE);
        writeln!(out, "capture:    {}", self.capture.display())?;
        writeln!(
            out,
            "throughput: {} packets and {} bytes in {seconds:.3} s ({} of the capture)",
            Grouped(packets),
            Grouped(bytes),
            Counted(passes, "pass", "passes"),
        )?;
        writeln!(
            out,
            "            {} packets/s, {} bytes/s",
            Grouped((packets as f64 / seconds) as u64),
            Grouped((bytes as f64 / seconds) as u64),
        )?;
        writeln!(
            out,
            "waits:      {} for an mbuf, {} for room in a ring",
            Grouped(self.waits_for_mbufs),
            Grouped(self.waits_for_room),
        )
    }

    fn print_latencies(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "\n{:<16} {:>12}", "Latency in ns", "count")?;
        for (name, _) in PERCENTILES {
            write!(out, " {name:>10}")?;
        }
        writeln!(out, " {:>12}", "max")?;
        for operation in Operation::ALL {
            let histogram = self.latencies.of(operation);
            write!(
                out,
                "{:<16} {:>12}",
                operation.name(),
                Grouped(histogram.len())
            )?;
            for (_, percentile) in PERCENTILES {
                write!(
                    out,
                    " {:>10}",
                    Grouped(histogram.value_at_percentile(percentile))
                )?;
            }
            writeln!(out, " {:>12}", Grouped(histogram.max()))?;
        }
        Ok(())
    }

    fn print_flows(&self, out: &mut impl Write) -> io::Result<()> {
        let flows = self.accounts.flow_count();
        writeln!(
            out,
            "\n{:>14} {:>10} {:>12}  Flow, of {} in all",
            "Bytes",
            "packets",
            "seconds",
            Grouped(flows as u64)
        )?;
        for (key, flow) in self.accounts.largest(TOP_FLOWS) {
            // Every pass adds the same once more.
            let Flow {
                packets,
                bytes,
                first,
                last,
            } = flow;
            let [packets, bytes] = [packets, bytes].map(|sum| Grouped(sum / self.counts.passes));
            let seconds = last.saturating_sub(first) as f64 / 1e9;
            writeln!(out, "{bytes:>14} {packets:>10} {seconds:>12.6}  {key}")?;
        }
        Ok(())
    }
}

/// A number with its thousands apart.
struct Grouped(u64);

impl Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(' ');
            }
            grouped.push(digit);
        }
        f.pad(&grouped)
    }
}

/// A number of things.
struct Counted(u64, &'static str, &'static str);

impl Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, one, many) = *self;
        write!(
            f,
            "{} {}",
            Grouped(count),
            if count == 1 { one } else { many }
        )
    }
}
