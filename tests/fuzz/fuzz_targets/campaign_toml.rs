//! libFuzzer's entry to [`tests::fuzz::campaign_toml`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::campaign_toml::run(data));
