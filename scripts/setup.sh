#!/usr/bin/env bash
# Installs what Knotless needs on Debian 12: DPDK with its headers, the tools of the tests, and checks the
# Rust toolchain. Run as root; may be run again, and does nothing where nothing is missing. Further packages
# may be named, such as the bench's peers or the browser that shows a report.
set -euo pipefail

packages=(
  build-essential pkg-config libclang-dev  # bindgen and the C shim
  protobuf-compiler libprotobuf-dev        # etcd-client's build script
  libdpdk-dev dpdk-dev                     # the library, testpmd
  iproute2 iputils-ping traceroute iperf3  # hosts in network namespaces
  tshark python3-scapy                     # foreign tools that check frames
  nfdump nfdump-sflow                      # a foreign collector of sFlow
  lldpd                                    # a foreign neighbor; its tests run their own
  frr                                      # a foreign router; its tests run their own
  prometheus python3-prometheus-client     # foreign readers of the metrics: promtool, a strict parser
  etcd-server etcd-client                  # the store of a fleet; tests run their own members
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: these packages are missing and only root can install them: ${missing[*]}" >&2
    exit 2
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # In run level 1 no package starts a daemon.
  RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! command -v cargo >/dev/null; then
  # Debian 12's own Rust is too old; newer releases package rustup.
  if [ "$(id -u)" -eq 0 ] && apt-get install -y -qq rustup >/dev/null 2>&1; then
    rustup default stable
  else
    echo "setup: cargo is missing; install Rust 1.91 or newer with rustup (rust-lang.org/tools/install)" >&2
    exit 2
  fi
fi
