//! libFuzzer's entry to [`tests::fuzz::worker_ops`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::worker_ops::run(data));
