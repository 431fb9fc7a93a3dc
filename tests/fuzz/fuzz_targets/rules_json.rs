//! libFuzzer's entry to [`tests::fuzz::rules_json`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::rules_json::run(data));
