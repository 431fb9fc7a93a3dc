//! libFuzzer's entry to [`tests::fuzz::parse`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::parse::run(data));
