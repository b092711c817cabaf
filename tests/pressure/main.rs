//! Back-pressure: the reserve, watermarks, and waiting for memory.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

#[path = "../common/mod.rs"]
mod common;
mod reserve;
mod waiting;
mod watermarks;

use std::time::Duration;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
