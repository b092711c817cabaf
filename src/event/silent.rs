//! The events of a build that tells none. What each is for is said in `told.rs`.

use crate::class::{Class, Classes};
use crate::registry::PoolId;

/// Nothing.
#[derive(Debug)]
pub(crate) struct Notes;

impl Notes {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn slabs_taken(&mut self, _: Class, _: u64) {}

    #[inline(always)]
    pub(crate) fn slab_given_back(&mut self, _: Class) {}

    #[inline(always)]
    pub(crate) fn spare_stolen(&mut self, _: Class) {}

    #[inline(always)]
    pub(crate) fn tell(self, _: PoolId, _: &Classes) {}
}

#[inline(always)]
pub(crate) fn exhausted(_: PoolId, _: Class, _: u64) {}

#[inline(always)]
pub(crate) fn span_given_back(_: PoolId, _: u32) {}

#[inline(always)]
pub(crate) fn trimmed(_: PoolId, _: u64) {}

#[inline(always)]
pub(crate) fn pool_built(_: PoolId, _: u64, _: u64, _: u64) {}

#[inline(always)]
pub(crate) fn pool_ended(_: PoolId) {}

#[inline(always)]
pub(crate) fn end_thread() {}
