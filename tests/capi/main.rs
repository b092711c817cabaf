//! The C interface as C programs see it: headers, symbols, the programs of `tests/c`, the examples, and programs that are
//! not built for it.
//!
//! Needs `make` and a C compiler, `CC` or `cc`, and says so where there is none. `MBUF_C_TESTS=full` runs the programs with all their
//! rounds, `=valgrind` and `=asan` under these tools.

mod built;
mod environment;
mod headers;
mod programs;
