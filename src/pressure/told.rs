//! Who is told that a pool runs low, and that it has recovered.

use std::fmt;
use std::sync::Arc;

type Call = Arc<dyn Fn() + Send + Sync>;

/// What to call; nothing at first.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) low: Option<Call>,
    pub(crate) recovered: Option<Call>,
}

impl Told {
    /// Calls who wants to know that the pool is low, or that it is not any more.
    pub(crate) fn tell(&self, is_low: bool) {
        let call = if is_low { &self.low } else { &self.recovered };
        if let Some(call) = call {
            super::call(|| call());
        }
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("low", &self.low.is_some())
            .field("recovered", &self.recovered.is_some())
            .finish()
    }
}
