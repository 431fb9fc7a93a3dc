//! libFuzzer's entry to [`tests::fuzz::drivers`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::drivers::run(data));
