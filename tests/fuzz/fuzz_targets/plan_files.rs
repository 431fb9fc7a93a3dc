//! libFuzzer's entry to [`tests::fuzz::plan_files`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::plan_files::run(data));
