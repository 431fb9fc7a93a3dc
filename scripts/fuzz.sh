#!/usr/bin/env bash
# Runs one fuzz target under libFuzzer: fuzz.sh TARGET [SECONDS]. What it finds is kept in
# tests/fuzz/corpus, what breaks in tests/fuzz/artifacts. A stable compiler is enough: there is no unsafe
# code in what is fuzzed, so coverage is needed and a sanitizer is not. With cargo-fuzz and a nightly
# compiler `cargo +nightly fuzz run --fuzz-dir tests/fuzz TARGET` does the same with one.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=$(sed -n 's/^name = "\(.*\)"$/\1/p' tests/fuzz/Cargo.toml | grep -v '^fuzz$')
if [ $# -lt 1 ] || ! grep -qx -- "$1" <<<"$targets"; then
  echo "fuzz: which target? make fuzz TARGET=... SECONDS=60, one of:" $targets >&2
  exit 2
fi
target=$1
seconds=${2:-60}
host=$(rustc -vV | sed -n 's/^host: //p')
corpus=tests/fuzz/corpus/$target
artifacts=tests/fuzz/artifacts/$target
mkdir -p "$corpus" "$artifacts"

# With the features that all crates' tests have, so that nothing is compiled a second time.
cargo build --quiet --workspace --locked --example fuzz_seeds
"${CARGO_TARGET_DIR:-target}/debug/examples/fuzz_seeds" "$target" "$corpus"
# What cargo-fuzz passes; --target keeps it away from build scripts and macros.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
exec cargo run --quiet --release --target "$host" --manifest-path tests/fuzz/Cargo.toml \
  --target-dir "${CARGO_TARGET_DIR:-target}/fuzz" --bin "$target" -- \
  -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$artifacts/" "$corpus"
