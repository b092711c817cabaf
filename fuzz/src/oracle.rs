//! The model of `tests/oracle`, and its operations.

#[path = "../../tests/oracle/acts.rs"]
pub(crate) mod acts;
#[path = "../../tests/oracle/chains.rs"]
pub(crate) mod chains;
#[path = "../../tests/oracle/model.rs"]
pub(crate) mod model;
#[path = "../../tests/oracle/ops.rs"]
pub(crate) mod ops;
#[path = "../../tests/oracle/owners.rs"]
pub(crate) mod owners;
#[path = "../../tests/oracle/world.rs"]
pub(crate) mod world;
