//! libFuzzer's entry to [`tests::fuzz::network_toml`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::network_toml::run(data));
