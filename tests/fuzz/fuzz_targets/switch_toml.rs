//! libFuzzer's entry to [`tests::fuzz::switch_toml`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::switch_toml::run(data));
