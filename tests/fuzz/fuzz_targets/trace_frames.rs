//! libFuzzer's entry to [`tests::fuzz::trace_frames`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::trace_frames::run(data));
