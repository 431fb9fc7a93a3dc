//! libFuzzer's entry to [`tests::fuzz::fpm_session`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::fpm_session::run(data));
