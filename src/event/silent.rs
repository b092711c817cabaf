//! The events of a build that tells none. What each is for is said in `told.rs`.

use crate::class::{Class, Classes};

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
    pub(crate) fn tell(self, _: u64, _: &Classes) {}
}

#[inline(always)]
pub(crate) fn exhausted(_: u64, _: Class, _: u64) {}

#[inline(always)]
pub(crate) fn span_given_back(_: u64, _: u32) {}

#[inline(always)]
pub(crate) fn trimmed(_: u64, _: u64) {}

#[inline(always)]
pub(crate) fn pool_built(_: u64, _: u64, _: u64, _: u64) {}

#[inline(always)]
pub(crate) fn pool_ended(_: u64) {}

#[inline(always)]
pub(crate) fn end_thread() {}
