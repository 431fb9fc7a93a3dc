//! libFuzzer's entry to [`tests::fuzz::capture_filter`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::capture_filter::run(data));
