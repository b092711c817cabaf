//! Contenders entered for workloads. Here is the one dynamic dispatch, once in a round.

use crate::case::Case;
use crate::contender::{Bulk, Chaining, Contender, Sharing};
use crate::near::Distance;
use crate::workloads::{chain, check, fan_out, growth, latency, pipe, sharing, single, threads};
use hdrhistogram::Histogram;

/// What a round found.
pub(crate) struct Sample {
    /// For each unit.
    pub(crate) nanos: f64,
    /// Of rounds with two threads.
    pub(crate) distance: Option<Distance>,
    /// What two threads did against twice what one did.
    pub(crate) efficiency: Option<f64>,
    /// In ticks.
    pub(crate) latency: Option<Histogram<u64>>,
    /// The system took a core away meanwhile.
    pub(crate) is_disturbed: bool,
}

impl Sample {
    pub(crate) fn new(nanos: f64) -> Self {
        Self {
            nanos,
            distance: None,
            efficiency: None,
            latency: None,
            is_disturbed: false,
        }
    }

    pub(crate) fn at(self, distance: Distance, is_disturbed: bool) -> Self {
        Self {
            distance: Some(distance),
            is_disturbed,
            ..self
        }
    }
}

/// Measures so many units.
type Round<C> = fn(&C, u64) -> Sample;

/// Writes and reads back what the contender hands out, in ways that it can.
type Check<C> = fn(&C);

/// A contender that may be asked what it can do, and made ready for it.
pub(crate) trait Entrant {
    fn name(&self) -> &'static str;

    /// The package that its version is to be looked up by; empty for none.
    fn package(&self) -> &'static str;

    /// A contender warm for the workload, or why there is none.
    fn prepare(&self, case: Case) -> Result<Box<dyn Ready>, String>;
}

/// A contender made for one workload.
pub(crate) trait Ready {
    fn round(&self, units: u64) -> Sample;

    /// Panics if data written is not what is read.
    #[cfg_attr(not(test), allow(dead_code))]
    fn check(&self);
}

pub(crate) struct Entry<C> {
    name: &'static str,
    package: &'static str,
    bulk: Option<Round<C>>,
    bursts: Round<C>,
    copy_ref: Option<Round<C>>,
    fan_out: Option<Round<C>>,
    chain: Option<Round<C>>,
    checks: Vec<Check<C>>,
    without: &'static [Case],
    reason: &'static str,
}

impl<C: Contender + 'static> Entry<C> {
    pub(crate) fn new(name: &'static str, package: &'static str) -> Self {
        Self {
            name,
            package,
            bulk: None,
            bursts: pipe::bursts::<C, pipe::Singly>,
            copy_ref: None,
            fan_out: None,
            chain: None,
            checks: vec![check::buffers],
            without: &[],
            reason: "",
        }
    }

    pub(crate) fn bulk(mut self) -> Self
    where
        C: Bulk,
    {
        self.bulk = Some(single::bulk);
        self.bursts = pipe::bursts::<C, pipe::InBulk>;
        self.checks.push(check::bulk);
        self
    }

    pub(crate) fn sharing(mut self) -> Self
    where
        C: Sharing,
    {
        self.copy_ref = Some(sharing::copy_ref);
        self.fan_out = Some(fan_out::round);
        self.checks.push(check::sharing);
        self
    }

    pub(crate) fn chaining(mut self) -> Self
    where
        C: Chaining,
    {
        self.chain = Some(chain::round);
        self.checks.push(check::chaining);
        self
    }

    /// Not for these workloads, for a reason that the table gives.
    pub(crate) fn without(mut self, cases: &'static [Case], reason: &'static str) -> Self {
        (self.without, self.reason) = (cases, reason);
        self
    }

    pub(crate) fn done(self) -> Box<dyn Entrant> {
        Box::new(self)
    }

    fn round_of(&self, case: Case) -> Result<Round<C>, &'static str> {
        if self.without.contains(&case) {
            return Err(self.reason);
        }
        const NO_COPIES: &str = "its buffers have no counted references";
        Ok(match case {
            Case::Hot => single::hot,
            Case::HotUnknown => single::hot_unknown,
            Case::Batch => single::batch,
            Case::BatchBulk => self.bulk.ok_or("it has no bulk calls")?,
            Case::Shuffled => single::shuffled,
            Case::Mixed => single::mixed,
            Case::Pipe => pipe::one_by_one,
            Case::PipeBursts => self.bursts,
            Case::CopyRef => self.copy_ref.ok_or(NO_COPIES)?,
            Case::Chain => self.chain.ok_or("nothing in its buffers links them")?,
            Case::TwoThreads => threads::two,
            Case::Latency => latency::round,
            Case::FanOut => self.fan_out.ok_or(NO_COPIES)?,
            Case::ComeAndGo => threads::come_and_go,
            Case::Live(1_000) => growth::live::<C, 1_000>,
            Case::Live(10_000) => growth::live::<C, 10_000>,
            Case::Live(100_000) => growth::live::<C, 100_000>,
            Case::Live(1_000_000) => growth::live::<C, 1_000_000>,
            Case::Live(_) => growth::live::<C, 10_000_000>,
            Case::Threads(1) => growth::threads::<C, 1>,
            Case::Threads(2) => growth::threads::<C, 2>,
            Case::Threads(4) => growth::threads::<C, 4>,
            Case::Threads(_) => growth::threads::<C, 8>,
        })
    }
}

struct Made<C> {
    contender: C,
    round: Round<C>,
    checks: Vec<Check<C>>,
}

impl<C: Contender + 'static> Entrant for Entry<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn package(&self) -> &'static str {
        self.package
    }

    fn prepare(&self, case: Case) -> Result<Box<dyn Ready>, String> {
        let round = self.round_of(case)?;
        let contender = C::new(case.need())?;
        Ok(Box::new(Made {
            contender,
            round,
            checks: self.checks.clone(),
        }))
    }
}

impl<C: Contender> Ready for Made<C> {
    fn round(&self, units: u64) -> Sample {
        (self.round)(&self.contender, units)
    }

    fn check(&self) {
        for check in &self.checks {
            check(&self.contender);
        }
    }
}

/// A contender that is not in this build.
#[cfg(not(have_dpdk))]
pub(crate) struct Missing {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
}

#[cfg(not(have_dpdk))]
impl Entrant for Missing {
    fn name(&self) -> &'static str {
        self.name
    }

    fn package(&self) -> &'static str {
        ""
    }

    fn prepare(&self, _: Case) -> Result<Box<dyn Ready>, String> {
        Err(self.reason.into())
    }
}
