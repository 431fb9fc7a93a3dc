//! libFuzzer's entry to [`tests::fuzz::agent_frames`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::agent_frames::run(data));
