#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| mbuf_fuzz::capture::run(input));
