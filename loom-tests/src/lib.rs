//! Models of the shipped code.
