//! libFuzzer's entry to [`tests::fuzz::sonic_json`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::sonic_json::run(data));
