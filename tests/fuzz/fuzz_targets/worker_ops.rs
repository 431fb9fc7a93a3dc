//! libFuzzer's door to [`tests::fuzz::worker_ops`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::worker_ops::run(data));
