//! libFuzzer's entry to [`tests::fuzz::lldp_frames`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::lldp_frames::run(data));
