//! libFuzzer's entry to [`tests::fuzz::burst_lengths`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::burst_lengths::run(data));
