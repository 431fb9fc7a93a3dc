//! libFuzzer's entry to [`tests::fuzz::roce_frames`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::roce_frames::run(data));
