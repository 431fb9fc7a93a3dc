//! libFuzzer's entry to [`tests::fuzz::buffer_ops`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::buffer_ops::run(data));
