//! libFuzzer's entry to [`tests::fuzz::scenario_toml`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::scenario_toml::run(data));
