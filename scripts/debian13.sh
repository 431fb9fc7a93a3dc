#!/usr/bin/env bash
# Builds and tests Knotless against the DPDK of Debian 13 (24.11), in a root of that release below target/: the
# layout of DPDK's structs, the switch, and the pcap regressions through the real binary. Run as root. The root is
# made once (about 1 GB); it shares this machine's Rust toolchain and crate cache.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
root=$repository/target/debian13/root

"$repository/scripts/debian_root.sh" make 13 "$root" build
exec "$repository/scripts/debian_root.sh" enter "$root" env CARGO_TARGET_DIR=/src/target/debian13/build \
  KNOTLESS_PROFILE=release bash -euo pipefail -c '
    cd /src
    echo "debian13: DPDK $(pkg-config --modversion libdpdk)"
    cargo build --release --locked -p knotless-switch
    cargo test --locked -p knotless-dpdk-sys
    cargo test --locked -p knotless-tests --test pcap
  '
